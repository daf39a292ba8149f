//! Steps that read: lengths, padding, counts; and why they cannot.

use super::machine::{Machine, Stop};
use super::problem::Problem;
use super::sink::Sink;
use super::tape::{Content, Tape};
use crate::arithmetic;
use crate::facts::Meaning;
use crate::layout::Encoding;
use crate::limits::REPEAT_MAX;
use crate::operation::{Extent, Operand};
use crate::values::codec::Codec;

impl<'p, T: Tape<'p>, S: Sink> Machine<'p, '_, T, S> {
    #[inline]
    pub(super) fn read(&mut self, bits: u8, field: u32) -> Result<u64, Stop> {
        let read = self.tape.fixed(u32::from(bits), field);
        read.map_err(|problem| Stop::at(field, problem))
    }

    #[inline]
    pub(super) fn read_leb128(&mut self, field: u32) -> Result<u64, Stop> {
        let read = self.tape.leb128(field);
        read.map_err(|problem| Stop::at(field, problem))
    }

    pub(super) fn read_prefix(&mut self, codec: Codec, field: u32) -> Result<u64, Stop> {
        let read = self.tape.prefix(codec, field);
        read.map_err(|problem| Stop::at(field, problem))
    }

    /// The bits of a text or bytes.
    pub(super) fn take_content(
        &mut self,
        extent: Extent,
        encoding: Encoding,
        field: u32,
    ) -> Result<Content, Stop> {
        let taken = match extent {
            Extent::Bytes(length) | Extent::Prefixed(length) | Extent::Padded(length) => {
                let length = self.needed(length).map_err(|stop| stop.in_field(field))?;
                let prefixed = matches!(extent, Extent::Prefixed(_));
                self.tape.content(length, prefixed, field)
            }
            Extent::Zero => self.tape.content_to_zero(encoding, field),
            Extent::Rest => self.tape.content_rest(field),
        };
        taken.map_err(|problem| Stop::at(field, problem))
    }

    /// A field that takes no bits. What does not fit its type is told, and shown as the nearest
    /// value that does.
    pub(super) fn compute(
        &mut self,
        value: i128,
        (low, high): (i128, i128),
        (offset, bits): (bool, u8),
        fact: Option<Meaning>,
        field: u32,
    ) {
        let at = self.tape.at();
        self.tape.computed(field);
        let unresolved = arithmetic::unresolved_field(value).is_some();
        let fits = (low..=high).contains(&value);
        if !fits && !unresolved {
            self.report(Some(field), at, Problem::OutOfRange { value, low, high });
        }
        let shown = if unresolved {
            0.clamp(low, high)
        } else {
            value.clamp(low, high)
        };
        let raw = if offset { shown - low } else { shown };
        let raw = raw as u64 & u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
        self.sink.value(field, at..at, raw);
        if unresolved {
            self.sink.sum(None);
        } else if let (true, Ok(value)) = (fits, u64::try_from(value)) {
            self.say(fact, value, bits);
        }
    }

    pub(super) fn align(&mut self, bits: u32, pad: Option<bool>, field: u32) -> Result<(), Stop> {
        let at = self.tape.at();
        let width = if bits.is_power_of_two() {
            at.wrapping_neg() & (bits - 1)
        } else {
            (bits - at % bits) % bits
        };
        if width == 0 {
            return Ok(());
        }
        let expected = pad.map(|pad| if pad { u64::MAX >> (64 - width) } else { 0 });
        let padding = self.tape.padding(width, expected, field);
        let raw = padding.map_err(|problem| Stop::at(field, problem))?;
        if expected.is_some_and(|expected| raw != expected) {
            self.report(Some(field), at, Problem::Padding { found: raw });
        }
        self.sink.value(field, at..self.tape.at(), raw);
        Ok(())
    }

    /// The number of elements of a repeat.
    pub(super) fn count(&mut self, count: Operand, field: u32) -> Result<u32, Stop> {
        let count = self.needed(count).map_err(|stop| stop.in_field(field))?;
        let problem = if count < 0 {
            Problem::NegativeCount { count }
        } else if count > i128::from(REPEAT_MAX) {
            Problem::TooManyElements { count }
        } else {
            let count = self.tape.count(count as u32, field);
            return count.map_err(|problem| Stop::at(field, problem));
        };
        Err(Stop::at(field, problem))
    }

    /// Skips field by field, so that the tape stops at the field that is cut.
    pub(super) fn cut_skip(&mut self, first: u32, count: u32) -> Result<(), Stop> {
        let widths = self
            .plan
            .skipped_bits
            .iter()
            .skip(first as usize)
            .take(count as usize);
        for &width in widths {
            if !self.tape.skip_field(u32::from(width)) {
                return Err(Stop::here(self.tape.past_end(u64::from(width))));
            }
        }
        Ok(())
    }
}
