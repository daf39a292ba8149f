//! Steps that read: lengths, padding, counts; and why they cannot.

use super::machine::{Machine, Sink, Stop};
use super::problem::Problem;
use super::tape::{Content, Tape};
use crate::limits::REPEAT_MAX;
use crate::program::Operand;

impl<T: Tape, S: Sink> Machine<'_, '_, T, S> {
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

    pub(super) fn read_prefix(&mut self, bits: Option<u8>, field: u32) -> Result<u64, Stop> {
        let read = self.tape.prefix(bits.map(u32::from), field);
        read.map_err(|problem| Stop::at(field, problem))
    }

    /// The bits of so many bytes.
    pub(super) fn take_bytes(
        &mut self,
        length: Operand,
        prefixed: bool,
        field: u32,
    ) -> Result<Content, Stop> {
        let length = self.needed(length).map_err(|stop| stop.in_field(field))?;
        let taken = self.tape.content(length, prefixed, field);
        taken.map_err(|problem| Stop::at(field, problem))
    }

    pub(super) fn align(&mut self, bits: u32, pad: Option<bool>, field: u32) -> Result<(), Stop> {
        let at = self.tape.at();
        let width = (bits - at % bits) % bits;
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
    pub(super) fn cut_skip(&mut self, first: u32, count: u32) -> Stop {
        let widths = self
            .plan
            .skipped_bits
            .iter()
            .skip(first as usize)
            .take(count as usize);
        for &width in widths {
            if !self.tape.skip(u32::from(width)) {
                return Stop::here(self.tape.past_end(u64::from(width)));
            }
        }
        Stop::here(self.tape.past_end(0))
    }
}
