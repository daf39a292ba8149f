//! What lies around an index: which reels it is of, and checksums that show damage before anything
//! is believed.
//!
//! ```text
//! magic 8, version 4, key 16, body, a checksum (8) of each piece of all before,
//! bytes of all before the checksums (8), checksum of checksums and length (8), magic 8
//! ```

use std::io::{self, Write};

use bytes::Bytes;
use netreel_table::Misfit;

use crate::session::parallel;
use crate::session::read::scan::hash;

const MAGIC: [u8; 8] = *b"\x89NRINDX\n";

/// Goes up with every change of how the body is written. Which facts there are stands in the key.
const VERSION: u32 = 16;

/// What the reels are, the wire, the version of this program and its facts.
const KEY: usize = 16;
const HEAD: usize = MAGIC.len() + 4 + KEY;
const TAIL: usize = 8 + 8 + MAGIC.len();

/// Each has a checksum.
const PIECE: usize = 4 << 20;

/// Why an index is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// A byte of it is not as it was written, or bytes are missing.
    #[error("it is damaged")]
    Damaged,
    /// It is of other reels, or of these before they were changed, or of another wire or version.
    #[error("it is of other reels, of another wire, or of another version")]
    OfOthers,
}

impl From<Misfit> for IndexError {
    fn from(_: Misfit) -> IndexError {
        IndexError::Damaged
    }
}

/// Writes the head, then the body as it comes.
pub(crate) struct Framing<'a> {
    out: &'a mut dyn Write,
    piece: Vec<u8>,
    checksums: Vec<u8>,
    written: u64,
}

impl<'a> Framing<'a> {
    pub fn new(key: [u8; KEY], out: &'a mut dyn Write) -> Framing<'a> {
        let mut piece = Vec::with_capacity(PIECE);
        piece.extend_from_slice(&MAGIC);
        piece.extend_from_slice(&VERSION.to_le_bytes());
        piece.extend_from_slice(&key);
        Framing {
            out,
            piece,
            checksums: Vec::new(),
            written: 0,
        }
    }

    fn end_piece(&mut self) -> io::Result<()> {
        self.checksums
            .extend_from_slice(&hash(&self.piece).to_le_bytes());
        self.written += self.piece.len() as u64;
        self.out.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }

    /// Writes what ends the file.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.end_piece()?;
        }
        let mut end = std::mem::take(&mut self.checksums);
        end.extend_from_slice(&self.written.to_le_bytes());
        end.extend_from_slice(&hash(&end).to_le_bytes());
        end.extend_from_slice(&MAGIC);
        self.out.write_all(&end)?;
        self.out.flush()
    }
}

impl Write for Framing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(PIECE - self.piece.len());
        let (now, _) = bytes.split_at(fits);
        self.piece.extend_from_slice(now);
        if self.piece.len() == PIECE {
            self.end_piece()?;
        }
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The body of an index, once all of it is as it was written and it is of these reels.
pub(crate) fn body(all: &Bytes, key: [u8; KEY], workers: usize) -> Result<Bytes, IndexError> {
    let damaged = Err(IndexError::Damaged);
    let Some((before, tail)) = all.len().checked_sub(TAIL).map(|at| all.split_at(at)) else {
        return damaged;
    };
    let (numbers, magic) = tail.split_at(TAIL - MAGIC.len());
    let [length, sum] = [0, 8].map(|at| number(numbers, at));
    if magic != MAGIC || !before.starts_with(&MAGIC) || length > before.len() as u64 {
        return damaged;
    }
    let (covered, checksums) = before.split_at(length as usize);
    if covered.len() < HEAD
        || checksums.len() != covered.len().div_ceil(PIECE) * 8
        || hash(&[checksums, &length.to_le_bytes()].concat()) != sum
    {
        return damaged;
    }
    let version = covered.get(MAGIC.len()..MAGIC.len() + 4);
    if version != Some(&VERSION.to_le_bytes()) || covered.get(MAGIC.len() + 4..HEAD) != Some(&key) {
        return Err(IndexError::OfOthers);
    }
    let pieces: Vec<(usize, &[u8])> = covered.chunks(PIECE).enumerate().collect();
    let right = parallel::map(pieces, workers, |(place, piece)| {
        hash(piece) == number(checksums, place * 8)
    });
    if right.into_iter().all(|right| right) {
        Ok(all.slice(HEAD..covered.len()))
    } else {
        damaged
    }
}

/// The number at a place; 0 where there is none.
fn number(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..at + 8).and_then(|it| it.try_into().ok());
    number.map_or(0, u64::from_le_bytes)
}
