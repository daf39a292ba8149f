//! The tape: what an unmodified program is to be answered when it is replayed, in memory that the
//! command makes and the library in the program maps.
//!
//! A page of control comes first, then the identities of the recorded threads, then room for what
//! the program did instead where it parts from the recording, then the entries, one behind the
//! other, and at last what it printed. Nothing of it is ever a file.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::body::EventKind;
use crate::call::CallId;

/// The first bytes of a tape. Changes with its layout.
pub const TAPE_MAGIC: u64 = u64::from_le_bytes(*b"nrltap10");
/// Where the threads' identities lie: [`THREADS_MAX`] numbers of 64 bits.
pub const THREADS_AT: usize = 4096;
/// How many threads of a program can be replayed.
pub const THREADS_MAX: usize = 1024;
/// Where each thread's first step among locks lies that waits for its turn: as many numbers.
pub const STEPS_AT: usize = THREADS_AT + THREADS_MAX * 8;
/// Where for each thread lies when it first gives the floor up: as many [`NextFloor`].
pub const FLOORS_AT: usize = STEPS_AT + THREADS_MAX * 8;
/// Where the library puts the bytes of what came instead.
pub const CAME_AT: usize = FLOORS_AT + THREADS_MAX * size_of::<NextFloor>();
/// How many of them there is room for.
pub const CAME_MAX: usize = 64 << 10;
/// Where the library puts what the program printed instead, from where it differs to the line's
/// end: so many bytes for the standard output, and as many for the standard error.
pub const PRINTED_AT: usize = CAME_AT + CAME_MAX;
/// See [`PRINTED_AT`].
pub const PRINTED_MAX: usize = 1 << 10;
/// Where the library puts which of the kernel's own files it opened: [`OPENED_MAX`] of [`Opened`].
pub const OPENED_AT: usize = PRINTED_AT + 2 * PRINTED_MAX;
/// See [`OPENED_AT`].
pub const OPENED_MAX: usize = 64;
/// Where the path of the folder stands in which the files lie that the program changes, with a zero byte
/// behind it: [`SCRATCH_MAX`] bytes.
pub const SCRATCH_AT: usize = OPENED_AT + OPENED_MAX * size_of::<Opened>();
/// See [`SCRATCH_AT`].
pub const SCRATCH_MAX: usize = 512;
/// Where the first entry lies.
pub const ENTRIES_AT: usize = SCRATCH_AT + SCRATCH_MAX;
/// The identity of the program's first thread.
pub const MAIN_THREAD: u64 = 1;

/// The identity of the `nth` thread (from 1) that the thread `parent` has made.
pub const fn thread_identity(parent: u64, nth: u64) -> u64 {
    // As in FNV-1a with 64 bits, over whole numbers; 0 stays for threads without an identity.
    let mixed = (parent ^ 0xcbf2_9ce4_8422_2325).wrapping_mul(0x0000_0100_0000_01b3);
    let mixed = (mixed ^ nth).wrapping_mul(0x0000_0100_0000_01b3);
    (mixed ^ (mixed >> 29)) | 2
}

/// How a replay stands.
pub mod state {
    /// It goes on.
    pub const RUNNING: u32 = 0;
    /// The program parted from the recording.
    pub const PARTED: u32 = 1;
    /// The recording is over.
    pub const OVER: u32 = 2;
}

/// Why the program parted from the recording, where it did the recorded thing.
pub mod why {
    /// It did something else.
    pub const OTHER: u32 = 0;
    /// The bytes or the destination of a packet are others.
    pub const PACKET: u32 = 1;
    /// The new descriptor has another number than in the recording, and that one is in use.
    pub const DESCRIPTOR: u32 = 2;
    /// It does not wait for a descriptor that was ready.
    pub const NOT_WAITED_FOR: u32 = 3;
    /// It has less room for what was given to it.
    pub const NO_ROOM: u32 = 4;
    /// A thread that had nothing to do with packets in the recording uses a UDP socket.
    pub const OTHER_THREAD: u32 = 5;
    /// The recording does not hold what it is to be answered.
    pub const NOT_RECORDED: u32 = 6;
    /// It has asked for more or fewer locks than in the recording.
    pub const STEP: u32 = 7;
}

