//! Bits put down in a wire's order: what [`BitReader`](crate::bits::BitReader) reads.

use std::ops::Range;
use std::sync::Arc;

use crate::bits::BitReader;
use crate::layers::HuffmanTable;
use crate::layout::{BitOrder, ByteOrder, Order};

/// A row of bits that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// The next bit.
    at: u32,
    /// The stream's bit that is the first of `bytes`.
    base: u32,
    /// What stands elsewhere in the stream, with the bit at which it begins.
    elsewhere: Vec<(u32, BitWriter)>,
    order: Order,
    /// What whole bytes are written as.
    coding: Option<Arc<HuffmanTable>>,
    /// The first byte that has no code.
    pub uncoded: Option<u8>,
}

impl BitWriter {
    pub(crate) fn new(order: Order) -> BitWriter {
        BitWriter {
            order,
            ..BitWriter::default()
        }
    }

    /// An empty one that writes as this one does.
    pub(crate) fn without_bytes(&self) -> BitWriter {
        BitWriter::new(self.order).coded(self.coding.clone())
    }

    /// What whole bytes are written as.
    pub(crate) fn coding(&self) -> Option<&Arc<HuffmanTable>> {
        self.coding.as_ref()
    }

    /// See [`BitReader::coded`].
    pub(crate) fn coded(self, coding: Option<Arc<HuffmanTable>>) -> BitWriter {
        BitWriter { coding, ..self }
    }

    pub(crate) fn order(&self) -> Order {
        self.order
    }

    /// What comes is in this order.
    pub(crate) fn set_byte_order(&mut self, order: ByteOrder) {
        self.order.bytes = order;
    }

