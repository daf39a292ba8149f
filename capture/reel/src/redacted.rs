//! What was taken out of a recording before it was passed on: kinds and counts, never what stood there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was taken out of a recording before it was passed on. It stands behind the header's other
/// fields, and only in reels of which something was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redacted {
    /// Kinds of things, in words, and in how many places they stood. Never what stood there.
    pub removed: Vec<(String, u64)>,
    /// What the network layer was given, and what it gave, is as it was recorded: a replay can still
    /// be exact.
    pub replayable: bool,
}

macro_rules! removed {
    ($($kind:ident: $words:literal, $does:ident;)*) => {
        /// A kind of thing that is removed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        #[allow(missing_docs)] // `words` has them
        pub enum Removed {
            $($kind,)*
        }

        impl Removed {
            /// What people call it.
            pub fn words(self) -> &'static str {
                match self {
                    $(Removed::$kind => $words,)*
                }
            }

            /// Whether the layer was given it, or gave it, so that a replay without it parts from the reel.
            fn spoils_replay(self) -> bool {
                match self {
                    $(Removed::$kind => removed!(@$does),)*
                }
            }
        }
    };
    (@spoils) => { true };
    (@leaves) => { false };
}

// What people call it, and whether a replay without it is spoiled.
removed! {
    Addresses: "addresses", spoils;
    Ports: "ports", spoils;
    Hosts: "host names", leaves;
    Users: "user names", leaves;
    Nodes: "node names", leaves;
    Fields: "packets with blanked fields", spoils;
    Payloads: "payloads", spoils;
    Inputs: "calls of the game", spoils;
    Snapshots: "snapshots", leaves;
    Random: "random numbers", spoils;
    Start: "start conditions", spoils;
    Notes: "notes", leaves;
    Args: "program arguments", leaves;
    Build: "build", leaves;
    BootId: "boot id", leaves;
    SessionId: "session id", leaves;
    Paths: "paths", leaves;
    Wires: "texts in wires", leaves;
    Texts: "texts to remove", leaves;
    CallDetails: "details of system calls", spoils;
    Files: "paths of files", spoils;
    Environment: "what the program was started with", spoils;
    Typed: "the standard input", spoils;
    Printed: "printed lines", spoils;
    Lookups: "addresses of names", spoils;
    Beliefs: "values that the game said", spoils;
    UnknownEvents: "events of unknown kinds", spoils;
}

impl Redacted {
    /// What a reel says where this was removed from it.
    pub fn new(removed: &BTreeMap<Removed, u64>) -> Redacted {
        let in_words = removed.iter();
        Redacted {
            removed: in_words
                .map(|(what, &count)| (what.words().to_owned(), count))
                .collect(),
            replayable: !removed.keys().any(|what| what.spoils_replay()),
        }
    }

    /// Whether things of this kind were removed.
    pub fn has(&self, what: Removed) -> bool {
        self.removed.iter().any(|(words, _)| words == what.words())
    }
}
