//! Packets in the order of their first events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use netreel_reel::{EventNumber, Header, Time};
use netreel_table::Column;

use super::fate::{Fates, Margins, Missing};
use super::rows::{DOUBTFUL, ODD, Rows, Track};
use super::weaver::{EndId, Odd, Places, Woven};
use crate::session::clock::Alignment;
use crate::session::clock::map::ClockMap;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;
use crate::session::read::source::Source;
use crate::session::who::proxied::is_dropped;
use crate::session::who::roads::Roads;
use crate::session::who::watched;
use crate::session::{Fate, Node, NodeId, ProxyFault, SessionError, SessionTime, parallel};

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
}

/// The packets, and what is told of them all together.
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
}

/// Where a packet stands among the others.
type Key = (SessionTime, NodeId, EventNumber, NodeId);

/// A packet under way.
struct Next {
    link: (NodeId, NodeId),
    told: EndId,
    receipt: Option<EndId>,
    odd: Option<usize>,
}

impl Order<'_> {
    /// All packets, in order.
    ///
    /// # Errors
    /// There are more than ids can number.
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
        let mut streams = self.streams(&odd);
        let mut heap: BinaryHeap<Reverse<(Key, usize)>> = BinaryHeap::new();
        let mut waiting: Vec<Option<Next>> = Vec::new();
        for (place, stream) in streams.iter_mut().enumerate() {
            let next = self.next(stream, (&tells, &partners), &odd);
            heap.extend(next.as_ref().map(|(key, _)| Reverse((*key, place))));
            waiting.push(next.map(|(_, next)| next));
        }
        let mut filling = Filling::new(self, (doubtful, elsewhere));
        while let Some(mut top) = heap.peek_mut() {
            let Reverse((due_at, place)) = *top;
            let after = streams
                .get_mut(place)
                .and_then(|stream| self.next(stream, (&tells, &partners), &odd));
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
                filling.push(&due, due_at, own, &mut partners)?;
            }
        }
        Ok(filling.finish(partners))
    }

    /// The ends that tell packets, in several rows that are in order each.
    fn streams(&self, odd: &[Option<Odd>]) -> Vec<Stream<'_>> {
        let mut streams = Vec::new();
        for (reel, scan) in self.roads.scans.iter().enumerate() {
            for side in Side::ALL {
                let ends = scan.side(side);
                let clock = self.clock(reel);
                let time = |place: usize| clock.time(ends.time(place), || ends.number(place));
                let is_sorted = match &clock {
                    ClockMap::Shift(_) => ends.times().is_sorted(),
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
                streams.push(Stream::Ends { reel, side, rows });
            }
        }
        let keyed = odd.iter().enumerate().filter_map(|(place, odd)| {
            let odd = odd.as_ref()?;
            Some((self.key(odd.source()?, self.link(odd.from, odd.to))?, place))
        });
        let mut keyed: Vec<(Key, usize)> = keyed.collect();
        keyed.sort_unstable();
        streams.push(Stream::Odd { keyed, next: 0 });
        streams
    }

    fn clock(&self, reel: usize) -> ClockMap {
        self.clocks
            .get(reel)
            .map(|clock| clock.map.clone())
            .unwrap_or_default()
    }

    fn link(&self, from: u16, to: u16) -> (NodeId, NodeId) {
        let node = |member: u16| self.node_of.get(usize::from(member)).copied();
        (node(from).unwrap_or_default(), node(to).unwrap_or_default())
    }

    fn key(&self, told: EndId, link: (NodeId, NodeId)) -> Option<Key> {
        let (reel, side, place) = self.places.find(told);
        let ends = self.roads.scans.get(reel)?.side(side);
        Some(self.key_of((reel, side), ends.number(place), ends.time(place), link))
    }

    fn key_of(
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
        stream: &mut Stream<'_>,
        (tells, partners): (&Tells, &[u32]),
        odd: &[Option<Odd>],
    ) -> Option<(Key, Next)> {
        match stream {
            Stream::Odd { keyed, next } => {
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
            Stream::Ends { reel, side, rows } => {
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
    fn faults(&self, reel: usize, number: EventNumber) -> &[ProxyFault] {
        let faults = self.roads.scans.get(reel).map(|scan| &scan.faults);
        let faults = faults.filter(|faults| !faults.is_empty());
        faults
            .and_then(|faults| faults.get(&number))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a packet's send and its receipt are what one capture, of which both reels were made,
    /// saw once.
    fn is_one_sighting(&self, sent: EndId, received: EndId) -> bool {
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
struct Tells(Vec<u64>);

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
enum Stream<'a> {
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

/// The packets, as far as they are in order.
struct Filling<'a, 'b> {
    order: &'a Order<'b>,
    ordered: Ordered,
    places: BTreeMap<(NodeId, NodeId), u64>,
    /// The link of the packet before, and its place.
    latest: Option<((NodeId, NodeId), u64)>,
    fates: Fates,
    states: Vec<u8>,
    /// Packets that nobody is known to have received.
    missing: Vec<(u32, Missing)>,
    /// See [`Woven::doubtful`].
    doubtful: Vec<EndId>,
    /// See [`Woven::elsewhere`].
    elsewhere: Vec<EndId>,
    any_captured: bool,
}

impl<'a, 'b> Filling<'a, 'b> {
    fn new(
        order: &'a Order<'b>,
        (doubtful, elsewhere): (Vec<EndId>, Vec<EndId>),
    ) -> Filling<'a, 'b> {
        let rows = Rows {
            passing: vec![Column::new(); order.nodes.len()],
            ..Rows::default()
        };
        Filling {
            order,
            ordered: Ordered {
                rows,
                seen: BTreeMap::new(),
                strays: Vec::new(),
                early: BTreeMap::new(),
                wait_ns: 0,
            },
            places: BTreeMap::new(),
            latest: None,
            fates: Fates::new(order.nodes, Margins::all(order)),
            states: Vec::new(),
            missing: Vec::new(),
            doubtful,
            elsewhere,
            any_captured: order.nodes.iter().any(|node| node.captured),
        }
    }

    fn time(&self, end: EndId) -> SessionTime {
        let (reel, side, place) = self.order.places.find(end);
        let scan = self.order.roads.scans.get(reel);
        let clock = self.order.clocks.get(reel);
        let (Some(ends), Some(clock)) = (scan.map(|scan| scan.side(side)), clock) else {
            return SessionTime::default();
        };
        clock.map.time(ends.time(place), || ends.number(place))
    }

    fn push(
        &mut self,
        next: &Next,
        (departed, _, number, _): Key,
        odd: Option<Odd>,
        partners: &mut [u32],
    ) -> Result<(), SessionError> {
        let (reel, side, place) = self.order.places.find(next.told);
        let Some(ends) = self.order.roads.scans.get(reel).map(|scan| scan.side(side)) else {
            return Ok(());
        };
        let link = next.link;
        let id = self.states.len();
        // The highest number is none: rows are numbered from 0, and one more is told in ids.
        let Some(id) = u32::try_from(id).ok().filter(|id| *id < Woven::TAKEN) else {
            return Err(SessionError::TooLarge {
                what: format!("{id} packets, and ids go up to {}", u32::MAX),
            });
        };
        let sent = (side == Side::Send).then_some(departed);
        let receipt = match side {
            Side::Receive => Some(next.told),
            _ => next.receipt,
        };
        let received = receipt.map(|receipt| self.time(receipt));
        let is_failed = side == Side::Send && ends.is_failed(place);
        let fate = match received {
            Some(_)
                if self.any_captured
                    && sent.is_some()
                    && receipt.is_some_and(|it| self.order.is_one_sighting(next.told, it)) =>
            {
                Fate::Unknown
            }
            Some(_) => Fate::Received,
            None if is_failed => Fate::SendFailed,
            None => Fate::Unknown,
        };
        match received {
            Some(received) if side != Side::Receive => self.fates.arrived(link, departed, received),
            Some(_) => {}
            None if is_failed => {}
            None => {
                let faults = match side {
                    Side::Send => self.order.faults(reel, number),
                    _ => &[],
                };
                let kept = ends.length(place);
                let error_ns = self
                    .order
                    .clocks
                    .get(reel)
                    .map_or(0, |clock| clock.map.error_ns(number, ends.time(place)));
                let missing = Missing {
                    link,
                    departed,
                    error_ns,
                    dropped: is_dropped(faults),
                    doubtful: side == Side::Seen && kept < ends.whole(place, kept)
                        || self.elsewhere.binary_search(&next.told).is_ok(),
                    unread: side == Side::Send && self.is_unread(link.1, (reel, place), departed),
                };
                self.missing.push((id, missing));
            }
        }
        self.note(link, (side, departed), received, odd.as_ref());
        let rows = &mut self.ordered.rows;
        let at = match self.latest {
            Some((latest, at)) if latest == link => at,
            _ => {
                let known = self.places.len() as u64;
                let at = *self.places.entry(link).or_insert(known);
                if at == known {
                    rows.links.push(link);
                }
                at
            }
        };
        self.latest = Some((link, at));
        rows.link.push(at);
        rows.told.push(u64::from(next.told.0));
        let apart = receipt.filter(|it| *it != next.told);
        rows.receipt.push_some(apart.map(|it| u64::from(it.0)));
        let mut state = fate as u8;
        if odd.is_some() {
            state |= ODD as u8;
        }
        if !self.doubtful.is_empty() && self.doubtful.binary_search(&next.told).is_ok() {
            state |= DOUBTFUL as u8;
        }
        self.states.push(state);
        let mut own = |end: EndId| {
            let Some(slot) = partners.get_mut(end.0 as usize) else {
                return;
            };
            match *slot {
                // Until then it is told whose packet it is, not which.
                Woven::TAKEN | Woven::ALONE => *slot = id,
                _ => rows.shared.entry(end).or_default().push(id),
            }
        };
        match &odd {
            Some(odd) => odd.ends().for_each(&mut own),
            None => {
                if let Some(slot) = partners.get_mut(next.told.0 as usize) {
                    *slot = id;
                }
                if let Some(apart) = apart
                    && let Some(slot) = partners.get_mut(apart.0 as usize)
                {
                    *slot = id;
                }
            }
        }
        self.note_passing(id, link, side, odd.as_ref());
        if let Some(odd) = odd {
            self.ordered.rows.odd.insert(id, odd);
        }
        Ok(())
    }

    /// Whether the socket that a send went to was closed after it with packets that were not read.
    fn is_unread(&self, to: NodeId, (reel, place): (usize, usize), departed: SessionTime) -> bool {
        let unread = self.order.unread.get(usize::from(to.0));
        let Some(unread) = unread.filter(|unread| !unread.is_empty()) else {
            return false;
        };
        let scan = self.order.roads.scans.get(reel);
        let peer = scan.and_then(|scan| scan.peer(&scan.sends.get(place)?));
        let closed = peer.and_then(|peer| unread.get(&peer.port()));
        closed.is_some_and(|&closed| departed <= closed)
    }

    /// Notes what is told of all packets together.
    fn note(
        &mut self,
        link: (NodeId, NodeId),
        (side, first): (Side, SessionTime),
        received: Option<SessionTime>,
        odd: Option<&Odd>,
    ) {
        let seen = match (side, odd.and_then(|odd| odd.seen.first())) {
            (Side::Seen, _) => Some(first),
            (_, Some(&end)) => Some(self.time(end)),
            _ => None,
        };
        if let Some(time) = seen {
            for node in [link.0, link.1] {
                let span = self.ordered.seen.entry(node).or_insert((time, time));
                *span = (span.0.min(time), span.1.max(time));
            }
        }
        let sender = self.order.nodes.get(usize::from(link.0.0));
        match (side, received) {
            (Side::Send, Some(received)) if received < first => {
                let (count, worst_ns) = self.ordered.early.entry(link).or_insert((0, 0));
                *count += 1;
                *worst_ns = (first.0.saturating_sub(received.0)).max(*worst_ns);
            }
            (Side::Send, _) | (_, None) => {}
            (_, Some(received)) => {
                if sender.is_some_and(|node| node.recorded) {
                    self.ordered.strays.push((link, received));
                }
            }
        }
    }

    /// Lists a packet for those of its nodes that were not recorded.
    fn note_passing(
        &mut self,
        id: u32,
        (from, to): (NodeId, NodeId),
        side: Side,
        odd: Option<&Odd>,
    ) {
        let watched = |node: NodeId| {
            let node = self.order.nodes.get(usize::from(node.0));
            !node.is_some_and(|node| node.recorded)
        };
        let is_seen = side == Side::Seen || odd.is_some_and(|odd| !odd.seen.is_empty());
        let passing = &mut self.ordered.rows.passing;
        if (side != Side::Receive || is_seen)
            && watched(from)
            && let Some(list) = passing.get_mut(usize::from(from.0))
        {
            list.push(u64::from(id) << 1);
        }
        if is_seen
            && watched(to)
            && let Some(list) = passing.get_mut(usize::from(to.0))
        {
            list.push(u64::from(id) << 1 | 1);
        }
    }

    fn finish(mut self, partners: Vec<u32>) -> Ordered {
        for (id, missing) in &self.missing {
            let fate = self
                .fates
                .of(missing, self.order.nodes, self.order.from_start);
            if let Some(state) = self.states.get_mut(*id as usize) {
                *state = *state & !(ODD as u8 - 1) | fate as u8;
            }
        }
        self.ordered.wait_ns = self.fates.wait_ns();
        let rows = &mut self.ordered.rows;
        rows.state = self.states.iter().map(|&state| u64::from(state)).collect();
        for column in [
            &mut rows.link,
            &mut rows.told,
            &mut rows.receipt,
            &mut rows.state,
        ] {
            column.shrink();
        }
        rows.places = self.order.places.clone();
        let scans = self.order.roads.scans;
        let reels: Vec<usize> = (0..scans.len()).collect();
        rows.tracks = parallel::map(reels, self.order.workers, |reel| {
            let packets = Side::ALL.map(|side| {
                let start = self.order.places.id(reel, side, 0).0 as usize;
                let count = scans.get(reel).map_or(0, |scan| scan.side(side).len());
                let own = partners.get(start..start + count).unwrap_or(&[]);
                let mut packets: Column = own.iter().map(|&packet| u64::from(packet)).collect();
                packets.shrink();
                packets
            });
            Track {
                clock: self.order.clock(reel),
                observer: watched::observer(scans, reel),
                packets,
                ..Track::default()
            }
        });
        self.ordered
    }
}

impl Track {
    /// Takes what a reel's scan holds of packets.
    pub fn take(&mut self, source: &Source, scan: &mut Scan) {
        self.reel = Some(source.reel.clone());
        for (own, ends) in self.sides.iter_mut().zip(scan.sides_mut()) {
            *own = std::mem::take(ends);
            own.forget_hashes();
            own.shrink();
        }
        self.connections = std::mem::take(&mut scan.connections);
        self.faults = std::mem::take(&mut scan.faults);
        self.ticks = std::mem::take(&mut scan.turns);
    }
}
