//! The events of a reel, one after the other.

use std::ops::Range;

use netreel_reel::{OwnedRecord, Record, Reel};

/// Shows the events of some blocks. `false` where the last of them cannot be read to its end.
pub(super) fn walk(reel: &Reel, blocks: Range<usize>, mut show: impl FnMut(&Record<'_>)) -> bool {
    let mut is_whole = true;
    for index in blocks {
        is_whole = reel.block(index).is_ok_and(|block| {
            let mut records = block.records();
            records.by_ref().for_each(|record| show(&record));
            records.problem().is_none()
        });
    }
    is_whole
}

/// All events of a reel, a block at a time.
pub(super) struct Events<'r> {
    reel: &'r Reel,
    next_block: usize,
    waiting: std::vec::IntoIter<OwnedRecord>,
    /// Whether some block so far could not be read to its end.
    pub damaged: bool,
}

impl<'r> Events<'r> {
    pub fn new(reel: &'r Reel) -> Events<'r> {
        Events {
            reel,
            next_block: 0,
            waiting: Vec::new().into_iter(),
            damaged: false,
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
            let mut records = Vec::new();
            let copied = |record: &Record<'_>| records.push(OwnedRecord::copy_of(record));
            let is_whole = walk(self.reel, self.next_block..self.next_block + 1, copied);
            self.damaged |= !is_whole;
            self.next_block += 1;
            self.waiting = records.into_iter();
        }
    }
}
