//! Why a message was sent again, as far as what its sender had heard tells.

use std::collections::{BTreeMap, BTreeSet};

use super::fact::{Cause, Fact, Link, NotKnown};
use super::step::Certainty;
use super::transit::of_link;
use crate::history::History;
use crate::session::{MessageId, PacketId, Session, SessionTime};

/// How many packets are read for what they say of a packet that its sender's peer lacks.
const READ_MAX: usize = 256;

/// How many packets around one are looked at for how fast the sender knew of an arrival.
const AROUND: u32 = 20_000;

/// A copy of a message.
#[derive(Clone, Copy)]
pub(super) struct Copy {
    pub message: MessageId,
    pub packet: PacketId,
    pub sent: SessionTime,
    pub received: Option<SessionTime>,
}

impl Copy {
    pub fn of(session: &Session, message: MessageId) -> Option<Copy> {
        let packet = session.carrier(message)?;
        let known = session.packet(packet)?;
        Some(Copy {
            message,
            packet,
            sent: known.first()?.time,
            received: known.received.map(|at| at.time),
        })
    }
}

/// Of copies, when the first that arrived did, in which packet, and its place.
pub(super) fn first_arrived(copies: &[Copy]) -> Option<(SessionTime, PacketId, usize)> {
    let arrived = (0..).zip(copies);
    let arrived = arrived.filter_map(|(place, copy)| Some((copy.received?, copy.packet, place)));
    arrived.min()
}

/// A copy of a message, and why it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Resend {
    /// The copy before it.
    pub before: MessageId,
    /// How long after that one it was sent, in ns.
    pub after_ns: i64,
    /// What its sender had heard.
    pub cause: Cause,
    /// The same with packets and times, and how sure it is.
    pub heard: (Fact, Certainty),
}

impl Resend {
    /// Of a message that repeats an earlier one; `None` of others.
    pub fn new(session: &Session, history: &History, message: MessageId) -> Option<Resend> {
        told(session, history, &Near(session, history), message)
    }
}

/// Why messages were sent again, for who asks of many.
pub struct Resends<'a> {
    session: &'a Session,
    history: &'a History,
    links: BTreeMap<Link, Vec<PacketId>>,
    /// The links of which the sender learnt of any arrival.
    acked: BTreeSet<Link>,
}

impl<'a> Resends<'a> {
    /// Looks at all packets once. `None` where nothing was sent again.
    pub fn new(session: &'a Session, history: &'a History) -> Option<Resends<'a>> {
        history.resends().next()?;
        let mut links: BTreeMap<Link, Vec<PacketId>> = BTreeMap::new();
        for packet in session.packet_ids() {
            if let Some(link) = session.link(packet) {
                links.entry(link).or_default().push(packet);
            }
        }
        let acked = history
            .acked_packets()
            .filter(|&id| !history.is_ambiguous(id));
        Some(Resends {
            session,
            history,
            links,
            acked: acked.filter_map(|id| session.link(id)).collect(),
        })
    }

    /// See [`Resend::new`].
    pub fn cause(&self, message: MessageId) -> Option<Cause> {
        let told = told(self.session, self.history, self, message)?;
        Some(told.cause)
    }
}

/// Where packets of a link are found.
pub(super) trait Ways {
    /// Those that are near one in a session, from it on, forward or back.
    fn of_link(&self, from: PacketId, link: Link, forward: bool) -> impl Iterator<Item = PacketId>;

    /// Whether the sender of a link learnt of the arrival of any packet.
    fn is_ever_acked(&self, link: Link) -> bool;
}

/// For who asks of one.
pub(super) struct Near<'a>(pub &'a Session, pub &'a History);

impl Ways for Near<'_> {
    fn of_link(&self, from: PacketId, link: Link, forward: bool) -> impl Iterator<Item = PacketId> {
        of_link(self.0, from, link, forward)
    }

    fn is_ever_acked(&self, link: Link) -> bool {
        let Near(session, history) = self;
        let mut acked = history.acked_packets();
        acked.any(|id| session.link(id) == Some(link) && !history.is_ambiguous(id))
    }
}

impl Ways for Resends<'_> {
    fn of_link(&self, from: PacketId, link: Link, forward: bool) -> impl Iterator<Item = PacketId> {
        let all = self.links.get(&link).map_or(&[][..], Vec::as_slice);
        let before = all.partition_point(|&it| it < from);
        let after = all.partition_point(|&it| it <= from);
        let back = all.get(..before).unwrap_or(&[]).iter().rev();
        let on = all.get(after..).unwrap_or(&[]).iter();
        let (back, on) = if forward {
            (None, Some(on))
        } else {
            (Some(back), None)
        };
        let both = back.into_iter().flatten().chain(on.into_iter().flatten());
        both.copied()
            .take_while(move |it| it.0.abs_diff(from.0) <= AROUND)
    }

    fn is_ever_acked(&self, link: Link) -> bool {
        self.acked.contains(&link)
    }
}

