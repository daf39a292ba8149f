//! Finding the recorder, and this thread's ring.
//!
//! The recorder makes the ring file and passes it over a socket; from then on nothing but the
//! mapped memory connects the two. A forked child finds its page of state wiped and asks anew.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use netreel_shared::bell::Bell;
use netreel_shared::body::{self, EventKind};
use netreel_shared::call::CallId;
use netreel_shared::hello::{
    ACCEPTED, KIND_ATTACH, KIND_MORE, KIND_SEGMENTS, KIND_TRIPWIRE, KIND_UNMAPPED, MUTED, REPLAYED,
    Welcome,
};
use netreel_shared::ring::{RING_PAGE, RingControl, RingHead, RingMemory, RingWriter};

use crate::asking::{IDENTITY, ask, tell};
use crate::plainly::{Plainly, zero};
use crate::sys::{self, Key, nr};
use crate::thread::{THREAD_AT, Thread, now};
use crate::{floor, printed, replay, threads, tripwire, typed};

/// What a forked child must not inherit: the kernel gives it zeros instead.
#[repr(C)]
pub struct Home {
    /// Counts attachments; 0 in a forked child.
    generation: AtomicU32,
}

const COLD: u32 = 0;
const BUSY: u32 = 1;
const ATTACHED: u32 = 2;
const REFUSED: u32 = 3;

const RINGS_MAX: usize = 256;

static HOME: AtomicPtr<Home> = zero();
static PHASE: AtomicU32 = AtomicU32::new(COLD);
static GENERATIONS: AtomicU32 = zero();
static CONTROL: AtomicPtr<RingControl> = zero();
/// What wakes the recorder; null until there is one. Its page is mapped for good.
static BELL: AtomicPtr<Bell> = zero();
static CAPACITY: AtomicUsize = zero();
static RINGS: [AtomicPtr<RingHead>; RINGS_MAX] = zero();
static RING_COUNT: AtomicUsize = zero();
/// The thread that asks for a ring; 0 while none does.
static ASKING: AtomicU32 = zero();
/// The process that attached.
static PID: AtomicU32 = zero();
static DROP_WHEN_FULL: AtomicU32 = zero();
/// Before this moment no thread that got no ring asks again, in nanoseconds of the monotonic clock.
static ASK_AGAIN: AtomicU64 = zero();
/// How long a thread waits, after it got no ring, before it asks again: asking costs a system call.
const ASK_AGAIN_NS: u64 = 1_000_000_000;
/// The key of each thread's ring.
static KEY: Key = Key::new();

/// The generation that events belong to now, attaching first where this process has not yet.
/// `None`: nothing is recorded here.
#[inline]
pub fn generation() -> Option<u32> {
    // SAFETY: null, or mapped for as long as the process lives.
    let Some(home) = (unsafe { HOME.load(Ordering::Acquire).as_ref() }) else {
        return attach(false);
    };
    let generation = home.generation.get();
    if generation != 0 {
        return (generation != u32::MAX).then_some(generation);
    }
    // This is a forked child: what its parent had is not its own.
    if PHASE.get() == ATTACHED {
        PHASE.set(COLD);
    }
    attach(true)
}

/// Whether this is a child between `vfork` and `exec`, which runs in its parent's memory. Asks
/// the kernel: only for what is rare.
pub fn is_borrowed() -> bool {
    let attached = PHASE.get() == ATTACHED;
    attached && PID.get() != sys::process()
}

/// The control page.
///
/// Only while [`generation`] is some.
pub fn control() -> &'static RingControl {
    // SAFETY: set before `generation` says that this process is attached; never unmapped.
    unsafe { &*CONTROL.get() }
}

/// What wakes the recorder.
///
/// Only while [`generation`] is some.
#[inline]
pub fn bell() -> &'static Bell {
    // SAFETY: set before `generation` says that this process is attached; never unmapped.
    unsafe { &*BELL.get() }
}

/// Wakes the recorder, or has it look once more before it sleeps.
#[cold]
pub fn ring() {
    let bell = bell();
    if bell.ring() {
        sys::futex(&bell.word, sys::FUTEX_WAKE, 1, None);
    }
}

/// The recorder has to look by itself: this process may not wake it any more.
pub fn cannot_ring() {
    control().gate.0.home.set(2);
}

/// Whether a full ring drops at once.
pub fn drops_when_full() -> bool {
    DROP_WHEN_FULL.get() != 0
}

