//! What a plan runs along: bits that come from a packet, or bits that go into one.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::problem::{Limit, Problem};
use crate::bits::BitReader;
use crate::check::model::{Layer, LayerKind, Look};
use crate::layers::{Argument, Failure, HuffmanTable, Transform};
use crate::layout::{ByteOrder, Encoding, Order};
use crate::values::codec::Codec;

/// One direction of a run. [`Reading`](super::reading::Reading) takes values from a packet's bits,
/// [`Writing`](super::writing::Writing) takes them from JSON and puts the bits down. Fields come as
/// indices into the dictionary. After an error the tape stands where the failed step began. What has an
/// answer here is asked of whoever writes; this is the answer of whoever reads.
pub(crate) trait Tape<'p> {
    /// The bit that the next step reads or writes, from the stream's start.
    fn at(&self) -> u32;

    /// The bits through which something may have been looked for that is not there.
    fn looked_through(&self) -> u32 {
        0
    }

    /// How many bits are left in the window; when writing, as far as that is known.
    fn left(&self) -> u32;

    /// An integer of this many bits: 1 to 64.
    fn fixed(&mut self, bits: u32, field: u32) -> Result<u64, Problem>;

    /// Seven bits a byte, the least significant first; ten bytes at most.
    fn leb128(&mut self, field: u32) -> Result<u64, Problem>;

    /// An integer of another layout.
    fn coded(&mut self, codec: Codec, field: u32) -> Result<u64, Problem>;

    /// The integer before a text that says how many bytes follow.
    fn prefix(&mut self, codec: Codec, field: u32) -> Result<u64, Problem>;

    /// How many bytes; where they are. `prefixed`: right after their prefix, and where they are not
    /// there, the tape goes back to before it.
    fn content(&mut self, length: i128, prefixed: bool, field: u32) -> Result<Content, Problem>;

    /// The bytes of a text, and the zero that ends it.
    fn content_to_zero(&mut self, encoding: Encoding, field: u32) -> Result<Content, Problem>;

    /// All whole bytes that are left in the window.
    fn content_rest(&mut self, field: u32) -> Result<Content, Problem>;

    /// Where the text in these bytes ends: at their first zero, or with them.
    fn text_end(&self, content: Range<u32>, encoding: Encoding) -> u32;

    /// What comes this many bits ahead; `None`: it does not come.
    fn look(&mut self, look: Look, ahead: i128, field: u32) -> Result<Option<i128>, Problem>;

    /// A field that takes no bits: what JSON says of it does not matter.
    #[inline]
    fn computed(&mut self, _field: u32) {}

    /// 1 to 63 bits that hold nothing. `expected`: what they should be.
    fn padding(&mut self, bits: u32, expected: Option<u64>, field: u32) -> Result<u64, Problem>;

    /// Steps over bits; `false`, and no step, where there are not as many.
    fn skip(&mut self, bits: u32) -> bool;

    /// The number of elements of a repeat that asks for this many.
    #[inline]
    fn count(&mut self, asked: u32, _field: u32) -> Result<u32, Problem> {
        Ok(asked)
    }

    /// Whether a repeat until the end has another element.
    fn more(&mut self) -> bool;

    /// Whether a repeat until a condition is done.
    #[inline]
    fn is_done(&mut self, holds: bool) -> bool {
        holds
    }

    /// A struct, a repeat or an element that is not a plain value begins.
    #[inline]
    fn enter(&mut self, _field: u32) {}

    /// It ends.
    #[inline]
    fn leave(&mut self) {}

    /// Whether a field of the struct that begins will be there, as far as that is known.
    #[inline]
    fn foresee(&mut self, _field: u32) -> bool {
        false
    }

    /// A field is there; whether it counts as present.
    #[inline]
    fn meet(&mut self, _foreseen: bool) -> bool {
        true
    }

    /// The next field is derived; its number among the derived fields of the packet.
    #[inline]
    fn derive(&mut self, _field: u32) -> u32 {
        0
    }

    /// Whether a derived field has the value that it is worked out to have, or may keep another.
    #[inline]
    fn is_derived(&mut self, _number: u32, value: i128, derived: i128) -> bool {
        value == derived
    }

    /// Shows bytes of the current stream that are there already; a last part of a byte is filled up
    /// with zeros.
    fn with_bytes(&self, bits: Range<u32>, show: impl FnOnce(&[u8]));
    /// Whether a field that is read from other bytes than the packet's is to be opened.
    fn opens(&mut self, _field: u32) -> bool {
        true
    }

    /// Appends the bytes of a range of the current stream.
    fn copy(&self, bits: Range<u32>, to: &mut Vec<u8>);

    /// How many bytes begin that nothing reads past until [`Tape::end_window`]. `rest` is the field
    /// of what is left in them. `catches`: where something in them is missing, the rest of them is
    /// left unexplained.
    fn window(
        &mut self,
        bytes: Option<i128>,
        text: u32,
        rest: u32,
        catches: bool,
    ) -> Result<Opened, Problem>;

    /// What comes until [`Tape::end_window`] stands elsewhere in the stream, this many bits from its
    /// start; then the tape comes back. `rest` is as for a window.
    fn jump(&mut self, at: i128, text: u32, rest: u32) -> Result<(), Problem>;

    /// What is left in the window, which the tape steps over.
    fn rest(&mut self) -> Range<u32>;

    /// The window ends, wherever the tape stands in it. What is in it is not of its size: an error.
    fn end_window(&mut self) -> Result<(), Problem>;

    /// The whole bytes that are left in the window go through a layer: what comes is the stream
    /// inside, until [`Tape::end_layer`].
    fn layer(&mut self, through: &Through<'p>) -> Result<(), Failure>;

    /// The stream inside ends, wherever the tape stands in it.
    fn end_layer(&mut self) -> Result<(), Failure>;

    /// What layers gave so far.
    fn inflated(&self) -> Inflated;

    /// Layers gave this much before the tape begins, or in a stream inside.
    fn set_inflated(&mut self, inflated: Inflated);

    /// The order of the bytes that come.
    fn byte_order(&self) -> ByteOrder;

    /// The same of an integer of 128 bits; in a coded stream the lowest byte is always the first.
    fn order_of_wide(&self) -> ByteOrder {
        if self.stream().is_coded() {
            ByteOrder::Little
        } else {
            self.byte_order()
        }
    }

    /// They come in this one, until another one is set.
    fn set_byte_order(&mut self, order: ByteOrder);

    /// The stream that is being read, from its start.
    fn stream(&self) -> BitReader<'_>;

    /// Steps over a field of this many bits; `false`, and no step, where it is not there.
    fn skip_field(&mut self, bits: u32) -> bool;

    /// Windows and layers are `depth` deep from here on: those inside have ended too early.
    fn unwind(&mut self, depth: usize);

    /// Whether the rest of the window or layer at this depth can be left unexplained.
    fn can_give_up(&self, _depth: usize) -> bool {
        true
    }

    /// A field that needs this many bits does not fit.
    fn past_end(&self, needed: u64) -> Problem;

    /// Whether bytes of the current stream are text.
    fn is_text(&self, bits: Range<u32>, encoding: Encoding) -> bool;
}

