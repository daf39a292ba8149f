//! What a session holds: its nodes and who watched them, packets and messages, times, and their ids.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::{Endpoint, EventNumber, FaultVerdict, Reel, Time, Trigger};
use netreel_wire::{KindId, MessageFacts, ProtocolId, RulesId, Sequence};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::read::interfaces::Interface;

/// Makes of each line a number by which something of the session is called.
macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident($of:ty);)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $id(pub $of);
    )*};
}

ids! {
    /// A node of the session, by its place in [`Session::nodes`](super::Session::nodes).
    NodeId(u16);
    /// A packet of the session, by its place in their order: by the time of their first
    /// events, then by node and event number. People see it as `packet 17`.
    PacketId(u32);
    /// A message of the session, by its place in their order: that of packets, then of the wire.
    MessageId(u32);
    /// An observer of the session, by its place in [`Session::observers`](super::Session::observers).
    ObserverId(u16);
    /// A proxy of the session, by its place in [`Session::proxies`](super::Session::proxies).
    ProxyId(u16);
}

impl fmt::Display for PacketId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// From whom to whom packets go.
pub(crate) type Link = (NodeId, NodeId);

impl NodeId {
    /// What stands for it in a list of all nodes.
    pub(crate) fn of<T>(self, all: &[T]) -> Option<&T> {
        all.get(usize::from(self.0))
    }

    /// The same, to change it.
    pub(crate) fn of_mut<T>(self, all: &mut [T]) -> Option<&mut T> {
        all.get_mut(usize::from(self.0))
    }
}

/// Nanoseconds on the session's one clock, from the session's first event.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct SessionTime(pub i64);

impl SessionTime {
    /// How long this is after another moment, in ns; below 0 where it is before that.
    pub(crate) fn since(self, before: SessionTime) -> i64 {
        self.0.saturating_sub(before.0)
    }

    /// No time of a session lies further from its zero, before or after: 146 years. A broken reel
    /// may claim any time; the difference of two that are within this fits 64 bits.
    pub const MAX: SessionTime = SessionTime(1 << 62);

    /// A reel's time, which is `shift_ns` before the session's.
    pub(crate) fn of(time: Time, shift_ns: i128) -> SessionTime {
        SessionTime::of_ns(i128::from(time.0) + shift_ns)
    }

    /// A time on the session's clock, as far as it can be told.
    pub(crate) fn of_ns(nanos: i128) -> SessionTime {
        let max = i128::from(SessionTime::MAX.0);
        SessionTime(nanos.clamp(-max, max) as i64)
    }
}

/// A packet at the boundary of one node. Of a node that was not recorded, as an observer saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The event in the node's reel; of a node that was not recorded, in the observer's.
    pub number: EventNumber,
    /// The packet.
    pub packet: PacketId,
    /// Which way it went.
    pub way: Way,
}

/// A tick of a node's network layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The event that began it.
    pub begins: EventNumber,
    /// The last call of the game before it, where the game made one since the tick before. What the
    /// game asked for then is sent in this tick, after what arrives in it.
    pub asked: Option<Stamp>,
}

/// See [`Crossing::way`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The node sent it.
    Out,
    /// The node received it for the first time.
    In,
    /// The node received it again.
    Again,
    /// It was seen on its way to a node that was not recorded.
    Passing,
}

