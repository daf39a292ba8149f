//! The events of a reel: one after the other, before each of which a debugger may stop; and in both
//! directions, one block in memory.

use std::sync::Arc;

use netreel_reel::{Event, EventNumber, OwnedRecord, Record, Reel};
use netreel_transport::Events;

use crate::replayable::is_turn;

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

/// The events of a reel between two numbers.
pub(crate) struct Tape {
    reel: Arc<Reel>,
    from: EventNumber,
    until: EventNumber,
    block: Option<(usize, Vec<OwnedRecord>)>,
}

impl Tape {
    pub fn new(reel: Arc<Reel>, from: EventNumber, until: EventNumber) -> Tape {
        Tape {
            reel,
            from,
            until,
            block: None,
        }
    }

    /// The first event at or behind `number` that `wanted` takes.
    pub fn next(
        &mut self,
        number: EventNumber,
        mut wanted: impl FnMut(&OwnedRecord) -> bool,
    ) -> Option<OwnedRecord> {
        let number = number.max(self.from);
        let first = self.reel.find(number).unwrap_or(0);
        let until = self.until;
        for index in first..self.reel.blocks() {
            let records = self.records(index);
            let place = records.partition_point(|it| it.as_record().number < number);
            for record in records.get(place..).unwrap_or(&[]) {
                if record.as_record().number >= until {
                    return None;
                }
                if wanted(record) {
                    return Some(record.clone());
                }
            }
        }
        None
    }

    /// The last event before `number` that `wanted` takes.
    pub fn previous(
        &mut self,
        number: EventNumber,
        mut wanted: impl FnMut(&OwnedRecord) -> bool,
    ) -> Option<OwnedRecord> {
        let number = number.min(self.until);
        let from = self.from;
        let last = self.reel.find(number)?;
        for index in (0..=last).rev() {
            let records = self.records(index);
            let place = records.partition_point(|it| it.as_record().number < number);
            for record in records.get(..place).unwrap_or(&[]).iter().rev() {
                if record.as_record().number < from {
                    return None;
                }
                if wanted(record) {
                    return Some(record.clone());
                }
            }
        }
        None
    }

    /// The event with which the turn begins that `number` lies in; `None` before the first turn.
    pub fn turn_of(&mut self, number: EventNumber) -> Option<EventNumber> {
        let turn = self.previous(number.next(), |it| is_turn(&it.as_record().event))?;
        Some(turn.as_record().number)
    }

    /// The event with which the next turn behind `number` begins; the end, where there is none.
    pub fn turn_behind(&mut self, number: EventNumber) -> EventNumber {
        let turn = self.next(number.next(), |it| is_turn(&it.as_record().event));
        turn.map_or(self.until, |turn| turn.as_record().number)
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
            let records = match self.reel.block(index) {
                Ok(block) => block
                    .records()
                    .map(|record| OwnedRecord::copy_of(&record))
                    .collect(),
                Err(_) => Vec::new(),
            };
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
