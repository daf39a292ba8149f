//! Counts in words.

use crate::figures::counted;

/// `1 packet`, `2 packets`.
pub(crate) fn packets(count: u64) -> String {
    counted(count, "packet")
}
