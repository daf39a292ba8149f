//! Steps that hide in what latency leaves open.
//!
//! A step that is smaller than the shortest round of two clocks leaves a line that explains all
//! packets. But from one moment on all packets one way take longer by as much as all packets the other
//! way take less. Latency does that hardly ever, and taking clocks apart there is never wrong: fewer
//! packets count for each part, so that bounds only grow.

use std::collections::BTreeMap;
use std::ops::Range;

use super::pieces::Pieces;
use super::place::Placed;
use super::solve::{Sample, half_round};

/// Smaller steps are not looked for.
pub(super) const STEP_NS: i64 = 5_000_000;

/// Packets of a pair are looked at in this many parts, and in such of at most this many packets.
const PARTS: usize = 24;
const PART_MAX: usize = 8;

/// How many parts before a moment are held against as many after it.
const REACH: usize = 8;

/// A step is likely where packets that take as long as they please would look like it once in two to
/// the power of this.
const CHANCE: f64 = 14.0;

/// The same of one that does not last, because another takes it back.
const SURE: f64 = 20.0;

/// Where a step of a clock is likely, takes packets around it to be on their way for longer, so that no
/// line explains them. `fine` are packets between whole clocks, and `pieces` what they are known to be
/// taken apart into. Whether there is such a step.
pub(super) fn tighten(
    whole: &Pieces,
    pieces: &Pieces,
    placed: &[Placed],
    fine: &mut [Sample],
) -> bool {
    let those = fine
        .iter()
        .enumerate()
        .filter_map(|(place, sample)| Some((place, pieces.within(whole, sample)?)));
    let hidden = hidden(pieces, placed, those);
    for &(place, least_ns) in &hidden {
        let sample = &mut fine[place];
        sample.least_ns = least_ns.max(sample.least_ns);
    }
    !hidden.is_empty()
}

/// Packets around likely steps, by their places, and how long each then takes at the least, in ns.
fn hidden(
    pieces: &Pieces,
    placed: &[Placed],
    samples: impl Iterator<Item = (usize, Sample)>,
) -> Vec<(usize, f64)> {
    let mut pairs: BTreeMap<(usize, usize), Vec<Slack>> = BTreeMap::new();
    for (place, sample) in samples {
        if pieces.is_gap(sample.from) || pieces.is_gap(sample.to) {
            continue;
        }
        let slack = slack(placed, place, &sample);
        pairs.entry(sample.pair()).or_default().extend(slack);
    }
    let found = pairs.into_iter().filter_map(|(pair, own)| {
        let [one, other] = [pair.0, pair.1].map(|place| (place, pieces.all[place].span));
        // By the times of the clock that was set packets are before or after that.
        let sides = [pair.0, pair.1].map(|clock| {
            let mut own = own.clone();
            own.sort_by_key(|it| (it.sample.at(clock), it.is_up(), it.ns));
            Some((largest(&own)?, own))
        });
        let (step, own) = sides.into_iter().flatten().max_by_key(|it| it.0.by_ns)?;
        let is_step = |apart: f64| apart >= step.by_ns as f64 / 5.0;
        let round = |range: Range<usize>| {
            let some: Vec<Sample> = own[range].iter().map(|it| it.sample).collect();
            half_round(one, other, &some)
        };
        // What drift can do as well shows in neither part.
        let parted = |from: usize, until: usize| {
            let all = round(from..until)?;
            let (before, after) = (round(from..step.before)?, round(step.after..until)?);
            Some((all, before.min(after) - all))
        };
        let (all, apart) = parted(step.from, step.until)?;
        let lasts = || parted(0, own.len()).is_some_and(|(_, apart)| is_step(apart));
        let around = own[step.from..step.until].iter();
        let least_ns = all + apart / 2.0;
        let around: Vec<(usize, f64)> = around.map(|it| (it.place, least_ns)).collect();
        (is_step(apart) && (step.chance >= SURE || lasts())).then_some(around)
    });
    found.flatten().collect()
}

