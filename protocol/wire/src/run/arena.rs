//! Bytes of the streams inside a packet, which live as long as the run that reads them.

use std::cell::OnceCell;

/// A list of byte strings that grows while its entries are borrowed.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    first: OnceCell<Box<Entry>>,
}

#[derive(Debug)]
struct Entry {
    bytes: Vec<u8>,
    next: Arena,
}

impl Arena {
    /// Keeps bytes. Takes time with their number, which is small.
    pub(super) fn keep(&self, bytes: Vec<u8>) -> &[u8] {
        let mut arena = self;
        while let Some(entry) = arena.first.get() {
            arena = &entry.next;
        }
        let entry = || {
            Box::new(Entry {
                bytes,
                next: Arena::default(),
            })
        };
        &arena.first.get_or_init(entry).bytes
    }
}
