//! When each packet's sender learnt that it had arrived.

mod receipts;

use netreel_table::Column;
use netreel_wire::{MessageFacts, Sequence};
use roaring::RoaringBitmap;

use receipts::Receipt;
pub(super) use receipts::Receipts;

use super::line::Line;
use super::node_end::NodeEnd;
use super::sequence::{span, unwrap};
use super::streams::{MessageStream, Streams, reliable};
use crate::session::keyed::Keyed;
use crate::session::{
    ACKNOWLEDGES, MessageId, Messages, NodeId, PacketId, Said, Session, Shape, Stamp, Way,
};

/// What senders learnt.
#[derive(Default)]
pub(super) struct Acks {
    /// For each packet the receipt that told its sender of its arrival, by its place among the
    /// sender's receipts; of a sender that was not recorded, the sighting of it.
    pub acked: Column,
    /// The messages that acks named, each by the copy that was sent first, with the receipt that told
    /// its sender of its arrival.
    pub named: Vec<(MessageId, Receipt)>,
    /// The packets whose ack may mean an earlier copy, in order.
    pub ambiguous: Vec<PacketId>,
}

impl Acks {
    /// What all nodes have heard; `receipts` are those that they noted.
    pub fn new(heard: Vec<Heard<'_>>, receipts: &Receipts) -> Acks {
        let mut acks = Acks::default();
        for Heard { learnt, .. } in heard {
            acks.named.extend(learnt.named);
            acks.ambiguous.extend(learnt.ambiguous);
        }
        acks.acked.extend(receipts.rows());
        acks.acked.shrink();
        acks.named.sort_unstable();
        acks.ambiguous.sort_unstable();
        acks
    }
}

/// What a node has heard of the arrival of its packets.
pub(super) struct Heard<'a> {
    acks: Keyed<(NodeId, u16), Acked>,
    newest_messages: Keyed<MessageStream, i64>,
    /// All messages before this place are known to have arrived.
    all_before: Keyed<MessageStream, i64>,
    learnt: Learnt<'a>,
}

/// What a node learns of the arrival of its packets, as far as it came.
pub(super) struct Learning<'a> {
    session: &'a Session,
    streams: &'a Streams,
    node: NodeId,
    pub heard: Heard<'a>,
    /// What the latest packet says.
    said: Said,
}

/// What acks of one peer said so far.
struct Acked {
    /// The highest place.
    near: i64,
    /// The place of the ack before, and which of it and of the 64 places before it are settled: what
    /// the same ack says again is nothing new.
    last: i64,
    settled: u64,
}

/// What a node learnt of packets and messages.
struct Learnt<'a> {
    /// For each packet of the session, once its sender knows of its arrival, the end that told of it.
    /// Nobody but its sender looks at the row of a packet.
    receipts: &'a Receipts,
    /// Messages that an ack named, each by the copy that was sent first, with the end that told of it.
    named: Vec<(MessageId, Receipt)>,
    /// All of these.
    known_messages: RoaringBitmap,
    /// The first copies of messages of which further acks tell nothing new.
    settled: RoaringBitmap,
    /// Those of them of which an ack may mean an earlier copy (Karn and Partridge 1987): nobody can
    /// say how long it took.
    ambiguous: Vec<PacketId>,
}

impl Learnt<'_> {
    fn note(&mut self, packet: PacketId, end: Receipt) {
        if !self.is_known(packet) {
            self.receipts.set(packet, end);
        }
    }

    fn is_known(&self, packet: PacketId) -> bool {
        self.receipts.row(packet.0 as usize) != 0
    }

    /// The same of a packet that carried the message at a place, of which an ack was heard; perhaps one
    /// that says when the copy that it means was sent.
    fn note_message(
        &mut self,
        known: (&Session, &Streams),
        (line, place): (&Line, i64),
        echoed: Option<Sequence>,
        (end, stamp): (Receipt, Stamp),
    ) {
        let Some(first) = line.first(place) else {
            return;
        };
        let carrier_of_first = known.0.carrier(MessageId(first));
        let was_sent = carrier_of_first.is_none_or(|it| had_been_sent(known.0, it, stamp));
        if was_sent && self.known_messages.insert(first) {
            self.named.push((MessageId(first), end));
        }
        if let Some(packet) = echoed.and_then(|time| sent_at(known, (line, place), time, stamp)) {
            self.settled.insert(first);
            return self.note(packet, end);
        }
        if self.settled.contains(first) {
            return;
        }
        let Some(Carrier { packet, meant }) = carrier(known, line, place, stamp) else {
            return;
        };
        match meant {
            Meant::Certain => {
                self.settled.insert(first);
            }
            Meant::Alone => {}
            Meant::OneOfSeveral if self.is_known(packet) => {}
            Meant::OneOfSeveral => self.ambiguous.push(packet),
        }
        self.note(packet, end);
    }
}

