//! One side of a reel's packets: what was sent, received, or seen, a row an end, in columns.
//!
//! A payload stays in the reel. Its hash stands for it until the ends are matched.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::{Event, EventNumber, Time};
use netreel_table::{Column, Cursor};
use serde::{Deserialize, Serialize};

use crate::session::index::plain::indexed;

/// Which side of a packet's way an end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Side {
    Send,
    Receive,
    Seen,
}

impl Side {
    pub const ALL: [Side; 3] = [Side::Send, Side::Receive, Side::Seen];

    /// That of the packet that an event is; `None` where it is none.
    pub fn of(event: &Event<'_>) -> Option<Side> {
        match event {
            Event::Sent { .. } => Some(Side::Send),
            Event::Received { .. } => Some(Side::Receive),
            Event::Seen { .. } => Some(Side::Seen),
            _ => None,
        }
    }

    /// Whether a packet goes out of the near end of its connection.
    pub fn is_out(self, raw: &RawEnd) -> bool {
        self.goes_out(raw.forward)
    }

    /// The same of one that went its connection's way, or not.
    pub fn goes_out(self, forward: bool) -> bool {
        match self {
            Side::Send => true,
            Side::Receive => false,
            Side::Seen => forward,
        }
    }
}

/// Where an end stands: its reel, its side, and its place there.
pub(crate) type EndAt = (usize, Side, usize);

/// One end of a packet's way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawEnd {
    pub number: EventNumber,
    pub time: Time,
    /// A place in [`super::scan::Scan::connections`].
    pub connection: u32,
    /// Of the bytes that the reel has of the payload.
    pub hash: u64,
    /// How many bytes the reel has of the payload.
    pub length: u32,
    /// How many bytes it had.
    pub whole: u32,
    /// Whether the send call failed.
    pub failed: bool,
    /// Of one that passed by, whether it went the way of its connection's first.
    pub forward: bool,
}

/// The ends of one side, in the reel's order.
#[derive(Clone, Default)]
pub(crate) struct Ends {
    numbers: Column,
    times: Column,
    /// The connection, and in the lowest bit whether the packet went its way.
    connections: Column,
    lengths: Column,
    /// Empty once the ends are matched.
    hashes: Column,
    /// How long packets were of which the reel has the first bytes.
    cut: BTreeMap<u32, u32>,
    failed: BTreeSet<u32>,
    rhythm: Rhythm,
}

/// What the times of ends tell together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Rhythm {
    /// The first end's, and the latest.
    pub first: Time,
    pub latest: Time,
    /// How long it took at most from the latest so far to the next later one.
    pub longest_ns: u64,
    /// Whether none is earlier than one before it.
    pub is_sorted: bool,
}

impl Default for Rhythm {
    fn default() -> Rhythm {
        Rhythm {
            first: Time::ZERO,
            latest: Time::ZERO,
            longest_ns: 0,
            is_sorted: true,
        }
    }
}

impl Rhythm {
    fn take(&mut self, time: Time) {
        self.is_sorted &= self.latest <= time;
        self.longest_ns = time.0.saturating_sub(self.latest.0).max(self.longest_ns);
        self.latest = time.max(self.latest);
    }
}

/// A column of each side of each reel, most of whose rows are asked for next to each other.
pub(crate) struct Cursors<'a> {
    columns: Vec<&'a Column>,
    known: Vec<Option<Box<Cursor<'a>>>>,
}

impl<'a> Cursors<'a> {
    /// Of each reel the columns of its sides, in their order.
    pub fn new(reels: impl Iterator<Item = [&'a Column; 3]>) -> Cursors<'a> {
        let columns: Vec<&Column> = reels.flatten().collect();
        let known = columns.iter().map(|_| None).collect();
        Cursors { columns, known }
    }

    /// A row; 0 where there is none.
    #[inline]
    pub fn get(&mut self, reel: usize, side: Side, row: usize) -> u64 {
        let at = reel * Side::ALL.len() + side as usize;
        let (Some(column), Some(known)) = (self.columns.get(at), self.known.get_mut(at)) else {
            return 0;
        };
        let cursor = known.get_or_insert_with(|| Box::new(column.cursor()));
        cursor.get(row)
    }
}

impl Ends {
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub fn push(&mut self, raw: &RawEnd) {
        let place = self.len() as u32;
        if place == 0 {
            (self.rhythm.first, self.rhythm.latest) = (raw.time, raw.time);
        }
        self.rhythm.take(raw.time);
        self.numbers.push(raw.number.0);
        self.times.push(raw.time.0);
        let way = u64::from(raw.forward);
        self.connections.push(u64::from(raw.connection) << 1 | way);
        self.lengths.push(u64::from(raw.length));
        self.hashes.push(raw.hash);
        if raw.whole > raw.length {
            self.cut.insert(place, raw.whole);
        }
        if raw.failed {
            self.failed.insert(place);
        }
    }

    pub fn get(&self, place: usize) -> Option<RawEnd> {
        if place >= self.len() {
            return None;
        }
        let way = self.connections.get(place);
        let columns = (
            self.numbers.get(place),
            self.times.get(place),
            self.lengths.get(place),
        );
        Some(self.row(place, columns, way))
    }

    pub fn iter(&self) -> impl Iterator<Item = RawEnd> + '_ {
        let columns = self.numbers.iter().zip(self.times.iter());
        let columns = columns.zip(self.lengths.iter());
        let rows = columns.zip(self.connections.iter()).enumerate();
        rows.map(|(place, (((number, time), length), way))| {
            self.row(place, (number, time, length), way)
        })
    }

    fn row(&self, place: usize, (number, time, length): (u64, u64, u64), way: u64) -> RawEnd {
        let length = length as u32;
        RawEnd {
            number: EventNumber(number),
            time: Time(time),
            connection: Ends::way_of(way).0,
            hash: self.hashes.get(place),
            length,
            whole: self.whole(place, length),
            failed: self.is_failed(place),
            forward: Ends::way_of(way).1,
        }
    }

    pub fn number(&self, place: usize) -> EventNumber {
        EventNumber(self.numbers.get(place))
    }

    pub fn time(&self, place: usize) -> Time {
        Time(self.times.get(place))
    }

    /// The rows of [`Ends::time`] and of [`Ends::length`].
    pub fn time_column(&self) -> &Column {
        &self.times
    }

    pub fn length_column(&self) -> &Column {
        &self.lengths
    }

    pub fn times(&self) -> impl Iterator<Item = Time> + '_ {
        self.times.iter().map(Time)
    }

