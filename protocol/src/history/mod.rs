//! What followed from the packets: deliveries, beliefs, findings.

mod acks;
mod acts;
mod ambiguity;
mod ambiguous;
mod before;
mod belief;

pub mod bounds;
mod build;
mod certain;
mod claims;
mod connected;
mod delivered;
mod derive;
mod elsewhere;
mod existence;
mod facts;
mod finding;
mod found;
mod game;
mod kept;
mod lanes;
mod line;
mod links;
mod meetings;
mod migrations;
mod model;
mod node_end;
mod nodes;
mod overtaken;
mod punctual;
mod roles;
mod sequence;
mod settled;
pub mod state;
mod streams;
mod ticks;
mod unrecorded;
mod until;
mod walked;
mod wholes;

pub use ambiguity::Ambiguity;
use ambiguity::Ambiguous;
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
pub(crate) use model::Standing;
pub use model::{Belief, Delivery, Effect, Joined, Link, Object, Span};
use model::{Parting, Straggler};
pub(crate) use nodes::rules_of;
pub(crate) use overtaken::had_newer;
pub use punctual::{Late, Punctuality};
pub(crate) use roles::is_about_object;
pub(crate) use unrecorded::took_part_unrecorded;
pub(crate) use until::{Unjudged, unjudged};

use std::collections::BTreeMap;
use std::sync::OnceLock;

use netreel_table::Column;

use delivered::Delivered;

use crate::session::{MessageId, NodeId, PacketId, SessionTime};

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
    resends: Vec<(MessageId, MessageId)>,
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
    telling: BTreeMap<u64, Vec<u32>>,
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
    ambiguous_messages: Vec<Ambiguous>,
    /// Where nodes met more than once.
    again: meetings::Again,
    /// Packets that are of an earlier meeting of their nodes than the one in which they left or came, in
    /// order.
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
