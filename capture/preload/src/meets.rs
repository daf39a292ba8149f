//! Where threads meet besides locks: barriers, what runs once, joins that may fail, and how high a
//! semaphore stands.
//!
//! Each is a step among locks ([`crate::locks`]).

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use netreel_shared::call::CallId;

use crate::hook::{calls, hook};
use crate::locks::{does, find_unwinder, is_free, push, shared};
use crate::objects::real;
use crate::plainly::{Plainly, zero};
use crate::sys::{Opaque, pause};
use crate::{floor, replay, threads};

/// What a thread is about to run once.
pub struct Own {
    run: AtomicPtr<c_void>,
    /// The step with which it asked for that; 0 where there is nothing to tell.
    step: AtomicU64,
}

real! {
    PTHREAD_ONCE = pthread_once(Opaque, Opaque) -> i32;
    JOIN = pthread_join(usize, Opaque) -> i32;
}

/// As glibc has it: the lowest bit of the control says that a thread runs it, the second that it has
/// run.
const RUNS: u32 = 1;
const HAS_RUN: u32 = 2;
/// What stands above these two bits: in how many forks deep a process a thread runs it. A child runs
/// anew what a thread of its parent was running, who is not there.
const A_FORK: u32 = 4;
static FORKS: AtomicU32 = zero();

/// In a forked child.
pub fn forks() {
    FORKS.fetch_add(A_FORK, Ordering::Relaxed);
}

/// Whether a thread of this process runs it.
fn is_running(state: u32) -> bool {
    state == FORKS.get() | RUNS
}

/// # Safety
/// `control` is one of `pthread_once`.
unsafe fn state(control: Opaque) -> u32 {
    // SAFETY: the caller vouches for it.
    unsafe { (*control.cast::<AtomicU32>()).load(Ordering::Acquire) }
}

/// Whether it is of the library that walks the stack for exceptions, which is loaded when the first thread
/// is cancelled, and makes itself ready in whichever thread comes first.
///
/// # Safety
/// `control` is one of `pthread_once`.
unsafe fn is_the_unwinders(control: Opaque) -> bool {
    // SAFETY: the caller vouches for it.
    if unsafe { state(control) } & HAS_RUN == 0 {
        find_unwinder();
    }
    is_free(control)
}

/// Waits while `is` says so of the state of what is to run once; others have the floor meanwhile.
///
/// # Safety
/// `control` is one of `pthread_once`.
unsafe fn wait_while(control: Opaque, is: impl Fn(u32) -> bool) {
    // SAFETY: the caller vouches for it.
    while is(unsafe { state(control) }) {
        calls(0, pause);
    }
}

/// The program's function begins, which runs once: that is told before what it does. It may be left by an
/// exception or by the thread's end, so nothing stands behind it; then whoever asks next runs it again.
unsafe extern "C" fn begins() {
    let Some(own) = threads::once() else { return };
    let run = own.run.get();
    let step = own.step.swap(0, Ordering::Relaxed);
    if step != 0 {
        push(CallId::ONCE, 0, step, 0);
    }
    if !run.is_null() {
        // SAFETY: `once` has put the program's function there.
        unsafe { core::mem::transmute::<Opaque, unsafe extern "C" fn()>(run)() };
    }
}

/// Runs the program's function unless that was done: whichever thread comes first.
///
/// # Safety
/// As `pthread_once`.
unsafe fn once(control: Opaque, run: Opaque) -> i32 {
    let Some(real) = PTHREAD_ONCE.get() else {
        return 38;
    };
    // SAFETY: the C library's function has this signature. Without others between, it gives the floor
    // up neither while the function runs nor where it has run.
    unsafe {
        if !threads::several() || is_the_unwinders(control) {
            return real(control, run);
        }
        if floor::is_on() {
            wait_while(control, is_running);
        }
        if replay::on() {
            replay::once(|| wait_while(control, |state| state & HAS_RUN == 0));
            return real(control, run);
        }
        let Some((step, own)) = threads::next_step().zip(threads::once()) else {
            return real(control, run);
        };
        own.run.set(run);
        own.step.set(step.count);
        let result = real(control, begins as Opaque);
        own.step.set(0);
        result
    }
}

/// As C11 has it.
///
/// # Safety
/// As the call says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call_once(control: Opaque, run: Opaque) {
    // SAFETY: the caller vouches for it; glibc's control is the same in both.
    unsafe { once(control, run) };
}

/// Joins a thread by `real`, which may fail; in a replay by `join`, where it did not.
fn joins(real: impl FnOnce() -> i32, join: impl FnOnce() -> i32) -> i32 {
    let tell = |result| shared(CallId::JOIN, result);
    does(real, || replay::joins(join), tell)
}

/// Waits for the end of a thread, however long.
///
/// # Safety
/// As `pthread_join`.
unsafe fn join(thread: usize, value: Opaque) -> i32 {
    let Some(real) = JOIN.get() else { return 38 };
    // SAFETY: the C library's function has this signature; the caller vouches for the rest.
    calls(0, || unsafe { real(thread, value) })
}

hook! {
    fn pthread_barrier_wait[goes_on](barrier: Opaque) -> i32 {
        does(
            goes_on,
            || replay::meets(CallId::BARRIER, goes_on),
            |result| shared(CallId::BARRIER, result),
        )
    }

    fn pthread_once[real](control: Opaque, run: Opaque) -> i32 {
        once(control, run)
    }

    fn pthread_tryjoin_np[goes_on](thread: usize, value: Opaque),
    fn pthread_timedjoin_np[goes_on](thread: usize, value: Opaque, time: Opaque),
    fn pthread_clockjoin_np[goes_on](thread: usize, value: Opaque, clock: i32, time: Opaque) -> i32 {
        joins(goes_on, || join(thread, value))
    }

    fn sem_getvalue[goes_on](semaphore: Opaque, value: *mut i32) -> i32 {
        if threads::several() && replay::on() && let Some(level) = replay::level() {
            value.write(level);
            return 0;
        }
        let result = goes_on();
        if threads::several() && result == 0 {
            shared(CallId::LEVEL, *value);
        }
        result
    }
}
