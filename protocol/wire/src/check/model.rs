//! A wire that makes sense: every name resolved, every type known, every expression typed.

pub(crate) use super::state_steps::{
    FollowStep, JoinStep, SetMember, SetStep, SetWhat, StatePart, StatePath,
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::facts::{Kind, Meaning, Rules};
use crate::layers::{Function, HuffmanTable, Transform};
use crate::layout::{BitOrder, ByteOrder, Encoding, Order};
use crate::property::Property;
use crate::said_back::SaidBack;
use crate::state::StateField;
use crate::syntax::ast::{Arithmetic, Compare};
use crate::values::codec::Codec;
use crate::values::quantized::Quantized;
use crate::values::rotation::Axes;

/// A struct, by its place in [`Model::structs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StructId(pub u32);

/// An enum, by its place in [`Model::enums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EnumId(pub u32);

/// A field of a struct, by its place in [`Struct::fields`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FieldId(pub u32);

#[derive(Debug)]
pub(crate) struct Model {
    /// One at least, in the order in which they are asked whether a packet is theirs.
    pub protocols: Vec<Protocol>,
    pub tests: Vec<Test>,
    pub structs: Vec<Struct>,
    pub enums: Vec<Enum>,
    pub kinds: Vec<Kind>,
    pub rules: Vec<Rules>,
    pub properties: Vec<Property>,
    pub layers: Vec<Layer>,
    /// What connections keep.
    pub state: Vec<StateField>,
}

/// A `wire` block.
#[derive(Clone, Debug)]
pub(crate) struct Protocol {
    pub name: Arc<str>,
    /// The number of the file that it is in.
    pub file: usize,
    pub version: Option<u32>,
    pub order: Order,
    pub root: StructId,
    /// The struct that a message joined from fragments is.
    pub joined: Option<StructId>,
    pub selection: Selection,
}

/// What says that a packet is one of a protocol; all of it holds. Nothing said: every packet is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// The source or the destination port is one of these.
    pub ports: Vec<RangeInclusive<u16>>,
    /// The packet begins so.
    pub magic: Vec<u8>,
    /// A condition at the packet's start.
    pub when: Option<Expression>,
}

impl Selection {
    /// Whether every packet is taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.ports.is_empty() && self.magic.is_empty() && self.when.is_none()
    }
}

/// A `test` block.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub name: String,
    /// The file that it is in.
    pub file: String,
    /// From 1.
    pub line: u32,
    pub bytes: Vec<u8>,
    /// The packet's fields, as the encoder reads them.
    pub value: Option<Json>,
    /// Some of them.
    pub part: Option<Json>,
    /// A place in [`Model::protocols`].
    pub protocol: Option<u16>,
    /// The protocols of its file and of those that it imports, as places in [`Model::protocols`];
    /// all, where these have none.
    pub own: Vec<u16>,
    /// What the bytes are, where they are not a whole packet.
    pub root: Option<StructId>,
    /// Source and destination.
    pub ports: Option<(u16, u16)>,
    /// What the connection keeps before the packet.
    pub state: Option<Json>,
    pub diagnostics: u32,
}

#[derive(Debug)]
pub(crate) struct Enum {
    pub base: Type,
    pub members: Vec<Member>,
    /// Where its members begin in [`Model::kinds`], if some field has it as `@message_kind`.
    pub first_kind: Option<u16>,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub name: Arc<str>,
    pub value: u64,
    /// The place in [`Model::rules`] of its `@rules(...)`.
    pub rules: Option<u16>,
}

#[derive(Debug)]
pub(crate) struct Struct {
    pub name: Arc<str>,
    pub is_message: bool,
    /// Each value of it is one range of packets that were received, or that are missing.
    pub range: Option<RangeOf>,
    /// It can hold itself, or stands between two that can.
    pub recursive: bool,
    /// In the order of the text, those of `if` and `switch` included; after them the parameters.
    pub fields: Vec<Field>,
    /// What its users give it.
    pub parameters: Vec<FieldId>,
    pub body: Vec<Step>,
}

/// What a range of packets says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeOf {
    Acks,
    Nacks,
}

