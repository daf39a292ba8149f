//! What the rules go by, and what they find.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::words::{Told, and_more, told};
use crate::history::ambiguous::HalfApart;
use crate::history::claims::Claims;
use crate::history::state::States;
use crate::history::streams::Streams;
use crate::history::{Effect, Evidence, Finding, History, Level};
use crate::session::{MessageId, NodeId, PacketId, Session, SessionTime};

/// From whom to whom.
pub(super) type Link = (NodeId, NodeId);

/// What the rules go by.
#[derive(Clone, Copy)]
pub(in crate::history) struct Case<'a> {
    pub session: &'a Session,
    pub history: &'a History,
    pub streams: &'a Streams,
    pub claims: &'a Claims,
    /// Messages that half of all numbers lie between, with both under way.
    pub half_apart: &'a [HalfApart],
    /// See [`Case::states`].
    pub states: &'a OnceLock<States>,
}

impl<'a> Case<'a> {
    /// What all nodes believed of all objects. Worked out when a rule first asks.
    pub(super) fn states(&self) -> &'a States {
        let build = || States::build(self.session, self.history);
        self.states.get_or_init(build)
    }

    /// All packets of which both ends are known, in order.
    pub(super) fn packets(&self) -> impl Iterator<Item = (PacketId, Link)> + 'a {
        let session = self.session;
        let all = session.packet_ids();
        all.filter_map(|packet| Some((packet, session.link(packet)?)))
    }

    /// The deliveries about objects but for UPDATEs that were taken, object by object, in order: the place of
    /// each, the node, and what that did.
    pub(super) fn telling(&self) -> impl Iterator<Item = (u64, u32, NodeId, Effect)> + 'a {
        let history = self.history;
        history.objects.keys().flat_map(move |&object| {
            let places = history.telling(object).iter();
            places.map(move |&place| {
                let (node, effect) = history.deliveries.effect(place);
                (object, place, node, effect)
            })
        })
    }

    /// One delivery.
    pub(super) fn told(&self, place: u32) -> Option<Told> {
        told(self.session, self.history, place)
    }

    /// One delivery of what another node sent.
    pub(super) fn handed(&self, place: u32) -> Option<Told> {
        self.told(place).filter(|it| !it.delivery.local)
    }

    /// The object that a message is about.
    pub(super) fn object_of(&self, message: MessageId) -> Option<u64> {
        self.history.facts(self.session, message)?.object
    }

    /// A node's number in the protocol.
    pub(super) fn peer(&self, node: NodeId) -> Option<u64> {
        self.session.node(node)?.peer
    }

    /// When the sender of a message first sent it, where its reel tells.
    pub(super) fn first_sent(&self, message: MessageId) -> Option<crate::session::Stamp> {
        let first = self.session.carrier(self.streams.first_copy(message))?;
        self.session.send_of(first)
    }
}

/// The first thing under each key, and how many there are.
pub(super) type Firsts<K, T> = BTreeMap<K, (u64, T)>;

/// Counts a thing under its key, and keeps the first; which that is.
pub(super) fn note<K: Ord, T>(firsts: &mut Firsts<K, T>, key: K, thing: T) -> &mut T {
    let (count, first) = firsts.entry(key).or_insert((0, thing));
    *count += 1;
    first
}

/// A finding for each key: that of the first thing under it, which says how many more there are.
pub(super) fn of_each<K, T>(
    firsts: Firsts<K, T>,
    found: impl Fn(K, T) -> Option<Found>,
) -> Vec<Found> {
    let each = firsts.into_iter();
    let found = each.filter_map(|(key, (count, first))| Some(found(key, first)?.and_more(count)));
    found.collect()
}

/// What a rule found.
pub(in crate::history) struct Found {
    pub finding: Finding,
    /// Nothing that comes after this moment changes it, once all is read up to there; `None` where
    /// the end of the reels tells.
    pub fixed: Option<SessionTime>,
    /// What it comes of, in words that go on after `9 objects`: see [`together`](super::together).
    pub(super) because: Option<String>,
}

impl Found {
    /// Something at a node and a moment, with the pieces of its proof that there are. Which rule found it is
    /// said by who asks the rules.
    pub(super) fn new(
        level: Level,
        node: NodeId,
        time: SessionTime,
        pieces: impl IntoIterator<Item: Into<Option<Evidence>>>,
        sentence: String,
    ) -> Found {
        let pieces = pieces.into_iter().filter_map(Into::into);
        let finding = Finding {
            rule: "",
            level,
            node,
            objects: Vec::new(),
            time,
            sentence,
            evidence: pieces.collect(),
            each: Vec::new(),
        };
        Found {
            finding,
            fixed: None,
            because: None,
        }
    }

    /// The same at the moment of the last piece of its proof; `None` where there is none.
    pub(super) fn proven(
        level: Level,
        node: NodeId,
        pieces: impl IntoIterator<Item: Into<Option<Evidence>>>,
        sentence: String,
    ) -> Option<Found> {
        let mut found = Found::new(level, node, SessionTime::default(), pieces, sentence);
        found.finding.time = found.finding.evidence.last()?.time;
        Some(found)
    }

    /// That this many are like it, itself included.
    pub(super) fn and_more(mut self, count: u64) -> Found {
        self.finding.sentence.push_str(&and_more(count));
        self
    }

    /// The objects that it is about.
    pub(super) fn about(mut self, objects: impl IntoIterator<Item = u64>) -> Found {
        self.finding.objects.extend(objects);
        self
    }

    /// See [`Found::fixed`].
    pub(super) fn fixed(mut self, fixed: Option<SessionTime>) -> Found {
        self.fixed = fixed;
        self
    }

    /// That others of the same rule, level and node, which say the same and are fixed at the same moment,
    /// are of the same cause. The words go on after `9 objects`.
    pub(super) fn because(mut self, words: String) -> Found {
        self.because = Some(words);
        self
    }
}
