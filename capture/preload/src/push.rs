//! Pushing events into this thread's ring.

use core::sync::atomic::Ordering;

use crate::attach;
use crate::call::{CallId, ClockId};
use crate::ring::RingWriter;
use crate::sys::{self, Real, TimeSpec, nr};
use crate::vectors::Vectors;

/// What a thread remembers. It lies in the page before the thread's ring, behind what the reader
/// knows of: memory that is there anyway.
pub struct Thread {
    generation: u32,
    busy: bool,
    writer: RingWriter,
    dropped: u64,
    gave_up_at: u64,
    /// The time of its latest event.
    latest: u64,
}

/// Where in a ring's first page a [`Thread`] lies.
pub const THREAD_AT: usize = 1024;

impl Thread {
    /// A thread that pushes into `writer` from now on.
    pub fn new(generation: u32, writer: RingWriter) -> Thread {
        Thread {
            generation,
            busy: false,
            writer,
            dropped: 0,
            gave_up_at: u64::MAX,
            latest: 0,
        }
    }

    /// Whether it belongs to this generation: not to the parent of a forked child.
    pub fn is_of(&self, generation: u32) -> bool {
        self.generation == generation
    }
}

const ON: u32 = 1;
const STOPPED: u32 = 0;
/// So long a thread waits for a recorder that makes no progress.
const WAIT_MAX_NS: u64 = 2_000_000_000;

const DROPPED: u8 = 15;
const STALLED: u8 = 16;
const CLOCK_READ: u8 = 18;
const CALLED: u8 = 19;

/// The right to push, for as long as no other code of the program runs in this thread.
pub struct Pushing {
    thread: *mut Thread,
}

impl Drop for Pushing {
    fn drop(&mut self) {
        // SAFETY: as in `thread`.
        unsafe { (*self.thread).busy = false };
    }
}

