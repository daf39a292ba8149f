//! A reel, walked in both directions, one block in memory.

use std::sync::Arc;

use netreel_reel::{Event, EventNumber, OwnedRecord, Reel};

use crate::stretches::is_turn;

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
