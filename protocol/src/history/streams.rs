//! The reliable streams of each link: which messages are copies of which, and what is handed over in
//! which order.

mod anew;
mod stream;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use netreel_system::Cancel;
use netreel_table::{Column, List};
use netreel_wire::{KindId, MessageFacts, Promise, Role, Sequence};

pub(super) use anew::{Restart, Sign};
pub(super) use stream::MessageStream;
use stream::{Anew, FOLLOWS_MAX, NumberedLink, Spoken};

use super::elsewhere::{Elsewhere, elsewhere};
use super::finding::says_the_same;
use super::line::Line;
use super::meetings::Meetings;
use super::roles::may_tell;
use super::sequence::unwrap;
use crate::session::bits::Bits;
use crate::session::{
    ACKNOWLEDGES, CHECKSUM, Fate, HOST, INPUT, MessageId, NodeId, OBJECT, PacketId,
    RELIABLE_SEQUENCE, Session, SessionTime, Shape,
};

/// When the engine is handed a message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandedOver {
    /// At once.
    Now,
    /// At once, and its copies never.
    Once,
    /// When all that stands before its place has been handed over.
    InOrder(MessageStream, i64),
    /// At once, unless one of a later place was.
    Newest(MessageStream, i64),
}

/// A message on its link: from whom to whom, which, and what it says.
#[derive(Clone, Copy)]
pub(super) struct Sent<'a> {
    pub link: (NodeId, NodeId),
    pub message: MessageId,
    pub facts: &'a MessageFacts,
}

/// After this many packets the pass over all messages asks whether the history is still wanted.
const STEP: usize = 16_384;

/// The number of a meeting with somebody else.
const WITH_ANOTHER: u16 = u16::MAX;

/// All streams of a session, and what else one pass over all messages tells.
#[derive(Default)]
pub(super) struct Streams {
    /// The highest place of each stream, and of each way.
    newest: BTreeMap<MessageStream, i64>,
    newest_packets: BTreeMap<NumberedLink, i64>,
    anew: Anew,
    /// Messages that repeat an earlier one.
    resent: Bits,
    /// Each of these, and the earlier one.
    resends: List<(MessageId, MessageId)>,
    /// The same the other way round, ordered by the earlier ones.
    copies: Vec<(MessageId, MessageId)>,
    /// For each packet its place on its link's line of sequence numbers.
    packet_places: Column,
    /// For each packet how often its sender and its receiver had connected anew when it left.
    met: Column,
    /// For each link and session its packets by that place.
    pub packets: BTreeMap<NumberedLink, Line>,
    pub meetings: Meetings,
    /// Receipts of what was sent to another node, which had the endpoint before.
    pub elsewhere: Elsewhere,
    /// Packets that were sent in a meeting and came, or would have, when a later one had begun.
    pub of_before: Vec<PacketId>,
    /// Where a node began anew with one that it had not parted from.
    pub restarts: Vec<Restart>,
    /// For each message its place in the stream of its reliable sequence, laid out on one line.
    places: Column,
    /// For each message its place in the order of its channel, where that is apart.
    orders: Column,
    /// For each stream its messages by place; of each the first copy.
    pub links: BTreeMap<MessageStream, Line>,
    /// For each stream of ordered sequences the messages at each place; of each the first copy.
    ordered: BTreeMap<MessageStream, Line>,
    /// Streams of reliable sequences that say nothing of the order.
    pub unordered: BTreeSet<MessageStream>,
    /// Those of them that no other numbers bring in an order.
    pub loose: BTreeSet<MessageStream>,
    /// When each object was first spoken of.
    pub born: BTreeMap<u64, SessionTime>,
    /// The messages that say that somebody leaves.
    pub partings: Vec<MessageId>,
    /// The packets that say who is host, in messages or outside: of each link those that may be news
    /// to their receiver.
    pub hosts: Vec<(PacketId, u64)>,
    /// What the last of them said on each link, if it was not lost.
    named: BTreeMap<(NodeId, NodeId), u64>,
    /// Whether a message acknowledges another one.
    pub acknowledges: bool,
    /// The messages that are parts of others.
    pub parts: Bits,
    /// The packets that acknowledge something.
    pub acking: Bits,
    /// The packets that may tell of something which their sender did.
    pub acting: Bits,
    /// The packets that say that something is lacking.
    pub nacks: Vec<PacketId>,
    /// The packets that tell checksums of ticks.
    pub checksums: Column,
    /// The packets that tell inputs.
    pub inputs: Column,
    /// The packets that tell the tick of their sender, outside messages.
    pub ticks: Column,
}

