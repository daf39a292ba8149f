//! The reliable streams of each link: which messages are copies of which, and what is handed over in
//! which order.

mod anew;
mod shares;
mod stream;

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_system::Cancel;
use netreel_table::Column;
use netreel_wire::{KindId, MessageFacts, Promise, Role, Sequence};

pub(super) use anew::{Restart, Sign};
use shares::{Shares, merged};
use stream::{Anew, FOLLOWS_MAX, Numbers, OneStream, Spoken};
pub(super) use stream::{MessageStream, NumberedLink};

use super::elsewhere::{Elsewhere, elsewhere};
use super::finding::says_the_same;
use super::line::Line;
use super::meetings::Meetings;
use super::roles::{is_about_object, may_tell};
use super::sequence::unwrap;
use crate::session::bits::Bits;
use crate::session::keyed::{Key, Keyed};
use crate::session::{
    ACKNOWLEDGES, CHECKSUM, Fate, HOST, INPUT, MessageId, NodeId, OBJECT, PacketId,
    RELIABLE_SEQUENCE, Said, Session, SessionTime, Shape, parallel,
};

/// When the engine is handed a message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandedOver {
    /// At once.
    Now,
    /// At once, and its copies never.
    Once,
    /// When all that stands before its place has been handed over.
    InOrder(StreamNumber, i64),
    /// At once, unless one of a later place was.
    Newest(StreamNumber, i64),
}

/// The number of a stream among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StreamNumber(u32);

impl Key for StreamNumber {
    fn mixed(&self) -> usize {
        self.0 as usize
    }
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

/// Where there are no more packets, one processor takes them.
const PACKETS: usize = 256;

/// The number of a meeting with somebody else.
const WITH_ANOTHER: u16 = u16::MAX;

/// All streams of a session, and what else one pass over all messages tells.
#[derive(Default)]
pub(super) struct Streams {
    streams: Keyed<MessageStream, OneStream>,
    /// Of each stream, by its number, the message with which it began.
    began: Vec<MessageId>,
    /// The next message to take.
    next: MessageId,
    /// For each link and session its packets by their places on its line of sequence numbers.
    ways: Keyed<NumberedLink, Numbers>,
    anew: Anew,
    /// Messages that repeat an earlier one.
    resent: Bits,
    /// Each of these, and the earlier one.
    resends: Vec<(MessageId, MessageId)>,
    /// The same the other way round, ordered by the earlier ones.
    copies: Vec<(MessageId, MessageId)>,
    /// For each packet its place on its link's line of sequence numbers.
    packet_places: Column,
    /// For each packet how often its sender and its receiver had connected anew when it left.
    met: Column,
    pub meetings: Meetings,
    /// Receipts of what was sent to another node, which had the endpoint before.
    pub elsewhere: Arc<Elsewhere>,
    /// Packets that were sent in a meeting and came, or would have, when a later one had begun.
    pub of_before: Vec<PacketId>,
    /// Where a node began anew with one that it had not parted from.
    pub restarts: Vec<Restart>,
    /// For each message its place in the stream of its reliable sequence, laid out on one line.
    places: Column,
    /// For each message its place in the order of its channel, where that is apart.
    orders: Column,
    /// For each message the stream whose order it is handed over in, and in the lowest bit whether it is
    /// not once a later one was.
    streams_of: Column,
    /// The messages that may change what a node believes, or are parts of others.
    pub may_matter: Bits,
    /// When each object was first spoken of.
    pub born: BTreeMap<u64, SessionTime>,
    /// The messages that say that somebody leaves.
    pub partings: Vec<MessageId>,
    /// The packets that say who is host, in messages or outside: of each link those that may be news
    /// to their receiver.
    pub hosts: Vec<(PacketId, u64)>,
    /// What the last of them said on each link, if it was not lost.
    named: BTreeMap<(NodeId, NodeId), u64>,
    /// Whether a packet names the newest one that its sender has received.
    pub acks: bool,
    /// Whether a message acknowledges another one.
    pub acknowledges: bool,
    /// The messages that are parts of others.
    pub parts: Bits,
    /// The messages that call a procedure.
    pub calls: Bits,
    /// The packets that acknowledge something.
    pub acking: Bits,
    /// By sender, the packets that may tell of something which that did.
    pub acting: BTreeMap<NodeId, Vec<PacketId>>,
    /// By whom they go to, the packets that order somebody to take over an object.
    pub orders_to: BTreeMap<NodeId, Vec<PacketId>>,
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
        if !cancel.goes_on() {
            return None;
        }
        let meetings = Meetings::between_ports(session);
        let elsewhere = Arc::new(elsewhere(session));
        let is_shared = session.packet_count() > PACKETS && meetings.is_empty();
        let shares = Shares::new(session, if is_shared { session.workers() } else { 1 });
        let mut all = vec![meetings];
        all.resize_with(shares.count, Meetings::default);
        let jobs = all.into_iter().enumerate().collect();
        let parts = parallel::map(jobs, shares.count, |(own, meetings)| {
            let mut streams = Streams {
                meetings,
                elsewhere: elsewhere.clone(),
                ..Streams::default()
            };
            streams.take_packets(session, shares.packets(own), cancel);
            streams
        });
        if !cancel.goes_on() {
            return None;
        }
        let mut streams = Streams::joined(&shares, parts);
        streams.conclude();
        Some(streams)
    }

