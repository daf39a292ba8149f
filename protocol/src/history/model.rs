//! What a history holds: deliveries, objects and what nodes believed of them, links.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::EventNumber;
use netreel_wire::{MessageFacts, ProtocolId};
use serde::{Deserialize, Serialize};

use crate::session::{MessageId, NodeId, PacketId, SessionTime, Stamp};

/// What is so of an object at a node when the reels end: that its value is behind its owner's, for longer
/// than news takes, and not for so long that it lasts; or that nobody can tell it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// Since when.
    pub since: SessionTime,
    pub object: u64,
    pub node: NodeId,
    /// For people.
    pub words: String,
}

/// A delivery that says that somebody leaves.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Parting {
    /// A place in [`History::deliveries`](super::History::deliveries).
    pub delivery: u32,
    /// The protocol's number of who leaves.
    pub peer: u64,
    /// Whether the message names it, or else its sender is meant.
    pub is_named: bool,
}

/// A message that travelled in fragments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Joined {
    /// The protocol of the packets that carried it.
    pub protocol: Option<ProtocolId>,
    /// Its fragments, in order, each by the copy that was sent first.
    pub fragments: Vec<MessageId>,
    /// What the wire says of it. The bit ranges are in the joined bytes
    /// ([`History::payload`](super::History::payload)). Messages of which it says the same share it.
    pub facts: Arc<MessageFacts>,
}

/// A message handed to a node's engine, in the order of the stream, or done by the node itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// Where.
    pub node: NodeId,
    /// The event at that node that made the delivery possible: the receipt that closed the last gap
    /// before it. For what the node did itself, the game's last call before the tick that sent it,
    /// or the send where there is none.
    pub at: Stamp,
    /// The message. For what was sent again, the copy that arrived first; for what travelled in
    /// fragments, the last of them, and [`History::facts`](super::History::facts) has the facts of the whole.
    pub message: MessageId,
    /// Whether the node did it itself.
    pub local: bool,
    /// What the node did with it.
    pub effect: Effect,
}

named! {
    /// What a node did with a message about an object.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Effect {
        /// It has nothing to do with an object.
        "plain" Plain,
        /// CREATE made the object.
        "created" Created,
        /// MIGRATE made the object.
        "created-by-migrate" CreatedByMigrate,
        /// UPDATE made the object.
        "created-by-update" CreatedByUpdate,
        /// Kept until CREATE comes.
        "queued" Queued,
        /// UPDATE was taken.
        "updated" Updated,
        /// MIGRATE changed the owner.
        "migrated" Migrated,
        /// DESTROY ended the object.
        "destroyed" Destroyed,
        /// DESTROY of an unknown object left a tombstone.
        "tombstoned" Tombstoned,
        /// Ignored: the object does not exist at this node.
        "unknown-object" IgnoredUnknown,
        /// Ignored: the migration counter is lower than what the node has heard, or the same after
        /// DESTROY.
        "stale" IgnoredStale,
        /// Ignored: an UPDATE from a node that is not the believed owner.
        "not-owner" IgnoredNotOwner,
        /// Ignored: an UPDATE older than one already taken.
        "out-of-order" IgnoredOutOfOrder,
        /// Nobody can say: the wire declares no rules, or the reel lacks what led to it.
        "unknown" Unknown,
    }
}

/// One replicated object and what each node believed of it.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// The protocol's number of its type.
    pub object_type: Option<u64>,
    /// Per node, spans in time order. A node that never heard of it has no lane.
    /// From the first word on that a node's game said of the object, its word counts.
    pub lanes: BTreeMap<NodeId, Vec<Span>>,
    /// Of nodes whose games spoke of the object, the lane that follows from its messages by the rules of
    /// the wire; none where no message told the node of it.
    pub by_rules: BTreeMap<NodeId, Vec<Span>>,
    /// All deliveries about it, in order: places in [`History::deliveries`](super::History::deliveries).
    pub deliveries: Vec<u32>,
}

/// A stretch of time in which a node's belief did not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The last span of a lane ends where the node's reel ends.
    pub time: Range<SessionTime>,
    /// What the node believed.
    pub belief: Belief,
    /// The highest migration counter that the node had heard, where the protocol has one.
    pub counter: Option<u64>,
    /// The delivery that began it, or the last before the hole that began it: a place in
    /// [`History::deliveries`](super::History::deliveries). Where the game said it, the last delivery about
    /// the object before that; [`Span::NO_DELIVERY`] where there was none.
    pub because: u32,
    /// The event by which the node's game said it; `None` where it follows from the rules of the wire.
    pub said: Option<EventNumber>,
}

impl Span {
    /// See [`Span::because`].
    pub const NO_DELIVERY: u32 = u32::MAX;
}

/// What a node believes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Belief {
    /// It lives, and the peer with this protocol number owns it.
    Owned(u64),
    /// It lives, and its owner has left the session or destroyed it: nobody will end it.
    Orphaned(u64),
    /// It was destroyed.
    Destroyed,
    /// Nobody can say.
    Unknown,
}

/// What one directed link did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Packets and bytes of payload sent.
    pub packets: u64,
    /// Bytes of payload sent.
    pub bytes: u64,
    /// Packets lost.
    pub lost: u64,
    /// Receipts beyond the first.
    pub duplicated: u64,
    /// Receipts of a packet sent before one that had already arrived.
    pub reordered: u64,
    /// Messages sent again.
    pub resent: u64,
    /// Send to receive, in ns: shortest, middle, longest. `None` where no packet has both.
    pub latency_ns: Option<(i64, i64, i64)>,
    /// Send to learning of the arrival, in ns: shortest, middle, longest. Of a sender that was not
    /// recorded, from where its packets were seen and back to there.
    pub rtt_ns: Option<(i64, i64, i64)>,
}

/// A packet that came to a node when its connection was over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Straggler {
    pub packet: PacketId,
    /// When it came.
    pub at: Stamp,
    pub over: Over,
}

/// Why a connection is over when a packet of it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Over {
    /// A new one had begun with this packet, the node's first of it, which it sent or received then.
    Since(PacketId, SessionTime),
    /// It was sent, with this packet, to a node that had the endpoint before.
    OfAnother(PacketId),
}
