//! Scripted matches: a file says which nodes there are and how they start, a script in Lua drives them,
//! and the match is played again and again, each time from its own seed, until something goes wrong.
//!
//! [`Scenario::read`] reads the file. [`repeat`] plays matches of it, several at once.
//! Whatever was begun is undone, in reverse: also by [`recover`], after the runner itself was killed. What
//! a match came to is for somebody else to say ([`Judge`]): this crate knows no recordings.

mod chunk;
mod faults;
mod file;
mod fill;
mod filled;
mod journal;
mod judged;
mod kept;
mod log;
mod mistake;
mod node;
mod places;
mod played;
mod reach;
mod repeat;
mod script;
mod secrets;
mod stage;
mod sums;
mod undo;
mod waits;

pub use file::Scenario;
pub use fill::quoted;
pub use journal::{RecoverError, Recovered, recover};
pub use judged::{AskedState, Believed, Expected, Found, Judge, Judged};
pub use kept::{Kept, kept, listed, match_in};
pub use mistake::Mistake;
pub use played::{
    Between, Debugs, Loop, MakesNetwork, MakesNotes, Match, Notes, Outcome, PlayError, RunNews,
    Waiting,
};
pub use reach::Bring;
pub use repeat::{planned, played, repeat};
pub use secrets::Source;
pub use sums::{Share, Sums, chance};
