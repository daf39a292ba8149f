//! The bells of this process's writing threads: where they lie, how a thread sleeps behind one,
//! and how it shows to other processes that it lives.

use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Instant;

use netreel_reel::bell::{Bell, Sleep};
use netreel_reel::ring::RING_PAGE;
use netreel_system::locked;
use netreel_system::memory::{Held, shared_page};
use netreel_transport::BellRef;

/// Bells that no thread sleeps behind any more. They stay in memory, because somebody may still
/// ring them.
static SPARE: Mutex<Vec<BellRef>> = Mutex::new(Vec::new());

/// The bells that signals ring.
static LISTENING: [AtomicPtr<Bell>; 64] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 64];

/// A bell for pushers in this process.
pub(crate) fn own() -> BellRef {
    let mut spare = locked(&SPARE);
    let bell = spare.pop();
    bell.inspect(|bell| {
        bell.wake();
    });
    bell.unwrap_or_else(|| BellRef::new(Box::leak(Box::new(Bell::default()))))
}

/// Gives a bell of this process back: its thread has ended.
pub(crate) fn give_back(bell: BellRef) {
    locked(&SPARE).push(bell);
}

/// A bell for pushers in other processes, and the file that they map: a page without a name.
pub(crate) fn shared() -> io::Result<(BellRef, File)> {
    let (page, file) = shared_page("netreel bell", RING_PAGE)?;
    let page = Box::leak(Box::new(page));
    // SAFETY: the page is mapped for good, large and aligned enough, and zeros are a valid bell.
    let bell = unsafe { &*page.as_ptr().cast::<Bell>() };
    Ok((BellRef::new(bell), file))
}

/// From now on signals that are triggers ring this bell.
pub(crate) fn hear_signals(bell: BellRef) -> bool {
    let place = (&raw const *bell).cast_mut();
    let (free, order) = (std::ptr::null_mut(), Ordering::AcqRel);
    let mut slots = LISTENING.iter();
    slots.any(|slot| {
        slot.compare_exchange(free, place, order, Ordering::Relaxed)
            .is_ok()
    })
}

/// Signals ring it no more.
pub(crate) fn ignore_signals(bell: BellRef) {
    let place = (&raw const *bell).cast_mut();
    for slot in &LISTENING {
        let (free, order) = (std::ptr::null_mut(), Ordering::AcqRel);
        let _ = slot.compare_exchange(place, free, order, Ordering::Relaxed);
    }
}

/// Rings all that hear signals. May be called in a signal handler.
pub(crate) fn ring_for_signal() {
    for slot in &LISTENING {
        let bell = slot.load(Ordering::Acquire);
        if !bell.is_null() {
            // SAFETY: bells are never taken out of memory.
            BellRef::new(unsafe { &*bell }).ring();
        }
    }
}

/// Sleeps until somebody rings or `until` has come. `is_quiet` is asked once pushers know that
/// this thread sleeps; where it says no, it does not sleep.
pub(crate) fn sleep(
    bell: BellRef,
    sleep: Sleep,
    until: Option<Instant>,
    is_quiet: impl FnOnce() -> bool,
) {
    if !bell.try_sleep(sleep) {
        return;
    }
    if is_quiet() {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        netreel_system::wake::sleep(&bell.word, sleep.word(), left);
    }
    bell.wake();
}

/// Takes the lock in the bell that the system marks when the thread that calls this is gone, however it
/// went.
pub(crate) fn hold(bell: BellRef) -> io::Result<Held> {
    const {
        assert!(Held::BYTES <= size_of::<Bell>() - std::mem::offset_of!(Bell, lock));
    }
    // SAFETY: the page is zeros, nobody uses its lock before this, and it stays mapped.
    unsafe { Held::take(bell.lock.as_ptr().cast_mut().cast()) }
}
