//! What the acks of each node say against what its own reel shows that it had received.
//!
//! A node that was recorded as a whole cannot be mistaken about that, so both ways of being wrong
//! show: an ack that names a packet which had not come, and acks that pass over one which had.
//! One walk along each node's packets, with two words of bits for each link.

use std::collections::BTreeMap;

use netreel_wire::Sequence;

use super::line::Line;
use super::node_end::NodeEnd;
use super::sequence::unwrap;
use super::streams::Streams;
use crate::session::keyed::Keyed;
use crate::session::{self, NodeId, PacketId, Session, Stamp, Way};

/// How many packets are kept as evidence of what many show.
const KEPT_MAX: usize = 3;

/// How many places back are remembered of what was received.
const REACH: i64 = 128;

/// Something that the acks of a node say wrongly, by who acks, then whose packets.
pub(super) type ByLink<T> = BTreeMap<(NodeId, NodeId), Several<T>>;

/// What one node's acks say wrongly of the packets of another.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims {
    /// Packets that were acked before they came, if they came.
    pub unreceived: ByLink<Claim>,
    /// Packets that had come, and that every ack passed over that could name them.
    pub denied: ByLink<Claim>,
    /// Numbers that were acked and under which nothing had been sent.
    pub unsent: ByLink<OfNothing>,
}

/// How many there are, and the first ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Several<T> {
    pub count: u64,
    pub first: Vec<T>,
}

/// What an ack says of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Claim {
    /// The packet.
    pub packet: PacketId,
    /// The packet that carries the ack, and when it was sent.
    pub ack: PacketId,
    pub at: Stamp,
}

/// An ack of a number under which nothing had been sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfNothing {
    /// The number, as it is on the wire.
    pub number: u64,
    /// The packet that carries the ack, and when it was sent.
    pub ack: PacketId,
    pub at: Stamp,
}

impl Claims {
    /// What the acks of all nodes say.
    pub fn of<'a>(all: impl Iterator<Item = Claiming<'a>>) -> Claims {
        let mut claims = Claims::default();
        for Claiming { node, links, .. } in all {
            for ((peer, _), link) in links.iter() {
                let pair = (node, peer);
                link.unreceived.add_to(&mut claims.unreceived, pair);
                link.denied.add_to(&mut claims.denied, pair);
                link.unsent.add_to(&mut claims.unsent, pair);
            }
        }
        claims
    }
}

impl<T: Clone + Default> Several<T> {
    fn add(&mut self, one: T) {
        self.count += 1;
        if self.first.len() < KEPT_MAX {
            self.first.push(one);
        }
    }

    fn add_to(&self, all: &mut ByLink<T>, pair: (NodeId, NodeId)) {
        if self.count > 0 {
            let before = all.entry(pair).or_default();
            before.count += self.count;
            before.first.extend_from_slice(&self.first);
            before.first.truncate(KEPT_MAX);
        }
    }
}

/// Whether a node's reel shows all that its program sent and received until the reel ends, at one
/// address: who has several may have several rows of numbers with one peer.
pub(super) fn is_whole(session: &Session, node: NodeId) -> bool {
    let node = session.node(node);
    node.is_some_and(|node| {
        let is_all = node.recorded && node.holes.is_empty() && !node.window;
        is_all && !node.proxied && !node.captured && node.endpoints.len() <= 1
    })
}

/// What a node's acks say, as far as it came.
pub(super) struct Claiming<'a> {
    session: &'a Session,
    streams: &'a Streams,
    node: NodeId,
    /// Of a node that is not whole nothing is said.
    tells: bool,
    /// For each peer and each time that the two connected anew.
    links: Keyed<(NodeId, u16), Acking>,
    /// What the latest packet says.
    said: session::Said,
}