/// A node: one that was recorded, or one that the others talked to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Node {
    /// The reel's name for it, or its endpoint.
    pub name: String,
    /// Its number in the protocol, as its packets say it.
    pub peer: Option<u64>,
    /// Whether the session has its reel.
    pub recorded: bool,
    /// Whether it is everybody behind a multicast address, or behind one that may be a broadcast
    /// address. What is sent there is a packet for each recorded node that heard it; what none of
    /// them heard is a packet to this node.
    pub group: bool,
    /// Whether an observer saw packets of it. Without a reel its span is that of these packets.
    pub seen: bool,
    /// Whether its reel is that of a proxy that its packets passed. Its times are then those at the
    /// proxy, and other nodes may have the same reel.
    pub proxied: bool,
    /// Whether its reel was made of a packet capture: what it sent and received is what came by at
    /// the wire, and what its program read of that is unknown.
    pub captured: bool,
    /// Where it was captured, in the order of its reel; nothing where it was not.
    pub interfaces: Vec<Interface>,
    /// Its sockets' addresses.
    pub endpoints: Vec<Endpoint>,
    /// From its first event to its last.
    pub span: Range<SessionTime>,
    /// Whether its recording reached its end and no byte of it is damaged that held events. What
    /// another reel shows at its end is not an outcome.
    pub complete: bool,
    /// Whether a recorder had its reel in hand when that was opened: more is to come.
    pub goes_on: bool,
    /// The rules that its packets say it goes by.
    pub rules: Option<RulesId>,
    /// How far its clock may be off the session's; 0 where they share one, [`u64::MAX`] where
    /// nothing tells.
    pub clock_error_ns: u64,
    /// Where its clock was set, in the order of its events.
    pub clock_steps: Vec<ClockStep>,
    /// Stretches that its reel does not hold, in the order of its events.
    pub holes: Vec<Hole>,
    /// What triggers said in its reel, in the order of its events.
    pub triggers: Vec<Triggered>,
    /// How many packets its kernel dropped because a receive buffer was full, as its reel says, by
    /// the kernel's number of the socket: nodes may share one.
    pub kernel_drops: BTreeMap<u64, u64>,
    /// Whether its reel is the window that a trigger kept of a recording which went on.
    pub window: bool,
    /// The limit that ended its recording: `it has reached its time of 5 s`.
    pub limit: Option<String>,
    /// What stands in its reel for people, each once; the first ones alone where there are many.
    pub notes: Vec<String>,
}

/// Between which points of their way the times of a link's packets were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// From the sender to the receiver.
    Whole,
    /// From the sender until a proxy had passed them on.
    ToProxy,
    /// From a proxy to the receiver.
    FromProxy,
    /// From when a proxy had them until it had passed them on.
    InProxy,
}

impl Measured {
    /// What people call it; `None`: the whole way.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Measured::Whole => None,
            Measured::ToProxy => Some("to proxy"),
            Measured::FromProxy => Some("from proxy"),
            Measured::InProxy => Some("in proxy"),
        }
    }
}

/// A moment around which a node kept its recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triggered {
    /// When.
    pub time: SessionTime,
    /// Which it was.
    pub trigger: Trigger,
    /// What was said of it.
    pub text: String,
}

/// Somebody who saw packets pass: a packet capture.
#[derive(Clone)]
pub struct Observer {
    /// The reel's name for it.
    pub name: String,
    /// From its first event to its last.
    pub span: Range<SessionTime>,
    /// See [`Node::complete`].
    pub complete: bool,
    /// See [`Node::clock_error_ns`].
    pub clock_error_ns: u64,
    /// Stretches that its reel does not hold.
    pub holes: Vec<Hole>,
    /// How many packets it saw.
    pub packets: u64,
    /// Of how many of them it kept the first bytes only.
    pub cut: u64,
    /// How many more it is known to have missed.
    pub missed: u64,
    /// Where it saw them, in the order of the reel.
    pub interfaces: Vec<Interface>,
    /// See [`Node::window`].
    pub window: bool,
    /// See [`Node::triggers`].
    pub triggers: Vec<Triggered>,
    /// What stands in its reel for people: where it was, what it could not read.
    pub notes: Vec<String>,
    /// Its reel.
    pub reel: Arc<Reel>,
}

impl ProxyId {
    /// The network between the nodes of a match, which a runner made: no proxy has this number.
    pub const NETWORK: ProxyId = ProxyId(u16::MAX);
}

/// What a proxy did to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyFault {
    /// Which proxy.
    pub proxy: ProxyId,
    /// What it did.
    pub verdict: FaultVerdict,
}

