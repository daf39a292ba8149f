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

/// A kind of thing that is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // `words` has them
pub enum Removed {
    Addresses,
    Ports,
    Hosts,
    Users,
    Nodes,
    Fields,
    Payloads,
    Inputs,
    Snapshots,
    Random,
    Start,
    Notes,
    Args,
    Build,
    BootId,
    SessionId,
    Paths,
    Wires,
    Texts,
    CallDetails,
    Files,
    Environment,
    Typed,
    Printed,
    Lookups,
    Beliefs,
    UnknownEvents,
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

impl Removed {
    /// What people call it.
    pub fn words(self) -> &'static str {
        match self {
            Removed::Addresses => "addresses",
            Removed::Ports => "ports",
            Removed::Hosts => "host names",
            Removed::Users => "user names",
            Removed::Nodes => "node names",
            Removed::Fields => "packets with blanked fields",
            Removed::Payloads => "payloads",
            Removed::Inputs => "calls of the game",
            Removed::Snapshots => "snapshots",
            Removed::Random => "random numbers",
            Removed::Start => "start conditions",
            Removed::Notes => "notes",
            Removed::Args => "program arguments",
            Removed::Build => "build",
            Removed::BootId => "boot id",
            Removed::SessionId => "session id",
            Removed::Paths => "paths",
            Removed::Texts => "texts to remove",
            Removed::Wires => "texts in wires",
            Removed::CallDetails => "details of system calls",
            Removed::Files => "paths of files",
            Removed::Environment => "what the program was started with",
            Removed::Typed => "the standard input",
            Removed::Printed => "printed lines",
            Removed::Lookups => "addresses of names",
            Removed::Beliefs => "values that the game said",
            Removed::UnknownEvents => "events of unknown kinds",
        }
    }

    /// Whether the layer was given it, or gave it, so that a replay without it parts from the reel.
    fn spoils_replay(self) -> bool {
        matches!(
            self,
            Removed::Addresses
                | Removed::Ports
                | Removed::Fields
                | Removed::Payloads
                | Removed::Inputs
                | Removed::Random
                | Removed::Start
                | Removed::CallDetails
                | Removed::Files
                | Removed::Environment
                | Removed::Typed
                | Removed::Printed
                | Removed::Lookups
                | Removed::Beliefs
                | Removed::UnknownEvents
        )
    }
}
