//! The steps of a plan.

use crate::check::model::{Checksum, Circumstance, Look};
use crate::facts::{KindId, Meaning};
use crate::layout::{ByteOrder, Encoding};
use crate::syntax::ast::{Arithmetic, Compare};
use crate::values::codec::Codec;

/// One step. `field` is an index into the program's
/// [`Dictionary::fields`](crate::program::Dictionary::fields); `to`, `end` and `body` are indices of
/// operations; `fact` is what the value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Fields of fixed width that nobody reads and that cannot be wrong.
    Skip {
        bits: u32,
        first: u32,
        count: u32,
    },
    Unsigned {
        bits: u8,
        fact: Option<Meaning>,
        to: Register,
        field: u32,
    },
    /// One bit, and a jump where it is 0.
    UnlessBit {
        register: Register,
        field: u32,
        to: u32,
    },
    Signed {
        bits: u8,
        to: Register,
        field: u32,
    },
    /// The constants at `low` and `low + 1` are the lowest and the highest value.
    Range {
        bits: u8,
        fact: Option<Meaning>,
        to: Register,
        field: u32,
        low: u16,
    },
    Leb128 {
        fact: Option<Meaning>,
        to: Register,
        field: u32,
    },
    Zigzag {
        to: Register,
        field: u32,
    },
    /// The length before a text: read, and shown with the text.
    Prefix {
        codec: Codec,
        to: Register,
        field: u32,
    },
    /// An integer or a float of another layout.
    Coded {
        codec: Codec,
        signed: bool,
        fact: Option<Meaning>,
        to: Register,
        field: u32,
    },
    /// A value that takes no bits. The constants at `limits` and `limits + 1` are the lowest and the
    /// highest; `offset`: the raw integer counts from the lowest.
    Compute {
        value: Operand,
        limits: u16,
        offset: bool,
        bits: u8,
        fact: Option<Meaning>,
        to: Register,
        field: u32,
    },
    /// What comes this many bits ahead. `field` is [`NO_FIELD`] where the tree does not say it.
    Look {
        look: Look,
        ahead: Operand,
        to: Register,
        field: u32,
        text: u32,
    },
    Circumstance {
        what: Circumstance,
        to: Register,
    },
    /// A parameter of a recursive struct, whose frame is `frame` registers further up.
    Pass {
        parameter: Register,
        from: Operand,
        frame: u16,
    },
    Text {
        extent: Extent,
        encoding: Encoding,
        fact: Option<Meaning>,
        /// Gets the bits of the content.
        to: Register,
        field: u32,
    },
    Bytes {
        extent: Extent,
        fact: Option<Meaning>,
        /// Gets the bits of the content.
        to: Register,
        field: u32,
    },
    /// An integer of 128 bits; `order`: of its bytes, where that is not the stream's.
    Wide {
        order: Option<ByteOrder>,
        field: u32,
    },
    /// The integer that was just read is added to `base`.
    Delta {
        base: Operand,
        change: Register,
        fact: Option<Meaning>,
        to: Register,
        text: u32,
    },
    /// `slot` is an index into [`Plan::slots`].
    Load {
        to: Register,
        slot: u16,
    },
    /// An index into [`Plan::sets`].
    Set {
        set: u16,
    },
    /// An index into [`Plan::joins`]. Where the message is complete, the operations from here to
    /// [`Operation::Return`] read it.
    Join {
        join: u16,
        end: u32,
    },
    /// An index into [`Plan::follows`]. The operations from here to [`Operation::Return`] read one
    /// record.
    Follow {
        follow: u16,
        end: u32,
    },
    /// The stream should end here.
    StreamEnd,
    /// Whether a value is resolved.
    Known {
        to: Register,
        from: Operand,
    },
    /// The field that was just read is a constant.
    Expect {
        value: Register,
        constant: u16,
        field: u32,
    },
    /// The text or bytes that were just read are a constant.
    ExpectContent {
        value: Register,
        field: u32,
    },
    /// The enum that was just read is the message's kind.
    Kind {
        value: Register,
        table: u16,
    },
    /// The message is of a kind, whatever it has on the wire.
    KindIs {
        kind: KindId,
    },
    /// The enum that was just read chooses the rules.
    Rules {
        value: Register,
        table: u16,
    },
    Align {
        bits: u32,
        pad: Option<bool>,
        field: u32,
    },
    Enter {
        field: u32,
    },
    Leave,
    MessageBegin,
    MessageEnd,
    /// `counter` counts down; each element counts `weight` nodes.
    RepeatBegin {
        count: Operand,
        counter: Register,
        weight: u32,
        field: u32,
        end: u32,
    },
    RepeatNext {
        counter: Register,
        weight: u32,
        body: u32,
    },
    /// `start` keeps the bit at which the element starts.
    UntilEndBegin {
        start: Register,
        weight: u32,
        field: u32,
        end: u32,
    },
    UntilEndNext {
        start: Register,
        weight: u32,
        body: u32,
    },
    UntilBegin {
        start: Register,
        weight: u32,
        field: u32,
    },
    /// Another element, unless the condition holds.
    UntilNext {
        holds: Operand,
        start: Register,
        weight: u32,
        body: u32,
    },
    /// `size` bytes that nothing reads past until [`Operation::WindowEnd`]. What is left in them is
    /// `rest`. Where something in them cannot be read, and `catches`, the run goes on at `end`, which
    /// is after the end of the window.
    WindowBegin {
        /// It stands elsewhere: where it begins, in bits from the stream's start.
        at: Option<Operand>,
        /// `None`: all that is left.
        size: Option<Operand>,
        text: u32,
        /// The field that the window is about, where that is not the struct that is open.
        field: Option<u32>,
        rest: u32,
        catches: bool,
        end: u32,
    },
    WindowEnd,
    /// The bytes of the window go through a layer; `place` is an index into [`Plan::layer_uses`].
    LayerBegin {
        place: u16,
        catches: bool,
        end: u32,
    },
    LayerEnd,
    Arithmetic {
        operator: Arithmetic,
        to: Register,
        left: Operand,
        right: Operand,
        text: u32,
    },
    Compare {
        operator: Compare,
        to: Register,
        left: Operand,
        right: Operand,
    },
    /// `call` is an index into [`Plan::calls`].
    Function {
        to: Register,
        call: u16,
    },
    Copy {
        to: Register,
        from: Operand,
    },
    /// What comes is in the big byte order where this is not 0; `before` keeps whether it was.
    ByteOrder {
        big: Operand,
        before: Register,
    },
    /// Where the tape stands.
    Mark {
        to: Register,
    },
    /// Whether a field will be there, as far as that is known before it comes.
    Foresee {
        to: Register,
        field: u32,
    },
    /// A field is there that was to be foreseen.
    Meet {
        to: Register,
    },
    /// The next field is derived; `slot` keeps which one of the packet it is.
    Derive {
        slot: Register,
        field: u32,
    },
    /// A derived field is not what it is worked out from. Skipped where `slot` is negative.
    CheckDerived {
        slot: Register,
        value: Register,
        derived: Operand,
        field: u32,
    },
    ChecksumBegin {
        kind: Checksum,
    },
    /// The bits between two marks.
    ChecksumBits {
        from: Register,
        to: Register,
    },
    /// The bytes that [`Operation::KeepStream`] kept under the number in `kept`; the bits between two
    /// marks where that is [`PLAIN`]; nobody knows what, where it is [`MISSING`].
    ChecksumUnpacked {
        kept: Register,
        from: Register,
        to: Register,
    },
    /// Keeps the bytes of the stream that is read; `to`: their number.
    KeepStream {
        to: Register,
    },
    /// The lowest bytes of a number.
    ChecksumInteger {
        value: Operand,
        bytes: u8,
        big: bool,
    },
    ChecksumEnd {
        to: Register,
    },
    Jump {
        to: u32,
    },
    /// Jumps where the comparison does not hold.
    Unless {
        operator: Compare,
        left: Operand,
        right: Operand,
        to: u32,
    },
    Switch {
        on: Operand,
        table: u16,
        text: u32,
    },
    /// A recursive struct, `frame` registers further up.
    Call {
        to: u32,
        frame: u16,
        weight: u32,
    },
    Return,
    End,
}

/// A place for an integer, counted from the current frame.
pub(crate) type Register = u16;

/// The register of a field that nobody reads.
pub(crate) const NO_REGISTER: Register = Register::MAX;

/// The field of what the tree does not say.
pub(crate) const NO_FIELD: u32 = u32::MAX;

/// How far a text or bytes reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// How many bytes.
    Bytes(Operand),
    /// How many bytes; the field starts at the prefix that was read last.
    Prefixed(Operand),
    /// How many bytes, of which the text ends at the first zero.
    Padded(Operand),
    /// Up to a zero.
    Zero,
    /// All whole bytes that are left in the window.
    Rest,
}

/// What an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(Register),
    /// An index into [`Plan::constants`].
    Constant(u16),
}

/// In the register of [`Operation::ChecksumUnpacked`]: the field has no layer.
pub(crate) const PLAIN: i128 = -1;

/// In the register of [`Operation::ChecksumUnpacked`]: nothing has come out of the field's layer.
pub(crate) const MISSING: i128 = -2;
