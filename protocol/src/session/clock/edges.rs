//! Where a clock's packets begin or end, all of them go one way for a while: those the other way are held by
//! no reel any more, or not yet.
//!
//! Nothing bounds the clock from that side there. That packets suddenly took much longer than all others did,
//! or much less, may have been the network, or a clock was set forward between two of them. Packets do not
//! tell, so the bound reaches over both, unless the reels of the clock that would have been set were never
//! silent for as long as that.

use std::collections::BTreeMap;

use super::aligned::Loose;
use super::known::{Known, Reels};
use super::likely::STEP_NS;
use super::pieces::Pieces;
use super::solve::{Sample, Span};

/// Packets took much longer, or much less, where that is by this many times what those before differ by.
const SPREADS: i64 = 4;

/// Of fewer packets nobody knows what is usual.
const USUAL_MIN: usize = 8;

/// A packet of a clock: when it left it or came to it, and for how long it was on its way beyond what its
/// clock allows at the least.
#[derive(Clone, Copy)]
struct Crossing {
    at: u64,
    is_sent: bool,
    partner: usize,
    /// The time at its other end.
    there: u64,
    slack_ns: i64,
}

/// The edges at which packets leave it open whether a clock was set. `fine` are packets between whole clocks.
pub(super) fn loose(
    (whole, reels): (&Pieces, &Reels<'_>),
    fine: &[Sample],
    known: &Known,
) -> Vec<Loose> {
    let mut all: BTreeMap<usize, Vec<Crossing>> = BTreeMap::new();
    for sample in fine {
        let within = known.pieces.within(whole, sample);
        for (place, crossing) in within.iter().flat_map(|it| crossings(known, it)) {
            all.entry(place).or_default().push(crossing);
        }
    }
    // Whether a piece's clock may have been set forward by this much between two times of it.
    let jumps = |place: usize, (one, other): (u64, u64), by_ns: u64| {
        let span = Span {
            first: one.min(other),
            last: one.max(other),
        };
        let clock = known.pieces.all[place].clock;
        let least_ns = by_ns - by_ns / SPREADS.unsigned_abs();
        let mut own = reels.jumps(clock, span, least_ns);
        own.all(|jumps| !jumps.is_empty())
    };
    let pieces = &known.pieces.all;
    let found = all.into_iter().flat_map(|(place, mut own)| {
        own.sort_by_key(|it| (it.at, it.is_sent, it.partner, it.slack_ns));
        let at_end = run(place, &own, &jumps);
        own.reverse();
        let at_begin = run(place, &own, &jumps);
        let piece = pieces[place];
        let is_of = |other: Option<usize>| {
            let other = other.and_then(|other| pieces.get(other));
            other.is_some_and(|it| (it.clock, it.epoch) == (piece.clock, piece.epoch))
        };
        let edges = [
            // Beyond the last packets nothing else is known.
            at_end.map(|(from, by_ns)| match is_of(Some(place + 1)) {
                true => (from, piece.span.last, by_ns),
                false => (from, u64::MAX, by_ns),
            }),
            at_begin.map(|(until, by_ns)| match is_of(place.checked_sub(1)) {
                true => (piece.span.first, until, by_ns),
                false => (0, until, by_ns),
            }),
        ];
        let edges = edges.into_iter().flatten();
        edges.map(move |(from, until, by_ns)| Loose {
            clock: piece.clock,
            epoch: piece.epoch,
            from,
            until,
            by_ns,
        })
    });
    found.collect()
}

/// A packet as the clocks of its ends have it that may be off, each by the place of its piece.
fn crossings(known: &Known, sample: &Sample) -> impl Iterator<Item = (usize, Crossing)> {
    let ends = [(sample.to, false), (sample.from, true)];
    ends.into_iter().filter_map(|(place, is_sent)| {
        let partner = if is_sent { sample.to } else { sample.from };
        // The first is the one that all are read on.
        if place == 0 || known.pieces.is_gap(place) || known.pieces.is_gap(partner) {
            return None;
        }
        let (own, other) = (&known.placed[place], &known.placed[partner]);
        let (sent, received) = (sample.crossed.sent, sample.crossed.received);
        let (at, there, slack_ns) = if is_sent {
            let left = own.edge(sent, &own.course.upper);
            (sent, received, other.time(received) - left)
        } else {
            let came = own.edge(received, &own.course.lower);
            (received, sent, came - other.time(sent))
        };
        let crossing = Crossing {
            at,
            is_sent,
            partner,
            there,
            slack_ns: i64::try_from(slack_ns).ok()?,
        };
        (own.is_tied && other.is_tied).then_some((place, crossing))
    })
}

/// From the end back to where packets go both ways, or are as long on their way as others were: the time of
/// the last that is, and by how much those behind it differ at the most.
fn run(
    place: usize,
    all: &[Crossing],
    jumps: &dyn Fn(usize, (u64, u64), u64) -> bool,
) -> Option<(u64, u64)> {
    let last = |is_sent: bool| all.iter().rposition(|it| it.is_sent == is_sent);
    let both = last(true)?.min(last(false)?);
    let usual = usual(all.get(..=both)?);
    let mut most_ns = 0;
    let mut first = all.len();
    for (at, it) in all.iter().enumerate().skip(both + 1).rev() {
        let Some(&(least, most)) = usual.get(&(it.partner, it.is_sent)) else {
            continue;
        };
        let by_ns = if it.slack_ns > most {
            it.slack_ns - least
        } else {
            most - it.slack_ns
        };
        if by_ns < STEP_NS || by_ns <= SPREADS * (most - least) {
            break;
        }
        (first, most_ns) = (at, by_ns.unsigned_abs().max(most_ns));
    }
    let (begins, before) = (all.get(first)?, all.get(..first)?);
    let known = before.last()?;
    let its = before.iter().rfind(|it| it.partner == begins.partner)?;
    let (least, _) = usual.get(&(begins.partner, begins.is_sent))?;
    // A receiver that was set forward makes packets slow, and a sender fast.
    let is_own = begins.is_sent != (begins.slack_ns > *least);
    let may_be = if is_own {
        jumps(place, (known.at, begins.at), most_ns)
    } else {
        jumps(begins.partner, (its.there, begins.there), most_ns)
    };
    may_be.then_some((known.at, most_ns))
}

/// For how long packets were on their way, at the least and at the most, of each way of each partner.
fn usual(all: &[Crossing]) -> BTreeMap<(usize, bool), (i64, i64)> {
    let mut ways: BTreeMap<(usize, bool), Vec<i64>> = BTreeMap::new();
    for it in all {
        ways.entry((it.partner, it.is_sent))
            .or_default()
            .push(it.slack_ns);
    }
    ways.retain(|_, own| own.len() >= USUAL_MIN);
    let ways = ways.into_iter().filter_map(|(way, own)| {
        let (least, most) = (own.iter().min()?, own.iter().max()?);
        Some((way, (*least, *most)))
    });
    ways.collect()
}
