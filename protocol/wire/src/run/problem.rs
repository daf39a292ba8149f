//! What can be wrong with a packet, before it is put into words.

use crate::layout::Encoding;
use crate::state::BadPart;

/// What ends the bits that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The packet, or the message.
    Whole,
    /// A window of this many bytes, and its text.
    Window { text: u32, bytes: u32 },
    /// What a layer gave, and its text.
    Layer { text: u32 },
}

impl Problem {
    /// Whether nothing after it is read: all that follows would run into it again.
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Problem::TooManyNodes | Problem::TooMuchElsewhere)
    }
}

/// Something to say of a packet. Numbers only, so that counting problems costs nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Problem {
    /// A field needs more bits than there are.
    PastEnd {
        needed: u64,
        left: u32,
        limit: Limit,
    },
    /// A window is to be longer than what it stands in.
    ShortWindow {
        text: u32,
        bytes: i128,
        left: u32,
        limit: Limit,
    },
    NegativeSize {
        text: u32,
        bytes: i128,
    },
    /// Bits in a window after the last field.
    LeftInWindow {
        bits: u32,
        text: u32,
    },
    /// The text of the layer; the sink was told why.
    Unpack {
        text: u32,
    },
    /// The text of a call of a function without a value; the sink was told why.
    Function {
        text: u32,
    },
    /// No symbol of a Huffman table begins with the next bits.
    NoCode,
    /// It was said before.
    Told,
    /// A varint needs more bits than its type has.
    VarintTooLong {
        bits: u8,
    },
    OutOfRange {
        value: i128,
        low: i128,
        high: i128,
    },
    /// The field whose constant it is.
    Content {
        field: u32,
    },
    Constant {
        expected: i128,
        found: i128,
    },
    /// A derived field is not what it is worked out from.
    Derived {
        derived: i128,
        found: i128,
    },
    Padding {
        found: u64,
    },
    NotText {
        encoding: Encoding,
    },
    NegativeLength {
        length: i128,
    },
    NegativeCount {
        count: i128,
    },
    TooManyElements {
        count: i128,
    },
    TooManyNodes,
    /// Blocks elsewhere read the same bytes too often.
    TooMuchElsewhere,
    TooDeep,
    /// The text of the switch, and what it looked at.
    NoArm {
        text: u32,
        value: i128,
    },
    /// The text of the expression.
    Arithmetic {
        text: u32,
        why: &'static str,
    },
    /// The text of an expression that looks at what does not come.
    NothingAhead {
        text: u32,
    },
    /// An element of a repeat until the end took no bits, so that there is no end.
    EmptyElement,
    /// Bits after the last field.
    Trailing {
        bits: u32,
    },
    /// Bytes after those that are looked at.
    PacketTooLong {
        bytes: usize,
    },
    /// A packet of which no protocol of the wire says that it is its own.
    Unclaimed,
    /// The packets before it have taken all the work that there may be.
    Unread,
    /// A value that decides how to go on comes from a field of the connection's state that no packet
    /// has set.
    Unresolved {
        field: u16,
    },
    /// A part of a split message that cannot be taken.
    BadPart(BadPart),
    /// Bytes of a stream that runs over packets were given up.
    StreamLost {
        bytes: usize,
    },
    /// What a `set` sets does not fit: the integer, or the number of bytes.
    NotKept {
        set: u16,
        value: i128,
    },
    /// A joined message of a wire without messages.
    NoMessages,
    /// A place that is not in the stream; the text of the `at` block.
    Nowhere {
        text: u32,
        at: i128,
        end: u32,
    },
    /// What was to be written is not there or does not fit; the tape knows more.
    NotWritten,
}
