//! The reliable streams of each link: which messages are copies of which, and what is handed over in
//! which order.

use std::collections::{BTreeMap, BTreeSet};

use netreel_table::{Column, List};
use netreel_wire::{KindId, MessageFacts, Promise, Role, Sequence, StreamId};

use super::line::Line;
use super::meetings::{self, Meetings, Pair};
use super::sequence::unwrap;
use super::shelf::Shelf;
use crate::session::bits::Bits;
use crate::session::{
    ACKNOWLEDGES, CHECKSUM, Fate, HOST, INPUT, MessageId, NodeId, OBJECT, PacketId,
    RELIABLE_SEQUENCE, Session, SessionTime, Shape,
};

/// Messages that share one row of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageStream {
    pub from: NodeId,
    pub to: NodeId,
    /// How often these two had connected anew: numbering begins again.
    pub meeting: u16,
    /// Where each channel counts for itself.
    pub channel: Option<u64>,
    /// Whether the numbers are those of `@ordered_sequence`.
    pub ordered: bool,
}

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

/// From whom to whom packets go, and how often these two had connected anew.
pub(super) type NumberedLink = (NodeId, NodeId, u16);

/// A packet's number follows the one before by so many at the most: some may not have been recorded.
const FOLLOWS_MAX: i64 = 8;

/// Who counts from the first number again had used so many.
const ANEW_MIN: i64 = 16;

/// All streams of a session, and what else one pass over all messages tells. The pass may stop
/// anywhere and go on with more of the session.
#[derive(Clone, Default)]
pub(super) struct Streams {
    /// The first packet that was not taken yet.
    next: u32,
    /// The highest place of each stream, and of each way.
    newest: BTreeMap<MessageStream, i64>,
    newest_packets: BTreeMap<NumberedLink, i64>,
    restarting: Option<Restarting>,
    /// What was the highest where the pass last stopped.
    passed: Option<(BTreeMap<MessageStream, i64>, BTreeMap<NumberedLink, i64>)>,
    /// Whether something came at a place that had been passed then.
    is_disturbed: bool,
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
    /// The packets with which a node connected anew to one that it had not parted from, each with the
    /// last packet that it had sent before.
    pub restarts: Vec<(PacketId, PacketId)>,
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
    pub born: Shelf<SessionTime>,
    /// The messages that say that somebody leaves.
    pub partings: Vec<MessageId>,
    /// The packets that say who is host, in messages or outside: of each link those that may be news
    /// to their receiver.
    pub hosts: Vec<(PacketId, u64)>,
    /// What the last of them said on each link, if it was not lost.
    named: BTreeMap<(NodeId, NodeId), u64>,
    /// Whether a message acknowledges another one.
    pub acknowledges: bool,
    /// The packets that say that something is lacking.
    pub nacks: Vec<PacketId>,
    /// The packets that tell checksums of ticks.
    pub checksums: Column,
    /// The packets that tell inputs.
    pub inputs: Column,
    /// The packets that tell the tick of their sender, outside messages.
    pub ticks: Column,
}

/// What is known of nodes that part and meet again.
#[derive(Clone, Default)]
struct Restarting {
    /// Of which two nodes one said that it leaves.
    parted: BTreeSet<Pair>,
}

impl Streams {
    /// All of a session.
    #[cfg(test)]
    pub fn new(session: &Session) -> Streams {
        let mut streams = Streams::begin(session);
        streams.go_on(session, session.packet_count() as u32);
        streams.conclude();
        streams
    }

    /// Before the first packet.
    pub fn begin(session: &Session) -> Streams {
        Streams {
            meetings: Meetings::between_ports(session),
            restarting: Some(Restarting::default()),
            ..Streams::default()
        }
    }

