//! Whether the session's clock was set, or all others were, the other way.
//!
//! Packets alone do not tell. But a clock that is set forward passes over times, so that its reel has
//! none of them, and one that is set back falls, unless its reel was silent for as long.

use super::aligned::{Aligned, Step};
use super::known::{Known, Reels};
use super::pieces::{Gaps, pauses};
use super::solve::Span;

/// Whether reels show that the session's clock was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    No,
    /// It may have been, and others as well.
    Maybe,
    Yes,
}

/// How a reel goes with a step of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fits {
    Never,
    /// It was silent at the right time, as it is at others.
    Perhaps,
    /// It goes as though its clock had been set.
    Well,
}

/// `own` explains all packets with steps of the session's clock, and `others`, where it does, with
/// steps of others.
pub(super) fn shown(own: &Aligned, others: Option<&Aligned>, reels: &Reels<'_>) -> Shown {
    let its = steps(own, others, reels);
    let (Some(least), Some(most)) = (its.iter().min(), its.iter().max()) else {
        return Shown::No;
    };
    if *least == Fits::Never {
        return Shown::No;
    }
    let Some(others) = others else {
        return Shown::Maybe;
    };
    let theirs = steps(others, Some(own), reels);
    let never = theirs.contains(&Fits::Never);
    let well = theirs.contains(&Fits::Well);
    match (*most == Fits::Well, well) {
        _ if never => Shown::Yes,
        (true, false) => Shown::Yes,
        (false, true) => Shown::No,
        _ => Shown::Maybe,
    }
}

/// Of two clocks each step is of one of them by itself. Where reels tell that some are of the session's
/// clock and others are not, these.
pub(super) fn mixed(own: &Known, others: &Known, reels: &Reels<'_>) -> Option<Gaps> {
    let mut clocks: Vec<usize> = reels.readings.iter().map(|it| it.clock).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let &[first, second] = clocks.as_slice() else {
        return None;
    };
    let steps = |known: &Known, clock: usize| {
        let steps: Vec<Step> = known
            .aligned
            .clocks
            .get(clock)?
            .steps
            .iter()
            .filter(|step| !step.shows_itself)
            .copied()
            .collect();
        let gaps = known.gaps.iter().filter(|(key, _)| key.0 == clock);
        let gaps: Vec<_> = gaps
            .flat_map(|(key, gaps)| gaps.iter().map(move |gap| (*key, *gap)))
            .collect();
        (gaps.len() == steps.len()).then(|| gaps.into_iter().zip(steps).collect::<Vec<_>>())
    };
    let (own, theirs) = (steps(own, first)?, steps(others, second)?);
    if own.len() != theirs.len() {
        return None;
    }
    let mut gaps = Gaps::new();
    let mut of_first = 0;
    for ((own_gap, own_step), (other_gap, other_step)) in own.iter().zip(&theirs) {
        let is_own = match (
            fits(first, own_step, reels),
            fits(second, other_step, reels),
        ) {
            (Fits::Never, _) => false,
            (_, Fits::Never) => true,
            (one, other) => one == Fits::Well && other != Fits::Well,
        };
        of_first += usize::from(is_own);
        let (key, gap) = if is_own { own_gap } else { other_gap };
        gaps.entry(*key).or_default().push(*gap);
    }
    (0 < of_first && of_first < own.len()).then_some(gaps)
}

/// How reels go with the steps that one explanation has and the other has not.
fn steps(aligned: &Aligned, other: Option<&Aligned>, reels: &Reels<'_>) -> Vec<Fits> {
    let mut found = Vec::new();
    for (reel, clock) in aligned.clocks.iter().enumerate() {
        // Reels on one clock have the same steps.
        let mut readings = reels.readings.iter();
        let first = readings.position(|it| it.clock == reel);
        if first != Some(reel) && reels.readings[reel].clock != reel {
            continue;
        }
        let known = other.and_then(|other| other.clocks.get(reel));
        for step in &clock.steps {
            let is_it = |its: &&Step| {
                its.last <= step.first
                    && step.last <= its.first
                    && (its.by_ns - step.by_ns).abs() < step.by_ns.abs() / 2
            };
            if known.is_none_or(|known| !known.steps.iter().any(|its| is_it(&its))) {
                found.push(fits(reel, step, reels));
            }
        }
    }
    found
}

fn fits(reel: usize, step: &Step, reels: &Reels<'_>) -> Fits {
    if step.shows_itself {
        return Fits::Well;
    }
    let (first, last) = (step.last.0, step.first.0);
    let pauses = reels.of(reel, |scan| pauses(scan, Span { first, last }));
    let by_ns = u64::try_from(step.by_ns.unsigned_abs()).unwrap_or(u64::MAX);
    // How far the clock was set is known as well as the packets allow.
    let about_ns = by_ns - by_ns / 8;
    match step.by_ns > 0 {
        true if pauses.then_ns < about_ns => Fits::Never,
        true if pauses.others_ns <= by_ns / 2 => Fits::Well,
        false if pauses.fall_ns >= by_ns / 2 => Fits::Well,
        // Silent for longer than it ever is.
        false if pauses.others_ns < about_ns => Fits::Never,
        _ => Fits::Perhaps,
    }
}
