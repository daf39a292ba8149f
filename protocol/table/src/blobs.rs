//! Rows of bytes, one after the other.

use netreel_system::aside;

use crate::bits::CHUNK;
use crate::packed::Packed;
use crate::{Column, Cursor};

/// A row of bytes for each number from 0 on; most rows are short, and many may be empty.
#[derive(Clone, Debug, Default)]
pub struct Blobs {
    /// Where each row ends.
    pub(crate) ends: Column,
    pub(crate) bytes: Packed,
}

impl Blobs {
    /// Without rows.
    pub fn new() -> Blobs {
        Blobs::default()
    }

    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends a row, which `write` puts behind the bytes of the others.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let bytes = self.bytes.own();
        let start = bytes.len();
        write(bytes);
        debug_assert!(bytes.len() >= start, "a row takes nothing from others");
        self.ends.push(self.bytes.len() as u64);
    }

    /// Appends a row.
    pub fn push(&mut self, bytes: &[u8]) {
        self.push_with(|all| all.extend_from_slice(bytes));
    }

    /// A row; empty where there is none.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        if row >= self.ends.len() {
            return &[];
        }
        let start = match row.checked_sub(1) {
            Some(before) => self.ends.get(before),
            None => 0,
        };
        let end = self.ends.get(row);
        self.bytes.get(start as usize..end as usize).unwrap_or(&[])
    }

    /// For rows most of which are asked for next to each other.
    pub fn cursor(&self) -> BlobsCursor<'_> {
        BlobsCursor {
            blobs: self,
            ends: self.ends.cursor(),
            chunk: usize::MAX,
            chunk_bytes: self.bytes.len().div_ceil(self.len().max(1)) * CHUNK,
        }
    }

    /// How many bytes of memory it holds on to.
    pub fn memory(&self) -> usize {
        self.ends.memory() + self.bytes.memory()
    }

    /// Gives back memory that was taken for more rows.
    pub fn shrink(&mut self) {
        self.ends.shrink();
        self.bytes.shrink();
    }
}

/// See [`Blobs::cursor`].
#[derive(Clone, Debug)]
pub struct BlobsCursor<'a> {
    blobs: &'a Blobs,
    ends: Cursor<'a>,
    /// The chunk of the row that was asked for last.
    chunk: usize,
    /// How many bytes the rows of a chunk have about.
    chunk_bytes: usize,
}

impl<'a> BlobsCursor<'a> {
    /// The same as [`Blobs::get`].
    #[inline]
    pub fn get(&mut self, row: usize) -> &'a [u8] {
        if row >= self.blobs.len() {
            return &[];
        }
        if row / CHUNK != self.chunk {
            self.chunk = row / CHUNK;
            aside::touch(self.chunk_bytes);
        }
        let start = match row.checked_sub(1) {
            Some(before) if before / CHUNK == row / CHUNK => self.ends.get(before),
            Some(before) => self.blobs.ends.get(before),
            None => 0,
        };
        let end = self.ends.get(row);
        let bytes = self.blobs.bytes.get(start as usize..end as usize);
        bytes.unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_empty_ones_are_empty() {
        let rows: Vec<Vec<u8>> = (0..1000).map(|row| vec![row as u8; row % 7]).collect();
        let mut blobs = Blobs::new();
        rows.iter().for_each(|row| blobs.push(row));
        assert_eq!(blobs.len(), 1000);
        let mut cursor = blobs.cursor();
        for (place, row) in rows.iter().enumerate() {
            assert_eq!(blobs.get(place), row);
            assert_eq!(cursor.get(place), row);
        }
        assert_eq!(blobs.get(1000), &[] as &[u8]);
        assert_eq!(cursor.get(1000), &[] as &[u8]);
    }
}
