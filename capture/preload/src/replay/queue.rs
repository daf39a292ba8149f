//! Where threads wait for their turns.

use core::sync::atomic::{AtomicU32, Ordering};

use netreel_shared::tape::THREADS_MAX;

use crate::plainly::{Zero, zero};
use crate::sys;

/// Where a thread waits for its turn.
pub struct Queue {
    /// Changes whenever it may be its turn.
    pub turns: AtomicU32,
    /// 1 while it sleeps.
    sleeps: AtomicU32,
}

// SAFETY: numbers.
unsafe impl Zero for Queue {}

/// By the number that the tape has for a thread.
pub static QUEUES: [Queue; THREADS_MAX] = zero();

impl Queue {
    #[cold]
    pub fn wait(&self, turns: u32, nanos: Option<i64>) {
        self.sleeps.store(1, Ordering::SeqCst);
        sys::futex(&self.turns, sys::FUTEX_WAIT_PRIVATE, turns, nanos);
        self.sleeps.store(0, Ordering::SeqCst);
    }

    pub fn wake(&self) {
        self.turns.fetch_add(1, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) != 0 {
            sys::futex(&self.turns, sys::FUTEX_WAKE_PRIVATE, i32::MAX as u32, None);
        }
    }
}
