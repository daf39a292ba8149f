//! Unmodified programs: what the reel of one becomes when the program is started again.
//!
//! [`Began`] is what it was started with, [`record`] makes the answers that it is to get, and
//! [`judge`] says what came of it. Who starts it is `netreel-capture`'s affair.

mod began;
mod judged;
mod tape;
mod words;

pub use began::{Began, Variable};
pub use judged::{Ended, Happened, Judged, judge};
pub use tape::{Tape, record};