fn told(
    session: &Session,
    history: &History,
    ways: &impl Ways,
    message: MessageId,
) -> Option<Resend> {
    let before = Copy::of(session, history.copy_before(message)?)?;
    let copy = Copy::of(session, message)?;
    let heard = heard(session, history, ways, (before, copy))?;
    Some(Resend {
        before: before.message,
        after_ns: copy.sent.since(before.sent),
        cause: Cause::of(&heard.0),
        heard,
    })
}

/// What the sender of a copy had heard of the one before, and how sure that is.
pub(super) fn heard(
    session: &Session,
    history: &History,
    ways: &impl Ways,
    (before, copy): (Copy, Copy),
) -> Option<(Fact, Certainty)> {
    let packet = before.packet;
    let link = session.link(packet)?;
    // Of a sender that was not recorded, what passed by on its way to it is known.
    let is_recorded = session.node(link.0).is_some_and(|node| node.recorded);
    let certainty = Certainty::but_for(!is_recorded);
    let learnt = |packet: PacketId| {
        let at = history.acked(session, packet)?.time;
        (at <= copy.sent).then_some(at)
    };
    let first = history.resend_of(before.message).unwrap_or(before.message);
    let of_message = history.heard_of(session, first, packet);
    if let Some(at) = of_message.map(|at| at.time).filter(|&at| at <= copy.sent) {
        let certainty = Certainty::but_for(!is_recorded || history.is_ambiguous(packet));
        return Some((Fact::Acked { packet, at }, certainty));
    }
    if let Some((nack, at)) = nack(session, ways, (before, copy), link) {
        return Some((Fact::Nacked { packet, nack, at }, certainty));
    }
    let after_ns = copy.sent.since(before.sent);
    let later = ways
        .of_link(packet, link, true)
        .take_while(|&it| it < copy.packet);
    let gap = later.filter_map(|later| Some((learnt(later)?, later)));
    if let Some((at, later)) = gap.min() {
        let gap = Fact::AckGap {
            packet,
            later,
            at,
            after_ns: copy.sent.since(at),
        };
        return Some((gap, Certainty::Doubtful));
    }
    let fastest_ns = fastest_answer(session, history, ways, (packet, link), after_ns);
    if let Some(round_ns) = fastest_ns.filter(|&fastest_ns| after_ns < fastest_ns) {
        let eager = Fact::Eager {
            packet,
            after_ns,
            round_ns,
        };
        return Some((eager, certainty));
    }
    // Who hears of the other side, and of no ack, hears acks that nobody can read.
    let mut heard_of = ways.of_link(copy.packet, (link.1, link.0), false);
    if fastest_ns.is_none() && heard_of.next().is_some() && !ways.is_ever_acked(link) {
        let about = NotKnown::Acks(link);
        return Some((Fact::Nothing { about }, Certainty::Unknown));
    }
    Some((Fact::Silence { packet, after_ns }, Certainty::Doubtful))
}

/// The shortest time after which the sender of a link knew that a packet had arrived, of the packets
/// around one; or any that is not longer than `enough_ns`.
fn fastest_answer(
    session: &Session,
    history: &History,
    ways: &impl Ways,
    (packet, link): (PacketId, Link),
    enough_ns: i64,
) -> Option<i64> {
    let sides = [false, true].map(|forward| ways.of_link(packet, link, forward));
    let around = sides.into_iter().flatten().chain([packet]);
    let rounds = around.filter_map(|id| {
        let learnt = history.acked(session, id)?;
        let left = session.left(id)?;
        (!history.is_ambiguous(id)).then(|| learnt.time.since(left.time))
    });
    let mut fastest = None;
    for round in rounds {
        fastest = Some(fastest.map_or(round, |known: i64| known.min(round)));
        if round <= enough_ns {
            break;
        }
    }
    fastest
}

/// The packet with which the receiver had said that it lacks a packet, and when that came.
fn nack(
    session: &Session,
    ways: &impl Ways,
    (before, copy): (Copy, Copy),
    (from, to): Link,
) -> Option<(PacketId, SessionTime)> {
    let sequence = session.said(before.packet)?.sequence?;
    let heard = ways
        .of_link(copy.packet, (to, from), false)
        .take_while(|&id| {
            let left = session.left(id);
            left.is_none_or(|at| at.time >= before.sent)
        });
    let is_recorded = session.node(from).is_some_and(|node| node.recorded);
    let mut heard = heard.take(READ_MAX);
    heard.find_map(|id| {
        session.said(id).filter(|said| said.is_lacking(sequence))?;
        let received = session.packet(id)?.received;
        let at = received.or_else(|| session.left(id).filter(|_| !is_recorded))?;
        (at.time <= copy.sent).then_some((id, at.time))
    })
}
