//! The ring file: what was pushed and is not yet in the reel.
//!
//! One writer and one reader a ring, over memory that outlives the process (a mapped file beside
//! the reel). A writer reserves room, takes a number from the one counter that all rings share,
//! copies, and publishes by storing the tail; the reader gives room back by storing the head, and
//! does so only once the events stand in the reel. What was published is therefore always in one
//! of the two files. `docs/reel-format.md` has the layout.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The first bytes of a ring file.
pub const RING_MAGIC: [u8; 8] = *b"\x89RING\r\n\x1a";
/// The version of the layout.
pub const RING_VERSION: u32 = 0;
/// The length of the control page, and of the page before each ring's data.
pub const RING_PAGE: usize = 4096;
/// The length of a record before its body.
pub const RECORD_HEAD: usize = 24;
/// The smallest and the largest capacity of a ring, in bytes; it is a multiple of a page.
pub const RING_CAPACITY: core::ops::RangeInclusive<usize> = RING_PAGE..=(1 << 30);

/// Stands in place of a number: the rest of the ring up to its end is not used.
const SKIP: u64 = u64::MAX;

/// Keeps what different threads write in different cache lines.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Line<T>(pub T);

/// The fixed part of the control page.
#[repr(C)]
#[derive(Debug, Default)]
pub struct RingFixed {
    /// [`RING_MAGIC`].
    pub magic: [u8; 8],
    /// [`RING_VERSION`].
    pub version: u32,
    /// The length of each ring's data in bytes.
    pub capacity: u32,
    /// The identity of the reel that this file belongs to.
    pub identity: u64,
}

/// Set by the drainer when it had to give up.
#[repr(C)]
#[derive(Debug, Default)]
pub struct RingStop {
    /// 0, or the operating system's error code that ended the recording.
    pub code: AtomicU32,
    /// The number of the first event that was not written for it.
    pub number: AtomicU64,
}

/// What a recorder tells pushers in other processes. Those in its own have a gate of their own.
#[repr(C)]
#[derive(Debug, Default)]
pub struct RingGate {
    /// 0: recording has ended; 1: events are taken; 2: recording is switched off; 3: events are
    /// taken, and there is no room on the disk, so that nobody waits for a buffer.
    pub state: AtomicU32,
    /// 1 in a ring file that another process pushes into; 2 where that one may not ring.
    pub home: AtomicU32,
    /// Rises while the recorder is at work.
    pub progress: AtomicU64,
}

/// The first page of a ring file.
#[repr(C)]
#[derive(Debug, Default)]
pub struct RingControl {
    /// What does not change.
    pub fixed: Line<RingFixed>,
    /// The number that the next event takes. At byte 64.
    pub next: Line<AtomicU64>,
    /// How many sockets were numbered. At byte 128.
    pub sockets: Line<AtomicU32>,
    /// At byte 192.
    pub stop: Line<RingStop>,
    /// At byte 256.
    pub gate: Line<RingGate>,
    /// How many threads were numbered. At byte 320.
    pub threads: Line<AtomicU32>,
    /// Events dropped by threads for which there was no ring. At byte 384.
    pub ringless: Line<AtomicU64>,
}

/// The page before a ring's data.
#[repr(C)]
#[derive(Debug, Default)]
pub struct RingHead {
    /// The thread's number plus 1; 0 while nobody uses the ring.
    pub thread: Line<AtomicU32>,
    /// Bytes ever published; the writer stores it. At byte 64.
    pub tail: Line<AtomicU64>,
    /// Bytes ever given back; the reader stores it. At byte 128.
    pub head: Line<AtomicU64>,
    /// Events that found no room and that no event tells of yet. At byte 192.
    pub dropped: Line<AtomicU64>,
    /// 1 while somebody has the right to push. At byte 256.
    pub lease: Line<AtomicU32>,
    /// In a ring that has storage for its first bytes alone, how many; the reader stores it. 0: it
    /// has storage for all. At byte 320.
    pub backed: Line<AtomicU64>,
    /// How far a push that found no room would have reached, in bytes ever published; the writer
    /// stores it. At byte 384.
    pub wanted: Line<AtomicU64>,
}

impl RingHead {
    /// Takes the right to push, if nobody has it and the reader has taken everything.
    pub fn try_lease(&self) -> bool {
        let lease = &self.lease.0;
        if lease
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            return false;
        }
        let idle = self.is_empty() && self.dropped.0.load(Ordering::Relaxed) == 0;
        if !idle {
            lease.store(0, Ordering::Release);
        }
        idle
    }

    /// Whether everything that was pushed was taken and written.
    pub fn is_empty(&self) -> bool {
        self.tail.0.load(Ordering::Acquire) == self.head.0.load(Ordering::Acquire)
    }

    /// Gives the right to push back.
    pub fn release(&self) {
        self.lease.0.store(0, Ordering::Release);
    }

    /// Whether somebody has the right to push.
    pub fn is_leased(&self) -> bool {
        self.lease.0.load(Ordering::Acquire) != 0
    }
}

