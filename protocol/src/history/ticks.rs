//! What nodes tell of the ticks of a game that every node works out for itself, in lockstep or with
//! rollback: checksums of their states, and inputs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use netreel_wire::{KindId, Sequence};

use super::sequence::unwrap;
use super::streams::Streams;
use crate::session::{CHECKSUM, INPUT, NodeId, PacketId, Said, Session, SessionTime};

/// A node's word of the checksum of its state after a tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checksum {
    /// Who worked it out.
    pub by: NodeId,
    /// Whom the packet goes to.
    pub to: NodeId,
    /// What it is the checksum of.
    pub of: Summed,
    pub tick: i64,
    pub value: u64,
    pub packet: PacketId,
    /// When it was first seen.
    pub at: SessionTime,
}

/// What a checksum is of: a game that tells several of one tick does so in several kinds of messages, or
/// of several objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Summed {
    pub kind: Option<KindId>,
    pub object: Option<u64>,
}

/// Inputs of one player that a packet carries.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    pub player: Player,
    pub from: NodeId,
    pub to: NodeId,
    /// At least one.
    pub ticks: RangeInclusive<i64>,
    /// What it is, where it is of one tick.
    pub value: Option<u64>,
    pub packet: PacketId,
    /// When it was first seen.
    pub at: SessionTime,
}

/// Whose input it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Player {
    Node(NodeId),
    /// One that plays at no node that is known, by its number in the protocol.
    Peer(u64),
}

/// A message claims no more inputs than this.
const INPUTS_MAX: u64 = 1 << 16;

/// The checksums that packets tell, in the order of the packets.
pub(super) fn checksums(session: &Session, streams: &Streams) -> Vec<Checksum> {
    let mut ticks = Ticks::default();
    let mut told = Vec::new();
    let (mut said, mut reader) = (Said::default(), session.reader());
    for packet in packets_of(&streams.checksums) {
        let Some(((from, to), at, messages)) = reader.spoken(packet, &mut said) else {
            continue;
        };
        let messages = messages.into_iter();
        let messages = messages.flat_map(|it| it.those(|shape| shape.has(CHECKSUM)));
        let outside = said.tick.zip(said.checksum).map(|told| (None, None, told));
        let inside = messages.filter_map(|(_, facts)| {
            let told = facts.tick.or(said.tick).zip(facts.checksum)?;
            let of = Summed {
                kind: facts.kind,
                object: facts.object,
            };
            Some((Some(of), facts.origin, told))
        });
        for (of, origin, (tick, value)) in outside.into_iter().chain(inside) {
            let of = of.unwrap_or(Summed {
                kind: None,
                object: None,
            });
            // Of what somebody tells for another one it must be known whose it is.
            let Some(by) = origin.map_or(Some(from), |peer| session.node_of_peer(peer)) else {
                continue;
            };
            told.push(Checksum {
                by,
                to,
                of,
                tick: ticks.lay_out((Player::Node(by), of.kind), tick),
                value,
                packet,
                at,
            });
        }
    }
    told
}

/// Who tells its own tick outside messages, in which packet, and which: in the order of the packets.
pub(super) fn own<'a>(
    session: &'a Session,
    streams: &'a Streams,
) -> impl Iterator<Item = (NodeId, PacketId, i64)> + 'a {
    let mut ticks = Ticks::default();
    packets_of(&streams.ticks).filter_map(move |packet| {
        let (from, _) = session.link(packet)?;
        let tick = session.said(packet)?.tick?;
        Some((
            from,
            packet,
            ticks.lay_out((Player::Node(from), None), tick),
        ))
    })
}

/// Hands over the inputs that these packets carry, in their order, until somebody has enough.
pub(super) fn inputs(
    session: &Session,
    ticks: &mut Ticks,
    packets: impl Iterator<Item = PacketId>,
    mut take: impl FnMut(Inputs) -> std::ops::ControlFlow<()>,
) {
    let (mut said, mut reader) = (Said::default(), session.reader());
    for packet in packets {
        let Some(((from, to), at, messages)) = reader.spoken(packet, &mut said) else {
            continue;
        };
        let messages = messages.into_iter();
        let messages = messages.flat_map(|it| it.those(|shape| shape.has(INPUT)));
        let outside = said
            .tick
            .zip(said.input)
            .map(|told| (None, None, told, said.input_count));
        let inside = messages.filter_map(|(_, facts)| {
            let told = facts.tick.or(said.tick).zip(facts.input)?;
            Some((facts.kind, facts.origin, told, facts.input_count))
        });
        for (kind, origin, (tick, value), count) in outside.into_iter().chain(inside) {
            let player = match origin {
                None => Player::Node(from),
                Some(peer) => session
                    .node_of_peer(peer)
                    .map_or(Player::Peer(peer), Player::Node),
            };
            let first = ticks.lay_out((player, kind), tick);
            let Some(more) = count.unwrap_or(1).min(INPUTS_MAX).checked_sub(1) else {
                continue;
            };
            let taken = take(Inputs {
                player,
                from,
                to,
                ticks: first..=first.saturating_add_unsigned(more),
                value: (more == 0).then_some(value),
                packet,
                at,
            });
            if taken.is_break() {
                return;
            }
        }
    }
}

/// The packets of a column.
pub(super) fn packets_of(column: &netreel_table::Column) -> impl Iterator<Item = PacketId> + '_ {
    column.iter().map(|packet| PacketId(packet as u32))
}

/// Ticks that start again from 0, laid out on one line for all players.
#[derive(Default)]
pub(super) struct Ticks {
    newest: BTreeMap<(Player, Option<KindId>), i64>,
    /// What anybody said last.
    last: Option<i64>,
}

impl Ticks {
    fn lay_out(&mut self, line: (Player, Option<KindId>), tick: Sequence) -> i64 {
        let near = self.newest.get(&line).copied().or(self.last);
        let place = unwrap(tick, near.unwrap_or_else(|| first(tick)));
        self.newest.insert(line, place);
        self.last = Some(place);
        place
    }
}

/// A first tick. What fills half of a wide number is negative: -1 says in many games that there is none yet.
fn first(tick: Sequence) -> i64 {
    let half = 1u64 << (u32::from(tick.bits.clamp(1, 63)) - 1);
    match tick.bits {
        32..=62 if tick.value >= half => tick.value as i64 - (1i64 << tick.bits),
        _ => i64::try_from(tick.value).unwrap_or(i64::MAX),
    }
}
