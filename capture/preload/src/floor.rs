//! One thread at a time, where the recording asks for it: one of the program's threads has the
//! floor, and gives it up around each call that a hook stands before. So the threads run one after
//! the other between these calls, whatever they say to each other through memory, and a replay can
//! let them run in the same order.
//!
//! A thread counts the calls since its latest event that a replay answers: its *points*. Where
//! another thread had the floor in between, that is pushed with the count.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use netreel_shared::call::{CallId, PastId};
use netreel_shared::tape::THREADS_MAX;

use crate::holder::{Holder, Stuck, Watch};
use crate::hook::{self, Around, Left};
use crate::plainly::{Plainly, zero};
use crate::sys::{self, PollFd, TimeSpec, nr, pause, quietly};
use crate::thread::now;
use crate::{attach, push, replay, sockets, threads};

static ON: AtomicU32 = zero();
/// 0: nobody has it; 1: somebody has; 2: and somebody waits.
static FLOOR: AtomicU32 = zero();
/// Who had it last, and how often it was given.
static LAST: AtomicUsize = zero();
static GRANTS: AtomicU64 = zero();
/// Who has it, as the kernel numbers threads; 0 while nobody does, and as it goes to somebody.
static HOLDER: AtomicU32 = zero();
/// When whoever has it got it.
static SINCE: AtomicU64 = zero();

/// How long one thread may have it while others wait and it makes calls.
const SLICE_NS: u64 = 1_000_000;
/// So often one that waits looks whether the holder makes calls.
const LOOK_EVERY_NS: i64 = 50_000_000;

/// What a thread remembers of it.
pub struct Own {
    /// 1 while it has the floor; [`LOST`] where another one has it, and this thread gets it again before its
    /// next call.
    has: AtomicU32,
    /// 1 while it is inside a call that it does not give the floor up for.
    inside: AtomicU32,
    /// 1 where others are to be let in before it.
    polite: AtomicU32,
    points: AtomicU32,
    /// As the kernel numbers it; 0 where it was not asked yet.
    number: AtomicU32,
}

impl Own {
    /// As a thread begins.
    pub fn clear(&self) {
        let what = [
            &self.has,
            &self.inside,
            &self.polite,
            &self.points,
            &self.number,
        ];
        what.iter().for_each(|it| it.set(0));
    }

    /// This thread, which is its own.
    fn holder(&self) -> Holder {
        let mut known = Holder(self.number.get());
        if known.0 == 0 {
            // Where a filter forbids to ask, it is one of whom nothing is known.
            known = Holder(sys::thread());
            self.number.set(known.0);
        }
        known
    }

    /// Of the calls since the latest event that a replay answers.
    pub fn points(&self) -> u32 {
        self.points.get()
    }

    pub fn has(&self) -> bool {
        self.has.get() == 1
    }

    /// Waits for the floor.
    pub fn takes(&self) {
        take(self.holder());
        self.has.set(1);
    }

    /// Gives it up.
    pub fn gives_up(&self) {
        self.lets_go(0);
    }

    /// Gives it up amid what it does: it gets it again before its next call.
    pub fn loses(&self) {
        self.lets_go(LOST);
    }

    fn lets_go(&self, to: u32) {
        if !self.has_no_more(to) {
            // Another one has just taken it.
            return self.has.set(to);
        }
        HOLDER.set(0);
        if FLOOR.swap(0, Ordering::Release) == 2 {
            let slice = now().wrapping_sub(SINCE.get()) > SLICE_NS;
            self.polite.set(u32::from(slice));
            sys::futex(&FLOOR, sys::FUTEX_WAKE_PRIVATE, 1, None);
        }
    }

    /// From now on it does not have it; `false`: it did not.
    fn has_no_more(&self, to: u32) -> bool {
        self.has.exchange(1, to, Ordering::AcqRel).is_ok()
    }
}

/// See [`Own`].
const LOST: u32 = 2;

/// One thread at a time from the first new thread on.
pub fn on() {
    ON.set(1);
    hook::around(&Around {
        before: leaves,
        behind: return_to,
    });
}

#[inline(always)]
pub fn is_on() -> bool {
    ON.get() != 0
}

/// Whether there are several threads, of which one runs at a time.
#[inline(always)]
fn is_taken_in_turns() -> bool {
    is_on() && threads::several()
}

