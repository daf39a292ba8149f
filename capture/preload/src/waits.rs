//! Waiting for descriptors, and sleeping.

use netreel_shared::call::CallId;

use crate::hook::hook;
use crate::replay::{self, Did};
use crate::row::Row;
use crate::sys::{self, EpollEvent, Opaque, PollFd, TimeSpec, TimeVal, or_code, with_errno};
use crate::{attach, push};

/// How many ready descriptors stand in one event.
const READY_MAX: usize = 64;

/// A list of ready descriptors under way.
type Ready = Row<{ READY_MAX * 16 }>;

/// Pushes the result of a wait. Leaves `errno` as it is. Returns `result`, as the others do.
fn after(call: CallId, result: i32, fill: impl FnOnce(&mut Ready)) -> i32 {
    if attach::generation().is_none() {
        return result;
    }
    if result <= 0 {
        push::called(call, or_code(result), &[]);
    } else if attach::is_on() {
        let mut ready = Ready::new();
        fill(&mut ready);
        push::called(call, result, &[ready.bytes()]);
    }
    result
}

/// Waits by `real` for a list of descriptors; in a replay as it was then.
///
/// # Safety
/// `list` leads to as many entries as `count` says.
pub unsafe fn polls(
    call: CallId,
    list: *mut PollFd,
    count: usize,
    real: impl FnOnce() -> i32,
) -> i32 {
    // SAFETY: the caller vouches for it.
    if let Some(result) = replayed(|| unsafe { replay::polls(call, list, count) }) {
        return result;
    }
    after(call, real(), |ready| {
        // SAFETY: the call succeeded, so the list is there.
        let list = unsafe { sys::slice(list, count) };
        for one in list.iter().filter(|one| one.revents != 0).take(READY_MAX) {
            ready.add(&one.fd.to_le_bytes());
            ready.add(&u32::from(one.revents as u16).to_le_bytes());
        }
    })
}

/// The same for sets of descriptors.
///
/// # Safety
/// Each set is null or has `count` bits, and `timeout` is null or a time.
pub unsafe fn selects(
    call: CallId,
    count: i32,
    sets: [*mut u64; 3],
    timeout: *mut TimeVal,
    real: impl FnOnce() -> i32,
) -> i32 {
    // SAFETY: the caller vouches for it.
    if let Some(result) = replayed(|| unsafe { replay::selects(call, count, sets, timeout) }) {
        return result;
    }
    after(call, real(), |ready| {
        let events = |fd| {
            // SAFETY: a set has a bit for each descriptor below `count`.
            let [readable, writable, exceptional] = sets.map(|set| unsafe { sys::is_in(set, fd) });
            u32::from(readable) | u32::from(writable) << 1 | u32::from(exceptional) << 2
        };
        let all = (0..count).map(|fd| (fd, events(fd)));
        for (fd, events) in all.filter(|it| it.1 != 0).take(READY_MAX) {
            ready.add(&fd.to_le_bytes());
            ready.add(&events.to_le_bytes());
        }
    })
}

/// The same for events.
///
/// # Safety
/// `list` has room for `count` events.
pub unsafe fn epolls(
    call: CallId,
    list: *mut EpollEvent,
    count: i32,
    real: impl FnOnce() -> i32,
) -> i32 {
    // SAFETY: the caller vouches for it.
    if let Some(result) = replayed(|| unsafe { replay::epoll(call, list, count) }) {
        return result;
    }
    let result = real();
    after(call, result, |ready| {
        // SAFETY: the kernel has filled that many.
        let list = unsafe { sys::slice(list, result) };
        for one in list.iter().take(READY_MAX) {
            let (events, data) = (one.events, one.data);
            ready.add(&events.to_le_bytes());
            ready.add(&data.to_le_bytes());
        }
    })
}

/// What a replay says, where this is one and it does.
fn replayed(says: impl FnOnce() -> Option<i32>) -> Option<i32> {
    if replay::on() { says() } else { None }
}

/// Sleeps so long by `real`, which answers a negative error code where it fails; in a replay as it was
/// then. Where a signal woke the thread, what is left stands in the place that the program gave for that.
/// Leaves `errno` as `real` does.
///
/// # Safety
/// `left` is null or leads to a time, where a signal woke the thread.
pub unsafe fn sleeps(
    nanos: impl FnOnce() -> u64,
    left: *mut TimeSpec,
    real: impl FnOnce() -> i32,
) -> i32 {
    // SAFETY: the caller vouches for it.
    if let Some(result) = replayed(|| unsafe { replay::slept(left) }) {
        return result;
    }
    let result = real();
    // Nothing of the program's is read where nothing is recorded.
    if !attach::records() {
        return result;
    }
    // SAFETY: as above.
    let left = unsafe { left.as_ref() }.filter(|_| result == -sys::EINTR);
    let left = left.map(|left| left.in_nanos().to_le_bytes());
    let left = left.as_ref().map_or(&[][..], |left| left);
    push::called(CallId::SLEEP, result, &[&nanos().to_le_bytes(), left]);
    result
}

