//! Messages that travelled in fragments: which fragments are one, all over the session.
//!
//! A wire's `join` is another thing: it puts the bytes of one connection's packets together while they
//! are decoded, in the order in which one reel has them. Here it is told of messages who sent them,
//! which were sent again, and of which nobody has all; their bytes stay in the reels.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use netreel_wire::{MessageFacts, PacketFacts, ProtocolId, Role};

use super::Joined;
use super::line::Line;
use super::streams::Streams;
use crate::session::{Message, MessageId, NodeId, Session, SessionTime};

/// A message of more fragments is taken for nonsense.
const FRAGMENTS_MAX: u64 = 4096;

/// See [`super::History::joined`].
#[derive(Default)]
pub(super) struct Wholes {
    pub joined: Vec<Joined>,
    /// For each copy of each fragment what it is a part of: a place in [`Wholes::joined`].
    pub parts: BTreeMap<MessageId, u32>,
    /// How many of them stand in runs: the first ones.
    runs: usize,
    /// Parts with which an id was used again while the message before was not whole, each with the part
    /// of that message: what came under the id then is joined with nothing.
    pub reused: Vec<(MessageId, MessageId)>,
    /// Parts that came under such an id until all of both messages were sent, each with another one of
    /// which nobody can say whether it is of the same message.
    pub mixed: Vec<(MessageId, MessageId)>,
}

/// A fragment's part in the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentPart {
    /// In [`Wholes::joined`].
    pub whole: u32,
    pub is_first: bool,
    pub is_last: bool,
    /// How many parts there are, where they may arrive in any order.
    pub any_order: Option<usize>,
}

/// Parts of several messages under one id are told apart again when nothing came under it for this long.
const MIXED_NS: i64 = 1_000_000_000;

/// The fragments of one message, as far as they were found.
type Group = BTreeMap<u64, MessageId>;

/// Who tells whom, in which channel, which message: its id, and in how many fragments.
type GroupKey = (NodeId, NodeId, Option<u64>, u64, u64);

/// Parts of several messages under one id.
struct Mixed {
    /// How often each part was sent, and when the last one.
    seen: BTreeMap<u64, u32>,
    last: SessionTime,
    /// The first part of the message before that came again.
    before: MessageId,
}

/// Messages whose fragments were found.
#[derive(Default)]
struct Found {
    /// Fragments without an id: their index, and how many there are.
    without_id: BTreeMap<MessageId, (u64, u64)>,
    groups: BTreeMap<GroupKey, Group>,
    /// The fragments of each message.
    wholes: Vec<Vec<MessageId>>,
    /// Those that stand next to each other in a stream that hands them over as they come.
    loose: Vec<Vec<MessageId>>,
    /// Ids under which parts of several messages are under way.
    mixed: BTreeMap<GroupKey, Mixed>,
    /// See [`Wholes::reused`].
    reused: Vec<(MessageId, MessageId)>,
    /// See [`Wholes::mixed`].
    of_either: Vec<(MessageId, MessageId)>,
}

impl Wholes {
    pub fn new(session: &Session, streams: &Streams) -> Wholes {
        let mut found = Found::default();
        for message in session.fragments() {
            found.take(session, streams, message);
        }
        let mut wholes = found.runs(streams);
        let runs = wholes.len();
        wholes.append(&mut found.loose);
        wholes.append(&mut found.wholes);
        let mut wholes = Wholes {
            runs,
            reused: std::mem::take(&mut found.reused),
            mixed: std::mem::take(&mut found.of_either),
            ..Wholes::of(session, wholes)
        };
        for message in session.fragments().filter(|it| streams.is_resend(*it)) {
            if let Some(&whole) = wholes.parts.get(&streams.first_copy(message)) {
                wholes.parts.insert(message, whole);
            }
        }
        wholes
    }

    /// Puts messages together whose fragments are known.
    fn of(session: &Session, found: Vec<Vec<MessageId>>) -> Wholes {
        let mut wholes = Wholes {
            joined: Vec::with_capacity(found.len()),
            ..Wholes::default()
        };
        let protocol = |fragments: &[MessageId]| {
            let packet = session.carrier(*fragments.first()?)?;
            session.said(packet)?.protocol
        };
        let protocols: Vec<Option<ProtocolId>> =
            found.iter().map(|fragments| protocol(fragments)).collect();
        let known = Mutex::new(HashSet::new());
        let facts = session.wholes(&found, |whole, payload| {
            let mut facts = PacketFacts::default();
            let protocol = protocols.get(whole).copied().flatten();
            if let Some(wire) = &session.wire {
                wire.message_facts(protocol, payload, &mut facts);
            }
            // What is no message of this wire says nothing.
            let said = facts.messages.pop().filter(|_| facts.diagnostics == 0);
            one_of(&known, said.unwrap_or_default())
        });
        let told = protocols.into_iter().zip(facts);
        for (fragments, (protocol, facts)) in found.into_iter().zip(told) {
            let whole = wholes.joined.len() as u32;
            let parts = fragments.iter().map(|&fragment| (fragment, whole));
            wholes.parts.extend(parts);
            wholes.joined.push(Joined {
                protocol,
                fragments,
                facts,
            });
        }
        wholes
    }

