//! Bits in and out of bytes; the first bit is the lowest of the first byte.

/// Writes bits one after another; nothing is aligned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitWriter {
    bytes: Vec<u8>,
    bits: usize,
}

/// Reads what a [`BitWriter`] wrote, or anything else: no input makes it panic.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Bytes that do not say what they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at bit {at_bit}: {why}")]
pub struct Malformed {
    /// Where reading stopped, in bits from the start.
    pub at_bit: usize,
    /// What was wrong there.
    pub why: &'static str,
}

impl BitWriter {
    /// Nothing written yet.
    pub fn new() -> BitWriter {
        BitWriter::default()
    }

    /// How many bits have been written.
    pub fn len(&self) -> usize {
        self.bits
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// Turns a bit that was written into the other.
    pub fn flip(&mut self, at: usize) {
        if let Some(byte) = self.bytes.get_mut(at / 8).filter(|_| at < self.bits) {
            *byte ^= 1 << (at % 8);
        }
    }

    /// The first `count` bits (at most 8) of what was written.
    pub fn begins(&self, count: u32) -> u8 {
        let first = self.bytes.first().copied().unwrap_or(0);
        first
            & 0xFF_u8
                .checked_shr(8_u32.saturating_sub(count))
                .unwrap_or(0)
    }

    /// Writes the lowest `count` bits (at most 64) of `value`.
    pub fn bits(&mut self, value: u64, count: u32) {
        let count = count.min(64);
        let mut value = value & u64::MAX.checked_shr(64 - count).unwrap_or(0);
        let (used, mut left) = ((self.bits % 8) as u32, count);
        if let Some(last) = self.bytes.last_mut().filter(|_| used > 0) {
            *last |= (value << used) as u8;
            let taken = left.min(8 - used);
            value >>= taken;
            left -= taken;
        }
        let bytes = value.to_le_bytes();
        let there = bytes.get(..left.div_ceil(8) as usize);
        self.bytes.extend_from_slice(there.unwrap_or_default());
        self.bits += count as usize;
    }

    /// Writes one bit.
    pub fn flag(&mut self, value: bool) {
        self.bits(u64::from(value), 1);
    }

    /// Writes an unsigned number in groups of seven bits, the lowest first (LEB128).
    pub fn leb128(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bits(value & 0x7F | 0x80, 8);
            value >>= 7;
        }
        self.bits(value, 8);
    }

    /// Writes a signed number, small magnitudes short.
    pub fn zigzag(&mut self, value: i64) {
        self.leb128(((value << 1) ^ (value >> 63)) as u64);
    }

    /// Writes whole bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.bits.is_multiple_of(8) {
            self.bytes.extend_from_slice(bytes);
            self.bits += bytes.len() * 8;
            return;
        }
        self.bytes.reserve(bytes.len() + 1);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.bits(u64::from_le_bytes(*word), 64);
        }
        for &byte in rest {
            self.bits(u64::from(byte), 8);
        }
    }

    /// Writes what another writer holds.
    pub fn append(&mut self, other: &BitWriter) {
        let whole = other.bits / 8;
        self.bytes(&other.bytes[..whole]);
        if let Some(&last) = other.bytes.get(whole) {
            self.bits(u64::from(last), (other.bits % 8) as u32);
        }
    }

    /// What was written before: this many bits of `bytes`, which fill up the last one with zeros.
    /// `None` where they do not.
    pub fn of(bytes: Vec<u8>, bits: usize) -> Option<BitWriter> {
        let filled = bytes.len() == bits.div_ceil(8);
        let used = (bits % 8) as u32;
        let rest = bytes
            .last()
            .filter(|_| used > 0)
            .map_or(0, |last| last >> used);
        (filled && rest == 0).then_some(BitWriter { bytes, bits })
    }

    /// The bytes so far, the last one filled up with zero bits.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, the last one filled up with zero bits.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

