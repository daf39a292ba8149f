//! What is written: a session, and what is known of it.

use netreel_protocol::history::History;
use netreel_protocol::session::Session;

use crate::column::Cell;

/// A session that is written.
#[derive(Clone, Copy)]
pub struct Recording<'a> {
    /// Its packets.
    pub session: &'a Session,
    /// What followed from them.
    pub history: &'a History,
    /// A sentence for each reel that could not be read.
    pub unread: &'a [String],
    /// Where it was read.
    pub path: &'a str,
    /// The match that it is, where a script drove it.
    pub played: Option<Played<'a>>,
}

/// A match that a script drove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played<'a> {
    /// Which of its run, from 1.
    pub number: u64,
    /// What all that was drawn in it came from.
    pub seed: u64,
    /// `good`, `bad` or `failed`; `None` where nobody knows.
    pub outcome: Option<&'static str>,
    /// What was not as the script expects, or why it could not be played.
    pub why: Option<&'a str>,
}

/// The moment of the calendar at which a time of the session was.
pub(crate) fn moment(recording: &Recording<'_>, time_ns: i64) -> Cell<'static> {
    let utc = recording.session.start_utc_ns.saturating_add(time_ns);
    Cell::Moment(utc.div_euclid(1_000))
}