#[derive(Debug, Default)]
pub(crate) struct Field {
    pub name: Arc<str>,
    /// As the wire spells it, without the repeat.
    pub type_text: Arc<str>,
    pub field_type: Type,
    pub repeat: Option<Repeat>,
    /// The bytes that it is confined to.
    pub window: Option<Window>,
    /// `[count]` as the wire spells it.
    pub repeat_text: Arc<str>,
    pub constant: Option<i128>,
    /// The bytes that a text or bytes have to be.
    pub content: Option<Arc<[u8]>>,
    /// The expressions of a repeated field's type, or of its end, read which element it is.
    pub reads_index: bool,
    /// That content is what is written where nobody says another one; any may be read.
    pub is_gap: bool,
    /// Of a `let`: it takes no bits.
    pub computed: Option<Expression>,
    /// What the struct that it is gets for its parameters.
    pub arguments: Vec<Expression>,
    pub meaning: Option<Meaning>,
    /// The place in [`Model::properties`] of the property of an object that it says.
    pub property: Option<u16>,
    /// It is the value of the property that its struct is a part of.
    pub is_value: bool,
    /// What it gives to the other side to say back, and what it says back.
    pub said_back: SaidBack,
    /// It is another thing in each copy of its message.
    pub is_per_copy: bool,
    /// What it is worked out from.
    pub derived: Option<Derived>,
    /// Some expression reads it.
    pub read: bool,
    /// What derived fields and expressions ask of it.
    pub measured: Vec<Measure>,
    /// Some expression reads it, or what is in it, so that it cannot be left half read.
    pub needed_later: bool,
}

/// What a derived field is worked out from, at the end of its struct.
#[derive(Clone, Debug)]
pub(crate) enum Derived {
    Integer(i128),
    /// A field of this struct, or of structs inside it.
    Field(Vec<FieldId>),
    /// Of fields of one name, of which at most one is there.
    Measure(Measure, Vec<FieldId>),
    /// With its text, for the diagnostic where it fails.
    Arithmetic(Arithmetic, Box<Derived>, Box<Derived>, Arc<str>),
    Checksum(Checksum, Vec<Piece>),
}

/// What can be measured of a field. All are 0 where it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    /// Whole bytes, a last part of one included.
    Bytes,
    Bits,
    /// Elements of a repeat.
    Count,
    /// 1 where it is there.
    Present,
}

/// What a checksum is of.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Field(Vec<FieldId>),
    /// What comes out of the field's layer; the field itself where it has none.
    Unpacked(Vec<FieldId>),
    /// A number as bytes: the lowest ones.
    Integer {
        value: Derived,
        bytes: u8,
        big: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// CRC-8/SMBUS
    Crc8,
    /// CRC-16/ARC
    Crc16Arc,
    /// CRC-16/IBM-3740, known as CCITT-FALSE
    Crc16Ccitt,
    /// CRC-32/ISO-HDLC, that of zlib and Ethernet
    Crc32,
    /// CRC-32/ISCSI
    Crc32c,
    /// RFC 1950
    Adler32,
    /// The sum of all bytes, in this many bits.
    Sum(u8),
    /// All bytes, exclusive or.
    Xor8,
}

#[derive(Clone, Debug, Default)]
pub(crate) enum Type {
    /// A mistake was reported.
    #[default]
    Broken,
    /// 1 to 64 bits.
    Unsigned(u8),
    /// 1 to 64 bits, two's complement.
    Signed(u8),
    Bool,
    /// The number on the wire is the value less `low`, in as few bits as `high - low` needs.
    Range {
        low: i128,
        high: i128,
        bits: u8,
    },
    Leb128,
    /// LEB128, then zigzag: 0, -1, 1, -2.
    Zigzag,
    /// 16, 32 or 64 bits, IEEE 754.
    Float(u8),
    Quantized(Quantized),
    /// An integer or a float that is more than a row of bits in the stream's order.
    Coded {
        codec: Codec,
        number: Number,
    },
    /// A unit quaternion, as [`Codec::SmallestThree`] of this many bits.
    Rotation {
        bits: u8,
        axes: Axes,
    },
    /// What a `let` without a type is: an integer of 64 bits with a sign.
    Computed,
    Enum(EnumId),
    /// An enum whose members are single bits.
    Flags(EnumId),
    Struct(StructId),
    Text {
        length: Length,
        encoding: Encoding,
    },
    Bytes(Expression),
    /// An integer that is added to another value.
    Delta {
        change: Box<Type>,
        base: Expression,
        /// `delta(...)` as the wire spells it.
        text: Arc<str>,
    },
    /// The whole bytes that are left in the window.
    BytesRest,
    /// 128 bits without a sign, in an order of bytes of its own where it has one.
    Wide(Option<ByteOrder>),
    /// 16 bytes.
    Uuid,
    /// How many bytes that are shown whole.
    Hash(u32),
}

/// What the integer that a codec gives stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Unsigned,
    Signed,
    Float,
}

