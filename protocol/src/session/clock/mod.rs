//! One clock for all nodes.
//!
//! Nodes with the same boot id read the same monotonic clock. Between others packets tell how far one clock
//! is off the other, and how fast it drifts: none was received before it was sent (`docs/clocks.md`). What
//! can bind is gathered ([`pieces`], [`hull`]), where a clock was set is found ([`steps`], [`likely`]), and
//! all clocks are placed together ([`solve`], [`linear`]). A clock is placed in the middle of where it may
//! be; how far it may be off is half of how wide that is ([`map`]), and more where packets leave it open
//! whether it was set ([`cut`], [`edges`]).

mod aligned;
pub(crate) mod copied;
mod cut;
mod edges;
pub(crate) mod hull;
mod known;
mod likely;
mod linear;
pub(crate) mod map;
mod narrow;
pub(crate) mod pieces;
mod place;
mod solve;
mod steps;
mod whose;

use std::collections::BTreeMap;

use netreel_reel::{ClockAnchor, EventNumber, Time};

pub(crate) use self::aligned::{Aligned, Alignment, Step};
use self::cut::{cut, order_at};
use self::hull::Crossed;
use self::known::Known;
pub(crate) use self::known::Reels;
use self::map::{ClockMap, Knot, Stretch, on, stretches, whole_ns};
use self::pieces::{Gaps, Pieces, Reading, epochs, falls};
use self::place::{Placed, place};
use self::solve::{ALLOWED_NS, Sample};
use self::whose::Shown;

/// Places every reel's clock on the clock of the first.
///
/// Where times of a reel fall by a little, the clock was set back, or a thread was stopped. Taken apart
/// there, the packets before and after tell which.
pub(crate) fn align(reels: &Reels<'_>) -> Aligned {
    let readings = reels.readings;
    let is_alone = |clock: usize| readings.iter().filter(|it| it.clock == clock).count() == 1;
    let falls: Vec<Vec<(EventNumber, u64)>> = readings
        .iter()
        .enumerate()
        .map(|(reel, it)| {
            if is_alone(it.clock) {
                reels.of(reel, falls)
            } else {
                Vec::new()
            }
        })
        .collect();
    if falls.iter().all(Vec::is_empty) {
        return placed(reels);
    }
    let apart = |falls: &[Vec<(EventNumber, u64)>]| {
        let readings = readings
            .iter()
            .zip(falls)
            .enumerate()
            .map(|(reel, (reading, falls))| {
                let at: Vec<EventNumber> = falls.iter().map(|fall| fall.0).collect();
                let mut reading = reading.clone();
                if !at.is_empty() {
                    reading.epochs = reels.of(reel, |scan| epochs(scan, &at));
                }
                reading
            });
        readings.collect::<Vec<Reading>>()
    };
    let tried = apart(&falls);
    let with = |readings: &[Reading]| placed(&Reels { readings, ..*reels });
    let aligned = with(&tried);
    let is_step = |reel: usize, (number, fall): &(EventNumber, u64)| {
        let steps = aligned.clocks[reel].steps.iter();
        let mut epochs = tried[reel].epochs.iter();
        let place = epochs.position(|it| it.number == *number)?;
        let step = steps
            .filter(|it| it.shows_itself)
            .nth(place.checked_sub(1)?)?;
        Some(step.by_ns <= -i128::from(*fall) / 2 && step.by_ns <= -i128::from(likely::STEP_NS))
    };
    let steps = falls.iter().enumerate().map(|(reel, falls)| {
        let steps = falls
            .iter()
            .filter(|fall| is_step(reel, fall) == Some(true));
        steps.copied().collect::<Vec<_>>()
    });
    let steps: Vec<_> = if aligned.is_unexplained {
        vec![Vec::new(); readings.len()]
    } else {
        steps.collect()
    };
    if steps == falls {
        aligned
    } else {
        with(&apart(&steps))
    }
}

fn placed(reels: &Reels<'_>) -> Aligned {
    let readings = reels.readings;
    let whole = Pieces::new(readings, &Gaps::new());
    let gathered = (reels.gather)(&whole);
    let samples = with_order(readings, &whole, gathered.coarse(), false);
    let mut fine = gathered.fine();
    drop(gathered);
    let even = place(readings, &whole, &samples, ALLOWED_NS).map(|placed| Known {
        aligned: finish(readings, &whole, &placed, &placed, &BTreeMap::new(), false),
        gaps: Gaps::new(),
        pieces: whole.clone(),
        placed,
    });
    let case = (&whole, reels);
    let wide = || explain(case, &fine, true);
    let known = even
        .ok()
        .or_else(|| explain(case, &fine, false).or_else(wide));
    let Some(mut known) = known else {
        // Nothing bounds the clocks then; they are where the fewest packets are early by the least.
        let mut placed = place(readings, &whole, &samples, f64::INFINITY)
            .unwrap_or_else(|_| place::by_calendar(readings, &whole));
        placed.iter_mut().skip(1).for_each(|it| it.is_tied = false);
        return finish(readings, &whole, &placed, &placed, &BTreeMap::new(), true);
    };
    // A step that was found may have hidden others.
    for _ in 0..HIDDEN_MAX {
        if !likely::tighten(&whole, &known.pieces, &known.placed, &mut fine) {
            break;
        }
        let more = explain(case, &fine, false);
        match more {
            Some(more) if more.gaps != known.gaps => known = more,
            _ => break,
        }
    }
    let edges = edges::loose(case, &fine, &known);
    let mut aligned = loosened(case, &fine, known);
    aligned.loosen(readings, &edges);
    aligned
}

