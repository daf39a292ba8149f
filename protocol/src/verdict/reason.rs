//! A reason why something could not be judged, and the ids of all reasons.

use std::collections::BTreeSet;

use serde::Serialize;

pub(super) use crate::figures::listed_few as list;
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

/// Makes the ids of reasons.
macro_rules! ids {
    ($($name:ident $id:literal;)*) => {
        $(pub(super) const $name: &str = $id;)*

        /// The ids of all reasons, in the order in which they are told.
        pub const REASONS: [&str; [$($id),*].len()] = [$($id),*];
    };
}

ids! {
    UNREAD "unread-reel";
    NO_PACKETS "no-packets";
    NO_WIRE "no-wire";
    WIRE_ERROR "wire-error";
    MISFIT "misfit";
    UNJUDGED_LINK "unjudged-link";
    NO_RULES "no-rules";
    NO_REEL "no-reel";
    OBSERVED "observed";
    CAPTURED "captured";
    PROXIED "proxied";
    CUT "cut-reel";
    LIMIT "limit";
    WINDOW "window";
    LATE "late-reel";
    HOLES "holes";
    NEWER "newer-recorder";
    LACKS_PACKETS "lacks-packets";
    CUT_PACKETS "cut-packets";
    CLOCK "clock";
    BELIEFS "unknown-beliefs";
    UNSETTLED "unsettled";
    NEVER_TOLD "never-told";
    DIFFER "differ";
    SUSPECTED "suspected";
}

/// What every recording has that goes on: it has no end yet, and its messages are on their way.
pub(super) const UNDER_WAY: [&str; 10] = [
    UNREAD, NO_PACKETS, CUT, LIMIT, WINDOW, LATE, UNSETTLED, NEVER_TOLD, DIFFER, SUSPECTED,
];

impl Reason {
    pub(super) fn new(id: &'static str, sentence: impl Into<String>) -> Reason {
        Reason::about(id, Vec::new(), sentence.into())
    }

    pub(super) fn about(id: &'static str, nodes: Vec<String>, sentence: String) -> Reason {
        Reason {
            id,
            sentence,
            nodes,
        }
    }
}

/// The names of nodes, in the session's order, each once.
pub(super) fn names(session: &Session, nodes: impl IntoIterator<Item = NodeId>) -> Vec<String> {
    let nodes: BTreeSet<NodeId> = nodes.into_iter().collect();
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
