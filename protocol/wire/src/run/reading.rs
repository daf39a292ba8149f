//! Bits that come from a packet.

use std::borrow::Cow;
use std::ops::Range;

use super::arena::Arena;
use super::problem::{Limit, Problem};
use super::stack::Stack;
use super::tape::{Content, Inflated, Opened, Tape, Through};
use crate::bits::BitReader;
use crate::check::model::Look;
use crate::layers::Failure;
use crate::layout::{ByteOrder, Encoding};
use crate::limits::{INFLATED_MAX, LAYER_DEPTH_MAX, LAYERS_MAX};
use crate::values::codec::{Codec, Failed};
use crate::values::text::{find_zero, is_text, unit_bytes};

/// A tape that reads.
pub(crate) struct Reading<'a> {
    reader: BitReader<'a>,
    /// Where the length prefix that was read last starts.
    prefix_at: u32,
    /// The windows and layers that the tape is in.
    inside: Stack<Inside<'a>>,
    arena: &'a Arena,
    inflated: Inflated,
}

/// Something that the tape is in.
#[derive(Clone, Copy)]
enum Inside<'a> {
    Window {
        text: u32,
        bytes: u32,
        /// Where what is around it ends.
        outer_end: u32,
        is_short: bool,
    },
    /// What stands elsewhere.
    Elsewhere { outer_at: u32, outer_end: u32 },
    Layer {
        text: u32,
        /// Where the tape stands around it.
        outer: BitReader<'a>,
    },
}

impl<'a> Reading<'a> {
    /// `arena` is for the streams inside.
    pub(crate) fn new(reader: BitReader<'a>, arena: &'a Arena) -> Reading<'a> {
        Reading {
            reader,
            prefix_at: 0,
            inside: Stack::new(),
            arena,
            inflated: Inflated::default(),
        }
    }

    /// What comes out of a layer, and how the tape goes through it.
    fn unpack(
        &mut self,
        through: &Through<'_>,
        packed: Cow<'a, [u8]>,
    ) -> Result<&'a [u8], Failure> {
        let is_layer = |inside: &&Inside<'_>| matches!(inside, Inside::Layer { .. });
        if self.inside.iter().filter(is_layer).count() >= LAYER_DEPTH_MAX {
            let why =
                format!("layers stand deeper in each other than the limit of {LAYER_DEPTH_MAX}");
            return Err(Failure::Broken(why));
        }
        if self.inflated.layers >= LAYERS_MAX {
            let why = format!("the packet has more layers than the limit of {LAYERS_MAX}");
            return Err(Failure::Broken(why));
        }
        self.inflated.layers += 1;
        let Some(transform) = through.transform(self.reader.order()) else {
            return Ok(match packed {
                Cow::Borrowed(packed) => packed,
                Cow::Owned(packed) => self.arena.keep(packed),
            });
        };
        let left = INFLATED_MAX.saturating_sub(self.inflated.bytes);
        let max = through.layer.inflated_max.min(left);
        let inner = transform.unpack(&through.arguments, &packed, max);
        match inner {
            Ok(inner) => {
                self.inflated.bytes += inner.len();
                Ok(self.arena.keep(inner))
            }
            Err(Failure::TooLong { max }) if max == left => Err(Failure::Broken(format!(
                "the layers of the packet give more than the limit of {INFLATED_MAX} bytes together"
            ))),
            Err(failure) => Err(failure),
        }
    }

    fn leave_innermost(&mut self) -> bool {
        match self.inside.pop() {
            Some(Inside::Window {
                outer_end,
                is_short,
                ..
            }) => {
                self.reader.set_end(outer_end);
                is_short
            }
            Some(Inside::Elsewhere {
                outer_at,
                outer_end,
            }) => {
                self.reader.set(outer_at, outer_end);
                false
            }
            Some(Inside::Layer { outer, .. }) => {
                self.reader = outer;
                false
            }
            None => false,
        }
    }

    /// The first bit past the stream's end.
    pub(crate) fn end(&self) -> u32 {
        self.reader.end()
    }

    fn limit(&self) -> Limit {
        match self.inside.last() {
            Some(&Inside::Window { text, bytes, .. }) => Limit::Window { text, bytes },
            Some(&Inside::Layer { text, .. }) => Limit::Layer { text },
            Some(Inside::Elsewhere { .. }) | None => Limit::Whole,
        }
    }
}

