//! The events of a reel, one after the other.

use std::sync::Arc;

use netreel_reel::{OwnedRecord, Record, Reel};
use netreel_transport::Events;

/// Reads a reel block by block; a block that cannot be read ends it.
///
/// [`check_replayable`](crate::check_replayable) has refused reels with such blocks beforehand.
pub struct ReelEvents {
    reel: Arc<Reel>,
    next_block: usize,
    records: std::vec::IntoIter<OwnedRecord>,
    current: Option<OwnedRecord>,
}

impl ReelEvents {
    /// Starts before the first event.
    pub fn new(reel: Arc<Reel>) -> ReelEvents {
        let mut events = ReelEvents {
            reel,
            next_block: 0,
            records: Vec::new().into_iter(),
            current: None,
        };
        events.advance();
        events
    }
}

impl Events for ReelEvents {
    fn peek(&mut self) -> Option<Record<'_>> {
        self.current.as_ref().map(OwnedRecord::as_record)
    }

    fn advance(&mut self) {
        loop {
            self.current = self.records.next();
            if self.current.is_some() {
                return;
            }
            let Ok(block) = self.reel.block(self.next_block) else {
                return;
            };
            self.next_block += 1;
            let records = block.records().map(|record| OwnedRecord::copy_of(&record));
            self.records = records.collect::<Vec<_>>().into_iter();
        }
    }
}
