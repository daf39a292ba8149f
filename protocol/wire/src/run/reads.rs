//! What operations read: integers, lengths, padding; and why they cannot.

use std::ops::Range;

use super::machine::{Machine, Sink, Stop};
use super::problem::Problem;
use crate::limits::REPEAT_MAX;
use crate::program::Operand;

impl<S: Sink> Machine<'_, '_, S> {
    #[inline]
    pub(super) fn read(&mut self, bits: u8, field: u32) -> Result<u64, Stop> {
        let bits = u32::from(bits);
        match self.reader.read(bits) {
            Some(raw) => Ok(raw),
            None => Err(self.past_end(u64::from(bits), field)),
        }
    }

    pub(super) fn past_end(&self, needed: u64, field: u32) -> Stop {
        let left = self.reader.left();
        Stop {
            field: Some(field),
            problem: Problem::PastEnd { needed, left },
        }
    }

    /// Seven bits a byte, the least significant first; ten bytes at most.
    #[inline]
    pub(super) fn read_leb128(&mut self, field: u32) -> Result<u64, Stop> {
        let at = self.reader.at();
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.reader.read(8) else {
                let needed = u64::from(self.reader.at() - at) + 8;
                self.reader.rewind(at);
                return Err(self.past_end(needed, field));
            };
            if shift == 63 && byte > 1 {
                self.reader.rewind(at);
                return Err(Stop {
                    field: Some(field),
                    problem: Problem::VarintTooLong,
                });
            }
            value |= (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    /// The bits of so many bytes. Where they are not there, the reader goes back to `at`.
    pub(super) fn take_bytes(
        &mut self,
        length: Operand,
        at: u32,
        field: u32,
    ) -> Result<Range<u32>, Stop> {
        let length = self.operand(length);
        let from = self.reader.at();
        let needed = match u64::try_from(length) {
            Ok(length) => length.saturating_mul(8),
            Err(_) => {
                let too_long = length > 0;
                self.reader.rewind(at);
                if too_long {
                    return Err(self.past_end(u64::MAX, field));
                }
                let problem = Problem::NegativeLength { length };
                return Err(Stop {
                    field: Some(field),
                    problem,
                });
            }
        };
        if !u32::try_from(needed).is_ok_and(|needed| self.reader.skip(needed)) {
            let needed = needed.saturating_add(u64::from(from - at));
            self.reader.rewind(at);
            return Err(self.past_end(needed, field));
        }
        Ok(from..self.reader.at())
    }

    pub(super) fn align(&mut self, bits: u32, pad: Option<bool>, field: u32) -> Result<(), Stop> {
        let at = self.reader.at();
        let width = (bits - at % bits) % bits;
        if width == 0 {
            return Ok(());
        }
        let raw = self.read(width as u8, field)?;
        let expected = match pad {
            Some(true) => u64::MAX >> (64 - width),
            Some(false) => 0,
            None => raw,
        };
        if raw != expected {
            self.report(Some(field), at, Problem::Padding { found: raw });
        }
        self.sink.value(field, at..self.reader.at(), raw);
        Ok(())
    }

    /// The number of elements of a repeat.
    pub(super) fn count(&mut self, count: Operand, field: u32) -> Result<u32, Stop> {
        let count = self.operand(count);
        let problem = if count < 0 {
            Problem::NegativeCount { count }
        } else if count > i128::from(REPEAT_MAX) {
            Problem::TooManyElements { count }
        } else {
            return Ok(count as u32);
        };
        Err(Stop {
            field: Some(field),
            problem,
        })
    }

    /// Skips field by field, so that the reader stops at the field that is cut.
    pub(super) fn cut_skip(&mut self, first: u32, count: u32) -> Stop {
        let widths = self
            .plan
            .skipped_bits
            .iter()
            .skip(first as usize)
            .take(count as usize);
        for &width in widths {
            if !self.reader.skip(u32::from(width)) {
                let (needed, left) = (u64::from(width), self.reader.left());
                return Stop {
                    field: None,
                    problem: Problem::PastEnd { needed, left },
                };
            }
        }
        Stop {
            field: None,
            problem: Problem::PastEnd { needed: 0, left: 0 },
        }
    }
}

/// Two's complement of 1 to 64 bits.
pub(super) fn sign_extended(raw: u64, bits: u8) -> i64 {
    let shift = 64 - u32::from(bits.clamp(1, 64));
    (raw << shift).cast_signed() >> shift
}

/// 0, -1, 1, -2, ...
pub(super) fn zigzag(raw: u64) -> i64 {
    (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()
}
