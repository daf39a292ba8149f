//! What a walk along one node's events comes to.

use std::collections::{BTreeMap, VecDeque};

use netreel_table::Column;
use roaring::RoaringBitmap;

use super::acts::Act;
use super::belief::Believer;
use super::delivered::Deliveries;
use super::streams::StreamNumber;
use super::{Parting, Span, Straggler};
use crate::session::keyed::Keyed;
use crate::session::{MessageId, Node, NodeId, PacketId, SessionTime};

/// The history of one node.
#[derive(Default)]
pub(super) struct NodeHistory {
    /// In the order of the node's events.
    pub deliveries: Deliveries,
    /// For each of these the object that it is about.
    pub about: Column,
    /// The type of each object, and the delivery that first told it.
    pub types: BTreeMap<u64, (u32, u64)>,
    /// Deliveries that say that somebody leaves.
    pub partings: Vec<Parting>,
    /// Per object, spans whose `because` is a place among all deliveries of the node.
    pub lanes: BTreeMap<u64, Vec<Span>>,
    /// For each stream the place that the engine waits for at the end.
    pub waits_for: BTreeMap<StreamNumber, i64>,
    /// Of streams whose numbers say nothing of the order, the messages that arrived; by the copy
    /// that was sent first.
    pub seen: RoaringBitmap,
    /// When the node's reel ends: this long it believes what it believed last.
    pub end: SessionTime,
    /// Whether the node's reel has a hole.
    pub is_blind: bool,
    /// The peers that left or were dropped, as far as the node knows, and since when it knows;
    /// itself, once it has left.
    pub gone: BTreeMap<u64, SessionTime>,
    /// What came of connections that were over.
    pub stragglers: Vec<Straggler>,
}

impl NodeHistory {
    /// The place of the next delivery among all of the node.
    pub fn next_place(&self) -> u32 {
        self.deliveries.len() as u32
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Walked {
    /// What it did in answer to what is still to arrive.
    pub answers: VecDeque<Act>,
    /// How many holes were come to.
    pub holes: usize,
    pub inboxes: Keyed<StreamNumber, Inbox>,
    /// Of streams of which none comes after a later one, the place that was handed over last.
    pub newest: Keyed<StreamNumber, i64>,
    /// For each whole whose fragments may come in any order, by the first of them, how many have
    /// arrived.
    pub arrived: BTreeMap<MessageId, usize>,
    pub objects: BTreeMap<u64, Believer>,
    /// The peers that left or were dropped; the node itself, once it has left.
    pub gone: BTreeMap<u64, SessionTime>,
    /// The first packet of each meeting with another node that the node sent or received, and when; where
    /// nodes met more than once.
    pub met: Keyed<(NodeId, u16), (PacketId, SessionTime)>,
    /// Until when what happened may have happened in a hole.
    pub blind_until: Option<SessionTime>,
    pub history: NodeHistory,
}

/// What has arrived of one sender's stream.
pub(super) struct Inbox {
    /// What lies before this was delivered before the last hole.
    pub floor: i64,
    /// The place that is delivered next. What lies between may have been delivered in a hole.
    pub next: i64,
    /// How many messages of that place were delivered.
    pub taken: usize,
    /// Arrived, but behind a gap.
    pub waiting: BTreeMap<i64, Vec<MessageId>>,
    /// Whether its first messages never arrived, and nobody recorded them: the engine may wait for them.
    pub lacks_begin: bool,
}

impl Walked {
    /// The node's history, of which all is known.
    pub fn finish(mut self, node: &Node) -> NodeHistory {
        for (stream, inbox) in self.inboxes.iter() {
            self.history.waits_for.insert(stream, inbox.next);
        }
        self.history.end = node.span.end;
        self.history.is_blind = self.blind_until.is_some();
        self.history.gone = self.gone;
        self.history
    }
}

impl Inbox {
    pub fn new(floor: i64, next: i64) -> Inbox {
        Inbox {
            floor,
            next,
            taken: 0,
            waiting: BTreeMap::new(),
            lacks_begin: false,
        }
    }

    /// Whether what arrives for this place is what the engine waits for, and nothing waits behind it.
    pub fn takes_at_once(&self, place: i64) -> bool {
        place == self.next && self.taken == 0 && self.waiting.is_empty()
    }
}
