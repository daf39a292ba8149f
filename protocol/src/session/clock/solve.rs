//! Where clocks may be, as far as packets tell.
//!
//! A clock that runs evenly is two unknowns: how far it is off the reference clock, and how fast it
//! drifts. Every packet says that it was not received before it was sent, which is linear in the
//! unknowns of both clocks; so is that no clock drifts faster than [`DRIFT_PPM`]. What satisfies all
//! of that is a convex set, for all clocks together. The greatest and the least offset of a clock at
//! a moment are linear programs over it; over time the one is a convex line of straight pieces, and
//! the other a concave one. For two clocks these are the lines between the convex hulls of both
//! directions (Duda, Harrus, Haddad, Bernard, 1987).

use std::collections::{BTreeMap, BTreeSet};

use smallvec::smallvec;

use super::hull::{Crossed, Hull};
use super::linear::{Row, Walk};

/// No clock is taken to drift faster from the session's: parts of a million. NTP takes the same
/// (RFC 5905, section 11.3).
pub(crate) const DRIFT_PPM: f64 = 500.0;

/// The same of the reel's own time instead of the session's, and a little more for rounding.
const SLOPE: f64 = (DRIFT_PPM + 0.5) * 1e-6;

/// A packet takes at least this many nanoseconds: less than a clock can tell, and more than sums of
/// rounded numbers are off.
const LEAST_NS: f64 = 1.0 / 64.0;

/// Where a corner misses a packet by no more than this, that is not early: of what a packet takes at
/// least, up to a half is taken to keep lines apart.
const MISSED_NS: f64 = LEAST_NS / 2.0;

/// Up to this much earlier than it was sent a packet may arrive before clocks are said to disagree.
pub(super) const ALLOWED_NS: f64 = 0.5;

/// Corners nearer to a line than this are none.
const NEAR_NS: f64 = 1e-3;

/// No line is asked for more corners.
const DEEP: usize = 12;

/// From when to when a clock was read, on itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub first: u64,
    pub last: u64,
}

impl Span {
    /// -1 at its begin, 1 at its end.
    fn place(&self, at: u64) -> f64 {
        let twice = 2 * i128::from(at) - i128::from(self.first) - i128::from(self.last);
        twice as f64 / self.length()
    }

    fn length(&self) -> f64 {
        (self.last.saturating_sub(self.first)).max(1) as f64
    }
}

/// A packet between two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub from: usize,
    pub to: usize,
    pub crossed: Crossed,
    /// It takes at least this long, in ns: 0 is certain, more is likely.
    pub least_ns: f64,
}

impl Sample {
    /// A packet of which nothing is known but that it was not received before it was sent.
    pub fn new(from: usize, to: usize, crossed: Crossed) -> Sample {
        Sample {
            from,
            to,
            crossed,
            least_ns: 0.0,
        }
    }

    /// When it left a clock, or came to it.
    pub fn at(&self, clock: usize) -> u64 {
        match self.from == clock {
            true => self.crossed.sent,
            false => self.crossed.received,
        }
    }

    /// The clocks that it is between, the one with the lower number first.
    pub fn pair(&self) -> (usize, usize) {
        (self.from.min(self.to), self.from.max(self.to))
    }
}

/// Where a clock may be.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// All else is added to this.
    pub base_ns: i128,
    /// The least that must be added to its time to give the session's, in nanoseconds: corners of a
    /// line, from the begin of its span to the end.
    pub lower: Vec<(u64, f64)>,
    /// The most.
    pub upper: Vec<(u64, f64)>,
}

impl Course {
    /// Where nothing is added but so much.
    pub fn only(base_ns: i128, span: Span) -> Course {
        let line = vec![(span.first, 0.0), (span.last, 0.0)];
        Course {
            base_ns,
            lower: line.clone(),
            upper: line,
        }
    }
}

/// Clocks that no even drift explains: by how much packets would arrive before they were sent, at
/// the least; infinite where numbers are too far apart to tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Disagreement(pub f64);

