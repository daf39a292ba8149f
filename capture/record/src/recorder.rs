//! Recording into a file.

use std::collections::hash_map::RandomState;
use std::fs;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use netreel_reel::ring::{RING_CAPACITY, RING_PAGE, RingWriter};
use netreel_reel::{EventNumber, Header, ThreadId, TriggerCause, WriteError};
use netreel_system::locked;
use netreel_transport::{GateRef, Pusher, RingSink, WhenFull};

use crate::drainer::{Drained, Drainer, Shared, Tally, Watch};
use crate::options::{Options, Reached, Summary};
use crate::ring_mode::{Requests, RingRecording, Triggers};
use crate::rings::{Lease, PushedBy, RING_BEGINS, RingFile};
use crate::series::{CreateError, Series};
use crate::writer::Writer;

/// Records one node into a file, with a thread of its own that writes.
///
/// The reel is one file, `NAME.reel`, or, with [`Options::rotate`], a series: `NAME.reel`,
/// `NAME.0001.reel` and so on, which [`open`](crate::open) shows as one.
///
/// Beside `NAME.reel` it keeps `NAME.reel.ring`, a mapped file that holds what was pushed and is
/// not yet written: it outlives the process, and a reader takes the rest from there.
/// [`finish`](Recorder::finish) removes it. A power loss is not covered: nothing is forced to the
/// disk.
pub struct Recorder {
    path: PathBuf,
    shared: Arc<Shared>,
    gate: GateRef,
    options: Options,
    writer: Arc<Writer>,
    /// What the reel comes to; `None` once it was ended.
    drained: Option<Mutex<Receiver<Drained>>>,
    /// Keeps its place among the recorders of its triggers.
    _requests: Arc<Requests>,
    lane: u64,
}

/// How long a thread waits for a recorder that makes no progress: a disk that hangs.
const WAIT_MAX: Duration = Duration::from_secs(2);
const RING_CAPACITY_MIN: usize = 256 << 10;
const START_WRITING: &str = "start the writing thread";

/// A recording that could not be made, or that stopped.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The reel is there already.
    #[error("{}: there is a file already; choose another name or remove it", .path.display())]
    Exists {
        /// The reel.
        path: PathBuf,
    },
    /// The reel or its ring file could not be made.
    #[error("{}: cannot {what}: {error}", .path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        error: io::Error,
    },
    /// A write failed. The reel opens, and says the same.
    #[error("{}: recording stopped before event {number}: {error}", .path.display())]
    Stopped {
        /// The reel.
        path: PathBuf,
        /// The first event that is not in the reel's blocks.
        number: EventNumber,
        /// Why.
        error: WriteError,
    },
    /// The files were removed, replaced or renamed by somebody while they were written.
    #[error("{}: removed or renamed while it was recorded, {files} of its files: what was removed is lost", .path.display())]
    Removed {
        /// The reel.
        path: PathBuf,
        /// How many of its files.
        files: u32,
    },
    /// The thread that writes has died.
    #[error("{}: the writing thread died; what was pushed is in the ring file", .path.display())]
    DrainerDied {
        /// The reel.
        path: PathBuf,
    },
    /// This is a forked child of the process that records.
    #[error("{}: recorded by the parent of this process, which goes on alone", .path.display())]
    Forked {
        /// The reel.
        path: PathBuf,
    },
    /// There are as many pushers as the options allow.
    #[error("there are {0} pushers already; raise Options::pushers_max")]
    TooManyPushers(usize),
}

/// The ring file of a reel.
pub fn ring_path(reel: &Path) -> PathBuf {
    let mut path = reel.as_os_str().to_owned();
    path.push(".ring");
    path.into()
}

impl Recorder {
    /// Makes `path` and its ring file, and starts the thread that writes.
    pub fn create(
        path: impl Into<PathBuf>,
        header: &Header,
        options: Options,
    ) -> Result<Recorder, RecordError> {
        let path = path.into();
        let writer = Writer::start().map_err(|error| RecordError::Create {
            path: path.clone(),
            what: START_WRITING,
            error,
        })?;
        let who = (Arc::new(writer), None);
        Recorder::make(path, header, options, PushedBy::This, who)
    }

