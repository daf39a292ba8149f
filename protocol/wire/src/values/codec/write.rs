//! A raw integer to bits, and how many it takes.

use super::{Codec, IS_FLOAT, UBITVAR_MORE, compressed_bytes, fill, in_order};
use crate::layout::{ByteOrder, Order};

impl Codec {
    /// Puts down the bits of a raw integer, in this many bits or in the fewest. `put` takes an integer
    /// and its bits, 1 to 64, in the stream's order.
    ///
    /// # Errors
    /// Why not: the integer does not fit, or not in this many bits.
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
        if !self.can_take(width, fewest) {
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
        let significant = match self {
            Codec::Plain { bits } | Codec::Ordered { bits, .. } => return fits(bits.into()),
            Codec::SmallestThree { bits } => return fits(2 + 3 * u32::from(bits)),
            Codec::QuakeFloat if raw & IS_FLOAT != 0 => return (raw >> 33 == 0).then_some(33),
            Codec::QuakeFloat => return (raw >> 13 == 0).then_some(14),
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
                return Some(match skipped.min(count - 1) {
                    skipped if skipped + 1 < count => skipped + 1 + 8 * (count - skipped),
                    _ if bytes[0] & 0xf0 == fill & 0xf0 => count + 4,
                    _ => count + 8,
                });
            }
            Codec::Sleb128 => {
                let signed = raw.cast_signed();
                65 - (signed ^ signed >> 63).leading_zeros()
            }
            Codec::Packed => {
                fits(32)?;
                let value = (raw as u32).cast_signed();
                32 - (value ^ value >> 31).leading_zeros()
            }
            Codec::Leb128 | Codec::Vlq | Codec::Prefix | Codec::Quic | Codec::UbitVar => {
                significant
            }
        };
        let found = self.sizes().find(|&(_, holds)| significant <= holds);
        found.map(|(width, _)| width)
    }

    /// The numbers of bits that a varint takes, each with how many that say something it holds.
    fn sizes(self) -> impl Iterator<Item = (u32, u32)> {
        let count = match self {
            Codec::Leb128 | Codec::Sleb128 | Codec::Vlq => 10,
            Codec::Prefix => 9,
            Codec::Packed => 5,
            Codec::Quic | Codec::UbitVar => 4,
            _ => 0,
        };
        (0..count).map(move |place: u32| {
            let bytes = place + 1;
            match self {
                Codec::Prefix if bytes == 9 => (72, 64),
                Codec::Packed => (8 * bytes, 7 * bytes - 1),
                Codec::Quic => {
                    let bits = 8_u32 << place;
                    (bits, bits - 2)
                }
                Codec::UbitVar => {
                    let more = UBITVAR_MORE[place as usize];
                    (6 + more, 4 + more)
                }
                _ => (8 * bytes, 7 * bytes),
            }
        })
    }

    /// Whether a raw integer can take that many bits.
    fn can_take(self, width: u32, fewest: u32) -> bool {
        if width <= fewest {
            return width == fewest;
        }
        match self {
            Codec::Compressed { bits, .. } => {
                let count = u32::from(bits / 8);
                (1..=count).any(|left| count - left + 1 + 8 * left == width)
            }
            _ => self.sizes().any(|(size, _)| size == width),
        }
    }
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
    let left = if half { 1 } else { (width - count - 1) / 7 };
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
