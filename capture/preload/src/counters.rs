//! Descriptors that count: eventfds and timerfds that the program makes. What it reads of them is
//! pushed, and that it raises an eventfd.
//!
//! An eventfd is raised before that is done, so that whatever the thread did before comes before what
//! another thread does that was woken by it, in a replay too.

use netreel_shared::call::CallId;

use crate::hook::hook;
use crate::replay::{self, Did};
use crate::sys::{IoVec, TimeSpec, or_code, with_errno};
use crate::vectors::Vectors;
use crate::{push, sockets};

/// What was done: read, about to be raised, not raised after all.
const READ: u8 = 0;
const RAISED: u8 = 1;
const NOT_RAISED: u8 = 2;
/// A timerfd was set, or asked for.
const SET: u8 = 1;
const ASKED: u8 = 2;

/// What stands before the bytes: the descriptor, and what was done.
const HEAD: usize = 5;

/// Pushes what was done, with these bytes. Leaves `errno` as it is.
fn tell(call: CallId, fd: i32, what: u8, result: isize, bytes: &[u8]) {
    let result = or_code(result as i32);
    push::called(call, result, &[&fd.to_le_bytes(), &[what], bytes]);
}

/// After a read of such a descriptor: pushes what it gave. Returns `result`.
pub fn was_read(call: CallId, fd: i32, list: &[IoVec], result: isize) -> isize {
    let mut value = [0u8; 8];
    let length = usize::try_from(result).map_or(0, |length| length.min(value.len()));
    // SAFETY: room for so many.
    unsafe { Vectors::new(list).take(value.as_mut_ptr(), length) };
    tell(call, fd, READ, result, value.get(..length).unwrap_or(&[]));
    result
}

/// What a read of such a descriptor gave; `None`: it is none, or is not replayed.
#[inline]
pub fn replayed(fd: i32, list: &[IoVec]) -> Option<isize> {
    let call = sockets::counter(fd)?;
    let (is_told, head) = match call {
        CallId::PIPE => (replay::tells_of_children(), 1),
        _ => (replay::tells_of_meetings(), HEAD),
    };
    if !is_told {
        return None;
    }
    replay::fill(Did::called(call, fd), list, head)
}

/// The program raises an eventfd by `real`, with the number at `buffer`. Nothing can be written to a
/// timerfd, which the kernel says.
///
/// # Safety
/// `buffer` leads to `length` bytes.
#[cold]
pub unsafe fn raises(
    call: CallId,
    fd: i32,
    buffer: *const u8,
    length: usize,
    real: impl FnOnce() -> isize,
) -> isize {
    if call != CallId::EVENTFD || length < 8 || buffer.is_null() {
        return real();
    }
    if replay::on() {
        let did = Did::called(call, fd);
        let told = replay::tells_of_meetings().then(|| replay::raises(did));
        let Some(result) = told.flatten() else {
            return real();
        };
        if replay::lets_others_run() {
            real();
        }
        return if with_errno(result) < 0 { -1 } else { 8 };
    }
    // SAFETY: the caller vouches for it.
    let value = unsafe { buffer.cast::<[u8; 8]>().read_unaligned() };
    tell(call, fd, RAISED, 8, &value);
    let result = real();
    if result < 0 {
        tell(call, fd, NOT_RAISED, result, &[]);
    }
    result
}

/// How long a timer has to go, and how often it comes again.
pub type Timer = [TimeSpec; 2];

/// Pushes what a timerfd said. Returns `result`.
///
/// # Safety
/// `timer` is null or leads to one, which the call has filled where it returned 0.
unsafe fn timed(fd: i32, what: u8, result: i32, timer: *const Timer) -> i32 {
    // SAFETY: the caller vouches for it; a timer is four numbers.
    let bytes = unsafe { timer.cast::<[u8; size_of::<Timer>()]>().as_ref() };
    let bytes = bytes.filter(|_| result == 0).map_or(&[][..], |it| it);
    tell(CallId::TIMERFD, fd, what, result as isize, bytes);
    result
}

/// What a timerfd said then; `None`: it is not replayed.
///
/// # Safety
/// `timer` is null or has room for one.
unsafe fn timed_then(fd: i32, timer: *mut Timer) -> Option<i32> {
    if !replay::tells_of_meetings() {
        return None;
    }
    // SAFETY: the caller vouches for it.
    let place = [unsafe { IoVec::new(timer.cast(), size_of::<Timer>()) }];
    let list = if timer.is_null() { &[][..] } else { &place };
    let told = replay::fill(Did::called(CallId::TIMERFD, fd), list, HEAD);
    told.map(|result| result as i32)
}

hook! {
    fn eventfd[goes_on](value: u32, flags: i32) -> i32 {
        sockets::made_counter(goes_on(), CallId::EVENTFD)
    }

    fn timerfd_create[goes_on](clock: i32, flags: i32) -> i32 {
        sockets::made_counter(goes_on(), CallId::TIMERFD)
    }

    fn eventfd_read[goes_on](fd: i32, value: *mut u64) -> i32 {
        let place = [IoVec::new(value.cast(), 8)];
        if replay::on() && let Some(result) = replayed(fd, &place) {
            return if result < 0 { -1 } else { 0 };
        }
        let result = goes_on();
        if let Some(call) = sockets::counter(fd) {
            was_read(call, fd, &place, if result < 0 { -1 } else { 8 });
        }
        result
    }

    fn eventfd_write[goes_on](fd: i32, value: u64) -> i32 {
        let bytes = (&raw const value).cast();
        let Some(call) = sockets::counter(fd) else {
            return goes_on();
        };
        let result = raises(call, fd, bytes, 8, || goes_on() as isize);
        if result < 0 { -1 } else { 0 }
    }

    fn timerfd_settime[goes_on](fd: i32, flags: i32, new: *const Timer, old: *mut Timer) -> i32 {
        let result = goes_on();
        timed_then(fd, old).unwrap_or_else(|| timed(fd, SET, result, old))
    }

    fn timerfd_gettime[goes_on](fd: i32, now: *mut Timer) -> i32 {
        if let Some(result) = timed_then(fd, now) {
            return result;
        }
        let result = goes_on();
        timed(fd, ASKED, result, now)
    }
}
