//! A column of whole numbers.
//!
//! Rows are packed in chunks of [`CHUNK`]: each value as its distance from the lowest of its chunk,
//! in as many bits as the farthest needs (frame of reference: Goldstein, Ramakrishnan, Shaft,
//! "Compressing relations and indexes", ICDE 1998). What grows slowly (times, numbers, places)
//! takes a few bits a row, what is the same everywhere takes none, and any row is read with one
//! load.
//!
//! The bytes of [`SEGMENT`] chunks are a segment. Copies of a column share the segments that are full,
//! so that a copy costs what is behind them, and a few bytes for each chunk.

use bytes::Bytes;

use netreel_system::aside;

use crate::bits::{self, CHUNK, PADDING};

/// How many chunks have their bytes in one piece.
pub(crate) const SEGMENT: usize = 32;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Column {
    pub(crate) chunks: Vec<Chunk>,
    /// The bytes of each [`SEGMENT`] chunks, and [`PADDING`].
    pub(crate) full: Vec<Bytes>,
    /// Those of the chunks behind them, and [`PADDING`].
    pub(crate) tail: Vec<u8>,
    /// The rows behind the last chunk.
    pub(crate) open: Vec<u64>,
    /// How many of [`Column::full`] are parts of a store, most often of a file that is mapped.
    pub(crate) stored: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub base: u64,
    /// Of the first byte, in the chunk's segment.
    pub start: u64,
    /// Bits a row.
    pub width: u32,
}

impl Chunk {
    /// How many bytes its rows take.
    pub fn length(&self) -> usize {
        self.width as usize * (CHUNK / 8)
    }
}

