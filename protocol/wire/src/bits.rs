//! Bits of a packet in the wire's order. Nothing aligns by itself, and nothing reads past the end.

use std::sync::Arc;

use crate::layers::HuffmanTable;
use crate::layout::{BitOrder, ByteOrder, Order};

/// A position in a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bit.
    at: u32,
    /// The first bit that is not there.
    end: u32,
    /// The last eight bytes, as if enough zeros stood before them.
    last: u64,
    order: Order,
    /// What whole bytes are read as.
    coding: Option<&'a Arc<HuffmanTable>>,
}

impl<'a> BitReader<'a> {
    /// The caller sees to it that the packet has fewer than `u32::MAX / 8` bytes.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], order: Order) -> BitReader<'a> {
        let last = match bytes.last_chunk::<8>() {
            Some(last) => u64::from_le_bytes(*last),
            None => {
                bytes
                    .iter()
                    .rfold((0, 64), |(last, at), &byte| {
                        (last | u64::from(byte) << (at - 8), at - 8)
                    })
                    .0
            }
        };
        BitReader {
            bytes,
            at: 0,
            end: bytes.len() as u32 * 8,
            last,
            order,
            coding: None,
        }
    }

    /// The same bits; every read takes its odd low bits as they are, and then a symbol for each
    /// whole byte, the lowest first, as Quake 3 does (`MSG_ReadBits`).
    pub(crate) fn coded(self, coding: Option<&'a Arc<HuffmanTable>>) -> BitReader<'a> {
        BitReader { coding, ..self }
    }

    #[inline]
    pub(crate) fn is_coded(&self) -> bool {
        self.coding.is_some()
    }

    pub(crate) fn coding(&self) -> Option<&'a Arc<HuffmanTable>> {
        self.coding
    }

    /// All bytes of the stream.
    pub(crate) fn all(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub(crate) fn at(&self) -> u32 {
        self.at
    }

    #[inline]
    pub(crate) fn order(&self) -> Order {
        self.order
    }

    /// What comes is in this order.
    pub(crate) fn set_byte_order(&mut self, order: ByteOrder) {
        self.order.bytes = order;
    }

    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    #[inline]
    pub(crate) fn left(&self) -> u32 {
        self.end - self.at
    }

    /// Moves the end: the caller sees to it that it is not past the bytes, nor before the next bit.
    pub(crate) fn set_end(&mut self, end: u32) {
        debug_assert!(self.at <= end && end as usize <= self.bytes.len() * 8);
        self.end = end;
    }

    /// Moves both: the caller sees to it that they are in the stream, and in order.
    pub(crate) fn set(&mut self, at: u32, end: u32) {
        debug_assert!(at <= end && end as usize <= self.bytes.len() * 8);
        (self.at, self.end) = (at, end);
    }

    /// Goes back to a bit that was read before.
    pub(crate) fn rewind(&mut self, to: u32) {
        debug_assert!(to <= self.at, "a reader rewinds, it does not jump ahead");
        self.at = to;
    }

    /// Steps over bits; `false`, and no step, where there are not as many.
    #[inline]
    pub(crate) fn skip(&mut self, bits: u32) -> bool {
        let there = bits <= self.left();
        if there {
            self.at += bits;
        }
        there
    }

    /// An unsigned integer of 1 to 64 bits; `None`, and no step, where there are not as many.
    #[inline]
    pub(crate) fn read(&mut self, bits: u32) -> Option<u64> {
        // A single bit stands as it is, coded or not.
        if bits != 1 && self.coding.is_some() {
            return self.read_coded(bits);
        }
        self.read_plain(bits)
    }

    /// As if the stream were not coded.
    #[inline]
    pub(crate) fn read_plain(&mut self, bits: u32) -> Option<u64> {
        if bits > self.left() {
            return None;
        }
        let value = match (self.order.bits, self.order.bytes) {
            (BitOrder::Lsb, ByteOrder::Little) => self.lsb(self.at, bits),
            (BitOrder::Msb, ByteOrder::Big) => self.msb(self.at, bits),
            _ => self.mixed(self.at, bits),
        };
        self.at += bits;
        Some(value)
    }

    #[inline(never)]
    fn read_coded(&mut self, bits: u32) -> Option<u64> {
        if let Some(value) = self.read_short_codes(bits) {
            return Some(value);
        }
        let (low, start) = (bits % 8, self.at);
        if low > self.left() {
            return None;
        }
        let mut value = match low {
            0 => 0,
            _ => self.peek_in_order(low),
        };
        self.at += low;
        for group in 0..bits / 8 {
            let Some(symbol) = self.symbol() else {
                self.at = start;
                return None;
            };
            value |= u64::from(symbol) << (low + 8 * group);
        }
        Some(value)
    }

    /// An integer whose codes are all short, and there, from one look at the bytes; `None`, and no
    /// step, where that is not so.
    fn read_short_codes(&mut self, bits: u32) -> Option<u64> {
        let (low, groups) = (bits % 8, bits / 8);
        if groups > 4 || self.order.bits == BitOrder::Msb || self.left() == 0 {
            return None;
        }
        let (table, shift) = (self.coding?, self.at % 8);
        let mut next = self.window(self.at as usize / 8) >> shift;
        let mut value = next & ((1 << low) - 1);
        next >>= low;
        let mut taken = low;
        for group in 0..groups {
            let (symbol, bits) = table.decode_short(next)?;
            value |= u64::from(symbol) << (low + 8 * group);
            next >>= bits;
            taken += u32::from(bits);
        }
        self.skip(taken).then_some(value)
    }

    /// The byte that the next symbol is.
    fn symbol(&mut self) -> Option<u8> {
        let there = self.left().min(32);
        let next = match there {
            0 => return None,
            _ => self.peek_in_order(there),
        };
        let (symbol, bits) = self.coding?.decode(next as u32, there)?;
        let byte = u8::try_from(symbol).ok()?;
        self.at += u32::from(bits);
        Some(byte)
    }

    /// Up to 32 bits that are there, the first the least significant.
    fn peek_in_order(&self, bits: u32) -> u64 {
        match self.order.bits {
            BitOrder::Lsb => self.lsb(self.at, bits),
            BitOrder::Msb => self.msb(self.at, bits).reverse_bits() >> (64 - bits),
        }
    }

    /// The bits of a range that was read.
    pub(crate) fn part(&self, bits: std::ops::Range<u32>) -> BitReader<'a> {
        let mut part = *self;
        (part.at, part.end) = (bits.start.min(bits.end), bits.end.min(self.end));
        part
    }

    /// Steps over this many bytes; `false`, and no step, where there are not as many.
    pub(crate) fn skip_bytes(&mut self, count: u64) -> bool {
        if self.coding.is_none() {
            let bits = u32::try_from(count.saturating_mul(8));
            return bits.is_ok_and(|bits| self.skip(bits));
        }
        let start = self.at;
        for _ in 0..count {
            if self.symbol().is_none() {
                self.at = start;
                return false;
            }
        }
        true
    }

    /// Steps over what a read of this many bits takes; `false`, and no step, where there are not so
    /// many.
    pub(crate) fn skip_read(&mut self, bits: u32) -> bool {
        if self.coding.is_none() {
            return self.skip(bits);
        }
        if bits <= 64 {
            return self.read_coded(bits).is_some();
        }
        let start = self.at;
        let there = self.skip(bits % 8) && self.skip_bytes(u64::from(bits / 8));
        if !there {
            self.at = start;
        }
        there
    }

    /// The byte whose first bit is `at`; bits past the end are 0.
    pub(crate) fn byte(&self, at: u32) -> u8 {
        let bits = self.end.saturating_sub(at).min(8);
        match (bits, self.order.bits) {
            (0, _) => 0,
            (_, BitOrder::Lsb) => self.lsb(at, bits) as u8,
            (_, BitOrder::Msb) => (self.msb(at, bits) << (8 - bits)) as u8,
        }
    }

    /// The bytes of a bit range as they stand in the packet, where they do stand there whole.
    pub(crate) fn slice(&self, from: u32, to: u32) -> Option<&'a [u8]> {
        if self.is_coded() || !from.is_multiple_of(8) || !to.is_multiple_of(8) {
            return None;
        }
        self.bytes.get(from as usize / 8..to as usize / 8)
    }

    /// The bytes of a bit range; a last part of a byte is filled up with zeros.
    pub(crate) fn bytes(&self, from: u32, to: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.copy(from, to, &mut bytes);
        bytes
    }

    /// Appends the bytes of a bit range.
    pub(crate) fn copy(&self, from: u32, to: u32, bytes: &mut Vec<u8>) {
        let to = to.min(self.end);
        if self.coding.is_some() {
            let mut part = self.part(from..to);
            while let Some(byte) = part.symbol() {
                bytes.push(byte);
            }
            return;
        }
        if let Some(slice) = self.slice(from, to) {
            bytes.extend_from_slice(slice);
            return;
        }
        let part = BitReader { end: to, ..*self };
        bytes.extend((from..to).step_by(8).map(|at| part.byte(at)));
    }

    /// Eight bytes from `index` on, which is in the packet, the first the lowest; those past its end
    /// are 0.
    #[inline]
    fn window(&self, index: usize) -> u64 {
        let eight = self.bytes.get(index..).and_then(|rest| rest.first_chunk());
        match eight {
            Some(eight) => u64::from_le_bytes(*eight),
            None => self.last >> (8 * (index + 8 - self.bytes.len()) % 64),
        }
    }

    /// Up to 64 bits that are there, the first the least significant.
    #[inline]
    fn lsb(&self, at: u32, bits: u32) -> u64 {
        let (index, shift) = (at as usize / 8, at % 8);
        let mut value = self.window(index) >> shift;
        if shift + bits > 64 {
            let ninth = self.bytes.get(index + 8).copied().unwrap_or(0);
            value |= u64::from(ninth) << (64 - shift);
        }
        value & (u64::MAX >> (64 - bits))
    }

    /// Up to 64 bits that are there, the first the most significant.
    #[inline]
    fn msb(&self, at: u32, bits: u32) -> u64 {
        let (index, shift) = (at as usize / 8, at % 8);
        let mut value = self.window(index).swap_bytes() << shift;
        if shift + bits > 64 {
            let ninth = self.bytes.get(index + 8).copied().unwrap_or(0);
            value |= u64::from(ninth) >> (8 - shift);
        }
        value >> (64 - bits)
    }

    /// The two orders in which bits run one way and bytes the other, group by group.
    #[inline(never)]
    fn mixed(&self, at: u32, bits: u32) -> u64 {
        let (whole, part) = (bits / 8, bits % 8);
        let mut value = 0;
        if self.order.bytes == ByteOrder::Little {
            for group in 0..whole {
                value |= self.msb(at + 8 * group, 8) << (8 * group);
            }
            if part > 0 {
                value |= self.msb(at + 8 * whole, part) << (8 * whole);
            }
        } else {
            if part > 0 {
                value = self.lsb(at, part);
            }
            for group in 0..whole {
                value = value << 8 | self.lsb(at + part + 8 * group, 8);
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, straight from the definition in the reference.
    fn slow(bytes: &[u8], order: Order, at: u32, bits: u32) -> u64 {
        let bit = |index: u32| {
            let byte = bytes[index as usize / 8];
            let shift = if order.bits == BitOrder::Lsb {
                index % 8
            } else {
                7 - index % 8
            };
            u64::from(byte >> shift & 1)
        };
        let group_bits = |group: u32| (bits - 8 * group).min(8);
        let count = bits.div_ceil(8);
        let groups: Vec<u32> = match order.bytes {
            ByteOrder::Little => (0..count).collect(),
            ByteOrder::Big => (0..count).rev().collect(),
        };
        let (mut at, mut value) = (at, 0);
        for group in groups {
            for index in 0..group_bits(group) {
                let place = match order.bits {
                    BitOrder::Lsb => index,
                    BitOrder::Msb => group_bits(group) - 1 - index,
                };
                value |= bit(at + index) << (8 * group + place);
            }
            at += group_bits(group);
        }
        value
    }

    #[test]
    fn every_width_at_every_offset_in_every_order_agrees_with_the_definition() {
        let bytes: Vec<u8> = (0..20u32)
            .map(|i| (i * 167 + 43) as u8 ^ (i as u8) << 3)
            .collect();
        for bits in [BitOrder::Lsb, BitOrder::Msb] {
            for byte_order in [ByteOrder::Little, ByteOrder::Big] {
                let order = Order {
                    bits,
                    bytes: byte_order,
                };
                for length in [1, 3, 8, 9, 17, 20] {
                    let packet = &bytes[..length];
                    for width in 1..=64u32 {
                        for at in 0..length as u32 * 8 {
                            let mut reader = BitReader::new(packet, order);
                            assert!(reader.skip(at));
                            let fits = at + width <= length as u32 * 8;
                            let expected = fits.then(|| slow(packet, order, at, width));
                            let case = (order, length, width, at);
                            assert_eq!(reader.read(width), expected, "{case:?}");
                            assert_eq!(reader.at(), if fits { at + width } else { at });
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn bytes_at_an_odd_bit_are_those_that_were_shifted_in() {
        let lsb = Order {
            bits: BitOrder::Lsb,
            bytes: ByteOrder::Little,
        };
        let reader = BitReader::new(&[0b1010_1000, 0b0110_0101, 0b0000_0011], lsb);
        assert_eq!(reader.bytes(3, 19), [0b1011_0101, 0b0110_1100]);
        assert_eq!(reader.bytes(3, 15), [0b1011_0101, 0b0000_1100]);
        let msb = Order {
            bits: BitOrder::Msb,
            bytes: ByteOrder::Big,
        };
        let reader = BitReader::new(&[0b0001_0110, 0b1010_0000], msb);
        assert_eq!(reader.bytes(3, 11), [0b1011_0101]);
        assert_eq!(reader.bytes(3, 15), [0b1011_0101, 0b0000_0000]);
    }
}
