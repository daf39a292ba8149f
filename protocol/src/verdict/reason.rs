//! A reason why something could not be judged, and the ids of all reasons.

use serde::Serialize;

use crate::session::{NodeId, Session};

/// Why something could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// One of [`REASONS`]. A session has each once at most.
    pub id: &'static str,
    /// For people.
    pub sentence: String,
    /// The nodes and observers that it is about, by name, each once; none where it is about the
    /// whole session.
    pub nodes: Vec<String>,
}

/// The ids of all reasons, in the order in which they are told.
pub const REASONS: [&str; 25] = [
    UNREAD,
    NO_PACKETS,
    NO_WIRE,
    WIRE_ERROR,
    MISFIT,
    UNJUDGED_LINK,
    NO_RULES,
    NO_REEL,
    OBSERVED,
    CAPTURED,
    PROXIED,
    CUT,
    LIMIT,
    WINDOW,
    LATE,
    HOLES,
    NEWER,
    LACKS_PACKETS,
    CUT_PACKETS,
    CLOCK,
    BELIEFS,
    UNSETTLED,
    NEVER_TOLD,
    DIFFER,
    SUSPECTED,
];

pub(super) const UNREAD: &str = "unread-reel";
pub(super) const NO_PACKETS: &str = "no-packets";
pub(super) const NO_WIRE: &str = "no-wire";
pub(super) const WIRE_ERROR: &str = "wire-error";
pub(super) const MISFIT: &str = "misfit";
pub(super) const UNJUDGED_LINK: &str = "unjudged-link";
pub(super) const NO_RULES: &str = "no-rules";
pub(super) const NO_REEL: &str = "no-reel";
pub(super) const OBSERVED: &str = "observed";
pub(super) const CAPTURED: &str = "captured";
pub(super) const PROXIED: &str = "proxied";
pub(super) const CUT: &str = "cut-reel";
pub(super) const LIMIT: &str = "limit";
pub(super) const WINDOW: &str = "window";
pub(super) const LATE: &str = "late-reel";
pub(super) const HOLES: &str = "holes";
pub(super) const NEWER: &str = "newer-recorder";
pub(super) const LACKS_PACKETS: &str = "lacks-packets";
pub(super) const CUT_PACKETS: &str = "cut-packets";
pub(super) const CLOCK: &str = "clock";
pub(super) const BELIEFS: &str = "unknown-beliefs";
pub(super) const UNSETTLED: &str = "unsettled";
pub(super) const NEVER_TOLD: &str = "never-told";
pub(super) const DIFFER: &str = "differ";
pub(super) const SUSPECTED: &str = "suspected";

/// What every recording has that goes on: it has no end yet, and its messages are on their way.
pub(super) const UNDER_WAY: [&str; 10] = [
    UNREAD, NO_PACKETS, CUT, LIMIT, WINDOW, LATE, UNSETTLED, NEVER_TOLD, DIFFER, SUSPECTED,
];

impl Reason {
    pub(super) fn new(id: &'static str, sentence: impl Into<String>) -> Reason {
        Reason {
            id,
            sentence: sentence.into(),
            nodes: Vec::new(),
        }
    }

    pub(super) fn about(id: &'static str, nodes: Vec<String>, sentence: String) -> Reason {
        Reason {
            id,
            sentence,
            nodes,
        }
    }
}

/// More names are counted, not listed.
const NAMED_MAX: usize = 4;

/// `A, B and X`; of many the first ones: `A, B, C, D and 12 more`.
pub(super) fn list(names: &[String]) -> String {
    let more = match names.len().saturating_sub(NAMED_MAX) {
        0 | 1 => None,
        more => Some(format!("{more} more")),
    };
    let named = names.len() - more.as_ref().map_or(0, |_| names.len() - NAMED_MAX);
    let mut names: Vec<&str> = names.iter().take(named).map(String::as_str).collect();
    names.extend(more.as_deref());
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => (*only).to_owned(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

/// The names of nodes, in the session's order.
pub(super) fn names(session: &Session, nodes: impl IntoIterator<Item = NodeId>) -> Vec<String> {
    nodes.into_iter().map(|node| session.name(node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: usize, expected: &str) {
        let names: Vec<String> = (0..count).map(|it| format!("n{it}")).collect();
        assert_eq!(list(&names), expected);
    }

    #[test]
    fn a_list_of_names_reads_as_one() {
        check(1, "n0");
        check(2, "n0 and n1");
        check(3, "n0, n1 and n2");
        check(5, "n0, n1, n2, n3 and n4");
    }

    #[test]
    fn of_many_names_the_first_are_told() {
        check(6, "n0, n1, n2, n3 and 2 more");
    }
}