impl Column {
    /// Without rows.
    pub fn new() -> Column {
        Column::default()
    }

    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.chunks.len() * CHUNK + self.open.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, value: u64) {
        self.open.push(value);
        if self.open.len() == CHUNK {
            self.pack();
        }
    }

    /// Appends a row that may have no value; [`get_some`](Column::get_some) reads it. The highest
    /// value cannot be told from none.
    #[inline]
    pub fn push_some(&mut self, value: Option<u64>) {
        self.push(value.map_or(0, |value| value.wrapping_add(1)));
    }

    /// A row; 0 where there is none.
    #[inline]
    pub fn get(&self, row: usize) -> u64 {
        match self.chunks.get(row / CHUNK) {
            Some(chunk) => {
                aside::touch_row(row);
                chunk.get(self.bytes_of(row / CHUNK), row % CHUNK)
            }
            None => {
                let open = row - self.chunks.len() * CHUNK;
                self.open.get(open).copied().unwrap_or(0)
            }
        }
    }

    /// The bytes of a chunk's segment.
    #[inline]
    fn bytes_of(&self, place: usize) -> &[u8] {
        match self.full.get(place / SEGMENT) {
            Some(full) => full,
            None => &self.tail,
        }
    }

    /// A row that was appended by [`push_some`](Column::push_some).
    #[inline]
    pub fn get_some(&self, row: usize) -> Option<u64> {
        self.get(row).checked_sub(1)
    }

    /// All rows, in order.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_from(0)
    }

    /// The rows from one on, in order.
    pub fn iter_from(&self, row: usize) -> Iter<'_> {
        let mut iter = Iter {
            column: self,
            next: row / CHUNK,
            at: 0,
            count: 0,
            rows: [0; CHUNK],
        };
        iter.load();
        iter.at = (row % CHUNK).min(iter.count);
        iter
    }

    /// Hands over all rows in order, at most a [`CHUNK`] at a time, with the place of the first.
    pub fn for_each_chunk(&self, mut take: impl FnMut(usize, &[u64])) {
        let mut rows = [0; CHUNK];
        for place in 0..self.chunks.len() {
            self.unpack(place, &mut rows);
            take(place * CHUNK, &rows);
        }
        take(self.chunks.len() * CHUNK, &self.open);
    }

    /// For rows most of which are asked for next to each other.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor {
            column: self,
            chunk: usize::MAX,
            alone: 0,
            rows: [0; CHUNK],
        }
    }

    /// A column of a store: its chunks, whose places are those in `bytes`.
    pub(crate) fn stored(chunks: Vec<Chunk>, bytes: Bytes, open: Vec<u64>) -> Column {
        let stored = chunks.len() / SEGMENT;
        let is_full = chunks.len().is_multiple_of(SEGMENT);
        let mut column = Column {
            chunks,
            full: vec![bytes; stored + usize::from(!is_full)],
            tail: Vec::new(),
            open,
            stored,
        };
        if !is_full {
            // So that more can be put behind it.
            column.tail = column.take_segment(stored);
            column.full.truncate(stored);
        }
        column
    }

    /// The bytes of a segment, one chunk behind the other, and [`PADDING`].
    pub(crate) fn segment(&self, segment: usize) -> Vec<u8> {
        let first = segment * SEGMENT;
        let bytes = self.bytes_of(first);
        let mut own = Vec::new();
        for chunk in self.chunks.iter().skip(first).take(SEGMENT) {
            let (start, end) = (chunk.start as usize, own.len() + chunk.length());
            let of_chunk = bytes.get(start..start.saturating_add(chunk.length()));
            own.extend_from_slice(of_chunk.unwrap_or(&[]));
            own.resize(end, 0);
        }
        own.extend_from_slice(&[0; PADDING]);
        aside::touch(own.len());
        own
    }

    /// The same, to change it: the chunks lie in these bytes from now on.
    fn take_segment(&mut self, segment: usize) -> Vec<u8> {
        let own = self.segment(segment);
        let mut start = 0;
        for chunk in self.chunks.iter_mut().skip(segment * SEGMENT).take(SEGMENT) {
            chunk.start = start;
            start += chunk.length() as u64;
        }
        own
    }

    /// The first row whose value is not below `value`, where rows only grow.
    pub fn lower_bound(&self, value: u64) -> usize {
        let open = || self.open.partition_point(|&row| row < value);
        let place = match self.chunk_before(value) {
            Some(place) => place,
            None if self.chunks.is_empty() => return open(),
            None => return 0,
        };
        let (chunk, bytes) = (self.chunks[place], self.bytes_of(place));
        aside::touch_row(place);
        let within = below(0..CHUNK, |row| chunk.get(bytes, row) < value);
        let is_last = within == CHUNK && place + 1 == self.chunks.len();
        place * CHUNK + within + if is_last { open() } else { 0 }
    }

    /// The last chunk whose rows begin below `value`, where rows only grow; `None` where none does. It is
    /// looked for near where it would be if rows grew evenly, as most do.
    fn chunk_before(&self, value: u64) -> Option<usize> {
        let is_below = |place: usize| self.chunks.get(place).is_some_and(|it| it.base < value);
        let (first, last) = (self.chunks.first()?.base, self.chunks.last()?.base);
        let all = self.chunks.len();
        let share = value.saturating_sub(first) as f64 / last.saturating_sub(first).max(1) as f64;
        let near = ((share * (all - 1) as f64) as usize).min(all - 1);
        let (mut from, mut until, mut step) = (near, near + 1, 1);
        while from > 0 && !is_below(from) {
            (from, until) = (from.saturating_sub(step), from);
            step *= 2;
        }
        while until < all && is_below(until) {
            (from, until) = (until, (until + step).min(all));
            step *= 2;
        }
        below(from..until, is_below).checked_sub(1)
    }

    /// The row with this value, where rows only grow.
    pub fn find(&self, value: u64) -> Option<usize> {
        let row = self.lower_bound(value);
        (row < self.len() && self.get(row) == value).then_some(row)
    }

    /// How many bytes it holds on to, in memory or in a file; what is in a store is not its own.
    pub fn memory(&self) -> usize {
        let full = self.full.iter().skip(self.stored).map(Bytes::len);
        self.chunks.capacity() * size_of::<Chunk>()
            + self.full.capacity() * size_of::<Bytes>()
            + full.sum::<usize>()
            + self.tail.capacity()
            + self.open.capacity() * 8
    }

    /// Gives back memory that was taken for more rows.
    pub fn shrink(&mut self) {
        self.chunks.shrink_to_fit();
        self.full.shrink_to_fit();
        self.tail.shrink_to_fit();
        self.open.shrink_to_fit();
    }

    /// Makes a chunk of the open rows.
    fn pack(&mut self) {
        let Ok(rows) = <&[u64; CHUNK]>::try_from(self.open.as_slice()) else {
            return;
        };
        let start = self.tail.len().saturating_sub(PADDING);
        self.tail.truncate(start);
        let chunk = pack(rows, &mut self.tail);
        self.chunks.push(chunk);
        self.tail.extend_from_slice(&[0; PADDING]);
        self.open.clear();
        if self.chunks.len().is_multiple_of(SEGMENT) {
            let full = std::mem::take(&mut self.tail);
            self.full.push(aside::share(full));
        }
    }

    fn unpack(&self, place: usize, rows: &mut [u64; CHUNK]) {
        let Some(chunk) = self.chunks.get(place) else {
            return;
        };
        let bytes = self.bytes_of(place);
        aside::touch(chunk.length());
        let own = bytes.get(chunk.start as usize..).unwrap_or(&[]);
        bits::unpack(own, (chunk.base, chunk.width), rows);
    }
}

