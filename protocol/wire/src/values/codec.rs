//! Integers that are more than a row of bits: explicit byte orders and varints.
//!
//! Each codec turns bits into one raw integer and back. Where several rows of bits stand for the
//! same integer, the number of bits tells them apart, so that raw and width give the bits again.

use crate::check::model::{ByteOrder, Order};

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
    /// Two bits and three times so many, from the lowest up.
    SmallestThree { bits: u8 },
}

/// Why a codec has no integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// So many bits are needed, from the first one on.
    PastEnd { needed: u32 },
    /// The integer has more than so many bits.
    TooLong { bits: u8 },
}

/// Which bit of a [`Codec::QuakeFloat`]'s raw integer says that the others are a float.
const IS_FLOAT: u64 = 1 << 32;

/// Bits that come one after the other, with a count of them.
struct Taking<F> {
    take: F,
    taken: u32,
}

impl<F: FnMut(u32) -> Option<u64>> Taking<F> {
    #[inline]
    fn bits(&mut self, bits: u32) -> Result<u64, Failed> {
        self.taken += bits;
        let needed = self.taken;
        (self.take)(bits).ok_or(Failed::PastEnd { needed })
    }
}

impl Codec {
    /// The raw integer. `take` gives integers of 1 to 64 bits in the stream's order.
    #[inline]
    pub(crate) fn read(
        self,
        stream: Order,
        take: impl FnMut(u32) -> Option<u64>,
    ) -> Result<u64, Failed> {
        let mut taking = Taking { take, taken: 0 };
        match self {
            Codec::Plain { bits } => taking.bits(bits.into()),
            Codec::Ordered { bits, order } => {
                let raw = taking.bits(bits.into())?;
                Ok(in_order(raw, bits, order != stream.bytes))
            }
            Codec::Leb128 => groups_upwards(&mut taking),
            Codec::Sleb128 => read_sleb128(&mut taking),
            Codec::Vlq => {
                let mut value: u64 = 0;
                loop {
                    let byte = taking.bits(8)?;
                    if value >> 57 != 0 || taking.taken > 80 {
                        return Err(Failed::TooLong { bits: 64 });
                    }
                    value = value << 7 | byte & 0x7f;
                    if byte & 0x80 == 0 {
                        return Ok(value);
                    }
                }
            }
            Codec::Prefix => {
                let first = taking.bits(8)? as u8;
                let more = first.leading_ones();
                let mut value = u64::from(first) & 0x7fu64.checked_shr(more).unwrap_or(0);
                for _ in 0..more {
                    value = value << 8 | taking.bits(8)?;
                }
                Ok(value)
            }
            Codec::Quic => {
                let first = taking.bits(8)?;
                let mut value = first & 0x3f;
                for _ in 1..1u32 << (first >> 6) {
                    value = value << 8 | taking.bits(8)?;
                }
                Ok(value)
            }
            Codec::UbitVar => {
                let head = taking.bits(6)?;
                let more = UBITVAR_MORE[(head >> 4) as usize & 3];
                if more == 0 {
                    return Ok(head);
                }
                Ok(head & 15 | taking.bits(more)? << 4)
            }
            Codec::Packed => read_packed(&mut taking),
            Codec::Compressed {
                bits,
                signed,
                order,
            } => {
                let order = order.unwrap_or(stream.bytes);
                read_compressed(&mut taking, bits, signed, order)
            }
            Codec::QuakeFloat => Ok(match taking.bits(1)? {
                0 => taking.bits(13)?,
                _ => IS_FLOAT | taking.bits(32)?,
            }),
            Codec::SmallestThree { bits } => {
                let mut raw = taking.bits(2)?;
                for place in 0..3 {
                    raw |= taking.bits(bits.into())? << (2 + place * u32::from(bits));
                }
                Ok(raw)
            }
        }
    }

