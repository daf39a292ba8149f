//! Packets in the order of their first events.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;

use netreel_reel::{EventNumber, Header, Time};

use super::filling::{Filled, Filling};
use super::merge::{Merge, Stream, Tells, Told};
use super::odd::Odd;
use super::places::{EndId, Places};
use super::rows::Rows;
use super::woven::Woven;
use crate::history::Wanted;
use crate::session::clock::Alignment;
use crate::session::clock::map::ClockMap;
use crate::session::read::ends::Side;
use crate::session::read::source::Source;
use crate::session::who::roads::Roads;
use crate::session::{Node, NodeId, ProxyFault, SessionError, SessionTime};

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
    pub wanted: Wanted<'a>,
}

/// The packets, and what is told of them all together.
#[derive(Clone, Default)]
pub(crate) struct Ordered {
    pub rows: Rows,
    /// When packets of each node were seen first and last.
    pub seen: BTreeMap<NodeId, (SessionTime, SessionTime)>,
    /// Receipts of what a recorded sender did not send, in the order of time.
    pub strays: Vec<((NodeId, NodeId), SessionTime)>,
    /// For each link how many packets arrived before they were sent, and by how much at most.
    pub early: BTreeMap<(NodeId, NodeId), (u64, i64)>,
    /// How long a packet may be on its way, as far as all that arrived shows.
    pub wait_ns: i64,
    /// See [`Session::ways`](crate::session::Session::ways).
    pub ways: BTreeMap<(NodeId, NodeId), (i64, i64)>,
}

/// How many packets are handed on together. After this many it is asked whether somebody still wants them.
pub(super) const BATCH: usize = 1 << 11;

/// Where fewer than one in this many of a side's ends tell packets, only these are looked at.
const SPARSE: usize = 8;

/// How many batches wait at most until they are taken.
const BATCHES: usize = 4;

/// Where a packet stands among the others.
pub(super) type Key = (SessionTime, NodeId, EventNumber, NodeId);

/// A packet under way.
pub(super) struct Next {
    pub link: (NodeId, NodeId),
    pub told: EndId,
    /// The reel of that end, its side, and its place there.
    pub at: (usize, Side, usize),
    pub receipt: Option<EndId>,
    pub odd: Option<Box<Odd>>,
}

