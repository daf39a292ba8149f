//! Where clocks were set, on the session's clock.

use super::Builder;
use crate::session::clock::Step;
use crate::session::clock::map::ClockMap;
use crate::session::clock::pieces::BACK_NS;
use crate::session::{ClockStep, SessionTime};

impl Builder<'_> {
    /// Says where clocks were set.
    pub(super) fn set_clocks(&self, warnings: &mut Vec<String>) {
        for (reel, source) in self.sources.iter().enumerate() {
            for step in self.steps(reel) {
                let (way, other) = if step.by_ns < 0 {
                    ("back", "forward")
                } else {
                    ("forward", "back")
                };
                let seconds = |time: SessionTime| time.0 as f64 / 1e9;
                let or_else = match (step.or_else, self.sources.first()) {
                    (true, _) if self.is_own(reel) => {
                        format!("; or else all others were set {other} by as much then")
                    }
                    (true, Some(first)) => format!(
                        "; or else {}'s was set {other} by as much then, on which the session is \
                         told",
                        first.node
                    ),
                    _ => String::new(),
                };
                warnings.push(format!(
                    "the clock of {} was set {way} by {:.6} s between {:.6} s and {:.6} s of the \
                     session: where it was in between is known to that alone{or_else}",
                    source.node,
                    step.by_ns.unsigned_abs() as f64 / 1e9,
                    seconds(step.time.start),
                    seconds(step.time.end),
                ));
            }
        }
    }

    /// Where a reel's clock was set.
    pub(super) fn steps(&self, reel: usize) -> Vec<ClockStep> {
        let told = self.clocks[reel].steps.iter().map(|step| ClockStep {
            time: self.time(reel, step.last)..self.time(reel, step.first),
            by_ns: i64::try_from(step.by_ns).unwrap_or(i64::MAX),
            or_else: self.or_else(reel, step),
        });
        told.collect()
    }

    /// Whether a reel is on the clock of the first one, on which the session is told.
    fn is_own(&self, reel: usize) -> bool {
        let boot = |reel: usize| &self.sources[reel].reel.header().clock.boot_id;
        reel == 0 || boot(reel) == boot(0) && !boot(0).is_empty()
    }

    /// Whether it may be the other way round, see [`ClockStep::or_else`]: the reels leave it open, or it
    /// is a step so short that none could show it, and all other clocks were set alike.
    fn or_else(&self, reel: usize, step: &Step) -> bool {
        if step.is_open {
            return true;
        }
        if step.shows_itself || self.is_own(reel) {
            return false;
        }
        if step.by_ns.unsigned_abs() > u128::from(BACK_NS) {
            return false;
        }
        let at = self.moments(reel, step);
        let error_ns = |reel: usize| self.clocks[reel].error_ns;
        let is_alike = |other: usize, its: &Step| {
            let its_at = self.moments(other, its);
            let apart_ns = its.by_ns.abs_diff(step.by_ns);
            let open_ns = u128::from(error_ns(reel)) + u128::from(error_ns(other));
            its_at.0 < at.1 && at.0 < its_at.1 && apart_ns <= 2 * open_ns
        };
        let mut clocks = self.clocks.iter().enumerate();
        clocks.all(|(other, clock)| match clock.map {
            // These are on the session's clock.
            ClockMap::Shift(_) => true,
            ClockMap::Stretches(_) if other == 0 => false,
            ClockMap::Stretches(_) => {
                clock.steps.iter().any(|its| is_alike(other, its)) || !self.covers(other, at)
            }
        })
    }

    /// When a clock was set, at the earliest and at the latest.
    fn moments(&self, reel: usize, step: &Step) -> (SessionTime, SessionTime) {
        (self.time(reel, step.last), self.time(reel, step.first))
    }

    /// Whether a reel reaches over a stretch of the session.
    fn covers(&self, reel: usize, (begin, end): (SessionTime, SessionTime)) -> bool {
        let span = self.scans[reel].span.map(|span| self.span(reel, span));
        span.is_some_and(|span| span.start <= begin && end <= span.end)
    }
}
