//! Numbers one after the other, seven bits a byte, the lowest first.

use netreel_wire::{Place, StreamId};

/// What is left to read. It was written here, so that what is missing is a mistake of ours and
/// reads as 0.
#[derive(Clone, Debug)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// Passes over this many numbers.
    pub fn pass(&mut self, numbers: u32) {
        // Each takes a byte or more.
        for _ in 0..numbers.min(self.0.len() as u32) {
            let ends = self.0.iter().position(|&byte| byte < 0x80);
            let length = ends.map_or(self.0.len(), |last| last + 1);
            self.0 = &self.0[length..];
        }
    }

    /// The next number; `None` at the end.
    pub fn next(&mut self) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.take())
    }

    #[inline]
    pub fn take(&mut self) -> u64 {
        let mut value = 0;
        let mut shift = 0;
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        value
    }

    /// How many ranges, each the first and how far on the last is, written over what stands in `ranges`.
    pub fn ranges(&mut self, count: u64, ranges: &mut Vec<(u64, u64)>) {
        ranges.clear();
        // Each takes a byte or more: an index that counts more is broken.
        for _ in 0..count.min(self.0.len() as u64) {
            let first = self.take();
            ranges.push((first, self.take().wrapping_add(first)));
        }
    }

    pub fn place(&mut self) -> Place {
        let stream = StreamId(self.take() as u16);
        let start = self.take() as u32;
        let end = start.wrapping_add(self.take() as u32);
        Place {
            stream,
            bits: start..end,
        }
    }
}

#[inline]
pub(super) fn put(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

pub(super) fn put_place(place: &Place, to: &mut Vec<u8>) {
    put(u64::from(place.stream.0), to);
    put(u64::from(place.bits.start), to);
    put(u64::from(place.bits.end.wrapping_sub(place.bits.start)), to);
}

pub(crate) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
