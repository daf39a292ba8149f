//! What a proxy did to a packet that it did not simply pass on.

use serde::{Deserialize, Serialize};

/// A verdict on one packet; a packet may get several, each an event of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FaultVerdict {
    /// Dropped by chance.
    Lost,
    /// Held back for `nanos` ns, in its place among the others.
    Delayed {
        /// How long.
        nanos: u64,
    },
    /// Held back for `nanos` ns, and those behind it may overtake it.
    Reordered {
        /// How long.
        nanos: u64,
    },
    /// Sent twice, the second time `nanos` ns after it came.
    Duplicated {
        /// How long after.
        nanos: u64,
    },
    /// Waited `nanos` ns for a link of limited bandwidth, its own time on that link included.
    Queued {
        /// How long.
        nanos: u64,
    },
    /// Dropped, because it would have waited `nanos` ns for a link of limited bandwidth, or because
    /// too much was held back already.
    QueueFull {
        /// How long it would have waited.
        nanos: u64,
    },
    /// Dropped, because it came from somebody whom the proxy does not serve: there were too many
    /// already, or there was no socket for one more.
    Refused,
    /// Passed on with one bit turned, counted from the highest of the first byte: what arrives is another
    /// packet.
    Corrupted {
        /// Which bit.
        bit: u64,
    },
}

impl FaultVerdict {
    /// A word for people.
    pub const fn name(self) -> &'static str {
        match self {
            FaultVerdict::Lost => "lost",
            FaultVerdict::Delayed { .. } => "delayed",
            FaultVerdict::Reordered { .. } => "reordered",
            FaultVerdict::Duplicated { .. } => "duplicated",
            FaultVerdict::Queued { .. } => "queued",
            FaultVerdict::QueueFull { .. } => "queue full",
            FaultVerdict::Refused => "refused",
            FaultVerdict::Corrupted { .. } => "corrupted",
        }
    }

    /// Whether the packet went no further as it was.
    pub const fn ends(self) -> bool {
        matches!(
            self,
            FaultVerdict::Lost
                | FaultVerdict::QueueFull { .. }
                | FaultVerdict::Refused
                | FaultVerdict::Corrupted { .. }
        )
    }

    /// The number in a reel, and the nanoseconds or the bit (0 where there are none).
    pub(crate) const fn to_numbers(self) -> (u8, u64) {
        match self {
            FaultVerdict::Lost => (0, 0),
            FaultVerdict::Delayed { nanos } => (1, nanos),
            FaultVerdict::Reordered { nanos } => (2, nanos),
            FaultVerdict::Duplicated { nanos } => (3, nanos),
            FaultVerdict::Queued { nanos } => (4, nanos),
            FaultVerdict::QueueFull { nanos } => (5, nanos),
            FaultVerdict::Refused => (6, 0),
            FaultVerdict::Corrupted { bit } => (7, bit),
        }
    }

    /// The verdict with this number; `None` for one that is not known here.
    pub(crate) const fn from_numbers((number, nanos): (u8, u64)) -> Option<FaultVerdict> {
        Some(match number {
            0 => FaultVerdict::Lost,
            1 => FaultVerdict::Delayed { nanos },
            2 => FaultVerdict::Reordered { nanos },
            3 => FaultVerdict::Duplicated { nanos },
            4 => FaultVerdict::Queued { nanos },
            5 => FaultVerdict::QueueFull { nanos },
            6 => FaultVerdict::Refused,
            7 => FaultVerdict::Corrupted { bit: nanos },
            _ => return None,
        })
    }
}
