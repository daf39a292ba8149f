//! Checksums, byte by byte.

use crc::{CRC_8_SMBUS, CRC_16_ARC, CRC_16_IBM_3740, CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc, Digest};

use crate::check::model;

static CRC8: Crc<u8> = Crc::<u8>::new(&CRC_8_SMBUS);
static CRC16_ARC: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);
static CRC16_CCITT: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);
static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// A checksum that is being worked out.
pub(crate) enum Checksum {
    Crc8(Digest<'static, u8>),
    Crc16(Digest<'static, u16>),
    Crc32(Digest<'static, u32>),
    /// RFC 1950, section 8.2: both sums.
    Adler32(u32, u32),
    Sum {
        sum: u64,
        bits: u8,
    },
    Xor8(u8),
}

impl Checksum {
    pub(crate) fn new(kind: model::Checksum) -> Checksum {
        match kind {
            model::Checksum::Crc8 => Checksum::Crc8(CRC8.digest()),
            model::Checksum::Crc16Arc => Checksum::Crc16(CRC16_ARC.digest()),
            model::Checksum::Crc16Ccitt => Checksum::Crc16(CRC16_CCITT.digest()),
            model::Checksum::Crc32 => Checksum::Crc32(CRC32.digest()),
            model::Checksum::Crc32c => Checksum::Crc32(CRC32C.digest()),
            model::Checksum::Adler32 => Checksum::Adler32(1, 0),
            model::Checksum::Sum(bits) => Checksum::Sum { sum: 0, bits },
            model::Checksum::Xor8 => Checksum::Xor8(0),
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        match self {
            Checksum::Crc8(digest) => digest.update(bytes),
            Checksum::Crc16(digest) => digest.update(bytes),
            Checksum::Crc32(digest) => digest.update(bytes),
            Checksum::Adler32(low, high) => {
                for &byte in bytes {
                    *low = (*low + u32::from(byte)) % 65521;
                    *high = (*high + *low) % 65521;
                }
            }
            Checksum::Sum { sum, .. } => {
                for &byte in bytes {
                    *sum = sum.wrapping_add(u64::from(byte));
                }
            }
            Checksum::Xor8(value) => {
                for &byte in bytes {
                    *value ^= byte;
                }
            }
        }
    }

    pub(crate) fn finish(self) -> u64 {
        match self {
            Checksum::Crc8(digest) => digest.finalize().into(),
            Checksum::Crc16(digest) => digest.finalize().into(),
            Checksum::Crc32(digest) => digest.finalize().into(),
            Checksum::Adler32(low, high) => u64::from(high << 16 | low),
            Checksum::Sum { sum, bits } => sum & u64::MAX >> (64 - u32::from(bits)),
            Checksum::Xor8(value) => value.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the catalogue, of the nine digits.
    #[test]
    fn the_check_values_of_the_algorithms() {
        for (kind, expected) in [
            (model::Checksum::Crc8, 0xf4),
            (model::Checksum::Crc16Arc, 0xbb3d),
            (model::Checksum::Crc16Ccitt, 0x29b1),
            (model::Checksum::Crc32, 0xcbf4_3926),
            (model::Checksum::Crc32c, 0xe306_9283),
            (model::Checksum::Adler32, 0x091e_01de),
            (model::Checksum::Sum(8), 0xdd),
            (model::Checksum::Sum(16), 0x01dd),
            (model::Checksum::Xor8, 0x31),
        ] {
            let mut checksum = Checksum::new(kind);
            checksum.add(b"1234");
            checksum.add(b"56789");
            assert_eq!(checksum.finish(), expected, "{kind:?}");
        }
    }
}
