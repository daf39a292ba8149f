//! Being told to stop.
//!
//! The first Ctrl-C ends a recording cleanly (or goes to the recorded program); what a second one
//! means is for each way of recording to say.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

static ASKED: AtomicU32 = AtomicU32::new(0);
static FORWARD: AtomicI32 = AtomicI32::new(0);

const WATCHED: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Catches the signals that ask a program to stop (SIGINT, SIGTERM, SIGHUP), until this is dropped.
///
/// A call that waits in the operating system is interrupted by them. There should be one at a
/// time: all share one count.
#[derive(Debug)]
pub struct Signals(Vec<(i32, Before)>);

/// What a signal did before.
struct Before(libc::sigaction);

impl std::fmt::Debug for Before {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("sigaction")
    }
}

impl Signals {
    /// Starts to catch them, and counts from 0.
    pub fn catch() -> Signals {
        ASKED.store(0, Ordering::Relaxed);
        FORWARD.store(0, Ordering::Relaxed);
        let mut before = Vec::new();
        for signal in WATCHED {
            // SAFETY: structures of plain values; the handler touches atomics alone.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = caught as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO;
                let mut old: libc::sigaction = std::mem::zeroed();
                if libc::sigaction(signal, &raw const action, &raw mut old) == 0 {
                    before.push((signal, Before(old)));
                }
            }
        }
        Signals(before)
    }

    /// How often it was asked to stop.
    pub fn asked(&self) -> u32 {
        ASKED.load(Ordering::Relaxed)
    }

    /// A signal that the recorded program has not got itself, once.
    pub(crate) fn to_forward(&self) -> Option<i32> {
        let signal = FORWARD.swap(0, Ordering::Relaxed);
        (signal != 0).then_some(signal)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, Before(action)) in &self.0 {
            // SAFETY: what was there before.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
    }
}

extern "C" fn caught(signal: i32, info: *const libc::siginfo_t, _: *mut libc::c_void) {
    ASKED.fetch_add(1, Ordering::Relaxed);
    // What the terminal sends, it sends to the whole group.
    // SAFETY: the kernel passes the information for a handler that asked for it.
    let from_terminal = unsafe { info.as_ref() }.is_some_and(|info| info.si_code > 0);
    if !from_terminal {
        FORWARD.store(signal, Ordering::Relaxed);
    }
}
