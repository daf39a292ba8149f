//! Where a clock was set.
//!
//! Two clocks that both run evenly are explained by one line. Where no line does, the packets between
//! them are taken apart into runs of which each has one. Where a run can end is told by taking apart
//! from the begin and from the end; what lies between may be of either side.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::pieces::{BACK_NS, Gap, Gaps, Piece};
use super::solve::{Sample, Span, agree, binding, fit};

/// How many steps are tried, and so many times one that is not the likeliest.
const TRIES_MAX: usize = 128;
const DOUBTS_MAX: usize = 2;

/// How many times it is looked for steps that show to third clocks alone.
const THIRDS_MAX: usize = 6;

/// Up to this many steps, each is tried without, to see whether it is needed.
const TRIED_MAX: usize = 16;

/// Packets between two clocks that fall into more runs are of no use.
const RUNS_MAX: usize = 32;

/// What explains the packets.
pub(super) struct Found {
    pub gaps: Gaps,
    /// The same with steps of the session's clock, where it takes no more steps.
    pub own: Option<Gaps>,
}

/// Where clocks were set. Pieces are whole epochs. With `is_wide` a step may be wherever one of those
/// that saw it has it, not where all of them do.
pub(super) fn find(pieces: &[Piece], reference: usize, samples: &[Sample], is_wide: bool) -> Found {
    let is_own = |found: &Steps| found.iter().any(|((clock, _), _)| *clock == reference);
    let mut found = all((pieces, reference), samples, is_wide, true);
    // Between two it cannot be told which of them was set: here it is the session's.
    let mut clocks: Vec<usize> = pieces.iter().map(|piece| piece.clock).collect();
    clocks.dedup();
    clocks.retain(|&clock| clock != reference);
    let mut own = match clocks.as_slice() {
        &[other] => Some(all((pieces, other), samples, is_wide, true)),
        _ => None,
    };
    // Whether the session's clock was set or all others were, packets alone do not tell. The session
    // is told on its clock, so where steps of others explain the packets, it was not: what else is
    // said of clocks would be wrong by the step if it was the others after all.
    if is_own(&found) {
        let others = all((pieces, reference), samples, is_wide, false);
        if Apart::at(pieces, samples, &others).is_even() {
            own = Some(std::mem::replace(&mut found, others));
        }
    }
    let own = own.filter(|own| is_own(own) && own.len() <= found.len());
    Found {
        gaps: in_order(pieces, found),
        own: own.map(|own| in_order(pieces, own)),
    }
}

fn in_order(pieces: &[Piece], found: Steps) -> Gaps {
    let mut gaps = Gaps::new();
    for (own, gap) in found {
        gaps.entry(own).or_default().push(gap);
    }
    for (key, own) in &mut gaps {
        let whole = pieces.iter().find(|it| (it.clock, it.epoch) == *key);
        // One step may look like several then.
        *own = joined(own.iter().map(|gap| widened(gap, whole)).collect());
    }
    gaps
}

/// A clock that fell back by less than what shows has some times twice.
fn widened(gap: &Gap, whole: Option<&Piece>) -> Gap {
    let (from, last) = whole.map_or((0, u64::MAX), |it| (it.span.first, it.span.last));
    Gap {
        last: gap.last.saturating_sub(BACK_NS).max(from).min(gap.last),
        first: gap.first.saturating_add(BACK_NS).min(last).max(gap.first),
    }
}

/// Gaps in the order of time, those that meet as one.
pub(super) fn joined(mut gaps: Vec<Gap>) -> Vec<Gap> {
    gaps.sort_unstable();
    gaps.dedup_by(|gap, before| {
        let meets = gap.last <= before.first;
        if meets {
            before.first = before.first.max(gap.first);
        }
        meets
    });
    gaps
}

/// Where a clock was set, with its number and its epoch.
type ClockGap = ((usize, usize), Gap);
type Steps = Vec<ClockGap>;

