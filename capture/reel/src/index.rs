//! What is known of a reel without reading its events: where blocks are, and totals.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use netreel_shared::body::EventKind;

use crate::{Endpoint, Event, EventNumber, Record, SocketId, Time};

/// Where one block is, and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Bytes from the start of the reel to the block's frame. For what was recovered from
    /// outside the file, the place where it would have been written.
    pub offset: u64,
    /// The length of the frame in bytes.
    pub length: u64,
    /// The number of its first event.
    pub first: EventNumber,
    /// How many events it holds that this reader knows.
    pub events: u64,
    /// The time of its first event.
    pub time: Time,
}

/// How many events there are of each kind, by the kind's number: one more is counted at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<u8, u64>", into = "BTreeMap<u8, u64>")]
struct Kinds(Vec<u64>);

impl Kinds {
    #[inline]
    fn add(&mut self, kind: u8, count: u64) {
        let place = usize::from(kind);
        if place >= self.0.len() {
            self.0.resize(place + 1, 0);
        }
        let sum = &mut self.0[place];
        *sum = sum.saturating_add(count);
    }

    fn get(&self, kind: u8) -> u64 {
        self.0.get(usize::from(kind)).copied().unwrap_or(0)
    }

    /// Those that occur.
    fn iter(&self) -> impl Iterator<Item = (u8, u64)> {
        let counts = (0..=u8::MAX).zip(&self.0);
        counts.filter_map(|(kind, &count)| (count > 0).then_some((kind, count)))
    }
}

impl From<BTreeMap<u8, u64>> for Kinds {
    fn from(counts: BTreeMap<u8, u64>) -> Kinds {
        let mut kinds = Kinds::default();
        for (kind, count) in counts {
            kinds.add(kind, count);
        }
        kinds
    }
}

impl From<Kinds> for BTreeMap<u8, u64> {
    fn from(kinds: Kinds) -> BTreeMap<u8, u64> {
        kinds.iter().collect()
    }
}

/// What the events of a reel come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// How many events there are of each kind.
    kinds: Kinds,
    /// How many events there are of kinds that this reader does not know.
    unknown: BTreeMap<u8, u64>,
    /// The lowest and the highest time of an event.
    span: Option<(Time, Time)>,
    /// The sockets, in the order of opening.
    sockets: Vec<(SocketId, Endpoint)>,
    /// Events that were dropped because the disk could not keep up.
    dropped: u64,
    /// Numbers that were taken and never used: first and count.
    holes: Vec<(EventNumber, u64)>,
}

/// More holes than this are counted in the last one. A reel has as many as it had crashes.
const HOLES_MAX: usize = 4096;

impl Totals {
    /// How many events there are of each kind that occurs.
    pub fn counts(&self) -> BTreeMap<EventKind, u64> {
        self.kinds
            .iter()
            .filter_map(|(kind, count)| Some((EventKind::from_number(kind)?, count)))
            .collect()
    }

    /// How many events were skipped, by the number of a kind that is not known here.
    pub fn unknown(&self) -> &BTreeMap<u8, u64> {
        &self.unknown
    }

