//! Locks, conditions and semaphores: in which order the program's threads got them.
//!
//! Each thread counts its steps: the locks that it asks for. A lock that this thread had last
//! itself is a step and nothing else; where another thread had it last, that one and its step are
//! pushed, so that a replay gives the lock to the threads in the same order. What may fail or wait
//! for another thread (conditions, time-outs, semaphores, locks for reading) is always pushed.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use netreel_shared::call::{CallId, PastId};

use crate::hook::{calls, hook};
use crate::objects::{Real, range_of, real};
use crate::plainly::{Plainly, Zero, zero};
use crate::sys::{Opaque, or_code};
use crate::{cancels, push, replay, sockets, threads};

/// Who had a lock last.
struct Place {
    /// The lock's address; 0: nobody's.
    lock: AtomicUsize,
    /// The thread and its step, as [`threads::Step`] has them in one number.
    last: AtomicU64,
}

// SAFETY: numbers.
unsafe impl Zero for Place {}

const BITS: u32 = 16;
const PROBES: usize = 64;
static PLACES: [Place; 1 << BITS] = zero();
/// Whether it was told that there is no place for a lock.
static FULL: AtomicU32 = zero();

/// Where the library lies that walks the stack for exceptions, and how long it is. It takes a lock
/// for each frame; how often does not matter to the program, and differs where code is made while
/// the program runs.
static UNWINDER: (AtomicUsize, AtomicUsize) = zero();

/// Looks for that library; to be called before there are several threads, and now and then.
pub fn find_unwinder() {
    let known = UNWINDER.1.get() != 0;
    if let Some((start, end)) = (!known).then(|| range_of(b"libgcc_s.so")).flatten() {
        UNWINDER.0.set(start);
        UNWINDER.1.set(end - start);
    }
}

/// Whether the order of this lock does not matter.
#[inline]
pub fn is_free(lock: *const c_void) -> bool {
    let start = UNWINDER.0.get();
    (lock as usize).wrapping_sub(start) < UNWINDER.1.get()
}

/// The place of a lock; `None` where there are too many.
#[inline]
fn place(lock: usize) -> Option<&'static Place> {
    let hash = (lock as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS);
    for probe in 0..PROBES {
        let place = PLACES.get((hash as usize + probe) % PLACES.len())?;
        let known = match place.lock.get() {
            0 => match place.lock.exchange(0, lock, Ordering::Relaxed) {
                Ok(_) => lock,
                Err(other) => other,
            },
            known => known,
        };
        if known == lock {
            return Some(place);
        }
    }
    None
}

/// The owner of a robust lock has died; whoever asked has it now.
const EOWNERDEAD: i32 = 130;

/// Whether a lock was got that answered this.
pub fn is_got(result: i32) -> bool {
    result == 0 || result == EOWNERDEAD
}

#[cold]
pub fn push(call: CallId, result: i32, step: u64, before: u64) {
    push::called(call, result, &[&step.to_le_bytes(), &before.to_le_bytes()]);
}

#[cold]
fn too_many() {
    if FULL.swap(1, Ordering::Relaxed) == 0 {
        sockets::past(PastId::LOCKS);
    }
}

/// This thread has the lock from this step on: the other thread, with its step, that had it last;
/// 0 where none did.
#[inline]
fn had_last(lock: *const c_void, step: &threads::Step) -> u64 {
    let Some(place) = place(lock as usize) else {
        too_many();
        return 0;
    };
    // Whoever has a lock is alone here.
    let before = place.last.get();
    place.last.set(step.word());
    if step.is_of_thread(before) { 0 } else { before }
}

/// This thread was answered `result`, and has the lock if that was so.
#[inline]
fn asked(lock: *const c_void, result: i32) {
    let Some(step) = threads::next_step() else {
        return;
    };
    let is_got = is_got(result);
    let before = if is_got { had_last(lock, &step) } else { 0 };
    if !is_got || before != 0 {
        push(CallId::LOCK, result, step.count, before);
    }
}

/// The same where several threads may have it at once, or nobody has it.
pub fn shared(call: CallId, result: i32) {
    if let Some(step) = threads::next_step() {
        push(call, result, step.count, 0);
    }
}

/// Does what the program asks for: in a replay what `replayed` does, otherwise `real`, whose result
/// is told.
#[inline]
pub fn does(
    real: impl FnOnce() -> i32,
    replayed: impl FnOnce() -> Option<i32>,
    tell: impl FnOnce(i32),
) -> i32 {
    if !threads::several() {
        return real();
    }
    if replay::on()
        && let Some(result) = replayed()
    {
        return result;
    }
    let result = real();
    tell(result);
    result
}

/// Asks for a lock that one thread has at a time. `take` waits for it, however long.
#[inline]
fn takes(lock: Opaque, real: impl FnOnce() -> i32, take: impl FnOnce() -> i32) -> i32 {
    let replayed = || replay::takes(CallId::LOCK, take);
    does(real, replayed, |result| asked(lock, result))
}

/// Asks for a lock that several threads may have.
fn shares(real: impl FnOnce() -> i32, take: impl FnOnce() -> i32) -> i32 {
    let replayed = || replay::takes(CallId::LOCK, take);
    does(real, replayed, |result| shared(CallId::LOCK, result))
}

/// Waits for a condition under a lock.
fn waits(
    lock: Opaque,
    real: impl FnOnce() -> i32,
    give: impl FnOnce() -> i32,
    take: impl Fn() -> i32,
) -> i32 {
    does(
        || cancels::waiting_under(lock, real),
        || replay::waits(give, take),
        |result| waited(lock, result),
    )
}

