//! How to record, and what a recording came to.

use std::path::PathBuf;
use std::time::Duration;

use netreel_transport::WhenFull;

use crate::ring_mode::{Ring, Triggers};

/// How to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The room for what is pushed and not yet written, in bytes a pusher. Rounded up to a page;
    /// at least 256 KiB. An event may fill a little less than half of it; a larger one is counted
    /// as dropped. Default 4 MiB.
    pub ring_capacity: usize,
    /// How many pushers there may be at a time. Default 16. Their rings are made as they come, as
    /// long as all together stay below 4 GiB.
    pub pushers_max: usize,
    /// What a push does when there is no room. Default: wait.
    pub when_full: WhenFull,
    /// Replace a reel that is there, with all its parts. Default: refuse.
    pub replace: bool,
    /// The recording goes on in a new file when the present one reaches this size (it ends with
    /// the block that does) or this age: `NAME.reel`, `NAME.0001.reel` and so on. Default: it
    /// stays in one file.
    pub rotate: Limits,
    /// The oldest files of the recording are deleted, so that what is kept stays below this size, the ring
    /// file included where it takes no more than half of that, and no file is kept that ended longer ago. The
    /// present file is always kept. Without `rotate`, files are an eighth of this. Default: all are kept.
    pub keep: Limits,
    /// The recording ends, in order, when it has written this much or is this old. Default: it
    /// does not end by itself.
    pub max: Limits,
    /// Blocks are compressed (zstd, level 1). It costs the writing thread time, and the recorded
    /// threads none. Default: they are not.
    pub zstd: bool,
    /// Ring mode: the recording keeps its last seconds, in files of an eighth of that, and what
    /// triggers keep of them; see [`ring_mode`](crate::ring_mode). Takes the place of `keep`.
    /// Default: off.
    pub ring: Option<Ring>,
    /// What keeps windows in ring mode. Recorders with the same triggers keep the same windows.
    /// Default: triggers of its own.
    pub triggers: Triggers,
}

/// A size, a time, both, or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// In bytes of files.
    pub bytes: Option<u64>,
    /// In time that passes, not in that of events.
    pub time: Option<Duration>,
}

/// The limit that ended a recording, of [`Options::max`]. As a sentence without its end:
/// `it has reached its size of 65536 bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// How many bytes were written.
    Bytes(u64),
    /// It was so old.
    Time(Duration),
}

/// What a finished recording came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many events were written, also into files that were deleted since.
    pub events: u64,
    /// How many were dropped.
    pub dropped: u64,
    /// The length of the reel in bytes, all its files together.
    pub bytes: u64,
    /// How many files it has.
    pub files: u32,
    /// How many were deleted, so that the reel stays within [`Options::keep`] or [`Options::ring`].
    pub files_deleted: u32,
    /// How many events they held.
    pub events_deleted: u64,
    /// The operating system's error code of the latest rotation that failed. Nothing is lost for
    /// it: a file grew beyond its limit, or lacks its index.
    pub rotation_failed: Option<i32>,
    /// The limit that ended it before it was finished, of [`Options::max`].
    pub limit: Option<Reached>,
    /// The reel, where its folder was renamed while it was recorded.
    pub moved_to: Option<PathBuf>,
}

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reached::Bytes(limit) => write!(f, "it has reached its size of {limit} bytes"),
            Reached::Time(limit) => {
                write!(f, "it has reached its time of {} s", limit.as_secs_f64())
            }
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ring_capacity: 4 << 20,
            pushers_max: 16,
            when_full: WhenFull::Block,
            replace: false,
            rotate: Limits::default(),
            keep: Limits::default(),
            max: Limits::default(),
            zstd: false,
            ring: None,
            triggers: Triggers::new(),
        }
    }
}

impl Options {
    /// When a file is followed by the next one; `None` for a recording in one file.
    pub(crate) fn rotation(&self) -> Option<Limits> {
        let limits = Limits {
            bytes: self.rotate.bytes.or(self.keep.bytes.map(|all| all / 8)),
            time: match self.ring {
                Some(ring) => Some(ring.part_time()),
                None => self.rotate.time.or(self.keep.time.map(|all| all / 8)),
            },
        };
        (limits != Limits::default()).then_some(limits)
    }
}

impl Limits {
    /// Whether this many bytes, or this much time, reach it.
    pub(crate) fn reached(&self, bytes: u64, time: impl FnOnce() -> Duration) -> bool {
        self.bytes.is_some_and(|limit| bytes >= limit)
            || self.time.is_some_and(|limit| time() >= limit)
    }
}