impl Order<'_> {
    /// All packets, in order.
    ///
    /// # Errors
    /// There are more than ids can number; [`SessionError::GivenUp`] where nobody wants it any more.
    pub fn rows(&self, woven: Woven) -> Result<Ordered, SessionError> {
        let Woven {
            mut partners,
            odd,
            doubtful,
            elsewhere,
            ..
        } = woven;
        let tells = Tells::new(&partners);
        let merge = Merge::new(self.streams(&odd, &tells));
        let mut odd: Vec<Option<Odd>> = odd.into_iter().map(Some).collect();
        let mut filling = Filling::new(self, Filled::new(self), (doubtful, elsewhere));
        let mut take = |batch: Vec<(Key, Told)>| {
            if !(self.wanted)() {
                return Err(SessionError::GivenUp);
            }
            for (key, told) in batch {
                if let Some(next) = self.packet(told, &mut odd, &partners) {
                    filling.push(next, key, &mut partners)?;
                }
            }
            Ok(())
        };
        let mut batches = merge.batches(BATCH);
        match self.workers {
            0 | 1 => batches.try_for_each(&mut take)?,
            // One processor finds which packet is next, while another takes them.
            _ => std::thread::scope(|scope| {
                let (sender, receiver) = sync_channel(BATCHES);
                scope.spawn(move || batches.all(|batch| sender.send(batch).is_ok()));
                receiver.into_iter().try_for_each(&mut take)
            })?,
        }
        Ok(filling.finish(&partners))
    }

    /// The packet that something tells; one that is told apart is taken from `odd`.
    pub(super) fn packet(
        &self,
        told: Told,
        odd: &mut [Option<Odd>],
        partners: &[u32],
    ) -> Option<Next> {
        match told {
            Told::End(told, (reel, side, place), link) => {
                let partner = partners.get(told.0 as usize).copied()?;
                Some(Next {
                    link,
                    told,
                    at: (usize::from(reel), side, place as usize),
                    receipt: (partner != Woven::ALONE).then_some(EndId(partner)),
                    odd: None,
                })
            }
            Told::Odd(at) => {
                let own = odd.get_mut(at)?.take()?;
                let told = own.source()?;
                let first = own.received.first().copied();
                Some(Next {
                    link: self.link(own.from, own.to),
                    told,
                    at: self.places.find(told),
                    receipt: first.filter(|first| *first != told),
                    odd: Some(Box::new(own)),
                })
            }
        }
    }

    /// The ends that tell packets, in several rows that are in order each.
    fn streams<'s>(&'s self, odd: &[Odd], tells: &'s Tells) -> Vec<Stream<'s>> {
        let mut streams = Vec::new();
        for (reel, scan) in self.roads.scans.iter().enumerate() {
            for side in Side::ALL {
                let ends = scan.side(side);
                let clock = self.clock(reel);
                let time = |place: usize| clock.time(ends.time(place), || ends.number(place));
                let is_sorted = match &clock {
                    ClockMap::Shift(_) => ends.rhythm().is_sorted,
                    ClockMap::Stretches(_) => clock.times(ends).is_sorted(),
                };
                let row = |place: usize| {
                    let row = (ends.number(place), ends.time(place), ends.way(place));
                    (place, row)
                };
                let stretches = || self.places.numbers((reel, side), ends.len());
                let is_sparse =
                    stretches().map(|own| tells.count(own)).sum::<usize>() < ends.len() / SPARSE;
                let rows: Box<dyn Iterator<Item = (usize, Row)> + Send> = match is_sorted {
                    // Of the receipts most often: the others are not looked at.
                    true if is_sparse => {
                        let telling = stretches().flat_map(|own| tells.those(own));
                        Box::new(telling.map(move |end| row(self.places.find(end).2)))
                    }
                    true => Box::new(ends.rows().enumerate()),
                    false => {
                        let mut places: Vec<u32> = (0..ends.len() as u32).collect();
                        places.sort_by_key(|&place| (time(place as usize), place));
                        let places = places.into_iter().map(|place| place as usize);
                        Box::new(places.map(row))
                    }
                };
                streams.push(self.stream_of_ends((reel, side), rows, tells));
            }
        }
        streams.push(self.stream_of_odd(odd.iter().enumerate()));
        streams
    }

    /// Of ends of a side, in order, those that tell packets.
    fn stream_of_ends<'s>(
        &'s self,
        (reel, side): (usize, Side),
        rows: impl Iterator<Item = (usize, Row)> + Send + 's,
        tells: &'s Tells,
    ) -> Stream<'s> {
        Box::new(rows.filter_map(move |(place, (number, time, way))| {
            let told = self.places.id(reel, side, place);
            if !tells.get(told) {
                return None;
            }
            let (from, to) = self.roads.link(reel, side, place, way)?;
            let link = self.link(from, to);
            let key = self.key_of((reel, side), number, time, link);
            let at = (reel as u16, side, place as u32);
            Some((key, Told::End(told, at, link)))
        }))
    }

    /// Packets that are told apart from the others, each with its place among these, in order.
    pub(super) fn stream_of_odd<'s, 'o>(
        &self,
        odd: impl Iterator<Item = (usize, &'o Odd)>,
    ) -> Stream<'s> {
        let keyed = odd.filter_map(|(place, odd)| {
            Some((self.key(odd.source()?, self.link(odd.from, odd.to))?, place))
        });
        let mut keyed: Vec<(Key, usize)> = keyed.collect();
        keyed.sort_unstable();
        let told = keyed.into_iter().map(|(key, at)| (key, Told::Odd(at)));
        Box::new(told)
    }

    pub(super) fn clock(&self, reel: usize) -> ClockMap {
        self.clocks
            .get(reel)
            .map(|clock| clock.map.clone())
            .unwrap_or_default()
    }

    pub(super) fn link(&self, from: u16, to: u16) -> (NodeId, NodeId) {
        let node = |member: u16| self.node_of.get(usize::from(member)).copied();
        (node(from).unwrap_or_default(), node(to).unwrap_or_default())
    }

    fn key(&self, told: EndId, link: (NodeId, NodeId)) -> Option<Key> {
        let (reel, side, place) = self.places.find(told);
        let ends = self.roads.scans.get(reel)?.side(side);
        Some(self.key_of((reel, side), ends.number(place), ends.time(place), link))
    }

    pub(super) fn key_of(
        &self,
        (reel, side): (usize, Side),
        number: EventNumber,
        time: Time,
        (from, to): (NodeId, NodeId),
    ) -> Key {
        // What an observer saw at one time stays in the order of its reel.
        let by = match side {
            Side::Send => from,
            Side::Receive => to,
            Side::Seen => NodeId(u16::MAX),
        };
        let time = match self.clocks.get(reel) {
            Some(clock) => clock.map.time(time, || number),
            None => SessionTime::of(time, 0),
        };
        (time, by, number, to)
    }

    /// What was done to a packet on its way, by the event that tells it.
    pub(super) fn faults(&self, reel: usize, number: EventNumber) -> &[ProxyFault] {
        let faults = self.roads.scans.get(reel).map(|scan| &scan.faults);
        let faults = faults.filter(|faults| !faults.is_empty());
        faults
            .and_then(|faults| faults.get(&number))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a packet's send and its receipt are what one capture, of which both reels were made,
    /// saw once.
    pub(super) fn is_one_sighting(&self, sent: EndId, received: EndId) -> bool {
        let told = |end: EndId| {
            let (reel, side, place) = self.places.find(end);
            let header = self.sources.get(reel)?.reel.header();
            let captured = header.engine == Header::CAPTURED && !header.clock.boot_id.is_empty();
            let time = || Some(self.roads.scans.get(reel)?.side(side).time(place));
            captured.then_some((&header.clock.boot_id, time()?))
        };
        told(sent).is_some_and(|sent| told(received) == Some(sent))
    }
}

/// The number, the time and the connection of an end, and whether it went that one's way.
type Row = (EventNumber, Time, (u32, bool));
