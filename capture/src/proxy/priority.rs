//! Running before other programs.

use std::io;

/// Lets the calling thread run whenever it has something to do, before every program that has no
/// real-time priority: Linux's `SCHED_RR` at its lowest priority. Threads that it starts later are
/// as if this had not been called.
///
/// A proxy that waits for its turn on a busy machine delays all packets behind it, often for
/// milliseconds. It sleeps between packets, and where it does not, Linux keeps 50 ms of each second
/// for the others.
///
/// # Errors
/// It takes root, `CAP_SYS_NICE`, or a limit `RLIMIT_RTPRIO` of at least 1.
pub fn run_before_others() -> io::Result<()> {
    // SAFETY: zeros are a value; some systems have more fields than the priority.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: it takes and returns plain numbers.
    parameters.sched_priority = unsafe { libc::sched_get_priority_min(libc::SCHED_RR) };
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // SAFETY: 0 is the calling thread, and the parameters are read during the call alone.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