    /// All rows, without what only matching needs: number, time, connection, and whether
    /// the packet went that one's way.
    pub fn rows(&self) -> impl Iterator<Item = (EventNumber, Time, (u32, bool))> + '_ {
        let rows = self.numbers.iter().zip(self.times.iter()).zip(self.ways());
        rows.map(|((number, time), way)| (EventNumber(number), Time(time), way))
    }

    /// The same of one.
    pub fn row_at(&self, place: usize) -> (EventNumber, Time, (u32, bool)) {
        (self.number(place), self.time(place), self.way(place))
    }

    /// The events from a place on.
    pub fn numbers_from(&self, place: usize) -> impl Iterator<Item = EventNumber> + '_ {
        self.numbers.iter_from(place).map(EventNumber)
    }

    /// Their times.
    pub fn times_from(&self, place: usize) -> impl Iterator<Item = Time> + '_ {
        self.times.iter_from(place).map(Time)
    }

    /// The place of the first that is not before `time`, where they are in the order of time.
    pub fn place_of(&self, time: Time) -> usize {
        self.times.lower_bound(time.0)
    }

    /// The connection of each, and whether it went that one's way.
    pub fn ways(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.connections.iter().map(Ends::way_of)
    }

    /// The events, and for [`Ends::way_of`] the ways, for who goes from one to the next.
    pub fn cursors(&self) -> (Cursor<'_>, Cursor<'_>) {
        (self.numbers.cursor(), self.connections.cursor())
    }

    /// The connection of a row, and whether its packet went that one's way.
    pub fn way_of(row: u64) -> (u32, bool) {
        ((row >> 1) as u32, row & 1 == 1)
    }

    pub fn connection(&self, place: usize) -> u32 {
        self.way(place).0
    }

    /// The connection of one, and whether it went that one's way.
    pub fn way(&self, place: usize) -> (u32, bool) {
        Ends::way_of(self.connections.get(place))
    }

    /// How many bytes the reel has of a payload.
    pub fn length(&self, place: usize) -> u32 {
        self.lengths.get(place) as u32
    }

    /// How many bytes a payload had of which the reel has `length`.
    pub fn whole(&self, place: usize, length: u32) -> u32 {
        if self.cut.is_empty() {
            return length;
        }
        let cut = self.cut.get(&(place as u32));
        cut.copied().unwrap_or(length)
    }

    /// How many bytes the longest had.
    pub fn longest(&self) -> u32 {
        let kept = self.lengths.iter().max().unwrap_or(0) as u32;
        self.cut.values().copied().fold(kept, u32::max)
    }

    pub fn is_failed(&self, place: usize) -> bool {
        !self.failed.is_empty() && self.failed.contains(&(place as u32))
    }

    /// What their times tell together.
    pub fn rhythm(&self) -> Rhythm {
        self.rhythm
    }

    /// How many packets the reel has the first bytes of alone.
    pub fn cut(&self) -> u64 {
        self.cut.len() as u64
    }

    /// The hashes of all payloads, until they are forgotten.
    pub fn hashes(&self) -> &Column {
        &self.hashes
    }

    /// Lets go of what only matching needs.
    pub fn forget_hashes(&mut self) {
        self.hashes = Column::default();
    }

    /// Gives back memory that was taken for more ends.
    pub fn shrink(&mut self) {
        for column in [
            &mut self.numbers,
            &mut self.times,
            &mut self.connections,
            &mut self.lengths,
        ] {
            column.shrink();
        }
    }

    /// The end that is this event.
    pub fn find(&self, number: EventNumber) -> Option<usize> {
        // Most often it is asked for what came last.
        let last = self.len().checked_sub(1)?;
        if self.numbers.get(last) == number.0 {
            return Some(last);
        }
        self.numbers.find(number.0)
    }

    /// The first end that is not before this event.
    pub fn lower_bound(&self, number: EventNumber) -> usize {
        self.numbers.lower_bound(number.0)
    }

    /// Says how long the packet of an event was.
    pub fn note_whole(&mut self, number: EventNumber, whole: u32) {
        if let Some(place) = self.find(number)
            && whole > self.length(place)
        {
            self.cut.insert(place as u32, whole);
        }
    }

    /// Says that the send of an event failed.
    pub fn note_failed(&mut self, number: EventNumber) {
        if let Some(place) = self.find(number) {
            self.failed.insert(place as u32);
        }
    }

    /// How many bytes of memory the columns take, with their names.
    pub fn memory(&self) -> [(&'static str, usize); 5] {
        [
            ("numbers", self.numbers.memory()),
            ("times", self.times.memory()),
            ("connections", self.connections.memory()),
            ("lengths", self.lengths.memory()),
            ("hashes", self.hashes.memory()),
        ]
    }
}

indexed!(Ends: numbers, times, connections, lengths; (cut, failed, rhythm) but hashes);
