//! Handing an event to a recorder.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use netreel_reel::bell::Bell;
use netreel_reel::ring::RingWriter;
use netreel_reel::{Event, EventNumber, SocketId, ThreadId, Time, plain_parts};
use netreel_system::locked;

use crate::memory_reel::MemoryReel;

/// Where one thread hands its events to a recorder. Never fails and never panics: what cannot be
/// recorded is counted, and the count is in the reel.
#[derive(Debug)]
pub struct Pusher {
    sink: Sink,
    thread: ThreadId,
}

#[derive(Debug)]
enum Sink {
    Ring(Box<RingSink>),
    Memory(Arc<Mutex<MemoryReel>>),
}

/// What a pusher does when its ring has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Waits while the recorder makes progress; the wait is an event in the reel.
    #[default]
    Block,
    /// Drops the event; the count is an event in the reel.
    Drop,
}

/// What a recorder tells its pushers.
///
/// It lives in memory that a forked child sees as zeros (`MADV_WIPEONFORK`), so that the one load
/// that every push does anyway also tells a child that it is not the recorded process.
#[repr(C)]
#[derive(Debug)]
pub struct Gate {
    state: AtomicU32,
    home: AtomicU32,
    progress: AtomicU64,
}

const STOPPED: u32 = 0;
const ON: u32 = 1;
const OFF: u32 = 2;
/// As [`ON`], and nobody waits for room, because the disk has none.
const FULL: u32 = 3;

impl Default for Gate {
    fn default() -> Gate {
        let (state, home) = (AtomicU32::new(ON), AtomicU32::new(1));
        Gate {
            state,
            home,
            progress: AtomicU64::new(0),
        }
    }
}

impl Gate {
    /// Whether events are taken now.
    #[inline]
    pub fn is_on(&self) -> bool {
        matches!(self.state.load(Ordering::Relaxed), ON | FULL)
    }

    /// Whether nobody waits for room now, because the disk has none.
    pub fn is_full(&self) -> bool {
        self.state.load(Ordering::Relaxed) == FULL
    }

    /// Says whether the disk has room.
    pub fn set_full(&self, full: bool) {
        if full {
            self.change(ON, FULL);
        } else {
            self.change(FULL, ON);
        }
    }

    /// Whether recording has ended for good, or this is a forked child.
    pub fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Relaxed) == STOPPED
    }

    /// Whether this is the process that the recorder was made in, and not a forked child of it.
    pub fn is_home(&self) -> bool {
        self.home.load(Ordering::Relaxed) != 0
    }

    /// Ends recording for good. Pushers that wait give up.
    pub fn stop(&self) {
        self.state.store(STOPPED, Ordering::Relaxed);
    }

    /// Says that the recorder is alive and has taken something.
    pub fn made_progress(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the recorder has said so.
    pub fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// Returns whether it changed anything.
    fn switch(&self, on: bool) -> bool {
        if on {
            self.change(OFF, ON)
        } else {
            self.change(ON, OFF) || self.change(FULL, OFF)
        }
    }

    fn change(&self, from: u32, to: u32) -> bool {
        let order = Ordering::Relaxed;
        self.state.compare_exchange(from, to, order, order).is_ok()
    }
}

/// The writing end of a ring with all that a push needs to know.
#[derive(Debug)]
pub struct RingSink {
    writer: RingWriter,
    gate: GateRef,
    bell: BellRef,
    when_full: WhenFull,
    wait_max: Duration,
    /// Events dropped and not told of yet.
    dropped: u64,
    /// The recorder's progress when waiting for it was given up.
    gave_up_at: Option<u64>,
}

/// A gate, and what keeps it and the ring's memory in place.
#[derive(Clone)]
pub struct GateRef {
    gate: *const Gate,
    _keep: Arc<dyn Send + Sync>,
}

// SAFETY: a `Gate` is made of atomics, and `_keep` keeps it in place.
unsafe impl Send for GateRef {}
// SAFETY: as above.
unsafe impl Sync for GateRef {}

