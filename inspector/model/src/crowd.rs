//! Some packets, ready to be drawn as arrows or as density.

use netreel_protocol::session::{Fate, NodeId, Packet};

use crate::hulls::Hulls;
use crate::times::{Gathering, Times};

/// Some packets, a row each, in the order of all packets.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    /// Over the stretches from an arrow's first moment to its last.
    pub arrows: Hulls,
    /// For each node when it sent and received them.
    pub lanes: Vec<Lane>,
}

/// The moments of one node.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    sends: Moments,
    receipts: Moments,
    lost: Moments,
}

/// Moments, while they are gathered and afterwards.
#[derive(Debug)]
enum Moments {
    Gathering(Gathering),
    Gathered(Times),
}

/// What is drawn of one packet.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// From an arrow's first moment to its last.
    stretch: (i64, i64),
    from: NodeId,
    to: NodeId,
    departed: Option<i64>,
    lost: bool,
    received: Option<i64>,
    duplicates: Vec<i64>,
}

impl Drawn {
    /// Of a packet whose arrow has this stretch.
    pub fn new(packet: &Packet, (start, end): (i64, i64)) -> Drawn {
        Drawn {
            stretch: (start.min(end), start.max(end)),
            from: packet.from,
            to: packet.to,
            departed: packet.departed().map(|stamp| stamp.time.0),
            lost: is_lost(packet),
            received: packet.received.map(|stamp| stamp.time.0),
            duplicates: packet.duplicates.iter().map(|stamp| stamp.time.0).collect(),
        }
    }
}

impl Crowd {
    /// Of no packets, between so many nodes.
    pub fn new(nodes: usize) -> Crowd {
        let mut crowd = Crowd::default();
        crowd.lanes.resize_with(nodes, Lane::default);
        crowd
    }

    /// Appends a packet.
    pub fn push(&mut self, drawn: &Drawn) {
        let (start, end) = drawn.stretch;
        self.arrows.push(start, end);
        let from = self.lanes.get_mut(usize::from(drawn.from.0));
        if let (Some(lane), Some(departed)) = (from, drawn.departed) {
            lane.sends.push(departed);
            if drawn.lost {
                lane.lost.push(departed);
            }
        }
        if let Some(lane) = self.lanes.get_mut(usize::from(drawn.to.0)) {
            let receipts = drawn.received.iter().chain(&drawn.duplicates);
            receipts.for_each(|&time| lane.receipts.push(time));
        }
    }

    /// Puts all moments in order, after the last packet.
    pub fn finish(&mut self) {
        self.arrows.shrink();
        for lane in &mut self.lanes {
            let moments = [&mut lane.sends, &mut lane.receipts, &mut lane.lost];
            moments.into_iter().for_each(Moments::finish);
        }
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let lanes = self.lanes.iter();
        let moments = lanes.flat_map(|lane| [lane.sends(), lane.receipts(), lane.lost()]);
        let moments: usize = moments.map(Times::memory).sum();
        self.arrows.memory() + self.lanes.len() * size_of::<Lane>() + moments
    }
}

impl Lane {
    /// When the node sent.
    pub fn sends(&self) -> &Times {
        self.sends.times()
    }

    /// When it received.
    pub fn receipts(&self) -> &Times {
        self.receipts.times()
    }

    /// When it sent what was lost.
    pub fn lost(&self) -> &Times {
        self.lost.times()
    }
}

impl Default for Moments {
    fn default() -> Moments {
        Moments::Gathering(Gathering::default())
    }
}

impl Moments {
    fn push(&mut self, time: i64) {
        if let Moments::Gathering(gathering) = self {
            gathering.push(time);
        }
    }

    /// While they are gathered, all but the last few thousand.
    fn times(&self) -> &Times {
        match self {
            Moments::Gathering(gathering) => gathering.so_far(),
            Moments::Gathered(times) => times,
        }
    }

    fn finish(&mut self) {
        if let Moments::Gathering(gathering) = self {
            *self = Moments::Gathered(std::mem::take(gathering).finish());
        }
    }
}

/// Whether a packet is known not to have arrived.
pub(crate) fn is_lost(packet: &Packet) -> bool {
    matches!(packet.fate, Fate::Lost | Fate::SendFailed)
}
