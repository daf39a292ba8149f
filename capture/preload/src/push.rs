//! Pushing events into this thread's ring.

use core::sync::atomic::Ordering;

use netreel_shared::body::{self, EventKind};
use netreel_shared::call::{CallId, ClockId};
use netreel_shared::ring::RingWriter;

use crate::endpoint::Endpoint;
use crate::plainly::Plainly;
use crate::sys::{IoVec, errno, pause, quietly};
use crate::thread::{Thread, now};
use crate::vectors::Vectors;
use crate::{attach, floor, printed};

const STOPPED: u32 = 0;
/// How long a thread waits for a recorder that makes no progress.
const WAIT_MAX_NS: u64 = 2_000_000_000;

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

/// Starts pushing; `None` where nothing is recorded now. Lines that the program said before are
/// pushed first.
#[inline]
pub fn pushing() -> Option<Pushing> {
    floor::regains();
    let mut pushing = lend(true)?;
    printed::push_waiting(&mut pushing);
    Some(pushing)
}

/// The same without those lines.
pub fn pushing_alone() -> Option<Pushing> {
    lend(true)
}

/// The same for what may be missing where a signal came in the middle of a push: nothing is
/// counted as dropped for it.
pub fn pushing_unless_busy() -> Option<Pushing> {
    lend(false)
}

/// Pushes that the operating system was called, if something is recorded now. Leaves `errno` as it is.
pub fn called(call: CallId, result: i32, details: &[&[u8]]) {
    quietly(|| {
        if let Some(mut pushing) = pushing() {
            pushing.called(call, result, details);
        }
    });
}

/// The same of a read that gave these bytes, which may lie in several places, or failed: one byte of
/// details stands before them. Returns `result`.
pub fn was_read(call: CallId, detail: u8, list: &[IoVec], result: isize) -> isize {
    let Ok(length) = usize::try_from(result) else {
        called(call, -errno(), &[&[detail]]);
        return result;
    };
    quietly(|| {
        if let Some(mut pushing) = pushing() {
            pushing.called_with(call, detail, &mut Vectors::new(list), length);
        }
    });
    result
}

