//! The reliable stream of each link: which messages are copies of which.

use std::collections::BTreeMap;

use super::sequence::unwrap;
use crate::session::{MessageId, NodeId, Session};

/// All reliable streams of a session.
pub(super) struct Streams {
    /// See [`super::History::resends`].
    pub resends: Vec<Option<MessageId>>,
    /// For each message its place in its stream, laid out on one line.
    pub places: Vec<Option<i64>>,
    /// For each directed link the messages of its stream by place; of each the first copy.
    pub links: BTreeMap<(NodeId, NodeId), BTreeMap<i64, MessageId>>,
}

impl Streams {
    pub fn new(session: &Session) -> Streams {
        let mut streams = Streams {
            resends: vec![None; session.messages.len()],
            places: vec![None; session.messages.len()],
            links: BTreeMap::new(),
        };
        let mut newest: BTreeMap<(NodeId, NodeId), i64> = BTreeMap::new();
        for (index, message) in session.messages.iter().enumerate() {
            let Some(sequence) = message.facts.reliable_sequence else {
                continue;
            };
            let Some(packet) = session.packet(message.packet) else {
                continue;
            };
            let link = (packet.from, packet.to);
            let first = i64::try_from(sequence.value).unwrap_or(i64::MAX);
            let near = newest.entry(link).or_insert(first);
            let place = unwrap(sequence, *near);
            *near = place.max(*near);
            streams.places[index] = Some(place);
            let id = MessageId(index as u32);
            let stream = streams.links.entry(link).or_default();
            let earlier = *stream.entry(place).or_insert(id);
            if earlier != id {
                streams.resends[index] = Some(earlier);
            }
        }
        streams
    }

    /// A message's place in its stream.
    pub fn place(&self, message: MessageId) -> Option<i64> {
        self.places.get(message.0 as usize).copied().flatten()
    }

    /// Whether an earlier message has the same place.
    pub fn is_resend(&self, message: MessageId) -> bool {
        self.resends
            .get(message.0 as usize)
            .is_some_and(Option::is_some)
    }
}
