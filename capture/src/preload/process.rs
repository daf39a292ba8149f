//! One recorded process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use netreel_reel::{CallId, Event, Header, PastId, ProcessEnd, Record, ThreadId};
use netreel_transport::{Pusher, monotonic_now};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::begun::{Seen, tell_launched, tell_start};
use super::look;
use super::tripwire::Tripwire;
use netreel_record::others::{Tally, Watch, Writer, named_like_parts};
use netreel_record::{Options, RecordError, Recorder, Summary, clock_anchor};

/// What every reel of an unmodified program says of itself.
const NOT_COVERED: &str = "recorded from outside the program, by a preloaded library. \
Not covered, so that a replay may part where they steer the network loop: \
locks that are not the C library's (futex), \
processor instructions for time and randomness (RDTSC, RDRAND), \
reads of files, pipes and TCP sockets, the time left over that select writes back, \
what stands beside a packet (control data), signalfd, \
the 65th and later descriptors that one wait finds ready, \
functions of the C library that are found in the loader's tables without dlsym, \
system calls that other libraries than the C library make themselves, that are made by int 0x80, \
or by code that the program made while it ran, \
random bytes and clocks by rarer ways than the documentation names";

/// A process that pushes into a ring file, and its reel under way.
pub(super) struct Process {
    pub pid: u32,
    pub name: String,
    pub path: PathBuf,
    /// Readable when the process has ended.
    pub ended: OwnedFd,
    pub tripwire: Option<Tripwire>,
    /// Marks that were made, each once.
    pub io_uring: bool,
    pub past: BTreeSet<PastId>,
    pub drops: Drops,
    /// Whether it was told that a thread has no ring.
    pub ringless: bool,
    /// Whether it was told that another process cuts or joins packets of its sockets.
    pub segments_told: bool,
    /// Whether it was told that a limit has ended its reel.
    pub limited: bool,
    /// Whether the disk was full at the latest look.
    pub full: bool,
    /// Its program.
    pub program: Option<PathBuf>,
    /// What it says that it becomes: for a sentence, and the program's file.
    pub becomes: Option<(String, PathBuf)>,
    /// Which thread started a process latest, and which one.
    pub started: Option<(ThreadId, u32)>,
    /// Whether it calls processes by the numbers that they have here.
    pub same_numbers: bool,
    /// Since when looks have found it to be another program than that.
    pub other: Option<Instant>,
    /// Whether its reel tells of a gap.
    pub marked: bool,
    ending: bool,
    recorder: Recorder,
    tally: Arc<Tally>,
    notes: Pusher,
}

/// What a recorded process does that may leave a gap.
#[derive(Clone, Debug)]
pub(super) enum Doing {
    /// It starts or becomes another program.
    Starts {
        pid: u32,
        thread: ThreadId,
        /// The process that was started; `None` where it becomes the program itself.
        child: Option<u32>,
        path: PathBuf,
        /// The environment names the recorder no more.
        cleared: bool,
    },
    /// It, or the child that this thread has started, has become no other program after all.
    Stays { pid: u32, thread: ThreadId },
    /// It has a child.
    Forks { pid: u32, child: u32 },
    /// It looks for the kernel's own library.
    Vdso { pid: u32 },
    /// It does something that no hook sees. `calls` are those that a filter of its own forbids.
    Past {
        pid: u32,
        what: PastId,
        calls: Vec<u16>,
    },
    /// A second one of its threads sends or receives packets.
    Threads { pid: u32 },
    /// It is watched, because nothing could be loaded into it. `apart`: whether it has ended, and had no
    /// socket that could carry a packet; `None` before that is known.
    Watched { pid: u32, apart: Option<bool> },
    /// The kernel dropped this many packets of one of its sockets.
    Drops { pid: u32, inode: u64, drops: u64 },
}

/// Tells what recorded processes do.
#[derive(Clone)]
pub(super) struct Telling(Sender<Doing>, Arc<OwnedFd>);

/// Where it is heard.
pub(super) struct Doings(Receiver<Doing>, Arc<OwnedFd>);

/// A way from the thread that writes to the one that watches.
pub(super) fn doings() -> io::Result<(Telling, Doings)> {
    let (sender, receiver) = channel();
    let fd = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    Ok((Telling(sender, fd.clone()), Doings(receiver, fd)))
}

impl Telling {
    pub fn send(&self, doing: Doing) {
        // The receiver outlives every recorder.
        let _ = self.0.send(doing);
        let _ = rustix::io::write(&self.1, &1u64.to_ne_bytes());
    }
}

impl Doings {
    /// Readable when there is something to hear.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.1.as_fd()
    }

    /// It is heard of again only when there is more.
    pub fn heard(&self) {
        let _ = rustix::io::read(&*self.1, &mut [0; 8]);
    }

    pub fn next(&self) -> Option<Doing> {
        self.0.try_recv().ok()
    }
}

/// How many threads may have a ring at a time.
pub(super) const RINGS_MAX: usize = 250;
/// Rings that are there from the start: one for the notes, the others for threads.
const RINGS_AT_START: usize = 3;
/// And in ring mode one for triggers.
const RINGS_IN_RING_MODE: usize = RINGS_AT_START + 1;

