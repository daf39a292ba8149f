//! A link over time: how much it carried, what was lost, how long packets took, and how many were
//! under way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::session::{Fate, PacketId, Session};
use netreel_system::Cancel;
use netreel_table::Column;

use crate::Model;
use crate::links::{LinkEnds, Links};
use crate::pyramid::{Piece, Pyramid, Span};
use crate::scale::Scale;

/// How many packets are the lowest piece that is kept; those below it are read where they are drawn.
const BLOCK: usize = 16;

/// A bar of the rate is this many points wide.
const BAR: f32 = 4.0;

/// A stretch of a link's time.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// From the first packet's departure to the last one's, in ns.
    pub time: Range<i64>,
    /// How many packets left.
    pub packets: u64,
    /// Bytes of payload in them.
    pub bytes: u64,
    /// How many of them were lost.
    pub lost: u64,
    /// Of how many nobody can say what became of them.
    pub unknown: u64,
    /// From send to receipt, in ns.
    pub delay: Option<Span>,
    /// From send to learning of the arrival, in ns.
    pub rtt: Option<Span>,
    /// How many packets were under way when one left, that one included.
    pub in_flight: Option<Span>,
}

/// How much a link carried in a stretch of time, as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// From where to where, in points from the left edge.
    pub x: Range<f32>,
    /// Bytes of payload a second.
    pub bytes_per_s: f64,
    /// How many packets left.
    pub packets: f64,
    /// How many of them were lost.
    pub lost: f64,
}

/// A link over the visible time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// How much it carried, bar by bar.
    pub rates: Vec<Rate>,
    /// Packets, or as many together as share a few pixels.
    pub pieces: Vec<Flow>,
    /// How far one-way delays may be off by the clocks of both ends, in ns.
    pub clock_error_ns: Option<u64>,
}

/// All packets of a link, arranged.
pub struct LinkFlow {
    ids: Column,
    in_flight: Column,
    blocks: Pyramid<Flow>,
    clock_error_ns: Option<u64>,
}

impl Piece for Flow {
    fn time(&self) -> Range<i64> {
        self.time.clone()
    }

    fn merge(&mut self, next: &Flow) {
        self.time.end = self.time.end.max(next.time.end);
        self.packets += next.packets;
        self.bytes += next.bytes;
        self.lost += next.lost;
        self.unknown += next.unknown;
        self.delay = Span::join(self.delay, next.delay);
        self.rtt = Span::join(self.rtt, next.rtt);
        self.in_flight = Span::join(self.in_flight, next.in_flight);
    }
}

impl LinkFlow {
    /// `None` where nobody wants it any more.
    pub fn new(
        session: &Session,
        history: &History,
        links: &Links,
        link: LinkEnds,
        cancel: &Cancel,
    ) -> Option<LinkFlow> {
        let mut ids = Column::new();
        let mut in_flight = Column::new();
        let mut blocks: Vec<Flow> = Vec::new();
        // When packets that are under way arrive.
        let mut arrivals: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
        for id in links.packets(session, link) {
            let Some(packet) = session.packet(id) else {
                continue;
            };
            let Some(first) = packet.first() else {
                continue;
            };
            let at = first.time.0;
            while arrivals.peek().is_some_and(|arrival| arrival.0 <= at) {
                arrivals.pop();
            }
            if let (Some(_), Some(received)) = (packet.departed(), packet.received) {
                arrivals.push(Reverse(received.time.0));
            }
            let under_way = arrivals.len() as u64;
            let place = ids.len();
            if place.is_multiple_of(4096) && !cancel.goes_on() {
                return None;
            }
            ids.push(u64::from(id.0));
            in_flight.push(under_way);
            let Some(flow) = flow(session, history, id, under_way) else {
                continue;
            };
            match blocks.last_mut().filter(|_| !place.is_multiple_of(BLOCK)) {
                Some(block) => block.merge(&flow),
                None => blocks.push(flow),
            }
        }
        ids.shrink();
        in_flight.shrink();
        let error = |node: netreel_protocol::session::NodeId| {
            let node = session.node(node)?;
            Some(node.clock_error_ns).filter(|&error| node.recorded && error != u64::MAX)
        };
        let both = error(link.0).zip(error(link.1));
        Some(LinkFlow {
            ids,
            in_flight,
            blocks: Pyramid::new(blocks),
            clock_error_ns: both.map(|(one, other)| one.saturating_add(other)),
        })
    }

