//! The copies of a reliable message, as the rules over resends ask for them.

use super::case::{Case, Link};
use crate::history::streams::Streams;
use crate::session::{MessageId, PacketId, Session, SessionTime, Stamp};

/// A copy of a message whose send is known.
#[derive(Clone, Copy)]
pub(super) struct Copy {
    pub message: MessageId,
    pub packet: PacketId,
    /// When it was sent.
    pub at: SessionTime,
}

impl Copy {
    /// `None` where the sender's reel has no send of it.
    pub fn sent(session: &Session, message: MessageId) -> Option<Copy> {
        let packet = session.carrier(message)?;
        Some(Copy {
            message,
            packet,
            at: session.send_of(packet)?.time,
        })
    }

    /// When it arrived, where it is certain that it was this one.
    pub fn received(self, session: &Session) -> Option<Stamp> {
        let packet = session.packet(self.packet)?;
        packet.received.filter(|_| !packet.doubtful)
    }
}

/// The messages that were sent again, each with all its copies in the order in which they were sent.
pub(super) fn resent<'a>(
    session: &'a Session,
    streams: &'a Streams,
) -> impl Iterator<Item = (Link, Vec<Copy>)> + 'a {
    streams.resent().filter_map(move |copies| {
        let &(first, _) = copies.first()?;
        let link = session.link(session.carrier(first)?)?;
        let all = std::iter::once(first).chain(copies.iter().map(|&(_, copy)| copy));
        let sent: Vec<Copy> = all.filter_map(|copy| Copy::sent(session, copy)).collect();
        (!sent.is_empty()).then_some((link, sent))
    })
}

/// When the sender of a message first learnt that one of its copies had arrived.
pub(super) fn heard_of(case: &Case<'_>, copies: &[Copy]) -> Option<Stamp> {
    let first = case.streams.first_copy(copies.first()?.message);
    let heard = copies
        .iter()
        .filter_map(|copy| case.history.heard_of(case.session, first, copy.packet));
    heard.min_by_key(|at| (at.time, at.number))
}

/// The shortest way there and back that packets took, in ns.
pub(super) fn round_trip(session: &Session, link: Link) -> Option<i64> {
    round_trip_of(session, link, |(shortest, _)| shortest)
}

/// The way there and back of which `one` is asked of the shortest and the longest that packets took, in ns.
pub(super) fn round_trip_of(
    session: &Session,
    (from, to): Link,
    one: fn((i64, i64)) -> i64,
) -> Option<i64> {
    let way = |link: Link| Some(one(*session.ways().get(&link)?).max(0));
    Some(way((from, to))?.saturating_add(way((to, from))?))
}

/// Of these packets, where none so large as these arrived of those of their link: how large they are, and how
/// large those that did, in words that go on after a sentence's end.
pub(super) fn too_large(
    session: &Session,
    there: impl Iterator<Item = PacketId>,
    carriers: impl Iterator<Item = PacketId>,
) -> String {
    let packet = |it: PacketId| session.packet(it);
    let smallest = carriers.filter_map(packet).map(|it| it.length).min();
    let arrived = there.filter_map(packet).filter(|it| it.received.is_some());
    let largest = arrived.map(|it| it.length).max();
    match smallest.zip(largest) {
        Some((smallest, largest)) if largest < smallest => format!(
            ": its packets have {smallest} bytes and more, and no packet of more than {largest} bytes \
             arrived"
        ),
        _ => String::new(),
    }
}
