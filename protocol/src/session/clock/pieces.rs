//! The stretches over which a clock runs evenly, as far as they are known before packets are
//! compared, and what packets between them can bind.

use std::collections::BTreeMap;

use netreel_reel::{EventNumber, Time};

use super::hull::{Crossed, Hull};
use super::solve::{Sample, Span};
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;

/// A clock falls back where a time is this much before the latest one: threads that were stopped
/// between reading the clock and writing it down are off by less.
pub(crate) const BACK_NS: u64 = 50_000_000;

/// A fall by this or more may be a step, or a thread that was stopped.
const FALL_NS: u64 = 1_000_000;

/// How many falls of a reel are asked whether they are steps.
const FALLS_MAX: usize = 6;

/// Packets between two pieces are looked at in so many parts of the sender's time, or of the gap's,
/// so that it is seen where a clock was set.
const BUCKETS: u128 = 1024;

/// A part of a reel in which its clock does not fall back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// The event that begins it.
    pub number: EventNumber,
    /// The time of that event.
    pub begin: u64,
    /// The time of its last event.
    pub end: u64,
    pub span: Span,
}

/// What is known of a reel's clock before packets are compared.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// At least one.
    pub epochs: Vec<Epoch>,
    /// Of the reel's clock.
    pub utc_of_zero_ns: i128,
    /// Which clock it is: reels with one number share it.
    pub clock: usize,
    /// Which machine it is of: reels of one have clocks of their own where it was set, all at once.
    pub machine: usize,
}

/// Where the times of a reel fall from one packet to the next, by less than shows that the clock was
/// set: those packets before which they fall most, by this much each.
pub(crate) fn falls(scan: &Scan) -> Vec<(EventNumber, u64)> {
    let mut before = None;
    let mut falls: Vec<_> = events(scan)
        .filter_map(|(number, time)| {
            let fall = before.replace(time)?.saturating_sub(time);
            (FALL_NS..BACK_NS).contains(&fall).then_some((number, fall))
        })
        .collect();
    falls.sort_by_key(|&(number, fall)| (std::cmp::Reverse(fall), number));
    falls.truncate(FALLS_MAX);
    falls.sort_unstable();
    falls
}

/// Takes a reel apart where its clock was set back, and before some of its packets.
pub(crate) fn epochs(scan: &Scan, at: &[EventNumber]) -> Vec<Epoch> {
    let (first, last) = scan.span.unwrap_or_default();
    let epoch = |number: EventNumber, begin: u64, end: u64| Epoch {
        number,
        begin,
        end,
        span: Span {
            first: begin,
            last: end,
        },
    };
    let mut epochs: Vec<Epoch> = Vec::new();
    for (number, time) in events(scan) {
        match epochs.last_mut() {
            Some(epoch)
                if time.saturating_add(BACK_NS) >= epoch.span.last && !at.contains(&number) =>
            {
                epoch.span.first = epoch.span.first.min(time);
                epoch.span.last = epoch.span.last.max(time);
                epoch.end = time;
            }
            _ => epochs.push(epoch(number, time, time)),
        }
    }
    match epochs.as_mut_slice() {
        [] | [_] => vec![epoch(EventNumber(0), first.0, last.0)],
        [first, ..] => {
            first.number = EventNumber(0);
            epochs
        }
    }
}

/// How the times of a reel's packets go on around a stretch of them, and at all others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pauses {
    /// The longest without a packet around the stretch, and at other times.
    pub then_ns: u64,
    pub others_ns: u64,
    /// By how much times fall, at the most, around the stretch.
    pub fall_ns: u64,
}

pub(crate) fn pauses(scan: &Scan, span: Span) -> Pauses {
    let (mut before, mut pauses) = (None, Pauses::default());
    for (_, time) in events(scan) {
        let Some(before) = before.replace(time) else {
            continue;
        };
        let pause = time.saturating_sub(before);
        if span.first <= time && before <= span.last {
            pauses.then_ns = pause.max(pauses.then_ns);
            pauses.fall_ns = before.saturating_sub(time).max(pauses.fall_ns);
        } else {
            pauses.others_ns = pause.max(pauses.others_ns)
        }
    }
    pauses
}

