//! What links do to packets, and what was sent on them.

use std::collections::BTreeSet;

use crate::draws::Draws;

/// What a directed link does to packets.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub from: usize,
    pub to: usize,
    pub latency_ns: u64,
    pub jitter_ns: u64,
    /// Whether a packet may overtake the one before.
    pub overtakes: bool,
    pub loss: u64,
    pub twice: u64,
}

/// What payloads look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Each has a number of its own.
    Numbered,
    /// All of all links are equal.
    Keepalive,
    /// They repeat after 256 on their link.
    Byte,
    /// Each has a number, and is sent again, the same, when it was lost or slow.
    Resent,
}

/// A send, and when its packet arrived.
#[derive(Clone, Debug)]
pub struct Sent {
    pub from: usize,
    pub to: usize,
    pub at: u64,
    pub payload: Vec<u8>,
    pub kind: Kind,
    pub arrived: Vec<u64>,
}

/// Lets the network carry what was sent on one link, in order.
pub fn carry(draws: &mut Draws, link: Link, sends: &mut [Sent]) {
    let mut latest = 0;
    for sent in sends {
        if draws.per_mille(link.loss) {
            continue;
        }
        let copies = 1 + usize::from(draws.per_mille(link.twice));
        for _ in 0..copies {
            let mut arrives = sent.at + link.latency_ns + draws.below(link.jitter_ns + 1);
            if !link.overtakes {
                arrives = arrives.max(latest + 1);
                latest = arrives;
            }
            sent.arrived.push(arrives);
        }
        sent.arrived.sort_unstable();
    }
}

/// No two events of a machine are at one time, so that a time names an event.
pub fn distinct(sends: &mut [Sent]) {
    let mut taken: BTreeSet<(usize, u64)> = BTreeSet::new();
    for sent in sends {
        while !taken.insert((sent.from, sent.at)) {
            sent.at += 1;
        }
        for arrived in &mut sent.arrived {
            while !taken.insert((sent.to, *arrived)) {
                *arrived += 1;
            }
        }
    }
}
