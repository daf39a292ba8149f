//! Which of the program's threads a thread is: the nth that its parent has made. So a replay knows
//! each again, whatever the kernel calls it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use netreel_shared::call::PastId;
use netreel_shared::ring::RingHead;
use netreel_shared::tape::{MAIN_THREAD, THREADS_MAX, thread_identity};

use crate::floor::{self, Own};
use crate::hook::{self, hook};
use crate::plainly::{Plainly, Zero, zero};
use crate::push::pushing_unless_busy;
use crate::sys::{self, Key, Opaque};
use crate::{attach, cancels, locks, meets, replay, sockets};

/// What is remembered of a thread while it lives.
pub struct Slot {
    /// 0: nobody's.
    identity: AtomicU64,
    /// How many threads it has made.
    children: AtomicU64,
    run: AtomicPtr<c_void>,
    argument: AtomicPtr<c_void>,
    /// A number that a replay keeps for it; 0 at its start.
    pub tape: AtomicU32,
    /// The number of the ring that it pushes into, plus 1; 0 while it has none.
    ring: AtomicU32,
    /// A ring that its maker has got for it, and the generation that this is of; null once it is taken.
    promised: AtomicPtr<RingHead>,
    promised_of: AtomicU32,
    /// How many locks it has asked for.
    pub steps: AtomicU64,
    /// In a replay: its next step that waits for its turn; 0 where none does.
    pub ordered: AtomicU64,
    floor: Own,
    /// What the C library knows it by.
    handle: AtomicUsize,
    pub cancelled: cancels::Own,
    /// 1 while it draws a random number by several calls, which are told as one.
    pub draws: AtomicU32,
    once: meets::Own,
}

// SAFETY: numbers and pointers.
unsafe impl Zero for Slot {}

impl Slot {
    fn promises(&self, ring: Option<(*mut RingHead, u32)>) {
        let (head, of) = ring.unwrap_or((core::ptr::null_mut(), 0));
        self.promised_of.set(of);
        self.promised.store(head, Ordering::Release);
    }

    fn promised(&self) -> Option<(*mut RingHead, u32)> {
        let head = self.promised.swap(core::ptr::null_mut(), Ordering::Acquire);
        let of = self.promised_of.get();
        (!head.is_null()).then_some((head, of))
    }

    /// Nobody takes that ring any more.
    fn gives_back(&self) {
        if let Some(ring) = self.promised() {
            attach::give_back(ring);
        }
    }
}

static MAIN: Slot = Slot {
    identity: AtomicU64::new(MAIN_THREAD),
    ..zero()
};
static SLOTS: [Slot; THREADS_MAX] = zero();
/// The key of each thread's slot.
static KEY: Key = Key::new();

/// Whether the program has ever made a thread.
static SEVERAL: AtomicU32 = zero();

/// Whether there may be several threads, so that the order of locks matters.
#[inline(always)]
pub fn several() -> bool {
    SEVERAL.get() != 0
}

/// Makes the key. `None` where there are no more.
pub fn prepare() -> Option<()> {
    KEY.make(Some(thread_ends))
}

/// This thread's slot; `None` where it was made past the C library, or there are too many.
pub fn own() -> Option<&'static Slot> {
    // SAFETY: what is set is a slot, which lives as long as the library.
    let known = unsafe { KEY.get()?.cast::<Slot>().as_ref() };
    if known.is_some() {
        return known;
    }
    let main = sys::thread() == sys::process();
    if main {
        MAIN.handle.set(cancels::own_handle());
        KEY.set((&raw const MAIN).cast());
    }
    main.then_some(&MAIN)
}

/// This thread's identity; 0 where it has none.
pub fn identity() -> u64 {
    own().map_or(0, |slot| slot.identity.get())
}

/// One of this thread's steps.
#[derive(Clone, Copy)]
pub struct Step {
    /// From 1.
    pub count: u64,
    ring: u64,
}

impl Step {
    /// The thread, as its ring is numbered, plus 1, in the upper 16 bits, and the step below.
    #[inline]
    pub fn word(&self) -> u64 {
        self.ring << 48 | self.count
    }

    /// Whether such a number is one of the same thread's.
    #[inline]
    pub fn is_of_thread(&self, word: u64) -> bool {
        word >> 48 == self.ring
    }
}

/// This thread makes a step. `None` where it is not recorded, or has no identity.
#[inline]
pub fn next_step() -> Option<Step> {
    let slot = own()?;
    let mut ring = slot.ring.get();
    if ring == 0 {
        ring = first_ring(slot)?;
    }
    let count = slot.steps.get() + 1;
    slot.steps.set(count);
    let ring = u64::from(ring);
    Some(Step { count, ring })
}

#[cold]
fn first_ring(slot: &Slot) -> Option<u32> {
    drop(pushing_unless_busy()?);
    Some(slot.ring.get()).filter(|ring| *ring != 0)
}

/// This thread pushes into the ring of this number.
pub fn pushes_into(number: u32) {
    if let Some(slot) = own() {
        slot.ring.set(number + 1);
    }
}

fn slot_of(handle: usize) -> Option<&'static Slot> {
    let mut all = SLOTS.iter().chain(core::iter::once(&MAIN));
    all.find(|slot| slot.handle.load(Ordering::Acquire) == handle)
}