    fn within(&self, session: &Session, history: &History, scale: &Scale) -> Flows {
        let time = scale.range();
        let most = scale.columns().max(1) * 2;
        let places = self.blocks.places(&time);
        let pieces: Vec<Flow> = if places.len() * BLOCK <= most {
            let rows = places.start * BLOCK..(places.end * BLOCK).min(self.ids.len());
            rows.filter_map(|row| {
                flow(
                    session,
                    history,
                    PacketId(self.ids.get(row) as u32),
                    self.in_flight.get(row),
                )
            })
            .collect()
        } else {
            self.blocks.within(&time, most / 2).1.to_vec()
        };
        Flows {
            rates: rates(&pieces, scale),
            pieces,
            clock_error_ns: self.clock_error_ns,
        }
    }
}

/// One packet of a link.
fn flow(session: &Session, history: &History, id: PacketId, in_flight: u64) -> Option<Flow> {
    let packet = session.packet(id)?;
    let at = packet.first()?.time.0;
    let delay = match (packet.fate, packet.sent, packet.received) {
        (Fate::Received, Some(sent), Some(received)) => {
            Some(Span::one(received.time.0.saturating_sub(sent.time.0) as f64))
        }
        _ => None,
    };
    let acked = history
        .acked(session, id)
        .filter(|_| !history.is_ambiguous(id));
    let rtt = acked
        .zip(packet.departed())
        .map(|(acked, sent)| acked.time.0.saturating_sub(sent.time.0) as f64);
    Some(Flow {
        time: at..at,
        packets: 1,
        bytes: u64::from(packet.length),
        lost: u64::from(packet.fate == Fate::Lost),
        unknown: u64::from(packet.fate == Fate::Unknown),
        delay,
        rtt: rtt.map(Span::one),
        // Of a packet that nobody saw arrive it is not known how long it was under way.
        in_flight: packet
            .departed()
            .and(packet.received)
            .map(|_| Span::one(in_flight as f64)),
    })
}

/// Pieces spread over bars of equal width.
fn rates(pieces: &[Flow], scale: &Scale) -> Vec<Rate> {
    let bars = (scale.columns() as f32 / BAR).ceil().max(1.0) as usize;
    let mut sums = vec![(0.0_f64, 0.0_f64, 0.0_f64); bars];
    for piece in pieces {
        let x = |at| scale.exact_x(netreel_protocol::session::SessionTime(at)) / f64::from(BAR);
        let (start, end) = (x(piece.time.start), x(piece.time.end));
        let length = (end - start).max(f64::EPSILON);
        let (first, last) = (start.floor().max(0.0), end.floor().min(bars as f64 - 1.0));
        if last < first || end < 0.0 {
            continue;
        }
        for bar in first as usize..=last as usize {
            let within = if length < 1e-6 {
                1.0
            } else {
                (end.min(bar as f64 + 1.0) - start.max(bar as f64)).max(0.0) / length
            };
            if let Some(sum) = sums.get_mut(bar) {
                sum.0 += piece.bytes as f64 * within;
                sum.1 += piece.packets as f64 * within;
                sum.2 += piece.lost as f64 * within;
            }
        }
    }
    let seconds = (scale.ns(BAR).max(1)) as f64 / 1e9;
    sums.into_iter()
        .enumerate()
        .filter(|(_, (_, packets, _))| *packets > 0.0)
        .map(|(bar, (bytes, packets, lost))| Rate {
            x: bar as f32 * BAR..(bar as f32 + 1.0) * BAR,
            bytes_per_s: bytes / seconds,
            packets,
            lost,
        })
        .collect()
}

impl Model {
    /// A link over the visible time; `None` until it is worked out, which this begins.
    pub fn flows(&self, link: LinkEnds, scale: &Scale) -> Option<Flows> {
        if self.lacks_history() {
            return None;
        }
        let (session, history) = self.session_and_history();
        let links = Arc::clone(&self.index.links);
        let work = move |cancel: &Cancel| LinkFlow::new(&session, &history, &links, link, cancel);
        let (flow, is_it) = self.aside(&self.beside.flow, link, work)?;
        is_it.then(|| flow.within(&self.session, self.history(), scale))
    }
}