/// For each clock how far it is off the reference, roughly; `None` where no packet leads there.
pub(super) fn bases(clocks: usize, reference: usize, samples: &[Sample]) -> Vec<Option<i128>> {
    let mut least: BTreeMap<(usize, usize), i128> = BTreeMap::new();
    for sample in samples {
        let took = sample.crossed.took();
        let known = least.entry((sample.from, sample.to)).or_insert(took);
        *known = took.min(*known);
    }
    let mut bases = vec![None; clocks];
    bases[reference] = Some(0);
    loop {
        let mut best: Option<(bool, i128, usize, i128)> = None;
        for (&(from, to), &there) in &least {
            let back = least.get(&(to, from)).copied();
            for (known, new, offset) in [
                (from, to, back.map_or(-there, |back| (back - there) / 2)),
                (to, from, back.map_or(there, |back| (there - back) / 2)),
            ] {
                let (Some(base), None) = (bases[known], bases[new]) else {
                    continue;
                };
                let round = back.map_or(0, |back| there + back);
                let found = (back.is_none(), round, new, base + offset);
                if best.is_none_or(|best| (found.0, found.1) < (best.0, best.1)) {
                    best = Some(found);
                }
            }
        }
        let Some((_, _, new, base)) = best else {
            return bases;
        };
        bases[new] = Some(base);
    }
}

/// The packets between clocks to which packets lead from the reference, and from which packets lead back.
fn tied(clocks: usize, reference: usize, samples: &[Sample]) -> Vec<Sample> {
    let pairs: BTreeSet<(usize, usize)> = samples.iter().map(|it| (it.from, it.to)).collect();
    let reached = |pairs: &[(usize, usize)]| {
        let mut reached = vec![false; clocks];
        let mut next = vec![reference];
        while let Some(at) = next.pop() {
            if std::mem::replace(&mut reached[at], true) {
                continue;
            }
            next.extend(pairs.iter().filter(|pair| pair.0 == at).map(|pair| pair.1));
        }
        reached
    };
    let there: Vec<(usize, usize)> = pairs.iter().copied().collect();
    let back: Vec<(usize, usize)> = pairs.iter().map(|&(from, to)| (to, from)).collect();
    let (there, back) = (reached(&there), reached(&back));
    let is_tied = |clock: usize| there[clock] && back[clock];
    let those = samples.iter().copied();
    those
        .filter(|it| it.from != it.to && is_tied(it.from) && is_tied(it.to))
        .collect()
}

/// Where the clocks may be that are tied to the reference, which is at 0. Packets may arrive up to
/// `allowed_ns` before they were sent, where it cannot be had otherwise.
pub(super) fn solve(
    spans: &[Span],
    reference: usize,
    samples: &[Sample],
    allowed_ns: f64,
) -> Result<Vec<Option<Course>>, Disagreement> {
    let inner = tied(spans.len(), reference, samples);
    let bases = bases(spans.len(), reference, &inner);
    let mut courses: Vec<Option<Course>> = vec![None; spans.len()];
    for part in parts(spans.len(), reference, &inner) {
        let mut walk = Rows::of_part(spans, &bases, &part, &inner).settled(allowed_ns)?;
        for (place, &clock) in part.iter().enumerate() {
            let Some(base_ns) = bases[clock] else {
                continue;
            };
            let upper = walk.line(place, &spans[clock], 1.0)?;
            let lower = walk.line(place, &spans[clock], -1.0)?;
            courses[clock] = Some(Course {
                base_ns,
                lower: lower.into_iter().map(|(at, by)| (at, -by)).collect(),
                upper,
            });
        }
    }
    let span = spans[reference];
    courses[reference] = Some(Course::only(0, span));
    Ok(courses)
}

