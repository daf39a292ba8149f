//! Empties the rings of one recording into its reel, a pass at a time.

mod room;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use netreel_reel::ring::RingReader;
use netreel_reel::{
    AppendError, CallId, Event, EventNumber, LIMIT_NOTE, PlainError, Record, ThreadId, Time,
    WriteError, plain_read,
};
use netreel_system::locked;
use netreel_transport::GateRef;

use crate::file::os_code;
use crate::options::Reached;
use crate::pause::Pause;
use crate::ring_mode::{RingRecording, Triggers};
use crate::rings::{MappedRing, RingFile};
use crate::series::{Done, Series, code};

/// What the recorder and its drainer share.
pub(crate) struct Shared {
    pub rings: Mutex<RingFile>,
    pub finishing: AtomicBool,
    /// The process that is recorded goes on without its recorder.
    pub let_go: AtomicBool,
    /// The limit that has ended the recording.
    pub limit: OnceLock<Reached>,
    /// The failed write that has ended it.
    pub failed: OnceLock<String>,
    /// The operating system's code where the disk has no room now; 0 where it has.
    pub no_room: AtomicI32,
    pub tally: Arc<Tally>,
}

/// What was recorded so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Packets that the program sent.
    pub sent: AtomicU64,
    /// Packets that it received.
    pub received: AtomicU64,
    /// Packets that passed an observer.
    pub seen: AtomicU64,
    /// Of the payloads.
    pub bytes: AtomicU64,
    /// Events that could not be recorded.
    pub dropped: AtomicU64,
    /// Sockets that were opened.
    pub sockets: AtomicU64,
    /// TCP connections, which are not recorded.
    pub connections: AtomicU64,
    /// Events of any kind.
    pub events: AtomicU64,
    /// How often it went on in a new file.
    pub rotations: AtomicU64,
}

impl Tally {
    fn count(&self, event: &Event<'_>) {
        // Nobody else counts.
        let add = |to: &AtomicU64, count| {
            to.store(to.load(Ordering::Relaxed) + count, Ordering::Relaxed);
        };
        let packet = |to, payload: &[u8]| {
            add(to, 1);
            add(&self.bytes, payload.len() as u64);
        };
        add(&self.events, 1);
        match event {
            Event::Sent { payload, .. } => packet(&self.sent, payload),
            Event::Received { payload, .. } => packet(&self.received, payload),
            Event::Seen { payload, .. } => packet(&self.seen, payload),
            Event::Dropped { count } => add(&self.dropped, *count),
            Event::SocketOpened { .. } => add(&self.sockets, 1),
            Event::Called {
                call: CallId::TCP, ..
            } => add(&self.connections, 1),
            _ => {}
        }
    }
}

