//! `nack-of-received`: a node said that it lacks a packet that it had received.
//!
//! The sender says again what had arrived. A warning; an error where the node had acked the packet before,
//! because one of the two words is wrong. A word that was written before the packet came, and leaves a
//! little later, is not meant: the packet must have been there for a quarter of a second, or be acked.

use std::collections::BTreeMap;

use netreel_wire::Sequence;

use super::words::{and_more, came, sent};
use super::{Case, Found};
use crate::history::claims::is_whole;
use crate::history::sequence::{span, unwrap};
use crate::history::{Finding, Level};
use crate::session::{NodeId, PacketId, Session};

pub(super) const RULE: &str = "nack-of-received";

/// A packet that came this long ago, in ns, was there when the word was written.
const WRITTEN_NS: i64 = 250_000_000;

/// How many packets before one are looked at for the last one of a link.
const LOOK: u32 = 20_000;

/// How many numbers of one range are looked at.
const RANGE_MAX: u64 = 64;

/// How many packets that say what is lacking are looked at.
const NACKS_MAX: usize = 1 << 16;

/// Words of one node about another's packets.
struct Wrong {
    count: u64,
    packet: PacketId,
    nack: PacketId,
    /// The packet that acked it before.
    ack: Option<PacketId>,
    /// How long it had been there, in ns.
    since_ns: i64,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let mut links: BTreeMap<(NodeId, NodeId), Wrong> = BTreeMap::new();
    for &nack in case.streams.nacks.iter().take(NACKS_MAX) {
        let link = session.link(nack);
        let Some((by, of)) = link.filter(|link| is_whole(session, link.0)) else {
            continue;
        };
        for packet in lacking(case, nack, (by, of)) {
            let Some(wrong) = wrong(case, packet, nack) else {
                continue;
            };
            let known = links.entry((by, of)).or_insert(Wrong { count: 0, ..wrong });
            known.count += 1;
            if known.ack.is_none() && wrong.ack.is_some() {
                let count = known.count;
                *known = Wrong { count, ..wrong };
            }
        }
    }
    let found = links.into_iter().filter_map(|((by, of), it)| {
        let pieces = [
            came(session, it.packet, "a packet received"),
            it.ack
                .and_then(|ack| sent(session, ack, "an ack of it sent")),
            sent(session, it.nack, "the word that it is lacking sent"),
        ];
        let evidence: Vec<_> = pieces.into_iter().flatten().collect();
        let name = session.name(by);
        let acked = it.ack.map(|ack| format!(" and acked (packet {})", ack.0));
        let finding = Finding {
            rule: RULE,
            level: match it.ack {
                Some(_) => Level::Error,
                None => Level::Warning,
            },
            node: by,
            objects: Vec::new(),
            each: Vec::new(),
            time: evidence.last()?.time,
            sentence: format!(
                "{name} said in packet {} that it lacks packet {} of {}, which it had received {} \
                 before{}{}",
                it.nack.0,
                it.packet.0,
                session.name(of),
                crate::figures::duration(it.since_ns),
                acked.unwrap_or_default(),
                and_more(it.count),
            ),
            evidence,
        };
        // More may come, and they are counted.
        Some(finding.into())
    });
    found.collect()
}

/// The packets of a node that another one says it lacks.
fn lacking(case: &Case<'_>, nack: PacketId, (by, of): (NodeId, NodeId)) -> Vec<PacketId> {
    let Case {
        session, streams, ..
    } = *case;
    let meeting = streams.meeting_of(nack);
    let line = streams.packets((of, by, meeting));
    let (Some(line), Some(said)) = (line, session.said(nack)) else {
        return Vec::new();
    };
    let mut before = (1..=LOOK)
        .map_while(|back| nack.0.checked_sub(back).map(PacketId))
        .filter(|&packet| session.link(packet) == Some((of, by)));
    let Some(near) = before.find_map(|packet| streams.packet_place(packet)) else {
        return Vec::new();
    };
    let bits = match said.range_bits {
        0 => line
            .start()
            .and_then(|start| bits_of(session, line.first(start))),
        bits => Some(bits),
    };
    let Some(bits) = bits else { return Vec::new() };
    let ranges = said.lacks.iter().flat_map(|&(first, last)| {
        let end = unwrap(Sequence { value: last, bits }, near);
        let count = span(first, last, bits).min(RANGE_MAX);
        end.saturating_sub_unsigned(count)..=end
    });
    let plain = ranges.filter(|&place| line.others(place).is_empty());
    plain
        .filter_map(|place| line.first(place).map(PacketId))
        .collect()
}

/// How wide the number of a packet is.
fn bits_of(session: &Session, packet: Option<u32>) -> Option<u8> {
    Some(session.said(PacketId(packet?))?.sequence?.bits)
}

/// Whether a node had received a packet that it says it lacks.
fn wrong(case: &Case<'_>, packet: PacketId, nack: PacketId) -> Option<Wrong> {
    let session = case.session;
    let known = session.packet(packet).filter(|it| !it.doubtful)?;
    let (received, (_, left)) = (known.received?, session.departed(nack)?);
    if received.number >= left.number {
        return None;
    }
    let since_ns = left.time.0.saturating_sub(received.time.0);
    let ack = case.history.acked(session, packet).and_then(|heard| {
        let ack = session.packet_at(known.from, heard.number)?.packet;
        let (_, acked) = session.departed(ack)?;
        (acked.number < left.number).then_some(ack)
    });
    let is_wrong = ack.is_some() || since_ns >= WRITTEN_NS;
    is_wrong.then_some(Wrong {
        count: 0,
        packet,
        nack,
        ack,
        since_ns,
    })
}
