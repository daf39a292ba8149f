//! Integers that are more than a row of bits: explicit byte orders and varints.
//!
//! Each codec turns bits into one raw integer and back. Where several rows of bits stand for the
//! same integer, the number of bits tells them apart, so that raw and width give the bits again.

mod read;
mod write;

use crate::layout::ByteOrder;

/// How an integer is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Codec {
    /// A row of bits in the stream's order.
    Plain { bits: u8 },
    /// Whole bytes in an order of their own.
    Ordered { bits: u8, order: ByteOrder },
    /// Groups of seven bits, the least significant first, the top bit of a byte says that more
    /// follow. DWARF 5, section 7.6.
    Leb128,
    /// The same in two's complement, whose sign the last group extends.
    Sleb128,
    /// Groups of seven bits, the most significant first (MIDI, "variable length quantity").
    Vlq,
    /// The leading ones of the first byte say how many bytes follow; the most significant first.
    Prefix,
    /// Two bits say whether 1, 2, 4 or 8 bytes are taken; the most significant first. RFC 9000,
    /// section 16.
    Quic,
    /// Six bits, of which two say whether 0, 4, 8 or 28 more follow (Source's `UBitVar`).
    UbitVar,
    /// A sign and six bits, then groups of seven, the least significant first (Teeworlds).
    Packed,
    /// Bytes from the last one on that hold nothing but zeros (of signed integers: ones) are one bit
    /// each, and so is such a high half of the first (RakNet's `WriteCompressed`).
    Compressed {
        bits: u8,
        signed: bool,
        order: Option<ByteOrder>,
    },
    /// One bit, then an integer of 13 bits less 4096, or a float of 32 bits (Quake 3). The raw
    /// integer has the one bit above 32 others.
    QuakeFloat,
    /// Two bits and three times this many, from the lowest up.
    SmallestThree { bits: u8 },
}

/// Why a codec has no integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// How many bits are needed, from the first one on.
    PastEnd { needed: u32 },
    /// The integer has more than this many bits.
    TooLong { bits: u8 },
}

/// Which bit of a [`Codec::QuakeFloat`]'s raw integer says that the others are a float.
const IS_FLOAT: u64 = 1 << 32;

impl Codec {
    /// Whether a raw integer can have several numbers of bits.
    pub(crate) fn is_varint(self) -> bool {
        !matches!(
            self,
            Codec::Plain { .. }
                | Codec::Ordered { .. }
                | Codec::SmallestThree { .. }
                | Codec::QuakeFloat
        )
    }

    /// The bits of the integer that it holds, sign included.
    pub(crate) fn bits(self) -> u8 {
        match self {
            Codec::Plain { bits }
            | Codec::Ordered { bits, .. }
            | Codec::Compressed { bits, .. } => bits,
            Codec::Packed | Codec::UbitVar => 32,
            Codec::Quic => 62,
            Codec::SmallestThree { bits } => 2 + 3 * bits,
            Codec::Leb128 | Codec::Sleb128 | Codec::Vlq | Codec::Prefix | Codec::QuakeFloat => 64,
        }
    }
}

/// How many bits follow the first six.
const UBITVAR_MORE: [u32; 4] = [0, 4, 8, 28];

/// The other byte order, where it is another one.
#[inline]
fn in_order(raw: u64, bits: u8, other: bool) -> u64 {
    if other {
        raw.swap_bytes() >> (64 - u32::from(bits))
    } else {
        raw
    }
}

/// The bytes of an integer; those past its width are 0.
fn compressed_bytes(raw: u64, bits: u8, order: ByteOrder) -> [u8; 8] {
    in_order(raw, bits, order == ByteOrder::Big).to_le_bytes()
}

/// What bytes are that can be left out.
fn fill(signed: bool) -> u8 {
    if signed { 0xff } else { 0 }
}

/// Two's complement of 1 to 64 bits.
pub(crate) fn sign_extended(raw: u64, bits: u8) -> i64 {
    let shift = 64 - u32::from(bits.clamp(1, 64));
    (raw << shift).cast_signed() >> shift
}