/// Where one ring is in memory.
#[derive(Clone, Copy, Debug)]
pub struct RingMemory {
    /// The control page of the file.
    pub control: *const RingControl,
    /// The page before the data.
    pub head: *const RingHead,
    /// The data.
    pub data: *mut u8,
    /// The length of the data in bytes: a multiple of 8, in [`RING_CAPACITY`].
    pub capacity: usize,
}

/// How much room an event with a body of `length` bytes takes in a ring.
#[inline]
pub const fn record_length(length: usize) -> usize {
    (RECORD_HEAD + length + 7) & !7
}

/// The largest body that a ring of this capacity takes: what fits into half of it together with
/// the small events that tell of a stall or of drops before it. At most 16 MiB.
pub const fn body_max(capacity: usize) -> usize {
    let half = (capacity / 2).saturating_sub(512);
    if half < (16 << 20) { half } else { 16 << 20 }
}

/// The writing end of a ring.
#[derive(Debug)]
pub struct RingWriter {
    memory: RingMemory,
    tail: u64,
    head_seen: u64,
    /// How far it may push, as last seen.
    limit: u64,
    /// From here on it is to be asked whether the reader should be woken.
    fills_at: u64,
}

// SAFETY: the pointers lead to memory that every thread may use: atomics, and bytes between tail
// and head that only the owner of this value touches.
unsafe impl Send for RingWriter {}
// SAFETY: through a shared reference only the atomics can be reached.
unsafe impl Sync for RingWriter {}

impl RingWriter {
    /// Takes the writing end.
    ///
    /// # Safety
    /// `memory` describes a ring in the layout above that stays mapped, writable and backed by
    /// storage for as long as this value lives, and nobody else writes to this ring.
    pub unsafe fn new(memory: RingMemory) -> RingWriter {
        // SAFETY: the caller vouches for the pointer.
        let head = unsafe { &*memory.head };
        let mut writer = RingWriter {
            memory,
            tail: head.tail.0.load(Ordering::Relaxed),
            head_seen: 0,
            limit: 0,
            fills_at: 0,
        };
        writer.look();
        writer.fills_at = writer.head_seen + writer.fills_by();
        writer
    }

    /// Sees how much room there is.
    fn look(&mut self) {
        let head = self.head();
        let given_back = head.head.0.load(Ordering::Acquire);
        let backed = head.backed.0.load(Ordering::Acquire);
        let whole = given_back + self.memory.capacity as u64;
        self.head_seen = given_back;
        self.limit = match backed {
            0 => whole,
            backed => whole.min(backed),
        };
    }

    /// A ring that holds this many bytes wakes its reader: an eighth of its room.
    fn fills_by(&self) -> u64 {
        self.limit.saturating_sub(self.head_seen) / 8
    }

    /// The control page, which all rings share.
    #[inline]
    pub fn control(&self) -> &RingControl {
        // SAFETY: `new` was promised that the memory stays.
        unsafe { &*self.memory.control }
    }

    /// The page before the data.
    #[inline]
    pub fn head(&self) -> &RingHead {
        // SAFETY: as above.
        unsafe { &*self.memory.head }
    }

    /// Where the data begins that has no storage yet, and how long it is; `None`: all has.
    pub fn without_storage(&self) -> Option<(*mut u8, usize)> {
        let backed = self.head().backed.0.load(Ordering::Acquire) as usize;
        let left = self.memory.capacity.checked_sub(backed)?;
        (backed > 0).then(|| (self.memory.data.wrapping_add(backed), left))
    }

    /// From now on all of it has storage.
    pub fn has_storage(&self) {
        self.head().backed.0.store(0, Ordering::Release);
    }

    /// The largest body that can ever be pushed.
    pub fn body_max(&self) -> usize {
        body_max(self.memory.capacity)
    }

    /// Whether an event with a body of `length` bytes can be pushed now.
    #[inline]
    pub fn has_room(&mut self, length: usize) -> bool {
        let needed = self.needed(length);
        if self.free() >= needed {
            return true;
        }
        self.look();
        let there = self.free() >= needed;
        if !there {
            let wanted = &self.head().wanted.0;
            wanted.store(self.tail + needed, Ordering::Relaxed);
        }
        there
    }

