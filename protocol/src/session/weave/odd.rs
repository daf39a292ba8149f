//! Packets that are more than a send with its first receipt.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::places::EndId;

/// A packet that is more than a send with its first receipt, or one of them alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Odd {
    pub from: u16,
    pub to: u16,
    pub sent: Option<EndId>,
    /// In the order of the receiver's reel.
    pub received: SmallVec<[EndId; 1]>,
    /// In the order of time.
    pub seen: SmallVec<[EndId; 1]>,
}

impl Odd {
    /// The end whose view of the packet counts.
    pub fn source(&self) -> Option<EndId> {
        let seen = self.seen.first().copied();
        self.sent.or(seen).or(self.received.first().copied())
    }

    /// All its ends.
    pub fn ends(&self) -> impl Iterator<Item = EndId> + '_ {
        let ends = self.sent.iter().chain(&self.received).chain(&self.seen);
        ends.copied()
    }
}
