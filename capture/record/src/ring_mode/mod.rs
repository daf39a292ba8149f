//! Ring mode: the recording keeps its last seconds, and a trigger keeps them for good.
//!
//! The recording is written in parts. Parts that are older than the window are deleted, so that
//! the last window is on the disk whatever happens. A trigger ends the part that is being written
//! and gives all parts of the window a second name in a folder of their own, `window-UTC-ID`: a
//! session like any other. [`Windows`](windows::Windows) decides, [`keeper`] does it on a thread
//! of its own, so that neither the recorded program nor the writing thread waits for a disk.

mod keeper;
mod panics;
#[cfg(feature = "peers")]
mod peers;
mod recording;
mod trigger;
mod windows;

use std::path::PathBuf;
use std::time::Duration;

pub use panics::trigger_on_panic;
#[cfg(feature = "peers")]
#[doc(hidden)]
pub use peers::fuzz_datagram;
#[cfg(feature = "peers")]
pub use peers::{PeerOptions, Peers, PeersError};
pub use trigger::{TriggerNews, Triggers, window_name};

pub(crate) use keeper::Keeper;
pub(crate) use recording::RingRecording;
pub(crate) use trigger::{Request, Requests};
pub(crate) use windows::{Action, FinishedPart, Windows};

/// A window is made of about this many parts.
const PARTS_A_WINDOW: u32 = 8;
const PART_MIN: Duration = Duration::from_millis(250);
const PART_MAX: Duration = Duration::from_secs(10);

/// How much a recording in ring mode keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// How far back a window reaches. At least 100 ms.
    pub before: Duration,
    /// How long a recording goes on into the window after its trigger. Default 0.
    pub after: Duration,
    /// The most windows that triggers keep. Default 100.
    pub windows_max: u32,
}

impl Ring {
    /// A window reaches back at least so far.
    pub const BEFORE_MIN: Duration = Duration::from_millis(100);

    /// A ring of this length, with the defaults.
    pub fn new(before: Duration) -> Ring {
        Ring {
            before: before.max(Ring::BEFORE_MIN),
            after: Duration::ZERO,
            windows_max: 100,
        }
    }

    /// A part of the recording is ended at this age.
    pub(crate) fn part_time(&self) -> Duration {
        (self.before / PARTS_A_WINDOW).clamp(PART_MIN, PART_MAX)
    }
}

/// A window that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptWindow {
    /// The folder with the parts: a session.
    pub folder: PathBuf,
    /// How many parts of this recording are in it.
    pub parts: usize,
    /// How many of its parts could not be kept.
    pub lacks: usize,
}
