//! Which threads run before others.

pub use here::{run_before_others, run_behind_others};

#[cfg(target_os = "linux")]
mod here {
    use std::io;

    fn scheduled(policy: i32, priority: i32) -> io::Result<()> {
        // SAFETY: zeros are a value; some C libraries have more fields than the priority.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = priority;
        // SAFETY: 0 is the calling thread, and the parameters are read during the call alone.
        match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Lets the calling thread run whenever it has something to do, before every program that has no
    /// real-time priority: Linux's `SCHED_RR` at its lowest priority. Threads that it starts later are as
    /// if this had not been called.
    ///
    /// # Errors
    /// The system has no such policy; or it takes root, `CAP_SYS_NICE`, or a limit `RLIMIT_RTPRIO` of at
    /// least 1.
    pub fn run_before_others() -> io::Result<()> {
        // SAFETY: it takes and returns plain numbers.
        let lowest = unsafe { libc::sched_get_priority_min(libc::SCHED_RR) };
        scheduled(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, lowest)
    }

    /// Lets the calling thread run when no other wants to: Linux's `SCHED_IDLE`.
    ///
    /// # Errors
    /// The system has no such policy, or does not let this thread have it.
    pub fn run_behind_others() -> io::Result<()> {
        scheduled(libc::SCHED_IDLE, 0)
    }
}

#[cfg(windows)]
mod here {
    use std::io;

    use windows_sys::Win32::System::Threading::{
        GetCurrentThread, SetThreadPriority, THREAD_PRIORITY_IDLE, THREAD_PRIORITY_TIME_CRITICAL,
    };

    fn at(priority: i32) -> io::Result<()> {
        // SAFETY: the handle stands for the calling thread.
        match unsafe { SetThreadPriority(GetCurrentThread(), priority) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Lets the calling thread run whenever it has something to do, before all others of its class.
    ///
    /// # Errors
    /// The operating system's.
    pub fn run_before_others() -> io::Result<()> {
        at(THREAD_PRIORITY_TIME_CRITICAL)
    }

    /// Lets the calling thread run when no other of its class wants to.
    ///
    /// # Errors
    /// The operating system's.
    pub fn run_behind_others() -> io::Result<()> {
        at(THREAD_PRIORITY_IDLE)
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
mod here {
    use std::io;

    /// Threads that run before others: there are none here.
    ///
    /// # Errors
    /// Always.
    pub fn run_before_others() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Threads that run when no other wants to: there are none here.
    ///
    /// # Errors
    /// Always.
    pub fn run_behind_others() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
