//! Reading clocks.

use core::ffi::c_void;
use core::sync::atomic::AtomicU64;

use netreel_shared::call::ClockId;

use crate::hook::hook;
use crate::plainly::{Plainly, zero};
use crate::push::pushing;
use crate::replay;
use crate::sys::{CLOCK_MONOTONIC, TimeSpec, TimeVal};
use crate::thread::now;

/// How far each of Linux's clocks is ahead of the monotonic one, and when that was measured, so
/// that a read of another clock needs no second one. Wrapping differences in nanoseconds.
static AHEAD: [(AtomicU64, AtomicU64); 16] = zero();
/// How long a measured distance is used.
const FRESH_NS: u64 = 100_000_000;
/// Clocks whose value moves with the monotonic one: real, raw, coarse, boot, alarm, TAI.
const STEADY: u32 = 0b1011_1111_0001;

/// What the program is told where `clock` answers `value`, which it takes from Linux's clock
/// `source`: in a replay what it was told then, otherwise the same, which is pushed.
#[inline]
fn told(source: i32, clock: ClockId, value: u64) -> u64 {
    if replay::on() {
        return replay::clock(clock).unwrap_or(value);
    }
    push(source, clock, value);
    value
}

fn push(source: i32, clock: ClockId, value: u64) {
    let Some(mut pushing) = pushing() else { return };
    if source == CLOCK_MONOTONIC {
        pushing.clock_read(value, clock, value);
        return;
    }
    let index = usize::try_from(source).unwrap_or(usize::MAX);
    let known = AHEAD
        .get(index)
        .filter(|_| STEADY & (1 << index) != 0 && clock != ClockId::TIME);
    let time = match known {
        Some((ahead, measured)) => {
            let mut time = value.wrapping_sub(ahead.get());
            if time.wrapping_sub(measured.get()) >= FRESH_NS {
                time = now();
                ahead.set(value.wrapping_sub(time));
                measured.set(time);
            }
            time
        }
        None => pushing.latest(),
    };
    pushing.clock_read(time, clock, value);
}

/// Writes nanoseconds where the program has a time, in a replay.
fn put(time: &mut TimeSpec, nanos: u64) {
    if replay::on() {
        *time = TimeSpec::of_nanos(nanos);
    }
}

/// Tells of reading the calendar's time in microseconds.
///
/// # Safety
/// `time` is null or leads to a time.
pub unsafe fn after_gettimeofday(result: isize, time: *mut TimeVal) {
    // SAFETY: the caller vouches for it.
    if let Some(time) = unsafe { time.as_mut() }.filter(|_| result == 0) {
        let value = (time.seconds as u64)
            .wrapping_mul(1_000_000)
            .wrapping_add(time.micros as u64)
            .wrapping_mul(1_000);
        let told = told(0, ClockId::GETTIMEOFDAY, value) / 1_000;
        if replay::on() {
            time.seconds = (told / 1_000_000) as i64;
            time.micros = (told % 1_000_000) as i64;
        }
    }
}

/// Tells of reading the calendar's time in seconds; what the program is told.
///
/// # Safety
/// `place` is null or leads to the seconds.
pub unsafe fn after_time(result: i64, place: *mut i64) -> i64 {
    if result == -1 {
        return result;
    }
    let value = (result as u64).wrapping_mul(1_000_000_000);
    let told = told(0, ClockId::TIME, value);
    if !replay::on() {
        return result;
    }
    let told = (told / 1_000_000_000) as i64;
    // SAFETY: the caller vouches for it.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = told;
    }
    told
}

hook! {
    fn clock_gettime[goes_on](clock: i32, time: *mut TimeSpec) -> i32 {
        let result = goes_on();
        if result == 0 && let Some(time) = time.as_mut() {
            // Clocks of processes and descriptors have negative numbers.
            let id = ClockId(u8::try_from(clock).map_or(127, |id| id.min(127)));
            put(time, told(clock, id, time.in_nanos()));
        }
        result
    }

    fn gettimeofday | __gettimeofday[goes_on](time: *mut TimeVal, zone: *mut c_void) -> i32 {
        let result = goes_on();
        after_gettimeofday(result as isize, time);
        result
    }

    fn time[goes_on](place: *mut i64) -> i64 {
        after_time(goes_on(), place)
    }

    fn timespec_get[goes_on](time: *mut TimeSpec, base: i32) -> i32 {
        let result = goes_on();
        if result != 0 && let Some(time) = time.as_mut() {
            put(time, told(0, ClockId::REALTIME, time.in_nanos()));
        }
        result
    }

    fn clock[goes_on]() -> i64 {
        let result = goes_on();
        // Processor time in microseconds.
        let told = told(2, ClockId(2), (result as u64).wrapping_mul(1_000));
        if replay::on() { (told / 1_000) as i64 } else { result }
    }
}