/// Around a stretch of a reel's time: the times of two packets that follow each other, of which the
/// second is later by at least this much.
pub(crate) fn jumps(scan: &Scan, span: Span, least_ns: u64) -> Vec<(u64, u64)> {
    let mut before = None;
    let jumps = events(scan).filter_map(|(_, time)| {
        let before = before.replace(time)?;
        let is_around = span.first < time && before < span.last;
        let jumps = is_around && time.saturating_sub(before) >= least_ns;
        jumps.then_some((before, time))
    });
    jumps.collect()
}

/// The packets of a reel, each with its time, in the order of the reel.
fn events(scan: &Scan) -> impl Iterator<Item = (EventNumber, u64)> + '_ {
    let sides = Side::ALL.map(|side| {
        let rows = scan.side(side).rows();
        rows.map(|(number, time, _)| (number, time.0)).peekable()
    });
    let [mut one, mut two, mut three] = sides;
    let next = move || {
        let ahead = [one.peek(), two.peek(), three.peek()].map(|it| it.map(|(number, _)| *number));
        let least = ahead.into_iter().flatten().min()?;
        match ahead.map(|it| it == Some(least)) {
            [true, ..] => one.next(),
            [_, true, _] => two.next(),
            _ => three.next(),
        }
    };
    std::iter::from_fn(next)
}

/// A stretch of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub clock: usize,
    /// Of the clock's reels, counted.
    pub epoch: usize,
    pub span: Span,
    /// Between two pieces: the clock was set somewhere in it.
    pub is_gap: bool,
}

/// All pieces of all clocks, those of one clock in the order of time, with gaps between those of
/// one epoch.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pub all: Vec<Piece>,
    /// For each reel its parts: from which event on, from which time on, which piece.
    reels: Vec<Vec<(EventNumber, u64, usize)>>,
}

/// Where a clock was set: the latest moment of the piece that is before it for sure, and the
/// earliest that is after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gap {
    pub last: u64,
    pub first: u64,
}

/// For each clock and epoch where it was set, in the order of time.
pub(crate) type Gaps = BTreeMap<(usize, usize), Vec<Gap>>;

impl Gap {
    pub fn overlaps(&self, other: &Gap) -> bool {
        self.last < other.first && other.last < self.first
    }
}

impl Pieces {
    /// The pieces of these reels; `gaps` tells for each clock and epoch where it was set.
    pub fn new(readings: &[Reading], gaps: &Gaps) -> Pieces {
        let mut spans: BTreeMap<(usize, usize), Span> = BTreeMap::new();
        for reading in readings {
            for (place, epoch) in reading.epochs.iter().enumerate() {
                let known = spans.entry((reading.clock, place)).or_insert(epoch.span);
                known.first = known.first.min(epoch.span.first);
                known.last = known.last.max(epoch.span.last);
            }
        }
        let mut all = Vec::new();
        let mut parts: BTreeMap<(usize, usize), Vec<(u64, usize)>> = BTreeMap::new();
        for (&(clock, epoch), span) in &spans {
            let own = parts.entry((clock, epoch)).or_default();
            let mut first = span.first;
            let mut from = 0;
            let mut push = |span: Span, from: u64, is_gap: bool| {
                own.push((from, all.len()));
                all.push(Piece {
                    clock,
                    epoch,
                    span,
                    is_gap,
                });
            };
            for gap in gaps.get(&(clock, epoch)).into_iter().flatten() {
                let last = gap.first;
                push(Span { first, last }, from, false);
                let within = Span {
                    first: gap.last,
                    last: gap.first,
                };
                push(within, gap.last.saturating_add(1), true);
                (first, from) = (gap.last, gap.first);
            }
            let last = span.last;
            push(Span { first, last }, from, false);
        }
        let reels = readings
            .iter()
            .map(|reading| {
                let own = reading
                    .epochs
                    .iter()
                    .enumerate()
                    .flat_map(|(place, epoch)| {
                        let parts = parts.get(&(reading.clock, place)).into_iter().flatten();
                        parts.map(|&(from, piece)| (epoch.number, from, piece))
                    });
                own.collect()
            })
            .collect();
        Pieces { all, reels }
    }

    /// The piece in which an event of a reel lies.
    pub fn of(&self, reel: usize, number: EventNumber, time: Time) -> Option<usize> {
        let parts = self.reels.get(reel)?;
        if let [(_, _, only)] = parts.as_slice() {
            return Some(*only);
        }
        let own = parts
            .iter()
            .rev()
            .find(|it| it.0 <= number)
            .or(parts.first())?;
        let those = parts.iter().filter(|it| it.0 == own.0);
        let found = those.clone().rev().find(|it| it.1 <= time.0);
        found.or(those.clone().next()).map(|it| it.2)
    }

