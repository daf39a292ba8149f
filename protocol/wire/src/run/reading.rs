//! Bits that come from a packet.

use std::ops::Range;

use super::problem::{Limit, Problem};
use super::tape::{Content, Opened, Tape};
use crate::bits::BitReader;
use crate::check::model::{Encoding, Look};
use crate::values::codec::{Codec, Failed};
use crate::values::text::{find_zero, is_text, unit_bytes};

/// A tape that reads.
pub(crate) struct Reading<'a> {
    reader: BitReader<'a>,
    /// Where the length prefix that was read last starts.
    prefix_at: u32,
    windows: Vec<Window>,
}

/// A window that the tape is in.
struct Window {
    text: u32,
    bytes: u32,
    /// Where what is around it ends.
    outer_end: u32,
    is_short: bool,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(reader: BitReader<'a>) -> Reading<'a> {
        Reading {
            reader,
            prefix_at: 0,
            windows: Vec::new(),
        }
    }

    /// The first bit past the stream's end.
    pub(crate) fn end(&self) -> u32 {
        self.reader.end()
    }

    fn limit(&self) -> Limit {
        match self.windows.last() {
            Some(&Window { text, bytes, .. }) => Limit::Window { text, bytes },
            None => Limit::Whole,
        }
    }
}

impl Tape for Reading<'_> {
    #[inline]
    fn at(&self) -> u32 {
        self.reader.at()
    }

    #[inline]
    fn left(&self) -> u32 {
        self.reader.left()
    }

    #[inline]
    fn fixed(&mut self, bits: u32, _: u32) -> Result<u64, Problem> {
        match self.reader.read(bits) {
            Some(raw) => Ok(raw),
            None => Err(self.past_end(u64::from(bits))),
        }
    }