impl Streams {
    /// All of a session.
    #[cfg(test)]
    pub fn new(session: &Session) -> Streams {
        Streams::while_wanted(session, &Cancel::default()).unwrap_or_default()
    }

    /// All of a session, as long as they are wanted; `None` where they no longer are.
    pub fn while_wanted(session: &Session, cancel: &Cancel) -> Option<Streams> {
        let mut streams = Streams {
            meetings: Meetings::between_ports(session),
            elsewhere: elsewhere(session),
            ..Streams::default()
        };
        let packets = session.packet_count() as u32;
        for first in (0..packets).step_by(STEP) {
            if !cancel.goes_on() {
                return None;
            }
            let after = first.saturating_add(STEP as u32).min(packets);
            streams.take_packets(session, first..after);
        }
        streams.conclude();
        Some(streams)
    }

    /// Takes the next packets.
    fn take_packets(&mut self, session: &Session, packets: Range<u32>) {
        let kinds = session.wire.as_ref().map_or(0, |wire| wire.kinds().len());
        // Of each kind whether it tells of its sender's connection, of what that did, and a part of
        // something.
        let telling: Vec<(bool, bool, bool)> = (0..kinds)
            .map(|kind| {
                let role = session.role_of(Some(KindId(kind as u16)));
                let connects = matches!(role, Role::Disconnect | Role::Connect);
                (connects, may_tell(role), role == Role::Fragment)
            })
            .collect();
        let telling = |kind: Option<KindId>| {
            let known = kind.and_then(|kind| telling.get(usize::from(kind.0)));
            known.copied().unwrap_or_default()
        };
        // All others are in no stream, and say nothing of what is asked here.
        let tells = |shape: &Shape| {
            shape.has(RELIABLE_SEQUENCE | ACKNOWLEDGES | OBJECT | HOST | CHECKSUM | INPUT)
                || shape.is_sequenced()
                || telling(shape.kind()) != (false, false, false)
        };
        for packet in packets.map(PacketId) {
            let Some((link, first, said, messages)) = session.spoken(packet, &tells) else {
                self.met.push(0);
                continue;
            };
            self.acknowledges |= said.acknowledges_before.is_some();
            let mut is_acking = said.ack.is_some() || !said.ack_ranges.is_empty();
            is_acking |= said.acknowledges_before.is_some();
            if !said.lacks.is_empty() {
                self.nacks.push(packet);
            }
            if let Some(host) = said.host {
                self.take_host(session, (packet, link), host);
            }
            let mut of_ticks = (said.checksum.is_some(), said.input.is_some());
            let mut spoken = Spoken {
                packet,
                link,
                time: first,
                at: self.meetings.number(packet, link),
                sequence: said.sequence,
                follows: false,
            };
            let before = match self.elsewhere.contains_key(&packet) {
                true => Some(WITH_ANOTHER),
                false => self.still_of(session, spoken),
            };
            spoken.at = before.unwrap_or(spoken.at);
            self.of_before.extend(before.map(|_| packet));
            spoken.follows = self.follows((link.0, link.1, spoken.at), said.sequence);
            // What is of a connection that is over begins none.
            let is_over = before.is_some();
            if !is_over && self.forgets(session, spoken, &said) {
                spoken.at = self.meetings.number(packet, link);
            }
            self.note_acks_before(spoken, &MessageFacts::default(), said.acknowledges_before);
            for (message, facts) in messages {
                self.take_message(session, &mut spoken, (message, &facts), is_over);
                of_ticks.0 |= facts.checksum.is_some();
                of_ticks.1 |= facts.input.is_some();
                is_acking |= facts.acknowledges.is_some() || facts.acknowledges_before.is_some();
                let (_, may_act, is_part) = telling(facts.kind);
                if may_act {
                    self.acting.insert(packet.0);
                }
                if is_part {
                    self.parts.insert(message.0);
                }
            }
            if is_acking {
                self.acking.insert(packet.0);
            }
            let columns = [&mut self.checksums, &mut self.inputs, &mut self.ticks];
            let tells = [of_ticks.0, of_ticks.1, said.tick.is_some()];
            for (column, _) in columns.into_iter().zip(tells).filter(|it| it.1) {
                column.push(u64::from(packet.0));
            }
            self.pass(MessageId(said.messages.end));
            let at = spoken.at;
            if at > 0 && !is_over {
                self.note_heard(session, packet, link, at);
            }
            self.met.push(u64::from(at));
            self.take_packet((packet, link, at), said.sequence);
        }
    }

