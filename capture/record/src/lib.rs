//! The recorder that an engine takes on: it records a node while it plays, and opens what it recorded.
//!
//! [`Recorder`] makes a reel; its [`pusher`](Recorder::pusher) goes into what stands between a network
//! layer and the world: [`Recorded`] around a [`Transport`], a [`RecordedSocket`], or a [`Journal`].
//! How an engine is recorded: `docs/engines.md`. Why it is so: `docs/decisions/recording.md`.

mod anchor;
mod bell;
mod drainer;
mod file;
mod follow;
mod open;
mod options;
pub mod others;
mod part_file;
mod presence;
mod recorder;
mod ring_image;
pub mod ring_mode;
mod rings;
mod series;
mod tidy;
mod writer;

pub use anchor::clock_anchor;
pub use file::{FileAppend, FileSource};
pub use follow::{FollowEnd, FollowError, Follower};
pub use netreel_reel::{Believed, Endpoint, Header, Time, WireText};
#[cfg(feature = "tokio")]
pub use netreel_transport::tokio;
pub use netreel_transport::{
    Journal, MemoryRecorder, Pusher, Recorded, RecordedSocket, Shared, Transport, UdpTransport,
    WhenFull,
};
pub use open::{
    OpenError, OpenWhy, OpenedReel, OpenedSession, Openings, OpensOthers, OtherFile, open,
    open_session, open_session_with, reel_files, reels_at,
};
pub use options::{Limits, Options, Reached};
pub use presence::{Presence, PresentRecorder};
pub use recorder::{RecordError, Recorder, Summary, ring_path};
pub use series::part_path;
pub use tidy::{is_recorded, tidy};
