//! Packets, put one behind the other, and what is told of them all together.

use netreel_reel::{EventNumber, Time};
use netreel_table::Column;

use super::fate::{Fates, Margins, Missing};
use super::odd::Odd;
use super::order::{Key, Next, Order, Ordered};
use super::places::EndId;
use super::rows::{DOUBTFUL, ODD, Rows, Track};
use super::woven::Woven;
use crate::session::keyed::Keyed;
use crate::session::read::ends::{Cursors, Side};
use crate::session::who::proxied::is_dropped;
use crate::session::who::watched;
use crate::session::{Fate, Link, NodeId, SessionError, SessionTime, parallel};

/// Makes the shortest and the longest way of a link hold one more.
fn lengthen(way: &mut Option<(i64, i64)>, took_ns: i64) {
    let (shortest, longest) = way.unwrap_or((took_ns, took_ns));
    *way = Some((took_ns.min(shortest), took_ns.max(longest)));
}

/// Packets that are put behind each other.
pub(super) struct Filling<'a, 'b> {
    order: &'a Order<'b>,
    ordered: Ordered,
    /// For each link how long the shortest and the longest way took. A link's number here is its place in
    /// [`Rows::links`].
    ways: Keyed<Link, Option<(i64, i64)>>,
    fates: Fates,
    /// What will stand in [`Rows::state`].
    states: Vec<u8>,
    /// The packets that nobody is known to have received.
    missing: Vec<(u32, Missing)>,
    /// See [`Woven::doubtful`].
    doubtful: Vec<EndId>,
    /// See [`Woven::elsewhere`].
    elsewhere: Vec<EndId>,
    any_captured: bool,
    times: Cursors<'b>,
}

impl<'a, 'b> Filling<'a, 'b> {
    /// Without packets.
    pub fn new(
        order: &'a Order<'b>,
        (doubtful, elsewhere): (Vec<EndId>, Vec<EndId>),
    ) -> Filling<'a, 'b> {
        let scans = order.roads.scans.iter();
        let times = scans.map(|scan| Side::ALL.map(|side| scan.side(side).time_column()));
        let rows = Rows {
            passing: vec![Column::new(); order.nodes.len()],
            ..Rows::default()
        };
        Filling {
            times: Cursors::new(times),
            order,
            ordered: Ordered {
                rows,
                ..Ordered::default()
            },
            ways: Keyed::default(),
            fates: Fates::new(order.nodes, Margins::all(order)),
            states: Vec::new(),
            missing: Vec::new(),
            doubtful,
            elsewhere,
            any_captured: order.nodes.iter().any(|node| node.captured),
        }
    }

    fn time(&mut self, end: EndId) -> SessionTime {
        let (reel, side, place) = self.order.places.find(end);
        let ends = self.order.roads.scans[reel].side(side);
        let time = Time(self.times.get(reel, side, place));
        let clock = &self.order.clocks[reel];
        clock.map.time(time, || ends.number(place))
    }

    /// Puts the next packet behind them.
    ///
    /// # Errors
    /// There are more than ids can number.
    pub fn push(
        &mut self,
        next: Next,
        (departed, _, number, _): Key,
        partners: &mut [u32],
    ) -> Result<(), SessionError> {
        let (reel, side, place) = next.at;
        let ends = self.order.roads.scans[reel].side(side);
        let link = next.link;
        let id = self.states.len();
        // The highest number is none: rows are numbered from 0, and one more is told in ids.
        let Some(id) = u32::try_from(id).ok().filter(|id| *id < Woven::TAKEN) else {
            return Err(SessionError::TooLarge {
                what: format!("{id} packets, and ids go up to {}", u32::MAX),
            });
        };
        let receipt = match side {
            Side::Receive => Some(next.told),
            _ => next.receipt,
        };
        let received = receipt.map(|receipt| self.time(receipt));
        let is_failed = side == Side::Send && ends.is_failed(place);
        let mut fate = match received {
            Some(_)
                if self.any_captured
                    && side == Side::Send
                    && receipt.is_some_and(|it| self.order.is_one_sighting(next.told, it)) =>
            {
                Fate::Unknown
            }
            Some(_) => Fate::Received,
            None if is_failed => Fate::SendFailed,
            None => Fate::Unknown,
        };
        let (at, way) = self.ways.numbered(link, || None);
        let at = at as usize;
        if side == Side::Send
            && fate == Fate::Received
            && let Some(received) = received
        {
            lengthen(way, received.0.saturating_sub(departed.0));
        }
        match received {
            Some(received) if side != Side::Receive => {
                self.fates.arrived((at, link.1), departed, received);
            }
            Some(_) => {}
            None if is_failed => {}
            None => {
                let missing = self.missing(&next, (number, departed), at);
                let receiver = link.1.of(self.order.nodes);
                match receiver.is_some_and(|node| node.recorded) {
                    true => self.missing.push((id, missing)),
                    // Nothing that comes later tells more of it.
                    false if missing.dropped => fate = Fate::Lost,
                    false => {}
                }
            }
        }
        let odd = next.odd;
        self.note(link, (side, departed), received, odd.as_deref());
        let rows = &mut self.ordered.rows;
        rows.link.push(at as u64);
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
        self.note_ends(id, (next.told, apart), odd.as_deref(), partners);
        self.note_passing(id, link, side, odd.as_deref());
        if let Some(odd) = odd {
            self.ordered.rows.odd.insert(id, *odd);
        }
        Ok(())
    }