/// Calls `with` the identity of each of the threads that there are, and what it remembers of the floor.
pub fn each(mut with: impl FnMut(u64, &Own)) {
    for slot in SLOTS.iter().chain(core::iter::once(&MAIN)) {
        let identity = slot.identity.load(Ordering::Acquire);
        if identity != 0 {
            with(identity, &slot.floor);
        }
    }
}

/// The thread that the C library knows by this handle; 0 where there is none here.
pub fn of_handle(handle: usize) -> u64 {
    slot_of(handle).map_or(0, |slot| slot.identity.load(Ordering::Acquire))
}

/// The ring that this thread's maker has got for it, where nobody has asked before. That of a parent is
/// not its forked child's.
pub fn promised_ring(generation: u32) -> Option<*mut RingHead> {
    let (head, of) = own()?.promised()?;
    (of == generation).then_some(head)
}

/// What this thread is about to run once.
#[inline]
pub fn once() -> Option<&'static meets::Own> {
    own().map(|slot| &slot.once)
}

/// What is remembered of another thread in case that it is cancelled.
pub fn cancelled_of(handle: usize) -> Option<&'static cancels::Own> {
    slot_of(handle).map(|slot| &slot.cancelled)
}

/// What this thread remembers of the floor.
#[inline]
pub fn floor() -> Option<&'static Own> {
    own().map(|slot| &slot.floor)
}

unsafe extern "C" fn thread_ends(slot: *mut c_void) {
    // SAFETY: a slot, as `own` and `begin` set it.
    let slot = unsafe { &*slot.cast::<Slot>() };
    let identity = slot.identity.get();
    floor::ends(identity, &slot.floor);
    if !core::ptr::eq(slot, &raw const MAIN) {
        if replay::on() {
            replay::thread_ends(slot.tape.get(), identity);
        }
        slot.gives_back();
        slot.tape.set(0);
        slot.ring.set(0);
        slot.handle.set(0);
        slot.identity.store(0, Ordering::Release);
    }
}

/// What a thread of the program does first: the program's function, and its argument.
///
/// # Safety
/// `slot` is this thread's, with both in it.
unsafe fn begins(slot: *mut c_void) -> (*mut c_void, *mut c_void) {
    KEY.set(slot);
    // SAFETY: the caller vouches for it.
    let slot = unsafe { &*slot.cast::<Slot>() };
    slot.handle.store(cancels::own_handle(), Ordering::Release);
    // Its birth is in the recording, whatever else it does.
    drop(pushing_unless_busy());
    floor::joins();
    let run = slot.run.load(Ordering::Acquire);
    (run, slot.argument.get())
}

/// What the C library calls in a new thread, whose function answers `R`: a pointer, or a number in C11.
unsafe extern "C" fn begin<R>(slot: *mut c_void) -> R {
    // SAFETY: `made` below has put the program's function and its argument there.
    unsafe {
        let (run, argument) = begins(slot);
        let run: unsafe extern "C" fn(*mut c_void) -> R = core::mem::transmute(run);
        run(argument)
    }
}

/// A slot for the next thread that this one makes.
fn slot_for_child() -> Option<&'static Slot> {
    let parent = own()?;
    let nth = parent.children.fetch_add(1, Ordering::Relaxed) + 1;
    let identity = thread_identity(parent.identity.get(), nth);
    let free = |slot: &&Slot| {
        slot.identity
            .exchange(0, identity, Ordering::Acquire)
            .is_ok()
    };
    let Some(slot) = SLOTS.iter().find(free) else {
        sockets::past(PastId::THREADS);
        return None;
    };
    slot.children.set(0);
    slot.steps.set(0);
    slot.ordered.set(0);
    slot.floor.clear();
    slot.cancelled.clear();
    slot.draws.set(0);
    Some(slot)
}

/// Makes a thread by `make`, which is given what it runs and what that is given: `begin`, which
/// goes on to the program's function, or that itself where there is no slot for it.
fn made(
    begin: *mut c_void,
    (run, argument): (*mut c_void, *mut c_void),
    make: impl FnOnce(*mut c_void, *mut c_void) -> i32,
) -> i32 {
    let slot = attach::generation().and_then(|_| slot_for_child());
    let Some(slot) = slot else {
        return make(run, argument);
    };
    locks::find_unwinder();
    slot.promises(attach::ring_for_child());
    floor::begins();
    SEVERAL.set(1);
    hook::guard(&(cancels::guarded as hook::Guard));
    slot.argument.set(argument);
    slot.run.store(run, Ordering::Release);
    let result = make(begin, (&raw const *slot).cast_mut().cast());
    if result != 0 {
        slot.gives_back();
        slot.identity.store(0, Ordering::Release);
    }
    result
}

hook! {
    fn pthread_create[real](thread: Opaque, attributes: Opaque, run: Opaque, argument: Opaque) -> i32 {
        made(begin::<*mut c_void> as *mut c_void, (run, argument), |run, argument| real(thread, attributes, run, argument))
    }

    fn thrd_create[real](thread: Opaque, run: Opaque, argument: Opaque) -> i32 {
        made(begin::<i32> as *mut c_void, (run, argument), |run, argument| real(thread, run, argument))
    }

    fn thrd_join[goes_on](thread: usize, result: *mut i32),
    // `thrd_yield` answers nothing: the caller does not look.
    fn thrd_yield | sched_yield[goes_on](),
    fn pthread_join[goes_on](thread: usize, value: Opaque) -> i32 {
        goes_on()
    }
}