fn take(this: Holder) {
    let is_free = FLOOR.exchange(0, 1, Ordering::Acquire).is_ok();
    let mut watch = Watch::default();
    while !is_free && FLOOR.swap(2, Ordering::Acquire) != 0 {
        if !is_on() || attach::is_borrowed() {
            // A child runs in its parent's memory, or has just been forked and has no other threads.
            return;
        }
        sys::futex(&FLOOR, sys::FUTEX_WAIT_PRIVATE, 2, Some(LOOK_EVERY_NS));
        let grant = GRANTS.load(Ordering::Acquire);
        let holder = Holder(HOLDER.get());
        if replay::on() {
            continue;
        }
        match watch.finds_it_stuck(holder, grant) {
            Some(Stuck::Asleep) if is_taken_from_who_sleeps() => break,
            Some(Stuck::AtWork) => {
                ON.set(0);
                return sockets::past(PastId::TURN);
            }
            _ => {}
        }
    }
    HOLDER.set(this.0);
    GRANTS.fetch_add(1, Ordering::Release);
    SINCE.set(now());
}

/// Takes the floor from the thread that has it, which sleeps where no hook stands. For a replay it is as if
/// it had given it up around its latest call.
fn is_taken_from_who_sleeps() -> bool {
    let own = LAST.get() as *const Own;
    // SAFETY: what a thread remembers lives as long as the library.
    let Some(own) = (unsafe { own.as_ref() }) else {
        return false;
    };
    own.has_no_more(LOST)
}

/// In a forked child, of whose threads this one is left: it has the floor, or nobody has.
pub fn forks() {
    ENDED_COUNT.set(0);
    let Some(own) = threads::floor() else { return };
    own.number.set(0);
    let holder = if own.has() { own.holder() } else { Holder(0) };
    HOLDER.set(holder.0);
    FLOOR.set(u32::from(own.has()));
}

/// The program makes its first thread: this one has the floor.
pub fn begins() {
    if is_on()
        && let Some(own) = threads::floor()
        && LAST.get() == 0
    {
        LAST.set(core::ptr::from_ref(own) as usize);
        own.takes();
    }
}

/// A new thread waits for it.
pub fn joins() {
    if is_on()
        && let Some(own) = threads::floor()
    {
        comes_back(own);
    }
}

/// What this thread is about to push is to stand behind what others did that had the floor meanwhile.
#[inline(always)]
pub fn regains() {
    if is_on() {
        regain();
    }
}

#[cold]
fn regain() {
    if let Some(own) = threads::floor()
        && own.has.get() == LOST
    {
        comes_back(own);
    }
}

/// The process ends by itself: pushes of each thread that waits how many points it had made as it gave the
/// floor up, which it never gets again.
pub fn ends_for_all() {
    if !is_taken_in_turns() || replay::on() {
        return;
    }
    let tell = |identity: u64, points: u64| {
        let details = [&identity.to_le_bytes()[..], &points.to_le_bytes()];
        push::called(CallId::TURN, LAST_ONE, &details);
    };
    threads::each(|identity, own| {
        if !own.has() {
            tell(identity, u64::from(own.points()));
        }
    });
    for place in ENDED.iter().take(ENDED_COUNT.get()) {
        tell(place.get(), u64::MAX);
    }
}

/// The result of a [`CallId::TURN`] that is of another thread, which does not come.
const LAST_ONE: i32 = 1;

/// Threads that ended with the floor, so that they kept it from their latest event on.
static ENDED: [AtomicU64; THREADS_MAX] = zero();
static ENDED_COUNT: AtomicUsize = zero();

/// A thread of this identity ends.
pub fn ends(identity: u64, own: &Own) {
    if !own.has() {
        return;
    }
    if is_on() && !replay::on() {
        let index = ENDED_COUNT.fetch_add(1, Ordering::Relaxed);
        if let Some(place) = ENDED.get(index) {
            place.set(identity);
        }
    }
    own.gives_up();
}

/// Before a call of the C library's function.
fn leaves() -> Left {
    if is_taken_in_turns() {
        leave()
    } else {
        Left::Nothing
    }
}

/// A handler of a signal begins in a thread: that gets the floor for it, where it has none now.
/// To be given to [`hands_back`].
pub fn lends() -> bool {
    let own = is_taken_in_turns().then(threads::floor);
    let without = own.flatten().filter(|own| !own.has());
    without.map(comes_back).is_some()
}

/// The handler has ended.
pub fn hands_back(lent: bool) {
    if let Some(own) = threads::floor().filter(|own| lent && own.has()) {
        own.gives_up();
    }
}

/// In a replay: the call behind the event that was just taken is not made, and others may have had
/// the floor during it.
#[inline(always)]
pub fn passes() {
    if is_on() {
        hook::calls(0, || ());
    }
}

