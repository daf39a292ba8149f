//! What is asked for when a recorded program is started again, and what comes of it: words alone, on every
//! system.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use netreel_reel::FoundFile;
use netreel_reel::tape::Opened;

/// A further descriptor that the program is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its number.
    pub fd: i32,
    /// The file that is read there, and how many of its bytes were read before; `None`: it leads to
    /// nothing.
    pub file: Option<(PathBuf, u64)>,
}

/// A program that is to be started again, as it was started when it was recorded.
#[derive(Clone, Debug)]
pub struct Rerun {
    /// The path by which it is started.
    pub program: Vec<u8>,
    /// Its arguments, its name among them.
    pub arguments: Vec<Vec<u8>>,
    /// Its environment, as it was.
    pub variables: Vec<Vec<u8>>,
    /// Where it is started.
    pub folder: PathBuf,
    /// Its standard input, its standard output and its standard error; `None`: that one is not open.
    pub standard: [Option<Standard>; 3],
    /// Further descriptors that were open.
    pub descriptors: Vec<Descriptor>,
    /// Whether addresses were random.
    pub random_addresses: bool,
    /// Whether one of its threads ran at a time.
    pub one_thread: bool,
    /// The signals that it is started with ignored, and those with which it is started blocked, a bit
    /// each, that of signal n bit n - 1. `None`: those that ask a program to stop are not ignored.
    pub signals: Option<(u64, u64)>,
    /// The files that it changed, as it found them: it finds them so again, in a folder that is gone when it
    /// has ended.
    pub kept: Vec<FoundFile>,
    /// A whole tape, as [`netreel_reel::tape`] lays it out.
    pub tape: Vec<u8>,
    /// A program without an event for this long is ended; `None`: never.
    pub patience: Option<Duration>,
}

/// What the program did instead of what it was recorded to do.
#[derive(Clone, Debug)]
pub struct Came {
    /// How it differs.
    pub what: netreel_reel::tape::Came,
    /// An endpoint, and what was sent to it.
    pub bytes: Vec<u8>,
}

/// What it printed on one descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// How many bytes.
    pub bytes: u64,
    /// The first that differs from what was recorded, and the rest of its line from there on.
    pub differs: Option<(u64, Vec<u8>)>,
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct RerunEnd {
    /// Where the entry lies that was to come next.
    pub next: u64,
    /// Equal sends, and their bytes.
    pub sends: u64,
    /// See `sends`.
    pub bytes: u64,
    /// Where the program parted from the recording.
    pub came: Option<Came>,
    /// What it printed, on its standard output and on its standard error.
    pub printed: [Printed; 2],
    /// Where it waits, a sentence: it was ended for that.
    pub stuck: Option<String>,
    /// How the program ended.
    pub status: ExitStatus,
    /// Whether the recording is over: it asked for what comes behind its last event, or that event
    /// was its own end.
    pub over: bool,
    /// Events that were passed over, of threads that ended earlier than they did.
    pub passed: u32,
    /// How often its threads slept more, and how often less than they did.
    pub sleeps: (u32, u32),
    /// TCP connections that it was refused.
    pub refused: u32,
    /// The kernel's own files that it opened, in that order; of many the first 64.
    pub opened: Vec<Opened>,
    /// Libraries that lay elsewhere than recorded are found by comparing these with the recording.
    pub maps: String,
}

/// What becomes of a program that has stopped itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Somebody else lets it go on: a debugger, or who sends it SIGCONT. It does not stop itself again.
    LeftToOthers,
    /// It goes on, and stops itself before the event of this number or the next one behind that which it
    /// takes part in; `u64::MAX`: nowhere.
    Until(u64),
    /// It is ended.
    Ended,
}

/// What one of the first three descriptors leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standard {
    /// `/dev/null`, opened with these flags.
    Nothing(i32),
    /// A file that is read.
    Read {
        /// Where it lies; `None` for an empty one.
        path: Option<PathBuf>,
        /// How many of its bytes were read before.
        position: u64,
    },
    /// A file that is written.
    Written(WrittenFile),
    /// A pipe of this number. Nothing comes out of it.
    Pipe(u64),
    /// A stream socket of this number, whose other end is a socket of this machine.
    Socket(u64),
    /// A terminal.
    Terminal(Terminal),
}

/// See [`Standard::Written`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Tells files from one another.
    pub path: PathBuf,
    /// The flags that it was opened with.
    pub flags: i32,
    /// How many bytes lie before the next one that is written.
    pub position: u64,
}

/// See [`Standard::Terminal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Tells terminals from one another.
    pub path: String,
    /// How many rows and columns it has.
    pub size: (u16, u16),
}
