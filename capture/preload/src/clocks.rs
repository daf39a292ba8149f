//! Reading clocks.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::call::ClockId;
use crate::hook::hook;
use crate::push::pushing;
use crate::sys::{CLOCK_MONOTONIC, TimeSpec, TimeVal};
use crate::thread::now;

/// How far each of Linux's clocks is ahead of the monotonic one, and when that was measured, so
/// that a read of another clock needs no second one. Wrapping differences in nanoseconds.
static AHEAD: [(AtomicU64, AtomicU64); 16] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 16];
/// How long a measured distance is used.
const FRESH_NS: u64 = 100_000_000;
/// Clocks whose value moves with the monotonic one: real, raw, coarse, boot, alarm, TAI.
const STEADY: u32 = 0b1011_1111_0001;

/// Pushes that `clock` answered `value`, which it takes from Linux's clock `source`.
fn told(source: i32, clock: ClockId, value: u64) {
    let Some(mut pushing) = pushing() else { return };
    if source == CLOCK_MONOTONIC {
        pushing.clock_read(value, clock, value);
        return;
    }
    let index = usize::try_from(source).unwrap_or(usize::MAX);
    let known = AHEAD
        .get(index)
        .filter(|_| STEADY & (1 << index) != 0 && clock != ClockId::TIME);
    let Some((ahead, measured)) = known else {
        let time = pushing.latest();
        pushing.clock_read(time, clock, value);
        return;
    };
    let time = value.wrapping_sub(ahead.load(Ordering::Relaxed));
    let age = time.wrapping_sub(measured.load(Ordering::Relaxed));
    let time = if age < FRESH_NS {
        time
    } else {
        let time = now();
        ahead.store(value.wrapping_sub(time), Ordering::Relaxed);
        measured.store(time, Ordering::Relaxed);
        time
    };
    pushing.clock_read(time, clock, value);
}

/// Pushes the result of reading the calendar's time in microseconds.
///
/// # Safety
/// `time` is null or leads to a time.
pub unsafe fn after_gettimeofday(result: isize, time: *const TimeVal) {
    // SAFETY: the caller vouches for it.
    if let Some(time) = unsafe { time.as_ref() }.filter(|_| result == 0) {
        let value = (time.seconds as u64)
            .wrapping_mul(1_000_000)
            .wrapping_add(time.micros as u64)
            .wrapping_mul(1_000);
        told(0, ClockId::GETTIMEOFDAY, value);
    }
}

/// Pushes the result of reading the calendar's time in seconds.
pub fn after_time(result: i64) {
    if result != -1 {
        let value = (result as u64).wrapping_mul(1_000_000_000);
        told(0, ClockId::TIME, value);
    }
}

hook! {
    fn clock_gettime[real](clock: i32, time: *mut TimeSpec) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(clock, time);
            if result == 0 && let Some(time) = time.as_ref() {
                // Clocks of processes and descriptors have negative numbers.
                let id = ClockId(u8::try_from(clock).map_or(127, |id| id.min(127)));
                told(clock, id, time.in_nanos());
            }
            result
        }
    }

    fn gettimeofday[real](time: *mut TimeVal, zone: *mut c_void) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(time, zone);
            after_gettimeofday(result as isize, time);
            result
        }
    }

    fn time[real](place: *mut i64) -> i64 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(place);
            after_time(result);
            result
        }
    }

    fn timespec_get[real](time: *mut TimeSpec, base: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(time, base);
            if result != 0 && let Some(time) = time.as_ref() {
                told(0, ClockId::REALTIME, time.in_nanos());
            }
            result
        }
    }

    fn clock[real]() -> i64 {
        // SAFETY: asks for a number.
        let result = unsafe { real() };
        // Processor time in microseconds.
        told(2, ClockId(2), (result as u64).wrapping_mul(1_000));
        result
    }
}