    /// Takes a message of a packet; `is_over`: one of a connection that is over.
    fn take_message(
        &mut self,
        session: &Session,
        spoken: &mut Spoken,
        (message, facts): (MessageId, &MessageFacts),
        is_over: bool,
    ) {
        let (packet, link) = (spoken.packet, spoken.link);
        self.pass(message);
        if !is_over && self.restart(session, *spoken, (message, facts)) {
            spoken.at = self.meetings.number(packet, link);
        }
        self.note_acks_before(*spoken, facts, facts.acknowledges_before);
        let sent = Sent {
            link,
            message,
            facts,
        };
        self.take(session, sent, spoken.at);
        if let Some(object) = facts.object {
            self.was_born(object, spoken.time);
        }
        if let Some(host) = facts.host {
            self.take_host(session, (packet, link), host);
        }
        if session.role(facts) == Role::Disconnect {
            self.partings.push(message);
        }
        self.acknowledges |= facts.acknowledges.is_some() || facts.acknowledges_before.is_some();
    }

    /// A packet says who is host. What was lost is news when it is said again.
    fn take_host(
        &mut self,
        session: &Session,
        (packet, link): (PacketId, (NodeId, NodeId)),
        host: u64,
    ) {
        if self.named.get(&link) == Some(&host) {
            return;
        }
        self.hosts.push((packet, host));
        match session.packet(packet).map(|packet| packet.fate) {
            Some(Fate::Lost | Fate::SendFailed) => self.named.remove(&link),
            _ => self.named.insert(link, host),
        };
    }

    /// The messages before this one that were not taken are in no stream.
    fn pass(&mut self, message: MessageId) {
        while self.places.len() < message.0 as usize {
            self.places.push(0);
            self.orders.push(0);
        }
    }

    /// No more will be taken.
    fn conclude(&mut self) {
        let columns = [&mut self.places, &mut self.orders, &mut self.packet_places];
        let of_ticks = [&mut self.checksums, &mut self.inputs, &mut self.ticks];
        let more = [&mut self.met].into_iter().chain(of_ticks);
        for column in columns.into_iter().chain(more) {
            column.shrink();
        }
        let copies = self.resends.iter();
        self.copies = copies.map(|&(copy, first)| (first, copy)).collect();
        self.copies.sort_unstable();
        (self.newest, self.newest_packets) = Default::default();
    }

    /// An object was spoken of at a moment.
    pub fn was_born(&mut self, object: u64, time: SessionTime) {
        let first = self.born.entry(object).or_insert(time);
        *first = time.min(*first);
    }

    /// A packet's place on its link's line; none where it has no sequence.
    pub fn packet_place(&self, packet: PacketId) -> Option<i64> {
        get(&self.packet_places, packet.0 as usize)
    }

    /// How often two nodes had connected anew, as far as who sent this packet knew.
    pub fn meeting_of(&self, packet: PacketId) -> u16 {
        self.met.get(packet.0 as usize) as u16
    }

    /// Whether the two nodes of a stream met anew since, at the same place.
    pub fn is_over(&self, session: &Session, stream: MessageStream) -> bool {
        let is_over = || {
            let line = self.links.get(&stream)?;
            let first = MessageId(line.first(line.start()?)?);
            let packet = (session.carrier(first)?, stream.meeting);
            let link = (stream.from, stream.to);
            self.meetings.later(packet, link).next()
        };
        let is_with_another = stream.meeting == WITH_ANOTHER;
        is_with_another || !self.meetings.is_empty() && is_over().is_some()
    }

    fn take_packet(
        &mut self,
        (packet, link, at): (PacketId, (NodeId, NodeId), u16),
        sequence: Option<Sequence>,
    ) {
        let Some(sequence) = sequence else {
            self.packet_places.push(0);
            return;
        };
        let way = (link.0, link.1, at);
        let place = lay_out(&mut self.newest_packets, way, sequence);
        self.packet_places.push(put(place));
        self.packets.entry(way).or_default().append(place, packet.0);
    }

