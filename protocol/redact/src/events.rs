//! The events of a reel, one after the other.

use std::ops::Range;

use netreel_reel::{OwnedRecord, Reel};

/// The events of some blocks of a reel, a block at a time. A block that cannot be read holds no event,
/// here as in the copy.
pub(crate) struct Events<'r> {
    reel: &'r Reel,
    blocks: Range<usize>,
    waiting: std::vec::IntoIter<OwnedRecord>,
    /// The last block so far that could not be read to its end.
    pub damaged: Option<usize>,
}

impl<'r> Events<'r> {
    pub fn all(reel: &'r Reel) -> Events<'r> {
        Events::of(reel, 0..reel.blocks())
    }

    pub fn of(reel: &'r Reel, blocks: Range<usize>) -> Events<'r> {
        Events {
            reel,
            blocks,
            waiting: Vec::new().into_iter(),
            damaged: None,
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
            let index = self.blocks.next()?;
            let is_whole = self.reel.block(index).is_ok_and(|block| {
                let mut records = block.records();
                let copied = records.by_ref().map(|record| OwnedRecord::copy_of(&record));
                self.waiting = copied.collect::<Vec<_>>().into_iter();
                records.problem().is_none()
            });
            if !is_whole {
                self.damaged = Some(index);
            }
        }
    }
}
