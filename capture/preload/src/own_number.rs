//! Calls that are given the number of a process. A program that asks for its own was told the recorded one
//! in a replay: that stands for this process, whatever takes it.

use crate::hook::hook;
use crate::replay;
use crate::sys::{self, Opaque, nr};

/// In a replay, whether this is the number that the program takes for its own.
pub fn is_recorded(process: i32) -> bool {
    replay::processes().is_some_and(|(this, _)| this as i32 == process)
}

/// The process that is meant, for calls in which 0 is the one that calls.
fn meant(process: i32) -> i32 {
    if is_recorded(process) { 0 } else { process }
}

/// The same where 0 is something else.
fn by_number(process: i32) -> i32 {
    if is_recorded(process) {
        sys::process() as i32
    } else {
        process
    }
}

/// `which` of `getpriority`: a process.
const PRIO_PROCESS: i32 = 0;

/// The arguments of a system call of this number, with the process that is meant.
pub fn by_call(number: usize, first: usize, second: usize) -> (usize, usize) {
    let own = |it: usize, meant: fn(i32) -> i32| meant(it as i32) as isize as usize;
    match number {
        nr::SCHED_GETAFFINITY
        | nr::SCHED_SETAFFINITY
        | nr::SCHED_GETSCHEDULER
        | nr::SCHED_SETSCHEDULER
        | nr::SCHED_GETPARAM
        | nr::SCHED_SETPARAM
        | nr::SCHED_GETATTR
        | nr::SCHED_SETATTR
        | nr::PRLIMIT => (own(first, meant), second),
        nr::TGKILL => (own(first, by_number), own(second, by_number)),
        nr::TKILL | nr::PIDFD_OPEN => (own(first, by_number), second),
        _ => (first, second),
    }
}

hook! {
    fn gettid[goes_on]() -> i32 {
        let result = goes_on();
        match replay::processes() {
            Some((this, _)) if result == sys::process() as i32 => this as i32,
            _ => result,
        }
    }

    fn sched_getaffinity[real by process](process: i32, size: usize, set: Opaque),
    fn sched_setaffinity[real by process](process: i32, size: usize, set: Opaque),
    fn sched_getscheduler[real](process: i32),
    fn sched_setscheduler[real by process](process: i32, policy: i32, parameter: Opaque),
    fn sched_getparam | sched_setparam[real by process](process: i32, parameter: Opaque),
    fn sched_rr_get_interval[real by process](process: i32, interval: Opaque),
    fn getpgid | getsid[real](process: i32),
    fn prlimit | prlimit64[real by process](process: i32, resource: i32, new: Opaque, old: Opaque),
    fn clock_getcpuclockid[real by process](process: i32, clock: *mut i32) -> i32 {
        real(meant(process))
    }

    fn getpriority[real by who](which: i32, who: i32),
    fn setpriority[real by who](which: i32, who: i32, priority: i32) -> i32 {
        real(if which == PRIO_PROCESS { meant(who) } else { who })
    }

    fn setpgid[real](process: i32, group: i32) -> i32 {
        real(meant(process), meant(group))
    }

    fn sigqueue[real by process](process: i32, signal: i32, value: Opaque),
    fn pidfd_open[real by process](process: i32, flags: u32) -> i32 {
        real(by_number(process))
    }

    fn tgkill[real](process: i32, thread: i32, signal: i32) -> i32 {
        real(by_number(process), by_number(thread), signal)
    }
}