#[cold]
fn attach(forked: bool) -> Option<u32> {
    if PHASE.exchange(COLD, BUSY, Ordering::Acquire).is_err() {
        // Another thread is at it, or a signal came in the middle; or it was refused.
        return None;
    }
    let attached = try_attach(forked);
    let (generation, phase) = match attached {
        Some(()) => {
            let before = GENERATIONS.fetch_add(1, Ordering::Relaxed);
            (1 + (before & 0xffff), ATTACHED)
        }
        None => (u32::MAX, REFUSED),
    };
    // SAFETY: null, or mapped for as long as the process lives.
    if let Some(home) = unsafe { HOME.get().as_ref() } {
        home.generation.store(generation, Ordering::Release);
    }
    replay::off();
    PHASE.store(phase, Ordering::Release);
    if forked {
        forks();
    }
    attached?;
    // SAFETY: null, or what `inherits_by` put there.
    if forked && let Some(announce) = unsafe { ANNOUNCE.get().as_ref() } {
        announce();
    }
    Some(generation)
}

/// What a forked child does when it is attached; null: nothing.
static ANNOUNCE: AtomicPtr<fn()> = zero();

/// From now on a forked child that attaches calls `announce`, which names what it inherited.
#[inline]
pub fn inherits_by(announce: &'static fn()) {
    ANNOUNCE.set((&raw const *announce).cast_mut());
}

fn try_attach(forked: bool) -> Option<()> {
    if HOME.get().is_null() {
        let page = sys::map(0, RING_PAGE, sys::MAP_PRIVATE_ANONYMOUS, -1, 0).ok()?;
        // SAFETY: the page that was just made.
        unsafe {
            let advice = [page as usize, RING_PAGE, sys::MADV_WIPEONFORK];
            sys::syscall(nr::MADVISE, advice);
        }
        HOME.store(page.cast(), Ordering::Release);
    }
    // In a forked child, the thread that asked is not there.
    ASKING.set(0);
    ASK_AGAIN.set(0);
    let (welcome, fd, bell) = ask(KIND_ATTACH, u32::from(forked))?;
    if welcome.one_thread != 0 {
        floor::on();
    }
    if !forked && matches!(welcome.accepted, ACCEPTED | REPLAYED) {
        typed::on();
        if welcome.no_log == 0 {
            printed::on();
        }
    }
    if matches!(welcome.accepted, REPLAYED | MUTED) {
        return replayed(&welcome, fd);
    }
    let rings = (welcome.rings as usize).min(RINGS_MAX);
    let capacity = welcome.capacity as usize;
    let length = RING_PAGE + rings * (RING_PAGE + capacity);
    let base = map(fd, 0, length);
    let bell = map_bell(bell);
    sys::close(fd);
    let base = match (base, bell) {
        (Ok(base), Ok(())) => base,
        (Err(code), _) | (_, Err(code)) => return unmapped(code),
    };
    CONTROL.set(base.cast());
    CAPACITY.set(capacity);
    IDENTITY.set(welcome.identity);
    DROP_WHEN_FULL.set(welcome.drop_when_full);
    for (index, ring) in RINGS.iter().enumerate().take(rings) {
        // SAFETY: inside what was mapped.
        let place = unsafe { base.add(RING_PAGE + index * (RING_PAGE + capacity)) };
        prepare(place);
        ring.set(place.cast());
    }
    RING_COUNT.store(rings, Ordering::Release);
    PID.set(sys::process());
    if KEY
        .make(Some(thread_ends))
        .and_then(|()| threads::prepare())
        .is_none()
    {
        return unmapped(sys::EAGAIN as u32);
    }
    if !forked && welcome.tripwire != 0 {
        let listener = tripwire::set();
        let _ = tell(KIND_TRIPWIRE, 0, listener);
        listener.into_iter().for_each(sys::close);
    }
    Some(())
}

/// Where a tape is mapped, if there is room: out of the way of what the program maps.
const TAPE_HINT: usize = 0x2000_0000_0000;
/// The same of rings, and what belongs to them. The kernel aligns large parts of files otherwise than
/// other memory, so that nothing else could stand for them in a replay.
static ASIDE: AtomicUsize = AtomicUsize::new(0x2100_0000_0000);

/// Where the next `length` bytes that are this library's may lie.
fn aside(length: usize) -> usize {
    const APART: usize = 4 << 20;
    let room = length.next_multiple_of(APART) + APART;
    ASIDE.fetch_add(room, Ordering::Relaxed)
}