impl<'a> Claiming<'a> {
    pub fn new((session, streams): (&'a Session, &'a Streams), node: NodeId) -> Claiming<'a> {
        Claiming {
            session,
            streams,
            node,
            tells: streams.acks && is_whole(session, node),
            links: Keyed::default(),
            said: session::Said::default(),
        }
    }

    /// Takes the next of the node's ends.
    pub fn take(&mut self, end: &NodeEnd) {
        let (session, streams) = (self.session, self.streams);
        if !self.tells {
            return;
        }
        let (crossing, at) = (end.crossing, end.stamp);
        let ((from, to), anew) = (end.link, end.meeting);
        match crossing.way {
            Way::In => {
                if let Some(place) = streams.packet_place(crossing.packet) {
                    let link = self.links.entry((from, anew), Acking::default);
                    link.received.insert(place);
                }
            }
            Way::Out if streams.acking.contains(crossing.packet.0) => {
                let line = streams.packets((to, self.node, anew));
                let Some((link, line)) = self.links.get_mut((to, anew)).zip(line) else {
                    return;
                };
                session.read_said(crossing.packet, &mut self.said);
                let is_fit = self.said.diagnostics == 0;
                if let Some(ack) = self.said.ack.filter(|_| is_fit && is_whole(session, to)) {
                    let claim = (crossing.packet, at);
                    link.says((session, line), ack, self.said.ack_bits, claim);
                }
            }
            Way::Out | Way::Again | Way::Passing => {}
        }
    }
}

/// What a node has received of another one, and what its acks said of that.
#[derive(Default)]
struct Acking {
    received: Received,
    before: Option<Said>,
    unreceived: Several<Claim>,
    denied: Several<Claim>,
    unsent: Several<OfNothing>,
}

/// The last 128 places up to the newest: bit i is the place i before it.
#[derive(Clone, Copy, Default)]
struct Received {
    newest: Option<i64>,
    bits: u128,
}

/// An ack that was sent. Bit i of each is the place i before the one that is acked.
struct Said {
    ack: i64,
    /// Received by then.
    received: u128,
    /// Named by an ack, though not received.
    wrong: u128,
    /// Not named, though received before the ack before.
    denied: u128,
}

impl Acking {
    /// The node sends an ack.
    fn says(
        &mut self,
        (session, line): (&Session, &Line),
        ack: Sequence,
        bits: Option<(u64, u8)>,
        (carrier, at): (PacketId, Stamp),
    ) {
        let Some(newest) = self.received.newest else {
            return; // before the first packet the number says nothing
        };
        let number = ack.value;
        let claim = |packet| Claim {
            packet,
            ack: carrier,
            at,
        };
        let ack = unwrap(ack, newest);
        // What is acked again is told once.
        let is_new = self.before.as_ref().is_none_or(|before| before.ack != ack);
        if is_new && is_unsent(session, line, ack, (carrier, at)) {
            let ack = carrier;
            self.unsent.add(OfNothing { number, ack, at });
        }
        let (bits, count) = bits.map_or((0, 0), |(bits, count)| (bits, u32::from(count.min(64))));
        let covers = (1u128 << (count + 1)) - 1;
        let named = (1 | u128::from(bits) << 1) & covers;
        let (received, known) = self.received.seen_from(ack);
        let (had, wrong_before) = match &self.before {
            Some(before) => {
                let ahead = ack.saturating_sub(before.ack);
                (shift(before.received, ahead), shift(before.wrong, ahead))
            }
            None => (0, 0),
        };
        let wrong = named & known & !received;
        for back in ones(wrong & !wrong_before) {
            let packet = unreceived(session, line, ack.saturating_sub(i64::from(back)), at);
            if let Some(packet) = packet {
                self.unreceived.add(claim(packet));
            }
        }
        // What acks cannot name any more was denied for good.
        if let Some(before) = &self.before
            && let Some(ahead @ 1..) = ack.checked_sub(before.ack)
        {
            let stay = match ahead {
                ..=64 => covers >> ahead,
                _ => 0,
            };
            for back in ones(before.denied & !stay) {
                let place = before.ack.saturating_sub(i64::from(back));
                if let Some(packet) = taken(session, line, place) {
                    self.denied.add(claim(packet));
                }
            }
        }
        self.before = Some(Said {
            ack,
            received,
            wrong,
            denied: covers & had & !named,
        });
    }
}

impl Received {
    fn insert(&mut self, place: i64) {
        let newest = self.newest.unwrap_or(place);
        let ahead = place.saturating_sub(newest);
        if ahead >= 0 {
            self.bits = shift(self.bits, ahead) | 1;
            self.newest = Some(place);
        } else {
            self.newest = Some(newest);
            if ahead > -REACH {
                self.bits |= 1 << ahead.unsigned_abs();
            }
        }
    }