/// The first page.
#[repr(C)]
#[derive(Debug, Default)]
pub struct TapeControl {
    /// [`TAPE_MAGIC`].
    pub magic: u64,
    /// Where the entries end.
    pub end: u64,
    /// How many threads have identities behind this page.
    pub threads: u32,
    /// The process id that the program is told, and its parent's.
    pub process: u32,
    /// See `process`.
    pub parent: u32,
    /// How many rings were mapped at the start of the recording amid what the program maps; 0: they
    /// lay out of the way.
    pub rings: u32,
    /// The length of each ring's data.
    pub capacity: u32,
    /// 1 where the order of locks is in the recording; [`ONE_AT_A_TIME`] where one thread at a time
    /// ran besides.
    pub ordered: u32,
    /// The program stops itself before the event of this number; `u64::MAX`: nowhere. The command writes
    /// another number while the program is stopped.
    pub stop_at: AtomicU64,
    /// One of [`state`].
    pub state: AtomicU32,
    /// Where the next entry lies.
    pub next: AtomicU64,
    /// Sends that were equal, and their bytes.
    pub sends: AtomicU64,
    /// See `sends`.
    pub bytes: AtomicU64,
    /// 1 when the program has stopped itself at `stop_at`. The command writes 0 before it lets the program go
    /// on to another event.
    pub stopped: AtomicU32,
    /// Entries that were passed over, of threads that ended earlier than they did.
    pub passed: AtomicU32,
    /// How often threads slept that did not then; see `sleeps_less`.
    pub sleeps_more: AtomicU32,
    /// How often threads did not sleep that slept then, where several ran at the same time: it does
    /// not matter there.
    pub sleeps_less: AtomicU32,
    /// Ways out that the program was refused: TCP connections.
    pub refused: AtomicU32,
    /// How many of the kernel's own files were opened; of more than [`OPENED_MAX`] the first are told.
    pub opened: AtomicU32,
    /// 1 where barriers, what runs once, eventfds and the like are in the recording.
    pub meets: u32,
    /// 1 where what the program prints is compared.
    pub prints: u32,
    /// 1 where what it read of its standard input through the C library's streams is in the recording.
    pub streams: u32,
    /// 1 where children, how they ended and what they wrote into pipes is in the recording: none is
    /// started.
    pub children: u32,
    /// Where the paths lie on the tape that the program changed, and how many bytes that are: of each its
    /// length as u16 and the path.
    pub files_at: u64,
    /// See `files_at`.
    pub files_length: u64,
    /// How many signals the command has sent to the program that have not come yet.
    pub nudges: AtomicU32,
    /// What it printed: on its standard output, and on its standard error.
    pub printed: [Printed; 2],
    /// What came instead; whole once `state` is [`state::PARTED`].
    pub came: Came,
}

impl TapeControl {
    /// Whether the recorded threads ran one at a time.
    #[inline]
    pub fn one_thread(&self) -> bool {
        self.ordered == ONE_AT_A_TIME
    }

    /// Whether it does not matter how often a thread sleeps: where several ran at the same time,
    /// each in its order.
    #[inline]
    pub fn sleeps_as_often_as_it_has_to(&self) -> bool {
        self.ordered != 0 && !self.one_thread() && self.threads > 1
    }
}

/// What the program printed on one descriptor, and how the replay agrees with it.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Printed {
    /// Where it lies on the tape.
    pub at: u64,
    /// How many bytes that are.
    pub length: u64,
    /// How many bytes the program has printed now.
    pub now: AtomicU64,
    /// The first that is another one than recorded, plus 1; 0: there is none.
    pub differs: AtomicU64,
    /// How many bytes of the line that differs lie at [`PRINTED_AT`].
    pub came: AtomicU32,
    /// 1 when the line is whole.
    pub whole: AtomicU32,
}

/// A file of the kernel's own that the program opened (`/proc`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The FNV-1a sum of its path, in which the process is called `self`.
    pub path: u64,
    /// The same of its first bytes; 0 where there is none.
    pub sum: u64,
}

/// What the program did instead of the recorded thing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Came {
    /// One of [`why`].
    pub why: u32,
    /// As in [`Entry`].
    pub kind: u8,
    /// As in [`Entry`].
    pub id: u8,
    /// As in [`Entry`].
    pub socket: u16,
    /// As in [`Entry`]: how many of the bytes at [`CAME_AT`] are an endpoint.
    pub endpoint: u32,
    /// How many bytes lie there.
    pub length: u32,
    /// The descriptor that it is about; -1 for none.
    pub descriptor: i32,
    /// The thread, as the kernel numbers it.
    pub thread: u32,
}

/// What a thread does next in the recording, and what it is answered. Bytes follow: an endpoint as
/// bodies of events have it, then a payload or details. Entries begin at multiples of 8.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// The event's number in the reel.
    pub number: u64,
    /// What a clock said; of a step among locks, its number in its thread.
    pub value: u64,
    /// How many bytes follow.
    pub length: u32,
    /// What a call returned, or the negative error code; of a packet that was sent, how many of
    /// its bytes were taken, or the negative error code.
    pub result: i32,
    /// Which thread: an index into the identities.
    pub thread: u16,
    /// Of what concerns one.
    pub socket: u16,
    /// The number of the event's kind.
    pub kind: u8,
    /// The call or the clock.
    pub id: u8,
    /// How many of the bytes are an endpoint.
    pub endpoint: u8,
    /// 1 where the result is not known.
    pub flags: u8,
}

impl Entry {
    /// How far it is to the next one.
    #[inline]
    pub fn size(&self) -> u64 {
        (size_of::<Entry>() + self.length as usize).next_multiple_of(8) as u64
    }

    /// Which call it is of, if it is one.
    #[inline]
    pub fn called(&self) -> Option<CallId> {
        (self.kind == EventKind::Called as u8).then_some(CallId(self.id))
    }
}

/// [`Entry::flags`]: what came of it is not known.
pub const UNKNOWN_RESULT: u8 = 1;

/// What stands behind the entry of a step among locks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// The thread that had the lock before, as an index into the identities; [`NO_THREAD`]: none.
    pub before: u64,
    /// The step with which it got it.
    pub step: u64,
    /// This thread's next step that waits for its turn; 0: there is none.
    pub next: u64,
}

/// [`Order::before`]: nobody.
pub const NO_THREAD: u64 = u64::MAX;

/// [`TapeControl::ordered`]: one thread had the floor at a time.
pub const ONE_AT_A_TIME: u32 = 2;

/// When a thread gives the floor up to others before it goes on; behind the entry with which it got
/// it, too.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct NextFloor {
    /// Behind this many of its entries, plus 1; 0: it keeps it.
    pub entries: u64,
    /// And so many calls that have no entry.
    pub points: u64,
    /// All its entries; at the tape's begin alone.
    pub all: u64,
}
