//! Messages that travelled in fragments, put together again.

use std::collections::BTreeMap;

use netreel_wire::{MessageFacts, PacketFacts, Role};

use super::Joined;
use super::line::Line;
use super::streams::Streams;
use crate::session::{MessageId, NodeId, Session};

/// A message of more fragments is taken for nonsense.
const FRAGMENTS_MAX: u64 = 4096;

/// See [`super::History::joined`].
#[derive(Default)]
pub(super) struct Joins {
    pub joined: Vec<Joined>,
    /// For each fragment, by the copy that was sent first, what it is a part of.
    parts: BTreeMap<MessageId, Part>,
}

/// A fragment's part in the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// In [`Joins::joined`].
    pub whole: u32,
    pub is_first: bool,
    pub is_last: bool,
    /// How many parts there are, where they may arrive in any order.
    pub any_order: Option<usize>,
}

/// The fragments of one message, as far as they were found.
type Group = BTreeMap<u64, MessageId>;

/// Who tells whom, in which channel, which message: its id, and in how many fragments.
type GroupKey = (NodeId, NodeId, Option<u64>, u64, u64);

impl Joins {
    pub fn new(session: &Session, streams: &Streams) -> Joins {
        let mut joins = Joins::default();
        if session.fragments().next().is_none() {
            return joins;
        }
        for line in streams.links.values() {
            joins.runs(session, line);
        }
        joins.groups(session, streams);
        joins
    }

    /// Fragments without an id stand next to each other.
    fn runs(&mut self, session: &Session, line: &Line) {
        let mut run: Vec<(i64, MessageId)> = Vec::new();
        for (place, message) in line.from(i64::MIN) {
            let message = MessageId(message);
            let found = fragment(session, message);
            let Some((_, index, count)) = found.filter(|(id, ..)| id.is_none()) else {
                run.clear();
                continue;
            };
            let follows = run.last().is_none_or(|&(last, _)| last + 1 == place);
            if index == 0 || !follows || index != run.len() as u64 {
                run.clear();
            }
            if index == run.len() as u64 && count <= FRAGMENTS_MAX {
                run.push((place, message));
                if run.len() as u64 == count {
                    let fragments = run.drain(..).map(|(_, message)| message).collect();
                    self.join(session, fragments, None);
                }
            }
        }
    }

    /// Fragments with an id belong to the others with that id, wherever they stand.
    fn groups(&mut self, session: &Session, streams: &Streams) {
        let mut groups: BTreeMap<GroupKey, Group> = BTreeMap::new();
        for message in session.fragments() {
            if streams.is_resend(message) {
                continue;
            }
            let Some((Some(id), index, count)) = fragment(session, message) else {
                continue;
            };
            let Some(known) = session.message(message) else {
                continue;
            };
            let Some((from, to)) = session.link(known.packet) else {
                continue;
            };
            if index >= count || count > FRAGMENTS_MAX {
                continue;
            }
            let key = (from, to, known.facts.channel, id, count);
            let group = groups.entry(key).or_default();
            group.entry(index).or_insert(message);
            if group.len() as u64 == count {
                let group = groups.remove(&key).unwrap_or_default();
                let count = group.len();
                self.join(session, group.into_values().collect(), Some(count));
            }
        }
    }

    /// What a fragment is a part of; of a copy, ask for the first.
    pub fn part(&self, first_copy: MessageId) -> Option<Part> {
        self.parts.get(&first_copy).copied()
    }

    /// See [`super::History::joined_of`].
    pub fn of_messages(&self, session: &Session, streams: &Streams) -> BTreeMap<MessageId, u32> {
        session
            .fragments()
            .filter_map(|message| {
                let part = self.part(streams.first_copy(message))?;
                Some((message, part.whole))
            })
            .collect()
    }

    fn join(&mut self, session: &Session, fragments: Vec<MessageId>, any_order: Option<usize>) {
        let Some(wire) = &session.wire else { return };
        let payload = carried(session, &fragments);
        let mut facts = PacketFacts::default();
        let packet = fragments.first().and_then(|&first| session.carrier(first));
        let said = packet.and_then(|packet| session.said(packet));
        let protocol = said.and_then(|said| said.protocol);
        wire.message_facts(protocol, &payload, &mut facts);
        // What is no message of this wire says nothing.
        let facts = match (facts.messages.pop(), facts.diagnostics) {
            (Some(whole), 0) => whole,
            _ => MessageFacts::default(),
        };
        let whole = self.joined.len() as u32;
        for (index, &fragment) in fragments.iter().enumerate() {
            let part = Part {
                whole,
                is_first: index == 0,
                is_last: index + 1 == fragments.len(),
                any_order,
            };
            self.parts.insert(fragment, part);
        }
        self.joined.push(Joined {
            protocol,
            fragments,
            facts,
        });
    }
}

/// The bytes that fragments carry, joined.
pub(super) fn carried(session: &Session, fragments: &[MessageId]) -> Vec<u8> {
    let parts = fragments.iter().filter_map(|&each| session.fragment(each));
    parts.flatten().copied().collect()
}

/// The id of the split message, where it has one, the fragment's index and how many there are.
fn fragment(session: &Session, message: MessageId) -> Option<(Option<u64>, u64, u64)> {
    let facts: MessageFacts = session.message(message)?.facts;
    let is_fragment = session.kind_of(&facts)?.role == Role::Fragment;
    let (index, count) = facts
        .fragment
        .filter(|_| is_fragment && facts.fragment_data.is_some())?;
    Some((facts.fragment_id, index, count))
}
