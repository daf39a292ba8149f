//! What was removed: kinds and counts, never what stood there.

use std::collections::BTreeMap;

use netreel_reel::Redacted;
use serde::Serialize;

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
    UnknownEvents,
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
                | Removed::UnknownEvents
        )
    }
}

/// What was removed from one reel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReelReport {
    /// In how many places each kind of thing stood.
    pub removed: BTreeMap<Removed, u64>,
    /// Packets of which no more than the length is left, or nothing, though others were kept.
    pub held_back: Vec<HeldBack>,
}

/// A packet that could not be made safe and stay what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldBack {
    /// The event in its reel.
    pub event: u64,
    /// Why.
    pub why: String,
    /// It was kept all the same, because somebody asked for that.
    pub kept: bool,
}

impl ReelReport {
    pub(super) fn count(&mut self, what: Removed) {
        *self.removed.entry(what).or_default() += 1;
    }

    /// What a reel says of it.
    pub(super) fn told(&self) -> Redacted {
        let removed = self.removed.iter();
        Redacted {
            removed: removed
                .map(|(what, &count)| (what.words().to_owned(), count))
                .collect(),
            replayable: !self.removed.keys().any(|what| what.spoils_replay()),
        }
    }
}
