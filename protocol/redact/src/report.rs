//! What was removed from a reel: kinds and counts, never what stood there.

use std::collections::BTreeMap;

use netreel_reel::{Endpoint, Removed};
use serde::Serialize;

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
    /// Whether a packet was kept all the same: then anything may stand in the copy.
    pub fn keeps_any(&self) -> bool {
        self.held_back.iter().any(|held| held.kept)
    }

    pub(crate) fn count(&mut self, what: Removed) {
        *self.removed.entry(what).or_default() += 1;
    }

    pub(crate) fn count_endpoint(&mut self, old: Endpoint, new: Endpoint) {
        if old.ip() != new.ip() {
            self.count(Removed::Addresses);
        }
        if old.port() != new.port() {
            self.count(Removed::Ports);
        }
    }
}
