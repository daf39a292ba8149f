//! Variable-length integers (LEB128, low seven bits first) and a reader that never runs past
//! the end of its bytes.

/// Appends `value` in one to ten bytes.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Folds the sign into the lowest bit, so that small negative numbers stay short.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Undoes [`zigzag`].
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A place in some bytes. Every read answers `None` where too few bytes are left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline]
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        self.at = self.bytes.len();
        rest
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads what [`put`] wrote. More than ten bytes, or bits above the 64th, are `None`.
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A length followed by that many bytes.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_round_trip(value: u64, length: usize) {
        let mut bytes = Vec::new();
        put(&mut bytes, value);
        assert_eq!(bytes.len(), length);
        assert_eq!(Cursor::new(&bytes).varint(), Some(value));
        assert_eq!(Cursor::new(&bytes[..length - 1]).varint(), None, "cut");
    }

    #[test]
    fn a_varint_takes_one_byte_for_seven_bits() {
        check_round_trip(0, 1);
        check_round_trip(127, 1);
        check_round_trip(128, 2);
        check_round_trip(16_383, 2);
        check_round_trip(16_384, 3);
        check_round_trip(u64::MAX, 10);
    }

    #[test]
    fn a_varint_of_more_than_64_bits_is_refused() {
        assert_eq!(Cursor::new(&[0xff; 11]).varint(), None);
        let mut too_high = [0xff; 10];
        too_high[9] = 2;
        assert_eq!(Cursor::new(&too_high).varint(), None);
    }

    #[test]
    fn zigzag_keeps_small_magnitudes_small_and_undoes() {
        assert_eq!(zigzag(-1), 1);
        assert_eq!(zigzag(1), 2);
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