/// The steps that explain the packets, each with its clock and epoch.
fn all(
    (pieces, reference): (&[Piece], usize),
    samples: &[Sample],
    is_wide: bool,
    with_reference: bool,
) -> Steps {
    let apart = Apart::at(pieces, samples, &[]);
    let mut search = Search::new(reference, is_wide, with_reference);
    let mut explained = (0..=DOUBTS_MAX).find_map(|doubts| search.steps(&apart, &[], doubts));
    let mut found = explained.take().or(search.first).unwrap_or_default();
    // What was blamed on one clock may be explained by what was found of another later.
    let mut place = 0;
    while place < found.len() && found.len() <= TRIED_MAX {
        let mut others = found.clone();
        others.remove(place);
        let apart = Apart::at(pieces, samples, &others);
        if apart.is_even() && apart.fits() {
            found = others
        } else {
            place += 1
        }
    }
    found
}

/// Looks for steps that explain the packets: first for those that most clocks tell, and where these do not
/// explain all packets, also for others (limited discrepancy search: Harvey and Ginsberg, 1995).
struct Search {
    reference: usize,
    is_wide: bool,
    with_reference: bool,
    /// How many more steps are tried.
    left: usize,
    /// How many times more for steps that show to third clocks alone.
    thirds: usize,
    /// What was found first.
    first: Option<Steps>,
}

impl Search {
    fn new(reference: usize, is_wide: bool, with_reference: bool) -> Search {
        Search {
            reference,
            is_wide,
            with_reference,
            left: TRIES_MAX,
            thirds: THIRDS_MAX,
            first: None,
        }
    }

    /// Steps beside those that were found; this many times it is not the likeliest. `None` where none of
    /// these explain the packets.
    fn steps(&mut self, apart: &Apart, found: &[ClockGap], doubts: usize) -> Option<Steps> {
        let of_pairs = candidates((&apart.pieces, self), &apart.samples);
        let next = match of_pairs.is_empty() {
            false => of_pairs,
            true if apart.fits() => return Some(found.to_vec()),
            true if self.thirds == 0 => Vec::new(),
            true => {
                self.thirds -= 1;
                apart.thirds((!self.with_reference).then_some(self.reference))
            }
        };
        let mut explained = None;
        for (doubt, (piece, gap)) in next.into_iter().enumerate().take(doubts + 1) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let known = &apart.pieces[piece];
            let found = [found, &[((known.clock, known.epoch), gap)]].concat();
            let mut apart = apart.clone();
            apart.split(piece, gap);
            explained = self.steps(&apart, &found, doubts - doubt);
            if explained.is_some() {
                return explained;
            }
        }
        if self.first.is_none() {
            self.first = Some(found.to_vec());
        }
        explained
    }
}

/// Clocks taken apart, and the packets between their pieces.
#[derive(Clone)]
struct Apart {
    pieces: Vec<Piece>,
    samples: Vec<Sample>,
}

impl Apart {
    /// Takes clocks apart at some gaps.
    fn at(pieces: &[Piece], samples: &[Sample], gaps: &[ClockGap]) -> Apart {
        let mut apart = Apart {
            pieces: pieces.to_vec(),
            samples: samples.to_vec(),
        };
        let mut gaps = gaps.to_vec();
        gaps.sort_by_key(|(own, gap)| (*own, gap.first));
        for (own, gap) in gaps {
            let mut last = apart.pieces.iter();
            let last = last.rposition(|it| (it.clock, it.epoch) == own);
            last.into_iter().for_each(|piece| apart.split(piece, gap));
        }
        apart
    }

    fn split(&mut self, piece: usize, gap: Gap) {
        let new = self.pieces.len();
        let known = &mut self.pieces[piece];
        let mut after = *known;
        known.span.last = gap.first;
        after.span.first = gap.last;
        self.pieces.push(after);
        let side = |place: usize, at: u64| match place == piece {
            false => Some(place),
            true if at <= gap.last => Some(piece),
            true if at >= gap.first => Some(new),
            true => None,
        };
        self.samples.retain_mut(|it| {
            let from = side(it.from, it.crossed.sent);
            let to = side(it.to, it.crossed.received);
            if let (Some(from), Some(to)) = (from, to) {
                (it.from, it.to) = (from, to);
            }
            from.is_some() && to.is_some()
        });
    }

    /// Whether all pieces may run evenly together.
    fn fits(&self) -> bool {
        fit(&self.spans(), 0, &self.samples)
    }

    fn spans(&self) -> Vec<Span> {
        self.pieces.iter().map(|piece| piece.span).collect()
    }