impl Chunk {
    #[inline]
    fn get(&self, bytes: &[u8], row: usize) -> u64 {
        let bit = row as u64 * u64::from(self.width);
        let byte = self.start.saturating_add(bit / 8) as usize;
        let Some(word) = bytes.get(byte..byte.saturating_add(8)) else {
            return self.base;
        };
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        let distance = (word >> (bit % 8)) & mask(self.width);
        self.base.wrapping_add(distance)
    }
}

#[inline]
fn mask(width: u32) -> u64 {
    match width {
        0 => 0,
        width => u64::MAX >> (64 - width),
    }
}

/// Packs rows behind some bytes.
fn pack(rows: &[u64; CHUNK], to: &mut Vec<u8>) -> Chunk {
    let start = to.len() as u64;
    let (base, width) = bits::measure(rows);
    bits::pack(rows, (base, width), to);
    Chunk { base, start, width }
}

impl FromIterator<u64> for Column {
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Column {
        let mut column = Column::new();
        column.extend(rows);
        column
    }
}

impl Extend<u64> for Column {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, rows: I) {
        rows.into_iter().for_each(|row| self.push(row));
    }
}

/// Of rows of which the first ones are below something, the first that is not; their end where all are.
pub fn below(rows: std::ops::Range<usize>, is_below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_below(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// See [`Column::cursor`].
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    column: &'a Column,
    /// The chunk that was asked for last, and how many of its rows were read one by one; all its rows, once
    /// [`ALONE`] were.
    chunk: usize,
    alone: u32,
    rows: [u64; CHUNK],
}

/// Of a chunk this many rows are read one by one before it is taken apart: that is about as much work as
/// taking it apart.
const ALONE: u32 = 8;

impl Cursor<'_> {
    /// The same as [`Column::get`].
    #[inline]
    pub fn get(&mut self, row: usize) -> u64 {
        if row / CHUNK == self.chunk && self.alone >= ALONE {
            return self.rows[row % CHUNK];
        }
        self.get_apart(row)
    }

    /// A row of a chunk that is not taken apart yet.
    fn get_apart(&mut self, row: usize) -> u64 {
        if row / CHUNK != self.chunk {
            (self.chunk, self.alone) = (row / CHUNK, 0);
        }
        if row / CHUNK < self.column.chunks.len() {
            self.alone += 1;
            if self.alone == ALONE {
                self.column.unpack(self.chunk, &mut self.rows);
            }
        }
        self.column.get(row)
    }
}

/// See [`Column::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    column: &'a Column,
    /// The chunk whose rows come next; the rows behind the last chunk count as one.
    next: usize,
    /// The next of these rows, and how many there are.
    at: usize,
    count: usize,
    rows: [u64; CHUNK],
}

impl Iter<'_> {
    /// Goes on to the next chunk; without rows where there is none.
    #[cold]
    fn load(&mut self) {
        let chunks = self.column.chunks.len();
        (self.at, self.count) = (0, 0);
        if self.next < chunks {
            self.column.unpack(self.next, &mut self.rows);
            self.count = CHUNK;
        } else if self.next == chunks {
            let open = &self.column.open;
            for (row, &value) in self.rows.iter_mut().zip(open) {
                *row = value;
            }
            self.count = open.len().min(CHUNK);
        }
        self.next = self.next.saturating_add(1);
    }
}