    /// The same for another process, which is to map the ring file and the bell of `writer`.
    /// `watch` sees every event.
    ///
    /// # Errors
    /// As for [`create`](Recorder::create).
    pub fn for_another(
        path: PathBuf,
        header: &Header,
        options: Options,
        (writer, watch): (Arc<Writer>, Watch),
    ) -> Result<Recorder, RecordError> {
        let who = (writer, Some(watch));
        Recorder::make(path, header, options, PushedBy::Another, who)
    }

    fn make(
        path: PathBuf,
        header: &Header,
        options: Options,
        pushed_by: PushedBy,
        (writer, watch): (Arc<Writer>, Option<Watch>),
    ) -> Result<Recorder, RecordError> {
        let failed = |path: &Path, what| {
            let path = path.to_owned();
            move |error: io::Error| match error.kind() {
                io::ErrorKind::AlreadyExists => RecordError::Exists { path },
                _ => RecordError::Create { path, what, error },
            }
        };
        let identity = RandomState::new().build_hasher().finish() | 1;
        let ring_path = ring_path(&path);
        let wanted = options.ring_capacity;
        let capacity = wanted
            .clamp(RING_CAPACITY_MIN, *RING_CAPACITY.end())
            .next_multiple_of(RING_PAGE);
        let series =
            Series::create(&path, header, identity, options.clone()).map_err(
                |error| match error {
                    CreateError::Make(error) => failed(&path, "make the reel")(error),
                    CreateError::Write(error) => {
                        // It holds nothing yet.
                        let _ = fs::remove_file(&path);
                        RecordError::Stopped {
                            path: path.clone(),
                            number: EventNumber(0),
                            error,
                        }
                    }
                },
            )?;
        let bell = writer.bell();
        // Another process waits for storage, unless it drops what finds no room.
        let begins = match (pushed_by, options.when_full) {
            (PushedBy::Another, WhenFull::Block) => RING_BEGINS,
            _ => capacity,
        };
        let sizes = (capacity, begins);
        let rings = RingFile::create(&ring_path, sizes, identity, (pushed_by, bell));
        let mut rings = rings.map_err(|error| {
            let _ = fs::remove_file(&ring_path);
            let _ = fs::remove_file(&path);
            failed(&ring_path, "make the ring file")(error)
        })?;
        let mut reserved = None;
        if options.ring.is_some() {
            // A trigger may come at a moment when there is no time to ask the disk for room.
            reserved = rings.lease();
            rings
                .grow()
                .map_err(failed(&ring_path, "make room in the ring file"))?;
        }
        let gate = rings.gate().clone();
        let shared = Arc::new(Shared {
            rings: Mutex::new(rings),
            finishing: AtomicBool::new(false),
            let_go: AtomicBool::new(false),
            limit: OnceLock::new(),
            failed: OnceLock::new(),
            no_room: AtomicI32::new(0),
            tally: Arc::default(),
        });
        let requests = Arc::new(Requests::new(bell));
        let triggers = options.triggers.clone();
        let start = |ring| RingRecording::start(&path, ring, requests.clone(), triggers.clone());
        let ring = options
            .ring
            .map(start)
            .transpose()
            .map_err(failed(&path, "start the thread that keeps windows"))?;
        let lane = {
            let (shared, gate, path) = (shared.clone(), gate.clone(), path.clone());
            let pushers_max = options.pushers_max;
            let make = move || {
                if !gate.is_home() {
                    return None;
                }
                let reserved = reserved.take();
                let lease = reserved.map_or_else(|| lease(&shared, &path, pushers_max), Ok);
                // A trigger waits for nothing.
                Some(pusher(&shared, lease.ok()?, WhenFull::Drop))
            };
            triggers.join(&requests, options.ring, Box::new(make))
        };
        let drainer = Drainer::new(shared.clone(), series, watch, (triggers, ring));
        let drained = Some(Mutex::new(writer.write(drainer)));
        Ok(Recorder {
            path,
            shared,
            gate,
            options,
            writer,
            drained,
            _requests: requests,
            lane,
        })
    }