/// A moment at which an observer saw a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// Who saw it.
    pub observer: ObserverId,
    /// The event of the observer's reel.
    pub stamp: Stamp,
}

/// A clock was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockStep {
    /// Between these two moments; where the clock was in between is not known.
    pub time: Range<SessionTime>,
    /// Forward by this many ns.
    pub by_ns: i64,
    /// Whether it may be the other way round: where it is of the session's own clock, that all others
    /// were set, and where it is of all others, that the session's own was.
    pub or_else: bool,
}

/// A stretch of a node's time that its reel does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// Between the events around it. It starts where the session does if the reel has none before
    /// it, and ends where the reel does if there is none after it.
    pub time: Range<SessionTime>,
    /// The first event after it.
    pub before: EventNumber,
    /// Why, and how much: `switched off`, `17 events were dropped`.
    pub why: String,
}

/// One datagram: sent once, received never, once or several times.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Who sent it.
    pub from: NodeId,
    /// Whom it was sent to.
    pub to: NodeId,
    /// When it was sent; `None` where the sender has no reel or was not recording.
    pub sent: Option<Stamp>,
    /// When it was first received.
    pub received: Option<Stamp>,
    /// Further receipts of the same datagram, in the order of the receiver's reel.
    pub duplicates: Vec<Stamp>,
    /// When observers saw it pass, in the order of time.
    pub seen: SmallVec<[Sighting; 1]>,
    /// What became of it.
    pub fate: Fate,
    /// Whether its receipt may be another packet's, or another's its own: the same payload was on
    /// its way on the same link at the same time, or was sent less than 1 s before and not received.
    pub doubtful: bool,
    /// What proxies, or a network between the nodes, did to it on its way.
    pub faults: Vec<ProxyFault>,
    /// Bytes of payload.
    pub length: u32,
    /// How many of these bytes are known, where a capture kept the first ones only.
    pub cut: Option<u32>,
}

impl Node {
    /// Whose its reel is.
    pub(crate) fn recorder(&self) -> &str {
        if self.proxied {
            "the proxy"
        } else {
            &self.name
        }
    }
}

impl Packet {
    /// When it left its sender: its send, or else the first time that somebody saw it pass.
    pub fn departed(&self) -> Option<Stamp> {
        self.sent.or(self.seen.first().map(|seen| seen.stamp))
    }

    /// The first that is known of it: its departure, or else its first receipt.
    pub fn first(&self) -> Option<Stamp> {
        self.departed().or(self.received)
    }
}

/// A moment at a node: an event of its reel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// In the node's reel.
    pub number: EventNumber,
    /// On the session's clock.
    pub time: SessionTime,
}

named! {
    /// What became of a packet.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Fate {
        /// It arrived.
        "received" Received,
        /// The receiver recorded for long enough and never got it.
        "lost" Lost,
        /// The send call failed.
        "send-failed" SendFailed,
        /// Nothing of the link was received since, and the receiver closed its socket with packets in
        /// the buffer that its program had not read.
        "unread" Unread,
        /// Nobody can say: the receiver has no reel, or its reel ends too early or has a
        /// hole there. Or the reels of both ends were made of one capture, which saw it once: then it
        /// has a receipt, at the time of its send.
        #[default]
        "unknown" Unknown,
    }
}

/// What the wire says of a packet that somebody looks at.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// See [`Said::protocol`](super::Said::protocol).
    pub protocol: Option<ProtocolId>,
    /// See [`Said::sequence`](super::Said::sequence).
    pub sequence: Option<Sequence>,
    /// Its messages, in wire order.
    pub messages: Vec<MessageFacts>,
}

/// One message of a packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// The packet that carried it.
    pub packet: PacketId,
    /// What the wire says of it. The bit ranges are in the packet's payload.
    pub facts: MessageFacts,
}

impl Message {
    /// Its kind; `None` where the packet ended before saying.
    pub fn kind(&self) -> Option<KindId> {
        self.facts.kind
    }
}
