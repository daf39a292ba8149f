//! What a thread remembers from one event to the next, and the clock of its events.

use netreel_shared::ring::RingWriter;

use crate::objects::real;
use crate::sys::{self, TimeSpec};

/// What a thread remembers. It lies in the page before the thread's ring, behind what the reader
/// knows of: memory that is there anyway.
pub struct Thread {
    generation: u32,
    /// Whether it is pushing now.
    pub busy: bool,
    pub writer: RingWriter,
    /// How many events found no room since the latest event.
    pub dropped: u64,
    /// The recorder's progress when this thread gave up waiting for it.
    pub gave_up_at: u64,
    /// The time of its latest event; 0 where it has none.
    pub latest: u64,
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

real! {
    CLOCK_GETTIME = clock_gettime(i32, *mut TimeSpec) -> i32;
}

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn now() -> u64 {
    let mut time = TimeSpec::default();
    if let Some(read) = CLOCK_GETTIME.get() {
        // SAFETY: the C library's function of this name, with a place to write to.
        unsafe { read(sys::CLOCK_MONOTONIC, &raw mut time) };
    }
    time.in_nanos()
}