    /// Whether the reader should be woken, because the ring has filled by an eighth since it gave
    /// room back, and by a sixteenth since it should have been woken last. To be asked after a
    /// push.
    #[inline]
    pub fn fills(&mut self) -> bool {
        self.tail >= self.fills_at && self.has_filled()
    }

    #[cold]
    fn has_filled(&mut self) -> bool {
        self.look();
        let by = self.fills_by();
        let filled = self.tail.wrapping_sub(self.head_seen) >= by;
        self.fills_at = if filled {
            self.tail + by / 2
        } else {
            self.head_seen + by
        };
        filled
    }

    #[inline]
    fn free(&self) -> u64 {
        self.limit.saturating_sub(self.tail)
    }

    /// Room for the record, and for what is skipped so that it stands in one piece.
    #[inline]
    fn needed(&self, length: usize) -> u64 {
        let record = record_length(length);
        let to_end = self.memory.capacity - self.place();
        (if record <= to_end {
            record
        } else {
            to_end + record
        }) as u64
    }

    #[inline]
    fn place(&self) -> usize {
        (self.tail % self.memory.capacity as u64) as usize
    }

    /// Pushes an event whose body is `head` followed by `tail`, and returns its number; `None`
    /// where there is no room. Once it returned, the event survives the death of the process.
    #[inline]
    pub fn push(&mut self, time: u64, kind: u8, head: &[u8], tail: &[u8]) -> Option<u64> {
        self.push_with(time, kind, head.len() + tail.len(), |body| {
            // SAFETY: `push_with` hands out room for both parts.
            unsafe {
                core::ptr::copy_nonoverlapping(head.as_ptr(), body, head.len());
                core::ptr::copy_nonoverlapping(tail.as_ptr(), body.add(head.len()), tail.len());
            }
        })
    }

    /// [`push`](RingWriter::push) of a body of `length` bytes that `fill` writes, all of it, to
    /// the place that it is given.
    #[inline]
    pub fn push_with(
        &mut self,
        time: u64,
        kind: u8,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Option<u64> {
        if length > self.body_max() || !self.has_room(length) {
            return None;
        }
        let record = record_length(length);
        let mut place = self.place();
        let to_end = self.memory.capacity - place;
        let mut after = self.tail;
        if record > to_end {
            // SAFETY: places and lengths are multiples of 8, so at least 8 bytes are left before
            // the end, and `has_room` found them free.
            unsafe {
                self.memory
                    .data
                    .add(place)
                    .cast::<u64>()
                    .write_unaligned(SKIP.to_le())
            };
            after += to_end as u64;
            place = 0;
        }
        // Ordered before the question whether the reader sleeps, see `Bell`.
        let number = self.control().next.0.fetch_add(1, Ordering::SeqCst);
        // SAFETY: `record` bytes from `place` on lie inside the data and are free: the reader does
        // not look behind the tail, and nobody else writes.
        unsafe {
            let at = self.memory.data.add(place);
            let head = [number, time, u64::from(kind) << 32 | length as u64];
            at.cast::<[u64; 3]>().write_unaligned(head.map(u64::to_le));
            fill(at.add(RECORD_HEAD));
        }
        self.tail = after + record as u64;
        self.head().tail.0.store(self.tail, Ordering::Release);
        self.prefetch();
        Some(number)
    }

    /// Has the next lines fetched for writing while the program does something else. The reader
    /// had them last, or nobody.
    #[inline]
    fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            let next = self.memory.data.wrapping_add(self.place());
            for line in 0..6 {
                // SAFETY: a hint, which never faults, whatever the address.
                unsafe { _mm_prefetch::<_MM_HINT_ET0>(next.wrapping_add(line * 64).cast()) };
            }
        }
    }
}

/// One event as it lies in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingRecord<'a> {
    /// Its number.
    pub number: u64,
    /// Its time in nanoseconds.
    pub time: u64,
    /// Its kind.
    pub kind: u8,
    /// Its body in the plain layout.
    pub body: &'a [u8],
}

/// The reading end of a ring: the drainer's.
#[derive(Debug)]
pub struct RingReader {
    memory: RingMemory,
    at: u64,
    tail_seen: u64,
}

// SAFETY: as for `RingWriter`; the reader touches only what was published.
unsafe impl Send for RingReader {}

impl RingReader {
    /// Takes the reading end.
    ///
    /// # Safety
    /// As for [`RingWriter::new`], with "reads from" in place of "writes to".
    pub unsafe fn new(memory: RingMemory) -> RingReader {
        // SAFETY: the caller vouches for the pointer.
        let at = unsafe { &*memory.head }.head.0.load(Ordering::Relaxed);
        RingReader {
            memory,
            at,
            tail_seen: at,
        }
    }

