//! Files that a forked child of this process has no part in. Windows has no such children; elsewhere a child
//! keeps what its parent had open.

use std::fs::File;

/// Keeps a file from children that are forked, until it is dropped. To be dropped before the file
/// is closed.
#[derive(Debug)]
pub struct KeptFromChildren(());

impl KeptFromChildren {
    /// Keeps this one.
    pub fn new(_: &File) -> KeptFromChildren {
        KeptFromChildren(())
    }
}
