//! How far a recording is.

use std::time::Duration;

/// What every way of recording tells of itself while it is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Since the start.
    pub time: Duration,
    /// Sent and received, in all reels.
    pub packets: u64,
    /// Of their payloads.
    pub bytes: u64,
    /// Events that could not be recorded.
    pub dropped: u64,
    /// Packets that the kernel dropped before anybody saw them, because a buffer was full.
    pub kernel_drops: u64,
}