    /// The same, seen from a place: bit i is the place i before that, and the bits of which it is
    /// known.
    fn seen_from(&self, place: i64) -> (u128, u128) {
        let ahead = place.saturating_sub(self.newest.unwrap_or(place));
        let known = match ahead {
            0.. => u128::MAX,
            _ => shift(u128::MAX, ahead),
        };
        (shift(self.bits, ahead), known)
    }
}

/// The bits as seen from this many places further on.
fn shift(bits: u128, ahead: i64) -> u128 {
    let by = u32::try_from(ahead.unsigned_abs()).unwrap_or(u32::MAX);
    match ahead {
        0.. => bits.checked_shl(by).unwrap_or(0),
        _ => bits.checked_shr(by).unwrap_or(0),
    }
}

/// The places of the bits that are set.
fn ones(mut bits: u128) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(place)
    })
}

/// The packet of a place, where one was sent by then and none had come: what the sender never sent
/// may be what the number is before there is anything to ack.
fn unreceived(session: &Session, line: &Line, place: i64, at: Stamp) -> Option<PacketId> {
    let mut latest = None;
    for packet in line.at(place).map(PacketId) {
        let (is_sent, sent) = session.departed(packet)?;
        let known = session.packet(packet)?;
        let had_come = known.received.is_some_and(|it| it.number < at.number);
        if known.doubtful || had_come {
            return None;
        }
        if is_sent && sent.time <= at.time {
            latest = Some(packet);
        }
    }
    latest
}

/// Whether nothing had been sent under the number that a packet acks, which is not before all that
/// was sent.
fn is_unsent(session: &Session, line: &Line, place: i64, (carrier, at): (PacketId, Stamp)) -> bool {
    let Some((by, to)) = session.link(carrier) else {
        return false;
    };
    // How far both clocks may be off then: more where one of them was set.
    let open_ns = |sent: Stamp| {
        let errors = [(by, at), (to, sent)].map(|(node, stamp)| {
            let error = session.clock_error_at(node, stamp.number);
            error.unwrap_or(u64::MAX)
        });
        i64::try_from(errors[0].saturating_add(errors[1])).unwrap_or(i64::MAX)
    };
    let mut packets = line.at(place).map(PacketId);
    let is_later = packets.all(|packet| {
        let departed = session.departed(packet);
        let received = || session.packet(packet).and_then(|packet| packet.received);
        departed.is_some_and(|(is_sent, sent)| {
            is_sent
                && sent.time.0.saturating_sub(at.time.0) > open_ns(sent)
                && received().is_none_or(|received| received.number >= at.number)
        })
    });
    is_later && line.start().is_some_and(|start| start < place)
}

/// The packet of a place that came and that the receiver had to take: it fits the wire, says
/// something, and no other has its number.
fn taken(session: &Session, line: &Line, place: i64) -> Option<PacketId> {
    let packet = line.first(place).map(PacketId)?;
    let said = session.said(packet)?;
    let fits = said.protocol.is_some() && said.diagnostics == 0 && !said.messages.is_empty();
    (fits && line.others(place).is_empty()).then_some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives these places; which of the eight up to `ack` were received, and of which it is known?
    fn check(places: &[i64], ack: i64, received: u128, known: u128) {
        let mut all = Received::default();
        places.iter().for_each(|&place| all.insert(place));
        let (found, sure) = all.seen_from(ack);
        assert_eq!((found & 0xFF, sure & 0xFF), (received, known));
    }

    #[test]
    fn bit_i_is_the_place_i_before() {
        check(&[10, 11, 13], 13, 0b1101, 0xFF);
        check(&[13, 10, 11], 13, 0b1101, 0xFF);
        check(&[10, 11, 13], 11, 0b11, 0xFF);
        check(&[10, 11, 13], 15, 0b11_0100, 0xFF);
    }

    #[test]
    fn what_lies_too_far_back_is_not_known() {
        check(&[0, 130], 10, 0, 0b1111_1111);
        check(&[0, 130], 3, 0, 0b1);
        check(&[0, 130], -200, 0, 0);
        check(&[130, 0], 3, 0, 0b1);
    }
}