/// Is shown every event on its way into the reel.
pub type Watch = Box<dyn FnMut(&Record<'_>) + Send>;

/// How a recording ended, seen from the drainer.
#[derive(Debug)]
pub(crate) struct Drained {
    pub done: Done,
    /// The first file of the recording, which may lie in a folder that was renamed.
    pub base: PathBuf,
    /// The error that stopped it, and the first number that is not in the reel.
    pub failed: Option<(WriteError, EventNumber)>,
}

/// Since when the disk has no room.
struct Full {
    since: Instant,
    error: WriteError,
}

/// A block is sealed at this age, so that whoever follows the reel sees it grow.
const SEAL_AFTER: Duration = Duration::from_millis(500);
/// How long, at the end, a number that was taken is waited for.
const LATE: Duration = Duration::from_millis(200);
/// How often it is looked for meanwhile.
const LATE_EVERY: Duration = Duration::from_millis(2);
/// How often a window that is being kept is looked after.
const WINDOW_EVERY: Duration = Duration::from_millis(20);
/// In the gate of a program that may not wake the recorder.
const CANNOT_RING: u32 = 2;
/// How many events are taken in one pass, because other recordings may have the same thread.
const PASS_MAX: u32 = 50_000;

pub(crate) struct Drainer {
    shared: Arc<Shared>,
    gate: StopAtEnd,
    series: Series,
    lanes: Vec<DrainLane>,
    /// The lane of the latest event; the next is most likely there too.
    lane: usize,
    /// Since when at most what is not sealed has been there.
    opened: Option<Instant>,
    /// When the latest pass was.
    looked: Instant,
    /// Since when nothing has come, when the recorder finishes.
    quiet_since: Option<Instant>,
    latest: Time,
    watch: Option<Watch>,
    triggers: Triggers,
    ring: Option<RingRecording>,
    /// The limit that ends the recording, once it is reached.
    limit: Option<Reached>,
    /// All before this number were shown to the watch and counted.
    shown: u64,
    full: Option<Full>,
    /// A note of the drainer's own, and its number.
    note: Option<(u64, String)>,
}

struct DrainLane {
    ring: Arc<MappedRing>,
    reader: RingReader,
    /// Up to here, in bytes ever published, the pages are writable.
    prepared: u64,
    /// When the ring is to get more storage, for which the disk had no room.
    back_again: Option<Instant>,
}

/// How far ahead of what was pushed a ring's pages are kept writable.
const AHEAD: u64 = 512 << 10;

impl Drainer {
    pub fn new(
        shared: Arc<Shared>,
        series: Series,
        watch: Option<Watch>,
        (triggers, ring): (Triggers, Option<RingRecording>),
    ) -> Drainer {
        let gate = StopAtEnd(locked(&shared.rings).gate().clone());
        Drainer {
            shared,
            gate,
            series,
            lanes: Vec::new(),
            lane: 0,
            opened: None,
            looked: Instant::now(),
            quiet_since: None,
            latest: Time::ZERO,
            watch,
            triggers,
            ring,
            limit: None,
            shown: 0,
            full: None,
            note: None,
        }
    }

    /// Writes what was pushed, and does what is due. `fresh`: all that is found came just now.
    /// The pause that it may be followed by.
    ///
    /// # Errors
    /// How the recording has ended: the recorder finishes, a limit is reached, or a write failed.
    pub fn pass(&mut self, fresh: bool) -> Result<Pause, Result<(), WriteError>> {
        match self.try_pass(fresh) {
            Ok(Some(pause)) => Ok(pause),
            Ok(None) => Err(Ok(())),
            Err(error) => self.wait_for_room(error).map_err(Err),
        }
    }

    /// Whether nothing has been pushed since the latest pass.
    pub fn is_quiet(&self) -> bool {
        let (taken, rings) = self.rings(|rings| {
            let control = rings.control();
            let home = control.gate.0.home.load(Ordering::Relaxed);
            (control.next.0.load(Ordering::SeqCst), home != CANNOT_RING)
        });
        rings && taken == self.series.next_number().0
    }

    /// Ends the reel, after a pass that said so.
    pub fn finish(mut self, result: Result<(), WriteError>) -> Drained {
        if let Err(error) = &result {
            let _ = self.shared.failed.set(error.to_string());
        }
        self.gate.0.stop();
        let sealed = self.series.sealed_number();
        let path = self.series.path().to_owned();
        let (mut done, base, finished) = self.series.finish(result.is_ok());
        if let Some(ring) = self.ring.take() {
            let why = match (&result, self.limit) {
                (Err(error), _) => error.to_string(),
                (Ok(()), Some(limit)) => limit.to_string(),
                (Ok(()), None) => "it was asked to".to_owned(),
            };
            ring.finish(path, &why, &mut done.summary);
        }
        let failed = result.and(finished).err().map(|error| (error, sealed));
        if let Some((error, number)) = failed {
            let rings = locked(&self.shared.rings);
            let stop = &rings.control().stop.0;
            stop.number.store(number.0, Ordering::Relaxed);
            stop.code.store(code(&error) as u32, Ordering::Release);
        }
        Drained { done, base, failed }
    }

    fn try_pass(&mut self, fresh: bool) -> Result<Option<Pause>, WriteError> {
        let now = Instant::now();
        let before = std::mem::replace(&mut self.looked, now);
        let since = if fresh { now } else { before };
        // Read before the rings: what was pushed before the flag was set is then seen.
        let finishing = self.shared.finishing.load(Ordering::Acquire) || self.limit.is_some();
        self.find_lanes();
        self.look_for_room()?;
        let first = self.series.next_number();
        let more = self.drain(since)?;
        self.seal_where_due()?;
        if !finishing {
            self.back()?;
        }
        self.keep_windows()?;
        if let Some(limit) = self.limit {
            let _ = self.shared.limit.set(limit);
            self.gate.0.stop();
        }
        self.gate.0.made_progress();
        self.prepare();
        let came = self.series.next_number() > first;
        if came {
            self.quiet_since = None;
            if finishing || more || self.limit.is_some() || self.is_behind() {
                return Ok(Some(Pause::No));
            }
        } else if finishing {
            let quiet = *self.quiet_since.get_or_insert(now);
            let taken = self.rings(|r| r.control().next.0.load(Ordering::Acquire));
            let late = taken > self.series.next_number().0;
            // Where a limit ended it, threads that know nothing of it may be about to push.
            let settled = !late && self.limit.is_none();
            if settled || quiet.elapsed() > LATE {
                self.end(taken)?;
                return Ok(None);
            }
            return Ok(Some(Pause::Doze(now + LATE_EVERY)));
        }
        if self.limit.is_some() {
            return Ok(Some(Pause::No));
        }
        Ok(Some(self.pause(now, came)))
    }

    /// How long there is nothing to do, unless somebody pushes. After events it looks once more,
    /// so that a program at work never has to ring.
    fn pause(&self, now: Instant, came: bool) -> Pause {
        let waits = self.ring.as_ref().is_some_and(RingRecording::is_waiting);
        let windows = waits.then(|| now + WINDOW_EVERY);
        let seal = self.opened.map(|opened| opened + SEAL_AFTER);
        let look = seal.or_else(|| (came || !self.is_quiet()).then(|| now + SEAL_AFTER));
        let due = self.series.due(now, look.is_some());
        let due = [due, windows].into_iter().flatten().min();
        match look {
            Some(look) => Pause::Doze(due.map_or(look, |due| due.min(look))),
            None => Pause::Deep(due),
        }
    }

    /// Whether a ring fills faster than it is looked at. Else a pause lets events gather: a reader
    /// that follows each push takes the line from the writer that it is about to write to.
    fn is_behind(&self) -> bool {
        let filling = |lane: &DrainLane| lane.reader.waiting() > lane.reader.capacity() / 16;
        self.lanes.iter().any(filling)
    }

    /// Everything published, in the order of the numbers, up to the first that is not. None of it
    /// is older than `since`. Whether there may be more.
    fn drain(&mut self, since: Instant) -> Result<bool, WriteError> {
        for _ in 0..PASS_MAX {
            let wanted = self.series.next_number().0;
            if self.note_number() == Some(wanted) {
                self.write_note()?;
                continue;
            }
            let Some(lane) = self.lane_with(wanted) else {
                return Ok(false);
            };
            let sealed = self.series.sealed_number();
            self.take_from(lane)?;
            if self.series.sealed_number() != sealed {
                self.keep_limits()?;
                self.keep_windows()?;
                if self.limit.is_some() {
                    return Ok(false);
                }
            }
            if self.opened.is_none() {
                self.opened = Some(since);
            }
        }
        Ok(true)
    }

    fn lane_with(&mut self, wanted: u64) -> Option<usize> {
        let latest = self.lane;
        let mut has_it = |lane: &mut DrainLane| lane.reader.peek() == Some(wanted);
        if self.lanes.get_mut(latest).is_some_and(&mut has_it) {
            return Some(latest);
        }
        self.lanes.iter_mut().position(has_it)
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
        if number.0 >= self.shown {
            self.shown = number.0 + 1;
            if let Some(watch) = &mut self.watch {
                watch(&record);
            }
            // Behind the watch: what was counted was told.
            self.shared.tally.count(&event);
        }
        let mut written = Ok(());
        if let Some(ring) = &mut self.ring {
            if ring.ends_before(&event) && self.series.may_rotate() {
                // What the rings still hold of it is given back below.
                written = self.series.seal();
                if written.is_ok()
                    && let Some(ended) = self.series.rotate()
                {
                    ring.ended(ended);
                }
                self.shared.tally.rotations.fetch_add(1, Ordering::Relaxed);
            }
            ring.wrote(&event);
        }
        if let Err(error) = written.and_then(|()| self.series.push(&record)) {
            lane.reader.rewind(before);
            return Err(error);
        }
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
        let tight = |lane: &DrainLane| {
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

    /// Keeps storage ahead of the pushers.
    fn back(&mut self) -> Result<(), WriteError> {
        let back = |lane: &mut DrainLane| lane.ring.back(&mut lane.back_again);
        let backed = self.lanes.iter_mut().try_for_each(back);
        backed.map_err(|error| AppendError(os_code(&error)).into())
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
            self.series.add_beside(ring.length());
            self.lanes.push(DrainLane {
                ring,
                reader,
                prepared,
                back_again: None,
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
        let next = self.series.next_number().0;
        if self.note_number().is_some_and(|number| number >= next) {
            self.write_note()?;
        }
        let dropped = |lane: &DrainLane| lane.ring.head().dropped.0.load(Ordering::Relaxed);
        let ringless = self.rings(|rings| rings.control().ringless.0.load(Ordering::Relaxed));
        let count = self.lanes.iter().map(dropped).sum::<u64>() + ringless;
        let dropped = (count > 0).then_some(Event::Dropped { count });
        let let_go = self.shared.let_go.load(Ordering::Relaxed);
        let why = match self.limit {
            Some(limit) => Some(format!("{LIMIT_NOTE}{limit}")),
            None => let_go.then(|| format!("{LIMIT_NOTE}the program goes on, unrecorded")),
        };
        let why = why.as_ref().map(|text| Event::Note {
            text: text.as_bytes(),
        });
        for event in [dropped, why].into_iter().flatten() {
            let number = taken.max(self.series.next_number().0);
            self.series.push(&own(number, self.latest, event))?;
        }
        self.series.seal()
    }

    fn rings<R>(&self, look: impl FnOnce(&RingFile) -> R) -> R {
        look(&locked(&self.shared.rings))
    }
}

/// What the drainer itself says.
fn own(number: u64, time: Time, event: Event<'_>) -> Record<'_> {
    Record {
        number: EventNumber(number),
        time,
        thread: ThreadId(0),
        event,
    }
}

/// Whoever writes no more takes no one with it, even where it dies: pushers stop instead of waiting.
struct StopAtEnd(GateRef);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}