    /// The page before the data.
    pub fn head(&self) -> &RingHead {
        // SAFETY: `new` was promised that the memory stays.
        unsafe { &*self.memory.head }
    }

    /// The number of the event that [`next`](RingReader::next) would give.
    #[inline]
    pub fn peek(&mut self) -> Option<u64> {
        self.record().map(|(record, _)| record.number)
    }

    /// Takes the next published event. Its room is not given back yet.
    #[inline]
    #[allow(clippy::should_implement_trait)] // the event borrows from the reader
    pub fn next(&mut self) -> Option<RingRecord<'_>> {
        let (record, after) = self.record()?;
        self.at = after;
        Some(record)
    }

    #[inline]
    fn record<'a>(&mut self) -> Option<(RingRecord<'a>, u64)> {
        if self.at == self.tail_seen {
            self.tail_seen = self.head().tail.0.load(Ordering::Acquire);
        }
        walk(
            self.memory.capacity,
            self.at,
            self.tail_seen,
            |place, length| {
                // SAFETY: `walk` keeps inside the data, which is mapped for as long as this reader
                // lives, and before the tail: those bytes are published, and the writer does not
                // touch them until `give_back`, which needs `&mut self`. Only `next` hands out
                // what is borrowed here, bound to the borrow of `self`.
                let published = unsafe {
                    core::slice::from_raw_parts(self.memory.data.add(place).cast_const(), length)
                };
                Some(published)
            },
        )
    }

    /// The place behind the latest event taken, in bytes ever published.
    #[inline]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Takes everything behind `at` once more, a former answer of [`at`](RingReader::at) whose
    /// room was not given back.
    pub fn rewind(&mut self, at: u64) {
        self.at = at.min(self.at);
    }

    /// Gives back the room of all events before `at`, a former answer of [`at`](RingReader::at):
    /// they stand in the reel now.
    pub fn give_back(&mut self, at: u64) {
        self.head().head.0.store(at.min(self.at), Ordering::Release);
    }

    /// How many bytes are published and not given back.
    pub fn used(&self) -> u64 {
        let head = self.head();
        head.tail
            .0
            .load(Ordering::Acquire)
            .saturating_sub(head.head.0.load(Ordering::Relaxed))
    }

    /// How many bytes are published and not taken.
    pub fn waiting(&self) -> u64 {
        let tail = self.head().tail.0.load(Ordering::Acquire);
        tail.saturating_sub(self.at)
    }

    /// The length of the data in bytes.
    pub fn capacity(&self) -> u64 {
        self.memory.capacity as u64
    }
}

/// Reads the record at `at` (bytes ever written, not wrapped) of a ring that is published up to
/// `tail`; returns it with the place behind it. `None` at the end and for bytes that make no
/// sense.
pub fn read_record(data: &[u8], at: u64, tail: u64) -> Option<(RingRecord<'_>, u64)> {
    walk(data.len(), at, tail, |place, length| {
        data.get(place..place.checked_add(length)?)
    })
}

/// [`read_record`] over `published`, which gives the bytes from a place in the data on; it is asked
/// only for bytes that lie inside the data and before `tail`.
#[inline]
fn walk<'a>(
    capacity: usize,
    mut at: u64,
    tail: u64,
    published: impl Fn(usize, usize) -> Option<&'a [u8]>,
) -> Option<(RingRecord<'a>, u64)> {
    loop {
        let left = tail.checked_sub(at).filter(|&left| left > 0)?;
        let left = usize::try_from(left)
            .ok()
            .filter(|&left| left <= capacity)?;
        // Most rings have a power of two, and no division is needed.
        let place = if capacity.is_power_of_two() {
            at as usize & (capacity - 1)
        } else {
            (at % capacity as u64) as usize
        };
        let bytes = published(place, left.min(capacity - place))?;
        let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let number = word(0)?;
        if number == SKIP {
            at = at.checked_add(bytes.len() as u64)?;
            continue;
        }
        let (time, length_and_kind) = (word(8)?, word(16)?);
        let (length, kind) = (
            length_and_kind as u32 as usize,
            (length_and_kind >> 32) as u8,
        );
        let body = bytes.get(RECORD_HEAD..RECORD_HEAD.checked_add(length)?)?;
        let after = at.checked_add(record_length(length) as u64)?;
        if after > tail {
            return None;
        }
        return Some((
            RingRecord {
                number,
                time,
                kind,
                body,
            },
            after,
        ));
    }
}
