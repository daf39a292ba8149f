//! The clocks of all reels as they were found: how each is read on the session's, and where it was set.

use netreel_reel::Time;

use super::map::ClockMap;
use super::pieces::Reading;

/// How to read one reel's clock on the session's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Alignment {
    pub map: ClockMap,
    /// How far that may be off; `u64::MAX` where only the calendars tie the clocks. Around a step
    /// it may be further off, see [`ClockMap::error_ns`].
    pub error_ns: u64,
    /// Where the clock was set, in the order of the reel.
    pub steps: Vec<Step>,
}

/// A clock was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// On the reel's clock: the last moment that is before it for sure, and the first after it.
    pub last: Time,
    pub first: Time,
    /// Forward by this much.
    pub by_ns: i128,
    /// Whether the reel's own times fall there.
    pub shows_itself: bool,
    /// Whether packets fit as well that others were set, the other way.
    pub is_open: bool,
}

/// Between these times a clock may be further off, by this much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loose {
    pub clock: usize,
    pub epoch: usize,
    pub from: u64,
    pub until: u64,
    pub by_ns: u64,
}

/// The clocks of all reels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aligned {
    pub clocks: Vec<Alignment>,
    /// Whether no even drift and no steps that were found explain the packets.
    pub is_unexplained: bool,
}

impl Aligned {
    /// All reels have one clock.
    pub fn one(reels: usize) -> Aligned {
        Aligned {
            clocks: vec![Alignment::default(); reels],
            is_unexplained: false,
        }
    }

    /// Of the steps that may be of others as well, says so: of those of the first clock forward, and of
    /// those of others back.
    pub(super) fn leave_open(&mut self) {
        for (reel, clock) in self.clocks.iter_mut().enumerate() {
            for step in clock.steps.iter_mut().filter(|step| !step.shows_itself) {
                step.is_open = (step.by_ns > 0) == (reel == 0);
            }
        }
    }

    /// Lets clocks be further off where packets leave that open.
    pub(super) fn loosen(&mut self, readings: &[Reading], edges: &[Loose]) {
        for edge in edges {
            let clocks = self.clocks.iter_mut().zip(readings);
            for (clock, reading) in clocks.filter(|(_, reading)| reading.clock == edge.clock) {
                let Some(epoch) = reading.epochs.get(edge.epoch) else {
                    continue;
                };
                let map = std::mem::take(&mut clock.map);
                clock.map = map.looser(epoch.number, (edge.from, edge.until), edge.by_ns);
                let times = [edge.from, edge.until.min(epoch.span.last)];
                let errors = times.map(|at| clock.map.error_ns(epoch.number, Time(at)));
                clock.error_ns = errors.into_iter().fold(clock.error_ns, u64::max);
            }
        }
    }

    /// The same, on a clock that is 0 at this time.
    pub fn with_zero(mut self, zero_ns: i128) -> Aligned {
        for clock in &mut self.clocks {
            clock.map = std::mem::take(&mut clock.map).moved(-zero_ns);
        }
        self
    }
}