    /// What was taken in shares, as if it had been at once.
    fn joined(shares: &Shares<'_>, mut parts: Vec<Streams>) -> Streams {
        if parts.len() == 1 {
            return parts.pop().unwrap_or_default();
        }
        let mut all = Streams::default();
        // Streams are numbered in the order in which they began.
        let began = parts.iter().enumerate();
        let began = began.flat_map(|(own, part)| part.began.iter().map(move |&at| (at, own)));
        let mut began: Vec<(MessageId, usize)> = began.collect();
        began.sort_unstable();
        let streams = parts
            .iter_mut()
            .map(|part| std::mem::take(&mut part.streams));
        let mut streams: Vec<_> = streams.map(Keyed::into_iter).collect();
        let mut numbers: Vec<Vec<u32>> = vec![Vec::new(); parts.len()];
        for (_, own) in began {
            if let Some((stream, known)) = streams[own].next() {
                numbers[own].push(all.streams.numbered(stream, || known).0);
            }
        }
        for (part, numbers) in parts.iter_mut().zip(numbers) {
            let renumbered = |row: u64| {
                let new = numbers.get((row.checked_sub(1)? >> 1) as usize)?;
                Some(u64::from(*new) << 1 | (row - 1) & 1)
            };
            let mut rows = Column::new();
            let known = part.streams_of.iter().map(renumbered);
            known.for_each(|row| rows.push_some(row));
            part.streams_of = rows;
        }
        let mut take = |of: fn(&mut Streams) -> &mut Column| -> Vec<Column> {
            let parts = parts.iter_mut();
            parts.map(|part| std::mem::take(of(part))).collect()
        };
        all.checksums = merged(take(|it| &mut it.checksums));
        all.inputs = merged(take(|it| &mut it.inputs));
        all.ticks = merged(take(|it| &mut it.ticks));
        let jobs = vec![
            (take(|it| &mut it.places), true),
            (take(|it| &mut it.orders), true),
            (take(|it| &mut it.streams_of), true),
            (take(|it| &mut it.packet_places), false),
            (take(|it| &mut it.met), false),
        ];
        let columns = parallel::map(jobs, shares.count, |(columns, of_messages)| {
            shares.in_turn(&columns, of_messages)
        });
        if let Ok(columns) = <[Column; 5]>::try_from(columns) {
            let [places, orders, streams_of, packet_places, met] = columns;
            all = Streams {
                places,
                orders,
                streams_of,
                packet_places,
                met,
                ..all
            };
        }
        parts.into_iter().for_each(|part| all.take_lists(part));
        all.resends.sort_unstable();
        all.of_before.sort_unstable();
        all.partings.sort_unstable();
        all.nacks.sort_unstable();
        all.restarts.sort_by_key(|restart| restart.packet);
        all.hosts.sort_by_key(|&(packet, _)| packet);
        let of_nodes = all.acting.values_mut().chain(all.orders_to.values_mut());
        of_nodes.for_each(|packets| packets.sort_unstable());
        all
    }