    #[inline]
    fn leb128(&mut self, _: u32) -> Result<u64, Problem> {
        let at = self.reader.at();
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.reader.read(8) else {
                let needed = u64::from(self.reader.at() - at) + 8;
                self.reader.rewind(at);
                return Err(self.past_end(needed));
            };
            if shift == 63 && byte > 1 {
                self.reader.rewind(at);
                return Err(Problem::VarintTooLong { bits: 64 });
            }
            value |= (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    fn coded(&mut self, codec: Codec, _: u32) -> Result<u64, Problem> {
        let at = self.reader.at();
        let order = self.reader.order();
        match codec.read(order, |bits| self.reader.read(bits)) {
            Ok(raw) => Ok(raw),
            Err(Failed::PastEnd { needed }) => {
                self.reader.rewind(at);
                Err(self.past_end(needed.into()))
            }
            Err(Failed::TooLong { bits }) => {
                self.reader.rewind(at);
                Err(Problem::VarintTooLong { bits })
            }
        }
    }

    fn prefix(&mut self, codec: Codec, field: u32) -> Result<u64, Problem> {
        self.prefix_at = self.reader.at();
        match codec {
            Codec::Plain { bits } => self.fixed(bits.into(), field),
            Codec::Leb128 => self.leb128(field),
            codec => self.coded(codec, field),
        }
    }

    fn content_to_zero(&mut self, encoding: Encoding, _: u32) -> Result<Content, Problem> {
        let (from, end) = (self.reader.at(), self.reader.end());
        let unit = 8 * unit_bytes(encoding);
        let Some(zero) = find_zero(&self.reader, from, end, encoding) else {
            let needed = u64::from(end - from) + u64::from(unit);
            return Err(self.past_end(needed));
        };
        self.reader.skip(zero - from + unit);
        Ok(Content {
            whole: from..self.reader.at(),
            content: from..zero,
        })
    }

    fn content_rest(&mut self, _: u32) -> Result<Content, Problem> {
        let from = self.reader.at();
        self.reader.skip(self.reader.left() / 8 * 8);
        Ok(Content {
            whole: from..self.reader.at(),
            content: from..self.reader.at(),
        })
    }

    fn text_end(&self, content: Range<u32>, encoding: Encoding) -> u32 {
        let zero = find_zero(&self.reader, content.start, content.end, encoding);
        zero.unwrap_or(content.end)
    }

    #[inline]
    fn look(&mut self, look: Look, ahead: i128, _: u32) -> Result<Option<i128>, Problem> {
        let codec = match look {
            Look::Left => return Ok(Some(self.reader.left().into())),
            Look::Integer(codec) => codec,
        };
        let mut reader = self.reader.clone();
        if !u32::try_from(ahead).is_ok_and(|ahead| reader.skip(ahead)) {
            return Ok(None);
        }
        let raw = codec.read(reader.order(), |bits| reader.read(bits));
        Ok(raw.ok().map(i128::from))
    }

    #[inline]
    fn computed(&mut self, _: u32) {}

    #[inline]
    fn is_done(&mut self, holds: bool) -> bool {
        holds
    }

    fn content(&mut self, length: i128, prefixed: bool, _: u32) -> Result<Content, Problem> {
        let from = self.reader.at();
        let start = if prefixed { self.prefix_at } else { from };
        let Ok(length) = u64::try_from(length) else {
            self.reader.rewind(start);
            return Err(if length > 0 {
                self.past_end(u64::MAX)
            } else {
                Problem::NegativeLength { length }
            });
        };
        let needed = length.saturating_mul(8);
        if !u32::try_from(needed).is_ok_and(|needed| self.reader.skip(needed)) {
            let needed = needed.saturating_add(u64::from(from - start));
            self.reader.rewind(start);
            return Err(self.past_end(needed));
        }
        Ok(Content {
            whole: start..self.reader.at(),
            content: from..self.reader.at(),
        })
    }

    #[inline]
    fn padding(&mut self, bits: u32, _: Option<u64>, field: u32) -> Result<u64, Problem> {
        self.fixed(bits, field)
    }

    #[inline]
    fn skip(&mut self, bits: u32) -> bool {
        self.reader.skip(bits)
    }

    #[inline]
    fn count(&mut self, asked: u32, _: u32) -> Result<u32, Problem> {
        Ok(asked)
    }

    #[inline]
    fn more(&mut self) -> bool {
        self.reader.left() > 0
    }

    #[inline]
    fn enter(&mut self, _: u32) {}

    #[inline]
    fn leave(&mut self) {}

    #[inline]
    fn foresee(&mut self, _: u32) -> bool {
        false
    }

    #[inline]
    fn meet(&mut self, _: bool) -> bool {
        true
    }

    #[inline]
    fn derive(&mut self, _: u32) -> u32 {
        0
    }

    #[inline]
    fn is_derived(&mut self, _: u32, value: i128, derived: i128) -> bool {
        value == derived
    }

    fn with_bytes(&self, bits: Range<u32>, show: impl FnOnce(&[u8])) {
        match self.reader.slice(bits.start, bits.end) {
            Some(bytes) => show(bytes),
            None => show(&self.reader.bytes(bits.start, bits.end)),
        }
    }

    fn opens(&mut self, _: u32) -> bool {
        true
    }

    fn copy(&self, bits: Range<u32>, to: &mut Vec<u8>) {
        self.reader.copy(bits.start, bits.end, to);
    }

    fn window(&mut self, bytes: i128, text: u32, _: u32, _: bool) -> Result<Opened, Problem> {
        if bytes < 0 {
            return Err(Problem::NegativeSize { text, bytes });
        }
        let (left, outer_end) = (self.reader.left(), self.reader.end());
        let bits = bytes.saturating_mul(8);
        let is_short = bits > i128::from(left);
        let bits = if is_short { left } else { bits as u32 };
        self.windows.push(Window {
            text,
            bytes: bits / 8,
            outer_end,
            is_short,
        });
        self.reader.set_end(self.reader.at() + bits);
        Ok(match is_short {
            true => Opened::Short { left },
            false => Opened::Whole,
        })
    }

    fn rest(&mut self) -> Range<u32> {
        let from = self.reader.at();
        self.reader.skip(self.reader.left());
        from..self.reader.at()
    }

    fn end_window(&mut self) -> Result<(), Problem> {
        let Some(window) = self.windows.pop() else {
            return Ok(());
        };
        self.reader.set_end(window.outer_end);
        match window.is_short {
            true => Err(Problem::Told),
            false => Ok(()),
        }
    }

    fn unwind(&mut self, depth: usize) {
        while self.windows.len() > depth {
            if let Some(window) = self.windows.pop() {
                self.reader.set_end(window.outer_end);
            }
        }
    }

    fn can_give_up(&self) -> bool {
        true
    }

    fn past_end(&self, needed: u64) -> Problem {
        let (left, limit) = (self.reader.left(), self.limit());
        Problem::PastEnd {
            needed,
            left,
            limit,
        }
    }

    fn is_text(&self, bits: Range<u32>, encoding: Encoding) -> bool {
        is_text(&self.reader, bits.start, bits.end, encoding)
    }
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