impl<'a> Learning<'a> {
    /// `receipts` has room for each packet of the session.
    pub fn new(
        (session, streams): (&'a Session, &'a Streams),
        node: NodeId,
        receipts: &'a Receipts,
    ) -> Learning<'a> {
        let learnt = Learnt {
            receipts,
            named: Vec::new(),
            known_messages: RoaringBitmap::new(),
            settled: RoaringBitmap::new(),
            ambiguous: Vec::new(),
        };
        Learning {
            session,
            streams,
            node,
            heard: Heard {
                acks: Keyed::default(),
                newest_messages: Keyed::default(),
                all_before: Keyed::default(),
                learnt,
            },
            said: Said::default(),
        }
    }

    /// Takes the next of the node's ends.
    pub fn take(&mut self, end: &NodeEnd) {
        // A node that was not recorded learns what it is seen being told.
        let hears = matches!(end.crossing.way, Way::In | Way::Passing);
        if hears && self.streams.acking.contains(end.crossing.packet.0) {
            let receipt = self.session.receipt(self.node, end.end);
            self.hears(end, receipt);
        }
    }

    /// The node is told of packets by another one.
    fn hears(&mut self, told: &NodeEnd, end: Receipt) {
        let (id, stamp) = (told.crossing.packet, told.stamp);
        let (from, at) = (told.link.0, told.meeting);
        let mut said = std::mem::take(&mut self.said);
        let messages = self.session.read_said(id, &mut said);
        if self.streams.acknowledges {
            self.hears_of_messages((from, at), (&said, messages), end, stamp);
        }
        self.hears_of_packets((from, at), &said, end, stamp);
        self.said = said;
    }

    /// Marks the packets that a packet acks.
    fn hears_of_packets(
        &mut self,
        (from, at): (NodeId, u16),
        said: &Said,
        end: Receipt,
        stamp: Stamp,
    ) {
        let Some(line) = self.streams.packets((self.node, from, at)) else {
            return;
        };
        if said.ack.is_none() && said.ack_ranges.is_empty() {
            return;
        }
        let acks = self.heard.acks.entry((from, at), || Acked {
            near: line.start().unwrap_or(0),
            last: i64::MIN,
            settled: 0,
        });
        if let Some(ack) = said.ack {
            let ack = unwrap(ack, acks.near);
            acks.near = ack.max(acks.near);
            acks.learn(
                self.session,
                line,
                (ack, said.ack_bits),
                (end, stamp),
                &mut self.heard.learnt,
            );
        }
        for &(first, value) in &said.ack_ranges {
            let bits = said.range_bits;
            let last = unwrap(Sequence { value, bits }, acks.near);
            acks.near = last.max(acks.near);
            let first = last.saturating_sub_unsigned(span(first, value, bits));
            let mut after = Some(first);
            while let Some((place, _)) = after.and_then(|after| line.next(after))
                && place <= last
            {
                let told = (end, stamp);
                learn(self.session, line, place, told, &mut self.heard.learnt);
                after = place.checked_add(1);
            }
        }
    }

    /// Marks the packets that carried the messages that messages of this packet acknowledge.
    fn hears_of_messages(
        &mut self,
        (from, at): (NodeId, u16),
        (said, messages): (&Said, Option<Messages<'_>>),
        end: Receipt,
        stamp: Stamp,
    ) {
        let session = self.session;
        let link = (self.node, from);
        if let Some(before) = said.acknowledges_before {
            let facts = MessageFacts::default();
            self.hears_of_all_before(reliable(link, at, &facts), before, end, stamp);
        }
        // What names one message tells more of it than what names all before another.
        let mut all_before = Vec::new();
        let tells = |shape: &Shape| shape.has(ACKNOWLEDGES);
        let messages = messages.into_iter().flat_map(|it| it.those(tells));
        for (_, facts) in messages {
            let stream = reliable(link, at, &facts);
            all_before.extend(facts.acknowledges_before.map(|before| (stream, before)));
            let Some(sequence) = facts.acknowledges else {
                continue;
            };
            let Some(line) = self.streams.line(stream) else {
                continue;
            };
            let first = || line.start().unwrap_or(0);
            let near = self.heard.newest_messages.entry(stream, first);
            let place = unwrap(sequence, *near);
            *near = place.max(*near);
            let known = (session, self.streams);
            let echoed = facts.echoed_time;
            self.heard
                .learnt
                .note_message(known, (line, place), echoed, (end, stamp));
        }
        for (stream, before) in all_before {
            self.hears_of_all_before(stream, before, end, stamp);
        }
    }
}

