//! The events of a reel: one after the other, before each of which a debugger may stop; and in both
//! directions, one block in memory.

use std::sync::Arc;

use netreel_reel::{Event, EventNumber, OwnedRecord, Record, Reel};
use netreel_transport::Events;

use crate::replayable::{Stretch, is_turn};

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
            let Some(records) = block(&self.reel, self.next_block) else {
                return;
            };
            self.next_block += 1;
            self.records = records.into_iter();
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

/// The events of a block; `None` where it cannot be read, or there is none.
fn block(reel: &Reel, index: usize) -> Option<Vec<OwnedRecord>> {
    let block = reel.block(index).ok()?;
    let records = block.records().map(|record| OwnedRecord::copy_of(&record));
    Some(records.collect())
}

/// The events of a stretch.
pub(crate) struct Tape {
    reel: Arc<Reel>,
    stretch: Stretch,
    block: Option<(usize, Vec<OwnedRecord>)>,
}

impl Tape {
    pub fn new(reel: &Arc<Reel>, stretch: Stretch) -> Tape {
        Tape {
            reel: Arc::clone(reel),
            stretch,
            block: None,
        }
    }

    /// The first event at or behind `number` that `wanted` takes.
    pub fn next(
        &mut self,
        number: EventNumber,
        mut wanted: impl FnMut(&Record<'_>) -> bool,
    ) -> Option<OwnedRecord> {
        let Stretch { from, until, .. } = self.stretch;
        let number = number.max(from);
        let first = self.reel.find(number).unwrap_or(0);
        for index in first..self.reel.blocks() {
            let records = self.records(index);
            let place = records.partition_point(|it| it.as_record().number < number);
            for owned in records.get(place..).unwrap_or(&[]) {
                let record = owned.as_record();
                if record.number >= until {
                    return None;
                }
                if wanted(&record) {
                    return Some(owned.clone());
                }
            }
        }
        None
    }

    /// The same; its number, or the end, where there is none.
    pub fn next_number(
        &mut self,
        number: EventNumber,
        wanted: impl FnMut(&Record<'_>) -> bool,
    ) -> EventNumber {
        let next = self.next(number, wanted);
        next.map_or(self.stretch.until, |next| next.as_record().number)
    }

    /// The number of the last event before `number` that `wanted` takes.
    pub fn previous(
        &mut self,
        number: EventNumber,
        mut wanted: impl FnMut(&Record<'_>) -> bool,
    ) -> Option<EventNumber> {
        let Stretch { from, until, .. } = self.stretch;
        let number = number.min(until);
        let last = self.reel.find(number)?;
        for index in (0..=last).rev() {
            let records = self.records(index);
            let place = records.partition_point(|it| it.as_record().number < number);
            for record in records.get(..place).unwrap_or(&[]).iter().rev() {
                let record = record.as_record();
                if record.number < from {
                    return None;
                }
                if wanted(&record) {
                    return Some(record.number);
                }
            }
        }
        None
    }

    /// The event with which the turn begins that `number` lies in; `None` before the first turn.
    pub fn turn_of(&mut self, number: EventNumber) -> Option<EventNumber> {
        self.previous(number.next(), |it| is_turn(&it.event))
    }

    /// The event with which the next turn behind `number` begins; the end, where there is none.
    pub fn turn_behind(&mut self, number: EventNumber) -> EventNumber {
        self.next_number(number.next(), |it| is_turn(&it.event))
    }

    /// A snapshot in the reel.
    pub fn snapshot(&mut self, number: EventNumber) -> Option<Vec<u8>> {
        let record = self.next(number, |_| true)?;
        match record.as_record().event {
            Event::Snapshot { state } => Some(state.to_vec()),
            _ => None,
        }
    }

    /// The events of a block; none where it cannot be read.
    fn records(&mut self, index: usize) -> &[OwnedRecord] {
        if self.block.as_ref().is_none_or(|(known, _)| *known != index) {
            let records = block(&self.reel, index).unwrap_or_default();
            self.block = Some((index, records));
        }
        self.block.as_ref().map_or(&[], |(_, records)| records)
    }
}

/// Does nothing. The replay calls it before each recorded event that it hands to the layer, or compares
/// with what the layer does: the layer is on the stack. A debugger stops at one of them with
/// `break *netreel_before_event if $rdi == 218`, after `set language c`.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn netreel_before_event(number: u64) {
    std::hint::black_box(number);
}

/// Says so of an event.
#[inline]
pub(crate) fn before(number: EventNumber) {
    netreel_before_event(number.0);
}
