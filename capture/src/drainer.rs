//! The one thread that empties the rings into the reel.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use netreel_reel::ring::RingReader;
use netreel_reel::{Append, Event, EventNumber, PlainError, Record, ReelWriter, ThreadId, Time};
use netreel_reel::{WriteError, plain_read};

use crate::rings::{MappedRing, RingFile};

/// What the recorder and its drainer share.
pub(crate) struct Shared {
    pub(crate) rings: Mutex<RingFile>,
    pub(crate) finishing: AtomicBool,
    pub(crate) tally: Arc<Tally>,
}

/// What was recorded so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    /// Packets that passed an observer.
    pub(crate) seen: AtomicU64,
    /// Of the payloads.
    pub(crate) bytes: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) sockets: AtomicU64,
    /// Events of any kind.
    pub(crate) events: AtomicU64,
}

impl Tally {
    fn count(&self, event: &Event<'_>) {
        let add = |to: &AtomicU64, count| to.fetch_add(count, Ordering::Relaxed);
        add(&self.events, 1);
        match event {
            Event::Sent { payload, .. } => {
                add(&self.sent, 1);
                add(&self.bytes, payload.len() as u64);
            }
            Event::Received { payload, .. } => {
                add(&self.received, 1);
                add(&self.bytes, payload.len() as u64);
            }
            Event::Seen { payload, .. } => {
                add(&self.seen, 1);
                add(&self.bytes, payload.len() as u64);
            }
            Event::Dropped { count } => {
                add(&self.dropped, *count);
            }
            Event::SocketOpened { .. } => {
                add(&self.sockets, 1);
            }
            _ => {}
        }
    }
}

