//! The events of a reel, one after the other.

use netreel_reel::{OwnedRecord, Reel};

/// All events of a reel, a block at a time.
pub(super) struct Events<'r> {
    reel: &'r Reel,
    next_block: usize,
    waiting: std::vec::IntoIter<OwnedRecord>,
}

impl<'r> Events<'r> {
    pub fn new(reel: &'r Reel) -> Events<'r> {
        Events {
            reel,
            next_block: 0,
            waiting: Vec::new().into_iter(),
        }
    }
}

impl Iterator for Events<'_> {
    type Item = OwnedRecord;

    fn next(&mut self) -> Option<OwnedRecord> {
        loop {
            if let Some(record) = self.waiting.next() {
                return Some(record);
            }
            if self.next_block >= self.reel.blocks() {
                return None;
            }
            // A block that cannot be read holds no event, here as in the copy.
            let block = self.reel.block(self.next_block).ok();
            self.next_block += 1;
            let records = block.iter().flat_map(|block| block.records());
            let records: Vec<OwnedRecord> = records
                .map(|record| OwnedRecord::copy_of(&record))
                .collect();
            self.waiting = records.into_iter();
        }
    }
}
