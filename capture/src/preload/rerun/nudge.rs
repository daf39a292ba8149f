//! A program that waits for a signal where no hook stands, in `pause` or in a loop that looks at memory, is
//! sent the one that the tape has next for it. Its library runs the handler there.

use std::sync::atomic::Ordering;
use std::time::Duration;

use netreel_reel::tape::{Entry, MAIN_THREAD, THREADS_AT, THREADS_MAX};
use netreel_reel::{CallId, EventKind};

use super::super::look::{self, signals};
use super::tape::Tape;

/// How long its first thread sleeps in a system call before it is sent the signal.
const ASLEEP: Duration = Duration::from_millis(300);
/// How long it computes: a signal that came amid a long computation is to find most of it done.
const AT_WORK: Duration = Duration::from_secs(3);
/// Those whose handlers are in a recording.
const SIGNALS: [i32; 7] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
];

/// Where the tape was when a signal was sent last.
#[derive(Default)]
pub(super) struct Nudges(Option<u64>);

impl Nudges {
    /// Sends process `pid`, which has not come further than `next` for this long, the signal that it
    /// waits for, if it does.
    pub fn look(&mut self, tape: &Tape, pid: u32, (next, since): (u64, Duration)) {
        if since < ASLEEP || self.0 == Some(next) {
            return;
        }
        let Some(signal) = signal_at(tape, next) else {
            return;
        };
        if since < AT_WORK && !sleeps(pid) || !is_awaited(pid, signal) {
            return;
        }
        self.0 = Some(next);
        tape.control().nudges.fetch_add(1, Ordering::SeqCst);
        // SAFETY: a signal to a child of this process that was not waited for yet.
        unsafe { libc::kill(pid as libc::pid_t, signal) };
    }
}

/// The signal that the tape has at this place for the first thread.
fn signal_at(tape: &Tape, next: u64) -> Option<i32> {
    let at = usize::try_from(next).ok()?;
    let entry = tape.memory.get(at..at.checked_add(size_of::<Entry>())?)?;
    // SAFETY: this many bytes are there, and an entry is plain numbers.
    let entry = unsafe { entry.as_ptr().cast::<Entry>().read_unaligned() };
    let is_signal = (entry.kind, entry.id) == (EventKind::Called as u8, CallId::SIGNAL.0);
    let identities = tape.memory.get(THREADS_AT..THREADS_AT + THREADS_MAX * 8)?;
    let (identities, _) = identities.as_chunks::<8>();
    let thread = identities.get(usize::from(entry.thread))?;
    let is_first = u64::from_ne_bytes(*thread) == MAIN_THREAD;
    let may_be = is_signal && is_first && SIGNALS.contains(&entry.result);
    may_be.then_some(entry.result)
}

/// Whether the first thread sleeps in a system call that is not one of a lock.
fn sleeps(pid: u32) -> bool {
    let text = look::told(pid, &format!("task/{pid}/syscall"));
    let number = text
        .split_whitespace()
        .next()
        .and_then(|it| it.parse().ok());
    number.is_some_and(|number: i64| number >= 0 && number != libc::SYS_futex)
}

/// Whether it has a handler for the signal, which its first thread does not block.
fn is_awaited(pid: u32, signal: i32) -> bool {
    let text = look::told(pid, &format!("task/{pid}/status"));
    let has = |name: &str| signals(&text, name).is_some_and(|set| set >> (signal - 1) & 1 != 0);
    has("SigCgt:") && !has("SigBlk:")
}
