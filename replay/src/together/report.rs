//! What playing on came to.

use netreel_reel::{Endpoint, EventNumber, Time};
use netreel_transport::Divergence;

/// What playing a session on came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Each node of the session, in its order.
    pub nodes: Vec<PlayedNode>,
}

/// What a node did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayedNode {
    /// Its name.
    pub name: String,
    /// Whether it has a layer.
    pub played: bool,
    /// Ticks that were played.
    pub ticks: u64,
    /// Calls of the game that were played.
    pub inputs: u64,
    /// Packets that it sends in the recording.
    pub recorded: u64,
    /// Packets that it sent that have the bytes of the recorded packet whose place they took.
    pub equal: u64,
    /// Packets that it sent in place of a recorded one, with other bytes.
    pub changed: u64,
    /// Packets that it sent for which the recording has none.
    pub new: u64,
    /// Packets of the recording that it did not send.
    pub missing: u64,
    /// Packets that it was given.
    pub received: u64,
    /// Packets of it that others were given before it was their turn to be sent, because in the
    /// recording two nodes answered each other within one turn, and that were not sent then.
    pub not_sent_after_all: u64,
    /// Calls of the game that the layer refused.
    pub refused: Vec<Refused>,
    /// Where it left its recording; `None`: every step was the recorded one.
    pub left: Option<Left>,
}

/// A call of the game that a layer refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The call's event in the recording.
    pub number: EventNumber,
    /// On the session's clock, in nanoseconds.
    pub at_ns: i64,
    /// What the layer said.
    pub why: String,
}

/// Where a node left its recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The event of the recording that was to come.
    pub number: EventNumber,
    /// Its time on the node's clock.
    pub time: Time,
    /// On the session's clock, in nanoseconds.
    pub at_ns: i64,
    /// What was not as recorded.
    pub why: Why,
}

/// What was not as it is in the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The layer's own step.
    Step(Box<Divergence>),
    /// The recorded packet did not come, because its sender did not send it, or sends it later.
    NothingCame {
        /// Its sender, as the node sees it.
        from: Endpoint,
    },
    /// A packet came that is another one than the recording has there, or has none there.
    OtherCame {
        /// Its sender, as the node sees it.
        from: Endpoint,
        /// Whether the recording has a packet there.
        instead: bool,
    },
}

impl Played {
    /// Whether every node that was played did what it did in the recording.
    pub fn is_exact(&self) -> bool {
        self.nodes.iter().all(|node| node.left.is_none())
    }

    /// What a number of all nodes comes to.
    pub fn sum(&self, number: impl Fn(&PlayedNode) -> u64) -> u64 {
        self.nodes.iter().map(number).sum()
    }
}

impl PlayedNode {
    /// Packets that it sent.
    pub fn sent(&self) -> u64 {
        self.equal + self.changed + self.new
    }
}