/// How long a packet was on its way, by clocks as they are placed.
#[derive(Clone, Copy)]
struct Slack {
    ns: i64,
    sample: Sample,
    /// The packet's place among all.
    place: usize,
}

impl Slack {
    fn is_up(&self) -> bool {
        self.sample.from < self.sample.to
    }
}

fn slack(placed: &[Placed], place: usize, sample: &Sample) -> Option<Slack> {
    let sent = placed[sample.from].time(sample.crossed.sent);
    let received = placed[sample.to].time(sample.crossed.received);
    Some(Slack {
        ns: i64::try_from(received - sent).ok()?,
        sample: *sample,
        place,
    })
}

/// A step between some packets and later ones: `from..before`, and `after..until`.
struct Step {
    by_ns: i64,
    /// Once in two to the power of this.
    chance: f64,
    from: usize,
    before: usize,
    after: usize,
    until: usize,
}

/// The largest step that is likely.
fn largest(all: &[Slack]) -> Option<Step> {
    let size = (all.len() / PARTS).clamp(1, PART_MAX);
    let parts: Vec<[Way; 2]> = all.chunks(size).map(ways).collect();
    let mut best: Option<Step> = None;
    let middles = (1..parts.len()).flat_map(|middle| [(middle, middle + 1), (middle, middle + 2)]);
    // The part in which it would be tells nothing; of a clock that falls back these are two at times.
    for (middle, behind) in middles.filter(|it| it.1 < parts.len()) {
        let from = middle.saturating_sub(REACH);
        let until = parts.len().min(behind + REACH);
        let (before, after) = (&parts[from..middle], &parts[behind..until]);
        let both = [step(before, after), step(after, before)];
        let Some((by_ns, chance)) = both.into_iter().flatten().max_by_key(|it| it.0) else {
            continue;
        };
        if best.as_ref().is_none_or(|best| best.by_ns < by_ns) {
            let packets = |part: usize| (part * size).min(all.len());
            best = Some(Step {
                by_ns,
                chance,
                from: packets(from),
                before: packets(middle),
                after: packets(behind),
                until: packets(until),
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
        let own = some.iter().filter(|it| it.is_up() == is_up).map(|it| it.ns);
        Way {
            least: own.clone().min(),
            all: own.collect(),
        }
    })
}

/// By how much packets up take longer in `slow` and packets down take longer in `fast`, where that is
/// likely no chance, and how little.
fn step(fast: &[[Way; 2]], slow: &[[Way; 2]]) -> Option<(i64, f64)> {
    let least = |some: &[[Way; 2]], up: usize| some.iter().filter_map(|it| it[up].least).min();
    let (up, up_slow) = (least(fast, 1)?, least(slow, 1)?);
    let (down, down_fast) = (least(slow, 0)?, least(fast, 0)?);
    let (rise, fall) = (up_slow - up, down_fast - down);
    let by_ns = rise.min(fall);
    if by_ns < STEP_NS || rise.max(fall) > 2 * by_ns {
        return None;
    }
    // Of the packets that took little the slow part has none, and the fast part none of the other way:
    // what the chance of that is where any of them may have been in any part.
    let chance = |own: &[[Way; 2]], other: &[[Way; 2]], up: usize, limit: i64| {
        let count = |some: &[[Way; 2]]| some.iter().map(|it| it[up].all.len()).sum::<usize>();
        let quick = own
            .iter()
            .flat_map(|it| &it[up].all)
            .filter(|&&ns| ns < limit)
            .count();
        let all = (count(own) + count(other)) as f64;
        quick as f64 * (all / count(own).max(1) as f64).log2()
    };
    let sum = chance(fast, slow, 1, up + by_ns) + chance(slow, fast, 0, down + by_ns);
    (sum >= CHANCE).then_some((by_ns, sum))
}
