//! Columns and rows of bytes, written one behind the other, and taken out again without a copy.
//!
//! A store says nothing of what is in it: whoever takes asks for what was put, in the same order.
//! Numbers are 8 bytes, little-endian; bytes and columns begin with their length.

use std::io::{self, Write};

use bytes::Bytes;
use netreel_system::aside;

use crate::Blobs;
use crate::bits::{CHUNK, PADDING, is_width};
use crate::column::{Chunk, Column, SEGMENT};
use crate::packed::Packed;

/// Puts things into a store.
pub struct Putting<'a> {
    out: &'a mut dyn Write,
}

/// Takes things out of a store, in the order in which they were put.
pub struct Taking {
    left: Bytes,
}

/// What was asked for is not what is in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit;

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the store holds something else")
    }
}

impl std::error::Error for Misfit {}

/// A chunk of a column in a store: its base, its start, its width.
const CHUNK_BYTES: usize = 8 + 8 + 1;

/// So many bytes are put at once: they may be those of a file that is mapped.
const PIECE: usize = 1 << 20;

impl<'a> Putting<'a> {
    /// Everything goes to `out`.
    pub fn new(out: &'a mut dyn Write) -> Putting<'a> {
        Putting { out }
    }

    /// Puts a number.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn number(&mut self, number: u64) -> io::Result<()> {
        self.out.write_all(&number.to_le_bytes())
    }

    /// Puts bytes.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.number(bytes.len() as u64)?;
        for piece in bytes.chunks(PIECE) {
            self.out.write_all(piece)?;
            aside::touch(piece.len());
        }
        Ok(())
    }

    /// Puts a column.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn column(&mut self, column: &Column) -> io::Result<()> {
        self.number(column.chunks.len() as u64)?;
        let mut chunks = Vec::with_capacity(column.chunks.len() * CHUNK_BYTES);
        let mut start = 0u64;
        for chunk in &column.chunks {
            chunks.extend_from_slice(&chunk.base.to_le_bytes());
            chunks.extend_from_slice(&start.to_le_bytes());
            chunks.push(chunk.width as u8);
            start += chunk.length() as u64;
        }
        self.out.write_all(&chunks)?;
        if column.chunks.is_empty() {
            self.number(0)?
        } else {
            self.number(start + PADDING as u64)?
        }
        for segment in 0..column.chunks.len().div_ceil(SEGMENT) {
            let mut bytes = column.segment(segment);
            bytes.truncate(bytes.len() - PADDING);
            self.out.write_all(&bytes)?;
        }
        if !column.chunks.is_empty() {
            self.out.write_all(&[0; PADDING])?;
        }
        self.number(column.open.len() as u64)?;
        for &row in &column.open {
            self.number(row)?;
        }
        Ok(())
    }

    /// Puts rows of bytes.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn blobs(&mut self, blobs: &Blobs) -> io::Result<()> {
        self.column(&blobs.ends)?;
        self.bytes(&blobs.bytes)
    }
}

impl Taking {
    /// Takes from these bytes, which stay as long as what was taken.
    pub fn new(bytes: Bytes) -> Taking {
        Taking { left: bytes }
    }

    fn some(&mut self, length: usize) -> Result<Bytes, Misfit> {
        if length > self.left.len() {
            return Err(Misfit);
        }
        Ok(self.left.split_to(length))
    }

    /// Takes a number.
    ///
    /// # Errors
    /// There is none.
    pub fn number(&mut self) -> Result<u64, Misfit> {
        let bytes = self.some(8)?;
        let bytes = bytes.as_ref().try_into().map_err(|_| Misfit)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn count(&mut self) -> Result<usize, Misfit> {
        usize::try_from(self.number()?).map_err(|_| Misfit)
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// There are none.
    pub fn bytes(&mut self) -> Result<Bytes, Misfit> {
        let length = self.count()?;
        self.some(length)
    }

    /// Takes a column.
    ///
    /// # Errors
    /// There is none.
    pub fn column(&mut self) -> Result<Column, Misfit> {
        let count = self.count()?;
        let chunks = self.some(count.checked_mul(CHUNK_BYTES).ok_or(Misfit)?)?;
        let chunks = chunks
            .chunks_exact(CHUNK_BYTES)
            .map(|bytes| {
                let (base, rest) = bytes.split_first_chunk()?;
                let (start, width) = rest.split_first_chunk()?;
                Some(Chunk {
                    base: u64::from_le_bytes(*base),
                    start: u64::from_le_bytes(*start),
                    width: Some(u32::from(*width.first()?)).filter(|it| is_width(*it))?,
                })
            })
            .collect::<Option<Vec<Chunk>>>()
            .ok_or(Misfit)?;
        let bytes = self.bytes()?;
        if !chunks.is_empty() && bytes.len() < PADDING {
            return Err(Misfit);
        }
        let open = self.count()?;
        if open >= CHUNK {
            return Err(Misfit);
        }
        let open = (0..open)
            .map(|_| self.number())
            .collect::<Result<Vec<u64>, Misfit>>()?;
        Ok(Column::stored(chunks, bytes, open))
    }

    /// Takes rows of bytes.
    ///
    /// # Errors
    /// There are none.
    pub fn blobs(&mut self) -> Result<Blobs, Misfit> {
        Ok(Blobs {
            ends: self.column()?,
            bytes: Packed::Stored(self.bytes()?),
        })
    }

    /// Takes all that is left, as it is.
    pub fn rest(self) -> Bytes {
        self.left
    }

    /// Whether all was taken.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_put_is_taken(
            rows in proptest::collection::vec(any::<u64>(), 0..2000),
            texts in proptest::collection::vec(".{0,9}", 0..400),
            width in 0u32..64,
        ) {
            let column: Column = rows.iter().map(|row| row >> width).collect();
            let mut blobs = Blobs::new();
            texts.iter().for_each(|text| blobs.push(text.as_bytes()));
            let mut bytes = Vec::new();
            let mut putting = Putting::new(&mut bytes);
            putting.column(&column).unwrap();
            putting.blobs(&blobs).unwrap();
            putting.bytes(b"end").unwrap();
            let mut taking = Taking::new(bytes.into());
            let mut taken = taking.column().unwrap();
            prop_assert_eq!(taken.iter().collect::<Vec<_>>(), column.iter().collect::<Vec<_>>());
            let others = taking.blobs().unwrap();
            for (row, text) in texts.iter().enumerate() {
                prop_assert_eq!(others.get(row), text.as_bytes());
            }
            prop_assert_eq!(&taking.bytes().unwrap()[..], b"end");
            prop_assert!(taking.is_empty());
            // What was taken grows like any other.
            taken.push(7);
            prop_assert_eq!(taken.get(rows.len()), 7);
            taken.extend(0..300);
            prop_assert_eq!(taken.get(rows.len() + 300), 299);
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut taking = Taking::new(bytes.into());
            if let Ok(column) = taking.column() {
                let _ = column.iter().count();
                let _ = column.lower_bound(5);
            }
            let _ = taking.blobs().map(|blobs| blobs.get(0).len());
        }
    }
}
