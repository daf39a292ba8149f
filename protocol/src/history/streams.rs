//! The reliable streams of each link: which messages are copies of which, and what is handed over in
//! which order.

use std::collections::{BTreeMap, BTreeSet};

use netreel_wire::MessageFacts;

use super::sequence::unwrap;
use crate::session::{MessageId, NodeId, Packet, PacketId, Session};

/// Messages that share one row of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stream {
    pub from: NodeId,
    pub to: NodeId,
    /// Where each channel counts for itself.
    pub channel: Option<u64>,
    /// Whether the numbers are those of `@ordered_sequence`.
    pub ordered: bool,
}

/// When the engine is handed a message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// At once.
    Now,
    /// At once, and its copies never.
    Once,
    /// When all that stands before its place has been handed over.
    InOrder(Stream, i64),
}

/// All streams of a session.
pub(super) struct Streams {
    /// See [`super::History::resends`].
    pub resends: Vec<Option<MessageId>>,
    /// For each message its place in the stream of its reliable sequence, laid out on one line.
    places: Vec<Option<(Stream, i64)>>,
    /// For each message its place in the order of its channel, where that is apart.
    orders: Vec<Option<(Stream, i64)>>,
    /// For each stream its messages by place; of each the first copy.
    pub links: BTreeMap<Stream, BTreeMap<i64, MessageId>>,
    /// For each stream of ordered sequences the messages at each place; of each the first copy.
    pub ordered: BTreeMap<Stream, BTreeMap<i64, Vec<MessageId>>>,
    /// For each stream of reliable sequences all copies: their places and packets, in order.
    pub copies: BTreeMap<Stream, Vec<(i64, PacketId)>>,
    /// Streams of reliable sequences that say nothing of the order.
    pub unordered: BTreeSet<Stream>,
}

impl Streams {
    pub fn new(session: &Session) -> Streams {
        let count = session.messages.len();
        let mut streams = Streams {
            resends: vec![None; count],
            places: vec![None; count],
            orders: vec![None; count],
            links: BTreeMap::new(),
            ordered: BTreeMap::new(),
            copies: BTreeMap::new(),
            unordered: BTreeSet::new(),
        };
        let mut newest: BTreeMap<Stream, i64> = BTreeMap::new();
        for (index, message) in session.messages.iter().enumerate() {
            let Some(packet) = session.packet(message.packet) else {
                continue;
            };
            let id = MessageId(index as u32);
            if let Some(sequence) = message.facts.reliable_sequence {
                let stream = reliable(packet.from, packet.to, &message.facts);
                let place = lay_out(&mut newest, stream, sequence);
                streams.places[index] = Some((stream, place));
                let copies = streams.copies.entry(stream).or_default();
                copies.push((place, message.packet));
                let messages = streams.links.entry(stream).or_default();
                let earlier = *messages.entry(place).or_insert(id);
                if earlier != id {
                    streams.resends[index] = Some(earlier);
                }
            }
            streams.order(id, packet, &message.facts, &mut newest);
        }
        for copies in streams.copies.values_mut() {
            copies.sort_unstable();
        }
        streams
    }

    /// Notes where an `@ordered_sequence` puts a message. What is not reliable waits for nothing.
    fn order(
        &mut self,
        id: MessageId,
        packet: &Packet,
        facts: &MessageFacts,
        newest: &mut BTreeMap<Stream, i64>,
    ) {
        let (Some(sequence), Some(_)) = (facts.ordered_sequence, facts.reliable_sequence) else {
            return;
        };
        self.unordered
            .insert(reliable(packet.from, packet.to, facts));
        let stream = Stream {
            from: packet.from,
            to: packet.to,
            channel: facts.channel,
            ordered: true,
        };
        let place = lay_out(newest, stream, sequence);
        if let Some(order) = self.orders.get_mut(id.0 as usize) {
            *order = Some((stream, place));
        }
        if !self.is_resend(id) {
            let places = self.ordered.entry(stream).or_default();
            places.entry(place).or_default().push(id);
        }
    }

    /// A message's place in the stream of its reliable sequence.
    pub fn place(&self, message: MessageId) -> Option<(Stream, i64)> {
        self.places.get(message.0 as usize).copied().flatten()
    }

    /// When the engine is handed a message.
    pub fn turn(&self, message: MessageId) -> Turn {
        let order = self.orders.get(message.0 as usize).copied().flatten();
        match (order, self.place(message)) {
            (Some((stream, place)), _) => Turn::InOrder(stream, place),
            (None, Some((stream, _))) if self.unordered.contains(&stream) => Turn::Once,
            (None, Some((stream, place))) => Turn::InOrder(stream, place),
            (None, None) => Turn::Now,
        }
    }

    /// The copy of a message that was sent first.
    pub fn first_copy(&self, message: MessageId) -> MessageId {
        let earlier = self.resends.get(message.0 as usize).copied().flatten();
        earlier.unwrap_or(message)
    }

    /// Whether an earlier message has the same place.
    pub fn is_resend(&self, message: MessageId) -> bool {
        self.first_copy(message) != message
    }

    /// The first place of a stream from `floor` on whose messages all fit.
    pub fn next_place(
        &self,
        stream: Stream,
        floor: i64,
        fits: impl Fn(MessageId) -> bool,
    ) -> Option<i64> {
        let mut reliable = self.links.get(&stream).into_iter();
        let mut ordered = self.ordered.get(&stream).into_iter();
        let reliable = reliable.next().and_then(|places| {
            let mut places = places.range(floor..);
            places.find(|&(_, &message)| fits(message))
        });
        let ordered = ordered.next().and_then(|places| {
            let mut places = places.range(floor..);
            places.find(|(_, messages)| messages.iter().all(|&message| fits(message)))
        });
        let reliable = reliable.map(|(&place, _)| place);
        reliable.or(ordered.map(|(&place, _)| place))
    }

    /// How many messages stand at a place.
    pub fn count_at(&self, stream: Stream, place: i64) -> usize {
        match self.ordered.get(&stream) {
            Some(places) => places.get(&place).map_or(0, Vec::len),
            None => 1,
        }
    }
}

/// The stream of a reliable sequence. Where the order has numbers of its own, the reliable ones are
/// those of the whole link; otherwise each channel has its own.
pub(super) fn reliable(from: NodeId, to: NodeId, facts: &MessageFacts) -> Stream {
    let channel = match facts.ordered_sequence {
        Some(_) => None,
        None => facts.channel,
    };
    Stream {
        from,
        to,
        channel,
        ordered: false,
    }
}

fn lay_out(
    newest: &mut BTreeMap<Stream, i64>,
    stream: Stream,
    sequence: netreel_wire::Sequence,
) -> i64 {
    let first = i64::try_from(sequence.value).unwrap_or(i64::MAX);
    let near = newest.entry(stream).or_insert(first);
    let place = unwrap(sequence, *near);
    *near = place.max(*near);
    place
}