    /// The reel.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What keeps windows in ring mode: to be given to whoever may want one.
    pub fn triggers(&self) -> &Triggers {
        &self.options.triggers
    }

    /// Keeps the window of a recording in ring mode, and asks for those of all that have the same
    /// [triggers](Options::triggers); in others it is a mark. From any thread; waits for no disk.
    pub fn trigger(&self, cause: TriggerCause, text: &str) {
        self.options.triggers.pull(cause, text);
    }

    /// Whether events are taken now: not switched off, not stopped by a failed write, and the disk
    /// has room.
    pub fn is_recording(&self) -> bool {
        self.gate.is_on() && !self.gate.is_full()
    }

    /// The limit of [`Options::max`] that has ended the recording, once it has.
    pub fn limit_reached(&self) -> Option<Reached> {
        self.shared.limit.get().copied()
    }

    /// Why the recording has ended by itself, as a sentence without its end: a limit, a write that
    /// failed.
    pub fn why_ended(&self) -> Option<String> {
        let failed = self.shared.failed.get().cloned();
        failed.or_else(|| Some(self.limit_reached()?.to_string()))
    }

    /// A pusher for one thread (or one socket), with a ring and a thread number of its own.
    pub fn pusher(&self) -> Result<Pusher, RecordError> {
        if !self.gate.is_home() {
            return Err(RecordError::Forked {
                path: self.path.clone(),
            });
        }
        let lease = lease(&self.shared, &self.path, self.options.pushers_max)?;
        Ok(pusher(&self.shared, lease, self.options.when_full))
    }

    /// The ring file for another process to map, how many rings it has, and the length of each
    /// ring's data in bytes.
    ///
    /// # Errors
    /// The ring file cannot be named anew.
    pub fn share(&self) -> io::Result<(File, usize, usize)> {
        let rings = locked(&self.shared.rings);
        let (file, capacity) = rings.share()?;
        Ok((file, rings.rings().len(), capacity))
    }