impl Learning<'_> {
    /// Marks the packets that carried the messages of a stream before one.
    fn hears_of_all_before(
        &mut self,
        stream: MessageStream,
        before: Sequence,
        end: Receipt,
        stamp: Stamp,
    ) {
        let Some(line) = self.streams.line(stream) else {
            return;
        };
        let start = line.start().unwrap_or(0);
        let near = self.heard.newest_messages.entry(stream, || start);
        let place = unwrap(before, *near);
        *near = place.saturating_sub(1).max(*near);
        let settled = self.heard.all_before.entry(stream, || start);
        let places = line.from(*settled).take_while(|&(at, _)| at < place);
        for (at, _) in places {
            let known = (self.session, self.streams);
            self.heard
                .learnt
                .note_message(known, (line, at), None, (end, stamp));
        }
        *settled = place.max(*settled);
    }
}

impl Acked {
    /// Marks what one ack names.
    fn learn(
        &mut self,
        session: &Session,
        line: &Line,
        (ack, bits): (i64, Option<(u64, u8)>),
        told: (Receipt, Stamp),
        learnt: &mut Learnt<'_>,
    ) {
        let (bits, count) = bits.unwrap_or((0, 0));
        let count = u32::from(count).min(64);
        // What the ack before said, seen from this one.
        let before = match ack.checked_sub(self.last) {
            Some(0) => self.settled,
            Some(ahead @ 1..=63) => self.settled << ahead,
            _ => 0,
        };
        let mut settled = before;
        let mut name = |back: u32| {
            if line.is_plain() && back < 64 && before >> back & 1 == 1 {
                return;
            }
            let Some(place) = ack.checked_sub(i64::from(back)) else {
                return;
            };
            if learn(session, line, place, told, learnt) && back < 64 {
                settled |= 1 << back;
            }
        };
        name(0);
        let mut left = match count {
            64 => bits,
            count => bits & ((1 << count) - 1),
        };
        while left != 0 {
            name(left.trailing_zeros() + 1);
            left &= left - 1;
        }
        (self.last, self.settled) = (ack, settled);
    }
}

/// Marks the packet at a place: of several with the same number, the latest that had been sent.
/// Whether there is nothing more to learn of the place.
fn learn(
    session: &Session,
    line: &Line,
    place: i64,
    (end, stamp): (Receipt, Stamp),
    learnt: &mut Learnt<'_>,
) -> bool {
    let Some(first) = line.first(place).map(PacketId) else {
        return true;
    };
    let others = line.others(place);
    if others.is_empty() && learnt.is_known(first) {
        return true;
    }
    let sent = others.partition_point(|&(_, it)| had_been_sent(session, PacketId(it), stamp));
    let latest = match sent.checked_sub(1).and_then(|last| others.get(last)) {
        Some(&(_, latest)) => PacketId(latest),
        None if had_been_sent(session, first, stamp) => first,
        None => return false,
    };
    learnt.note(latest, end);
    true
}

/// How many copies of a message are held against an ack of it.
const COPIES: usize = 8;

/// The packet whose arrival the ack of a message tells.
struct Carrier {
    packet: PacketId,
    meant: Meant,
}

/// Whether an ack of a message means this copy of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// It arrived, and first: later acks mean it too.
    Certain,
    /// No other had been sent.
    Alone,
    /// Another one may be meant.
    OneOfSeveral,
}

/// Of the copies of a message that had been sent when an ack of it came, the one that arrived first,
/// or where nobody knows that, the one that was sent last.
fn carrier(
    (session, streams): (&Session, &Streams),
    line: &Line,
    place: i64,
    stamp: Stamp,
) -> Option<Carrier> {
    let sent = |copy: MessageId| {
        let carrier = session.carrier(copy);
        carrier.is_some_and(|packet| had_been_sent(session, packet, stamp))
    };
    // What was sent very often is looked at where it was sent last.
    let copies = streams.all_at(line, place, sent).rev().take(COPIES);
    let mut copies = copies.filter_map(|copy| session.carrier(copy));
    let last = copies.next()?;
    let received = |packet: PacketId| {
        let received = session.packet(packet)?.received?;
        Some((received.time, packet))
    };
    let mut is_alone = true;
    let others = copies.inspect(|&packet| is_alone &= packet == last);
    let arrived = others.chain([last]).filter_map(received).min();
    Some(match arrived {
        Some((_, packet)) => Carrier {
            packet,
            meant: Meant::Certain,
        },
        None => Carrier {
            packet: last,
            meant: match is_alone {
                true => Meant::Alone,
                false => Meant::OneOfSeveral,
            },
        },
    })
}

