//! Who is told what is in a packet.

use std::ops::Range;

use super::problem::Problem;
use crate::bits::BitReader;
use crate::facts::Piece;
use crate::tree;

/// Who wants to know what is in a packet, and what they do not say they want to know. Fields come as
/// indices into [`Program::fields`].
pub(crate) trait Sink {
    /// A struct or a repeat begins; `count` is the number of elements, where it is known.
    fn enter(&mut self, _field: u32, _bit: u32, _count: Option<u32>) {}
    /// It ends.
    fn leave(&mut self, _bit: u32) {}
    /// An integer, as it was on the wire.
    fn value(&mut self, _field: u32, _bits: Range<u32>, _raw: u64) {}
    /// A text or bytes; `content` leaves out the prefix.
    fn content(&mut self, _field: u32, _bits: Range<u32>, _content: Range<u32>) {}
    /// Something is wrong; with the field that comes next. Only a wrong constant is told after its
    /// field.
    fn problem(&mut self, _field: Option<u32>, _bit: u32, _problem: Problem) {}
    /// The integer that was told last is added to another value; the sum, where that is known.
    fn sum(&mut self, _sum: Option<i128>) {}
    /// Decoding stopped here; what is open ends, and all bits from here on are unexplained.
    fn rest(&mut self, _bits: Range<u32>, _why: Rest) {}
    /// Fields are in other bytes from here on, until [`Sink::end_stream`].
    fn begin_stream(&mut self, _stream: BitReader<'_>) {}
    /// The stream has only this many bytes.
    fn cut_stream(&mut self, _bytes: usize) {}
    /// Bits of a stream that are unexplained.
    fn rest_of_stream(&mut self, _bits: Range<u32>, _why: Rest) {}
    /// Fields are again where they were before. Where decoding stopped in the stream, what is open
    /// in it ends, and the bits from there on are unexplained.
    fn end_stream(&mut self, _rest: Option<(Range<u32>, Rest)>) {}
    /// How much was told so far.
    fn mark(&self) -> Mark {
        Mark::default()
    }
    /// Forgets what was told since.
    fn go_back(&mut self, _mark: Mark) {}
    /// Why the problem that is told next is there.
    fn because(&mut self, _why: String) {}
    /// How many structs and repeats are open.
    fn depth(&self) -> usize {
        0
    }
    /// Where to note bytes that are put together with those of other packets, if anybody asks.
    fn pieces(&mut self) -> Option<&mut Vec<Piece>> {
        None
    }
    /// Bits of a window that are unexplained; the field after `field` is for those that are
    /// unresolved. Where decoding stopped in the window, what is open inside a depth ends.
    fn rest_of_window(&mut self, _field: u32, _bits: Range<u32>, _stopped: Option<(usize, Rest)>) {}
}

/// How much a sink was told at some point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub tree: tree::Mark,
    pub diagnostics: usize,
    pub open: usize,
    pub pieces: usize,
    /// Of the innermost node that is open.
    pub next_element: u32,
}

/// The sink that wants nothing but the facts.
pub(crate) struct FactsOnly;

impl Sink for FactsOnly {}

/// Why bits are not explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// They do not fit the wire.
    Unexplained,
    /// The connection's state lacks what it takes to read them.
    Unresolved,
}

impl Rest {
    pub(super) fn of(problem: Problem) -> Rest {
        match problem {
            Problem::Unresolved { .. } | Problem::Unpack { .. } => Rest::Unresolved,
            _ => Rest::Unexplained,
        }
    }
}
