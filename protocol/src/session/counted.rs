//! Counts in words.

/// `1 packet`, `2 packets`.
pub(crate) fn packets(count: u64) -> String {
    if count == 1 {
        "1 packet".to_owned()
    } else {
        format!("{count} packets")
    }
}
