//! Why the last seconds of a recording were kept.

use serde::{Deserialize, Serialize};

/// What asked for a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TriggerCause(pub u8);

impl TriggerCause {
    /// A call of the program.
    pub const CALL: TriggerCause = TriggerCause(1);
    /// Somebody pressed a key.
    pub const KEY: TriggerCause = TriggerCause(2);
    /// A signal of the operating system.
    pub const SIGNAL: TriggerCause = TriggerCause(3);
    /// The recording was checked while it ran, and something was found.
    pub const FINDING: TriggerCause = TriggerCause(4);
    /// A thread of the program panicked.
    pub const PANIC: TriggerCause = TriggerCause(5);

    /// A word for people; `"trigger"` for one that is not known here.
    pub const fn name(self) -> &'static str {
        match self {
            TriggerCause::CALL => "call",
            TriggerCause::KEY => "key",
            TriggerCause::SIGNAL => "signal",
            TriggerCause::FINDING => "finding",
            TriggerCause::PANIC => "panic",
            _ => "trigger",
        }
    }
}

/// A moment around which the recording was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// What asked for it, at the node that asked first.
    pub cause: TriggerCause,
    /// The same at every node that was asked to keep the same window.
    pub id: u64,
    /// The moment at the node that asked first, in nanoseconds since 1970-01-01T00:00:00Z.
    pub utc_ns: i64,
    /// How far back the window was to reach, in milliseconds; 0: this is a mark in a recording
    /// that keeps everything.
    pub before_ms: u32,
    /// How far on it was to reach, in milliseconds.
    pub after_ms: u32,
    /// Whether another node asked.
    pub from_peer: bool,
}
