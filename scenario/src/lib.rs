//! Scripted matches: a file says which nodes there are and how they start, a script in Lua drives them,
//! and the match is played again and again, each time from its own seed, until something goes wrong.
//!
//! [`Scenario::read`] reads the file. [`repeat`] plays matches of it, several at once.
//! Whatever was begun is undone, in reverse: also by [`recover`], after the runner itself was killed. What
//! a match came to is for somebody else to say ([`Judge`]): this crate knows no recordings.

mod faults;
mod file;
mod fill;
mod journal;
mod judged;
mod node;
mod once;
mod places;
mod reach;
mod repeat;
mod script;
mod speaker;
mod starter;
mod sums;

pub use file::{Mistake, Scenario};
pub use fill::quoted;
pub use journal::{RecoverError, Recovered, recover};
pub use judged::{Expected, Found, Judge, Judged};
pub use once::{MakesNotes, Match, Notes, Outcome, PlayError};
pub use reach::Bring;
pub use repeat::{Loop, Told, kept, planned, played, repeat};
pub use sums::{Share, Sums, chance};
