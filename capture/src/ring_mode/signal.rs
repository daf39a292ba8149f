//! A signal that pulls triggers.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// Signals have numbers from 1 to 64.
const SIGNALS: usize = 65;

static COUNTS: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];

/// Counts `signal` from now on.
pub(super) fn catch(signal: i32) -> io::Result<()> {
    if usize::try_from(signal).is_ok_and(|place| (1..SIGNALS).contains(&place)) {
        // SAFETY: a structure of plain values; the handler touches an atomic alone.
        let caught = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = caught as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if caught == 0 {
            return Ok(());
        }
        return Err(io::Error::last_os_error());
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// How often `signal` came; goes round at 2^32.
pub(super) fn count(signal: i32) -> u32 {
    let place = usize::try_from(signal).unwrap_or(0);
    COUNTS
        .get(place)
        .map_or(0, |count| count.load(Ordering::Relaxed))
}

/// The signal's name, as kill(1) has it.
pub(super) fn name(signal: i32) -> String {
    match signal {
        libc::SIGUSR1 => "SIGUSR1".to_owned(),
        libc::SIGUSR2 => "SIGUSR2".to_owned(),
        libc::SIGHUP => "SIGHUP".to_owned(),
        libc::SIGQUIT => "SIGQUIT".to_owned(),
        other => format!("signal {other}"),
    }
}

extern "C" fn caught(signal: i32) {
    if let Some(count) = usize::try_from(signal)
        .ok()
        .and_then(|place| COUNTS.get(place))
    {
        count.fetch_add(1, Ordering::Release);
    }
    // Writing threads look for signals whenever they are woken.
    crate::bell::ring_for_signal();
}