/// What is wanted as a name, or where there is such a reel, with a number behind it; and the reel's file.
fn free_name(folder: &Path, wanted: String) -> (String, PathBuf) {
    let (mut name, mut again) = (wanted.clone(), 2);
    let mut path = folder.join(format!("{name}.reel"));
    // A process may become the same program twice.
    while path.exists() || !named_like_parts(&path).is_empty() {
        name = format!("{wanted}-{again}");
        path = folder.join(format!("{name}.reel"));
        again += 1;
    }
    (name, path)
}

impl Process {
    /// Makes the reel of process `pid` in `folder`. Both are called as is wanted, or, where there is such
    /// a reel, with a number behind that. `session` is the same for all processes of the recording.
    pub fn new(
        (pid, wanted, seen): (u32, String, Seen),
        launched: (&Path, &[OsString]),
        ended: OwnedFd,
        folder: &Path,
        options: Options,
        (writer, doings, session): (Arc<Writer>, Telling, [u8; 16]),
    ) -> Result<Process, RecordError> {
        let (name, path) = free_name(folder, wanted);
        let header = Header {
            node: name.clone(),
            clock: clock_anchor(),
            session,
            engine: Header::UNMODIFIED.to_owned(),
            args: look::arguments(pid),
            hashes: look::hash(pid).into_iter().collect(),
            ..Header::default()
        };
        let mut with_packets = WithPackets::None;
        let watch: Watch = Box::new(move |record| {
            if with_packets.become_several(record) {
                doings.send(Doing::Threads { pid });
            }
            tell_of_gaps(pid, record, &doings);
        });
        let options = Options {
            pushers_max: RINGS_MAX,
            ..options
        };
        let rings_wanted = match options.ring {
            Some(_) => RINGS_IN_RING_MODE,
            None => RINGS_AT_START,
        };
        let recorder = Recorder::for_another(path.clone(), &header, options, (writer, watch))?;
        let notes = recorder.pusher()?;
        while recorder
            .share()
            .is_ok_and(|(_, rings, _)| rings < rings_wanted)
        {
            if recorder.add_ring().is_err() {
                break;
            }
        }
        let mut process = Process {
            pid,
            name,
            path,
            ended,
            tripwire: None,
            io_uring: false,
            past: BTreeSet::new(),
            drops: Drops::default(),
            ringless: false,
            segments_told: false,
            limited: false,
            full: false,
            program: look::path(pid),
            becomes: None,
            started: None,
            same_numbers: true,
            other: None,
            marked: false,
            ending: false,
            tally: recorder.tally(),
            recorder,
            notes,
        };
        process.note(NOT_COVERED);
        process.tell_start(&seen, launched);
        Ok(process)
    }

    /// Writes down what it was started with.
    fn tell_start(&mut self, seen: &Seen, launched: (&Path, &[OsString])) {
        let Ok((_, rings, capacity)) = self.recorder.share() else {
            return;
        };
        let notes = &mut self.notes;
        let mut told = |details: &[u8]| {
            notes.push(monotonic_now(), called(CallId::START, 0, details));
        };
        tell_start(self.pid, seen, (rings, capacity), &mut told);
        tell_launched(self.pid, launched, &mut told);
    }

    /// Writes a sentence into the reel.
    pub fn note(&mut self, text: &str) {
        let text = text.as_bytes();
        self.notes.push(monotonic_now(), Event::Note { text });
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Packets, bytes of their payloads, events dropped.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.tally)
    }

    /// Has the reel end soon, with what was seen past the hooks and how the process ended, where that
    /// is known, as its last words. The kernel dropped `drops` packets of its sockets that no other
    /// reel tells of.
    pub fn say_last(&mut self, drops: u64, end: Option<ProcessEnd>) {
        if let Some(past) = self.past_the_hooks() {
            self.note(&format!("system calls past the recorder: {past}"));
        }
        let whole = !self.marked && !self.ringless && !self.limited && self.counts().dropped == 0;
        if self.counts().sockets == 0 && whole {
            self.note("no UDP socket was opened; TCP is not recorded");
        }
        if drops > 0 {
            let packets = if drops == 1 { "packet" } else { "packets" };
            self.note(&format!(
                "the kernel dropped {drops} {packets} because a receive buffer was full"
            ));
        }
        if let Some(end) = end {
            let event = called(CallId::STATUS, end.result(), &[]);
            self.notes.push(monotonic_now(), event);
        }
        self.recorder.begin_to_end();
        self.ending = true;
    }

    /// Whether the process has not ended.
    pub fn lives(&self) -> bool {
        let mut ended = [PollFd::new(&self.ended, PollFlags::IN)];
        matches!(poll(&mut ended, Some(&Timespec::default())), Ok(0))
    }

    /// Whether its last words were said.
    pub fn is_ending(&self) -> bool {
        self.ending
    }

    /// Ends the reel.
    pub fn end(&mut self) -> Result<Summary, RecordError> {
        self.recorder.end()
    }

    fn past_the_hooks(&self) -> Option<String> {
        self.tripwire.as_ref().and_then(Tripwire::summary)
    }

    /// What is left of it once its reel has ended, as `summary` tells.
    pub fn finished(self, summary: Result<Summary, RecordError>) -> Finished {
        let past = self.past_the_hooks();
        let moved = summary.as_ref().ok().and_then(|it| it.moved_to.clone());
        Finished {
            pid: self.pid,
            name: self.name,
            path: moved.unwrap_or(self.path),
            marked: self.marked || past.is_some(),
            limited: self.limited,
            past,
            tripwire: self.tripwire,
            counts: Counts::of(&self.tally),
            summary,
        }
    }
}

