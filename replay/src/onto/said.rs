//! What a node and another endpoint said to each other, as the node's reel has it.

use std::collections::BTreeMap;

use netreel_reel::{Endpoint, Event, EventNumber, Reel, Time};

/// A packet that a node sent or received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its event.
    pub number: EventNumber,
    /// When, on the node's clock.
    pub time: Time,
    /// Whether the node sent it.
    pub is_sent: bool,
    /// What stood in it.
    pub packet: Vec<u8>,
}

/// How much a node and another endpoint said to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Packets that the node sent there.
    pub sent: u64,
    /// Packets that it received from there.
    pub received: u64,
}

/// Whom a node sent packets to.
pub fn peers(reel: &Reel) -> BTreeMap<Endpoint, Peer> {
    let mut peers: BTreeMap<Endpoint, Peer> = BTreeMap::new();
    reel.for_each(|record| match record.event {
        Event::Sent { to, .. } => peers.entry(to).or_default().sent += 1,
        Event::Received { from, .. } => peers.entry(from).or_default().received += 1,
        _ => {}
    });
    peers.retain(|_, peer| peer.sent > 0);
    peers
}

/// The packets of a node to and from `peer`, in the order of its reel.
pub fn said(reel: &Reel, peer: Endpoint) -> Vec<Said> {
    let mut all = Vec::new();
    reel.for_each(|record| {
        let (is_sent, packet) = match record.event {
            Event::Sent { to, payload, .. } if to == peer => (true, payload),
            Event::Received { from, payload, .. } if from == peer => (false, payload),
            _ => return,
        };
        all.push(Said {
            number: record.number,
            time: record.time,
            is_sent,
            packet: packet.to_vec(),
        });
    });
    all
}