/// Starts pushing; `None` where nothing is recorded now.
#[inline]
pub fn pushing() -> Option<Pushing> {
    let generation = attach::generation()?;
    if attach::control().gate.0.state.load(Ordering::Relaxed) != ON {
        return None;
    }
    let Some(thread) = attach::thread(generation) else {
        attach::control().ringless.0.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    // SAFETY: memory of this thread; `busy` keeps a signal handler from using it at the same time.
    let state = unsafe { &mut *thread };
    if state.busy {
        // A signal handler came in the middle of a push.
        attach::control().ringless.0.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    state.busy = true;
    Some(Pushing { thread })
}

/// Lets others run for a moment.
pub fn pause() {
    let time = TimeSpec {
        seconds: 0,
        nanos: 50_000,
    };
    // SAFETY: a time to read from, nowhere to write to.
    unsafe { sys::syscall(nr::NANOSLEEP, [(&raw const time) as usize, 0, 0, 0, 0, 0]) };
}

static CLOCK_GETTIME: Real = Real::new(c"clock_gettime");

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn now() -> u64 {
    let mut time = TimeSpec::default();
    let found = CLOCK_GETTIME.get();
    if found.is_null() {
        return 0;
    }
    // SAFETY: the C library's function of this name, with a place to write to.
    unsafe {
        let read: unsafe extern "C" fn(i32, *mut TimeSpec) -> i32 = core::mem::transmute(found);
        read(sys::CLOCK_MONOTONIC, &raw mut time);
    }
    time.seconds as u64 * 1_000_000_000 + time.nanos as u64
}

impl Pushing {
    fn thread(&mut self) -> &mut Thread {
        // SAFETY: memory of this thread, and `busy` is set.
        unsafe { &mut *self.thread }
    }

    /// The time of this thread's latest event, or now where it has none.
    pub fn latest(&mut self) -> u64 {
        match self.thread().latest {
            0 => now(),
            latest => latest,
        }
    }

    /// Pushes an event whose body has `length` bytes, which `fill` writes. Its number.
    #[inline]
    pub fn push(
        &mut self,
        time: u64,
        kind: u8,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Option<u64> {
        let thread = self.thread();
        thread.latest = time;
        let full = thread.dropped > 0 || !thread.writer.has_room(length);
        if full && !make_room(thread, time, length) {
            return None;
        }
        thread.writer.push_with(time, kind, length, fill)
    }

    /// Pushes an event whose body is `parts`, one behind the other.
    #[inline]
    pub fn push_parts(&mut self, time: u64, kind: u8, parts: &[&[u8]]) -> Option<u64> {
        let length = parts.iter().map(|part| part.len()).sum();
        self.push(time, kind, length, |mut to| {
            for part in parts {
                // SAFETY: the sum of the parts is the room that was asked for.
                unsafe {
                    core::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
                    to = to.add(part.len());
                }
            }
        })
    }

    /// Pushes that a clock was read.
    #[inline]
    pub fn clock_read(&mut self, time: u64, clock: ClockId, value: u64) {
        let mut body = [0; 9];
        body[0] = clock.0;
        body[1..].copy_from_slice(&value.to_le_bytes());
        self.push_parts(time, CLOCK_READ, &[&body]);
    }

    /// Pushes that the operating system was called.
    #[inline]
    pub fn called(&mut self, call: CallId, result: i32, details: &[&[u8]]) {
        self.called_at(now(), call, result, details);
    }

    /// The same with the time of the call.
    #[inline]
    pub fn called_at(&mut self, time: u64, call: CallId, result: i32, details: &[&[u8]]) {
        let mut head = [0; 5];
        head[0] = call.0;
        head[1..].copy_from_slice(&result.to_le_bytes());
        let part = |index: usize| details.get(index).copied().unwrap_or(&[]);
        let parts = [&head[..], part(0), part(1), part(2), part(3)];
        self.push_parts(time, CALLED, &parts);
    }

    /// The same with one byte of details, and the next `length` bytes of `vectors` behind it.
    ///
    /// # Safety
    /// There are so many.
    pub unsafe fn called_with(
        &mut self,
        call: CallId,
        result: i32,
        detail: u8,
        vectors: &mut Vectors<'_>,
        length: usize,
    ) {
        let [a, b, c, d] = result.to_le_bytes();
        let head = [call.0, a, b, c, d, detail];
        self.push(now(), CALLED, head.len() + length, |body| {
            // SAFETY: the room is the sum of what is copied, which the caller vouches for.
            unsafe {
                core::ptr::copy_nonoverlapping(head.as_ptr(), body, head.len());
                vectors.take(body.add(head.len()), length);
            }
        });
    }

    /// Pushes that one call passes the next `count` packets of this socket, of `size` bytes each.
    pub fn joined(&mut self, time: u64, socket: u16, count: usize, size: usize) {
        let (socket, size) = (socket.to_le_bytes(), (size as u16).to_le_bytes());
        self.called_at(time, CallId::JOINED, count as i32, &[&socket, &size]);
    }
}

/// Waits for room where that is wanted, and pushes what tells of drops and of the wait. `false`:
/// the event was counted as dropped.
#[cold]
fn make_room(thread: &mut Thread, time: u64, length: usize) -> bool {
    let writer = &mut thread.writer;
    let needed = length + 256;
    let fits = length <= writer.body_max();
    let mut stalled = None;
    if !fits || !writer.has_room(needed) {
        let start = now();
        if !fits || attach::drops_when_full() || !wait(writer, &mut thread.gave_up_at, needed) {
            thread.dropped += 1;
            let dropped = &writer.head().dropped.0;
            dropped.store(thread.dropped, Ordering::Relaxed);
            return false;
        }
        stalled = Some(now().saturating_sub(start));
    }
    if thread.dropped > 0 {
        let count = thread.dropped.to_le_bytes();
        writer.push(time, DROPPED, &count, &[]);
        thread.dropped = 0;
        writer.head().dropped.0.store(0, Ordering::Relaxed);
    }
    if let Some(nanos) = stalled {
        writer.push(time, STALLED, &nanos.to_le_bytes(), &[]);
    }
    true
}

fn wait(writer: &mut RingWriter, gave_up_at: &mut u64, needed: usize) -> bool {
    let gate = &attach::control().gate.0;
    let mut seen = gate.progress.load(Ordering::Relaxed);
    if *gave_up_at == seen {
        return false;
    }
    let mut since = now();
    loop {
        if writer.has_room(needed) {
            return true;
        }
        if gate.state.load(Ordering::Relaxed) == STOPPED {
            return false;
        }
        let progress = gate.progress.load(Ordering::Relaxed);
        if progress != seen {
            seen = progress;
            since = now();
        } else if now().saturating_sub(since) > WAIT_MAX_NS {
            *gave_up_at = seen;
            return false;
        }
        pause();
    }
}
