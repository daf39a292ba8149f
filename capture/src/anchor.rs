//! Tying a node's clock to the calendar and to its machine.

use std::time::{SystemTime, UNIX_EPOCH};

use netreel_reel::{ClockAnchor, Time};
use netreel_transport::monotonic_now;

/// The anchor of `CLOCK_MONOTONIC` now, on this machine.
pub fn clock_anchor() -> ClockAnchor {
    let before = monotonic_now();
    let utc = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let after = monotonic_now();
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    ClockAnchor {
        monotonic: Time(before.0 + after.0.saturating_sub(before.0) / 2),
        utc_ns: i64::try_from(utc.as_nanos()).unwrap_or(i64::MAX),
        boot_id: boot_id.trim().to_owned(),
    }
}