impl<'a> BitReader<'a> {
    /// Reads from the first bit of `bytes`.
    pub fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, at: 0 }
    }

    /// How many bits are left.
    pub fn left(&self) -> usize {
        self.bytes.len() * 8 - self.at
    }

    /// An error at the current bit.
    pub fn malformed(&self, why: &'static str) -> Malformed {
        Malformed {
            at_bit: self.at,
            why,
        }
    }

    /// Reads `count` bits, at most 64.
    pub fn bits(&mut self, count: u32) -> Result<u64, Malformed> {
        if count > 64 || self.left() < count as usize {
            return Err(self.malformed("the bytes end too early"));
        }
        let ahead = self.bytes.get(self.at / 8..).unwrap_or_default();
        let mut wide = [0; 16];
        for (byte, &there) in wide.iter_mut().zip(ahead).take(9) {
            *byte = there;
        }
        let value = (u128::from_le_bytes(wide) >> (self.at % 8)) as u64;
        self.at += count as usize;
        Ok(value & u64::MAX.checked_shr(64 - count).unwrap_or(0))
    }

    /// Reads one bit.
    pub fn flag(&mut self) -> Result<bool, Malformed> {
        Ok(self.bits(1)? == 1)
    }

    /// Reads eight bits.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.bits(8)? as u8)
    }

    /// Reads sixteen bits.
    pub fn short(&mut self) -> Result<u16, Malformed> {
        Ok(self.bits(16)? as u16)
    }

    /// Reads what [`BitWriter::leb128`] wrote; more than 64 bits are malformed.
    pub fn leb128(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for group in 0..10 {
            let byte = self.bits(8)?;
            let part = byte & 0x7F;
            if group == 9 && part > 1 {
                return Err(self.malformed("a number of more than 64 bits"));
            }
            value |= part << (group * 7);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.malformed("a number of more than 64 bits"))
    }

    /// Reads what [`BitWriter::zigzag`] wrote.
    pub fn zigzag(&mut self) -> Result<i64, Malformed> {
        let value = self.leb128()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads `count` whole bytes; allocates only what is really there.
    pub fn bytes(&mut self, count: usize) -> Result<Vec<u8>, Malformed> {
        if self.left() / 8 < count {
            return Err(self.malformed("the bytes end too early"));
        }
        let start = self.at / 8;
        let there = self.bytes.get(start..start + count);
        if let Some(there) = there.filter(|_| self.at.is_multiple_of(8)) {
            self.at += count * 8;
            return Ok(there.to_vec());
        }
        let mut bytes = Vec::with_capacity(count);
        while bytes.len() + 8 <= count {
            bytes.extend_from_slice(&self.bits(64)?.to_le_bytes());
        }
        while bytes.len() < count {
            bytes.push(self.byte()?);
        }
        Ok(bytes)
    }

    /// Reads `count` bytes of UTF-8.
    pub fn text(&mut self, count: usize) -> Result<String, Malformed> {
        let bytes = self.bytes(count)?;
        String::from_utf8(bytes).map_err(|_| self.malformed("text that is not UTF-8"))
    }

    /// Checks that less than a byte is left, all of it zero.
    pub fn end(&mut self) -> Result<(), Malformed> {
        if self.left() >= 8 {
            return Err(self.malformed("bytes are left over"));
        }
        match self.bits(self.left() as u32)? {
            0 => Ok(()),
            _ => Err(self.malformed("the filling bits are not zero")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(write: impl FnOnce(&mut BitWriter), expected: &[u8]) {
        let mut out = BitWriter::new();
        write(&mut out);
        assert_eq!(out.finish(), expected);
    }

    #[test]
    fn the_first_field_takes_the_lowest_bits() {
        check(
            |out| {
                out.bits(1, 1);
                out.bits(0b10, 2);
                out.bits(0b11111, 5)
            },
            &[0b1111_1101],
        );
        check(
            |out| {
                out.bits(0, 4);
                out.bits(0xABC, 12)
            },
            &[0xC0, 0xAB],
        );
        check(|out| out.bits(0xB0, 8), &[0xB0]);
        check(|out| out.bits(u64::MAX, 3), &[7]);
    }

    #[test]
    fn numbers_travel_in_groups_of_seven() {
        check(|out| out.leb128(0), &[0]);
        check(|out| out.leb128(127), &[0x7F]);
        check(|out| out.leb128(128), &[0x80, 0x01]);
        check(|out| out.leb128(300), &[0xAC, 0x02]);
        check(|out| out.zigzag(-1), &[1]);
        check(|out| out.zigzag(1), &[2]);
        check(|out| out.zigzag(-64), &[127]);
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_malformed() {
        let read = |bytes: &[u8]| BitReader::new(bytes).leb128();
        assert_eq!(
            read(&[0xFF; 9].iter().copied().chain([1]).collect::<Vec<_>>()),
            Ok(u64::MAX)
        );
        assert!(read(&[0xFF; 9].iter().copied().chain([2]).collect::<Vec<_>>()).is_err());
        assert!(read(&[0x80; 11]).is_err());
    }

    #[test]
    fn the_end_is_an_error_with_a_place() {
        let mut bits = BitReader::new(&[1, 2]);
        assert_eq!(bits.bits(9), Ok(0x001));
        assert_eq!(
            bits.bits(8),
            Err(Malformed {
                at_bit: 9,
                why: "the bytes end too early"
            })
        );
        assert_eq!(bits.bits(7), Ok(1));
    }

    #[test]
    fn a_length_is_not_believed() {
        assert!(BitReader::new(&[1, 2, 3]).bytes(usize::MAX / 8).is_err());
        assert!(BitReader::new(&[1, 2, 3]).text(4).is_err());
    }

    #[test]
    fn what_is_left_over_must_be_less_than_a_byte_of_zeros() {
        let ends = |bytes: &[u8], used| {
            let mut bits = BitReader::new(bytes);
            bits.bits(used).and_then(|_| bits.end()).is_ok()
        };
        assert!(ends(&[0b0001_1111], 5));
        assert!(!ends(&[0b0011_1111], 5));
        assert!(!ends(&[0, 0], 8));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_written_is_read(fields in prop::collection::vec((any::<u64>(), 0u32..=64), 0..40)) {
            let mut out = BitWriter::new();
            for &(value, count) in &fields {
                out.bits(value, count);
                out.leb128(value);
                out.zigzag(value as i64);
            }
            let mut twice = BitWriter::new();
            twice.bits(5, 3);
            twice.append(&out);
            let bytes = twice.finish();
            let mut bits = BitReader::new(&bytes);
            prop_assert_eq!(bits.bits(3), Ok(5));
            for &(value, count) in &fields {
                let mask = if count == 64 { u64::MAX } else { (1 << count) - 1 };
                prop_assert_eq!(bits.bits(count), Ok(value & mask));
                prop_assert_eq!(bits.leb128(), Ok(value));
                prop_assert_eq!(bits.zigzag(), Ok(value as i64));
            }
            prop_assert_eq!(bits.end(), Ok(()));
        }
    }
}