/// Is shown every event on its way into the reel.
pub(crate) type Watch = Box<dyn FnMut(&Record<'_>) + Send>;

/// How a recording ended, seen from the drainer.
#[derive(Debug)]
pub(crate) struct Drained {
    pub(crate) events: u64,
    pub(crate) dropped: u64,
    /// The error that stopped it, and the first number that is not in the reel.
    pub(crate) failed: Option<(WriteError, EventNumber)>,
}

/// A block is sealed at this age, so that whoever follows the reel sees it grow.
const SEAL_AFTER: Duration = Duration::from_millis(500);
/// How long the drainer sleeps when there is nothing to do. It polls, because waking it would
/// cost the recorded thread more than everything else that a push does.
const IDLE: Duration = Duration::from_millis(1);
/// How long, at the end, a number that was taken is waited for.
const LATE: Duration = Duration::from_millis(200);

pub(crate) struct Drainer<W: Append> {
    shared: Arc<Shared>,
    writer: ReelWriter<W>,
    lanes: Vec<Lane>,
    /// The lane of the latest event; the next is most likely there too.
    lane: usize,
    opened: Option<Instant>,
    latest: Time,
    watch: Option<Watch>,
}

struct Lane {
    ring: Arc<MappedRing>,
    reader: RingReader,
}

impl<W: Append> Drainer<W> {
    pub(crate) fn new(
        shared: Arc<Shared>,
        writer: ReelWriter<W>,
        watch: Option<Watch>,
    ) -> Drainer<W> {
        Drainer {
            shared,
            writer,
            lanes: Vec::new(),
            lane: 0,
            opened: None,
            latest: Time::ZERO,
            watch,
        }
    }

    /// Runs until the recorder finishes or a write fails.
    pub(crate) fn run(mut self) -> Drained {
        let gate = self.rings(|rings| rings.gate().clone());
        let _guard = StopOnPanic(&gate);
        let result = self.drain_all(&gate);
        gate.stop();
        let totals = self.writer.totals();
        let (events, dropped) = (totals.events(), totals.dropped());
        let sealed = self.writer.sealed_number();
        let result = result.and_then(|()| self.writer.finish().map(|_| ()));
        let failed = result.err().map(|error| (error, sealed));
        if let Some((error, number)) = failed {
            let rings = self
                .shared
                .rings
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let stop = &rings.control().stop.0;
            stop.number.store(number.0, Ordering::Relaxed);
            let code = match error {
                WriteError::Append(error) => error.0,
                _ => rustix::io::Errno::FBIG.raw_os_error(),
            };
            stop.code.store(code as u32, Ordering::Release);
        }
        Drained {
            events,
            dropped,
            failed,
        }
    }

    fn drain_all(&mut self, gate: &netreel_transport::Gate) -> Result<(), WriteError> {
        let mut quiet_since = None;
        loop {
            // Read before the rings: what was pushed before the flag was set is then seen.
            let finishing = self.shared.finishing.load(Ordering::Acquire);
            self.find_lanes();
            let before = self.writer.next_number();
            self.drain()?;
            self.seal_where_due()?;
            gate.made_progress();
            if self.writer.next_number() > before {
                quiet_since = None;
                continue;
            }
            if finishing {
                let quiet = *quiet_since.get_or_insert_with(Instant::now);
                let taken = self.rings(|r| r.control().next.0.load(Ordering::Acquire));
                let late = taken > self.writer.next_number().0;
                if !late || quiet.elapsed() > LATE {
                    return self.end(taken);
                }
            }
            std::thread::sleep(IDLE);
        }
    }

    /// Everything published, in the order of the numbers, up to the first that is not.
    fn drain(&mut self) -> Result<(), WriteError> {
        loop {
            let wanted = self.writer.next_number().0;
            let Some(lane) = self.lane_with(wanted) else {
                return Ok(());
            };
            self.take_from(lane)?;
            if self.opened.is_none() {
                self.opened = Some(Instant::now());
            }
        }
    }

    fn lane_with(&mut self, wanted: u64) -> Option<usize> {
        let latest = self.lane;
        if self
            .lanes
            .get_mut(latest)
            .and_then(|lane| lane.reader.peek())
            == Some(wanted)
        {
            return Some(latest);
        }
        self.lanes
            .iter_mut()
            .position(|lane| lane.reader.peek() == Some(wanted))
    }

    fn take_from(&mut self, index: usize) -> Result<(), WriteError> {
        let Some(lane) = self.lanes.get_mut(index) else {
            return Ok(());
        };
        self.lane = index;
        let before = lane.reader.at();
        let thread = lane.ring.head().thread.0.load(Ordering::Relaxed);
        let Some(taken) = lane.reader.next() else {
            return Ok(());
        };
        let event = match plain_read(taken.kind, taken.body) {
            Ok(event) => event,
            // The rings are written by this program alone; a foreign hand in the file shows here.
            Err(PlainError::UnknownKind | PlainError::BrokenBody) => Event::Note {
                text: b"an event in the ring file could not be read",
            },
        };
        let (number, time) = (EventNumber(taken.number), Time(taken.time));
        let thread = ThreadId(thread.saturating_sub(1) as u16);
        self.latest = time;
        let sealed = self.writer.sealed_number();
        let record = Record {
            number,
            time,
            thread,
            event,
        };
        self.shared.tally.count(&event);
        if let Some(watch) = &mut self.watch {
            watch(&record);
        }
        self.writer.push(&record)?;
        if self.writer.sealed_number() != sealed {
            // All but this event stand in the file now.
            self.opened = Some(Instant::now());
            self.give_back(Some((index, before)));
        }
        Ok(())
    }

    fn give_back(&mut self, except: Option<(usize, u64)>) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let at = match except {
                Some((except, before)) if except == index => before,
                _ => lane.reader.at(),
            };
            lane.reader.give_back(at);
        }
    }

    fn seal_where_due(&mut self) -> Result<(), WriteError> {
        let old = self
            .opened
            .is_some_and(|opened| opened.elapsed() >= SEAL_AFTER);
        let tight = |lane: &Lane| {
            let used = lane.reader.used();
            // A ring whose pusher has gone is wanted by the next one.
            used > lane.reader.capacity() / 4 || (used > 0 && !lane.ring.is_leased())
        };
        if old || self.lanes.iter().any(tight) {
            self.writer.seal()?;
            self.opened = None;
            self.give_back(None);
        }
        Ok(())
    }

    fn find_lanes(&mut self) {
        let known = self.lanes.len();
        let fresh = self.rings(|rings| rings.rings().get(known..).unwrap_or(&[]).to_vec());
        for ring in fresh {
            // SAFETY: `Lane` keeps the ring mapped, and this thread is its only reader.
            let reader = unsafe { RingReader::new(ring.memory()) };
            self.lanes.push(Lane { ring, reader });
        }
    }

    /// What is left when all that could come has come: events behind numbers that were taken and
    /// never published, and drops that no event tells of.
    fn end(&mut self, taken: u64) -> Result<(), WriteError> {
        while let Some((_, index)) = self
            .lanes
            .iter_mut()
            .enumerate()
            .filter_map(|(index, lane)| Some((lane.reader.peek()?, index)))
            .min()
        {
            self.take_from(index)?;
        }
        let dropped = |lane: &Lane| lane.ring.head().dropped.0.load(Ordering::Relaxed);
        let ringless = self.rings(|rings| rings.control().ringless.0.load(Ordering::Relaxed));
        let count = self.lanes.iter().map(dropped).sum::<u64>() + ringless;
        if count > 0 {
            let number = EventNumber(taken.max(self.writer.next_number().0));
            let (time, thread) = (self.latest, ThreadId(0));
            let event = Event::Dropped { count };
            self.writer.push(&Record {
                number,
                time,
                thread,
                event,
            })?;
        }
        self.writer.seal()
    }

    fn rings<R>(&self, look: impl FnOnce(&RingFile) -> R) -> R {
        look(
            &self
                .shared
                .rings
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

/// A drainer that dies takes no one with it: pushers stop instead of waiting.
struct StopOnPanic<'a>(&'a netreel_transport::Gate);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