/// Whether all clocks may run evenly together that are tied to the reference. What is likely of packets
/// between two is not asked here: how long those take each way others may tell.
pub(super) fn fit(spans: &[Span], reference: usize, samples: &[Sample]) -> bool {
    let mut inner = tied(spans.len(), reference, samples);
    inner.iter_mut().for_each(|it| it.least_ns = 0.0);
    let inner = binding(&inner);
    let bases = bases(spans.len(), reference, &inner);
    let parts = parts(spans.len(), reference, &inner);
    parts
        .iter()
        .all(|part| Rows::of_part(spans, &bases, part, &inner).are_even())
}

/// Whether two clocks may run evenly, both of them, as far as the packets between them tell.
pub(super) fn agree(one: (usize, Span), other: (usize, Span), samples: &[Sample]) -> bool {
    let there = samples.iter().any(|it| it.from == one.0);
    let back = samples.iter().any(|it| it.from == other.0);
    !there || !back || Rows::of_two(one, other, samples).are_even()
}

/// For how long, in ns, every packet between two clocks may have been on its way at the least, where
/// both run evenly: half of the shortest round. `None` where they did not both hear each other.
pub(super) fn half_round(
    one: (usize, Span),
    other: (usize, Span),
    samples: &[Sample],
) -> Option<f64> {
    let rows = Rows::of_two(one, other, samples);
    let mut walk = rows.walk(-rows.far)?;
    walk.greatest(&[(rows.late, -1.0)])
        .filter(|most| *most < rows.far)
}

/// Of packets those that can bind, see [`Hull`].
pub(super) fn binding(samples: &[Sample]) -> Vec<Sample> {
    let mut hulls: BTreeMap<(usize, usize, u64), Hull> = BTreeMap::new();
    for it in samples {
        let alike = (it.from, it.to, it.least_ns.to_bits());
        hulls.entry(alike).or_default().push(it.crossed);
    }
    let corners = hulls.into_iter().flat_map(|((from, to, least), hull)| {
        let corners = hull.corners().into_iter();
        corners.map(move |crossed| Sample {
            least_ns: f64::from_bits(least),
            ..Sample::new(from, to, crossed)
        })
    });
    corners.collect()
}

/// The clocks beside the reference, taken apart into those that packets tie to each other past it.
fn parts(clocks: usize, reference: usize, samples: &[Sample]) -> Vec<Vec<usize>> {
    let mut first: Vec<usize> = (0..clocks).collect();
    loop {
        let mut changed = false;
        for sample in samples {
            if sample.from == reference || sample.to == reference {
                continue;
            }
            let lower = first[sample.from].min(first[sample.to]);
            for clock in [sample.from, sample.to] {
                changed |= first[clock] != lower;
                first[clock] = lower;
            }
        }
        if !changed {
            break;
        }
    }
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let known: BTreeSet<usize> = samples.iter().flat_map(|it| [it.from, it.to]).collect();
    for clock in known.into_iter().filter(|&clock| clock != reference) {
        parts.entry(first[clock]).or_default().push(clock);
    }
    parts.into_values().collect()
}

/// The inequalities of some clocks.
struct Rows {
    all: Vec<Row>,
    packets: usize,
    /// Those of the clocks alone, each of which some corner has.
    holding: Vec<usize>,
    /// The unknown by how much all packets are taken to come later, and the row that bounds it.
    late: usize,
    last: usize,
    /// Further than any clock is off its base.
    far: f64,
}