    /// Where each two pieces may run evenly and all together may not, those whose packets alone contradict
    /// all others, and where each was set then: two clocks that were set one soon after the other are one
    /// step to whoever heard neither in between, and to a third clock they are not. The one comes first
    /// whose step explains all and is known best.
    fn thirds(&self, without: Option<usize>) -> Vec<(usize, Gap)> {
        let spans = self.spans();
        let pieces = self.pieces.iter().enumerate();
        let those = pieces.filter(|(_, piece)| Some(piece.clock) != without);
        let mut found: Vec<_> = those
            .filter_map(|(place, _)| {
                let (mut own, others): (Vec<Sample>, Vec<Sample>) = self
                    .samples
                    .iter()
                    .partition(|it| it.from == place || it.to == place);
                let others = binding(&others);
                let fits = |some: &[Sample]| fit(&spans, 0, &[&others, some].concat());
                if !fits(&[]) {
                    return None;
                }
                own.sort_by_key(|it| (it.at(place), it.from, it.crossed));
                let before = longest(own.len(), |count| fits(&own[..count]));
                let after = longest(own.len(), |count| fits(&own[own.len() - count..]));
                let time = |at: usize| own.get(at).map(|it| it.at(place));
                let first = time(before)?;
                let last = time((own.len() - after).checked_sub(1)?)?;
                let is_more = first <= last;
                let last = before_it(last, first);
                Some((is_more, first - last, place, Gap { last, first }))
            })
            .collect();
        found.sort_unstable();
        let found = found.into_iter();
        found.map(|(.., place, gap)| (place, gap)).collect()
    }

    /// Whether each two pieces may run evenly.
    fn is_even(&self) -> bool {
        let span = |place: usize| (place, self.pieces[place].span);
        let pairs = pairs(&self.samples);
        let mut pairs = pairs.iter();
        pairs.all(|(&(one, other), own)| agree(span(one), span(other), own))
    }
}

/// The packets between each two pieces that heard each other.
fn pairs(samples: &[Sample]) -> BTreeMap<(usize, usize), Vec<Sample>> {
    let mut pairs: BTreeMap<(usize, usize), Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        pairs.entry(sample.pair()).or_default().push(*sample);
    }
    pairs.retain(|_, own| {
        let is_up = |it: &Sample| it.from < it.to;
        own.iter().any(is_up) && !own.iter().all(is_up)
    });
    pairs
}

/// The pieces that were set, and where each was first: the one comes first that explains most.
fn candidates((pieces, search): (&[Piece], &Search), samples: &[Sample]) -> Vec<(usize, Gap)> {
    let mut views: BTreeMap<usize, Vec<View>> = BTreeMap::new();
    for ((one, other), own) in pairs(samples) {
        let [one, other] = [one, other].map(|place| (place, pieces[place].span));
        let is_even = agree(one, other, &own);
        for (chosen, partner) in [(one, other), (other, one)] {
            let view = View::new(partner, chosen, &own, is_even);
            views.entry(chosen.0).or_default().push(view);
        }
    }
    let candidates = views.iter().filter_map(|(&place, views)| {
        let (gap, explained) = together(views, search.is_wide)?;
        // And others must have seen it, and did not.
        let is_missed = |view: &&View| {
            let seen = view.gap.is_some_and(|own| own.overlaps(&gap));
            view.times.first <= gap.last && gap.first <= view.times.last && !seen
        };
        let missed = views.iter().filter(is_missed).count() as i64;
        // Between two it cannot be told which of them was set: not the one that all are read on.
        let is_other = pieces[place].clock != search.reference;
        if !is_other && !search.with_reference {
            return None;
        }
        Some(((explained - missed, is_other, place), gap))
    });
    let mut candidates: Vec<_> = candidates.collect();
    candidates.sort_unstable_by_key(|(rank, _)| Reverse(*rank));
    let candidates = candidates.into_iter();
    candidates.map(|(rank, gap)| (rank.2, gap)).collect()
}

