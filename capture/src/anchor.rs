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

/// Nanoseconds since 1970-01-01T00:00:00Z.
pub(crate) fn utc_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}