/// What says how long a text is, in bytes.
#[derive(Clone, Debug)]
pub(crate) enum Length {
    /// An integer of this type before the text.
    Prefix(Codec),
    Expression(Expression),
    /// How many bytes, of which the text ends at the first zero.
    Padded(Expression),
    /// Up to a zero, which belongs to the field.
    Zero,
    /// The whole bytes that are left in the window.
    Rest,
}

#[derive(Clone, Debug)]
pub(crate) enum Repeat {
    Count(Expression),
    UntilEnd,
    /// Up to the element of which this holds; it reads the element as the repeated field itself.
    Until(Expression),
}

/// Bytes that nothing inside reads past.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// It does not begin where what is before it ends, but this many bits after the stream's start,
    /// and goes to the stream's end.
    pub at: Option<Expression>,
    /// In bytes; `None`: all that is left.
    pub size: Option<Expression>,
    /// `size(length)` as the wire spells it.
    pub text: Arc<str>,
    /// What JSON calls what is left in it.
    pub rest_key: Arc<str>,
    /// What stands between these bytes and what is inside.
    pub layer: Option<LayerUse>,
}

impl Window {
    /// All that is left.
    pub(crate) fn whole(text: Arc<str>, rest_key: String) -> Window {
        Window {
            text,
            rest_key: rest_key.into(),
            ..Window::default()
        }
    }
}

/// `through NAME(ARGUMENT, ...)`
#[derive(Clone, Debug)]
pub(crate) struct LayerUse {
    /// The place in [`Model::layers`].
    pub layer: u16,
    /// Each with whether it is a text or bytes.
    pub arguments: Vec<(Expression, bool)>,
    pub text: Arc<str>,
    /// What JSON calls the bytes that come in, and what is left inside.
    pub packed_key: Arc<str>,
    pub rest_key: Arc<str>,
}

/// What stands between the bytes of a window and those of the stream inside.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// `None`: as around it.
    pub bits: Option<BitOrder>,
    pub bytes: Option<ByteOrder>,
    /// How many bytes may come out.
    pub inflated_max: usize,
    pub kind: LayerKind,
}

#[derive(Clone, Debug)]
pub(crate) enum LayerKind {
    Transform {
        transform: Transform,
        arguments: Vec<LayerArgument>,
    },
    /// The bytes stay as they are; every read takes symbols.
    Coding(Arc<HuffmanTable>),
}

/// What a transform is told.
#[derive(Clone, Debug)]
pub(crate) enum LayerArgument {
    /// The place among the layer's parameters.
    Parameter(usize),
    Integer(i128),
    Bytes(Arc<[u8]>),
    /// The key of a key log with this label and id.
    KeyLog {
        label: Arc<str>,
        id: Box<LayerArgument>,
    },
}

/// Fields that every arm of a branch declares, so that what comes after can read them: for each the
/// field of each arm, in order. The first one stands for all of them.
pub(crate) type Shared = Vec<Vec<FieldId>>;

/// A statement of a struct's body.
#[derive(Debug)]
pub(crate) enum Step {
    Field(FieldId),
    If {
        condition: Expression,
        then: Vec<Step>,
        otherwise: Vec<Step>,
        shared: Shared,
    },
    Switch {
        on: Expression,
        /// `switch (kind)` as the wire spells it.
        text: Arc<str>,
        arms: Vec<(Vec<i128>, Vec<Step>)>,
        default: Option<Vec<Step>>,
        shared: Shared,
    },
    /// `size (bytes) { ... }`
    Window {
        window: Window,
        body: Vec<Step>,
    },
    Align {
        bits: u32,
        pad: Option<bool>,
        text: Arc<str>,
        /// What JSON calls the padding.
        key: Arc<str>,
    },
    /// What comes until the end of the block is in the big byte order where this is not 0.
    ByteOrder {
        big: Expression,
    },
    Set(Box<SetStep>),
    Join(Box<JoinStep>),
    Follow(Box<FollowStep>),
}

/// Integers are exact and checked; booleans are 0 and 1.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Integer(i128),
    /// Only in constants.
    Float(f64),
    /// Only in constants.
    Text(Arc<str>),
    /// Only in constants.
    Bytes(Arc<[u8]>),
    /// A field of this struct, or of structs inside it.
    Field(Vec<FieldId>),
    /// What was measured of such a field.
    Measure(Measure, Vec<FieldId>),
    /// Which element of the repeat around it is read, from 0.
    Index,
    /// Bits from the stream's start.
    Position,
    /// What comes after this, without a step.
    Look {
        look: Look,
        /// How many bits after the next one.
        ahead: Box<Expression>,
        text: Arc<str>,
        /// What the tree and JSON call it, and the struct that asks; no name where an element was
        /// just read.
        key: Option<(StructId, Arc<str>)>,
    },
    Context(Circumstance),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    /// A condition, the value where it holds, the value where it does not.
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
    Compare(Compare, Box<Expression>, Box<Expression>),
    /// With its text, for the diagnostic where it fails.
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>, Arc<str>),
    /// What the connection keeps; unresolved where no packet has set it.
    State(Box<StatePath>),
    /// Whether a value is not unresolved.
    Known(Box<Expression>),
    Called(Box<Call>),
}