    /// Puts down the bits of a raw integer, in so many bits or in the fewest. `put` takes an integer
    /// and its bits, 1 to 64, in the stream's order.
    ///
    /// # Errors
    /// Why not: the integer does not fit, or not in so many bits.
    pub(crate) fn write(
        self,
        raw: u64,
        width: Option<u32>,
        stream: Order,
        mut put: impl FnMut(u64, u32),
    ) -> Result<(), String> {
        let Some(fewest) = self.fewest(raw, stream) else {
            return Err(format!("{raw} does not fit"));
        };
        let width = width.unwrap_or(fewest);
        if !self.widths(raw, fewest).contains(&width) {
            return Err(format!(
                "{raw} takes {fewest} bits here, and cannot take {width}"
            ));
        }
        match self {
            Codec::Plain { bits } => put(raw, bits.into()),
            Codec::Ordered { bits, order } => {
                put(in_order(raw, bits, order != stream.bytes), bits.into());
            }
            Codec::Leb128 | Codec::Sleb128 => {
                let fill = match self {
                    Codec::Sleb128 if raw >> 63 == 1 => 0x7f,
                    _ => 0,
                };
                for place in 0..width / 8 {
                    let more = u64::from(8 * (place + 1) < width) << 7;
                    let group = match (place, fill) {
                        (10.., _) => fill,
                        (9, 0x7f) => 0x7f,
                        _ => raw >> (7 * place) & 0x7f,
                    };
                    put(group | more, 8);
                }
            }
            Codec::Vlq => {
                for place in (0..width / 8).rev() {
                    let group = raw.checked_shr(7 * place).unwrap_or(0) & 0x7f;
                    put(group | u64::from(place > 0) << 7, 8);
                }
            }
            Codec::Prefix => {
                let more = width / 8 - 1;
                let ones = !0xffu64.checked_shr(more).unwrap_or(0) & 0xff;
                let top = raw.checked_shr(8 * more).unwrap_or(0);
                put(ones | top, 8);
                for place in (0..more).rev() {
                    put(raw >> (8 * place) & 0xff, 8);
                }
            }
            Codec::Quic => {
                let bytes = width / 8;
                let tag = u64::from(bytes.trailing_zeros());
                for place in (0..bytes).rev() {
                    let head = if place + 1 == bytes { tag << 6 } else { 0 };
                    put(raw >> (8 * place) & 0xff | head, 8);
                }
            }
            Codec::UbitVar => {
                let more = width - 6;
                let tag = UBITVAR_MORE.iter().position(|&bits| bits == more);
                put(raw & 15 | (tag.unwrap_or(0) as u64) << 4, 6);
                if more > 0 {
                    put(raw >> 4, more);
                }
            }
            Codec::Packed => {
                let value = (raw as u32).cast_signed();
                let magnitude = u64::from((value ^ value >> 31).cast_unsigned());
                let more = |place: u32| u64::from(8 * (place + 1) < width) << 7;
                put(more(0) | u64::from(value < 0) << 6 | magnitude & 0x3f, 8);
                for place in 1..width / 8 {
                    put(more(place) | magnitude >> (7 * place - 1) & 0x7f, 8);
                }
            }
            Codec::Compressed { bits, order, .. } => {
                let order = order.unwrap_or(stream.bytes);
                write_compressed(raw, bits, order, width, put);
            }
            Codec::QuakeFloat if raw & IS_FLOAT == 0 => {
                put(0, 1);
                put(raw, 13);
            }
            Codec::QuakeFloat => {
                put(1, 1);
                put(raw & !IS_FLOAT, 32);
            }
            Codec::SmallestThree { bits } => {
                put(raw & 3, 2);
                for place in 0..3 {
                    let shift = 2 + place * u32::from(bits);
                    put(
                        raw >> shift & u64::MAX >> (64 - u32::from(bits)),
                        bits.into(),
                    );
                }
            }
        }
        Ok(())
    }

    /// The bits that a writer gives a raw integer; `None` where it does not fit.
    pub(crate) fn fewest(self, raw: u64, stream: Order) -> Option<u32> {
        let significant = 64 - raw.leading_zeros();
        let fits = |bits: u32| (significant <= bits).then_some(bits);
        match self {
            Codec::Plain { bits } | Codec::Ordered { bits, .. } => fits(bits.into()),
            Codec::Leb128 | Codec::Vlq => Some(8 * significant.div_ceil(7).max(1)),
            Codec::Sleb128 => {
                let signed = raw.cast_signed();
                let significant = 65 - (signed ^ signed >> 63).leading_zeros();
                Some(8 * significant.div_ceil(7))
            }
            Codec::Prefix => Some(8 * significant.div_ceil(7).clamp(1, 9)),
            Codec::Quic => [(6, 8), (14, 16), (30, 32), (62, 64)]
                .into_iter()
                .find(|&(holds, _)| significant <= holds)
                .map(|(_, bits)| bits),
            Codec::UbitVar => [4, 8, 12, 32]
                .into_iter()
                .position(|holds| significant <= holds)
                .map(|place| 6 + UBITVAR_MORE[place]),
            Codec::Packed => {
                fits(32)?;
                let value = (raw as u32).cast_signed();
                let significant = 32 - (value ^ value >> 31).leading_zeros();
                Some(8 + 8 * significant.saturating_sub(6).div_ceil(7))
            }
            Codec::Compressed {
                bits,
                signed,
                order,
            } => {
                fits(bits.into())?;
                let bytes = compressed_bytes(raw, bits, order.unwrap_or(stream.bytes));
                let fill = fill(signed);
                let count = u32::from(bits / 8);
                let filled = bytes[..count as usize].iter().rev();
                let skipped = filled.take_while(|&&byte| byte == fill).count() as u32;
                Some(match skipped.min(count - 1) {
                    skipped if skipped + 1 < count => skipped + 1 + 8 * (count - skipped),
                    _ if bytes[0] & 0xf0 == fill & 0xf0 => count + 4,
                    _ => count + 8,
                })
            }
            Codec::QuakeFloat if raw & IS_FLOAT != 0 => (raw >> 33 == 0).then_some(33),
            Codec::QuakeFloat => (raw >> 13 == 0).then_some(14),
            Codec::SmallestThree { bits } => fits(2 + 3 * u32::from(bits)),
        }
    }