    /// Adds a ring for another process; its index.
    ///
    /// # Errors
    /// There are as many as the options allow (`QuotaExceeded`), or no room for it.
    pub fn add_ring(&self) -> io::Result<usize> {
        let mut rings = locked(&self.shared.rings);
        if rings.rings().len() >= self.options.pushers_max {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        rings.grow()?;
        Ok(rings.rings().len() - 1)
    }

    /// Why nothing can be written now, where the disk is full; it is tried again.
    pub fn no_room(&self) -> Option<io::Error> {
        let code = self.shared.no_room.load(Ordering::Acquire);
        (code != 0).then(|| io::Error::from_raw_os_error(code))
    }

    /// How often it went on in a new file, or tried to.
    pub fn rotations(&self) -> u64 {
        self.shared.tally.rotations.load(Ordering::Relaxed)
    }

    /// What was recorded so far; goes on counting until the recording is finished.
    pub fn tally(&self) -> Arc<Tally> {
        self.shared.tally.clone()
    }

    /// Waits until the drainer has seen all that was pushed before, as far as it was published:
    /// numbers of a process that was killed may never be. Gives up where the drainer does nothing
    /// for `patience`.
    pub fn settle(&self, patience: Duration) {
        // The pass that is under way may have begun before the latest push.
        let whole_pass = self.gate.progress() + 2;
        let (mut latest, mut since) = (0, Instant::now());
        while self.gate.progress() < whole_pass && !self.gate.is_stopped() {
            self.writer.bell().ring();
            let seen = self.shared.tally.events.load(Ordering::Relaxed);
            if seen > latest {
                (latest, since) = (seen, Instant::now());
            } else if since.elapsed() >= patience {
                return;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Ends the reel: writes what was pushed, the index and the end mark, and removes the ring
    /// file. Pushers that still live record nothing any more; what another thread pushes at this
    /// very moment may be missing.
    ///
    /// After a failed write the ring file stays, because it holds what could not be written.
    pub fn finish(mut self) -> Result<Summary, RecordError> {
        self.end()
    }

    /// Notes that the process goes on when the reel ends.
    pub fn lets_go(&self) {
        self.shared.let_go.store(true, Ordering::Relaxed);
    }

    /// Takes no more events, and has the writing thread end the reel, without waiting for it.
    pub fn begin_to_end(&mut self) {
        self.options.triggers.leave(self.lane);
        self.gate.stop();
        self.shared.finishing.store(true, Ordering::Release);
        self.writer.bell().ring();
    }

    /// The same, for whoever still needs what else is known of it. Not twice.
    ///
    /// # Errors
    /// As for [`finish`](Recorder::finish).
    pub fn end(&mut self) -> Result<Summary, RecordError> {
        let path = self.path.clone();
        let Some(drained) = self.drained.take() else {
            return Err(RecordError::DrainerDied { path });
        };
        if !self.gate.is_home() {
            // The thread is the parent's: there is nothing here to wait for.
            if let Some(writer) = Arc::get_mut(&mut self.writer) {
                writer.forget();
            }
            return Err(RecordError::Forked { path });
        }
        self.begin_to_end();
        let drained = drained.into_inner();
        let Ok(drained) = drained.unwrap_or_else(PoisonError::into_inner).recv() else {
            return Err(RecordError::DrainerDied { path });
        };
        if let Some((error, number)) = drained.failed {
            return Err(RecordError::Stopped {
                path,
                number,
                error,
            });
        }
        // A reader that finds it nevertheless ignores it: the reel has its end mark.
        let _ = fs::remove_file(ring_path(&drained.base));
        let done = drained.done;
        if done.files_gone > 0 {
            let (path, files) = (drained.base, done.files_gone);
            return Err(RecordError::Removed { path, files });
        }
        Ok(Summary {
            limit: self.limit_reached(),
            moved_to: Some(drained.base).filter(|base| *base != path),
            ..done.summary
        })
    }
}

/// The right to push into a ring that nobody pushes into, or into a new one.
fn lease(shared: &Shared, path: &Path, pushers_max: usize) -> Result<Lease, RecordError> {
    let mut rings = locked(&shared.rings);
    if let Some(lease) = rings.lease() {
        return Ok(lease);
    }
    if rings.rings().len() >= pushers_max {
        return Err(RecordError::TooManyPushers(pushers_max));
    }
    let what = "make room in the ring file";
    let path = ring_path(path);
    let grown = rings.grow().map(|_| ()).and_then(|()| {
        let fresh = rings.lease();
        fresh.ok_or_else(|| io::ErrorKind::ResourceBusy.into())
    });
    grown.map_err(|error| RecordError::Create { path, what, error })
}

/// A pusher with that right, and a thread number of its own.
fn pusher(shared: &Shared, lease: Lease, when_full: WhenFull) -> Pusher {
    let ring = lease.ring().clone();
    let rings = locked(&shared.rings);
    let number = rings.control().threads.0.fetch_add(1, Ordering::Relaxed);
    drop(rings);
    let thread = ThreadId(u16::try_from(number).unwrap_or(u16::MAX));
    let told = &ring.head().thread.0;
    told.store(u32::from(thread.0) + 1, Ordering::Relaxed);
    // SAFETY: the ring is mapped and backed for as long as the sink below keeps it, and it was
    // idle: nobody else writes to it.
    let writer = unsafe { RingWriter::new(ring.memory()) };
    // SAFETY: the ring keeps its gate in place, and the lease the ring.
    let gate = unsafe { GateRef::new(&raw const **ring.gate(), Arc::new(lease)) };
    let sink = RingSink::new(writer, gate, ring.bell(), when_full, WAIT_MAX);
    Pusher::into_ring(sink, thread)
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.drained.is_some() {
            // Nobody is left to be told; the reel itself says how it ends.
            let _ = self.end();
        }
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
