//! How often a recording that is followed is looked at: twelve times a second, where that takes no more
//! than half a processor.
//!
//! What a look costs is the processor time that it took, not how long it was: on a machine that has other
//! work a look takes long and costs the same, and whoever waits for the next one has waited already.

use std::time::{Duration, Instant};

pub(crate) use netreel_system::clock::processor_time;

/// From the begin of a look to that of the next one it is at least this.
const EVERY: Duration = Duration::from_millis(80);

/// From the end of a look to the begin of the next one it is at least this.
const PAUSE_MIN: Duration = Duration::from_millis(10);

/// When the looks at a recording are due. Whoever looks, on one thread, waits for the
/// [pause](Rhythm::pause), says that a look [begins](Rhythm::begin), looks, and says that it
/// [ended](Rhythm::end).
#[derive(Debug)]
pub struct Rhythm {
    begun: Instant,
    /// What the thread had taken of a processor when the look began.
    used: Duration,
    due: Instant,
    is_first: bool,
}

impl Default for Rhythm {
    /// The first look is due at once.
    fn default() -> Rhythm {
        let now = Instant::now();
        Rhythm {
            begun: now,
            used: processor_time(),
            due: now,
            is_first: true,
        }
    }
}

impl Rhythm {
    /// A look begins now.
    pub fn begin(&mut self) {
        (self.begun, self.used) = (Instant::now(), processor_time());
    }

    /// The look that began last has ended now.
    pub fn end(&mut self) {
        let used = processor_time().saturating_sub(self.used);
        self.due = Instant::now() + pause(self.begun.elapsed(), used);
        self.is_first = false;
    }

    /// On how many processors the look that begins works at most; `None`: on all that there are. What a
    /// look costs is counted on its own thread, and what is new takes that one less time than it takes
    /// others to begin. The first and the last look have more to do, and no look waits for them.
    pub fn workers(&self, is_live: bool) -> Option<usize> {
        (is_live && !self.is_first).then_some(1)
    }

    /// How long it is until the next look.
    pub fn pause(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }
}

/// The pause after a look that was this long, and took this much processor time.
fn pause(took: Duration, used: Duration) -> Duration {
    EVERY.saturating_sub(took).max(used).max(PAUSE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(took_ms: u64, used_ms: u64, expected_ms: u64) {
        let [took, used, expected] = [took_ms, used_ms, expected_ms].map(Duration::from_millis);
        assert_eq!(pause(took, used), expected);
    }

    #[test]
    fn short_looks_begin_twelve_times_a_second() {
        check(5, 5, 75);
        check(30, 30, 50);
    }

    #[test]
    fn looks_take_no_more_than_half_a_processor() {
        check(60, 60, 60);
        check(4_000, 4_000, 4_000);
    }

    #[test]
    fn a_machine_with_other_work_is_not_waited_for_twice() {
        check(200, 30, 30);
        check(200, 2, 10);
    }
}