/// A call that passes bytes through a descriptor which threads may share: a pipe, a pair of sockets. Others
/// may have the floor before it. Where it does not wait it is made with the floor, so that what one thread
/// writes and another one reads comes in the order in which they have it, in a replay too. `length`: so
/// many bytes are written; `None`: it reads.
#[inline(always)]
pub fn in_order<R>(fd: i32, length: Option<usize>, flags: i32, call: impl FnOnce() -> R) -> R {
    if is_taken_in_turns() {
        with_the_floor(|| may_wait(fd, length, flags), call)
    } else {
        call()
    }
}

/// The same of a call that never waits, and that other threads see the outcome of: a pipe's end that is
/// closed.
#[inline(always)]
pub fn at_once<R>(call: impl FnOnce() -> R) -> R {
    if is_taken_in_turns() {
        with_the_floor(|| false, call)
    } else {
        call()
    }
}

#[cold]
fn with_the_floor<R>(may_wait: impl FnOnce() -> bool, call: impl FnOnce() -> R) -> R {
    let left = leave();
    let Some(own) = threads::floor().filter(|_| left != Left::Nothing) else {
        return call();
    };
    if left == Left::Floor {
        comes_back(own);
    }
    if !own.has() || may_wait() {
        // It gives the floor up once more, at the same point.
        own.inside.set(0);
        own.points.fetch_sub(1, Ordering::Relaxed);
        return call();
    }
    own.inside.set(1);
    let result = call();
    own.inside.set(0);
    result
}

/// This thread is cancelled in such a call.
pub fn is_cancelled() {
    if let Some(own) = threads::floor() {
        own.inside.set(0);
    }
}

/// A pipe that has room has it for this many bytes.
const WHOLE: usize = 4096;

/// Whether a call on this descriptor may wait.
fn may_wait(fd: i32, length: Option<usize>, flags: i32) -> bool {
    const POLLIN: i16 = 1;
    const POLLOUT: i16 = 4;
    let mode = sys::fcntl(fd, sys::F_GETFL);
    if flags & sys::MSG_DONTWAIT != 0 || mode < 0 || mode & sys::O_NONBLOCK as isize != 0 {
        return false;
    }
    let events = if length.is_some() { POLLOUT } else { POLLIN };
    let mut asked = PollFd {
        fd,
        events,
        revents: 0,
    };
    let now = TimeSpec::default();
    let (place, time) = ((&raw mut asked) as usize, (&raw const now) as usize);
    // SAFETY: a place for one answer, and a time.
    let ready = unsafe { sys::syscall(nr::PPOLL, [place, 1, time, 0, 8]) };
    ready == 0 || length.is_some_and(|length| length > WHOLE)
}

#[cold]
fn leave() -> Left {
    regain();
    let Some(own) = threads::floor() else {
        return Left::Nothing;
    };
    if !own.has() || own.inside.swap(1, Ordering::Relaxed) != 0 {
        return Left::Nothing;
    }
    own.points.fetch_add(1, Ordering::Relaxed);
    if replay::on() && !replay::gives_the_floor_up(own) {
        return Left::Inside;
    }
    own.gives_up();
    Left::Floor
}

/// Behind it.
#[cold]
fn return_to(left: Left) {
    let Some(own) = threads::floor() else { return };
    if left == Left::Floor {
        comes_back(own);
    }
    own.inside.set(0);
}

fn comes_back(own: &'static Own) {
    quietly(|| {
        if replay::on() {
            return replay::takes_the_floor(own);
        }
        if own.polite.swap(0, Ordering::Relaxed) != 0 {
            pause();
        }
        own.takes();
        let this = core::ptr::from_ref(own) as usize;
        if is_on() && LAST.swap(this, Ordering::Relaxed) != this {
            let points = u64::from(own.points());
            // A turn that is not in the reel is one that a replay does not make: it counts.
            push::called(CallId::TURN, 0, &[&points.to_le_bytes()]);
        }
    });
}

/// An event of this thread is pushed that a replay answers.
#[inline(always)]
pub fn pushes() {
    if is_on() {
        count_anew();
    }
}

#[cold]
pub fn count_anew() {
    if let Some(own) = threads::floor() {
        own.points.set(0);
    }
}

/// Whether an event of this call is one that a replay answers.
pub fn is_answered(call: CallId) -> bool {
    !matches!(
        call,
        CallId::TURN
            | CallId::FILE
            | CallId::FOUND
            | CallId::PAST
            | CallId::THREAD
            | CallId::VDSO
            | CallId::RECEIVE_QUEUE
            | CallId::LOOKS_UP
            | CallId::PRINTED
            | CallId::TCP
    )
}