impl Rows {
    fn new<'a>(
        spans: &[Span],
        bases: &[Option<i128>],
        part: &[usize],
        samples: impl Iterator<Item = &'a Sample>,
        slope: f64,
    ) -> Rows {
        // Two unknowns a clock, its offset in the middle of its span and what drift adds until the
        // end; and one by how much all packets are taken to come later.
        let late = 2 * part.len();
        let mut rows = Vec::new();
        let mut widest = 1.0f64;
        for (number, sample) in samples.enumerate() {
            let Crossed { sent, received } = sample.crossed;
            let mut took = sample.crossed.took();
            let mut terms = smallvec![(late, 1.0)];
            for (clock, at, sign) in [(sample.to, received, 1.0), (sample.from, sent, -1.0)] {
                took += sign as i128 * bases[clock].unwrap_or(0);
                if let Ok(place) = part.binary_search(&clock) {
                    terms.push((2 * place, sign));
                    terms.push((2 * place + 1, sign * spans[clock].place(at)));
                }
            }
            // No three lines through one point, so that every step leads on.
            let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let apart = mixed as f64 / (1u64 << 24) as f64 * LEAST_NS / 2.0;
            let took = took as f64 - sample.least_ns;
            widest = widest.max(took.abs());
            rows.push(Row {
                terms,
                least: LEAST_NS - apart - took,
            });
        }
        let packets = rows.len();
        let drift = |&clock: &usize| spans[clock].length() / 2.0 * slope;
        let drifts: Vec<f64> = part.iter().map(drift).collect();
        let all: f64 = drifts.iter().sum();
        let far = 4.0 * (widest * (part.len() + 1) as f64 + all);
        let mut holding = Vec::new();
        for (place, &drift) in drifts.iter().enumerate() {
            for (unknown, most) in [(2 * place, far), (2 * place + 1, drift)] {
                holding.push(rows.len());
                for sign in [1.0, -1.0] {
                    let terms = smallvec![(unknown, sign)];
                    rows.push(Row {
                        terms,
                        least: -most,
                    });
                }
            }
        }
        let last = rows.len();
        rows.push(Row {
            terms: smallvec![(late, 1.0)],
            least: 0.0,
        });
        Rows {
            all: rows,
            packets,
            holding,
            late,
            last,
            far,
        }
    }

    /// Of clocks that packets tie to each other past the reference.
    fn of_part(spans: &[Span], bases: &[Option<i128>], part: &[usize], samples: &[Sample]) -> Rows {
        let is_of = |clock: &usize| part.binary_search(clock).is_ok();
        let own = samples.iter().filter(|it| is_of(&it.from) || is_of(&it.to));
        Rows::new(spans, bases, part, own, SLOPE)
    }

    /// Of two clocks, by the packets between them alone.
    fn of_two(one: (usize, Span), other: (usize, Span), samples: &[Sample]) -> Rows {
        let place = |clock: usize| usize::from(clock == other.0);
        let samples = samples.iter().map(|it| Sample {
            from: place(it.from),
            to: place(it.to),
            ..*it
        });
        let samples = binding(&samples.collect::<Vec<_>>());
        let bases = bases(2, 0, &samples);
        Rows::new(&[one.1, other.1], &bases, &[1], samples.iter(), 2.0 * SLOPE)
    }

    /// Where no packet comes later by less than this, a corner at which no packet is missed.
    fn walk(&self, given_ns: f64) -> Option<Walk> {
        let mut rows = self.all.clone();
        rows[self.last].least = given_ns;
        let start = self.most_missed(given_ns).unwrap_or(self.last);
        let begin: Vec<usize> = self.holding.iter().copied().chain([start]).collect();
        Walk::new(self.late + 1, rows, begin)
    }

    /// Of the packets the one that the corner of the clocks alone misses most; `None` where packets that
    /// come later by `given_ns` miss none.
    fn most_missed(&self, given_ns: f64) -> Option<usize> {
        let mut corner = vec![0.0; self.late + 1];
        for row in self.holding.iter().map(|&at| &self.all[at]) {
            for &(unknown, by) in &row.terms {
                corner[unknown] = row.least / by;
            }
        }
        let packets = self.all.iter().take(self.packets);
        let missed = packets.map(|row| row.least - row.dot(&corner)).enumerate();
        let worst = missed.max_by(|one, other| one.1.total_cmp(&other.1))?;
        (worst.1 > given_ns).then_some(worst.0)
    }

    /// A corner of where the clocks may be, as long as packets arrive up to `allowed_ns` before they were
    /// sent.
    fn settled(&self, allowed_ns: f64) -> Result<Walk, Disagreement> {
        let mut given_ns = 0.0;
        // A second and a third time where nothing less than what was found will do.
        for _ in 0..3 {
            let unclear = Disagreement(f64::INFINITY);
            let mut walk = self.walk(given_ns).ok_or(unclear)?;
            let least_ns = -walk.greatest(&[(self.late, -1.0)]).ok_or(unclear)?;
            if walk.fix(self.last) {
                return Ok(walk);
            }
            if least_ns > allowed_ns {
                return Err(Disagreement(least_ns));
            }
            given_ns = least_ns + least_ns.abs() * 1e-9 + LEAST_NS / 8.0;
        }
        Err(Disagreement(f64::INFINITY))
    }

    /// Whether the clocks may run evenly, or numbers are too far apart to tell.
    fn are_even(&self) -> bool {
        let found = self.settled(ALLOWED_NS);
        !matches!(found, Err(Disagreement(by_ns)) if by_ns.is_finite())
    }
}

