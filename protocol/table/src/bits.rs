//! The rows of a chunk as bits, one behind the other: each is as many bits wide as the others.
//!
//! Eight rows take as many bytes as each has bits. Where that number is known when the code is compiled, no
//! shift has to be worked out while it runs: that is three times as fast.

/// How many rows are packed together.
pub const CHUNK: usize = 256;

/// From here on a value would need two loads: it is stored in 64 bits, which lie on whole bytes.
const WIDE: u32 = 57;

/// A load of eight bytes may begin at the last byte of a value.
pub(crate) const PADDING: usize = 8;

/// Calls `$rows` for the width that `$width` is, from 1 to [`WIDE`] - 1 bits; `$other` for all others.
macro_rules! of_width {
    ($width:expr, $rows:ident $with:tt, $other:expr, $($known:literal)*) => {
        match $width {
            $($known => $rows::<$known> $with,)*
            _ => $other,
        }
    };
    ($width:expr, $rows:ident $with:tt, $other:expr) => {
        of_width!(
            $width, $rows $with, $other,
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28
            29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56
        )
    };
}

/// The lowest of a chunk's rows, and how many bits each takes as its distance from that.
pub(crate) fn measure(rows: &[u64; CHUNK]) -> (u64, u32) {
    let (mut lowest, mut highest) = ([u64::MAX; 8], [0; 8]);
    for eight in rows.as_chunks::<8>().0 {
        for (at, &row) in eight.iter().enumerate() {
            lowest[at] = row.min(lowest[at]);
            highest[at] = row.max(highest[at]);
        }
    }
    let base = lowest.into_iter().fold(u64::MAX, u64::min);
    let highest = highest.into_iter().fold(base, u64::max);
    match u64::BITS - (highest - base).leading_zeros() {
        WIDE.. => (base, u64::BITS),
        width => (base, width),
    }
}

/// Whether [`measure`] may give rows so many bits.
pub(crate) fn is_width(bits: u32) -> bool {
    bits < WIDE || bits == u64::BITS
}

/// Packs rows, none of which is below `base`, behind some bytes.
pub(crate) fn pack(rows: &[u64; CHUNK], (base, width): (u64, u32), to: &mut Vec<u8>) {
    let start = to.len();
    let end = start + width as usize * (CHUNK / 8);
    to.resize(end + PADDING, 0);
    let own = &mut to[start..];
    of_width!(
        width,
        pack_rows(rows, base, own),
        if width > 0 {
            for (row, bytes) in rows.iter().zip(own.as_chunks_mut().0) {
                *bytes = (row - base).to_le_bytes();
            }
        }
    );
    to.truncate(end);
}

/// Takes the rows of a chunk out of its bytes, which [`PADDING`] follows. Where these are not all there, all
/// rows are the lowest.
pub(crate) fn unpack(bytes: &[u8], (base, width): (u64, u32), rows: &mut [u64; CHUNK]) {
    let is_whole = bytes.len() >= width as usize * (CHUNK / 8) + PADDING;
    if width == 0 || !is_whole {
        return rows.fill(base);
    }
    of_width!(width, unpack_rows(bytes, base, rows), {
        for (row, bytes) in rows.iter_mut().zip(bytes.as_chunks().0) {
            *row = base.wrapping_add(u64::from_le_bytes(*bytes));
        }
    });
}

#[inline]
fn pack_rows<const WIDTH: usize>(rows: &[u64; CHUNK], base: u64, to: &mut [u8]) {
    for (nth, eight) in rows.as_chunks::<8>().0.iter().enumerate() {
        let Some(to) = to.get_mut(nth * WIDTH..(nth + 1) * WIDTH + PADDING) else {
            return;
        };
        // The bits that do not fill a word yet, how many there are, and where the word goes.
        let (mut word, mut filled, mut at) = (0, 0, 0);
        for row in eight {
            let row = row - base;
            word |= row << filled;
            filled += WIDTH;
            if filled >= 64 {
                to[at..at + 8].copy_from_slice(&word.to_le_bytes());
                filled -= 64;
                at += 8;
                // What of the row was beyond the word.
                word = row >> (WIDTH - filled);
            }
        }
        to[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
}

#[inline]
fn unpack_rows<const WIDTH: usize>(bytes: &[u8], base: u64, rows: &mut [u64; CHUNK]) {
    for (nth, eight) in rows.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let Some(bytes) = bytes.get(nth * WIDTH..(nth + 1) * WIDTH + PADDING) else {
            return;
        };
        for (at, row) in eight.iter_mut().enumerate() {
            let word = bytes[at * WIDTH / 8..].first_chunk().copied();
            let word = word.map_or(0, u64::from_le_bytes);
            let distance = word >> (at * WIDTH % 8) & (u64::MAX >> (64 - WIDTH));
            *row = base.wrapping_add(distance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_width_come_back() {
        for bits in 0..=64 {
            let mut rows = [7; CHUNK];
            let mut drawn = 1_u64;
            for row in &mut rows[..100] {
                drawn = drawn.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                *row = 7 + (drawn >> 1).checked_shr(64 - bits).unwrap_or(0);
            }
            let measured = measure(&rows);
            let mut bytes = vec![0xee; 3];
            pack(&rows, measured, &mut bytes);
            assert_eq!(bytes.len(), 3 + measured.1 as usize * CHUNK / 8);
            bytes.extend_from_slice(&[0xee; PADDING]);
            let mut found = [0; CHUNK];
            unpack(&bytes[3..], measured, &mut found);
            assert_eq!(found, rows, "{bits} bits");
            unpack(&bytes[3..bytes.len() - 1], measured, &mut found);
            assert!(found.iter().all(|&row| row == 7), "{bits} bits");
        }
    }
}
