//! What is asked for when a program is recorded, and what comes of it: words alone, on every system.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::progress::Progress;
use netreel_record::{Options, Reached, RecordError};

/// What to record, and how.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The program and its arguments.
    pub command: Vec<std::ffi::OsString>,
    /// Where the reels go; made where it is not there.
    pub out: PathBuf,
    /// What the program's node and reel are called; by the program and its process id where it is
    /// `None`. Processes that it starts have the name, their program and their process id.
    pub name: Option<String>,
    /// Whether programs that the program starts get reels as well.
    pub children: bool,
    /// How each reel is written. There may be as many pushers as the program has threads; every
    /// process's recorder has the same triggers.
    pub options: Options,
    /// Whether addresses stay random, as the system has it. Without, a replay meets the same ones.
    pub random_addresses: bool,
    /// Whether one thread of each process runs at a time, so that a replay can let them run in the
    /// same order whatever they share.
    pub one_thread: bool,
    /// Whether what it prints is recorded, a line an event.
    pub log: bool,
    /// Whether to watch for system calls that go past the hooks. It costs the program the right to
    /// gain privileges by starting setuid programs.
    pub tripwire: bool,
}

/// A recording that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum PreloadError {
    /// There is no program of this name.
    #[error("{}: no program of this name can be found and run{}", .0.display(), what_is_there(.0))]
    NotFound(PathBuf),
    /// The program would escape.
    #[error(
        "{program}: {why}. Recording it this way would leave silent gaps; record it from outside instead: by `netreel record --proxy LISTEN=TARGET` between it and whom it talks to, or by `netreel record --live IFACE` at the network interface"
    )]
    Escapes {
        /// The program.
        program: String,
        /// Why it would.
        why: Escape,
    },
    /// This command was built for a machine without the library.
    #[error(
        "this netreel was built without the library that records unmodified programs; that library exists for Linux with glibc on x86-64 and 64-bit ARM. Record from outside, by `netreel record --proxy LISTEN=TARGET` or `netreel record --live IFACE`, or give the program the recorder: netreel.h"
    )]
    NoLibrary,
    /// Something that recording needs could not be had.
    #[error("cannot {what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        error: io::Error,
    },
    /// The program started and did not load the library. The second is a likely cause.
    #[error("{0}: the library was not loaded into the program, which was ended. {1}")]
    NotLoaded(String, &'static str),
    /// The program's reel could not be made; the program was ended before its `main`.
    #[error(transparent)]
    Reel(#[from] RecordError),
}

/// The error of something that was tried and could not be had.
pub(super) fn cannot(what: impl Into<String>) -> impl FnOnce(io::Error) -> PreloadError {
    let what = what.into();
    |error| PreloadError::Io { what, error }
}

/// What lies where a program was looked for, and what to do about it.
fn what_is_there(name: &Path) -> String {
    match name.metadata() {
        Ok(there) if there.is_dir() => "; it is a folder".to_owned(),
        Ok(_) if name.components().count() > 1 || name.is_absolute() => {
            format!("; the file may not be run: chmod +x {}", name.display())
        }
        Ok(_) => format!("; this folder has a file of it: write ./{}", name.display()),
        Err(_) => String::new(),
    }
}

/// What happens while recording.
#[derive(Debug)]
pub enum Report {
    /// A process is recorded from here on.
    Started {
        /// Program and process id.
        name: String,
        /// Its reel.
        reel: PathBuf,
    },
    /// Something that is not in a reel; a sentence.
    Gap(String),
    /// Several threads of the process of this name send or receive packets, and run at the same time.
    Threads(String),
    /// Where the recording is, ten times a second.
    Live(Progress),
    /// The program has ended, and so many processes that it started go on.
    Outlived(u64),
    /// A reel was ended.
    Ended {
        /// Program and process id.
        name: String,
        /// Its reel.
        reel: PathBuf,
        /// Events that are there, bytes of all its files.
        size: (u64, u64),
        /// Events that were deleted, because their files were older or more than was to be kept.
        deleted: u64,
        /// Events that could not be recorded.
        dropped: u64,
    },
    /// A reel has ended before its program, because it is as large or as old as it may be.
    Limit {
        /// Program and process id.
        name: String,
        /// The limit.
        reached: Reached,
    },
    /// A reel's limit of size or time for a file could not be kept. Nothing is lost for it.
    RotationFailed {
        /// Program and process id.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// A reel could not be made, or stopped.
    Failed(RecordError),
}

/// What a recording came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How the program ended; `None` where recording ended before it.
    pub status: Option<ExitStatus>,
    /// The last of [`Report::Live`].
    pub live: Progress,
    /// UDP sockets that were opened, by all processes.
    pub sockets: u64,
    /// TCP connections that were made or taken, by all processes.
    pub connections: u64,
    /// How many sentences told of gaps.
    pub gaps: u64,
    /// How many reels could not be made, or stopped.
    pub failed: u64,
    /// Processes that were not followed, because that was not wanted.
    pub not_followed: u64,
    /// Processes that the program started and that went on when recording ended.
    pub outlived: u64,
    /// Reels that are there.
    pub reels: Vec<PathBuf>,
}

/// Why a program would escape the recorder.
#[derive(Debug, thiserror::Error)]
pub enum Escape {
    /// It cannot be looked at.
    #[error("cannot open it: {0}")]
    Io(#[from] io::Error),
    /// It has no place for other libraries.
    #[error("it is statically linked, so that no library can be loaded into it")]
    Static,
    /// Another size of pointers than the recorder's.
    #[error("it is a 32-bit program, and the recorder's library has 64 bits")]
    Bits32,
    /// Another processor.
    #[error("it is made for another processor than this machine's")]
    OtherMachine,
    /// It loads another C library.
    #[error("it runs on musl; the recorder's library stands before glibc's functions")]
    Musl,
    /// Its network calls go past the C library.
    #[error("it is a Go program; Go makes its system calls itself, past every library")]
    Go,
    /// The kernel forbids it.
    #[error(
        "it is setuid, setgid or has file capabilities; the kernel ignores preloaded libraries there"
    )]
    Setuid,
    /// Neither ELF nor a script.
    #[error("it is neither an ELF program nor a script")]
    NotAProgram,
}

/// The checksum by which files are told apart.
pub fn sum_of(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// The same of a file; `None` where it cannot be read.
pub fn sum_of_file(path: &std::path::Path) -> Option<u32> {
    Some(sum_of(&std::fs::read(path).ok()?))
}
