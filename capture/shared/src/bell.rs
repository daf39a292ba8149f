//! The bell: how those who push wake the thread that writes, and how they learn that it has died.
//!
//! Who pushes asks one word of shared memory and calls the kernel only where the word says that
//! the writing thread sleeps. The writing thread says so before it sleeps, and looks once more at
//! the counters of events after it has said it; a push takes its number before it asks. Both are
//! sequentially consistent, so that one of the two always sees the other.

use core::sync::atomic::{AtomicU32, Ordering};

/// The writing thread is at work.
const AWAKE: u32 = 0;
/// It sleeps until a time that it has set itself. Whoever needs room rings.
const DOZES: u32 = 1;
/// It sleeps because nothing has come for a while. Whoever pushes rings.
const SLEEPS: u32 = 2;
/// Somebody has rung since it looked last.
const RUNG: u32 = 3;

/// How large the part of a bell is that holds the lock.
const LOCK: usize = 16;
/// Set by the kernel in the lock when the thread that held it is gone.
const OWNER_DIED: u32 = 0x4000_0000;

/// A bell. Zeros are a bell whose writing thread is at work and holds no lock.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Bell {
    /// The word that the writing thread sleeps on (a futex).
    pub word: AtomicU32,
    _line: [u32; 15],
    /// A robust mutex of the C library, which the writing thread holds; its first word is the
    /// kernel's. Zeros where the writing thread is of the process that pushes.
    pub lock: [AtomicU32; LOCK],
}

/// How the writing thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Until a time; a push does not wake it unless a ring fills.
    Doze,
    /// Until the next push.
    Deep,
}

impl Sleep {
    /// What the word is meanwhile.
    pub fn word(self) -> u32 {
        match self {
            Sleep::Doze => DOZES,
            Sleep::Deep => SLEEPS,
        }
    }
}

impl Bell {
    /// Whether every push rings now.
    #[inline]
    pub fn wants_every_push(&self) -> bool {
        self.word.load(Ordering::SeqCst) == SLEEPS
    }

    /// Rings. Whether the writing thread sleeps, so that the caller has to wake it
    /// (`FUTEX_WAKE` on [`word`](Bell::word)).
    #[must_use]
    pub fn ring(&self) -> bool {
        matches!(self.word.swap(RUNG, Ordering::SeqCst), DOZES | SLEEPS)
    }

    /// The writing thread is about to sleep; `false` where somebody has rung meanwhile, and it
    /// has to look again.
    pub fn try_sleep(&self, sleep: Sleep) -> bool {
        let order = Ordering::SeqCst;
        let asleep = self
            .word
            .compare_exchange(AWAKE, sleep.word(), order, order);
        if asleep.is_err() {
            self.wake();
        }
        asleep.is_ok()
    }

    /// The writing thread is at work again. Whether somebody has rung.
    pub fn wake(&self) -> bool {
        self.word.swap(AWAKE, Ordering::SeqCst) == RUNG
    }

    /// Whether the writing thread is gone without having said so.
    pub fn is_orphaned(&self) -> bool {
        self.lock[0].load(Ordering::Relaxed) & OWNER_DIED != 0
    }
}