/// This process is to be answered from a tape. Takes the same room in memory as recording did, so
/// that whatever the program maps lies where it lay: that of rings where older recorders had them,
/// amid what the program maps.
#[cold]
fn replayed(welcome: &Welcome, fd: i32) -> Option<()> {
    let length = RING_PAGE + welcome.rings as usize * (RING_PAGE + welcome.capacity as usize);
    let is_amid = welcome.rings > 0;
    let reserve = |length: usize| {
        let kind = sys::MAP_PRIVATE_ANONYMOUS | sys::MAP_NORESERVE;
        let place = if is_amid { 0 } else { aside(length) };
        sys::map(place, length, kind, -1, 0).ok()
    };
    // Zeros: nothing is pushed there.
    CONTROL.set(reserve(length)?.cast());
    let _bell = reserve(RING_PAGE)?;
    PID.set(sys::process());
    let _ = KEY.make(None);
    threads::prepare()?;
    if welcome.accepted == MUTED {
        replay::mute();
        return Some(());
    }
    let tape = sys::map(TAPE_HINT, welcome.identity as usize, sys::MAP_SHARED, fd, 0);
    sys::close(fd);
    // SAFETY: the command made it whole before it answered.
    unsafe { replay::begin(tape.ok()?) };
    Some(())
}

/// Reports to the recorder, which has made a reel, that nothing will be in it.
fn unmapped(code: u32) -> Option<()> {
    let _ = tell(KIND_UNMAPPED, code, None);
    None
}

/// Whether there was a fork, so that sockets may be other processes' as well.
static FORKED: AtomicU32 = zero();

/// This process has forked, or was.
pub fn forks() {
    FORKED.set(1);
}

/// Tells the recorder that the kernel cuts or joins this socket's packets otherwise from now on,
/// where another process may have it too. Also from a process that is not recorded itself.
pub fn tell_of_segments(socket: i32) {
    if FORKED.get() != 0 && !is_borrowed() {
        let _ = tell(KIND_SEGMENTS, 0, Some(socket));
    }
}

/// What the gate says where events are recorded.
const ON: u32 = 1;
/// The same, and nobody waits for room, because the disk has none.
pub const FULL: u32 = 3;

/// Whether what is pushed is recorded now.
///
/// Only while [`generation`] is some.
#[inline]
pub fn is_on() -> bool {
    matches!(control().gate.0.state.get(), ON | FULL)
}

/// The same of a process that may not be attached.
#[inline]
pub fn records() -> bool {
    generation().is_some() && is_on()
}

/// What this thread remembers, with a ring of its own; `None` where there is none to be had.
#[inline]
pub fn thread(generation: u32) -> Option<*mut Thread> {
    if let Some(head) = KEY.get().filter(|head| !head.is_null()) {
        // SAFETY: `lease` put a `Thread` into the page of the ring that it set as the value. In a
        // forked child it is the parent's, of another generation.
        let (thread, ours) = unsafe {
            let thread = head.byte_add(THREAD_AT).cast::<Thread>();
            (thread, (*thread).is_of(generation))
        };
        if ours {
            return Some(thread);
        }
    }
    lease(generation)
}

#[cold]
fn lease(generation: u32) -> Option<*mut Thread> {
    let head = threads::promised_ring(generation).or_else(free_ring)?;
    Some(take(head, generation))
}

/// A ring that is nobody else's from now on; where there is none left, the recorder is asked for one.
fn free_ring() -> Option<*mut RingHead> {
    loop {
        let count = RING_COUNT.load(Ordering::Acquire);
        for ring in RINGS.iter().take(count) {
            let head = ring.get();
            // SAFETY: mapped for as long as the process lives.
            if unsafe { &*head }.try_lease() {
                return Some(head);
            }
        }
        let again = ASK_AGAIN.get();
        if again != 0 && now() < again {
            return None;
        }
        match one_more(count) {
            Asked::Ring => {}
            Asked::None => ASK_AGAIN.set(now() + ASK_AGAIN_NS),
            Asked::Already => return None,
        }
    }
}

/// A ring for a thread that this one is about to make, and the generation that it is of. To ask the
/// recorder takes descriptors for a moment, so whoever makes threads does it in its own order: the new
/// thread would do it while others open theirs, which would be numbered otherwise.
pub fn ring_for_child() -> Option<(*mut RingHead, u32)> {
    let generation = generation().filter(|_| is_on())?;
    Some((free_ring()?, generation))
}

/// Nobody needs this ring, in which nothing was pushed.
pub fn give_back((head, of): (*mut RingHead, u32)) {
    if generation() == Some(of) {
        // SAFETY: mapped for as long as the process lives.
        unsafe { &*head }.release();
    }
}