impl<'a, 'p: 'a> Tape<'p> for Reading<'a> {
    #[inline]
    fn at(&self) -> u32 {
        self.reader.at()
    }

    fn looked_through(&self) -> u32 {
        self.left()
    }

    #[inline]
    fn left(&self) -> u32 {
        self.reader.left()
    }

    #[inline]
    fn fixed(&mut self, bits: u32, _: u32) -> Result<u64, Problem> {
        let raw = self.reader.read(bits);
        raw.ok_or_else(|| self.past_end(bits.into()))
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
        let found = if self.reader.is_coded() {
            read_to_zero(&mut self.reader, unit)
        } else {
            let zero = find_zero(&self.reader, from, end, encoding);
            self.reader.skip(zero.map_or(0, |zero| zero - from + unit));
            zero.ok_or(end)
        };
        let zero = found.map_err(|end| {
            self.reader.rewind(from);
            self.past_end(u64::from(end - from) + u64::from(unit))
        })?;
        Ok(Content {
            whole: from..self.reader.at(),
            content: from..zero,
        })
    }

    fn content_rest(&mut self, _: u32) -> Result<Content, Problem> {
        let from = self.reader.at();
        if self.reader.is_coded() {
            while self.reader.skip_bytes(1) {}
        } else {
            self.reader.skip(self.reader.left() / 8 * 8);
        }
        Ok(Content {
            whole: from..self.reader.at(),
            content: from..self.reader.at(),
        })
    }

    fn text_end(&self, content: Range<u32>, encoding: Encoding) -> u32 {
        if self.reader.is_coded() {
            let mut reader = self.reader.part(content.clone());
            return read_to_zero(&mut reader, 8 * unit_bytes(encoding)).unwrap_or(content.end);
        }
        let zero = find_zero(&self.reader, content.start, content.end, encoding);
        zero.unwrap_or(content.end)
    }

    #[inline]
    fn look(&mut self, look: Look, ahead: i128, _: u32) -> Result<Option<i128>, Problem> {
        let codec = match look {
            Look::Left => return Ok(Some(self.reader.left().into())),
            Look::Integer(codec) => codec,
        };
        let mut reader = self.reader;
        if !u32::try_from(ahead).is_ok_and(|ahead| reader.skip_read(ahead)) {
            return Ok(None);
        }
        let raw = codec.read(reader.order(), |bits| reader.read(bits));
        Ok(raw.ok().map(i128::from))
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
        if !self.reader.skip_bytes(length) {
            let needed = length
                .saturating_mul(8)
                .saturating_add(u64::from(from - start));
            self.reader.rewind(start);
            return Err(self.past_end(needed));
        }
        Ok(Content {
            whole: start..self.reader.at(),
            content: from..self.reader.at(),
        })
    }

    #[inline]
    fn padding(&mut self, bits: u32, _: Option<u64>, _: u32) -> Result<u64, Problem> {
        let raw = self.reader.read_plain(bits);
        raw.ok_or_else(|| self.past_end(bits.into()))
    }

    #[inline]
    fn skip(&mut self, bits: u32) -> bool {
        !self.reader.is_coded() && self.reader.skip(bits)
    }

    fn skip_field(&mut self, bits: u32) -> bool {
        self.reader.skip_read(bits)
    }

    #[inline]
    fn more(&mut self) -> bool {
        self.reader.left() > 0
    }

    fn with_bytes(&self, bits: Range<u32>, show: impl FnOnce(&[u8])) {
        match self.reader.slice(bits.start, bits.end) {
            Some(bytes) => show(bytes),
            None => show(&self.reader.bytes(bits.start, bits.end)),
        }
    }

    fn copy(&self, bits: Range<u32>, to: &mut Vec<u8>) {
        self.reader.copy(bits.start, bits.end, to);
    }

    fn window(
        &mut self,
        bytes: Option<i128>,
        text: u32,
        _: u32,
        _: bool,
    ) -> Result<Opened, Problem> {
        let bytes = bytes.unwrap_or_else(|| i128::from(self.reader.left() / 8));
        if bytes < 0 {
            return Err(Problem::NegativeSize { text, bytes });
        }
        let (left, outer_end) = (self.reader.left(), self.reader.end());
        let whole = u32::try_from(bytes)
            .ok()
            .and_then(|it| it.checked_mul(8))
            .filter(|&bits| bits <= left);
        let (bits, is_short) = (whole.unwrap_or(left), whole.is_none());
        let limit = self.limit();
        self.inside.push(Inside::Window {
            text,
            bytes: bits / 8,
            outer_end,
            is_short,
        });
        self.reader.set_end(self.reader.at() + bits);
        Ok(if is_short {
            Opened::Short { left, limit }
        } else {
            Opened::Whole
        })
    }

    fn jump(&mut self, at: i128, text: u32, _: u32) -> Result<(), Problem> {
        let (outer_at, outer_end) = (self.reader.at(), self.reader.end());
        let end = self.reader.all().len() as u32 * 8;
        match u32::try_from(at).ok().filter(|&at| at <= end) {
            Some(at) => self.reader.set(at, end),
            None => return Err(Problem::Nowhere { text, at, end }),
        }
        self.inside.push(Inside::Elsewhere {
            outer_at,
            outer_end,
        });
        Ok(())
    }

    fn rest(&mut self) -> Range<u32> {
        if let Some(Inside::Elsewhere { .. }) = self.inside.last() {
            return self.reader.at()..self.reader.at();
        }
        let from = self.reader.at();
        self.reader.skip(self.reader.left());
        from..self.reader.at()
    }

    fn end_window(&mut self) -> Result<(), Problem> {
        if self.leave_innermost() {
            Err(Problem::Told)
        } else {
            Ok(())
        }
    }

    fn unwind(&mut self, depth: usize) {
        while self.inside.len() > depth {
            self.leave_innermost();
        }
    }

    fn layer(&mut self, through: &Through<'p>) -> Result<(), Failure> {
        let (from, whole) = (self.reader.at(), self.reader.left() / 8 * 8);
        let plain = self.reader.coded(None);
        let packed = match plain.slice(from, from + whole) {
            Some(packed) => Cow::Borrowed(packed),
            None => Cow::Owned(plain.bytes(from, from + whole)),
        };
        let inner = self.unpack(through, packed)?;
        let order = through.order(self.reader.order());
        self.reader.skip(whole);
        let inner = BitReader::new(inner, order).coded(through.coding());
        let outer = std::mem::replace(&mut self.reader, inner);
        let text = through.text;
        self.inside.push(Inside::Layer { text, outer });
        Ok(())
    }

    fn end_layer(&mut self) -> Result<(), Failure> {
        self.leave_innermost();
        Ok(())
    }

    fn inflated(&self) -> Inflated {
        self.inflated
    }

    fn set_inflated(&mut self, inflated: Inflated) {
        self.inflated = inflated;
    }

    fn byte_order(&self) -> ByteOrder {
        self.reader.order().bytes
    }

    fn set_byte_order(&mut self, order: ByteOrder) {
        self.reader.set_byte_order(order);
    }

    fn stream(&self) -> BitReader<'_> {
        self.reader
    }

    fn past_end(&self, needed: u64) -> Problem {
        let (left, limit) = (self.reader.left(), self.limit());
        if self.reader.is_coded() && left >= 32 && needed > 0 {
            return Problem::NoCode;
        }
        Problem::PastEnd {
            needed,
            left,
            limit,
        }
    }

    fn is_text(&self, bits: Range<u32>, encoding: Encoding) -> bool {
        if !self.reader.is_coded() {
            return is_text(&self.reader, bits.start, bits.end, encoding);
        }
        let bytes = self.reader.bytes(bits.start, bits.end);
        let plain = BitReader::new(&bytes, self.reader.order());
        is_text(&plain, 0, plain.end(), encoding)
    }
}

/// Reads units of a coded stream until one is 0: where that one begins; `Err`: where the first begins that
/// cannot be read.
fn read_to_zero(reader: &mut BitReader<'_>, unit: u32) -> Result<u32, u32> {
    loop {
        let at = reader.at();
        match reader.read(unit) {
            Some(0) => return Ok(at),
            Some(_) => {}
            None => return Err(at),
        }
    }
}
