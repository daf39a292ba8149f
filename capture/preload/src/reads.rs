//! Reads whose bytes are told: of the standard input, of sources of randomness, of counters and of what
//! children write.

use netreel_shared::call::CallId;

use crate::plainly::Plainly;
use crate::replay::{self, Did};
use crate::sys::IoVec;
use crate::{counters, push, sockets, threads};

/// Of a source's device, beside those of the functions that draw.
const DEVICE: u8 = 2;

/// Pushes the random bytes that the program was given, which may lie in several places. Leaves `errno` as
/// it is.
pub fn given_parts(source: u8, list: &[IoVec], result: isize) -> isize {
    if is_drawing() {
        return result;
    }
    if replay::on() {
        let did = Did::made(CallId::RANDOM);
        return replay::fill(did, list, 1).unwrap_or(result);
    }
    push::was_read(CallId::RANDOM, source, list, result)
}

/// Whether this thread is inside the function of C++ below, whose result is told as a whole.
fn is_drawing() -> bool {
    threads::own().is_some_and(|own| own.draws.get() != 0)
}

/// Reads the standard input by `real`, and pushes what came, or takes it out of a replay. `None`:
/// the descriptor is a UDP socket or a source of randomness.
///
/// # Safety
/// `buffer` has room for `length` bytes.
#[cold]
pub unsafe fn input(buffer: *mut u8, length: usize, real: impl FnOnce() -> isize) -> Option<isize> {
    if sockets::udp(0).is_some() || sockets::is_random_source(0) {
        return None;
    }
    // SAFETY: the caller vouches for it.
    let whole = [unsafe { IoVec::new(buffer, length) }];
    if replay::on() {
        let did = Did::called(CallId::INPUT, 0);
        return Some(replay::fill(did, &whole, 1).unwrap_or_else(real));
    }
    Some(push::was_read(CallId::INPUT, 0, &whole, real()))
}

/// After a read of any descriptor: pushes the bytes if they are random, or of a counter. Returns `result`.
///
/// # Safety
/// `buffer` leads to `result` bytes where that is positive.
#[inline]
pub unsafe fn after_read(fd: i32, buffer: *const u8, result: isize) -> isize {
    if sockets::is_told(fd) {
        // SAFETY: the caller vouches for it.
        let part = unsafe { IoVec::new(buffer, usize::try_from(result).unwrap_or(0)) };
        return told(fd, &[part], result);
    }
    result
}

/// The same for several buffers.
#[inline]
pub fn after_read_parts(fd: i32, list: &[IoVec], result: isize) -> isize {
    if sockets::is_told(fd) {
        return told(fd, list, result);
    }
    result
}

/// After a read of a descriptor whose bytes are told.
#[cold]
fn told(fd: i32, list: &[IoVec], result: isize) -> isize {
    match sockets::counter(fd) {
        Some(CallId::PIPE) => push::was_read(CallId::PIPE, 0, list, result),
        Some(call) => counters::was_read(call, fd, list, result),
        None if sockets::is_random_source(fd) => given_parts(DEVICE, list, result),
        None => result,
    }
}