impl Iterator for Iter<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.at >= self.count {
            self.load();
            if self.count == 0 {
                return None;
            }
        }
        let value = self.rows[self.at % CHUNK];
        self.at += 1;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let behind = self.next.saturating_mul(CHUNK);
        let left = self.column.len().saturating_sub(behind) + (self.count - self.at);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(rows: &[u64]) {
        let column: Column = rows.iter().copied().collect();
        assert_eq!(column.len(), rows.len());
        assert_eq!(column.iter().collect::<Vec<u64>>(), rows);
        let mut cursor = column.cursor();
        for (row, value) in rows.iter().enumerate().rev() {
            assert_eq!(column.get(row), *value);
            assert_eq!(cursor.get(row), *value);
        }
        assert_eq!(cursor.get(rows.len()), 0);
        let mut handed = Vec::new();
        column.for_each_chunk(|first, some| {
            assert_eq!(first, handed.len());
            handed.extend_from_slice(some);
        });
        assert_eq!(handed, rows);
        assert_eq!(
            column.iter_from(rows.len() / 2).len(),
            rows.len() - rows.len() / 2
        );
    }

    #[test]
    fn what_is_the_same_everywhere_takes_no_bits() {
        let column: Column = std::iter::repeat_n(77, 100 * CHUNK).collect();
        let full = column.full.iter().map(|full| full.len());
        assert_eq!(full.sum::<usize>(), column.full.len() * PADDING);
        assert_eq!(column.tail.len(), PADDING);
        assert_eq!(column.get(99), 77);
    }

    #[test]
    fn a_time_a_hundred_microseconds_after_the_other_takes_some_three_bytes() {
        let mut column: Column = (0..100_000u64)
            .map(|row| (1 << 50) | (row * 100_000))
            .collect();
        column.shrink();
        let bytes = column.memory() as f64 / 100_000.0;
        assert!(bytes < 3.4, "{bytes} bytes a row");
    }

    #[test]
    fn the_widest_values_come_back() {
        let rows: Vec<u64> = (0..600)
            .map(|row| u64::MAX.rotate_left(row) ^ row as u64)
            .collect();
        check(&rows);
    }

    #[test]
    fn a_row_that_grows_is_found() {
        let column: Column = (0..2000u64).map(|row| row * 3).collect();
        assert_eq!(column.find(1500), Some(500));
        assert_eq!(column.find(1501), None);
        assert_eq!(column.lower_bound(1501), 501);
        assert_eq!(column.lower_bound(9000), 2000);
    }

    proptest! {
        #[test]
        fn a_row_is_found_where_rows_grow_as_they_like(
            steps in proptest::collection::vec(0u64..4, 0..3000),
            jumps in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u32>()), 0..5),
            asked in proptest::collection::vec(0u64..9000, 1..20),
        ) {
            let mut steps = [steps, vec![0]].concat();
            for (at, jump) in jumps {
                let at = at.index(steps.len());
                steps[at] = u64::from(jump);
            }
            let rows = steps.iter().scan(0, |row, step| {
                *row += step;
                Some(*row)
            });
            let rows: Vec<u64> = rows.collect();
            let column: Column = rows.iter().copied().collect();
            for value in asked.into_iter().chain(rows.iter().step_by(97).copied()) {
                prop_assert_eq!(column.lower_bound(value), rows.partition_point(|&row| row < value));
            }
        }

        #[test]
        fn rows_come_back(rows in proptest::collection::vec(any::<u64>(), 0..1000), width in 0u32..64) {
            let rows: Vec<u64> = rows.iter().map(|row| row >> width).collect();
            check(&rows);
        }

        #[test]
        fn a_copy_grows_by_itself(
            rows in proptest::collection::vec(any::<u32>(), 0..20_000),
            more in proptest::collection::vec(any::<u64>(), 0..9000),
        ) {
            let mut rows: Vec<u64> = rows.into_iter().map(u64::from).collect();
            let column: Column = rows.iter().copied().collect();
            let mut copy = column.clone();
            copy.extend(more.iter().copied());
            prop_assert_eq!(column.iter().collect::<Vec<u64>>(), &rows[..]);
            rows.extend(more);
            prop_assert_eq!(copy.len(), rows.len());
            prop_assert_eq!(copy.iter().collect::<Vec<u64>>(), rows);
        }
    }
}
