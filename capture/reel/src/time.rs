//! Time in nanoseconds. No clock is read here.

use serde::{Deserialize, Serialize};

/// A point on one node's monotonic clock, in nanoseconds since that clock's own zero
/// (on Linux, `CLOCK_MONOTONIC`: the boot of the machine; in a simulated world, its start).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

/// A length of time. The standard library's, so that engines need no type of ours.
pub type Duration = std::time::Duration;

impl Time {
    /// The zero of the clock.
    pub const ZERO: Time = Time(0);

    /// Nanoseconds since the zero of the clock.
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero where `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// In nanoseconds; those of more than 584 years are as many as there can be.
fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

impl std::ops::Add<Duration> for Time {
    type Output = Time;
    fn add(self, length: Duration) -> Time {
        Time(self.0.saturating_add(nanos(length)))
    }
}

/// The zero of the clock where that is later.
impl std::ops::Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, length: Duration) -> Time {
        Time(self.0.saturating_sub(nanos(length)))
    }
}
