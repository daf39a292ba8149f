//! A byte stream that runs over packets: what has come in order and is not read yet.

use serde::{Deserialize, Serialize};

use crate::limits::{STREAM_BYTES_MAX, STREAM_PIECES_MAX};

/// Bytes by their position. The first piece that comes says where the stream begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ByteStream {
    /// The position of the first byte of `ready`.
    start: Option<i128>,
    /// In order, without a gap, not read yet.
    ready: Vec<u8>,
    /// What came too early, sorted by position.
    early: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Piece {
    position: i128,
    bytes: Vec<u8>,
}

impl ByteStream {
    /// Adds a piece. Bytes that came before are left out. `wrap_bits` is the width of positions that
    /// start again from 0, 0 where they do not. The result is how many bytes were given up because
    /// the stream cannot keep more while it waits: where something before them never came, or where
    /// nothing is ever read.
    pub(crate) fn add(&mut self, position: i128, wrap_bits: u8, data: &[u8]) -> usize {
        if data.is_empty() {
            return 0;
        }
        let end = match self.start {
            Some(start) => start + self.ready.len() as i128,
            None => {
                self.start = Some(position);
                position
            }
        };
        let position = unwrapped(position, end, wrap_bits);
        let mut lost = 0;
        if position <= end {
            self.append(position, data);
        } else {
            self.keep(position, data);
            if self.is_full() {
                lost += self.jump();
            }
        }
        self.append_early();
        if self.is_full() {
            lost += self.ready.len();
            self.start = self.start.map(|start| start + self.ready.len() as i128);
            self.ready = Vec::new();
        }
        lost
    }

    /// The place of a piece that [`add`](ByteStream::add) was just given, where places start again
    /// from 0.
    pub(crate) fn place(&self, position: i128, wrap_bits: u8) -> i128 {
        let start = self.start.unwrap_or(position);
        unwrapped(position, start + self.ready.len() as i128, wrap_bits)
    }

    /// The place of the first byte that can be read.
    pub(crate) fn start(&self) -> i128 {
        self.start.unwrap_or(0)
    }

    /// What can be read.
    pub(crate) fn ready(&self) -> &[u8] {
        &self.ready
    }

    /// The first bytes were read.
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.ready.len());
        self.ready.drain(..count);
        self.start = self.start.map(|start| start + count as i128);
    }

    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.ready.len() + self.early_bytes()
    }

    fn early_bytes(&self) -> usize {
        self.early.iter().map(|piece| piece.bytes.len()).sum()
    }

    fn is_full(&self) -> bool {
        self.bytes() > STREAM_BYTES_MAX || self.early.len() > STREAM_PIECES_MAX
    }

    /// The part of a piece that is new; the piece does not begin after the end.
    fn append(&mut self, position: i128, data: &[u8]) {
        let end = self.start.unwrap_or(position) + self.ready.len() as i128;
        let known = usize::try_from(end - position).unwrap_or(usize::MAX);
        self.ready
            .extend_from_slice(data.get(known..).unwrap_or_default());
    }

    fn append_early(&mut self) {
        while let Some(piece) = self.early.first() {
            let end = self.start.unwrap_or(0) + self.ready.len() as i128;
            if piece.position > end {
                return;
            }
            let piece = self.early.remove(0);
            self.append(piece.position, &piece.bytes);
        }
    }

    /// Of two pieces at one position, the longer.
    fn keep(&mut self, position: i128, data: &[u8]) {
        let place = self
            .early
            .binary_search_by_key(&position, |piece| piece.position);
        match place {
            Ok(place) => {
                if let Some(piece) = self.early.get_mut(place)
                    && piece.bytes.len() < data.len()
                {
                    piece.bytes = data.to_vec();
                }
            }
            Err(place) => {
                let bytes = data.to_vec();
                self.early.insert(place, Piece { position, bytes });
            }
        }
    }

    /// Waits no longer for what lacks: goes on at the first piece that is there.
    fn jump(&mut self) -> usize {
        let lost = self.ready.len();
        self.ready = Vec::new();
        self.start = self.early.first().map(|piece| piece.position);
        lost.max(1)
    }
}