fn take(head: *mut RingHead, generation: u32) -> *mut Thread {
    let capacity = CAPACITY.get();
    let number = control().threads.0.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the ring is leased: nobody else writes to it, or to the rest of its first page.
    unsafe {
        (*head).thread.0.set(number.min(65_534) + 1);
        let memory = RingMemory {
            control: CONTROL.get(),
            head,
            data: head.cast::<u8>().add(RING_PAGE),
            capacity,
        };
        let thread = head.byte_add(THREAD_AT).cast::<Thread>();
        thread.write(Thread::new(generation, RingWriter::new(memory)));
        threads::pushes_into(number.min(65_534));
        let (which, identity) = (body::called(CallId::THREAD, 0), threads::identity());
        let (writer, kind) = (&mut (*thread).writer, EventKind::Called as u8);
        writer.push(now(), kind, &which, &identity.to_le_bytes());
        KEY.set(head.cast());
        thread
    }
}

/// The answer to a request for one more ring.
enum Asked {
    Ring,
    /// There are no more.
    None,
    /// This thread is asking: a signal handler came in the middle.
    Already,
}

/// Asks the recorder for a ring more, one thread at a time. The others sleep: it is the recorder
/// that they wait for, and it may need their processor.
fn one_more(count: usize) -> Asked {
    let this = sys::thread();
    while let Err(asking) = ASKING.exchange(0, this, Ordering::Acquire) {
        if asking == this {
            return Asked::Already;
        }
        sys::futex(&ASKING, sys::FUTEX_WAIT_PRIVATE, asking, None);
    }
    let added = add_ring(count);
    ASKING.store(0, Ordering::Release);
    sys::futex(&ASKING, sys::FUTEX_WAKE_PRIVATE, 1, None);
    added.map_or(Asked::None, |()| Asked::Ring)
}

/// Adds a ring to the `count` that there are, unless another thread has done so meanwhile.
fn add_ring(count: usize) -> Option<()> {
    if RING_COUNT.load(Ordering::Acquire) > count {
        return Some(());
    }
    if count == RINGS_MAX {
        return None;
    }
    let (welcome, fd, _) = ask(KIND_MORE, 0)?;
    let capacity = CAPACITY.get();
    let index = welcome.rings as usize;
    let offset = RING_PAGE + index * (RING_PAGE + capacity);
    let ring = map(fd, offset, RING_PAGE + capacity);
    sys::close(fd);
    let ring = ring.ok()?;
    prepare(ring);
    RINGS.get(count)?.set(ring.cast());
    RING_COUNT.store(count + 1, Ordering::Release);
    Some(())
}

unsafe extern "C" fn thread_ends(ring: *mut c_void) {
    // SAFETY: the value that `take` set: a ring that stays mapped, with a `Thread` in it.
    let (head, thread) = unsafe {
        let thread = ring.byte_add(THREAD_AT).cast::<Thread>();
        (&*ring.cast::<RingHead>(), &*thread)
    };
    // In a forked child the ring is its parent's, which goes on using it.
    if generation().is_some_and(|generation| thread.is_of(generation)) {
        head.release();
        // What is still in it has to be written before another thread may have it.
        if !head.is_empty() {
            self::ring();
        }
    }
}

/// Maps the bell, unless an ancestor of this forked child has.
fn map_bell(fd: Option<i32>) -> Result<(), u32> {
    if let Some(fd) = fd {
        if BELL.get().is_null() {
            BELL.set(map(fd, 0, RING_PAGE)?.cast());
        }
        sys::close(fd);
    }
    if BELL.get().is_null() {
        Err(sys::EAGAIN as u32)
    } else {
        Ok(())
    }
}

/// How much of a ring is made writable before it is used; the rest takes memory when it is.
const READY: usize = 64 << 10;

/// Makes the first pages of a ring writable.
fn prepare(ring: *mut u8) {
    // SAFETY: a ring is longer, and the advice changes no byte.
    unsafe {
        let advice = [ring as usize, RING_PAGE + READY, sys::MADV_POPULATE_WRITE];
        sys::syscall(nr::MADVISE, advice);
    }
}

/// Has the kernel give a ring all its storage, which the recorder no longer does. `false`: there is
/// nothing to give, or no room on the disk, or the kernel is older than this (5.14).
pub fn back(writer: &RingWriter) -> bool {
    let Some((place, length)) = writer.without_storage() else {
        return false;
    };
    let advice = [place as usize, length, sys::MADV_POPULATE_WRITE];
    // SAFETY: inside the ring, and the advice changes no byte.
    let given = unsafe { sys::syscall(nr::MADVISE, advice) } == 0;
    if given {
        writer.has_storage();
    }
    given
}

/// Where the part of the file is in memory, or the error code.
fn map(fd: i32, offset: usize, length: usize) -> Result<*mut u8, u32> {
    sys::map(aside(length), length, sys::MAP_SHARED, fd, offset)
}
