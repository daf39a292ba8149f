//! Locks in a replay: each goes to the threads in the recorded order.
//!
//! A lock that a thread had last itself it may take at once. For one that another thread had last
//! it waits for its turn, and until that thread's step is done. Time-outs and failures are as they
//! were, and nobody waits for time to pass.

use core::convert::identity;
use core::sync::atomic::{AtomicU64, Ordering};

use netreel_shared::call::CallId;
use netreel_shared::tape::{NO_THREAD, Order, STEPS_AT, THREADS_MAX, TapeControl, why};

use crate::cancels;
use crate::locks::{ECANCELED, is_got};
use crate::plainly::{Plainly, zero};
use crate::sys::{self, nr, pause, with_errno};
use crate::threads::{self, Slot};

use super::places::is_free;
use super::{Did, expected, own_number, place_at, tape};

/// How many steps each thread of the tape has made.
static DONE: [AtomicU64; THREADS_MAX] = zero();
/// So often others are let run before this thread sleeps for a moment.
const YIELDS: u32 = 200;

/// A step of this thread.
struct Step {
    thread: usize,
    count: u64,
    own: &'static Slot,
}

/// The next step of this thread; `None`: its locks are not replayed.
#[inline]
fn step() -> Option<Step> {
    let tape = tape().filter(|tape| tape.ordered != 0)?;
    let thread = usize::from(own_number(tape)?);
    let own = threads::own()?;
    let count = own.steps.get() + 1;
    if count == 1 {
        own.ordered.set(first(tape, thread));
    }
    Some(Step { thread, count, own })
}

#[cold]
fn first(tape: &TapeControl, thread: usize) -> u64 {
    // SAFETY: a number for each thread lies there in every tape.
    unsafe { *place_at::<u64>(tape, STEPS_AT).add(thread.min(THREADS_MAX - 1)) }
}

impl Step {
    fn waits_for_its_turn(&self) -> bool {
        self.own.ordered.get() == self.count
    }

    fn done(&self) {
        self.own.steps.set(self.count);
        if let Some(done) = DONE.get(self.thread) {
            done.store(self.count, Ordering::Release);
        }
    }

    /// Waits for its turn, and for whoever had the lock before; then makes of the recorded result by `then`
    /// what is returned.
    fn waits(&self, call: CallId, then: impl FnOnce(i32) -> i32) -> Option<i32> {
        let did = Did::made(call);
        let turn = expected(did)?;
        let bytes = turn.bytes();
        if bytes.len() < size_of::<Order>() || turn.entry.value != self.count {
            did.parts(why::STEP);
        }
        // SAFETY: the bytes of an entry begin at a multiple of 8, and there are enough.
        let order = unsafe { bytes.as_ptr().cast::<Order>().read_unaligned() };
        if order.before != NO_THREAD {
            wait_for(order.before as usize, order.step);
        }
        let result = then(turn.entry.result);
        self.own.ordered.set(order.next);
        self.done();
        turn.done();
        Some(result)
    }
}

/// A thread has ended: nobody waits for it.
pub fn ended(number: u16) {
    if let Some(done) = DONE.get(usize::from(number)) {
        done.store(u64::MAX, Ordering::Release);
    }
}

fn wait_for(thread: usize, step: u64) {
    let Some(done) = DONE.get(thread) else { return };
    let mut turns = 0;
    while done.load(Ordering::Acquire) < step {
        turns += 1;
        if turns < YIELDS {
            // SAFETY: lets others run.
            unsafe { sys::syscall(nr::SCHED_YIELD, []) };
        } else {
            pause();
        }
    }
}

/// A lock is asked for: what that returned. `take` takes it, however long it waits. `None`: it is
/// not replayed.
#[inline]
pub fn takes(call: CallId, take: impl FnOnce() -> i32) -> Option<i32> {
    let step = step()?;
    if !step.waits_for_its_turn() {
        let result = take();
        step.done();
        return Some(result);
    }
    step.waits(call, |then| if is_got(then) { take() } else { then })
}

/// A condition is waited for under a lock, which `give` gives away and `take` takes again.
pub fn waits(give: impl FnOnce() -> i32, take: impl Fn() -> i32) -> Option<i32> {
    let step = step()?;
    if is_free(tape()?, step.thread as u16) {
        return None;
    }
    give();
    let told = step.waits(CallId::CONDITION, |then| {
        take();
        then
    });
    if told.is_none() {
        // It has become free; to the program it woke for nothing, and it looks again.
        take();
    }
    if told == Some(ECANCELED) {
        cancels::again();
    }
    told.or(Some(0))
}

/// A semaphore is waited for; what that returned, as the C library has it.
pub fn semaphore(mut take: impl FnMut() -> i32) -> Option<i32> {
    const TRIES_MAX: u32 = 1000;
    let result = step()?.waits(CallId::SEMAPHORE, |then| {
        if then < 0 {
            return then;
        }
        // A signal may come in between.
        let got = (0..TRIES_MAX).map(|_| take()).find(|it| *it == 0);
        got.unwrap_or_else(|| Did::made(CallId::SEMAPHORE).parts(why::STEP))
    });
    result.map(with_errno)
}

/// A semaphore is about to be raised.
pub fn posts() {
    if let Some(step) = step() {
        step.waits(CallId::POST, identity);
    }
}

/// The next step of this thread where it meets others; `None`: that is not replayed.
fn meeting() -> Option<Step> {
    let tape = tape().filter(|tape| tape.meets != 0)?;
    step().filter(|step| !is_free(tape, step.thread as u16))
}

/// Threads meet by `real`, which waits for the others. What it returned is as it was.
pub fn meets(call: CallId, real: impl FnOnce() -> i32) -> Option<i32> {
    let step = meeting()?;
    let now = real();
    step.waits(call, identity).or(Some(now))
}

/// A thread asks for what is to run once. Where it did not run it, `wait` waits until that has been done.
pub fn once(wait: impl FnOnce()) {
    let Some(step) = meeting() else { return };
    if step.waits_for_its_turn() {
        step.waits(CallId::ONCE, identity);
    } else {
        wait();
        step.done();
    }
}

/// A thread joins another one by `join`, where it did so; otherwise it is told why not.
pub fn joins(join: impl FnOnce() -> i32) -> Option<i32> {
    meeting()?.waits(CallId::JOIN, |then| if then == 0 { join() } else { then })
}

/// How high a semaphore stood.
pub fn level() -> Option<i32> {
    meeting()?.waits(CallId::LEVEL, identity)
}
