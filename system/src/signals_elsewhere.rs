//! Being told to stop: Ctrl-C, a console that is closed, `kill`.

use std::sync::atomic::{AtomicU32, Ordering};

static ASKED: AtomicU32 = AtomicU32::new(0);

/// Catches what asks a program to stop, until this is dropped. There should be one at a time: all share one
/// count.
#[derive(Debug)]
pub struct Signals(());

impl Signals {
    /// Counts from 0 how often the program was asked to stop, which does not end it any more.
    pub fn catch() -> Signals {
        ASKED.store(0, Ordering::Relaxed);
        here::begin();
        Signals(())
    }

    /// How often it was asked to stop.
    pub fn asked(&self) -> u32 {
        ASKED.load(Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        here::end();
    }
}

/// Children of this program stay until they were asked how they ended, as they do here.
pub fn keep_children() {}

#[cfg(windows)]
mod here {
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use windows_sys::Win32::System::Console::{
        CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, SetConsoleCtrlHandler,
    };

    use crate::signals::ASKED;

    /// The system waits no longer.
    const CLOSES: Duration = Duration::from_secs(5);

    pub(super) fn begin() {
        // SAFETY: the handler lives as long as the program, and touches an atomic alone.
        unsafe { SetConsoleCtrlHandler(Some(asked), 1) };
    }

    pub(super) fn end() {
        // SAFETY: as above.
        unsafe { SetConsoleCtrlHandler(Some(asked), 0) };
    }

    unsafe extern "system" fn asked(what: u32) -> i32 {
        let stops = matches!(what, CTRL_C_EVENT | CTRL_BREAK_EVENT | CTRL_CLOSE_EVENT);
        if stops {
            ASKED.fetch_add(1, Ordering::Relaxed);
        }
        if what == CTRL_CLOSE_EVENT {
            // The process ends when this returns: what asked has until then to end in order.
            std::thread::sleep(CLOSES);
        }
        stops.into()
    }
}

#[cfg(unix)]
mod here {
    use std::sync::atomic::Ordering;

    use crate::signals::ASKED;

    const STOPPING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

    pub(super) fn begin() {
        for signal in STOPPING {
            // SAFETY: the handler touches an atomic alone.
            unsafe { libc::signal(signal, asked as *const () as usize) };
        }
    }

    pub(super) fn end() {
        for signal in STOPPING {
            // SAFETY: what programs begin with.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }

    extern "C" fn asked(_: i32) {
        ASKED.fetch_add(1, Ordering::Relaxed);
    }
}
