//! Tying a node's clock to the calendar and to its machine.

use std::time::{SystemTime, UNIX_EPOCH};

use netreel_reel::{ClockAnchor, Time};
use netreel_transport::monotonic_now;

/// The anchor of the monotonic clock now, on this machine.
pub fn clock_anchor() -> ClockAnchor {
    let before = monotonic_now();
    let utc_ns = utc_now_ns();
    let after = monotonic_now();
    ClockAnchor {
        monotonic: Time(before.0 + after.0.saturating_sub(before.0) / 2),
        utc_ns,
        boot_id: netreel_system::clock::boot_id(),
    }
}

/// Nanoseconds since 1970-01-01T00:00:00Z.
pub(crate) fn utc_now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}
