//! What packets are put in order by, and what comes of it.

use std::collections::BTreeMap;

use netreel_reel::{EventNumber, Header, Time};
use netreel_system::Cancel;

use super::odd::Odd;
use super::places::{EndId, Places};
use super::rows::Rows;
use crate::session::clock::Alignment;
use crate::session::clock::map::ClockMap;
use crate::session::read::ends::{EndAt, Side};
use crate::session::read::source::Source;
use crate::session::who::roads::Roads;
use crate::session::{Link, Node, NodeId, ProxyFault, SessionTime};

/// What makes packets of ends that were put together.
pub(crate) struct Order<'a> {
    pub roads: &'a Roads<'a>,
    pub sources: &'a [Source],
    pub places: &'a Places,
    /// For each member its node.
    pub node_of: &'a [NodeId],
    pub nodes: &'a [Node],
    /// For each reel what makes the session's times of its own.
    pub clocks: &'a [Alignment],
    /// For each node whether nothing can have reached it before its reel began.
    pub from_start: &'a [bool],
    pub workers: usize,
    /// For each node the ports of sockets that were closed with packets in their buffers, and when.
    pub unread: &'a [BTreeMap<u16, SessionTime>],
    /// Whether somebody still wants it: it is asked now and then.
    pub cancel: &'a Cancel,
}

/// The packets, and what is told of them all together.
#[derive(Default)]
pub(crate) struct Ordered {
    pub rows: Rows,
    /// When packets of each node were seen first and last.
    pub seen: BTreeMap<NodeId, (SessionTime, SessionTime)>,
    /// Receipts of what a recorded sender did not send, in the order of time.
    pub strays: Vec<(Link, SessionTime)>,
    /// For each link how many packets arrived before they were sent, and by how much at most.
    pub early: BTreeMap<Link, (u64, i64)>,
    /// How long a packet may be on its way, as far as all that arrived shows.
    pub wait_ns: i64,
    /// See [`Session::ways`](crate::session::Session::ways).
    pub ways: BTreeMap<Link, (i64, i64)>,
}

/// Where a packet stands among the others.
pub(super) type Key = (SessionTime, NodeId, EventNumber, NodeId);

/// The number, the time and the connection of an end, and whether it went that one's way.
pub(super) type Row = (EventNumber, Time, (u32, bool));

/// A packet under way.
pub(super) struct Next {
    pub link: Link,
    pub told: EndId,
    /// The reel of that end, its side, and its place there.
    pub at: EndAt,
    pub receipt: Option<EndId>,
    pub odd: Option<Box<Odd>>,
}

impl Order<'_> {
    pub(super) fn clock(&self, reel: usize) -> ClockMap {
        self.clocks[reel].map.clone()
    }

    pub(super) fn link(&self, from: u16, to: u16) -> Link {
        let node = |member: u16| self.node_of[usize::from(member)];
        (node(from), node(to))
    }

    pub(super) fn key(&self, told: EndId, link: Link) -> Key {
        let (reel, side, place) = self.places.find(told);
        let ends = self.roads.scans[reel].side(side);
        self.key_of((reel, side), ends.number(place), ends.time(place), link)
    }

    pub(super) fn key_of(
        &self,
        (reel, side): (usize, Side),
        number: EventNumber,
        time: Time,
        (from, to): Link,
    ) -> Key {
        // What an observer saw at one time stays in the order of its reel.
        let by = match side {
            Side::Send => from,
            Side::Receive => to,
            Side::Seen => NodeId(u16::MAX),
        };
        let time = self.clocks[reel].map.time(time, || number);
        (time, by, number, to)
    }

    /// What was done to a packet on its way, by the event that tells it.
    pub(super) fn faults(&self, reel: usize, number: EventNumber) -> &[ProxyFault] {
        self.roads.scans[reel].faults_of(number)
    }

    /// Whether a packet's send and its receipt are what one capture, of which both reels were made,
    /// saw once.
    pub(super) fn is_one_sighting(&self, sent: EndId, received: EndId) -> bool {
        let told = |end: EndId| {
            let (reel, side, place) = self.places.find(end);
            let header = self.sources[reel].reel.header();
            let captured = header.engine == Header::CAPTURED && !header.clock.boot_id.is_empty();
            let time = || self.roads.scans[reel].side(side).time(place);
            captured.then(|| (&header.clock.boot_id, time()))
        };
        told(sent).is_some_and(|sent| told(received) == Some(sent))
    }
}