    /// All numbers of bits that can hold a raw integer.
    fn widths(self, raw: u64, fewest: u32) -> Vec<u32> {
        let from = |widths: &[u32]| {
            let widths = widths.iter().copied();
            widths.filter(|&width| width >= fewest).collect()
        };
        match self {
            Codec::Leb128 | Codec::Sleb128 | Codec::Vlq => (fewest..=80).step_by(8).collect(),
            Codec::Prefix => (fewest..=72).step_by(8).collect(),
            Codec::Quic => from(&[8, 16, 32, 64]),
            Codec::UbitVar if raw < 16 => vec![6, 10, 14, 34],
            Codec::UbitVar => from(&[10, 14, 34]),
            Codec::Packed => (fewest..=40).step_by(8).collect(),
            Codec::Compressed { bits, .. } => {
                let count = u32::from(bits / 8);
                let longer = (1..=count).map(|left| count - left + 1 + 8 * left);
                let longer = longer.filter(|&width| width > fewest);
                std::iter::once(fewest).chain(longer).collect()
            }
            _ => vec![fewest],
        }
    }

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
    match other {
        true => raw.swap_bytes() >> (64 - u32::from(bits)),
        false => raw,
    }
}

fn groups_upwards<F: FnMut(u32) -> Option<u64>>(taking: &mut Taking<F>) -> Result<u64, Failed> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = taking.bits(8)?;
        if shift == 63 && byte > 1 {
            break;
        }
        value |= (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Failed::TooLong { bits: 64 })
}

fn read_sleb128<F: FnMut(u32) -> Option<u64>>(taking: &mut Taking<F>) -> Result<u64, Failed> {
    let mut value = 0u64;
    for shift in (0..64u32).step_by(7) {
        let byte = taking.bits(8)?;
        // Of the tenth byte one bit counts; the others have to repeat it.
        if shift == 63 && byte != 0 && byte != 0x7f {
            break;
        }
        value |= (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            if byte & 0x40 != 0 && shift + 7 < 64 {
                value |= u64::MAX << (shift + 7);
            }
            return Ok(value);
        }
    }
    Err(Failed::TooLong { bits: 64 })
}

fn read_packed<F: FnMut(u32) -> Option<u64>>(taking: &mut Taking<F>) -> Result<u64, Failed> {
    let first = taking.bits(8)?;
    let mut magnitude = first & 0x3f;
    let mut more = first & 0x80 != 0;
    for place in 1..5 {
        if !more {
            break;
        }
        let byte = taking.bits(8)?;
        magnitude |= (byte & 0x7f) << (7 * place - 1);
        more = byte & 0x80 != 0;
    }
    if more || magnitude >> 31 != 0 {
        return Err(Failed::TooLong { bits: 32 });
    }
    let sign = if first & 0x40 != 0 { u32::MAX } else { 0 };
    Ok(u64::from(magnitude as u32 ^ sign))
}

/// The bytes of an integer; those past its width are 0.
fn compressed_bytes(raw: u64, bits: u8, order: ByteOrder) -> [u8; 8] {
    in_order(raw, bits, order == ByteOrder::Big).to_le_bytes()
}

/// What bytes are that can be left out.
fn fill(signed: bool) -> u8 {
    if signed { 0xff } else { 0 }
}

fn read_compressed<F: FnMut(u32) -> Option<u64>>(
    taking: &mut Taking<F>,
    bits: u8,
    signed: bool,
    order: ByteOrder,
) -> Result<u64, Failed> {
    let count = usize::from(bits / 8).clamp(1, 8);
    let mut bytes = [0u8; 8];
    bytes[..count].fill(fill(signed));
    let mut left = count;
    while left > 1 && taking.bits(1)? == 1 {
        left -= 1;
    }
    let whole = left > 1 || taking.bits(1)? == 0;
    if whole {
        for byte in bytes.iter_mut().take(left) {
            *byte = taking.bits(8)? as u8;
        }
    } else {
        bytes[0] = taking.bits(4)? as u8 | fill(signed) & 0xf0;
    }
    Ok(in_order(
        u64::from_le_bytes(bytes),
        bits,
        order == ByteOrder::Big,
    ))
}

fn write_compressed(
    raw: u64,
    bits: u8,
    order: ByteOrder,
    width: u32,
    mut put: impl FnMut(u64, u32),
) {
    let bytes = compressed_bytes(raw, bits, order);
    let count = u32::from(bits / 8);
    let half = width == count + 4;
    let left = match half {
        true => 1,
        false => (width - count - 1) / 7,
    };
    for _ in left..count {
        put(1, 1);
    }
    put(half.into(), 1);
    if half {
        put(u64::from(bytes[0] & 15), 4);
        return;
    }
    for &byte in bytes.iter().take(left as usize) {
        put(byte.into(), 8);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bit_writer::BitWriter;
    use crate::bits::BitReader;
    use crate::check::model::BitOrder;

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
