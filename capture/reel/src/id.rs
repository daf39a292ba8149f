//! Typed ids. Names are for people; code passes these.

use serde::{Deserialize, Serialize};

/// The address and port of one end of a link.
pub type Endpoint = std::net::SocketAddr;

/// The place of an event in the total order of its reel. Dense, from 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct EventNumber(pub u64);

/// A socket of the recorded node, numbered in the order of opening.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct SocketId(pub u16);

/// A thread of the recorded node, numbered in the order of its first event.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ThreadId(pub u16);

impl EventNumber {
    /// The number of the event that follows.
    pub fn next(self) -> EventNumber {
        EventNumber(self.0.saturating_add(1))
    }
}

impl std::fmt::Display for EventNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