    /// Takes the packets up to one.
    pub fn go_on(&mut self, session: &Session, until: u32) {
        let mut restarting = self.restarting.take();
        let kinds = session.wire.as_ref().map_or(0, |wire| wire.kinds().len());
        let telling: Vec<bool> = (0..kinds)
            .map(|kind| {
                let role = session.role_of(Some(KindId(kind as u16)));
                matches!(role, Role::Disconnect | Role::Connect)
            })
            .collect();
        // All others are in no stream, and say nothing of what is asked here.
        let tells = |shape: &Shape| {
            let kind = shape.kind().map(|kind| usize::from(kind.0));
            shape.has(RELIABLE_SEQUENCE | ACKNOWLEDGES | OBJECT | HOST | CHECKSUM | INPUT)
                || shape.is_sequenced()
                || kind.is_some_and(|kind| telling.get(kind) == Some(&true))
        };
        for packet in (self.next..until).map(PacketId) {
            let Some((link, first, said, messages)) = session.spoken(packet, &tells) else {
                self.met.push(0);
                continue;
            };
            self.acknowledges |= said.acknowledges_before.is_some();
            if !said.lacks.is_empty() {
                self.nacks.push(packet);
            }
            if let Some(host) = said.host {
                self.take_host(session, (packet, link), host);
            }
            let mut of_ticks = (said.checksum.is_some(), said.input.is_some());
            let mut at = self.meetings.number(session, packet, link);
            let follows = self.follows((link.0, link.1, at), said.sequence);
            for (message, facts) in messages {
                let facts = &facts;
                self.pass(message);
                if let Some(restarting) = &mut restarting
                    && self.restart(
                        session,
                        (packet, link),
                        (facts, said.sequence, follows),
                        restarting,
                    )
                {
                    at = self.meetings.number(session, packet, link);
                }
                let sent = Sent {
                    link,
                    message,
                    facts,
                };
                self.take(session, packet, sent, at);
                if let Some(object) = facts.object {
                    self.was_born(object, first);
                }
                if let Some(host) = facts.host {
                    self.take_host(session, (packet, link), host);
                }
                if session.role(facts) == Role::Disconnect {
                    self.partings.push(message);
                }
                self.acknowledges |=
                    facts.acknowledges.is_some() || facts.acknowledges_before.is_some();
                of_ticks.0 |= facts.checksum.is_some();
                of_ticks.1 |= facts.input.is_some();
            }
            let columns = [&mut self.checksums, &mut self.inputs, &mut self.ticks];
            let tells = [of_ticks.0, of_ticks.1, said.tick.is_some()];
            for (column, _) in columns.into_iter().zip(tells).filter(|it| it.1) {
                column.push(u64::from(packet.0));
            }
            self.pass(MessageId(said.messages.end));
            self.met.push(u64::from(at));
            self.take_packet((packet, link, at), said.sequence);
        }
        self.restarting = restarting;
        self.next = self.next.max(until);
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

    /// Stops here: what comes from now on at a place that was passed, or on another line, disturbs.
    pub fn stop(&mut self) {
        self.passed = Some((self.newest.clone(), self.newest_packets.clone()));
        self.sort_copies();
    }

    fn sort_copies(&mut self) {
        let copies = self.resends.iter();
        self.copies = copies.map(|&(copy, first)| (first, copy)).collect();
        self.copies.sort_unstable();
    }

    /// Whether what was worked out before the pass last stopped may have to be worked out anew.
    pub fn is_disturbed(&self) -> bool {
        self.is_disturbed
    }

    /// Whether a place had been passed where the pass last stopped, or is on a line that nobody had
    /// spoken on then: acks may have named what came later.
    fn was_passed(&self, stream: MessageStream, place: i64) -> bool {
        let passed = self.passed.as_ref();
        passed.is_some_and(|(streams, _)| is_passed(streams, &stream, place))
    }

    /// No more will be taken.
    pub fn conclude(&mut self) {
        let columns = [&mut self.places, &mut self.orders, &mut self.packet_places];
        let of_ticks = [&mut self.checksums, &mut self.inputs, &mut self.ticks];
        let more = [&mut self.met].into_iter().chain(of_ticks);
        for column in columns.into_iter().chain(more) {
            column.shrink();
        }
        self.sort_copies();
        (self.newest, self.newest_packets, self.passed) = Default::default();
    }

    /// An object was spoken of at a moment.
    pub fn was_born(&mut self, object: u64, time: SessionTime) {
        if self.born.get(object).is_none_or(|&first| time < first) {
            *self.born.get_or(object, || time) = time;
        }
    }

    /// A packet's place on its link's line; none where it has no sequence.
    pub fn packet_place(&self, packet: PacketId) -> Option<i64> {
        get(&self.packet_places, packet.0 as usize)
    }

    /// Whether a packet's number goes on where its way's numbers are. Who connects anew begins to
    /// count anew.
    fn follows(&self, way: NumberedLink, sequence: Option<Sequence>) -> bool {
        let newest = self.newest_packets.get(&way).zip(sequence);
        newest.is_some_and(|(&newest, sequence)| {
            let ahead = unwrap(sequence, newest).saturating_sub(newest);
            (1..=FOLLOWS_MAX).contains(&ahead)
        })
    }

    /// Notes who parts, and whether two nodes that had parted connect anew with this packet: what it
    /// says in the first place would be a copy of what was said before they parted. It is a copy
    /// where the packet's number follows: its sender has not heard of the parting yet. Who was started
    /// anew says no goodbye: then the packet's number is one of the first again, and the message is a
    /// handshake, or says something else than the one that had its place.
    fn restart(
        &mut self,
        session: &Session,
        (packet, link): (PacketId, (NodeId, NodeId)),
        (facts, sequence, follows): (&MessageFacts, Option<Sequence>, bool),
        restarting: &mut Restarting,
    ) -> bool {
        let role = session.role(facts);
        let is_greeting = matches!(role, Role::Connect | Role::Disconnect);
        if !is_greeting && (follows || sequence.is_none() || facts.reliable_sequence.is_none()) {
            return false;
        }
        let pair = meetings::pair(link);
        let peer = |node: NodeId| session.nodes.get(usize::from(node.0))?.peer;
        let of_them = [peer(link.0), peer(link.1)];
        if facts.origin.is_some() && !of_them.contains(&facts.origin) {
            // They speak of somebody else.
            return false;
        }
        match role {
            Role::Disconnect => {
                restarting.parted.insert(pair);
            }
            _ if !follows => {
                let at = self.meeting_at(session, link, packet);
                let anew = self.begins_anew((link.0, link.1, at), sequence);
                let has_parted = restarting.parted.contains(&pair);
                let stream = reliable(link, at, facts);
                let known = self.newest.get(&stream).zip(facts.reliable_sequence);
                let place = known.map(|(&near, sequence)| unwrap(sequence, near));
                let line = self.links.get(&stream);
                let earlier = line.and_then(|line| line.first(place?)).map(MessageId);
                let is_new = match (role, has_parted) {
                    (Role::Connect, true) => earlier.is_some(),
                    (Role::Connect, false) => anew.is_some(),
                    _ => {
                        let says_it = |it| says_the_same(session, (packet, facts), it);
                        anew.is_some() && earlier.is_some_and(|it| !says_it(it))
                    }
                };
                if is_new {
                    self.restarts
                        .extend(anew.filter(|_| !has_parted).map(|last| (packet, last)));
                    self.meetings.again(session, packet, link);
                    restarting.parted.remove(&pair);
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    /// Whether a packet's number is one of the first of its way again though many were used since: the
    /// packet that had the newest.
    fn begins_anew(&self, way: NumberedLink, sequence: Option<Sequence>) -> Option<PacketId> {
        let (sequence, &newest) = sequence.zip(self.newest_packets.get(&way))?;
        let line = self.packets.get(&way)?;
        let first = line.start()?;
        let again = unwrap(sequence, first).saturating_sub(first);
        let is_first = (0..=FOLLOWS_MAX).contains(&again);
        let is_anew = is_first && newest.saturating_sub(first) >= ANEW_MIN;
        line.first(newest).filter(|_| is_anew).map(PacketId)
    }

    /// How often two nodes had connected anew when a packet left.
    pub fn meeting_at(&self, session: &Session, link: (NodeId, NodeId), packet: PacketId) -> u16 {
        self.meetings.number(session, packet, link)
    }

    /// The same of a packet that left its own way.
    pub fn meeting_of(&self, packet: PacketId) -> u16 {
        self.met.get(packet.0 as usize) as u16
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
        let passed = self.passed.as_ref();
        self.is_disturbed |= passed.is_some_and(|(_, ways)| is_passed(ways, &way, place));
        self.packets.entry(way).or_default().append(place, packet.0);
    }

    fn take(&mut self, session: &Session, packet: PacketId, sent: Sent<'_>, at: u16) {
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
        let lap = self.lap_before(session, (packet, facts), (stream, sequence));
        let place = lap.unwrap_or_else(|| lay_out(&mut self.newest, stream, sequence));
        self.places.push(put(place));
        let earlier = self.links.entry(stream).or_default().put(place, message.0);
        match earlier {
            Some(earlier) => {
                self.resent.insert(message.0);
                self.resends.push((message, MessageId(earlier)));
            }
            None => self.is_disturbed |= self.was_passed(stream, place),
        }
        // What has an order apart, or none, waits for nothing in this stream.
        let is_apart = facts.ordered_sequence.is_some() || facts.promise != Promise::Ordered;
        if is_apart && self.unordered.insert(stream) {
            self.is_disturbed |= self.was_passed(stream, i64::MIN);
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
            self.is_disturbed |= self.was_passed(stream, place);
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
        (packet, facts): (PacketId, &MessageFacts),
        (stream, sequence): (MessageStream, Sequence),
    ) -> Option<i64> {
        let newest = *self.newest.get(&stream)?;
        let place = unwrap(sequence, newest);
        if sequence.bits > BITS_MAX || place.saturating_sub(newest) <= FOLLOWS_MAX {
            return None;
        }
        let before = place - (1 << sequence.bits);
        let first = MessageId(self.links.get(&stream)?.first(before)?);
        says_the_same(session, (packet, facts), first).then_some(before)
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

/// Whether a message says what an earlier one says, in whole bytes. Their packets are read again.
pub(super) fn says_the_same(
    session: &Session,
    (packet, facts): (PacketId, &MessageFacts),
    earlier: MessageId,
) -> bool {
    let bytes = |packet: PacketId, facts: &MessageFacts| {
        let (start, end) = (facts.bits.start.div_ceil(8), facts.bits.end / 8);
        let payload = session.payload(packet)?;
        let bytes = payload.get(start as usize..end as usize)?;
        (facts.stream == StreamId(0)).then(|| (facts.bits.start % 8, bytes.to_vec()))
    };
    let other = session.message(earlier);
    let other = other.and_then(|it| bytes(it.packet, &it.facts));
    other.is_some() && other == bytes(packet, facts)
}

fn is_passed<K: Ord>(highest: &BTreeMap<K, i64>, line: &K, place: i64) -> bool {
    highest.get(line).is_none_or(|&highest| place <= highest)
}

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