    /// What a fragment is a part of; of a copy, ask for the first.
    pub fn part(&self, first_copy: MessageId) -> Option<FragmentPart> {
        let &whole = self.parts.get(&first_copy)?;
        let fragments = self.joined.get(whole as usize)?.fragments.as_slice();
        let is_run = (whole as usize) < self.runs;
        Some(FragmentPart {
            whole,
            is_first: fragments.first() == Some(&first_copy),
            is_last: fragments.last() == Some(&first_copy),
            any_order: (!is_run).then_some(fragments.len()),
        })
    }
}

/// Facts of which there is one for all that say the same.
pub(super) fn one_of(
    known: &Mutex<HashSet<Arc<MessageFacts>>>,
    facts: MessageFacts,
) -> Arc<MessageFacts> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(facts) = known.get(&facts) {
        return facts.clone();
    }
    let facts = Arc::new(facts);
    known.insert(facts.clone());
    facts
}

impl Found {
    /// The messages whose fragments have no id: these stand next to each other.
    fn runs(&mut self, streams: &Streams) -> Vec<Vec<MessageId>> {
        let (mut wholes, mut loose) = (Vec::new(), Vec::new());
        if !self.without_id.is_empty() {
            for (stream, line) in streams.lines() {
                let is_loose = streams.is_loose(stream);
                self.runs_of(line, if is_loose { &mut loose } else { &mut wholes });
            }
        }
        self.loose = loose;
        wholes
    }

    fn runs_of(&self, line: &Line, wholes: &mut Vec<Vec<MessageId>>) {
        let mut run: Vec<(i64, MessageId)> = Vec::new();
        for (place, message) in line.from(i64::MIN) {
            let message = MessageId(message);
            let Some(&(index, count)) = self.without_id.get(&message) else {
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
                    wholes.push(fragments);
                }
            }
        }
    }

    /// Takes the next fragment. One with an id belongs to the others with that id, wherever they
    /// stand.
    fn take(&mut self, session: &Session, streams: &Streams, message: MessageId) {
        if streams.is_resend(message) {
            return;
        }
        let Some(Message { packet, facts }) = session.message(message) else {
            return;
        };
        let is_fragment = session.role(&facts) == Role::Fragment;
        let Some((index, count)) = facts.fragment.filter(|_| is_fragment) else {
            return;
        };
        let Some(id) = facts.fragment_id else {
            self.without_id.insert(message, (index, count));
            return;
        };
        let Some((from, to)) = session.link(packet) else {
            return;
        };
        if index >= count || count > FRAGMENTS_MAX {
            return;
        }
        let key = (from, to, facts.channel, id, count);
        let at = session
            .departed(packet)
            .map_or(SessionTime(i64::MIN), |(_, at)| at.time);
        if let Some(mixed) = self.mixed.get_mut(&key) {
            let is_over = at.0.saturating_sub(mixed.last.0) > MIXED_NS;
            if !is_over {
                mixed.last = at;
                *mixed.seen.entry(index).or_default() += 1;
                self.of_either.push((message, mixed.before));
                let seen = &mixed.seen;
                let often = seen.values().next().copied();
                // All parts of all of them were sent.
                if seen.len() as u64 == count && seen.values().all(|it| Some(*it) == often) {
                    self.mixed.remove(&key);
                }
                return;
            }
            self.mixed.remove(&key);
        }
        let group = self.groups.entry(key).or_default();
        if let Some(&first) = group.get(&index)
            && session.fragment(first) != session.fragment(message)
        {
            // The message before is not whole yet: nobody can say which part is of which.
            let mut seen: BTreeMap<u64, u32> = group.keys().map(|&index| (index, 1)).collect();
            *seen.entry(index).or_default() += 1;
            let of_either = group.values().map(|&part| (part, message));
            self.of_either.extend(of_either.chain([(message, first)]));
            let mixed = Mixed {
                seen,
                last: at,
                before: first,
            };
            self.mixed.insert(key, mixed);
            self.groups.remove(&key);
            self.reused.push((first, message));
            return;
        }
        group.entry(index).or_insert(message);
        if group.len() as u64 == count {
            let group = self.groups.remove(&key).unwrap_or_default();
            self.wholes.push(group.into_values().collect());
        }
    }
}

/// The bytes that fragments carry, joined.
pub(super) fn carried(session: &Session, fragments: &[MessageId]) -> Vec<u8> {
    let parts = fragments.iter().filter_map(|&each| session.fragment(each));
    parts.flatten().collect()
}