fn called(call: CallId, result: i32, details: &[u8]) -> Event<'_> {
    Event::Called {
        call,
        result,
        details,
    }
}

/// How many packets the kernel dropped because a receive buffer was full: of each socket, by its
/// inode, the most that anybody saw. A socket that several processes have is one.
#[derive(Clone, Debug, Default)]
pub(super) struct Drops(BTreeMap<u64, u64>);

impl Drops {
    /// Whether they are more than anybody saw before.
    pub fn see(&mut self, inode: u64, drops: u64) -> bool {
        if drops == 0 {
            return false;
        }
        let most = self.0.entry(inode).or_default();
        let more = drops > *most;
        *most = drops.max(*most);
        more
    }

    /// Sees what `others` have seen; how many more they are now.
    pub fn add(&mut self, others: &Drops) -> u64 {
        let before = self.sum();
        for (inode, drops) in &others.0 {
            self.see(*inode, *drops);
        }
        self.sum() - before
    }

    pub fn sum(&self) -> u64 {
        self.0.values().sum()
    }
}

/// What was recorded of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Sent and received.
    pub packets: u64,
    /// Of their payloads.
    pub bytes: u64,
    /// Events that could not be recorded.
    pub dropped: u64,
    /// UDP sockets that were opened.
    pub sockets: u64,
    /// TCP connections.
    pub connections: u64,
}

impl Counts {
    fn of(tally: &Tally) -> Counts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            packets: get(&tally.sent) + get(&tally.received),
            bytes: get(&tally.bytes),
            dropped: get(&tally.dropped),
            sockets: get(&tally.sockets),
            connections: get(&tally.connections),
        }
    }
}

/// A reel that was ended.
pub(super) struct Finished {
    pub pid: u32,
    pub name: String,
    pub path: PathBuf,
    pub past: Option<String>,
    /// Its children, and the program that it becomes, have the same one.
    pub tripwire: Option<Tripwire>,
    pub marked: bool,
    pub limited: bool,
    pub counts: Counts,
    pub summary: Result<Summary, RecordError>,
}

/// Which threads of a process have sent or received packets.
enum WithPackets {
    None,
    One(ThreadId),
    Several,
}

impl WithPackets {
    /// Whether they are several from this event on.
    fn become_several(&mut self, record: &Record<'_>) -> bool {
        if !matches!(record.event, Event::Sent { .. } | Event::Received { .. }) {
            return false;
        }
        let now = match self {
            WithPackets::None => WithPackets::One(record.thread),
            WithPackets::One(first) if *first != record.thread => WithPackets::Several,
            WithPackets::One(_) | WithPackets::Several => return false,
        };
        *self = now;
        matches!(self, WithPackets::Several)
    }
}

fn tell_of_gaps(pid: u32, record: &Record<'_>, doings: &Telling) {
    let thread = record.thread;
    let Event::Called {
        call,
        result,
        details,
    } = record.event
    else {
        return;
    };
    doings.send(match (call, details) {
        (CallId::VDSO, _) => Doing::Vdso { pid },
        (CallId::FORK, _) if result > 0 => Doing::Forks {
            pid,
            child: result as u32,
        },
        (CallId::EXEC, _) if result < 0 => Doing::Stays { pid, thread },
        (CallId::PAST, [what, calls @ ..]) => Doing::Past {
            pid,
            what: PastId(*what),
            calls: calls
                .as_chunks()
                .0
                .iter()
                .copied()
                .map(u16::from_le_bytes)
                .collect(),
        },
        (CallId::CLOSE, [_, _, _, _, _, _, queue @ ..])
        | (CallId::RECEIVE_QUEUE, [_, _, queue @ ..]) => match dropped(queue) {
            Some((drops, inode)) if drops > 0 => Doing::Drops { pid, inode, drops },
            _ => return,
        },
        (CallId::EXEC | CallId::SPAWN, [cleared, path @ ..]) if result >= 0 => Doing::Starts {
            pid,
            thread,
            child: (call == CallId::SPAWN).then_some(result as u32),
            path: OsStr::from_bytes(path).into(),
            cleared: *cleared != 0,
        },
        _ => return,
    });
}

/// How many packets the kernel dropped of a socket whose receive queue is told of, and its inode.
fn dropped(queue: &[u8]) -> Option<(u64, u64)> {
    let (drops, rest) = queue.split_first_chunk()?;
    let inode = rest.get(4..)?.try_into().ok()?;
    Some((u32::from_le_bytes(*drops).into(), u64::from_le_bytes(inode)))
}