/// The first step of a clock as its partners see it, and how many of them: those that saw it at one
/// time. A partner that was set itself shortly before or after has the time wrong; it shows in that
/// others find a step beside it.
fn together(views: &[View], is_wide: bool) -> Option<(Gap, i64)> {
    let seen = views.iter().filter_map(|view| Some((view.gap?, view)));
    let earliest = seen.clone().map(|(gap, _)| (gap.first, gap.last)).min()?;
    let earliest = Gap {
        first: earliest.0,
        last: earliest.1,
    };
    let mut those: Vec<(Gap, &View)> = seen.filter(|it| it.0.overlaps(&earliest)).collect();
    if is_wide {
        let last = those.iter().map(|it| it.0.last).min()?;
        let first = those.iter().map(|it| it.0.first).max()?;
        return Some((Gap { last, first }, those.len() as i64));
    }
    loop {
        let last = those.iter().map(|it| it.0.last).max()?;
        let first = those.iter().map(|it| it.0.first).min()?;
        if last < first {
            let gap = Gap { last, first };
            let is_late = those.iter().any(|(_, view)| !view.is_even_until(last));
            let is_soon = those.iter().any(|(_, view)| !view.explains_from(first));
            if those.len() == 1 || !(is_late || is_soon) {
                return Some((gap, those.len() as i64));
            }
            if is_late {
                those.retain(|it| it.0.last < last)
            } else {
                those.retain(|it| it.0.first > first)
            }
        } else {
            those.retain(|it| it.0.last < last);
        }
        if those.is_empty() {
            return Some((earliest, 1));
        }
    }
}

/// What a partner tells of a clock.
struct View {
    partner: (usize, Span),
    chosen: (usize, Span),
    /// In the order of the clock's own time.
    samples: Vec<Sample>,
    times: Span,
    /// Into how many runs the packets fall.
    runs: usize,
    /// Where the clock was first set.
    gap: Option<Gap>,
}

impl View {
    /// The packets are taken apart into as few runs as can be, each of which one line explains: from
    /// the begin, each as long as it can be, and from the end. However else they are taken apart
    /// into as many, the first run ends between the ends of both.
    fn new(
        partner: (usize, Span),
        chosen: (usize, Span),
        samples: &[Sample],
        is_even: bool,
    ) -> View {
        let mut samples = samples.to_vec();
        samples.sort_by_key(|it| (it.at(chosen.0), it.from, it.crossed));
        let time = |at: usize| samples.get(at).map(|it| it.at(chosen.0));
        let times = Span {
            first: time(0).unwrap_or(0),
            last: time(samples.len().saturating_sub(1)).unwrap_or(0),
        };
        let mut view = View {
            partner,
            chosen,
            samples,
            times,
            runs: 1,
            gap: None,
        };
        if is_even {
            return view;
        }
        let count = view.samples.len();
        let (runs, after) = view.runs(0);
        let mut until = count;
        for _ in 1..runs {
            until -= longest(until, |count| view.agrees(until - count, until)).max(1);
        }
        let time = |at: usize| view.samples.get(at).map(|it| it.at(chosen.0));
        if let (Some(last), Some(first)) = (until.checked_sub(1).and_then(time), time(after)) {
            let last = before_it(last, first);
            view.gap = Some(Gap { last, first });
        }
        view.runs = runs;
        view
    }

    fn agrees(&self, from: usize, until: usize) -> bool {
        agree(self.partner, self.chosen, &self.samples[from..until])
    }

    /// How many runs there are from a place on, and where the first of them ends.
    fn runs(&self, mut from: usize) -> (usize, usize) {
        let count = self.samples.len();
        let mut after = count;
        let mut runs = 0;
        while from < count && runs < RUNS_MAX {
            from += longest(count - from, |count| self.agrees(from, from + count)).max(1);
            after = if runs == 0 { from } else { after };
            runs += 1;
        }
        (runs, after)
    }

    /// Whether one line explains all up to a time.
    fn is_even_until(&self, last: u64) -> bool {
        let is_before = |it: &Sample| it.at(self.chosen.0) <= last;
        self.agrees(0, self.samples.partition_point(is_before))
    }

    /// Whether there is a run less from a time on.
    fn explains_from(&self, first: u64) -> bool {
        let is_before = |it: &Sample| it.at(self.chosen.0) < first;
        self.runs(self.samples.partition_point(is_before)).0 < self.runs
    }
}

/// What is before a step for sure. Of a clock that fell back packets before and after it lie among each
/// other.
fn before_it(last: u64, first: u64) -> u64 {
    if last < first {
        last
    } else {
        first.saturating_sub(BACK_NS)
    }
}

/// The greatest count, up to the most, of which something holds that holds of all lower ones.
fn longest(most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut least, mut over) = (0, most + 1);
    while over - least > 1 {
        let middle = least + (over - least) / 2;
        if holds(middle) {
            least = middle
        } else {
            over = middle
        }
    }
    least
}
