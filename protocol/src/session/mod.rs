//! The packets of a session: every reel's, on one clock, each send matched to its receive.

mod ask;
pub(crate) mod bits;
mod build;
mod builder;
pub(crate) mod clock;
mod counted;
mod error;
pub(crate) mod facts;
mod growing;
mod index;
pub(crate) mod keyed;
mod live;
mod model;
pub(crate) mod parallel;
mod read;
mod verdict;
mod weave;
mod who;

pub use ask::moments::Moments;
pub(crate) use ask::ports::Ports;
pub use ask::reels::SessionReel;
pub use ask::rpc::Rpc;
pub(crate) use ask::some::Packets;
pub use ask::traffic::Traffic;
pub use builder::SessionBuilder;
pub(crate) use counted::packets;
pub use error::SessionError;
pub(crate) use facts::parts::{
    ACKNOWLEDGES, CHECKSUM, HOST, INPUT, OBJECT, RELIABLE_SEQUENCE, Shape,
};
pub(crate) use facts::properties::{ObjectFact, name_type};
pub use facts::said::Said;
pub(crate) use facts::shape::Messages;
pub use growing::Growing;
pub(crate) use index::plain::{self, Indexed, indexed, put_plain, take_plain};
pub use index::{IndexError, IndexKey};
pub use live::{Live, LiveEvent, LivePacket, LiveWay, LiveWhat};
pub(crate) use model::Link;
pub use model::{
    ClockStep, Crossing, Fate, Hole, Look, Measured, Message, MessageId, Node, NodeId, Observer,
    ObserverId, Packet, PacketId, ProxyFault, ProxyId, SessionTime, Sighting, Stamp, Triggered,
    Turn, Way,
};
pub(crate) use read::beliefs::GameSays;
pub use read::connections::Connection;
pub use read::interfaces::Interface;
pub(crate) use read::interfaces::Interfaces;
pub use read::source::ReelInput;
pub(crate) use read::source::is_closed;
pub(crate) use weave::places::EndId;
pub use who::proxied::network_answers;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use netreel_reel::{EventNumber, Reel};
use netreel_wire::Wire;

use crate::history::bounds::Bounds;
use ask::seen::Seen;
use facts::looks::Looks;
use facts::told::Told;
use weave::rows::Rows;

/// One play-through, as all its reels tell it.
///
/// Its packets and messages are asked for one by one, and are put together from columns
/// ([`Session::packet`], [`Session::said`], [`Session::message`]). What the wire says of them is
/// worked out when it is first asked for.
#[derive(Default)]
pub struct Session {
    /// Ordered by protocol number where one is known, then by name.
    pub nodes: Vec<Node>,
    /// The wire that decoded the packets; `None` where no reel has one and none was given.
    pub wire: Option<Arc<Wire>>,
    /// Where the session's clock starts, in nanoseconds since 1970-01-01T00:00:00Z.
    pub start_utc_ns: i64,
    /// From the first event to the last.
    pub span: Range<SessionTime>,
    /// Each node's reel, by the node's place; `None` for a node that was not recorded.
    pub reels: Vec<Option<Arc<Reel>>>,
    /// Who watched packets pass without taking part, in the order of their reels.
    pub observers: Vec<Observer>,
    /// What people call the proxies; no two have one name.
    pub proxies: Vec<String>,
    /// The numbers by which rules decide.
    pub bounds: Bounds,
    warnings: Warnings,
    rows: Rows,
    /// Each node's track, by the node's place.
    tracks: Vec<Option<usize>>,
    workers: usize,
    /// Whether packets seem to arrive before they were sent.
    early: bool,
    /// How long a packet may be on its way, as far as all that arrived shows; `None` where what was
    /// read may still be told otherwise when more is read.
    wait_ns: Option<i64>,
    /// Of reels that grow, of each track the first event that may be read anew.
    firm: Vec<EventNumber>,
    /// See [`Session::ways`].
    ways: BTreeMap<Link, (i64, i64)>,
    told: OnceLock<Told>,
    traffic: OnceLock<BTreeMap<Link, Traffic>>,
    /// Who took part without a reel, once somebody asked (`history/unrecorded.rs`).
    pub(crate) took_part: OnceLock<BTreeSet<NodeId>>,
    /// Of each node that was not recorded, by its place: the packets that were seen of it, ordered by the
    /// observer's events.
    seen: OnceLock<Vec<Seen>>,
    /// What looks at packets left.
    looks: Looks,
    /// The history as the index has it.
    kept_history: Option<Bytes>,
}

/// What could not be read or is not certain, each a sentence for people.
#[derive(Default)]
struct Warnings {
    /// Before what is said of packets that do not fit the wire.
    before: Vec<String>,
    after: Vec<String>,
    /// What was added to those of the session.
    added: Vec<String>,
}