    /// What is known of a packet that nobody is known to have received.
    fn missing(
        &self,
        next: &Next,
        (number, departed): (EventNumber, SessionTime),
        link: usize,
    ) -> Missing {
        let ((reel, side, place), (_, to)) = (next.at, next.link);
        let ends = self.order.roads.scans[reel].side(side);
        let (kept, clock) = (ends.length(place), &self.order.clocks[reel]);
        let is_cut = side == Side::Seen && kept < ends.whole(place, kept);
        Missing {
            link,
            to,
            departed,
            error_ns: clock.map.error_ns(number, ends.time(place)),
            dropped: is_dropped(self.order.faults(reel, number)),
            doubtful: is_cut || self.elsewhere.binary_search(&next.told).is_ok(),
            unread: side == Side::Send && self.is_unread(to, (reel, place), departed),
        }
    }

    /// Notes for each end of a packet that it is this one's.
    fn note_ends(
        &mut self,
        id: u32,
        (told, apart): (EndId, Option<EndId>),
        odd: Option<&Odd>,
        partners: &mut [u32],
    ) {
        let plain = [Some(told), apart]
            .into_iter()
            .flatten()
            .filter(|_| odd.is_none());
        for end in odd.into_iter().flat_map(Odd::ends).chain(plain) {
            let Some(slot) = partners.get_mut(end.0 as usize) else {
                continue;
            };
            match *slot {
                // Until then it is told whose packet it is, not which.
                _ if odd.is_none() => *slot = id,
                Woven::TAKEN | Woven::ALONE => *slot = id,
                _ => {
                    let shared = &mut self.ordered.rows.shared;
                    shared.entry(end).or_default().push(id);
                }
            }
        }
    }

    /// Whether the socket that a send went to was closed after it with packets that were not read.
    fn is_unread(&self, to: NodeId, (reel, place): (usize, usize), departed: SessionTime) -> bool {
        let unread = &self.order.unread[usize::from(to.0)];
        if unread.is_empty() {
            return false;
        }
        let scan = &self.order.roads.scans[reel];
        let peer = scan.sends.get(place).and_then(|send| scan.peer(&send));
        let closed = peer.and_then(|peer| unread.get(&peer.port()));
        closed.is_some_and(|&closed| departed <= closed)
    }

    /// Notes what is told of all packets together.
    fn note(
        &mut self,
        link: Link,
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
        let sender = link.0.of(self.order.nodes);
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
    fn note_passing(&mut self, id: u32, (from, to): Link, side: Side, odd: Option<&Odd>) {
        let passing = &mut self.ordered.rows.passing;
        let mut list = |node: NodeId, is_to: bool| {
            let place = usize::from(node.0);
            if !self.order.nodes[place].recorded {
                passing[place].push(u64::from(id) << 1 | u64::from(is_to));
            }
        };
        let is_seen = side == Side::Seen || odd.is_some_and(|odd| !odd.seen.is_empty());
        if side != Side::Receive || is_seen {
            list(from, false);
        }
        if is_seen {
            list(to, true);
        }
    }

    /// All packets; no more will come.
    pub fn finish(mut self, partners: &[u32]) -> Ordered {
        for (id, missing) in &self.missing {
            let fate = self
                .fates
                .of(missing, self.order.nodes, self.order.from_start);
            if let Some(state) = self.states.get_mut(*id as usize) {
                *state = *state & !(ODD as u8 - 1) | fate as u8;
            }
        }
        self.ordered.wait_ns = self.fates.wait_ns();
        let ways = self.ways.iter();
        let ways = ways.filter_map(|(link, way)| Some((link, (*way)?)));
        self.ordered.ways = ways.collect();
        let rows = &mut self.ordered.rows;
        rows.links = (0..).map_while(|at| self.ways.key(at)).collect();
        rows.state = self.states.into_iter().map(u64::from).collect();
        for column in [
            &mut rows.link,
            &mut rows.told,
            &mut rows.receipt,
            &mut rows.state,
        ] {
            column.shrink();
        }
        rows.places = self.order.places.clone();
        rows.tracks = self.order.tracks(partners);
        self.ordered
    }
}

impl Order<'_> {
    /// The tracks of all reels, which get of each side the packets of its ends.
    fn tracks(&self, partners: &[u32]) -> Vec<Track> {
        let scans = self.roads.scans;
        let reels: Vec<usize> = (0..scans.len()).collect();
        parallel::map(reels, self.workers, |reel| {
            let packets = Side::ALL.map(|side| {
                let own = self.places.numbers(reel, side);
                let own = partners.get(own).unwrap_or(&[]);
                let mut packets: Column = own.iter().map(|&packet| u64::from(packet)).collect();
                packets.shrink();
                packets
            });
            Track {
                clock: self.clock(reel),
                observer: watched::observer(scans, reel),
                packets,
                ..Track::default()
            }
        })
    }
}
