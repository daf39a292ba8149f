//! Waiting for descriptors, and sleeping.

use core::ffi::c_void;

use netreel_shared::call::CallId;

use crate::attach;
use crate::hook::hook;
use crate::push::pushing;
use crate::replay::{self, Did};
use crate::sys::{self, EpollEvent, PollFd, TimeSpec, TimeVal, errno, set_errno};

/// How many ready descriptors stand in one event.
const READY_MAX: usize = 64;

/// A list of ready descriptors under way.
struct Ready {
    bytes: [u8; READY_MAX * 16],
    length: usize,
}

impl Ready {
    fn new() -> Ready {
        Ready {
            bytes: [0; READY_MAX * 16],
            length: 0,
        }
    }

    fn add(&mut self, parts: &[&[u8]]) {
        for part in parts {
            let end = self.length + part.len();
            if let Some(place) = self.bytes.get_mut(self.length..end) {
                place.copy_from_slice(part);
                self.length = end;
            }
        }
    }
}

/// Pushes the result of a wait. Leaves `errno` as it is. Returns `result`, as the others do.
fn after(call: CallId, result: i32, fill: impl FnOnce(&mut Ready)) -> i32 {
    if attach::generation().is_none() {
        return result;
    }
    let code = errno();
    if let Some(mut pushing) = pushing() {
        if result > 0 {
            let mut ready = Ready::new();
            fill(&mut ready);
            let details = ready.bytes.get(..ready.length).unwrap_or(&[]);
            pushing.called(call, result, &[details]);
        } else {
            let result = if result < 0 { -code } else { 0 };
            pushing.called(call, result, &[]);
        }
    }
    set_errno(code);
    result
}

/// Pushes the result of a wait for a list of descriptors.
///
/// # Safety
/// `list` leads to `count` entries.
pub unsafe fn after_poll(call: CallId, list: *const PollFd, count: usize, result: i32) -> i32 {
    after(call, result, |ready| {
        // SAFETY: the call succeeded, so the list is there.
        let list = unsafe { core::slice::from_raw_parts(list, count) };
        for one in list.iter().filter(|one| one.revents != 0).take(READY_MAX) {
            let events = u32::from(one.revents as u16);
            ready.add(&[&one.fd.to_le_bytes(), &events.to_le_bytes()]);
        }
    })
}

/// Pushes the result of a wait for sets of descriptors.
///
/// # Safety
/// Each set is null or has room for `count` bits.
pub unsafe fn after_select(call: CallId, count: i32, sets: [*const u64; 3], result: i32) -> i32 {
    after(call, result, |ready| {
        let mut found = 0;
        for fd in 0..count.max(0) {
            let mut events = 0u32;
            for (index, set) in sets.iter().enumerate() {
                if set.is_null() {
                    continue;
                }
                // SAFETY: the call succeeded, so the set is there.
                let word = unsafe { *set.add(fd as usize / 64) };
                if word >> (fd % 64) & 1 != 0 {
                    events |= 1 << index;
                }
            }
            if events != 0 && found < READY_MAX {
                ready.add(&[&fd.to_le_bytes(), &events.to_le_bytes()]);
                found += 1;
            }
        }
    })
}

/// Pushes the result of a wait for events.
///
/// # Safety
/// `list` leads to as many events as `result` says.
pub unsafe fn after_epoll(call: CallId, list: *const EpollEvent, result: i32) -> i32 {
    after(call, result, |ready| {
        // SAFETY: the call wrote this many.
        let list = unsafe { core::slice::from_raw_parts(list, result as usize) };
        for one in list.iter().take(READY_MAX) {
            let (events, data) = (one.events, one.data);
            ready.add(&[&events.to_le_bytes()[..], &data.to_le_bytes()[..]]);
        }
    })
}

