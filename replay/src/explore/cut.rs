//! A session without some of its turns and packets.

use std::collections::BTreeSet;

use netreel_reel::{Endpoint, SocketId};

use super::ground::{Begins, Ground};

/// What arrives of a packet of a run: its sender, in which of the sender's turns it was sent, by which socket
/// and to which address, which of those there it was in that turn, and which of its arrivals it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId {
    /// The sender, by its place.
    pub from: usize,
    /// The sender's turn.
    pub turn: u32,
    /// The sender's socket.
    pub socket: SocketId,
    /// Where it was sent to.
    pub to: Endpoint,
    /// From 0.
    pub nth: u32,
    /// From 0; more than one where a packet came twice, or to several nodes.
    pub arrival: u32,
}

/// What of a session is not played. Where nobody has a turn for a while, that while is left out of all
/// clocks; a session that is being made small comes to a point from which on the time between stays, because
/// there are failures that take time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// By node and turn.
    skipped: Vec<Vec<bool>>,
    lost: BTreeSet<PacketId>,
    /// By node and turn: how much of the time before it is left out. ns.
    shifts: Vec<Vec<u64>>,
    /// Whether the clocks run on where more turns are left out.
    is_frozen: bool,
}

impl Cut {
    /// All is played.
    pub fn nothing(ground: &Ground) -> Cut {
        let turns = || ground.nodes.iter().map(|node| node.turns.len());
        Cut {
            skipped: turns().map(|count| vec![false; count]).collect(),
            lost: BTreeSet::new(),
            shifts: turns().map(|count| vec![0; count]).collect(),
            is_frozen: false,
        }
    }

    /// The same; where more turns are left out of it, the time between stays.
    pub(super) fn frozen(mut self) -> Cut {
        self.is_frozen = true;
        self
    }

    /// The same without the time in which nobody has a turn.
    pub(super) fn closed(&self, ground: &Ground) -> Cut {
        let mut cut = self.clone();
        cut.close_gaps(ground);
        cut
    }

    /// Whether all is played.
    pub fn is_nothing(&self) -> bool {
        self.lost.is_empty() && !self.skipped.iter().flatten().any(|skipped| *skipped)
    }

    /// The same without some turns.
    pub fn without(&self, turns: impl IntoIterator<Item = (usize, u32)>, ground: &Ground) -> Cut {
        let mut cut = self.clone();
        for (node, turn) in turns {
            let of = cut.skipped.get_mut(node);
            if let Some(skipped) = of.and_then(|it| it.get_mut(turn as usize)) {
                *skipped = true;
            }
        }
        if !cut.is_frozen {
            cut.close_gaps(ground);
        }
        cut
    }

    /// The same without what arrives of some packets.
    pub fn losing(&self, packets: impl IntoIterator<Item = PacketId>) -> Cut {
        let mut cut = self.clone();
        cut.lost.extend(packets);
        cut
    }

    /// Whether a turn is played.
    pub fn plays(&self, node: usize, turn: u32) -> bool {
        let skipped = self.skipped.get(node).and_then(|it| it.get(turn as usize));
        !skipped.copied().unwrap_or(false)
    }

    /// Whether what is sent does not arrive.
    pub(super) fn loses(&self, packet: &PacketId) -> bool {
        self.lost.contains(packet)
    }

    /// How much of the time before a turn is left out. ns.
    pub(super) fn shift_ns(&self, node: usize, turn: u32) -> u64 {
        let shift = self.shifts.get(node).and_then(|it| it.get(turn as usize));
        shift.copied().unwrap_or(0)
    }

    /// The turns of layers that are played, in their order; a layer that is made is no turn.
    pub fn turns(&self, ground: &Ground) -> Vec<(usize, u32)> {
        let order = ground.order.iter().copied();
        let played = order.filter(|&(node, turn)| {
            let of = &ground.nodes[node];
            let begins = &of.turns[turn as usize].begins;
            of.reel.is_some() && *begins != Begins::Start && self.plays(node, turn)
        });
        played.collect()
    }

    /// How many calls of the game are played, and how many ticks.
    pub fn counts(&self, ground: &Ground) -> (usize, usize) {
        let turns = self.turns(ground);
        let calls = turns.iter().filter(|it| ground.is_call(**it)).count();
        (calls, turns.len() - calls)
    }

    fn close_gaps(&mut self, ground: &Ground) {
        let (mut last, mut shift) = (None, 0u64);
        for &(node, turn) in &ground.order {
            let it = &ground.nodes[node].turns[turn as usize];
            if ground.nodes[node].reel.is_none() || it.begins == Begins::Start {
                continue;
            }
            if self.plays(node, turn) {
                let gap = last.map_or(0, |last: i64| it.at_ns.saturating_sub(last).max(0));
                let gap = u64::try_from(gap).unwrap_or(0);
                shift += gap.saturating_sub(ground.period_ns);
                last = Some(it.at_ns);
            }
            self.shifts[node][turn as usize] = shift;
        }
    }
}
