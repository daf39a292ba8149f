//! The one thread that empties the rings into the reel.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use netreel_reel::ring::RingReader;
use netreel_reel::{Event, EventNumber, LIMIT_NOTE, PlainError, Record, ThreadId, Time};
use netreel_reel::{WriteError, plain_read};

use crate::options::Reached;
use crate::ring_mode::{RingRecording, Triggers};
use crate::rings::{MappedRing, RingFile};
use crate::series::{Done, Series, code};

/// What the recorder and its drainer share.
pub(crate) struct Shared {
    pub(crate) rings: Mutex<RingFile>,
    pub(crate) finishing: AtomicBool,
    /// The limit that has ended the recording.
    pub(crate) limit: OnceLock<Reached>,
    /// The failed write that has ended it.
    pub(crate) failed: OnceLock<String>,
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
    /// How often it went on in a new file.
    pub(crate) rotations: AtomicU64,
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
    pub(crate) done: Done,
    /// The first file of the recording, which may lie in a folder that was renamed.
    pub(crate) base: PathBuf,
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

pub(crate) struct Drainer {
    shared: Arc<Shared>,
    series: Series,
    lanes: Vec<Lane>,
    /// The lane of the latest event; the next is most likely there too.
    lane: usize,
    opened: Option<Instant>,
    latest: Time,
    watch: Option<Watch>,
    triggers: Triggers,
    ring: Option<RingRecording>,
    /// The limit that ends the recording, once it is reached.
    limit: Option<Reached>,
}

struct Lane {
    ring: Arc<MappedRing>,
    reader: RingReader,
    /// Up to here, in bytes ever published, the pages are writable.
    prepared: u64,
}

/// So far ahead of what was pushed a ring's pages are kept writable.
const AHEAD: u64 = 512 << 10;

impl Drainer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        series: Series,
        watch: Option<Watch>,
        (triggers, ring): (Triggers, Option<RingRecording>),
    ) -> Drainer {
        Drainer {
            shared,
            series,
            lanes: Vec::new(),
            lane: 0,
            opened: None,
            latest: Time::ZERO,
            watch,
            triggers,
            ring,
            limit: None,
        }
    }

    /// Runs until the recorder finishes, the recording reaches its limit, or a write fails.
    pub(crate) fn run(mut self) -> Drained {
        let gate = self.rings(|rings| rings.gate().clone());
        let _guard = StopOnPanic(&gate);
        let result = self.drain_all(&gate);
        if let Err(error) = &result {
            let _ = self.shared.failed.set(error.to_string());
        }
        gate.stop();
        let sealed = self.series.sealed_number();
        let path = self.series.path().to_owned();
        let (mut done, base, finished) = self.series.finish(result.is_ok());
        if let Some(ring) = self.ring.take() {
            let why = match (&result, self.limit) {
                (Err(error), _) => error.to_string(),
                (Ok(()), Some(limit)) => limit.to_string(),
                (Ok(()), None) => "it was asked to".to_owned(),
            };
            ring.finish(path, &why, &mut done);
        }
        let failed = result.and(finished).err().map(|error| (error, sealed));
        if let Some((error, number)) = failed {
            let rings = self
                .shared
                .rings
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let stop = &rings.control().stop.0;
            stop.number.store(number.0, Ordering::Relaxed);
            stop.code.store(code(&error) as u32, Ordering::Release);
        }
        Drained { done, base, failed }
    }

    fn drain_all(&mut self, gate: &netreel_transport::Gate) -> Result<(), WriteError> {
        let mut quiet_since = None;
        loop {
            // Read before the rings: what was pushed before the flag was set is then seen.
            let finishing = self.shared.finishing.load(Ordering::Acquire) || self.limit.is_some();
            self.find_lanes();
            let before = self.series.next_number();
            self.drain()?;
            self.seal_where_due()?;
            self.keep_windows()?;
            if let Some(limit) = self.limit {
                let _ = self.shared.limit.set(limit);
                gate.stop();
            }
            gate.made_progress();
            self.prepare();
            if self.series.next_number() > before {
                quiet_since = None;
                if finishing || self.is_behind() {
                    continue;
                }
            } else if finishing {
                let quiet = *quiet_since.get_or_insert_with(Instant::now);
                let taken = self.rings(|r| r.control().next.0.load(Ordering::Acquire));
                let late = taken > self.series.next_number().0;
                // Where a limit ended it, threads that know nothing of it may be about to push.
                let settled = !late && self.limit.is_none();
                if settled || quiet.elapsed() > LATE {
                    return self.end(taken);
                }
            }
            std::thread::sleep(IDLE);
        }
    }

    /// Whether a ring fills faster than it is looked at. Else a pause lets events gather: a reader
    /// that follows each push takes the line from the writer that it is about to write to.
    fn is_behind(&self) -> bool {
        let filling = |lane: &Lane| lane.reader.waiting() > lane.reader.capacity() / 16;
        self.lanes.iter().any(filling)
    }

    /// Everything published, in the order of the numbers, up to the first that is not.
    fn drain(&mut self) -> Result<(), WriteError> {
        loop {
            let wanted = self.series.next_number().0;
            let Some(lane) = self.lane_with(wanted) else {
                return Ok(());
            };
            let sealed = self.series.sealed_number();
            self.take_from(lane)?;
            if self.series.sealed_number() != sealed {
                self.keep_limits()?;
                self.keep_windows()?;
                if self.limit.is_some() {
                    return Ok(());
                }
            }
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
        let sealed = self.series.sealed_number();
        let record = Record {
            number,
            time,
            thread,
            event,
        };
        if let Some(watch) = &mut self.watch {
            watch(&record);
        }
        // Behind the watch: what was counted was told.
        self.shared.tally.count(&event);
        if let Some(ring) = &mut self.ring {
            if ring.ends_before(&event) && self.series.may_rotate() {
                // What the rings still hold of it is given back below.
                self.series.seal()?;
                if let Some(ended) = self.series.rotate() {
                    ring.ended(ended);
                }
                self.shared.tally.rotations.fetch_add(1, Ordering::Relaxed);
            }
            ring.wrote(&event);
        }
        self.series.push(&record)?;
        if self.series.sealed_number() != sealed {
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
            self.seal()?;
        }
        self.keep_limits()?;
        self.series.tidy();
        Ok(())
    }

    fn seal(&mut self) -> Result<(), WriteError> {
        self.series.seal()?;
        self.opened = None;
        self.give_back(None);
        Ok(())
    }

    fn keep_limits(&mut self) -> Result<(), WriteError> {
        if self.series.rotation_is_due() {
            self.rotate()?;
        }
        if self.limit.is_none() {
            self.limit = self.series.limit_reached();
        }
        Ok(())
    }

    fn rotate(&mut self) -> Result<(), WriteError> {
        self.seal()?;
        let ended = self.series.rotate();
        self.shared.tally.rotations.fetch_add(1, Ordering::Relaxed);
        if let (Some(ring), Some(ended)) = (&mut self.ring, ended) {
            ring.ended(ended);
        }
        Ok(())
    }

    /// Keeps the pages ahead of the pushers writable.
    fn prepare(&mut self) {
        for lane in &mut self.lanes {
            let at = lane.reader.at();
            if lane.prepared < at + AHEAD / 2 {
                let from = lane.prepared.max(at);
                lane.prepared = at + AHEAD;
                lane.ring.prepare(from, lane.prepared - from);
            }
        }
    }

    /// Does what triggers ask for.
    fn keep_windows(&mut self) -> Result<(), WriteError> {
        self.triggers.look_for_signal();
        let written = self.series.next_number();
        let Some(ring) = &mut self.ring else {
            return Ok(());
        };
        if ring.wants_cut(written) {
            if self.series.may_rotate() {
                self.rotate()?;
            } else {
                ring.could_not_end(self.series.path());
            }
        }
        if let Some(ring) = &mut self.ring {
            ring.act();
        }
        Ok(())
    }

    fn find_lanes(&mut self) {
        let known = self.lanes.len();
        let fresh = self.rings(|rings| rings.rings().get(known..).unwrap_or(&[]).to_vec());
        for ring in fresh {
            // SAFETY: `Lane` keeps the ring mapped, and this thread is its only reader.
            let reader = unsafe { RingReader::new(ring.memory()) };
            let prepared = reader.at() + reader.capacity();
            self.lanes.push(Lane {
                ring,
                reader,
                prepared,
            });
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
        let dropped = (count > 0).then_some(Event::Dropped { count });
        let limit = self.limit;
        let limit = limit.map(|limit| format!("{LIMIT_NOTE}{limit}"));
        let limit = limit.as_ref().map(|text| Event::Note {
            text: text.as_bytes(),
        });
        for event in [dropped, limit].into_iter().flatten() {
            let number = EventNumber(taken.max(self.series.next_number().0));
            let (time, thread) = (self.latest, ThreadId(0));
            self.series.push(&Record {
                number,
                time,
                thread,
                event,
            })?;
        }
        self.series.seal()
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