    fn take(&mut self, session: &Session, sent: Sent<'_>, at: u16) {
        let Sent {
            link,
            message,
            facts,
        } = sent;
        let Some(sequence) = facts.reliable_sequence else {
            self.places.push(0);
            let order = (facts.promise == Promise::Sequenced).then_some(facts.ordered_sequence);
            let order = order
                .flatten()
                .map(|sequence| lay_out(&mut self.newest, in_order(link, at, facts), sequence));
            self.orders.push(order.map_or(0, put));
            return;
        };
        let stream = reliable(link, at, facts);
        let lap = self.lap_before(session, message, (stream, sequence));
        let place = lap.unwrap_or_else(|| lay_out(&mut self.newest, stream, sequence));
        self.places.push(put(place));
        let earlier = self.links.entry(stream).or_default().put(place, message.0);
        if let Some(earlier) = earlier {
            self.resent.insert(message.0);
            self.resends.push((message, MessageId(earlier)));
        }
        // What has an order apart, or none, waits for nothing in this stream.
        let is_apart = facts.ordered_sequence.is_some() || facts.promise != Promise::Ordered;
        if is_apart {
            self.unordered.insert(stream);
        }
        let Some(sequence) = facts.ordered_sequence else {
            if is_apart {
                self.loose.insert(stream);
            }
            self.orders.push(0);
            return;
        };
        let stream = in_order(link, at, facts);
        let place = lay_out(&mut self.newest, stream, sequence);
        self.orders.push(put(place));
        if earlier.is_none() && facts.promise != Promise::Sequenced {
            self.ordered
                .entry(stream)
                .or_default()
                .append(place, message.0);
        }
    }

    /// The place of the message that this one is a copy of, where more than half of the numbers are
    /// under way: by its distance alone it would be a new one, far ahead.
    fn lap_before(
        &self,
        session: &Session,
        message: MessageId,
        (stream, sequence): (MessageStream, Sequence),
    ) -> Option<i64> {
        let newest = *self.newest.get(&stream)?;
        let place = unwrap(sequence, newest);
        if sequence.bits > BITS_MAX || place.saturating_sub(newest) <= FOLLOWS_MAX {
            return None;
        }
        let before = place - (1 << sequence.bits);
        let first = MessageId(self.links.get(&stream)?.first(before)?);
        says_the_same(session, message, first).then_some(before)
    }

    /// A reliable message's place in its stream.
    pub fn place(&self, message: MessageId) -> Option<i64> {
        get(&self.places, message.0 as usize)
    }

    /// When the engine is handed a message of a packet.
    pub fn turn(&self, packet: PacketId, sent: Sent<'_>) -> HandedOver {
        let row = sent.message.0 as usize;
        if let Some(place) = get(&self.orders, row) {
            let at = self.meeting_of(packet);
            let stream = in_order(sent.link, at, sent.facts);
            return match sent.facts.promise {
                Promise::Sequenced => HandedOver::Newest(stream, place),
                Promise::Ordered | Promise::Unordered => HandedOver::InOrder(stream, place),
            };
        }
        let Some(place) = get(&self.places, row) else {
            return HandedOver::Now;
        };
        let at = self.meeting_of(packet);
        let stream = reliable(sent.link, at, sent.facts);
        if sent.facts.promise == Promise::Sequenced {
            return HandedOver::Newest(stream, place);
        }
        match !self.unordered.is_empty() && self.unordered.contains(&stream) {
            true => HandedOver::Once,
            false => HandedOver::InOrder(stream, place),
        }
    }

    /// The copy of a message that was sent first.
    pub fn first_copy(&self, message: MessageId) -> MessageId {
        self.earlier(message).unwrap_or(message)
    }

    /// The earlier message that a message repeats.
    pub fn earlier(&self, message: MessageId) -> Option<MessageId> {
        if !self.resent.contains(message.0) {
            return None;
        }
        let place = self.resends.partition_point(|&(copy, _)| copy < message);
        self.resends.get(place).map(|&(_, first)| first)
    }

    /// Whether an earlier message has the same place.
    pub fn is_resend(&self, message: MessageId) -> bool {
        self.resent.contains(message.0)
    }