/// The position nearest to `end` that is written like this one.
fn unwrapped(position: i128, end: i128, wrap_bits: u8) -> i128 {
    if wrap_bits == 0 || wrap_bits > 64 {
        return position;
    }
    let turn = 1i128 << wrap_bits;
    let ahead = (position - end).rem_euclid(turn);
    if ahead < turn / 2 {
        end + ahead
    } else {
        end + ahead - turn
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(pieces: &[(i128, &[u8])], expected: &[u8]) {
        let mut stream = ByteStream::default();
        for (position, data) in pieces {
            assert_eq!(stream.add(*position, 0, data), 0);
        }
        assert_eq!(stream.ready(), expected);
    }

    #[test]
    fn pieces_come_in_any_order_and_again() {
        check(&[(0, b"ab"), (2, b"cd")], b"abcd");
        check(&[(0, b"ab"), (4, b"ef"), (2, b"cd")], b"abcdef");
        check(&[(0, b"abc"), (1, b"bcd")], b"abcd");
        check(&[(0, b"ab"), (0, b"ab")], b"ab");
        check(&[(100, b"ab"), (7, b"old")], b"ab");
        check(&[(0, b"a"), (5, b"late"), (5, b"")], b"a");
    }

    #[test]
    fn what_was_read_does_not_come_again() {
        let mut stream = ByteStream::default();
        stream.add(10, 0, b"abcd");
        stream.consume(3);
        assert_eq!(stream.ready(), b"d");
        stream.add(12, 0, b"cdef");
        assert_eq!(stream.ready(), b"def");
    }

    #[test]
    fn positions_start_again_from_0() {
        let mut stream = ByteStream::default();
        stream.add(0xfffe, 16, b"abcd");
        stream.add(2, 16, b"ef");
        assert_eq!(stream.ready(), b"abcdef");
    }

    #[test]
    fn a_gap_that_never_closes_is_given_up() {
        let mut stream = ByteStream::default();
        stream.add(0, 0, b"ab");
        let piece = vec![7; 1 << 16];
        let mut lost = 0;
        for place in 0..64 {
            lost += stream.add(10 + (place << 16), 0, &piece);
            assert!(stream.bytes() <= STREAM_BYTES_MAX);
        }
        assert!(lost > 0);
        assert!(stream.ready().starts_with(&[7, 7]) || stream.ready().is_empty());
    }

    #[test]
    fn pieces_that_wait_are_bounded() {
        let mut stream = ByteStream::default();
        stream.add(0, 0, b"a");
        for place in 1..10_000 {
            stream.add(place * 10, 0, b"x");
            assert!(stream.early.len() <= STREAM_PIECES_MAX);
        }
    }

    proptest! {
        #[test]
        fn any_order_of_pieces_gives_the_same_bytes(
            whole in prop::collection::vec(any::<u8>(), 1..60),
            cuts in prop::collection::vec((0usize..60, 1usize..20), 0..30),
            origin in 0u16..=u16::MAX,
        ) {
            let mut stream = ByteStream::default();
            let origin = i128::from(origin);
            // The first byte fixes the origin; the cuts come in any order; at last everything.
            stream.add(origin, 16, &whole[..1]);
            for (start, length) in cuts {
                let start = start.min(whole.len());
                let end = (start + length).min(whole.len());
                let position = (origin + start as i128) & 0xffff;
                prop_assert_eq!(stream.add(position, 16, &whole[start..end]), 0);
                prop_assert!(whole.starts_with(stream.ready()));
            }
            stream.add(origin, 16, &whole);
            prop_assert_eq!(stream.ready(), &whole[..]);
            prop_assert_eq!(&stream.early, &[]);
        }
    }
}
