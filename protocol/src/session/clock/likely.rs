//! Steps that hide in what latency leaves open.
//!
//! A step that is smaller than the shortest round of two clocks leaves a line that explains all
//! packets. But from one moment on all packets one way take longer by as much as all packets the other
//! way take less. Latency does that hardly ever, and taking clocks apart there is never wrong: fewer
//! packets count for each part, so that bounds only grow.

use std::collections::BTreeMap;

use super::pieces::Pieces;
use super::place::Placed;
use super::solve::{Sample, half_round};

/// Smaller steps are not looked for.
pub(super) const STEP_NS: i64 = 5_000_000;

/// Packets of a pair are looked at in so many parts, and in such of at most so many packets.
const PARTS: usize = 24;
const PART_MAX: usize = 8;

/// So many parts before a moment are held against as many after it.
const REACH: usize = 8;

/// A step is likely where packets that take as long as they please would look like it once in two to
/// the power of this.
const CHANCE: f64 = 14.0;

/// Where a step of a clock is likely, takes packets around it to be on their way for longer, so that no
/// line explains them. `fine` are packets between whole clocks, and `pieces` what they are known to be
/// taken apart into. Whether there is such a step.
pub(super) fn tighten(
    whole: &Pieces,
    pieces: &Pieces,
    placed: &[Placed],
    fine: &mut [Sample],
) -> bool {
    let within = |sample: &Sample| {
        let piece = |place: usize, at: u64| {
            let own = whole.all.get(place)?;
            pieces.at(own.clock, own.epoch, at)
        };
        Some(Sample::new(
            piece(sample.from, sample.crossed.sent)?,
            piece(sample.to, sample.crossed.received)?,
            sample.crossed,
        ))
    };
    let those: Vec<Sample> = fine.iter().filter_map(within).collect();
    let hidden = hidden(pieces, placed, &those);
    for sample in fine {
        let pair = within(sample).map(|it| (it.from.min(it.to), it.from.max(it.to)));
        if let Some(least_ns) = pair.and_then(|pair| hidden.get(&pair)) {
            sample.least_ns = least_ns.max(sample.least_ns);
        }
    }
    !hidden.is_empty()
}

/// For pairs of pieces of whose clocks one was likely set: how long each packet between them then takes
/// at the least, in ns.
fn hidden(pieces: &Pieces, placed: &[Placed], samples: &[Sample]) -> BTreeMap<(usize, usize), f64> {
    let mut pairs: BTreeMap<(usize, usize), Vec<Slack>> = BTreeMap::new();
    for sample in samples {
        let piece = |place: usize| pieces.all.get(place).filter(|piece| !piece.is_gap);
        if piece(sample.from).is_none() || piece(sample.to).is_none() {
            continue;
        }
        let pair = (sample.from.min(sample.to), sample.from.max(sample.to));
        pairs.entry(pair).or_default().extend(slack(placed, sample));
    }
    let found = pairs.into_iter().filter_map(|(pair, own)| {
        let span = |place: usize| pieces.all.get(place).map(|piece| piece.span);
        let (one, other) = ((pair.0, span(pair.0)?), (pair.1, span(pair.1)?));
        // By the times of the clock that was set packets are before or after that.
        let sides = [pair.0, pair.1].map(|clock| {
            let mut own = own.clone();
            own.sort_by_key(|it| (it.at(clock), it.is_up, it.ns));
            Some((largest(&own)?, own))
        });
        let (step, own) = sides.into_iter().flatten().max_by_key(|it| it.0.by_ns)?;
        let samples: Vec<Sample> = own.iter().map(|it| it.sample).collect();
        let round = |some: &[Sample]| half_round(one, other, some);
        let all = round(&samples)?;
        let before = round(samples.get(..step.before)?)?;
        let after = round(samples.get(step.after..)?)?;
        // What drift can do as well shows in neither part.
        let apart = before.min(after) - all;
        (apart >= step.by_ns as f64 / 5.0).then_some((pair, all + apart / 2.0))
    });
    found.collect()
}