/// Where one clock was set, another may have been as well, or in its stead, by what latency hides: all are
/// taken apart there. Steps are told of the likeliest.
fn loosened((whole, reels): (&Pieces, &Reels<'_>), fine: &[Sample], known: Known) -> Aligned {
    let reference = whole.all.first().map_or(0, |piece| piece.clock);
    let gaps = cut::all_at((whole, reference), fine, &known);
    if gaps == known.gaps {
        return known.aligned;
    }
    let mut aligned = known.aligned;
    if let Some(loose) = with_steps(reels, &gaps, true) {
        let clocks = aligned.clocks.iter_mut().zip(loose.aligned.clocks);
        // Taken apart too far nothing ties a clock.
        for (clock, loose) in clocks.filter(|(_, loose)| loose.error_ns < u64::MAX) {
            clock.map = std::mem::take(&mut clock.map).within(&loose.map);
            clock.error_ns = clock.error_ns.max(loose.error_ns);
        }
    }
    aligned
}

/// How many times gaps are made narrower: how large a step is shows better then.
const NARROWED_MAX: usize = 3;

/// How many times steps are looked for that hide behind what is known.
const HIDDEN_MAX: usize = 4;

/// How often machines were set: all clocks of one at once.
fn steps_of(reels: &Reels<'_>, gaps: &Gaps) -> usize {
    let mut most: BTreeMap<usize, usize> = BTreeMap::new();
    for reading in reels.readings {
        let own: usize = gaps
            .iter()
            .filter(|((clock, _), _)| *clock == reading.clock)
            .map(|(_, gaps)| gaps.len())
            .sum();
        let known = most.entry(reading.machine).or_default();
        *known = own.max(*known);
    }
    most.values().sum()
}

/// Finds where clocks were set; `None` where that does not explain the packets.
fn explain((whole, reels): (&Pieces, &Reels<'_>), fine: &[Sample], is_wide: bool) -> Option<Known> {
    let reference = whole.all.first().map_or(0, |piece| piece.clock);
    let found = steps::find(&whole.all, reference, fine, is_wide);
    let explained = |gaps: &Gaps| with_steps(reels, gaps, false);
    let open = |gaps: &Gaps| {
        let mut known = with_steps(reels, gaps, true)?;
        known.aligned.leave_open();
        Some(known)
    };
    let own = found.own.as_ref().and_then(explained);
    let others = explained(&found.gaps);
    let Some(own) = own else {
        return others;
    };
    let mixed = others
        .as_ref()
        .and_then(|others| whose::mixed(&own, others, reels));
    if let Some(known) = mixed.as_ref().and_then(open) {
        return Some(known);
    }
    let aligned = others.as_ref().map(|others| &others.aligned);
    let shown = whose::shown(&own.aligned, aligned, reels);
    match shown {
        Shown::Yes => {
            let mut known = own;
            known.aligned.leave_open();
            Some(known)
        }
        // That all others were set at once would be a chance.
        Shown::Maybe => match others {
            Some(others) if steps_of(reels, &others.gaps) <= steps_of(reels, &own.gaps) => {
                open(&others.gaps)
            }
            _ => open(&own.gaps),
        },
        Shown::No => others,
    }
}

/// The same where clocks were set in some gaps; `None` where these do not explain the packets. Where it is
/// open whether the session's clock was, others may fall on it.
fn with_steps(reels: &Reels<'_>, gaps: &Gaps, is_open: bool) -> Option<Known> {
    let mut found = certain(reels, gaps, is_open)?;
    // A clock that was set forward passes over times, which shows where that was.
    let narrowed_max = if is_open { 0 } else { NARROWED_MAX };
    for _ in 0..narrowed_max {
        let narrow = narrow::narrowed(&found.pieces, &found.placed, reels);
        if narrow == found.gaps {
            break;
        }
        match certain(reels, &narrow, is_open) {
            Some(better) => found = better,
            None => break,
        }
    }
    let Certain {
        gaps,
        pieces,
        placed,
        samples,
        within,
    } = found;
    let (cuts, sided) = cut(&pieces, &placed, &within);
    let order = order_at(&pieces, &cuts, reels);
    let all: Vec<Sample> = samples
        .iter()
        .chain(&sided)
        .chain(&order)
        .copied()
        .collect();
    let best = place(reels.readings, &pieces, &all, ALLOWED_NS).unwrap_or_else(|_| placed.clone());
    let aligned = finish(reels.readings, &pieces, &placed, &best, &cuts, false);
    Some(Known {
        aligned,
        gaps,
        pieces,
        placed,
    })
}

/// What is certain where clocks were set in some gaps.
struct Certain {
    gaps: Gaps,
    pieces: Pieces,
    placed: Vec<Placed>,
    samples: Vec<Sample>,
    /// Packets that one end of is in a gap.
    within: Vec<Sample>,
}

fn certain(reels: &Reels<'_>, gaps: &Gaps, is_open: bool) -> Option<Certain> {
    let pieces = Pieces::new(reels.readings, gaps);
    let gathered = (reels.gather)(&pieces);
    let is_within = |it: &Sample| pieces.is_gap(it.from) || pieces.is_gap(it.to);
    let (mut samples, mut within) = (gathered.coarse(), gathered.fine());
    drop(gathered);
    samples.retain(|it| !is_within(it));
    within.retain(is_within);
    let samples = with_order(reels.readings, &pieces, samples, is_open);
    let placed = place(reels.readings, &pieces, &samples, ALLOWED_NS).ok()?;
    Some(Certain {
        gaps: gaps.clone(),
        pieces,
        placed,
        samples,
        within,
    })
}

/// Adds what a clock tells of itself: its pieces follow each other, unless it is open whether the clock
/// fell that they are told on.
fn with_order(
    readings: &[Reading],
    pieces: &Pieces,
    mut samples: Vec<Sample>,
    is_open: bool,
) -> Vec<Sample> {
    for (place, piece) in pieces.all.iter().enumerate() {
        if piece.is_gap
            && !is_open
            && let Some((from, to)) = pieces.around(place)
        {
            let crossed = Crossed {
                sent: piece.span.first,
                received: piece.span.last,
            };
            samples.push(Sample::new(from, to, crossed));
        }
    }
    for reading in readings {
        for (epoch, pair) in reading.epochs.windows(2).enumerate() {
            let own = |epoch: usize| {
                let own = pieces.all.iter().enumerate();
                own.filter(move |(_, it)| (it.clock, it.epoch) == (reading.clock, epoch))
            };
            let (last, first) = (own(epoch).next_back(), own(epoch + 1).next());
            if let (Some((from, _)), Some((to, _))) = (last, first) {
                let crossed = Crossed {
                    sent: pair[0].end,
                    received: pair[1].begin,
                };
                samples.push(Sample::new(from, to, crossed));
            }
        }
    }
    samples
}

/// The maps of all reels. Clocks may be where `placed` says, and are where `best` says.
fn finish(
    readings: &[Reading],
    pieces: &Pieces,
    placed: &[Placed],
    best: &[Placed],
    cuts: &BTreeMap<usize, u64>,
    is_unexplained: bool,
) -> Aligned {
    let reference = pieces.all.first().map(|piece| piece.clock);
    let alone = |clock: usize| pieces.all.iter().filter(|it| it.clock == clock).count() == 1;
    let clocks = readings.iter().map(|reading| {
        if Some(reading.clock) == reference && alone(reading.clock) {
            Alignment::default()
        } else {
            alignment(reading, pieces, (placed, best), cuts)
        }
    });
    Aligned {
        clocks: clocks.collect(),
        is_unexplained,
    }
}

/// The map of a reel whose clock is not the session's.
fn alignment(
    reading: &Reading,
    pieces: &Pieces,
    (placed, best): (&[Placed], &[Placed]),
    cuts: &BTreeMap<usize, u64>,
) -> Alignment {
    let mut alignment = Alignment::default();
    let mut all: Vec<Stretch> = Vec::new();
    let mut error_ns = 0.0f64;
    for (epoch, own) in reading.epochs.iter().enumerate() {
        for (place, piece) in pieces.all.iter().enumerate() {
            if (piece.clock, piece.epoch) != (reading.clock, epoch) || piece.is_gap {
                continue;
            }
            let side = |gap: Option<usize>| {
                let gap = gap?;
                let it = pieces.all.get(gap).filter(|it| it.is_gap)?;
                Some((it.span, cuts.get(&gap).copied().unwrap_or(it.span.last)))
            };
            let (before, after) = (side(place.checked_sub(1)), side(Some(place + 1)));
            let mut push = |from: u64, until: u64, other: Option<usize>| {
                if from > until {
                    return;
                }
                let (may, is) = (&placed[place], &best[place]);
                let also = other.map(|other| &placed[other]);
                let knots = knots((may, is, also), from, until);
                if other.is_none() {
                    let worst = knots.iter().map(|knot| knot.error_ns);
                    error_ns = worst.fold(error_ns, f64::max);
                }
                all.extend(stretches(own.number, is.course.base_ns, &knots));
            };
            let (mut from, mut until) = (piece.span.first, piece.span.last);
            if let Some((gap, cut)) = before {
                from = gap.last;
                push(cut, gap.last.saturating_sub(1), Some(place - 2));
            }
            if let Some((gap, _)) = after {
                until = gap.first;
            }
            push(from, until, None);
            if let Some((gap, cut)) = after {
                push(gap.first + 1, cut.saturating_sub(1), Some(place + 2));
                alignment.steps.push(Step {
                    last: Time(gap.first),
                    first: Time(gap.last),
                    by_ns: best[place].time(cut) - best[place + 2].time(cut),
                    shows_itself: false,
                    is_open: false,
                });
            }
        }
        let step = step_after(reading, epoch, pieces, best);
        alignment.steps.extend(step);
    }
    alignment.error_ns = whole_ns(error_ns);
    alignment.map = ClockMap::Stretches(all);
    alignment
}

/// The step of a reel's clock between one of its epochs and the next.
fn step_after(reading: &Reading, epoch: usize, pieces: &Pieces, best: &[Placed]) -> Option<Step> {
    let next = reading.epochs.get(epoch + 1)?;
    let of =
        |epoch: usize| move |it: &pieces::Piece| (it.clock, it.epoch) == (reading.clock, epoch);
    let last = pieces.all.iter().rposition(of(epoch))?;
    let first = pieces.all.iter().position(of(epoch + 1))?;
    Some(Step {
        last: Time(reading.epochs[epoch].end),
        first: Time(next.begin),
        by_ns: best[last].time(next.begin) - best[first].time(next.begin),
        shows_itself: true,
        is_open: false,
    })
}

/// The middle of where a clock is between two times, and how far it may be off that: it may be where
/// `may` says, and where `also` says.
fn knots((may, is, also): (&Placed, &Placed, Option<&Placed>), from: u64, until: u64) -> Vec<Knot> {
    let corners = [Some(may), Some(is), also]
        .into_iter()
        .flatten()
        .flat_map(|it| it.course.lower.iter().chain(&it.course.upper));
    let mut times: Vec<u64> = corners
        .map(|&(at, _)| at)
        .filter(|&at| from < at && at < until)
        .chain([from, until])
        .collect();
    times.sort_unstable();
    times.dedup();
    let knots = times.into_iter().map(|at| {
        let own = &is.course;
        let shift_ns = (on(&own.lower, at) + on(&own.upper, at)) / 2.0;
        let furthest = [Some(may), also].into_iter().flatten().map(|it| {
            let course = &it.course;
            let base = (course.base_ns - own.base_ns) as f64;
            let over = base + on(&course.upper, at) - shift_ns;
            let under = shift_ns - base - on(&course.lower, at);
            if it.is_tied {
                over.max(under)
            } else {
                f64::INFINITY
            }
        });
        Knot {
            at,
            shift_ns,
            error_ns: furthest.fold(0.0, f64::max),
        }
    });
    knots.collect()
}

/// What is known of reels' clocks, each with the number of its clock: reels with the same boot id
/// share one, unless their clock fell back or `is_copied` says that the id is a copy.
pub(crate) fn readings(
    anchors: &[&ClockAnchor],
    epochs: Vec<Vec<pieces::Epoch>>,
    is_copied: impl Fn(&str) -> bool,
) -> Vec<Reading> {
    let mut boots: BTreeMap<&str, usize> = BTreeMap::new();
    let mut machines: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next = 0;
    let reels = anchors.iter().zip(epochs);
    let readings = reels.map(|(anchor, epochs)| {
        let boot = anchor.boot_id.as_str();
        let new = next;
        let is_own = boot.is_empty() || is_copied(boot);
        let clock = if is_own || epochs.len() > 1 {
            new
        } else {
            *boots.entry(boot).or_insert(new)
        };
        let machine = if is_own {
            new
        } else {
            *machines.entry(boot).or_insert(new)
        };
        next += 1;
        Reading {
            machine,
            epochs,
            utc_of_zero_ns: i128::from(anchor.utc_ns) - i128::from(anchor.monotonic.0),
            clock,
        }
    });
    readings.collect()
}

/// Whether all reels say that they have one clock.
pub(crate) fn is_one_clock(anchors: &[&ClockAnchor]) -> bool {
    let [first, others @ ..] = anchors else {
        return true;
    };
    let is_same = |it: &&ClockAnchor| !it.boot_id.is_empty() && it.boot_id == first.boot_id;
    others.iter().all(is_same)
}

#[cfg(test)]
mod tests;