    /// The piece of a clock and epoch in which a time lies.
    pub fn at(&self, clock: usize, epoch: usize, time: u64) -> Option<usize> {
        let mut found = None;
        let mut from = 0;
        for (place, piece) in self.all.iter().enumerate() {
            if (piece.clock, piece.epoch) != (clock, epoch) {
                continue;
            }
            // A gap is between its ends, and the piece behind it begins where it ends.
            if piece.is_gap {
                from = piece.span.first.saturating_add(1);
            }
            if from <= time {
                found = Some(place);
            }
            from = piece.span.last;
        }
        found
    }

    /// Whether there is a gap.
    pub fn is_gap(&self, place: usize) -> bool {
        self.all.get(place).is_some_and(|piece| piece.is_gap)
    }

    /// The pieces around a gap.
    pub fn around(&self, gap: usize) -> Option<(usize, usize)> {
        let before = gap.checked_sub(1)?;
        (gap + 1 < self.all.len()).then_some((before, gap + 1))
    }

    /// A packet between the clocks of `whole` as one between these pieces of them.
    pub fn within(&self, whole: &Pieces, sample: &Sample) -> Option<Sample> {
        let piece = |place: usize, at: u64| {
            let own = &whole.all[place];
            self.at(own.clock, own.epoch, at)
        };
        Some(Sample::new(
            piece(sample.from, sample.crossed.sent)?,
            piece(sample.to, sample.crossed.received)?,
            sample.crossed,
        ))
    }

    pub fn spans(&self) -> Vec<Span> {
        self.all.iter().map(|piece| piece.span).collect()
    }
}

/// An end of a packet: its reel, its event, its time.
pub(crate) type Moment = (usize, EventNumber, Time);

/// Of the packets between pieces those that can bind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    pairs: BTreeMap<(usize, usize), BTreeMap<u32, Hull>>,
}

impl Gathered {
    /// Adds a packet that left one end before it came to the other.
    pub fn add(&mut self, pieces: &Pieces, from: Moment, to: Moment) {
        let piece = |(reel, number, time): Moment| {
            let place = pieces.of(reel, number, time)?;
            Some((place, &pieces.all[place]))
        };
        let (Some((one, own)), Some((other, its))) = (piece(from), piece(to)) else {
            return;
        };
        if own.clock == its.clock {
            return;
        }
        let (sent, received) = (from.2.0, to.2.0);
        // In a gap each packet counts that shows where the clock was set.
        let (span, at) = if its.is_gap {
            (its.span, received)
        } else {
            (own.span, sent)
        };
        let after = u128::from(at.saturating_sub(span.first));
        let whole = u128::from(span.last.saturating_sub(span.first)) + 1;
        let bucket = (after * BUCKETS / whole).min(BUCKETS) as u32;
        let pair = self.pairs.entry((one, other)).or_default();
        let crossed = Crossed { sent, received };
        pair.entry(bucket).or_default().push(crossed);
    }

    pub fn extend(&mut self, other: &Gathered) {
        for (pair, buckets) in &other.pairs {
            let own = self.pairs.entry(*pair).or_default();
            for (bucket, hull) in buckets {
                own.entry(*bucket).or_default().extend(hull);
            }
        }
    }

    /// The packets that can bind in some part of their time.
    pub fn fine(&self) -> Vec<Sample> {
        let pairs = self.pairs.iter().flat_map(|(&(from, to), buckets)| {
            let corners = buckets.values().flat_map(|hull| hull.clone().corners());
            corners.map(move |crossed| Sample::new(from, to, crossed))
        });
        pairs.collect()
    }

    /// The packets that can bind over all the time that two pieces have in common.
    pub fn coarse(&self) -> Vec<Sample> {
        let pairs = self.pairs.iter().flat_map(|(&(from, to), buckets)| {
            let mut whole = Hull::default();
            buckets.values().for_each(|hull| whole.extend(hull));
            let corners = whole.corners().into_iter();
            corners.map(move |crossed| Sample::new(from, to, crossed))
        });
        pairs.collect()
    }
}