impl GateRef {
    /// # Safety
    /// `gate` stays valid for as long as `keep` (or a clone of it) lives.
    pub unsafe fn new(gate: *const Gate, keep: Arc<dyn Send + Sync>) -> GateRef {
        GateRef { gate, _keep: keep }
    }
}

impl std::ops::Deref for GateRef {
    type Target = Gate;
    #[inline]
    fn deref(&self) -> &Gate {
        // SAFETY: `new` was promised that it stays.
        unsafe { &*self.gate }
    }
}

impl std::fmt::Debug for GateRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// A bell that stays for as long as the process lives, in memory that all who ring it share.
#[derive(Clone, Copy, Debug)]
pub struct BellRef(&'static Bell);

impl BellRef {
    /// A reference to `bell`.
    pub fn new(bell: &'static Bell) -> BellRef {
        BellRef(bell)
    }

    /// Wakes the writing thread, or has it look once more before it sleeps. Makes a system call
    /// where it sleeps, and none elsewhere. May be called in a signal handler.
    #[cold]
    pub fn ring(&self) {
        if self.0.ring() {
            netreel_system::wake::wake(&self.0.word);
        }
    }
}

impl std::ops::Deref for BellRef {
    type Target = Bell;
    #[inline]
    fn deref(&self) -> &Bell {
        self.0
    }
}

impl Pusher {
    /// A pusher into a ring that a drainer empties.
    pub fn into_ring(sink: RingSink, thread: ThreadId) -> Pusher {
        Pusher {
            sink: Sink::Ring(Box::new(sink)),
            thread,
        }
    }

    pub(crate) fn into_memory(reel: Arc<Mutex<MemoryReel>>, thread: ThreadId) -> Pusher {
        Pusher {
            sink: Sink::Memory(reel),
            thread,
        }
    }

    /// The thread that the events of this pusher belong to.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// The largest event that can be pushed, in bytes.
    pub fn body_max(&self) -> usize {
        match &self.sink {
            Sink::Ring(ring) => ring.writer.body_max(),
            Sink::Memory(_) => netreel_reel::EVENT_MAX,
        }
    }

    /// Numbers a socket.
    pub fn open_socket(&mut self) -> SocketId {
        let number = match &self.sink {
            Sink::Ring(ring) => ring
                .writer
                .control()
                .sockets
                .0
                .fetch_add(1, Ordering::Relaxed),
            Sink::Memory(reel) => locked(reel).open_socket(),
        };
        SocketId(u16::try_from(number).unwrap_or(u16::MAX))
    }

    /// Whether a push would record.
    #[inline]
    pub fn is_on(&self) -> bool {
        match &self.sink {
            Sink::Ring(ring) => ring.gate.is_on(),
            Sink::Memory(reel) => locked(reel).is_on(),
        }
    }

    /// Switches recording on or off for the whole reel. The switch is an event in the reel.
    pub fn switch(&mut self, on: bool, time: Time) {
        let event = Event::Switched { on };
        if !on {
            if self.is_on() {
                self.push(time, event);
            }
            self.set(on);
        } else if self.set(on) {
            self.push(time, event);
        }
    }

    fn set(&mut self, on: bool) -> bool {
        match &self.sink {
            Sink::Ring(ring) => ring.gate.switch(on),
            Sink::Memory(reel) => locked(reel).switch(on),
        }
    }

    /// Records an event that happened at `time`, and returns its number; `None` where it was not
    /// recorded: recording is off, has stopped, or had no room.
    ///
    /// Once it returned, the event outlives the death of the process.
    #[inline]
    pub fn push(&mut self, time: Time, event: Event<'_>) -> Option<EventNumber> {
        match &mut self.sink {
            Sink::Ring(ring) => ring.push(time, &event),
            Sink::Memory(reel) => locked(reel).push(time, self.thread, event),
        }
    }

    /// The same, also while recording is switched off: for what somebody asks to be marked just then.
    pub fn push_while_off(&mut self, time: Time, event: Event<'_>) -> Option<EventNumber> {
        match &mut self.sink {
            Sink::Ring(ring) if ring.gate.is_stopped() => None,
            Sink::Ring(ring) => ring.take(time, &event),
            Sink::Memory(reel) => locked(reel).push_while_off(time, self.thread, event),
        }
    }
}

impl RingSink {
    /// Pushes into `writer` while `gate` lets it, and rings `bell` where the writing thread has to
    /// be woken. `wait_max`: after this long without any progress of the recorder, a waiting thread
    /// goes on without it.
    pub fn new(
        writer: RingWriter,
        gate: GateRef,
        bell: BellRef,
        when_full: WhenFull,
        wait_max: Duration,
    ) -> RingSink {
        RingSink {
            writer,
            gate,
            bell,
            when_full,
            wait_max,
            dropped: 0,
            gave_up_at: None,
        }
    }

    #[inline(always)] // see `plain_parts`
    fn push(&mut self, time: Time, event: &Event<'_>) -> Option<EventNumber> {
        if !self.gate.is_on() {
            return None;
        }
        self.take(time, event)
    }

    #[inline(always)] // see `plain_parts`
    fn take(&mut self, time: Time, event: &Event<'_>) -> Option<EventNumber> {
        let (head, tail) = plain_parts(event);
        let kind = event.kind() as u8;
        if self.dropped == 0
            && let Some(number) = self.writer.push(time.0, kind, head.bytes(), tail)
        {
            if self.bell.wants_every_push() || self.writer.fills() {
                self.bell.ring();
            }
            return Some(EventNumber(number));
        }
        self.push_slowly(time, kind, head.bytes(), tail)
    }

    #[cold]
    fn push_slowly(
        &mut self,
        time: Time,
        kind: u8,
        head: &[u8],
        tail: &[u8],
    ) -> Option<EventNumber> {
        let length = head.len() + tail.len();
        if length > self.writer.body_max() {
            return self.drop_one();
        }
        let mut stalled = None;
        // Room for the event and for those that tell of a stall and of drops before it.
        let room = length + 256;
        if !self.writer.has_room(room) {
            if self.when_full == WhenFull::Drop {
                return self.drop_one();
            }
            let start = Instant::now();
            if !self.wait_for(room) {
                return self.drop_one();
            }
            let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            stalled = Some(Event::Stalled { nanos });
        }
        let dropped = (self.dropped > 0).then_some(Event::Dropped {
            count: std::mem::take(&mut self.dropped),
        });
        for event in [dropped, stalled].into_iter().flatten() {
            let (head, tail) = plain_parts(&event);
            self.writer
                .push(time.0, event.kind() as u8, head.bytes(), tail);
        }
        // What was dropped is told of now.
        self.writer.head().dropped.0.store(0, Ordering::Relaxed);
        let number = self.writer.push(time.0, kind, head, tail);
        self.bell.ring();
        number.map(EventNumber)
    }

    fn drop_one(&mut self) -> Option<EventNumber> {
        self.dropped += 1;
        self.writer
            .head()
            .dropped
            .0
            .store(self.dropped, Ordering::Relaxed);
        None
    }

    /// Waits for room; `false` if recording stopped or the recorder makes no progress.
    fn wait_for(&mut self, room: usize) -> bool {
        let mut seen = self.gate.progress.load(Ordering::Relaxed);
        if self.gave_up_at == Some(seen) {
            // It still hangs. To wait for every event would hang the recorded program.
            return false;
        }
        self.bell.ring();
        let mut since = Instant::now();
        let mut tries = 0;
        loop {
            if self.writer.has_room(room) {
                return true;
            }
            if self.gate.is_stopped() || self.gate.is_full() {
                return false;
            }
            let progress = self.gate.progress.load(Ordering::Relaxed);
            if progress != seen {
                seen = progress;
                since = Instant::now();
                self.bell.ring();
            } else if since.elapsed() > self.wait_max {
                self.gave_up_at = Some(seen);
                return false;
            }
            tries = (tries + 1).min(11);
            match tries {
                ..7 => (0..1 << tries).for_each(|_| std::hint::spin_loop()),
                7..11 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}