/// This thread has waited for a condition. Whatever that answers, the lock is its own again.
fn waited(lock: Opaque, result: i32) {
    if let Some(step) = threads::next_step() {
        let before = had_last(lock, &step);
        push(CallId::CONDITION, result, step.count, before);
    }
}

/// The result of a wait for a condition in which the thread was cancelled.
pub const ECANCELED: i32 = 125;

/// This thread was cancelled while it waited for a condition under this lock, which it has again.
pub fn cancelled(lock: Opaque) {
    waited(lock, ECANCELED);
}

/// Waits for a semaphore.
fn semaphore(real: impl FnOnce() -> i32, take: impl FnMut() -> i32) -> i32 {
    does(
        real,
        || replay::semaphore(take),
        |result| shared(CallId::SEMAPHORE, or_code(result)),
    )
}

real! {
    MUTEX_LOCK = pthread_mutex_lock(Opaque) -> i32;
    MUTEX_UNLOCK = pthread_mutex_unlock(Opaque) -> i32;
    READ_LOCK = pthread_rwlock_rdlock(Opaque) -> i32;
    WRITE_LOCK = pthread_rwlock_wrlock(Opaque) -> i32;
    SPIN_LOCK = pthread_spin_lock(Opaque) -> i32;
    MTX_LOCK = mtx_lock(Opaque) -> i32;
    MTX_UNLOCK = mtx_unlock(Opaque) -> i32;
    SEM_WAIT = sem_wait(Opaque) -> i32;
}

/// Calls the C library's function of one pointer, and gives the floor up for it.
///
/// # Safety
/// `real` is one, and the pointer is as it wants it.
unsafe fn on(real: &Real<unsafe extern "C" fn(Opaque) -> i32>, pointer: Opaque) -> i32 {
    let Some(real) = real.get() else { return 38 };
    // SAFETY: the caller vouches for it.
    unsafe {
        if is_free(pointer) {
            return real(pointer);
        }
        calls(0, || real(pointer))
    }
}

hook! {
    fn pthread_mutex_lock[goes_on](lock: Opaque) -> i32 {
        if threads::several() && is_free(lock) {
            return on(&MUTEX_LOCK, lock);
        }
        takes(lock, goes_on, goes_on)
    }

    fn pthread_mutex_trylock[goes_on](lock: Opaque),
    fn pthread_mutex_timedlock[goes_on](lock: Opaque, time: Opaque),
    fn pthread_mutex_clocklock[goes_on](lock: Opaque, clock: i32, time: Opaque) -> i32 {
        takes(lock, goes_on, || on(&MUTEX_LOCK, lock))
    }

    fn mtx_lock | pthread_spin_lock[goes_on](lock: Opaque) -> i32 {
        takes(lock, goes_on, goes_on)
    }

    fn mtx_trylock[goes_on](lock: Opaque),
    fn mtx_timedlock[goes_on](lock: Opaque, time: Opaque) -> i32 {
        takes(lock, goes_on, || on(&MTX_LOCK, lock))
    }

    fn pthread_spin_trylock[goes_on](lock: Opaque) -> i32 {
        takes(lock, goes_on, || on(&SPIN_LOCK, lock))
    }

    fn pthread_rwlock_rdlock | pthread_rwlock_wrlock[goes_on](lock: Opaque) -> i32 {
        shares(goes_on, goes_on)
    }

    fn pthread_rwlock_tryrdlock[goes_on](lock: Opaque),
    fn pthread_rwlock_timedrdlock[goes_on](lock: Opaque, time: Opaque),
    fn pthread_rwlock_clockrdlock[goes_on](lock: Opaque, clock: i32, time: Opaque) -> i32 {
        shares(goes_on, || on(&READ_LOCK, lock))
    }

    fn pthread_rwlock_trywrlock[goes_on](lock: Opaque),
    fn pthread_rwlock_timedwrlock[goes_on](lock: Opaque, time: Opaque),
    fn pthread_rwlock_clockwrlock[goes_on](lock: Opaque, clock: i32, time: Opaque) -> i32 {
        shares(goes_on, || on(&WRITE_LOCK, lock))
    }

    fn pthread_cond_wait[goes_on](condition: Opaque, lock: Opaque),
    fn pthread_cond_timedwait[goes_on](condition: Opaque, lock: Opaque, time: Opaque),
    fn pthread_cond_clockwait[goes_on](condition: Opaque, lock: Opaque, clock: i32, time: Opaque) -> i32 {
        waits(lock, goes_on, || on(&MUTEX_UNLOCK, lock), || on(&MUTEX_LOCK, lock))
    }

    fn cnd_wait[goes_on](condition: Opaque, lock: Opaque),
    fn cnd_timedwait[goes_on](condition: Opaque, lock: Opaque, time: Opaque) -> i32 {
        waits(lock, goes_on, || on(&MTX_UNLOCK, lock), || on(&MTX_LOCK, lock))
    }

    fn sem_wait[goes_on](semaphore_at: Opaque) -> i32 {
        semaphore(goes_on, goes_on)
    }

    fn sem_trywait[goes_on](semaphore_at: Opaque),
    fn sem_timedwait[goes_on](semaphore_at: Opaque, time: Opaque),
    fn sem_clockwait[goes_on](semaphore_at: Opaque, clock: i32, time: Opaque) -> i32 {
        semaphore(goes_on, || on(&SEM_WAIT, semaphore_at))
    }

    fn sem_post[goes_on](semaphore_at: Opaque) -> i32 {
        if threads::several() {
            if replay::on() {
                replay::posts();
            } else {
                shared(CallId::POST, 0);
            }
        }
        goes_on()
    }
}