/// Of the copies of a message that had been sent when an ack of it came, the one that was sent at this
/// time by its sender's clock. `None` where there was one copy only, or several were sent at once.
fn sent_at(
    (session, streams): (&Session, &Streams),
    (line, place): (&Line, i64),
    time: Sequence,
    stamp: Stamp,
) -> Option<PacketId> {
    let sent = |copy: MessageId| {
        let carrier = session.carrier(copy);
        carrier.is_some_and(|packet| had_been_sent(session, packet, stamp))
    };
    let copies = || streams.all_at(line, place, sent);
    copies().nth(1)?;
    let of_then = |copy: MessageId| {
        let message = session.message(copy)?;
        let own = message.facts.sent_time;
        let at = own.or_else(|| session.said(message.packet)?.sent_time)?;
        (at.value == time.value).then_some(message.packet)
    };
    let mut those = copies().rev().take(COPIES).filter_map(of_then);
    let packet = those.next()?;
    those.all(|other| other == packet).then_some(packet)
}

/// Whether a packet had left its sender when that one was told something.
fn had_been_sent(session: &Session, packet: PacketId, stamp: Stamp) -> bool {
    let Some(departed) = session.departed(packet) else {
        return true;
    };
    match departed {
        (true, sent) => sent.number < stamp.number,
        (false, seen) => seen.time <= stamp.time,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use netreel_reel::{Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId};
    use netreel_reel::{ThreadId, Time};
    use netreel_wire::Wire;

    use super::*;
    use crate::session::ReelInput;

    const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
        struct P { sequence: u16 @sequence; ack: u16 @ack; bits: u32 @ack_bits; }";

    /// The reel of a node that sends packets with these sequences and then gets one ack.
    fn reel(sent: &[u64], ack: u64, bits: u64) -> Reel {
        let mut writer = ReelWriter::create(Vec::new(), &Header::default()).expect("a reel");
        let (socket, peer) = (SocketId(0), ([127, 0, 0, 1], 2).into());
        let packet = |sequence: u64, ack: u64, bits: u64| {
            let mut packet = Vec::new();
            packet.extend((sequence as u16).to_le_bytes());
            packet.extend((ack as u16).to_le_bytes());
            packet.extend((bits as u32).to_le_bytes());
            packet
        };
        let mut number = 0;
        let mut push = |event: Event<'_>| {
            let record = Record {
                number: EventNumber(number),
                time: Time(number),
                thread: ThreadId(0),
                event,
            };
            number += 1;
            writer.push(&record).expect("an event");
        };
        let local = ([127, 0, 0, 1], 1).into();
        push(Event::SocketOpened { socket, local });
        for &sequence in sent {
            push(Event::Sent {
                socket,
                to: peer,
                payload: &packet(sequence, 0, 0),
            });
        }
        push(Event::Received {
            socket,
            from: peer,
            payload: &packet(0, ack, bits),
        });
        Reel::from_bytes(writer.finish().expect("its bytes")).expect("the reel opens")
    }

    /// A node sends packets with these sequences and then gets one ack; which of them are acked?
    fn check(sent: &[u64], ack: u64, bits: u64, expected: &[u64]) {
        let wire = Wire::compile("w.wire", WIRE).unwrap_or_else(|error| panic!("{error}"));
        let input = ReelInput {
            name: "a.reel".to_owned(),
            reel: Arc::new(reel(sent, ack, bits)),
        };
        let session = Session::builder()
            .wire(Arc::new(wire))
            .build(vec![input])
            .expect("a session");
        let streams = Streams::new(&session);
        let nodes = (0..session.nodes.len() as u16).map(NodeId);
        let receipts = Receipts::new(&session);
        let heard = nodes.map(|node| {
            let mut learning = Learning::new((&session, &streams), node, &receipts);
            for end in session.ends(node) {
                let end = NodeEnd::new((&session, &streams), end);
                learning.take(&end.expect("a packet of a link"));
            }
            learning.heard
        });
        let acks = Acks::new(heard.collect(), &receipts);
        let found: Vec<u64> = sent
            .iter()
            .enumerate()
            .filter(|&(place, _)| acks.acked.get_some(place).is_some())
            .map(|(_, &value)| value)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_ack_names_the_newest_packet() {
        check(&[1, 2, 3], 3, 0, &[3]);
    }

    #[test]
    fn bit_i_names_the_packet_i_plus_one_before() {
        check(&[1, 2, 3, 4], 4, 0b101, &[1, 3, 4]);
    }

    #[test]
    fn acks_reach_over_the_wrap() {
        check(
            &[65_534, 65_535, 65_536, 65_537],
            65_537,
            0b110,
            &[65_534, 65_535, 65_537],
        );
    }

    #[test]
    fn of_packets_with_the_same_number_an_ack_names_one() {
        check(&[1, 2, 3, 1, 2], 2, 0, &[2]);
    }

    #[test]
    fn an_ack_of_what_was_never_sent_names_nothing() {
        check(&[1, 2], 9, 0, &[]);
    }
}