/// An integer that a function gives.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub function: Function,
    /// Each with whether it is a text or bytes.
    pub arguments: Vec<(Expression, bool)>,
    pub text: Arc<str>,
}

/// What is asked of what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// How many bits are left in the window.
    Left,
    /// An integer without a sign.
    Integer(Codec),
}

/// What is known of a packet besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Circumstance {
    SourcePort,
    DestinationPort,
    FromFirst,
}

impl Type {
    /// The lowest and the highest integer that it holds; `None` where it holds none.
    pub(crate) fn limits(&self) -> Option<(i128, i128)> {
        let unsigned = |bits: u8| (0, i128::from(u64::MAX >> (64 - bits.clamp(1, 64))));
        let signed = |bits: u8| {
            let half = 1i128 << (bits.clamp(1, 64) - 1);
            (-half, half - 1)
        };
        match *self {
            Type::Unsigned(bits) => Some(unsigned(bits)),
            Type::Signed(bits) => Some(signed(bits)),
            Type::Bool => Some((0, 1)),
            Type::Range { low, high, .. } => Some((low, high)),
            Type::Leb128 => Some(unsigned(64)),
            Type::Zigzag | Type::Computed => Some(signed(64)),
            Type::Coded { codec, number } => match number {
                Number::Unsigned => Some(unsigned(codec.bits())),
                Number::Signed => Some(signed(codec.bits())),
                Number::Float => None,
            },
            _ => None,
        }
    }

    /// The bits that each of its values takes, where the type alone says so.
    pub(crate) fn width(&self) -> Option<u8> {
        match *self {
            Type::Unsigned(bits)
            | Type::Signed(bits)
            | Type::Float(bits)
            | Type::Range { bits, .. }
            | Type::Quantized(Quantized { bits, .. })
            | Type::Coded {
                codec: Codec::Ordered { bits, .. },
                ..
            } => Some(bits),
            Type::Bool => Some(1),
            Type::Rotation { bits, .. } => Some(2 + 3 * bits),
            Type::Wide(_) | Type::Uuid => Some(128),
            _ => None,
        }
    }

    /// How it is laid out, where it is an integer without a sign that starts at 0.
    pub(super) fn unsigned_codec(&self) -> Option<Codec> {
        match *self {
            Type::Unsigned(bits) => Some(Codec::Plain { bits }),
            Type::Leb128 => Some(Codec::Leb128),
            Type::Coded {
                codec,
                number: Number::Unsigned,
            } => Some(codec),
            _ => None,
        }
    }

    /// Whether it is an integer without a sign.
    pub(crate) fn is_unsigned(&self) -> bool {
        match *self {
            Type::Range { low, .. } => low >= 0,
            _ => self.unsigned_codec().is_some(),
        }
    }
}

/// Structs, and all that they hold.
pub(super) fn held(
    structs: impl IntoIterator<Item = StructId>,
    all: &[Struct],
) -> BTreeSet<StructId> {
    let mut open: Vec<StructId> = structs.into_iter().collect();
    let mut held = BTreeSet::new();
    while let Some(id) = open.pop() {
        if held.insert(id) {
            let fields = &all[id.0 as usize].fields;
            open.extend(fields.iter().filter_map(Field::structure));
        }
    }
    held
}

impl Field {
    /// A field of which only its name and its type are known.
    pub(super) fn new(name: &str, type_text: &str, field_type: Type) -> Field {
        Field {
            name: name.into(),
            type_text: type_text.into(),
            field_type,
            ..Field::default()
        }
    }

    /// The struct that it is, or whose values it repeats.
    pub(super) fn structure(&self) -> Option<StructId> {
        match self.field_type {
            Type::Struct(id) => Some(id),
            _ => None,
        }
    }
}

impl Model {
    pub(crate) fn structure(&self, id: StructId) -> &Struct {
        &self.structs[id.0 as usize]
    }

    pub(crate) fn enumeration(&self, id: EnumId) -> &Enum {
        &self.enums[id.0 as usize]
    }
}

impl Struct {
    pub(crate) fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.0 as usize]
    }
}