/// What the layers of a packet gave, those in streams inside it included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inflated {
    pub layers: usize,
    pub bytes: usize,
}

/// A layer with what it takes to go through it.
pub(crate) struct Through<'l> {
    pub layer: &'l Layer,
    /// Of the transform.
    pub arguments: Vec<Argument>,
    pub text: u32,
    /// What is left inside.
    pub rest: u32,
    pub packed_key: &'l str,
    pub catches: bool,
}

impl<'l> Through<'l> {
    /// The order of the stream inside.
    pub(crate) fn order(&self, around: Order) -> Order {
        Order {
            bits: self.layer.bits.unwrap_or(around.bits),
            bytes: self.layer.bytes.unwrap_or(around.bytes),
        }
    }

    /// The transform, if it is one; a Huffman code reads bits as the stream around it.
    pub(crate) fn transform(&self, around: Order) -> Option<Cow<'l, Transform>> {
        match &self.layer.kind {
            LayerKind::Transform {
                transform: Transform::Huffman(table, _),
                ..
            } => {
                let transform = Transform::Huffman(table.clone(), around.bits);
                Some(Cow::Owned(transform))
            }
            LayerKind::Transform { transform, .. } => Some(Cow::Borrowed(transform)),
            LayerKind::Coding(_) => None,
        }
    }

    pub(crate) fn coding(&self) -> Option<&'l Arc<HuffmanTable>> {
        match &self.layer.kind {
            LayerKind::Coding(table) => Some(table),
            LayerKind::Transform { .. } => None,
        }
    }
}

/// A window that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Whole,
    /// There are only so many bits, before that end.
    Short {
        left: u32,
        limit: Limit,
    },
}

/// Where a text or bytes are.
pub(crate) struct Content {
    /// With the prefix.
    pub whole: Range<u32>,
    pub content: Range<u32>,
}
