//! Messages that travelled in fragments, put together again.

use std::collections::BTreeMap;

use netreel_wire::{MessageFacts, PacketFacts, Role};

use super::Joined;
use super::streams::Streams;
use crate::session::{MessageId, NodeId, Session};

/// A message of more fragments is taken for nonsense.
const FRAGMENTS_MAX: u64 = 4096;

/// See [`super::History::joined`].
#[derive(Default)]
pub(super) struct Joins {
    pub joined: Vec<Joined>,
    /// For each fragment's place in a link's stream, what it is a part of and whether it is the
    /// first or the last of it.
    parts: BTreeMap<(NodeId, NodeId, i64), Part>,
}

/// A fragment's part in the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// In [`Joins::joined`].
    pub whole: u32,
    pub is_first: bool,
    pub is_last: bool,
}

impl Joins {
    pub fn new(session: &Session, streams: &Streams) -> Joins {
        let mut joins = Joins::default();
        if session.fragments.is_empty() {
            return joins;
        }
        for (&link, stream) in &streams.links {
            let mut run: Vec<(i64, MessageId)> = Vec::new();
            for (&place, &message) in stream {
                let Some((index, count)) = fragment(session, message) else {
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
                        joins.join(session, link, &run);
                        run.clear();
                    }
                }
            }
        }
        joins
    }

    /// What a fragment at this place of a link's stream is a part of.
    pub fn part(&self, link: (NodeId, NodeId), place: i64) -> Option<Part> {
        self.parts.get(&(link.0, link.1, place)).copied()
    }

    /// See [`super::History::joined_of`].
    pub fn of_messages(&self, session: &Session, streams: &Streams) -> BTreeMap<MessageId, u32> {
        session
            .fragments
            .keys()
            .filter_map(|&message| {
                let packet = session.packet(session.message(message)?.packet)?;
                let part = self.part((packet.from, packet.to), streams.place(message)?)?;
                Some((message, part.whole))
            })
            .collect()
    }

    fn join(&mut self, session: &Session, link: (NodeId, NodeId), run: &[(i64, MessageId)]) {
        let Some(wire) = &session.wire else { return };
        let fragments: Vec<MessageId> = run.iter().map(|&(_, message)| message).collect();
        let mut payload = Vec::new();
        for fragment in &fragments {
            payload.extend(session.fragments.get(fragment).into_iter().flatten());
        }
        let mut facts = PacketFacts::default();
        let first = fragments.first().and_then(|&first| session.message(first));
        let packet = first.and_then(|message| session.packet(message.packet));
        let protocol = packet.and_then(|packet| packet.protocol);
        wire.message_facts(protocol, &payload, &mut facts);
        let Some(facts) = facts.messages.pop() else {
            return;
        };
        let whole = self.joined.len() as u32;
        for (index, &(place, _)) in run.iter().enumerate() {
            let part = Part {
                whole,
                is_first: index == 0,
                is_last: index + 1 == run.len(),
            };
            self.parts.insert((link.0, link.1, place), part);
        }
        self.joined.push(Joined {
            protocol,
            fragments,
            facts,
            payload,
        });
    }
}

fn fragment(session: &Session, message: MessageId) -> Option<(u64, u64)> {
    let facts: &MessageFacts = &session.message(message)?.facts;
    let is_fragment = session.kind(message)?.role == Role::Fragment;
    facts
        .fragment
        .filter(|_| is_fragment && facts.fragment_data.is_some())
}