/// How long a packet was on its way, by clocks as they are placed.
#[derive(Clone, Copy)]
struct Slack {
    is_up: bool,
    ns: i64,
    sample: Sample,
}

impl Slack {
    /// When it left a clock, or came to it.
    fn at(&self, clock: usize) -> u64 {
        match self.sample.from == clock {
            true => self.sample.crossed.sent,
            false => self.sample.crossed.received,
        }
    }
}

fn slack(placed: &[Placed], sample: &Sample) -> Option<Slack> {
    let sent = placed.get(sample.from)?.time(sample.crossed.sent);
    let received = placed.get(sample.to)?.time(sample.crossed.received);
    Some(Slack {
        is_up: sample.from < sample.to,
        ns: i64::try_from(received - sent).ok()?,
        sample: *sample,
    })
}

/// A step between some packets and later ones.
struct Step {
    by_ns: i64,
    before: usize,
    after: usize,
}

/// The largest step that is likely.
fn largest(all: &[Slack]) -> Option<Step> {
    let size = (all.len() / PARTS).clamp(1, PART_MAX);
    let parts: Vec<[Way; 2]> = all.chunks(size).map(ways).collect();
    let mut best: Option<Step> = None;
    // The part in which it would be tells nothing.
    for middle in 1..parts.len().saturating_sub(1) {
        let before = parts.get(middle.saturating_sub(REACH)..middle)?;
        let after = parts.get(middle + 1..parts.len().min(middle + 1 + REACH))?;
        let by_ns = step(before, after).max(step(after, before));
        if by_ns >= STEP_NS && best.as_ref().is_none_or(|best| best.by_ns < by_ns) {
            best = Some(Step {
                by_ns,
                before: middle * size,
                after: ((middle + 1) * size).min(all.len()),
            });
        }
    }
    best
}

/// The packets of one way: the least that one took, and all, in ns.
#[derive(Default)]
struct Way {
    least: Option<i64>,
    all: Vec<i64>,
}

fn ways(some: &[Slack]) -> [Way; 2] {
    [false, true].map(|is_up| {
        let own = some.iter().filter(|it| it.is_up == is_up).map(|it| it.ns);
        Way {
            least: own.clone().min(),
            all: own.collect(),
        }
    })
}

/// By how much packets up take longer in `slow` and packets down take longer in `fast`, where that is
/// likely no chance; 0 where it may be one.
fn step(fast: &[[Way; 2]], slow: &[[Way; 2]]) -> i64 {
    let least = |some: &[[Way; 2]], up: usize| some.iter().filter_map(|it| it[up].least).min();
    let (Some(up), Some(up_slow)) = (least(fast, 1), least(slow, 1)) else {
        return 0;
    };
    let (Some(down), Some(down_fast)) = (least(slow, 0), least(fast, 0)) else {
        return 0;
    };
    let (rise, fall) = (up_slow - up, down_fast - down);
    let by_ns = rise.min(fall);
    if by_ns < STEP_NS || rise.max(fall) > 2 * by_ns {
        return 0;
    }
    // Of the packets that took little the slow part has none, and the fast part none of the other way:
    // what the chance of that is where any of them may have been in any part.
    let chance = |own: &[[Way; 2]], other: &[[Way; 2]], up: usize, limit: i64| {
        let count = |some: &[[Way; 2]]| some.iter().map(|it| it[up].all.len()).sum::<usize>();
        let quick = own.iter().flat_map(|it| &it[up].all);
        let quick = quick.filter(|&&ns| ns < limit).count();
        let all = (count(own) + count(other)) as f64;
        quick as f64 * (all / count(own).max(1) as f64).log2()
    };
    let sum = chance(fast, slow, 1, up + by_ns) + chance(slow, fast, 0, down + by_ns);
    if sum >= CHANCE { by_ns } else { 0 }
}
