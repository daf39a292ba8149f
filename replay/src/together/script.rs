//! The events of the turn that is played, and what is looked for among them.

use std::collections::BTreeMap;

use netreel_reel::{Endpoint, Event, EventNumber, OwnedRecord, Record, SendOutcome, Time};

/// The events of a turn, without the one that began it.
#[derive(Default)]
pub(super) struct Script {
    records: Vec<OwnedRecord>,
    /// Made when something is looked for: a turn may be as long as a recording.
    index: Option<Index>,
}

/// Where what is looked for stands.
#[derive(Default)]
struct Index {
    clocks: Vec<usize>,
    sends: BTreeMap<Endpoint, Vec<usize>>,
    /// The first result of each send.
    results: BTreeMap<EventNumber, (usize, SendOutcome)>,
    /// The last note of these words.
    notes: BTreeMap<Vec<u8>, usize>,
}

impl Index {
    fn of(records: &[OwnedRecord]) -> Index {
        let mut index = Index::default();
        for (place, record) in records.iter().enumerate() {
            match record.as_record().event {
                Event::Clock { .. } => index.clocks.push(place),
                Event::Sent { to, .. } => index.sends.entry(to).or_default().push(place),
                Event::SendResult { of, outcome } => {
                    index.results.entry(of).or_insert((place, outcome));
                }
                Event::Note { text } => {
                    index.notes.insert(text.to_vec(), place);
                }
                _ => {}
            }
        }
        index
    }
}

impl Script {
    pub fn clear(&mut self) {
        self.records.clear();
        self.index = None;
    }

    pub fn push(&mut self, record: OwnedRecord) {
        self.records.push(record);
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn get(&self, place: usize) -> Option<&OwnedRecord> {
        self.records.get(place)
    }

    pub fn last(&self) -> Option<&OwnedRecord> {
        self.records.last()
    }

    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        self.records.iter().map(OwnedRecord::as_record)
    }

    fn index(&mut self) -> &Index {
        let records = &self.records;
        self.index.get_or_insert_with(|| Index::of(records))
    }

    /// The first clock read at this place or behind it: its place, what it said, and when it was.
    pub fn clock_from(&mut self, from: usize) -> Option<(usize, Time, Time)> {
        let place = first(&self.index().clocks, from)?;
        let record = self.get(place)?.as_record();
        match record.event {
            Event::Clock { value } => Some((place, value, record.time)),
            _ => None,
        }
    }

    /// The first send to an address at this place or behind it: its place, and when it was.
    pub fn send_from(&mut self, from: usize, to: Endpoint) -> Option<(usize, Time)> {
        let place = first(self.index().sends.get(&to)?, from)?;
        Some((place, self.get(place)?.as_record().time))
    }

    /// What the call of a send returned that stands before this place.
    pub fn result_from(&mut self, from: usize, sent: EventNumber) -> Option<SendOutcome> {
        let (place, outcome) = *self.index().results.get(&sent)?;
        (place >= from).then_some(outcome)
    }

    /// Whether a note of these words stands at this place or behind it.
    pub fn has_note_from(&mut self, from: usize, words: &str) -> bool {
        let last = self.index().notes.get(words.as_bytes());
        last.is_some_and(|&last| last >= from)
    }
}

/// The first of these places that is not before this one.
fn first(places: &[usize], from: usize) -> Option<usize> {
    let behind = places.partition_point(|&place| place < from);
    places.get(behind).copied()
}