    /// How many events there are of the kinds that are known here.
    pub fn events(&self) -> u64 {
        self.kinds
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// The lowest and the highest time of an event; `None` for an empty reel.
    pub fn span(&self) -> Option<(Time, Time)> {
        self.span
    }

    /// The sockets with their local endpoints, in the order of opening.
    pub fn sockets(&self) -> &[(SocketId, Endpoint)] {
        &self.sockets
    }

    /// How many events were dropped while recording, because the disk could not keep up.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many packets were sent, received and seen.
    pub fn packets(&self) -> u64 {
        let count = |kind| self.kinds.get(kind as u8);
        [EventKind::Sent, EventKind::Received, EventKind::Seen]
            .into_iter()
            .fold(0, |sum, kind| sum.saturating_add(count(kind)))
    }

    pub(crate) fn holes(&self) -> &[(EventNumber, u64)] {
        &self.holes
    }

    pub(crate) fn add(&mut self, record: &Record<'_>) {
        self.kinds.add(record.event.kind() as u8, 1);
        let time = record.time;
        self.span = Some(match self.span {
            None => (time, time),
            Some((low, high)) => (low.min(time), high.max(time)),
        });
        match record.event {
            Event::SocketOpened { socket, local } => self.sockets.push((socket, local)),
            Event::Dropped { count } => self.dropped = self.dropped.saturating_add(count),
            _ => {}
        }
    }

    pub(crate) fn add_unknown(&mut self, kinds: &BTreeMap<u8, u64>) {
        for (kind, count) in kinds {
            let sum = self.unknown.entry(*kind).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Adds what a later part of the same recording came to.
    pub(crate) fn add_part(&mut self, later: &Totals) {
        for (kind, count) in later.kinds.iter() {
            self.kinds.add(kind, count);
        }
        self.add_unknown(&later.unknown);
        self.span = match (self.span, later.span) {
            (Some((low, high)), Some((start, end))) => Some((low.min(start), high.max(end))),
            (one, other) => one.or(other),
        };
        self.sockets.extend_from_slice(&later.sockets);
        self.dropped = self.dropped.saturating_add(later.dropped);
        for (first, count) in &later.holes {
            self.add_hole(*first, *count);
        }
    }

    /// Adds sockets that were opened before the first event here; those that are known stay.
    pub(crate) fn add_open(&mut self, sockets: &[(SocketId, Endpoint)]) {
        let mut known: BTreeSet<_> = self.sockets.iter().copied().collect();
        let fresh: Vec<_> = sockets
            .iter()
            .filter(|socket| known.insert(**socket))
            .copied()
            .collect();
        self.sockets.extend(fresh);
    }

    pub(crate) fn add_hole(&mut self, first: EventNumber, count: u64) {
        if self.holes.len() < HOLES_MAX {
            self.holes.push((first, count));
        } else if let Some(last) = self.holes.last_mut() {
            last.1 = last.1.saturating_add(count);
        }
    }
}

/// The index at the end of a reel, as it is stored: columns, each value as the difference to the
/// one before it where that keeps it small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Index {
    totals: Totals,
    lengths: Vec<u64>,
    /// From the last number of the block before (its first number plus its events) to this one.
    gaps: Vec<u64>,
    events: Vec<u64>,
    times: Vec<i64>,
}

impl Index {
    pub fn new(blocks: &[BlockInfo], totals: Totals) -> Index {
        let mut index = Index {
            totals,
            ..Index::default()
        };
        let (mut number, mut time) = (0u64, 0u64);
        for block in blocks {
            index.lengths.push(block.length);
            index.gaps.push(block.first.0.wrapping_sub(number));
            index.events.push(block.events);
            index.times.push(block.time.0.wrapping_sub(time) as i64);
            number = block.first.0.wrapping_add(block.events);
            time = block.time.0;
        }
        index
    }

    /// The blocks, which fill the reel from `start` to `end` without a gap, and the totals.
    /// `None` where the columns contradict that or each other.
    pub fn blocks(self, start: u64, end: u64) -> Option<(Vec<BlockInfo>, Totals)> {
        let count = self.lengths.len();
        if [self.gaps.len(), self.events.len(), self.times.len()] != [count; 3] {
            return None;
        }
        let mut blocks = Vec::with_capacity(count);
        let (mut offset, mut number, mut time) = (start, 0u64, 0u64);
        let sizes = self.lengths.into_iter().zip(self.events);
        for ((length, events), (gap, later)) in sizes.zip(self.gaps.into_iter().zip(self.times)) {
            number = number.checked_add(gap)?;
            time = time.wrapping_add(later as u64);
            blocks.push(BlockInfo {
                offset,
                length,
                first: EventNumber(number),
                events,
                time: Time(time),
            });
            offset = offset.checked_add(length)?;
            number = number.checked_add(events)?;
        }
        (offset == end).then_some((blocks, self.totals))
    }
}