#[inline]
fn lend(counts: bool) -> Option<Pushing> {
    let generation = attach::generation().filter(|_| attach::is_on())?;
    let ringless = || {
        let lost = &attach::control().ringless.0;
        lost.fetch_add(u64::from(counts), Ordering::Relaxed);
        None
    };
    let Some(thread) = attach::thread(generation) else {
        return ringless();
    };
    // SAFETY: memory of this thread; `busy` keeps a signal handler from using it at the same time.
    let state = unsafe { &mut *thread };
    if state.busy {
        // A signal handler came in the middle of a push.
        return ringless();
    }
    state.busy = true;
    Some(Pushing { thread })
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
    fn push(
        &mut self,
        time: u64,
        kind: EventKind,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Option<u64> {
        let thread = self.thread();
        thread.latest = time;
        let full = thread.dropped > 0 || !thread.writer.has_room(length);
        if full && !make_room(thread, time, length) {
            return None;
        }
        let number = thread.writer.push_with(time, kind as u8, length, fill);
        if attach::bell().wants_every_push() || thread.writer.fills() {
            attach::ring();
        }
        number
    }

    /// Pushes an event whose body is laid out already.
    #[inline]
    pub fn push_body<const N: usize>(&mut self, time: u64, kind: EventKind, body: [u8; N]) {
        if kind != EventKind::SendResult {
            floor::pushes();
        }
        self.push(time, kind, N, |at| {
            // SAFETY: this much room was asked for.
            unsafe { put(at, &body) };
        });
    }

    /// Pushes that a packet, the next `length` bytes of `vectors`, was sent to `endpoint`, or
    /// received from it.
    #[inline]
    pub fn packet(
        &mut self,
        kind: EventKind,
        time: u64,
        (socket, endpoint): (u16, &Endpoint),
        vectors: &mut Vectors<'_>,
        length: usize,
    ) -> Option<u64> {
        floor::pushes();
        let mut head = 0;
        body::packet(|field| head += field.len(), socket, endpoint.bytes());
        self.push(time, kind, head + length, |mut at| {
            // SAFETY: the room is the sum of what is copied.
            unsafe {
                body::packet(|field| at = put(at, field), socket, endpoint.bytes());
                vectors.take(at, length);
            }
        })
    }

    /// Pushes that a socket was opened at `local`.
    pub fn opened(&mut self, time: u64, socket: u16, local: &Endpoint) {
        let (kind, mut nothing) = (EventKind::SocketOpened, Vectors::new(&[]));
        self.packet(kind, time, (socket, local), &mut nothing, 0);
    }

    /// Pushes that a clock was read.
    #[inline]
    pub fn clock_read(&mut self, time: u64, clock: ClockId, value: u64) {
        self.push_body(time, EventKind::ClockRead, body::clock_read(clock, value));
    }

    /// Pushes that the operating system was called.
    #[inline]
    pub fn called(&mut self, call: CallId, result: i32, details: &[&[u8]]) {
        self.called_at(now(), call, result, details);
    }

    /// The same with the time of the call.
    #[inline]
    pub fn called_at(&mut self, time: u64, call: CallId, result: i32, details: &[&[u8]]) {
        if floor::is_on() && floor::is_answered(call) {
            floor::count_anew();
        }
        let head = body::called(call, result);
        let length = head.len() + details.iter().map(|part| part.len()).sum::<usize>();
        self.push(time, EventKind::Called, length, |at| {
            // SAFETY: the sum of the parts is the room that was asked for.
            unsafe {
                let mut at = put(at, &head);
                for part in details {
                    at = put(at, part);
                }
            }
        });
    }

    /// The same with one byte of details, and the next `length` bytes of `vectors` behind it, which are the
    /// call's result.
    fn called_with(&mut self, call: CallId, detail: u8, vectors: &mut Vectors<'_>, length: usize) {
        floor::pushes();
        let head = body::called(call, length as i32);
        let room = head.len() + 1 + length;
        self.push(now(), EventKind::Called, room, |at| {
            // SAFETY: the room is the sum of what is copied.
            unsafe {
                let at = put(put(at, &head), &[detail]);
                vectors.take(at, length);
            }
        });
    }

    /// Pushes that one call passes the next `count` packets of this socket, of `size` bytes each.
    pub fn joined(&mut self, time: u64, socket: u16, count: usize, size: usize) {
        let (socket, size) = (socket.to_le_bytes(), (size as u16).to_le_bytes());
        self.called_at(time, CallId::JOINED, count as i32, &[&socket, &size]);
    }
}

/// Copies a field to `at`; the place behind it.
///
/// # Safety
/// There is room for it.
#[inline(always)]
unsafe fn put(at: *mut u8, field: &[u8]) -> *mut u8 {
    // SAFETY: the caller vouches for it.
    unsafe {
        core::ptr::copy_nonoverlapping(field.as_ptr(), at, field.len());
        at.add(field.len())
    }
}

/// Waits for room where that is wanted, and pushes how many events were dropped and how long it
/// waited. `false`:
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
            dropped.set(thread.dropped);
            return false;
        }
        stalled = Some(now().saturating_sub(start));
    }
    if thread.dropped > 0 {
        let body = body::dropped(thread.dropped);
        writer.push(time, EventKind::Dropped as u8, &body, &[]);
        thread.dropped = 0;
        writer.head().dropped.0.set(0);
    }
    if let Some(nanos) = stalled {
        writer.push(time, EventKind::Stalled as u8, &body::stalled(nanos), &[]);
    }
    true
}

fn wait(writer: &mut RingWriter, gave_up_at: &mut u64, needed: usize) -> bool {
    let gate = &attach::control().gate.0;
    let mut seen = gate.progress.get();
    if *gave_up_at == seen {
        return false;
    }
    attach::ring();
    let mut since = now();
    loop {
        if writer.has_room(needed) {
            return true;
        }
        if matches!(gate.state.get(), STOPPED | attach::FULL) {
            return false;
        }
        let progress = gate.progress.get();
        if attach::bell().is_orphaned() {
            // The recorder is dead, and nobody makes room any more.
            if attach::back(writer) && writer.has_room(needed) {
                return true;
            }
            *gave_up_at = progress;
            return false;
        }
        if progress != seen {
            seen = progress;
            since = now();
            attach::ring();
        } else if now().saturating_sub(since) > WAIT_MAX_NS {
            *gave_up_at = seen;
            return false;
        }
        pause();
    }
}
