//! The program's own seccomp filters: calls that they forbid to the program would end it when this
//! library makes them. So it keeps a [copy](filters) of each, asks it before every call of its own,
//! and does without what is forbidden.

use netreel_shared::call::{CallId, PastId};

use crate::filters::{self, Filter};
use crate::hook::hook;
use crate::row::Row;
use crate::sys::{self, nr};
use crate::{attach, push};

/// What this library asks, for a sentence: with arguments as it makes them most often.
const ASKED: [(usize, [usize; 6]); 7] = [
    (
        nr::GETSOCKOPT,
        [0, sys::SOL_SOCKET as usize, sys::SO_TYPE as usize, 0, 0, 0],
    ),
    (nr::GETSOCKNAME, [0; 6]),
    (nr::GETPEERNAME, [0; 6]),
    (nr::FSTAT, [0; 6]),
    (nr::FUTEX, [0, sys::FUTEX_WAKE, 1, 0, 0, 0]),
    (nr::NANOSLEEP, [0; 6]),
    (nr::SOCKET, [sys::AF_UNIX as usize, 0, 0, 0, 0, 0]),
];

/// Sets a filter by `set`, which answers 0 or more where it is set.
///
/// # Safety
/// `filter` is null or leads to a filter.
unsafe fn sets(filter: *const Filter, set: impl FnOnce() -> isize) -> isize {
    // Before, so that no call of another thread meets a filter that nobody knows.
    // SAFETY: the caller vouches for it.
    let copied = unsafe { filters::copy(filter) };
    if copied && attach::generation().is_some() {
        tell();
    }
    let result = set();
    if copied && result < 0 {
        filters::forget_last();
    }
    result
}

/// Tells the recorder which calls it has to do without.
fn tell() {
    let mut numbers = Row::<{ 2 * ASKED.len() }>::new();
    for (number, arguments) in &ASKED {
        if !filters::allow(*number, arguments) {
            numbers.add(&(*number as u16).to_le_bytes());
        }
    }
    if numbers.bytes().is_empty() {
        return;
    }
    if !filters::allow(nr::FUTEX, &ASKED[4].1) {
        attach::cannot_ring();
    }
    push::called(CallId::PAST, 0, &[&[PastId::SANDBOX.0], numbers.bytes()]);
}

const SET_MODE_FILTER: usize = 1;
const PR_SET_SECCOMP: i32 = 22;
const MODE_FILTER: usize = 2;

/// `seccomp` by number.
///
/// # Safety
/// As the program vouches for its own call.
pub unsafe fn seccomp(operation: usize, filter: usize, set: impl FnOnce() -> isize) -> isize {
    let filter = match operation {
        SET_MODE_FILTER => filter as *const Filter,
        _ => core::ptr::null(),
    };
    // SAFETY: the caller vouches for it.
    unsafe { sets(filter, set) }
}

hook! {
    fn prctl[goes_on](what: i32, a: usize, b: usize, c: usize, d: usize) -> i32 {
        let filter = match (what, a) {
            (PR_SET_SECCOMP, MODE_FILTER) => b as *const Filter,
            _ => core::ptr::null(),
        };
        sets(filter, || goes_on() as isize) as i32
    }
}
