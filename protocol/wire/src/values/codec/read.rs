//! Bits to a raw integer.

use super::{Codec, Failed, IS_FLOAT, UBITVAR_MORE, fill, in_order};
use crate::layout::{ByteOrder, Order};

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
