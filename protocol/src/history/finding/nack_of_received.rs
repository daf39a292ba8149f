//! `nack-of-received`: a node said that it lacks a packet that it had received.
//!
//! The sender says again what had arrived. A warning; an error where the node had acked the packet before,
//! because one of the two words is wrong. A word that was written before the packet came, and leaves a
//! little later, is not meant: the packet must have been there for a quarter of a second, or be acked.

use netreel_wire::Sequence;

use super::prelude::*;
use crate::history::sequence::{span, unwrap};

/// A packet that came this long ago, in ns, was there when the word was written.
const WRITTEN_NS: i64 = 250_000_000;

/// How many packets before one are looked at for the last one of a link.
const LOOK: u32 = 20_000;

/// How many numbers of one range are looked at.
const RANGE_MAX: u64 = 64;

/// How many packets that say what is lacking are looked at.
const NACKS_MAX: usize = 1 << 16;

/// A word of one node about another's packet.
#[derive(Clone, Copy)]
struct Wrong {
    packet: PacketId,
    nack: PacketId,
    /// The packet that acked it before.
    ack: Option<PacketId>,
    /// How long it had been there, in ns.
    since_ns: i64,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let mut links: Firsts<Link, Wrong> = Firsts::new();
    for &nack in case.streams.nacks.iter().take(NACKS_MAX) {
        let link = session.link(nack).filter(|link| is_whole(session, link.0));
        let Some(link) = link else { continue };
        let lacking = lacking(case, nack, link).unwrap_or_default();
        for wrong in lacking
            .into_iter()
            .filter_map(|packet| wrong(case, packet, nack))
        {
            let known = note(&mut links, link, wrong);
            if known.ack.is_none() && wrong.ack.is_some() {
                *known = wrong;
            }
        }
    }
    of_each(links, |(by, of), it| {
        let pieces = [
            came(session, it.packet, "a packet received"),
            it.ack
                .and_then(|ack| sent(session, ack, "an ack of it sent")),
            sent(session, it.nack, "the word that it is lacking sent"),
        ];
        let (level, acked) = match it.ack {
            Some(ack) => (Level::Error, format!(" and acked (packet {ack})")),
            None => (Level::Warning, String::new()),
        };
        let sentence = format!(
            "{} said in packet {} that it lacks packet {} of {}, which it had received {} \
             before{acked}",
            session.name(by),
            it.nack,
            it.packet,
            session.name(of),
            duration(it.since_ns)
        );
        // More may come, and they are counted.
        Found::proven(level, by, pieces, sentence)
    })
}

/// The packets of a node that another one says it lacks.
fn lacking(case: &Case<'_>, nack: PacketId, (by, of): Link) -> Option<Vec<PacketId>> {
    let &Case {
        session, streams, ..
    } = case;
    let line = streams.packets((of, by, streams.meeting_of(nack)))?;
    let said = session.said(nack)?;
    let mut before = (1..=LOOK)
        .map_while(|back| nack.0.checked_sub(back).map(PacketId))
        .filter(|&packet| session.link(packet) == Some((of, by)));
    let near = before.find_map(|packet| streams.packet_place(packet))?;
    let bits = match said.range_bits {
        // How wide the number of a packet is.
        0 => {
            session
                .said(PacketId(line.first(line.start()?)?))?
                .sequence?
                .bits
        }
        bits => bits,
    };
    let ranges = said.lacks.iter().flat_map(|&(first, last)| {
        let end = unwrap(Sequence { value: last, bits }, near);
        let count = span(first, last, bits).min(RANGE_MAX);
        end.saturating_sub_unsigned(count)..=end
    });
    let plain = ranges.filter(|&place| line.others(place).is_empty());
    Some(
        plain
            .filter_map(|place| line.first(place).map(PacketId))
            .collect(),
    )
}

/// Whether a node had received a packet that it says it lacks.
fn wrong(case: &Case<'_>, packet: PacketId, nack: PacketId) -> Option<Wrong> {
    let session = case.session;
    let known = session.packet(packet).filter(|it| !it.doubtful)?;
    let (received, left) = (known.received?, session.left(nack)?);
    if received.number >= left.number {
        return None;
    }
    let since_ns = left.time.since(received.time);
    let ack = case.history.acked(session, packet).and_then(|heard| {
        let ack = session.packet_at(known.from, heard.number)?.packet;
        (session.left(ack)?.number < left.number).then_some(ack)
    });
    let is_wrong = ack.is_some() || since_ns >= WRITTEN_NS;
    is_wrong.then_some(Wrong {
        packet,
        nack,
        ack,
        since_ns,
    })
}