/// Where the kernel puts what is left of a sleep: nowhere where it is one up to a time of the clock.
pub fn left_of(flags: i32, left: *mut TimeSpec) -> *mut TimeSpec {
    const TIMER_ABSTIME: i32 = 1;
    match flags & TIMER_ABSTIME {
        0 => left,
        _ => core::ptr::null_mut(),
    }
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
    fn poll | __poll[goes_on](list: *mut PollFd, count: u64, timeout: i32),
    fn __poll_chk[goes_on](list: *mut PollFd, count: u64, timeout: i32, room: usize) -> i32 {
        polls(CallId::POLL, list, count as usize, goes_on)
    }

    fn ppoll[goes_on](list: *mut PollFd, count: u64, timeout: *const TimeSpec, mask: Opaque),
    fn __ppoll_chk[goes_on](list: *mut PollFd, count: u64, timeout: *const TimeSpec, mask: Opaque, room: usize) -> i32 {
        polls(CallId::PPOLL, list, count as usize, goes_on)
    }

    fn select | __select[goes_on](count: i32, readable: *mut u64, writable: *mut u64, exceptional: *mut u64, timeout: *mut TimeVal) -> i32 {
        let sets = [readable, writable, exceptional];
        selects(CallId::SELECT, count, sets, timeout, goes_on)
    }

    fn pselect[goes_on](count: i32, readable: *mut u64, writable: *mut u64, exceptional: *mut u64, timeout: *const TimeSpec, mask: Opaque) -> i32 {
        let (sets, nowhere) = ([readable, writable, exceptional], core::ptr::null_mut());
        selects(CallId::PSELECT, count, sets, nowhere, goes_on)
    }

    fn epoll_wait[goes_on](epoll: i32, list: *mut EpollEvent, count: i32, timeout: i32) -> i32 {
        epolls(CallId::EPOLL_WAIT, list, count, goes_on)
    }

    fn epoll_pwait[goes_on](epoll: i32, list: *mut EpollEvent, count: i32, timeout: i32, mask: Opaque),
    fn epoll_pwait2[goes_on](epoll: i32, list: *mut EpollEvent, count: i32, timeout: *const TimeSpec, mask: Opaque) -> i32 {
        epolls(CallId::EPOLL_PWAIT, list, count, goes_on)
    }

    fn epoll_ctl[goes_on](epoll: i32, operation: i32, fd: i32, event: *mut EpollEvent) -> i32 {
        let result = goes_on();
        let told = Did::called(CallId::EPOLL_CTL, fd);
        if replay::on() && let Some(result) = replay::call(told) {
            return with_errno(result);
        }
        // What stops watching may name any place.
        let events = match attach::records() {
            true => event.as_ref().map_or(0, |event| event.events),
            false => 0,
        };
        let (epoll, operation) = (epoll.to_le_bytes(), operation.to_le_bytes());
        let (fd, events) = (fd.to_le_bytes(), events.to_le_bytes());
        push::called(CallId::EPOLL_CTL, or_code(result), &[&epoll, &operation, &fd, &events]);
        result
    }

    fn nanosleep | __nanosleep[goes_on](time: *const TimeSpec, left: *mut TimeSpec) -> i32 {
        with_errno(sleeps(|| nanos(time), left, || or_code(goes_on())))
    }

    fn clock_nanosleep[goes_on](clock: i32, flags: i32, time: *const TimeSpec, left: *mut TimeSpec) -> i32 {
        -sleeps(|| nanos(time), left_of(flags, left), || -goes_on())
    }

    fn thrd_sleep[goes_on](time: *const TimeSpec, left: *mut TimeSpec) -> i32 {
        // As C has it, -1 means that a signal came.
        let result = sleeps(|| nanos(time), left, || match goes_on() {
            -1 => -sys::EINTR,
            result => result,
        });
        if result == -sys::EINTR { -1 } else { result }
    }

    fn usleep[goes_on](micros: u32) -> i32 {
        let (nanos, nowhere) = (u64::from(micros) * 1_000, core::ptr::null_mut());
        with_errno(sleeps(|| nanos, nowhere, || or_code(goes_on())))
    }

    fn sleep[goes_on](seconds: u32) -> u32 {
        let (nanos, nowhere) = (u64::from(seconds) * 1_000_000_000, core::ptr::null_mut());
        sleeps(|| nanos, nowhere, || goes_on() as i32) as u32
    }
}