    /// The messages that repeat an earlier one, each with that one.
    pub fn resends(&self) -> List<(MessageId, MessageId)> {
        self.resends.clone()
    }

    /// The messages that repeat an earlier one, each with that one; and the same the other way round.
    #[allow(clippy::type_complexity)] // taken apart where it is called
    pub fn into_resends(self) -> (List<(MessageId, MessageId)>, Vec<(MessageId, MessageId)>) {
        (self.resends, self.copies)
    }

    /// The messages of a stream at a place for which this holds, in the order in which they were
    /// sent; it holds for those that were sent first, if for any.
    pub fn all_at(
        &self,
        stream: &Line,
        place: i64,
        holds: impl Fn(MessageId) -> bool,
    ) -> impl DoubleEndedIterator<Item = MessageId> {
        let first = stream.first(place).map(MessageId).filter(|it| holds(*it));
        let copies = first.map_or(&[][..], |first| self.copies_of(first));
        let count = copies.partition_point(|&(_, copy)| holds(copy));
        let copies = copies.iter().take(count).map(|&(_, copy)| copy);
        first.into_iter().chain(copies)
    }

    /// The messages that were sent again, each with its copies in the order in which they were sent.
    pub fn resent(&self) -> impl Iterator<Item = &[(MessageId, MessageId)]> {
        self.copies.chunk_by(|one, other| one.0 == other.0)
    }

    /// The copies of a message, each with it, in the order in which they were sent.
    pub fn copies_of(&self, first: MessageId) -> &[(MessageId, MessageId)] {
        let start = self.copies.partition_point(|&(each, _)| each < first);
        let copies = self.copies.get(start..).unwrap_or(&[]);
        let count = copies.partition_point(|&(each, _)| each == first);
        copies.get(..count).unwrap_or(&[])
    }

    /// The first place of a stream from `floor` on whose messages all fit.
    pub fn next_place(
        &self,
        stream: MessageStream,
        floor: i64,
        fits: impl Fn(MessageId) -> bool,
    ) -> Option<i64> {
        let reliable = self.links.get(&stream).and_then(|line| {
            let mut places = line.from(floor);
            places.find(|&(_, message)| fits(MessageId(message)))
        });
        let ordered = || {
            let line = self.ordered.get(&stream)?;
            let mut places = line.from(floor);
            places.find(|&(place, _)| line.at(place).all(|message| fits(MessageId(message))))
        };
        let found = reliable.or_else(ordered);
        found.map(|(place, _)| place)
    }

    /// How many messages stand at a place.
    pub fn count_at(&self, stream: MessageStream, place: i64) -> usize {
        match self.ordered.get(&stream) {
            Some(line) => line.at(place).count(),
            None => 1,
        }
    }
}

/// The stream of a reliable sequence. Where the order has numbers of its own, the reliable ones are
/// those of the whole link; otherwise each channel has its own.
pub(super) fn reliable(
    (from, to): (NodeId, NodeId),
    meeting: u16,
    facts: &MessageFacts,
) -> MessageStream {
    let channel = match facts.ordered_sequence {
        Some(_) => None,
        None => facts.channel,
    };
    MessageStream {
        from,
        to,
        meeting,
        channel,
        ordered: false,
    }
}

/// The stream of an ordered sequence.
fn in_order((from, to): (NodeId, NodeId), meeting: u16, facts: &MessageFacts) -> MessageStream {
    MessageStream {
        from,
        to,
        meeting,
        channel: facts.channel,
        ordered: true,
    }
}

/// Numbers with more bits are never used up.
const BITS_MAX: u8 = 32;

fn lay_out<K: Ord>(newest: &mut BTreeMap<K, i64>, line: K, sequence: Sequence) -> i64 {
    let first = i64::try_from(sequence.value).unwrap_or(i64::MAX);
    let near = newest.entry(line).or_insert(first);
    let place = unwrap(sequence, *near);
    *near = place.max(*near);
    place
}

/// A place as a row of a column, in which 0 is none.
fn put(place: i64) -> u64 {
    ((place << 1 ^ place >> 63) as u64).wrapping_add(1)
}

/// The place that a row of a column has.
fn get(column: &Column, row: usize) -> Option<i64> {
    let known = column.get(row).checked_sub(1)?;
    Some((known >> 1) as i64 ^ -((known & 1) as i64))
}