impl Walk {
    /// The most that a clock may be off, over its span; with the sign -1 the most downwards.
    fn line(
        &mut self,
        place: usize,
        span: &Span,
        sign: f64,
    ) -> Result<Vec<(u64, f64)>, Disagreement> {
        let first = self.at(place, span, span.first, sign)?;
        let mut line = vec![(span.first, first.most)];
        if span.last > span.first {
            let last = self.at(place, span, span.last, sign)?;
            let both = [(span.first, first), (span.last, last)];
            self.between(place, span, sign, both, (DEEP, &mut line))?;
            line.push((span.last, last.most));
        }
        Ok(line)
    }

    /// Adds the corners between two moments (Eisner and Severance).
    fn between(
        &mut self,
        place: usize,
        span: &Span,
        sign: f64,
        [(from, one), (to, other)]: [(u64, Touching); 2],
        (deep, line): (usize, &mut Vec<(u64, f64)>),
    ) -> Result<(), Disagreement> {
        let straight = one.over(span, to) >= other.most - NEAR_NS;
        if straight || deep == 0 || to - from < 2 {
            return Ok(());
        }
        // Where the lines that touch at both ends cross.
        let across = (other.offset - one.offset) / (one.drift - other.drift);
        let ahead = (across - span.place(from)) / 2.0 * span.length();
        if !ahead.is_finite() {
            return Ok(());
        }
        let at = from.saturating_add(ahead.max(0.0) as u64);
        let at = at.clamp(from + 1, to - 1);
        let here = self.at(place, span, at, sign)?;
        let both = [(from, one), (at, here)];
        let is_corner = here.most <= one.over(span, at) + NEAR_NS;
        if !is_corner {
            self.between(place, span, sign, both, (deep - 1, line))?;
        }
        line.push((at, here.most));
        if !is_corner {
            let both = [(at, here), (to, other)];
            self.between(place, span, sign, both, (deep - 1, line))?;
        }
        Ok(())
    }

    fn at(
        &mut self,
        place: usize,
        span: &Span,
        at: u64,
        sign: f64,
    ) -> Result<Touching, Disagreement> {
        let goal = [(2 * place, sign), (2 * place + 1, sign * span.place(at))];
        let most = self.greatest(&goal);
        let missed = self.missed();
        let point = self.point();
        match (most, point.get(2 * place), point.get(2 * place + 1)) {
            (Some(most), Some(offset), Some(drift)) if missed <= MISSED_NS => Ok(Touching {
                most,
                offset: sign * offset,
                drift: sign * drift,
            }),
            _ => Err(Disagreement(f64::INFINITY)),
        }
    }
}

/// A course that a clock may have, and that is the furthest off at a moment.
#[derive(Clone, Copy, Debug)]
struct Touching {
    most: f64,
    offset: f64,
    drift: f64,
}

impl Touching {
    fn over(&self, span: &Span, at: u64) -> f64 {
        self.offset + self.drift * span.place(at)
    }
}
