//! Packets in the order of their first events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use netreel_reel::{EventNumber, Header, Time};

use super::filling::{Filled, Filling};
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

/// After so many packets it is asked whether somebody still wants them.
const ASKED_AFTER: u32 = 1 << 12;

/// Where a packet stands among the others.
pub(super) type Key = (SessionTime, NodeId, EventNumber, NodeId);

/// A packet under way.
pub(super) struct Next {
    pub link: (NodeId, NodeId),
    pub told: EndId,
    pub receipt: Option<EndId>,
    pub odd: Option<usize>,
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
        let mut odd: Vec<Option<Odd>> = odd.into_iter().map(Some).collect();
        let tells = Tells::new(&partners);
        let streams = self.streams(&odd);
        let mut filling = Filling::new(self, Filled::new(self), (doubtful, elsewhere));
        self.merge(
            (streams, &tells),
            &mut odd,
            &mut partners,
            |next, key, own, partners| {
                filling.push(next, key, own, partners)?;
                Ok(true)
            },
        )?;
        Ok(filling.finish(&partners))
    }

    /// Hands on what tells packets in the order of all, as long as it is taken.
    ///
    /// # Errors
    /// Those of `take`; [`SessionError::GivenUp`] where nobody wants it any more.
    pub(super) fn merge(
        &self,
        (mut streams, tells): (Vec<TellingEnds<'_>>, &Tells),
        odd: &mut [Option<Odd>],
        partners: &mut [u32],
        mut take: impl FnMut(&Next, Key, Option<Odd>, &mut [u32]) -> Result<bool, SessionError>,
    ) -> Result<(), SessionError> {
        let mut heap: BinaryHeap<Reverse<(Key, usize)>> = BinaryHeap::new();
        let mut waiting: Vec<Option<Next>> = Vec::new();
        for (place, stream) in streams.iter_mut().enumerate() {
            let next = self.next(stream, (tells, partners), odd);
            heap.extend(next.as_ref().map(|(key, _)| Reverse((*key, place))));
            waiting.push(next.map(|(_, next)| next));
        }
        let mut handed_on = 0_u32;
        while let Some(mut top) = heap.peek_mut() {
            handed_on = handed_on.wrapping_add(1);
            if handed_on.is_multiple_of(ASKED_AFTER) && !(self.wanted)() {
                return Err(SessionError::GivenUp);
            }
            let Reverse((due_at, place)) = *top;
            let after = streams
                .get_mut(place)
                .and_then(|stream| self.next(stream, (tells, partners), odd));
            let (key, next) = match after {
                Some((key, next)) => (Some(key), Some(next)),
                None => (None, None),
            };
            let due = waiting
                .get_mut(place)
                .and_then(|slot| std::mem::replace(slot, next));
            match key {
                Some(key) => *top = Reverse((key, place)),
                None => drop(std::collections::binary_heap::PeekMut::pop(top)),
            }
            if let Some(due) = due {
                let own = due.odd.and_then(|at| odd.get_mut(at)?.take());
                if !take(&due, due_at, own, partners)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The ends that tell packets, in several rows that are in order each.
    fn streams(&self, odd: &[Option<Odd>]) -> Vec<TellingEnds<'_>> {
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
                let rows: Box<dyn Iterator<Item = (usize, Row)>> = match is_sorted {
                    true => Box::new(ends.rows().enumerate()),
                    false => {
                        let mut places: Vec<u32> = (0..ends.len() as u32).collect();
                        places.sort_by_key(|&place| (time(place as usize), place));
                        let places = places.into_iter().map(|place| place as usize);
                        Box::new(places.map(|place| {
                            let row = (ends.number(place), ends.time(place), ends.way(place));
                            (place, row)
                        }))
                    }
                };
                streams.push(TellingEnds::Ends { reel, side, rows });
            }
        }
        streams.push(self.stream_of_odd(odd));
        streams
    }

    /// Packets that are told apart from the others, in order.
    pub(super) fn stream_of_odd<'s>(&self, odd: &[Option<Odd>]) -> TellingEnds<'s> {
        let keyed = odd.iter().enumerate().filter_map(|(place, odd)| {
            let odd = odd.as_ref()?;
            Some((self.key(odd.source()?, self.link(odd.from, odd.to))?, place))
        });
        let mut keyed: Vec<(Key, usize)> = keyed.collect();
        keyed.sort_unstable();
        TellingEnds::Odd { keyed, next: 0 }
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

    fn next(
        &self,
        stream: &mut TellingEnds<'_>,
        (tells, partners): (&Tells, &[u32]),
        odd: &[Option<Odd>],
    ) -> Option<(Key, Next)> {
        match stream {
            TellingEnds::Made(rows) => rows.next(),
            TellingEnds::Odd { keyed, next } => {
                let &(key, at) = keyed.get(*next)?;
                *next += 1;
                let own = odd.get(at)?.as_ref()?;
                let told = own.source()?;
                let first = own.received.first().copied();
                let next = Next {
                    link: self.link(own.from, own.to),
                    told,
                    receipt: first.filter(|first| *first != told),
                    odd: Some(at),
                };
                Some((key, next))
            }
            TellingEnds::Ends { reel, side, rows } => {
                for (place, (number, time, way)) in rows.by_ref() {
                    let told = self.places.id(*reel, *side, place);
                    if !tells.get(told) {
                        continue;
                    }
                    let partner = partners.get(told.0 as usize).copied()?;
                    let receipt = (partner != Woven::ALONE).then_some(EndId(partner));
                    let (from, to) = self.roads.link(*reel, *side, place, way)?;
                    let link = self.link(from, to);
                    let key = self.key_of((*reel, *side), number, time, link);
                    let next = Next {
                        link,
                        told,
                        receipt,
                        odd: None,
                    };
                    return Some((key, next));
                }
                None
            }
        }
    }

    /// What a proxy did to the packet of a send.
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

/// Which ends tell packets, a bit each.
#[derive(Default)]
pub(super) struct Tells(Vec<u64>);

impl Tells {
    fn new(partners: &[u32]) -> Tells {
        let words = partners.chunks(64).map(|some| {
            let bits = some.iter().enumerate();
            let bits = bits.map(|(at, &partner)| u64::from(partner != Woven::TAKEN) << at);
            bits.fold(0, |word, bit| word | bit)
        });
        Tells(words.collect())
    }

    fn get(&self, end: EndId) -> bool {
        let word = self.0.get(end.0 as usize / 64).copied().unwrap_or(0);
        word >> (end.0 % 64) & 1 == 1
    }
}

/// The number, the time and the connection of an end, and whether it went that one's way.
type Row = (EventNumber, Time, (u32, bool));

/// Ends that tell packets, in order.
pub(super) enum TellingEnds<'a> {
    /// Of which all is known.
    Made(std::vec::IntoIter<(Key, Next)>),
    /// Of one side of a reel, each with its place there.
    Ends {
        reel: usize,
        side: Side,
        rows: Box<dyn Iterator<Item = (usize, Row)> + 'a>,
    },
    /// Packets that are told apart from the others.
    Odd {
        keyed: Vec<(Key, usize)>,
        next: usize,
    },
}