    /// What was written, to be read.
    pub(crate) fn reader(&self) -> BitReader<'_> {
        BitReader::new(&self.bytes, self.order).coded(self.coding.as_ref())
    }

    pub(crate) fn at(&self) -> u32 {
        self.base + self.at
    }

    /// A writer of what stands elsewhere in the stream, from this bit on.
    pub(crate) fn elsewhere(&self, start: u32) -> BitWriter {
        let mut writer = self.without_bytes();
        writer.base = start - start % 8;
        writer.at = start % 8;
        if writer.at > 0 {
            writer.bytes.push(0);
        }
        writer.elsewhere.push((start, BitWriter::new(self.order)));
        writer
    }

    /// Takes what such a writer has written: it goes over what stands there when all is written.
    pub(crate) fn put_elsewhere(&mut self, mut writer: BitWriter) {
        if writer.elsewhere.is_empty() {
            return;
        }
        let (start, _) = writer.elsewhere.remove(0);
        self.elsewhere.append(&mut writer.elsewhere);
        self.uncoded = self.uncoded.or(writer.uncoded);
        self.elsewhere.push((start, writer));
    }

    /// What was written; a last part of a byte is filled up with zeros.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let (mut bytes, order) = (self.bytes, self.order.bits);
        let place = |bit: u32| match order {
            BitOrder::Lsb => (bit as usize / 8, 1u8 << (bit % 8)),
            BitOrder::Msb => (bit as usize / 8, 0x80u8 >> (bit % 8)),
        };
        for (start, writer) in &self.elsewhere {
            for bit in *start..writer.at() {
                let (from, from_mask) = place(bit - writer.base);
                let (to, mask) = place(bit);
                if to >= bytes.len() {
                    bytes.resize(to + 1, 0);
                }
                let is_set = writer
                    .bytes
                    .get(from)
                    .is_some_and(|byte| byte & from_mask != 0);
                bytes[to] = bytes[to] & !mask | if is_set { mask } else { 0 };
            }
        }
        bytes
    }

    /// Appends the bytes of a range that was written.
    pub(crate) fn copy(&self, bits: Range<u32>, to: &mut Vec<u8>) {
        let start = bits.start.saturating_sub(self.base);
        let end = bits.end.saturating_sub(self.base);
        self.reader().copy(start, end, to);
    }

    /// The lowest `bits` bits of a value: 1 to 64.
    pub(crate) fn write(&mut self, value: u64, bits: u32) {
        if self.coding.is_none() {
            return self.write_plain(value, bits);
        }
        let low = bits % 8;
        self.write_in_order(value, low);
        for group in 0..bits / 8 {
            self.symbol((value >> (low + 8 * group)) as u8);
        }
    }

    /// The code of a byte.
    fn symbol(&mut self, byte: u8) {
        let code = self
            .coding
            .as_ref()
            .and_then(|table| table.code(byte.into()));
        match code {
            Some((code, bits)) => self.write_in_order(code.into(), bits.into()),
            None => self.uncoded = self.uncoded.or(Some(byte)),
        }
    }

    /// Bit by bit, the least significant first.
    fn write_in_order(&mut self, value: u64, bits: u32) {
        for place in 0..bits {
            self.group((value >> place & 1) as u8, 1);
        }
    }

    /// As if the stream were not coded.
    pub(crate) fn write_plain(&mut self, value: u64, bits: u32) {
        let groups = bits.div_ceil(8);
        for place in 0..groups {
            let group = match self.order.bytes {
                ByteOrder::Little => place,
                ByteOrder::Big => groups - 1 - place,
            };
            let width = (bits - 8 * group).min(8);
            let mask = 0xff >> (8 - width);
            self.group((value >> (8 * group)) as u8 & mask, width);
        }
    }

    /// Bytes as they stand in memory.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) {
        if self.coding.is_some() {
            for &byte in bytes {
                self.symbol(byte);
            }
            return;
        }
        self.write_bytes_plain(bytes);
    }

    fn write_bytes_plain(&mut self, bytes: &[u8]) {
        if self.at.is_multiple_of(8) {
            self.bytes.extend_from_slice(bytes);
            self.at += 8 * bytes.len() as u32;
            return;
        }
        for &byte in bytes {
            self.group(byte, 8);
        }
    }

    /// How many bits of bytes, of which the last may be a part, as
    /// [`BitReader::bytes`](crate::bits::BitReader::bytes) gives them.
    pub(crate) fn write_part(&mut self, bytes: &[u8], bits: u32) {
        let (whole, part) = ((bits / 8) as usize, bits % 8);
        self.write_bytes_plain(bytes.get(..whole).unwrap_or(bytes));
        if let (1.., Some(&last)) = (part, bytes.get(whole)) {
            let value = match self.order.bits {
                BitOrder::Lsb => last & 0xff >> (8 - part),
                BitOrder::Msb => last >> (8 - part),
            };
            self.group(value, part);
        }
    }

    /// Up to eight bits, which the value does not exceed.
    fn group(&mut self, value: u8, bits: u32) {
        let shift = self.at % 8;
        let value = u16::from(value);
        // The group in two bytes, the first of which may be begun.
        let [first, second] = match self.order.bits {
            BitOrder::Lsb => (value << shift).to_le_bytes(),
            BitOrder::Msb => (value << (16 - bits - shift)).to_be_bytes(),
        };
        match self.bytes.last_mut() {
            Some(last) if shift > 0 => *last |= first,
            _ => self.bytes.push(first),
        }
        if shift + bits > 8 {
            self.bytes.push(second);
        }
        self.at += bits;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn orders() -> impl Iterator<Item = Order> {
        let bits = [BitOrder::Lsb, BitOrder::Msb];
        bits.into_iter().flat_map(|bits| {
            let bytes = [ByteOrder::Little, ByteOrder::Big];
            bytes.into_iter().map(move |bytes| Order { bits, bytes })
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back_in_every_order(
            values in proptest::collection::vec((any::<u64>(), 1..=64u32), 0..20),
        ) {
            for order in orders() {
                let mut writer = BitWriter::new(order);
                for &(value, bits) in &values {
                    writer.write(value, bits);
                }
                let bytes = writer.into_bytes();
                let mut reader = BitReader::new(&bytes, order);
                for &(value, bits) in &values {
                    prop_assert_eq!(reader.read(bits), Some(value & u64::MAX >> (64 - bits)));
                }
                prop_assert!(reader.left() < 8);
            }
        }

        #[test]
        fn a_part_of_bytes_is_read_back_at_any_bit(
            before in 0..8u32,
            bytes in proptest::collection::vec(any::<u8>(), 1..9),
            less in 0..8u32,
        ) {
            for order in orders() {
                let mut writer = BitWriter::new(order);
                if before > 0 {
                    writer.write(0x55, before);
                }
                let bits = bytes.len() as u32 * 8 - less;
                writer.write_part(&bytes, bits);
                let written = writer.into_bytes();
                let reader = BitReader::new(&written, order);
                let again = reader.bytes(before, before + bits);
                let mut second = BitWriter::new(order);
                second.write_part(&again, bits);
                let mut first = BitWriter::new(order);
                first.write_part(&bytes, bits);
                prop_assert_eq!(first.into_bytes(), second.into_bytes());
            }
        }
    }
}