/// Pushes that the program slept, or tried to; where a signal woke it, with what is left in the place
/// that it gave for that. Leaves `errno` as it is.
///
/// # Safety
/// `left` is null or leads to a time.
pub unsafe fn slept(nanos: u64, result: i32, left: *const TimeSpec) {
    let code = errno();
    if let Some(mut pushing) = pushing() {
        // SAFETY: the caller vouches for it.
        let left = unsafe { left.as_ref() }.filter(|_| result == -sys::EINTR);
        let left = left.map(|left| left.in_nanos().to_le_bytes());
        let left = left.as_ref().map_or(&[][..], |left| left);
        pushing.called(CallId::SLEEP, result, &[&nanos.to_le_bytes(), left]);
    }
    set_errno(code);
}

/// Where the kernel puts what is left of a sleep: nowhere where it is one up to a time of the clock.
pub fn left_of(flags: i32, left: *mut TimeSpec) -> *mut TimeSpec {
    const TIMER_ABSTIME: i32 = 1;
    match flags & TIMER_ABSTIME {
        0 => left,
        _ => core::ptr::null_mut(),
    }
}

/// A recorded result, as the C library gives it.
pub fn with_errno(result: i32) -> i32 {
    if result < 0 {
        set_errno(-result);
        return -1;
    }
    result
}

/// How long a time is.
///
/// # Safety
/// `time` is null or leads to a time.
pub unsafe fn nanos(time: *const TimeSpec) -> u64 {
    // SAFETY: the caller vouches for it.
    unsafe { time.as_ref() }.map_or(0, TimeSpec::in_nanos)
}

