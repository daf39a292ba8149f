//! What followed from the packets: deliveries, beliefs, findings.

mod acks;
mod acts;
mod ambiguous;
mod before;
mod belief;

pub mod bounds;
mod build;
mod certain;
mod claims;
mod connected;
mod delivered;
mod elsewhere;
mod existence;
mod finding;
mod fold;
mod found;
mod game;
mod kept;
mod lanes;
mod line;
mod links;
mod meetings;
mod migrations;
mod nodes;
mod ongoing;
mod overtaken;
mod punctual;
mod sequence;
mod settled;
mod shelf;
pub mod state;
mod streams;
mod ticks;
mod until;
mod walked;
mod wholes;

pub use ambiguous::Ambiguity;
pub(crate) use belief::{Believer, Speaker};
pub use certain::Certain;
pub use connected::Connection;
pub use delivered::Deliveries;
pub use existence::{Existence, ExistenceAtRest, ExistenceDifference, Exists};
pub use finding::{RULES, Rule};
pub(crate) use finding::{Told, came, sent, told, word};
pub use found::{Evidence, Finding, Instance, Level};
pub(crate) use migrations::request;
pub use migrations::{Migration, MigrationStep, MigrationWhat};
pub(crate) use nodes::{is_about_object, rules_of};
pub use ongoing::Ongoing;
pub(crate) use overtaken::had_newer;
pub use punctual::{Late, Punctuality};
pub(crate) use settled::took_part_unrecorded;
pub(crate) use until::{Unjudged, unjudged};

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use netreel_reel::EventNumber;
use netreel_table::{Column, List};
use netreel_wire::{MessageFacts, ProtocolId};
use serde::{Deserialize, Serialize};

use build::Delivered;
use shelf::Shelf;
use walked::Straggler;

use crate::session::{MessageId, NodeId, PacketId, SessionTime, Stamp};

/// Whether somebody still wants what is being worked out. Whoever works asks now and then, and stops
/// where nobody does; the answer stays no from then on.
pub type Wanted<'a> = &'a (dyn Fn() -> bool + Sync);

/// The whole history of a session.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// For each packet the receipt that told its sender of its arrival.
    acked: Column,
    /// The messages that acks named, each by the copy that was sent first, in order, with the receipt
    /// that told its sender of its arrival.
    named: Vec<(MessageId, u32)>,
    /// Packets whose ack may mean an earlier copy, in order.
    ambiguous: Vec<PacketId>,
    /// Messages that repeat an earlier one, each with that one, in order.
    resends: List<(MessageId, MessageId)>,
    /// The same the other way round: each message that was sent again, with its copies, in order.
    copies: Vec<(MessageId, MessageId)>,
    /// What each node's engine was handed and did itself, ordered by time, then node, then number.
    pub deliveries: Deliveries,
    /// The deliveries of each message, once somebody has asked for them.
    delivered: OnceLock<Delivered>,
    /// What every node believed of every object, by object id.
    pub objects: BTreeMap<u64, Object>,
    /// By object, those of its deliveries that are more than an UPDATE which was taken: most are not,
    /// and no rule asks for those.
    telling: Shelf<Vec<u32>>,
    links: OnceLock<BTreeMap<(NodeId, NodeId), Link>>,
    /// Ordered by time, then node, then rule.
    pub findings: Vec<Finding>,
    /// For each of the findings its number, where not all are there.
    numbers: Option<Vec<u32>>,
    /// For each of the findings that were made, from when on nothing changes it.
    fixed: Vec<Option<SessionTime>>,
    /// For each packet that is a finding's evidence, the findings: places in
    /// [`History::findings`], ordered by packet.
    proofs: Vec<(PacketId, u32)>,
    /// Messages that travelled in fragments, ordered by link, then by place in the stream.
    pub joined: Vec<Joined>,
    /// For each copy of each fragment, what it is a part of: a place in [`History::joined`].
    pub joined_of: BTreeMap<MessageId, u32>,
    /// Reliable messages that never reached the engine that they were sent to, as far as the reels
    /// tell; by the copy that was sent first.
    pub undelivered: Vec<MessageId>,
    /// Parts with which the id of a split message was used again while the message before was not whole,
    /// each with the part before; for the rules alone.
    reused: Vec<(MessageId, MessageId)>,
    /// Messages that their numbers do not tell apart from others, in order.
    ambiguous_messages: Vec<ambiguous::Ambiguous>,
    /// Where nodes met more than once.
    again: connected::Again,
    /// Packets that are of an earlier meeting of their nodes than the one in which they left or came, in order.
    of_before: Vec<PacketId>,
    /// What came to nodes of connections that were over, by node, in the order of their events; for the
    /// rules alone.
    stragglers: Vec<(NodeId, Straggler)>,
    /// Deliveries that say that somebody leaves, in order.
    partings: Vec<Parting>,
    /// All messages that say that somebody leaves.
    parting_messages: Vec<MessageId>,
    /// Differences of values that stand when the reels end for too short a time to be findings.
    pub(crate) standing: Vec<Standing>,
    /// Values that nobody can tell when the reels end, the first of them, and how many in its words.
    pub(crate) unknown_values: Option<Standing>,
    /// Of each recorded node and each other player whether the inputs came in time, in that order; empty
    /// where the wire tells no inputs.
    pub inputs: Vec<Punctuality>,
}

/// What is so of an object at a node when the reels end: that its value is behind its owner's, for longer than
/// news takes, and not for so long that it lasts; or that nobody can tell it.
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
struct Parting {
    /// A place in [`History::deliveries`].
    delivery: u32,
    /// The protocol's number of who leaves.
    peer: u64,
    /// Whether the message names it, or else its sender is meant.
    is_named: bool,
}

/// A message that travelled in fragments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Joined {
    /// The protocol of the packets that carried it.
    pub protocol: Option<ProtocolId>,
    /// Its fragments, in order, each by the copy that was sent first.
    pub fragments: Vec<MessageId>,
    /// What the wire says of it. The bit ranges are in the joined bytes ([`History::payload`]).
    pub facts: MessageFacts,
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
    /// fragments, the last of them, and [`History::facts`] has the facts of the whole.
    pub message: MessageId,
    /// Whether the node did it itself.
    pub local: bool,
    /// What the node did with it.
    pub effect: Effect,
}

/// What a node did with a message about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It has nothing to do with an object.
    Plain,
    /// CREATE made the object.
    Created,
    /// MIGRATE made the object.
    CreatedByMigrate,
    /// UPDATE made the object.
    CreatedByUpdate,
    /// Kept until CREATE comes.
    Queued,
    /// UPDATE was taken.
    Updated,
    /// MIGRATE changed the owner.
    Migrated,
    /// DESTROY ended the object.
    Destroyed,
    /// DESTROY of an unknown object left a tombstone.
    Tombstoned,
    /// Ignored: the object does not exist at this node.
    IgnoredUnknown,
    /// Ignored: the migration counter is lower than what the node has heard, or the same after
    /// DESTROY.
    IgnoredStale,
    /// Ignored: an UPDATE from a node that is not the believed owner.
    IgnoredNotOwner,
    /// Ignored: an UPDATE older than one already taken.
    IgnoredOutOfOrder,
    /// Nobody can say: the wire declares no rules, or the reel lacks what led to it.
    Unknown,
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
    /// All deliveries about it, in order: places in [`History::deliveries`].
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
    /// [`History::deliveries`]. Where the game said it, the last delivery about the object before that;
    /// [`Span::NO_DELIVERY`] where there was none.
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