/// 0, -1, 1, -2, ...
pub(crate) fn zigzag(raw: u64) -> i64 {
    (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bit_writer::BitWriter;
    use crate::bits::BitReader;
    use crate::layout::{BitOrder, Order};

    const LITTLE: Order = Order {
        bits: BitOrder::Lsb,
        bytes: ByteOrder::Little,
    };
    const BIG: Order = Order {
        bits: BitOrder::Msb,
        bytes: ByteOrder::Big,
    };

    fn read(codec: Codec, order: Order, bytes: &[u8]) -> Result<(u64, u32), Failed> {
        let mut reader = BitReader::new(bytes, order);
        let raw = codec.read(order, |bits| reader.read(bits))?;
        Ok((raw, reader.at()))
    }

    fn write(codec: Codec, order: Order, raw: u64, width: Option<u32>) -> Result<Vec<u8>, String> {
        let mut writer = BitWriter::new(order);
        codec.write(raw, width, order, |value, bits| writer.write(value, bits))?;
        Ok(writer.into_bytes())
    }

    /// The bytes stand for the integer, and are what a writer makes of it.
    #[track_caller]
    fn check(codec: Codec, order: Order, bytes: &[u8], raw: u64) {
        assert_eq!(
            read(codec, order, bytes).map(|read| read.0),
            Ok(raw),
            "{codec:?}"
        );
        assert_eq!(
            write(codec, order, raw, None).as_deref(),
            Ok(bytes),
            "{codec:?}"
        );
    }

    #[test]
    fn an_explicit_byte_order_holds_in_every_stream() {
        for order in [LITTLE, BIG] {
            for (byte_order, bytes) in [
                (ByteOrder::Big, [0x12, 0x34, 0x56]),
                (ByteOrder::Little, [0x56, 0x34, 0x12]),
            ] {
                let order_of = byte_order;
                let codec = Codec::Ordered {
                    bits: 24,
                    order: order_of,
                };
                check(codec, order, &bytes, 0x12_3456);
            }
        }
    }

    #[test]
    fn the_examples_of_the_varints() {
        // DWARF 5, section 7.6, figures 46 and 47.
        check(Codec::Leb128, LITTLE, &[0xe5, 0x8e, 0x26], 624_485);
        check(
            Codec::Sleb128,
            LITTLE,
            &[0x80, 0x7f],
            (-128i64).cast_unsigned(),
        );
        check(Codec::Sleb128, LITTLE, &[0xff, 0x00], 127);
        check(Codec::Sleb128, LITTLE, &[0x7e], (-2i64).cast_unsigned());
        // RFC 9000, appendix A.1.
        check(
            Codec::Quic,
            BIG,
            &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
            151_288_809_941_952_652,
        );
        check(Codec::Quic, BIG, &[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333);
        check(Codec::Quic, BIG, &[0x7b, 0xbd], 15_293);
        check(Codec::Quic, BIG, &[0x25], 37);
        // The MIDI file format's table.
        check(Codec::Vlq, BIG, &[0x81, 0x00], 0x80);
        check(Codec::Vlq, BIG, &[0xff, 0xff, 0x7f], 0x1f_ffff);
        check(Codec::Prefix, BIG, &[0x7f], 127);
        check(Codec::Prefix, BIG, &[0x80, 0x80], 128);
        check(Codec::Prefix, BIG, &[0xff; 9], u64::MAX);
        check(Codec::Packed, LITTLE, &[0x41], u64::from(u32::MAX - 1));
        check(Codec::Packed, LITTLE, &[0x80, 0x01], 64);
    }

    #[test]
    fn a_long_form_is_told_by_its_width() {
        assert_eq!(read(Codec::Quic, BIG, &[0x40, 0x25]), Ok((37, 16)));
        assert_eq!(write(Codec::Quic, BIG, 37, Some(16)), Ok(vec![0x40, 0x25]));
        assert!(write(Codec::Quic, BIG, 37, Some(24)).is_err());
    }

    #[test]
    fn integers_that_are_too_long_or_cut_are_refused() {
        let too_long = Err(Failed::TooLong { bits: 64 });
        assert_eq!(read(Codec::Leb128, LITTLE, &[0xff; 12]), too_long);
        assert_eq!(read(Codec::Vlq, BIG, &[0xff; 12]), too_long);
        assert_eq!(read(Codec::Sleb128, LITTLE, &[0x80; 12]), too_long);
        assert_eq!(
            read(Codec::Packed, LITTLE, &[0xff; 12]),
            Err(Failed::TooLong { bits: 32 })
        );
        assert_eq!(
            read(Codec::Quic, BIG, &[0x80, 1]),
            Err(Failed::PastEnd { needed: 24 })
        );
    }

    #[test]
    fn the_bits_of_a_compressed_integer() {
        let compressed = |bits, signed, order| Codec::Compressed {
            bits,
            signed,
            order: Some(order),
        };
        // Three bytes of zeros, then a high half of zeros: 1 1 1 1 0101.
        let little = compressed(32, false, ByteOrder::Little);
        check(little, BIG, &[0b1111_0101], 5);
        // 1 1 1 0 and a byte.
        check(little, BIG, &[0b1110_1111, 0xf0], 0xff);
        // The last byte in network order is the lowest one: 0 and four bytes.
        let big = compressed(32, false, ByteOrder::Big);
        check(big, BIG, &[0, 0, 0, 0b10, 0b1000_0000], 5);
        let signed = compressed(16, true, ByteOrder::Little);
        check(signed, BIG, &[0b1111_0100], 0xfffd);
    }

    fn codecs() -> impl Strategy<Value = Codec> {
        let order = || prop::sample::select(vec![ByteOrder::Little, ByteOrder::Big]);
        prop_oneof![
            (1..=64u8).prop_map(|bits| Codec::Plain { bits }),
            (1..=8u8, order()).prop_map(|(bytes, order)| Codec::Ordered {
                bits: 8 * bytes,
                order
            }),
            prop::sample::select(vec![
                Codec::Leb128,
                Codec::Sleb128,
                Codec::Vlq,
                Codec::Prefix,
                Codec::Quic,
                Codec::UbitVar,
                Codec::Packed,
                Codec::QuakeFloat,
            ]),
            (1..=8u8, any::<bool>(), prop::option::of(order())).prop_map(
                |(bytes, signed, order)| Codec::Compressed {
                    bits: 8 * bytes,
                    signed,
                    order
                }
            ),
            (1..=20u8).prop_map(|bits| Codec::SmallestThree { bits }),
        ]
    }

    proptest! {
        #[test]
        fn any_bits_are_read_and_written_back_and_nothing_is_read_past_the_end(
            codec in codecs(),
            bytes in prop::collection::vec(any::<u8>(), 0..12),
            fill in prop::sample::select(vec![0u8, 0xff]),
            filled in 0..12usize,
            mixed in any::<bool>(),
        ) {
            let mut bytes = bytes;
            let last = filled.min(bytes.len());
            bytes[..last].fill(fill);
            for mut order in [LITTLE, BIG] {
                if mixed {
                    order.bytes = if order == LITTLE { ByteOrder::Big } else { ByteOrder::Little };
                }
                let Ok((raw, width)) = read(codec, order, &bytes) else { continue };
                prop_assert!(width as usize <= 8 * bytes.len());
                let fewest = codec.fewest(raw, order);
                prop_assert!(fewest.is_some_and(|fewest| fewest <= width), "{raw} {fewest:?} {width}");
                let mut writer = BitWriter::new(order);
                let written = codec.write(raw, Some(width), order, |value, bits| {
                    writer.write(value, bits);
                });
                prop_assert_eq!(written, Ok(()));
                let again = writer.into_bytes();
                let before = BitReader::new(&bytes, order).bytes(0, width);
                prop_assert_eq!(BitReader::new(&again, order).bytes(0, width), before);
                // The fewest bits stand for the same integer.
                let short = write(codec, order, raw, None).map_err(TestCaseError::fail)?;
                let short = read(codec, order, &short);
                prop_assert_eq!(short, Ok((raw, fewest.unwrap_or(0))));
            }
        }
    }
}
