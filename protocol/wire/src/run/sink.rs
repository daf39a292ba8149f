//! Who is told what is in a packet.

use std::ops::Range;

use super::problem::Problem;
use crate::bits::BitReader;
use crate::facts::Piece;
use crate::tree;

/// Who wants to know what is in a packet. Fields come as indices into [`Program::fields`].
pub(crate) trait Sink {
    /// A struct or a repeat begins; `count` is the number of elements, where it is known.
    fn enter(&mut self, field: u32, bit: u32, count: Option<u32>);
    /// It ends.
    fn leave(&mut self, bit: u32);
    /// An integer, as it was on the wire.
    fn value(&mut self, field: u32, bits: Range<u32>, raw: u64);
    /// A text or bytes; `content` leaves out the prefix.
    fn content(&mut self, field: u32, bits: Range<u32>, content: Range<u32>);
    /// Something is wrong; with the field that comes next. Only a wrong constant is told after its
    /// field.
    fn problem(&mut self, field: Option<u32>, bit: u32, problem: Problem);
    /// The integer that was told last is added to another value; the sum, where that is known.
    fn sum(&mut self, sum: Option<i128>);
    /// Decoding stopped here; what is open ends, and all bits from here on are unexplained.
    fn rest(&mut self, bits: Range<u32>, why: Rest);
    /// Fields are in other bytes from here on, until [`Sink::end_stream`].
    fn begin_stream(&mut self, stream: BitReader<'_>);
    /// The stream has only this many bytes.
    fn cut_stream(&mut self, bytes: usize);
    /// Bits of a stream that are unexplained.
    fn rest_of_stream(&mut self, bits: Range<u32>, why: Rest);
    /// Fields are again where they were before. Where decoding stopped in the stream, what is open
    /// in it ends, and the bits from there on are unexplained.
    fn end_stream(&mut self, rest: Option<(Range<u32>, Rest)>);
    /// How much was told so far.
    fn mark(&self) -> Mark;
    /// Forgets what was told since.
    fn go_back(&mut self, mark: Mark);
    /// Why the problem that is told next is there.
    fn because(&mut self, why: String);
    /// How many structs and repeats are open.
    fn depth(&self) -> usize;
    /// Where to note bytes that are put together with those of other packets, if anybody asks.
    fn pieces(&mut self) -> Option<&mut Vec<Piece>>;
    /// Bits of a window that are unexplained; the field after `field` is for those that are
    /// unresolved. Where decoding stopped in the window, what is open inside a depth ends.
    fn rest_of_window(&mut self, field: u32, bits: Range<u32>, stopped: Option<(usize, Rest)>);
}

/// How much a sink was told at some point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) tree: tree::Mark,
    pub(crate) diagnostics: usize,
    pub(crate) open: usize,
    pub(crate) pieces: usize,
    /// Of the innermost node that is open.
    pub(crate) next_element: u32,
}

/// The sink that wants nothing but the facts.
pub(crate) struct FactsOnly;

impl Sink for FactsOnly {
    fn enter(&mut self, _: u32, _: u32, _: Option<u32>) {}
    fn leave(&mut self, _: u32) {}
    fn value(&mut self, _: u32, _: Range<u32>, _: u64) {}
    fn content(&mut self, _: u32, _: Range<u32>, _: Range<u32>) {}
    fn problem(&mut self, _: Option<u32>, _: u32, _: Problem) {}
    fn sum(&mut self, _: Option<i128>) {}
    fn rest(&mut self, _: Range<u32>, _: Rest) {}
    fn begin_stream(&mut self, _: BitReader<'_>) {}
    fn cut_stream(&mut self, _: usize) {}
    fn rest_of_stream(&mut self, _: Range<u32>, _: Rest) {}
    fn end_stream(&mut self, _: Option<(Range<u32>, Rest)>) {}
    fn mark(&self) -> Mark {
        Mark::default()
    }
    fn go_back(&mut self, _: Mark) {}
    fn because(&mut self, _: String) {}
    fn depth(&self) -> usize {
        0
    }
    fn pieces(&mut self) -> Option<&mut Vec<Piece>> {
        None
    }
    fn rest_of_window(&mut self, _: u32, _: Range<u32>, _: Option<(usize, Rest)>) {}
}

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
