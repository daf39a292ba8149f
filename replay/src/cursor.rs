//! The events of a reel, one after the other.

use std::sync::Arc;

use netreel_reel::{EventNumber, OwnedRecord, Record, Reel};
use netreel_transport::Events;

use crate::before::before;

/// Reads a reel block by block; a block that cannot be read ends it.
///
/// [`check_replayable`](crate::check_replayable) has refused reels with such blocks beforehand.
pub struct ReelEvents {
    reel: Arc<Reel>,
    next_block: usize,
    records: std::vec::IntoIter<OwnedRecord>,
    current: Option<OwnedRecord>,
    /// The first event that is not shown any more.
    until: EventNumber,
}

impl ReelEvents {
    /// Starts before the first event.
    pub fn new(reel: Arc<Reel>) -> ReelEvents {
        ReelEvents::between(reel, EventNumber(0), EventNumber(u64::MAX))
    }

    /// The events from `from` on, to the one before `until`.
    pub fn between(reel: Arc<Reel>, from: EventNumber, until: EventNumber) -> ReelEvents {
        let mut events = ReelEvents {
            next_block: reel.find(from).unwrap_or(0),
            reel,
            records: Vec::new().into_iter(),
            current: None,
            until,
        };
        events.step();
        while events
            .current
            .as_ref()
            .is_some_and(|record| record.as_record().number < from)
        {
            events.step();
        }
        events
    }

    fn step(&mut self) {
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

impl Events for ReelEvents {
    fn peek(&mut self) -> Option<Record<'_>> {
        let current = self.current.as_ref().map(OwnedRecord::as_record);
        current.filter(|record| record.number < self.until)
    }

    fn advance(&mut self) {
        if let Some(current) = &self.current {
            before(current.as_record().number);
        }
        self.step();
    }
}
