//! What a recorder of other processes has beside a [`Recorder`](crate::Recorder): the names of its files,
//! and the thread that writes for many. `netreel record` is made of it; an engine needs none of it.

pub use crate::drainer::{Tally, Watch};
pub use crate::presence::{
    OWN, REPLAY_FILES, REPLAY_LIBRARY, REPLAY_SOCKET, TEMPORARY, TEMPORARY_REPLAY,
};
pub use crate::series::named_like_parts;
pub use crate::writer::Writer;