    /// Takes what others took that is neither a column nor a stream, in any order.
    fn take_lists(&mut self, others: Streams) {
        self.resent.take(&others.resent);
        self.may_matter.take(&others.may_matter);
        self.parts.take(&others.parts);
        self.calls.take(&others.calls);
        self.acking.take(&others.acking);
        for (way, numbers) in others.ways.into_iter() {
            self.ways.entry(way, || numbers);
        }
        for (object, first) in others.born {
            self.was_born(object, first);
        }
        for (node, packets) in others.acting {
            self.acting.entry(node).or_default().extend(packets);
        }
        for (node, packets) in others.orders_to {
            self.orders_to.entry(node).or_default().extend(packets);
        }
        self.meetings.take(others.meetings);
        self.elsewhere = others.elsewhere;
        self.resends.extend(others.resends);
        self.of_before.extend(others.of_before);
        self.restarts.extend(others.restarts);
        self.partings.extend(others.partings);
        self.hosts.extend(others.hosts);
        self.nacks.extend(others.nacks);
        self.acks |= others.acks;
        self.acknowledges |= others.acknowledges;
    }

    /// Takes packets, in their order, as long as they are wanted.
    fn take_packets(
        &mut self,
        session: &Session,
        packets: impl Iterator<Item = PacketId>,
        cancel: &Cancel,
    ) {
        let mut reader = session.reader();
        let kinds = session.wire.as_ref().map_or(0, |wire| wire.kinds().len());
        // Of each kind whether it tells of its sender's connection, of what that did, or a part of
        // something.
        let is_telling: Vec<bool> = (0..kinds)
            .map(|kind| {
                let role = session.role_of(Some(KindId(kind as u16)));
                matches!(role, Role::Disconnect | Role::Connect) || may_tell(role)
            })
            .collect();
        let is_telling = |kind: Option<KindId>| {
            let known = kind.and_then(|kind| is_telling.get(usize::from(kind.0)));
            known.copied().unwrap_or_default()
        };
        // All others are in no stream, and say nothing of what is asked here.
        let tells = |shape: &Shape| {
            shape.has(RELIABLE_SEQUENCE | ACKNOWLEDGES | OBJECT | HOST | CHECKSUM | INPUT)
                || shape.is_sequenced()
                || is_telling(shape.kind())
        };
        let (mut said, mut facts) = (Said::default(), MessageFacts::default());
        for (nth, packet) in packets.enumerate() {
            if nth % STEP == 0 && !cancel.goes_on() {
                return;
            }
            let Some((link, first, mut messages)) = reader.spoken(packet, &mut said) else {
                self.met.push(0);
                self.packet_places.push(0);
                continue;
            };
            self.next = MessageId(said.messages.start);
            self.acks |= said.ack.is_some();
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
            let mut next = |to: &mut MessageFacts| messages.as_mut()?.next_that(tells, to);
            while let Some(nth) = next(&mut facts) {
                let message = MessageId(said.messages.start + nth);
                self.take_message(session, &mut spoken, (message, &facts), is_over);
                of_ticks.0 |= facts.checksum.is_some();
                of_ticks.1 |= facts.input.is_some();
                is_acking |= facts.acknowledges.is_some() || facts.acknowledges_before.is_some();
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
        let role = session.role(facts);
        match role {
            Role::Disconnect => self.partings.push(message),
            Role::Fragment => {
                self.parts.insert(message.0);
            }
            Role::Rpc => {
                self.calls.insert(message.0);
            }
            Role::MigrateOrder => note(&mut self.orders_to, link.1, packet),
            _ => {}
        }
        if may_tell(role) {
            note(&mut self.acting, link.0, packet);
        }
        if self.matters(message, facts, role) {
            self.may_matter.insert(message.0);
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
        while self.next < message {
            self.has_no_place();
        }
    }

    /// The next message is in no stream.
    fn has_no_place(&mut self) {
        self.places.push(0);
        self.orders.push(0);
        self.streams_of.push(0);
        self.next.0 += 1;
    }

    /// Whether a message that is handed over may do more than be handed over.
    fn matters(&self, message: MessageId, facts: &MessageFacts, role: Role) -> bool {
        let is_copy_of_part = || {
            let earlier = self.earlier(message);
            earlier.is_some_and(|earlier| self.parts.contains(earlier.0))
        };
        let is_about = || facts.object.is_some() && is_about_object(role);
        matches!(role, Role::Fragment | Role::Disconnect) || is_about() || is_copy_of_part()
    }

    /// No more will be taken.
    fn conclude(&mut self) {
        let columns = [
            &mut self.places,
            &mut self.orders,
            &mut self.streams_of,
            &mut self.packet_places,
        ];
        let of_ticks = [&mut self.checksums, &mut self.inputs, &mut self.ticks];
        let more = [&mut self.met].into_iter().chain(of_ticks);
        for column in columns.into_iter().chain(more) {
            column.shrink();
        }
        self.streams.shrink(|own| {
            own.numbers.line.settle();
            own.ordered.settle();
        });
        self.ways.shrink(|own| own.line.settle());
        let copies = self.resends.iter();
        self.copies = copies.map(|&(copy, first)| (first, copy)).collect();
        self.copies.sort_unstable();
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
            let line = self.line(stream)?;
            let first = MessageId(line.first(line.start()?)?);
            let packet = (session.carrier(first)?, stream.meeting);
            let link = (stream.from, stream.to);
            self.meetings.later(packet, link)?.next()
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
        let way = self.ways.entry(way, Numbers::default);
        let place = way.lay_out(sequence);
        self.packet_places.push(put(place));
        way.line.append(place, packet.0);
    }

    /// The packets of a link and session, by their places on its line of sequence numbers.
    pub fn packets(&self, way: NumberedLink) -> Option<&Line> {
        Some(&self.ways.get(way)?.line)
    }

    /// The same of all.
    pub fn ways(&self) -> impl Iterator<Item = (NumberedLink, &Line)> + '_ {
        self.ways.iter().map(|(way, numbers)| (way, &numbers.line))
    }

    /// The messages of a stream of reliable sequences, by place; of each the first copy.
    pub fn line(&self, stream: MessageStream) -> Option<&Line> {
        let line = &self.streams.get(stream)?.numbers.line;
        (!line.is_empty()).then_some(line)
    }

    /// The same of all that there are.
    pub fn lines(&self) -> impl Iterator<Item = (MessageStream, &Line)> + '_ {
        let lines = self.streams.iter();
        let lines = lines.map(|(stream, it)| (stream, &it.numbers.line));
        lines.filter(|(_, line)| !line.is_empty())
    }

    /// Whether a stream says nothing of the order.
    pub fn is_unordered(&self, stream: MessageStream) -> bool {
        self.streams.get(stream).is_some_and(|it| it.is_unordered)
    }

    /// Whether no other numbers bring it in an order either.
    pub fn is_loose(&self, stream: MessageStream) -> bool {
        self.streams.get(stream).is_some_and(|it| it.is_loose)
    }

    /// The number of a stream, and the stream of a number.
    pub fn number_of(&self, stream: MessageStream) -> Option<StreamNumber> {
        self.streams.number(stream).map(StreamNumber)
    }

    pub fn stream_of(&self, number: StreamNumber) -> Option<MessageStream> {
        self.streams.key(number.0)
    }

    fn take(&mut self, session: &Session, sent: Sent<'_>, at: u16) {
        let Sent {
            link,
            message,
            facts,
        } = sent;
        let is_sequenced = facts.promise == Promise::Sequenced;
        let Some(sequence) = facts.reliable_sequence else {
            let Some(order) = facts.ordered_sequence.filter(|_| is_sequenced) else {
                return self.has_no_place();
            };
            let (number, own) = self.stream(in_order(link, at, facts));
            let place = own.numbers.lay_out(order);
            self.places.push(0);
            return self.has_order(put(place), (number, is_sequenced));
        };
        let stream = reliable(link, at, facts);
        let lap = self.lap_before(session, message, (stream, sequence));
        let (number, own) = self.stream(stream);
        let place = lap.unwrap_or_else(|| own.numbers.lay_out(sequence));
        let earlier = own.numbers.line.put(place, message.0);
        // What has an order apart, or none, waits for nothing in this stream.
        let is_apart = facts.ordered_sequence.is_some() || facts.promise != Promise::Ordered;
        own.is_unordered |= is_apart;
        own.is_loose |= is_apart && facts.ordered_sequence.is_none();
        self.places.push(put(place));
        if let Some(earlier) = earlier {
            self.resent.insert(message.0);
            self.resends.push((message, MessageId(earlier)));
        }
        let Some(sequence) = facts.ordered_sequence else {
            return self.has_order(0, (number, is_sequenced));
        };
        let (number, own) = self.stream(in_order(link, at, facts));
        let place = own.numbers.lay_out(sequence);
        if earlier.is_none() && !is_sequenced {
            own.ordered.append(place, message.0);
        }
        self.has_order(put(place), (number, is_sequenced));
    }

    /// A stream and its number.
    fn stream(&mut self, stream: MessageStream) -> (u32, &mut OneStream) {
        let Streams {
            streams,
            began,
            next,
            ..
        } = self;
        streams.numbered(stream, || {
            began.push(*next);
            OneStream::default()
        })
    }

    /// The next message has a place in an order, as a row of a column, and is handed over in a stream.
    fn has_order(&mut self, order: u64, (stream, is_sequenced): (u32, bool)) {
        self.orders.push(order);
        let stream = u64::from(stream) << 1 | u64::from(is_sequenced);
        self.streams_of.push_some(Some(stream));
        self.next.0 += 1;
    }

    /// The place of the message that this one is a copy of, where more than half of the numbers are
    /// under way: by its distance alone it would be a new one, far ahead.
    fn lap_before(
        &self,
        session: &Session,
        message: MessageId,
        (stream, sequence): (MessageStream, Sequence),
    ) -> Option<i64> {
        if sequence.bits > BITS_MAX {
            return None;
        }
        let numbers = &self.streams.get(stream)?.numbers;
        let newest = numbers.newest?;
        let place = unwrap(sequence, newest);
        if place.saturating_sub(newest) <= FOLLOWS_MAX {
            return None;
        }
        let before = place - (1 << sequence.bits);
        let first = MessageId(numbers.line.first(before)?);
        says_the_same(session, message, first).then_some(before)
    }

    /// A reliable message's place in its stream.
    pub fn place(&self, message: MessageId) -> Option<i64> {
        get(&self.places, message.0 as usize)
    }

    /// When the engine is handed a message.
    pub fn turn(&self, message: MessageId) -> HandedOver {
        let row = message.0 as usize;
        let Some(known) = self.streams_of.get_some(row) else {
            return HandedOver::Now;
        };
        let (stream, is_sequenced) = (StreamNumber((known >> 1) as u32), known & 1 == 1);
        let order = get(&self.orders, row);
        let place = order.or_else(|| get(&self.places, row)).unwrap_or(0);
        let is_unordered = || self.streams.at(stream.0).is_some_and(|it| it.is_unordered);
        match is_sequenced {
            true => HandedOver::Newest(stream, place),
            false if order.is_none() && is_unordered() => HandedOver::Once,
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
    pub fn resends(&self) -> Vec<(MessageId, MessageId)> {
        self.resends.clone()
    }

    /// The messages that repeat an earlier one, each with that one; and the same the other way round.
    #[allow(clippy::type_complexity)] // taken apart where it is called
    pub fn into_resends(self) -> (Vec<(MessageId, MessageId)>, Vec<(MessageId, MessageId)>) {
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
        stream: StreamNumber,
        floor: i64,
        fits: impl Fn(MessageId) -> bool,
    ) -> Option<i64> {
        let own = self.streams.at(stream.0)?;
        let mut reliable = own.numbers.line.from(floor);
        let found = reliable.find(|&(_, message)| fits(MessageId(message)));
        let ordered = || {
            let line = &own.ordered;
            let mut places = line.from(floor);
            places.find(|&(place, _)| line.at(place).all(|message| fits(MessageId(message))))
        };
        let found = found.or_else(ordered);
        found.map(|(place, _)| place)
    }

    /// The place of a stream that is handed over after one.
    pub fn place_after(&self, stream: StreamNumber, place: i64) -> i64 {
        let after = place.saturating_add(1);
        let is_ordered = self.stream_of(stream).is_some_and(|it| it.ordered);
        let own = self.streams.at(stream.0).filter(|_| is_ordered);
        let next = own.and_then(|own| own.ordered.next(after));
        next.map_or(after, |(place, _)| place)
    }

    /// How many messages stand at a place.
    pub fn count_at(&self, stream: StreamNumber, place: i64) -> usize {
        match self.streams.at(stream.0) {
            Some(own) if !own.ordered.is_empty() => own.ordered.at(place).count(),
            _ => 1,
        }
    }
}

/// Notes a packet of a node, once.
fn note(packets: &mut BTreeMap<NodeId, Vec<PacketId>>, node: NodeId, packet: PacketId) {
    let own = packets.entry(node).or_default();
    if own.last() != Some(&packet) {
        own.push(packet);
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

/// A place as a row of a column, in which 0 is none.
fn put(place: i64) -> u64 {
    ((place << 1 ^ place >> 63) as u64).wrapping_add(1)
}

/// The place that a row of a column has.
fn get(column: &Column, row: usize) -> Option<i64> {
    let known = column.get(row).checked_sub(1)?;
    Some((known >> 1) as i64 ^ -((known & 1) as i64))
}
