//! Unmodified programs: what the reel of one becomes when the program is started again.
//!
//! [`Began`] is what it was started with, [`record`] makes the answers that it is to get, and
//! [`judge`] says what came of it. Who starts it is `netreel-capture`'s affair.

mod began;
mod files;
mod judged;
mod laid_out;
mod printed;
mod tape;
mod threads;
mod walk;
mod words;

pub use began::{Began, Held, Variable};
pub use files::{FileWas, ReadFile, others_of_the_kernel, read_files, sum};
pub use judged::{EndCompared, Ended, Happened, Judged, Reasons, judge};
pub use printed::{LineDifference, PrintedNow, Rows};
pub use tape::{Tape, Which, record};
pub use walk::{Ran, Runner, Walk};
pub(crate) use words::call_words;