hook! {
    fn poll[real](list: *mut PollFd, count: u64, timeout: i32) -> i32 {
        if replay::on() && let Some(result) = replay::polls(CallId::POLL, list, count as usize) {
            return result;
        }
        let result = real(list, count, timeout);
        after_poll(CallId::POLL, list, count as usize, result)
    }

    fn __poll_chk[real](list: *mut PollFd, count: u64, timeout: i32, room: usize) -> i32 {
        if replay::on() && let Some(result) = replay::polls(CallId::POLL, list, count as usize) {
            return result;
        }
        let result = real(list, count, timeout, room);
        after_poll(CallId::POLL, list, count as usize, result)
    }

    fn ppoll[real](list: *mut PollFd, count: u64, timeout: *const TimeSpec, mask: *const c_void) -> i32 {
        if replay::on() && let Some(result) = replay::polls(CallId::PPOLL, list, count as usize) {
            return result;
        }
        let result = real(list, count, timeout, mask);
        after_poll(CallId::PPOLL, list, count as usize, result)
    }

    fn __ppoll_chk[real](list: *mut PollFd, count: u64, timeout: *const TimeSpec, mask: *const c_void, room: usize) -> i32 {
        if replay::on() && let Some(result) = replay::polls(CallId::PPOLL, list, count as usize) {
            return result;
        }
        let result = real(list, count, timeout, mask, room);
        after_poll(CallId::PPOLL, list, count as usize, result)
    }

    fn select[real](count: i32, readable: *mut u64, writable: *mut u64, exceptional: *mut u64, timeout: *mut TimeVal) -> i32 {
        let sets = [readable, writable, exceptional];
        if replay::on() && let Some(result) = replay::selects(CallId::SELECT, count, sets, timeout) {
            return result;
        }
        let result = real(count, readable, writable, exceptional, timeout);
        after_select(CallId::SELECT, count, [readable, writable, exceptional], result)
    }

    fn pselect[real](count: i32, readable: *mut u64, writable: *mut u64, exceptional: *mut u64, timeout: *const TimeSpec, mask: *const c_void) -> i32 {
        let sets = [readable, writable, exceptional];
        let nowhere = core::ptr::null_mut();
        if replay::on() && let Some(result) = replay::selects(CallId::PSELECT, count, sets, nowhere) {
            return result;
        }
        let result = real(count, readable, writable, exceptional, timeout, mask);
        after_select(CallId::PSELECT, count, [readable, writable, exceptional], result)
    }

    fn epoll_wait[real](epoll: i32, list: *mut EpollEvent, count: i32, timeout: i32) -> i32 {
        if replay::on() && let Some(result) = replay::epoll(CallId::EPOLL_WAIT, list, count) {
            return result;
        }
        let result = real(epoll, list, count, timeout);
        after_epoll(CallId::EPOLL_WAIT, list, result)
    }

    fn epoll_pwait[real](epoll: i32, list: *mut EpollEvent, count: i32, timeout: i32, mask: *const c_void) -> i32 {
        if replay::on() && let Some(result) = replay::epoll(CallId::EPOLL_PWAIT, list, count) {
            return result;
        }
        let result = real(epoll, list, count, timeout, mask);
        after_epoll(CallId::EPOLL_PWAIT, list, result)
    }

    fn epoll_pwait2[real](epoll: i32, list: *mut EpollEvent, count: i32, timeout: *const TimeSpec, mask: *const c_void) -> i32 {
        if replay::on() && let Some(result) = replay::epoll(CallId::EPOLL_PWAIT, list, count) {
            return result;
        }
        let result = real(epoll, list, count, timeout, mask);
        after_epoll(CallId::EPOLL_PWAIT, list, result)
    }

    fn epoll_ctl[real](epoll: i32, operation: i32, fd: i32, event: *mut EpollEvent) -> i32 {
        let result = real(epoll, operation, fd, event);
        let told = Did::called(CallId::EPOLL_CTL, fd);
        if replay::on() && let Some(result) = replay::call_with_errno(told) {
            return result;
        }
        let code = errno();
        if let Some(mut pushing) = pushing() {
            let events = event.as_ref().map_or(0, |event| event.events);
            let result = if result < 0 { -code } else { result };
            let (epoll, operation) = (epoll.to_le_bytes(), operation.to_le_bytes());
            let (fd, events) = (fd.to_le_bytes(), events.to_le_bytes());
            pushing.called(CallId::EPOLL_CTL, result, &[&epoll, &operation, &fd, &events]);
        }
        set_errno(code);
        result
    }

    fn nanosleep[real](time: *const TimeSpec, left: *mut TimeSpec) -> i32 {
        if replay::on() && let Some(result) = replay::slept(left) {
            return with_errno(result);
        }
        let asked = nanos(time);
        let result = real(time, left);
        slept(asked, if result < 0 { -errno() } else { 0 }, left);
        result
    }

    fn clock_nanosleep[real](clock: i32, flags: i32, time: *const TimeSpec, left: *mut TimeSpec) -> i32 {
        let place = left_of(flags, left);
        if replay::on() && let Some(result) = replay::slept(place) {
            return -result;
        }
        let asked = nanos(time);
        let result = real(clock, flags, time, left);
        slept(asked, -result, place);
        result
    }

    fn thrd_sleep[real](time: *const TimeSpec, left: *mut TimeSpec) -> i32 {
        if replay::on() && let Some(result) = replay::slept(left) {
            return if result == -sys::EINTR { -1 } else { result };
        }
        let asked = nanos(time);
        let result = real(time, left);
        // As C has it, -1 means that a signal came.
        slept(asked, if result == -1 { -sys::EINTR } else { result }, left);
        result
    }

    fn usleep[real](micros: u32) -> i32 {
        let nowhere = core::ptr::null_mut();
        if replay::on() && let Some(result) = replay::slept(nowhere) {
            return with_errno(result);
        }
        let result = real(micros);
        slept(u64::from(micros) * 1_000, if result < 0 { -errno() } else { 0 }, nowhere);
        result
    }

    fn sleep[real](seconds: u32) -> u32 {
        let nowhere = core::ptr::null_mut();
        if replay::on() && let Some(result) = replay::slept(nowhere) {
            return result as u32;
        }
        let result = real(seconds);
        slept(u64::from(seconds) * 1_000_000_000, result as i32, nowhere);
        result
    }
}
