//! From the calendar, by which the kernel stamps packets, to the clock of the reels.

use std::time::{SystemTime, UNIX_EPOCH};

use netreel_reel::Time;
use netreel_transport::monotonic_now;

/// How far the calendar is ahead of the monotonic clock. Measured often, because a calendar is set
/// and slewed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calendar {
    ahead_ns: i128,
    measured: Time,
}

impl Calendar {
    /// Measures now, as the closest of a few tries.
    pub fn now() -> Calendar {
        let tries = (0..4).map(|_| {
            let before = monotonic_now();
            let utc = SystemTime::now().duration_since(UNIX_EPOCH);
            let after = monotonic_now();
            let width = after.0.saturating_sub(before.0);
            let middle = i128::from(before.0) + i128::from(width / 2);
            let utc_ns = utc.map_or(0, |utc| utc.as_nanos() as i128);
            let calendar = Calendar {
                ahead_ns: utc_ns - middle,
                measured: after,
            };
            (width, calendar)
        });
        let (_, calendar) = tries.min_by_key(|(width, _)| *width).unwrap_or_default();
        calendar
    }

    /// A moment of the calendar on the monotonic clock.
    pub fn monotonic_ns(&self, utc_ns: i128) -> u64 {
        u64::try_from((utc_ns - self.ahead_ns).max(0)).unwrap_or(u64::MAX)
    }

    /// It holds at a later moment as well: what stamps packets does not follow the calendar.
    pub fn stands_until(&mut self, now: Time) {
        self.measured = now;
    }

    /// When it was measured.
    pub fn latest(&self) -> Time {
        self.measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_calendar_says_now_is_now_on_the_monotonic_clock() {
        let before = monotonic_now();
        let calendar = Calendar::now();
        let utc = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let found = calendar.monotonic_ns(utc.as_nanos() as i128);
        let after = monotonic_now();
        // The two clocks are read one after the other, each at most so far apart.
        let slack = after.0 - before.0;
        assert!((before.0.saturating_sub(slack)..=after.0 + slack).contains(&found));
    }

    #[test]
    fn a_moment_before_the_clocks_zero_is_its_zero() {
        assert_eq!(Calendar::now().monotonic_ns(0), 0);
    }
}
