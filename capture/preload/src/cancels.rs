//! Threads that the program cancels (`pthread_cancel`): in which call a thread was is recorded, and in
//! a replay it ends there again.
//!
//! A thread that is cancelled never comes back from the call that it waits in; it runs the program's
//! cleanup handlers and ends. So the calls in which that may happen have a cleanup handler of their
//! own, which pushes it before the program's run. A replay cancels the thread where the tape says so,
//! and not when the program asks for it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use netreel_shared::call::CallId;

use crate::hook::{self, Left, hook};
use crate::objects::real;
use crate::plainly::Plainly;
use crate::points::name;
use crate::replay::{self, Did};
use crate::{attach, floor, locks, push, threads};

/// What a thread remembers of the call that it is in.
pub struct Own {
    /// The lock that it has when it comes back from the condition that it waits for.
    under: AtomicPtr<c_void>,
    /// In a replay: the call that is made, as [`point`](crate::points::point) numbers it, and not answered by
    /// the tape.
    inside: AtomicU32,
    /// In a replay: 1 where the program has asked for its end, and the tape says when that comes.
    asked: AtomicU32,
}

impl Own {
    /// As a thread begins.
    pub fn clear(&self) {
        self.under.set(core::ptr::null_mut());
        self.inside.set(0);
        self.asked.set(0);
    }
}

/// Waits for a condition by `real`, under this lock.
pub fn waiting_under(lock: *mut c_void, real: impl FnOnce() -> i32) -> i32 {
    let own = threads::own();
    let under = |lock| {
        own.into_iter()
            .for_each(|own| own.cancelled.under.set(lock))
    };
    under(lock);
    let result = real();
    under(core::ptr::null_mut());
    result
}

/// As the C libraries have it: four words of theirs.
type Buffer = [usize; 8];
type Cleanup = unsafe extern "C" fn(*mut c_void);

real! {
    PUSH = _pthread_cleanup_push(*mut Buffer, Cleanup, *mut c_void);
    POP = _pthread_cleanup_pop(*mut Buffer, i32);
    SELF = pthread_self() -> usize;
    CANCEL = pthread_cancel(usize) -> i32;
    TEST = pthread_testcancel();
}

/// What the cleanup handler is told.
struct Inside {
    left: Left,
    point: u32,
}

/// A call in which this thread may be cancelled. `left`: what is to be done behind it. To be given to
/// [`hook::guard`](crate::hook::guard).
pub fn guarded(point: u32, left: Left, call: &mut dyn FnMut()) {
    let functions = PUSH.get().zip(POP.get());
    let Some((push, pop)) = functions.filter(|_| attach::generation().is_some()) else {
        return call();
    };
    if replay::on() {
        enters(point, left);
    }
    let (mut buffer, mut inside): (Buffer, Inside) = ([0; 8], Inside { left, point });
    // SAFETY: the C library's functions of these names, and a buffer that stays until the second.
    unsafe {
        push(&raw mut buffer, is_cancelled, (&raw mut inside).cast());
        call();
        pop(&raw mut buffer, 0);
    }
    if replay::on() {
        enters(0, Left::Nothing);
    }
}

/// In a replay: this thread makes this call, or comes back where that is 0. Ends it where it was
/// cancelled there and the program has asked for it already.
fn enters(point: u32, left: Left) {
    let Some(own) = threads::own().map(|own| &own.cancelled) else {
        return;
    };
    own.inside.store(point, Ordering::SeqCst);
    if point != 0
        && own.asked.load(Ordering::SeqCst) != 0
        && replay::ends_in(threads::identity(), name(point))
    {
        own.inside.store(0, Ordering::SeqCst);
        // It does not come back to where that would be done.
        hook::back(left);
        // What comes next on the tape is that, and `own_turn` ends the thread.
        let _ = replay::turn();
    }
}

/// This thread is cancelled, inside a call: the program's own cleanup handlers run behind this one.
unsafe extern "C" fn is_cancelled(inside: *mut c_void) {
    // SAFETY: `guarded` has said so.
    let inside = unsafe { &*inside.cast::<Inside>() };
    hook::back(inside.left);
    floor::is_cancelled();
    if replay::on() {
        return replay::is_cancelled();
    }
    let nothing = core::ptr::null_mut();
    let under = threads::own().map(|own| own.cancelled.under.swap(nothing, Ordering::Relaxed));
    match under.filter(|lock| !lock.is_null()) {
        Some(lock) => locks::cancelled(lock),
        None => push::called(CallId::CANCELLED, 0, &[name(inside.point)]),
    }
}

/// This thread's handle, as the C library knows it; 0 where it has none.
pub fn own_handle() -> usize {
    // SAFETY: the C library's function of this name.
    SELF.get().map_or(0, |own| unsafe { own() })
}

/// In a replay: this thread was cancelled here, and is so again.
pub fn again() -> ! {
    if let (Some(cancel), Some(test)) = (CANCEL.get(), TEST.get()) {
        // SAFETY: the C library's functions of these names; the first is given this thread.
        unsafe {
            cancel(own_handle());
            test();
        }
    }
    // It lets nobody cancel it now.
    replay::part(Did::made(CallId::CANCELLED))
}

/// In a replay, the program asks for the end of a thread: whether that is really to be cancelled now.
/// Where it was inside a call that the tape answers, the tape ends it.
fn is_now(thread: usize, identity: u64) -> bool {
    let Some(own) = threads::cancelled_of(thread).filter(|_| identity != 0) else {
        return false;
    };
    if !replay::will_be_cancelled(identity) {
        return true;
    }
    own.asked.store(1, Ordering::SeqCst);
    let inside = own.inside.load(Ordering::SeqCst);
    inside != 0 && replay::ends_in(identity, name(inside))
}

hook! {
    fn pthread_cancel[goes_on](thread: usize) -> i32 {
        let identity = threads::of_handle(thread);
        if replay::on() && let Some(result) = replay::call(Did::made(CallId::CANCEL)) {
            match result == 0 && is_now(thread, identity) {
                // A thread that lives, as far as the program knows.
                true => goes_on(),
                false => {
                    floor::passes();
                    0
                }
            };
            return result;
        }
        let tell = |result| push::called(CallId::CANCEL, result, &[&identity.to_le_bytes()]);
        // The C library refuses it for no thread that there is; and the thread may end before this
        // comes back.
        if identity != 0 {
            tell(0);
        }
        let result = goes_on();
        if identity == 0 {
            tell(result);
        }
        result
    }
}
