//! What a wire compiles to: two flat plans of operations, and what they refer to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::check::model::{Layer, StatePart};
use crate::layers::{Function, Keys};
use crate::layout::{ByteOrder, Encoding, Order};
use crate::limits::STATE_KEYS_MAX;
use crate::operation::{Operand, Operation, Register};
use crate::property::OfProperty;
use crate::said_back::SaidBack;
use crate::state::StateField;
use crate::values::codec::Codec;
use crate::values::quantized::Quantized;
use crate::values::rotation::Axes;

/// A compiled wire, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// What operations say about fields. Both plans share it, and so do the trees.
    pub dictionary: Arc<Dictionary>,
    /// Pieces of the wire's text, for diagnostics.
    pub texts: Vec<Arc<str>>,
    /// What connections keep.
    pub state: Vec<StateField>,
    /// Every field, for the tree.
    pub full: Plan,
    /// The same facts with fewer steps: what nobody reads is skipped.
    pub facts: Plan,
    pub layers: Arc<[Layer]>,
    /// What the key log has.
    pub keys: Arc<Keys>,
    /// How many nodes the root struct can have, elements and recursive structs not counted.
    pub packet_weight: u32,
    /// The same for a joined message.
    pub message_weight: u32,
}

/// What the numbers in plans and trees stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    pub order: Order,
    /// Packets say in which order some of their bytes are.
    pub reorders: bool,
    /// The protocol's name, where the wire has several.
    pub protocol: Option<Arc<str>>,
    pub fields: Vec<FieldInfo>,
    pub enums: Vec<EnumTable>,
    /// Some field tells a property of objects.
    pub has_properties: bool,
    /// What is asked of each field, by its place, for every node of it.
    pub of_nodes: Vec<OfNode>,
    /// Some field is the number of a snapshot.
    pub has_snapshots: bool,
    /// For each field that has to be a certain text or certain bytes, these bytes.
    pub contents: BTreeMap<u32, Arc<[u8]>>,
}

/// What is asked of a field for every node of it: so small that all of them stay at hand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfNode {
    pub is_element: bool,
    pub is_message: bool,
    /// It is the number of a snapshot.
    pub is_snapshot: bool,
    /// It is that of the snapshot that it tells the differences from.
    pub is_base: bool,
    /// The property of objects that it tells.
    pub property: Option<u16>,
}

/// Operations with everything that their indices point to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub operations: Vec<Operation>,
    pub constants: Vec<i128>,
    pub switches: Vec<SwitchTable>,
    /// The widths of the fields that [`Operation::Skip`] skips together.
    pub skipped_bits: Vec<u8>,
    /// What operations read from the connection's state and change there.
    pub slots: Vec<StateSlot>,
    pub sets: Vec<SetPlan>,
    pub joins: Vec<JoinPlan>,
    pub follows: Vec<FollowPlan>,
    pub layer_uses: Vec<LayerPlan>,
    pub calls: Vec<CallPlan>,
    /// Texts and bytes that the wire spells out.
    pub contents: Vec<Arc<[u8]>>,
    /// Where a packet starts.
    pub packet: u32,
    /// Where a joined message starts, if the wire has messages.
    pub message: Option<u32>,
    /// How many registers a run needs, recursive structs included.
    pub registers: usize,
}

/// A field of the connection's state, or an entry of a table there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateSlot {
    /// An index into [`Program::state`].
    pub field: u16,
    /// Its place in the state; of two, the first.
    pub place: u16,
    pub each: bool,
    /// That of the direction that the packet does not go.
    pub other: bool,
    /// The keys that there are come first.
    pub keys: [Option<Operand>; STATE_KEYS_MAX],
    pub part: StatePart,
}

/// `set SLOT = VALUE`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetPlan {
    pub slot: u16,
    pub value: SetValue,
    /// The value, and the type of what is set, as the wire spells them.
    pub text: u32,
    pub type_text: u32,
}

/// `join FIELD from SLOT (INDEX, COUNT, DATA)`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinPlan {
    pub slot: u16,
    pub index: Operand,
    pub count: Operand,
    /// Holds the bits of the data.
    pub data: Register,
    pub field: u32,
    /// How many nodes the message can have, elements and recursive structs not counted.
    pub weight: u32,
}

/// `follow FIELD from SLOT (POSITION, DATA)`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FollowPlan {
    pub slot: u16,
    pub position: Operand,
    pub wrap_bits: u8,
    /// Holds the bits of the data.
    pub data: Register,
    pub field: u32,
    /// How many nodes a record can have.
    pub weight: u32,
    /// Whether a record can change what the connection keeps.
    pub changes_state: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetValue {
    Integer {
        value: Operand,
        low: i128,
        high: i128,
    },
    Content(ContentOperand),
    /// All that is kept at another slot, an index into [`Plan::slots`].
    Copy(u16),
    /// It is forgotten.
    Nothing,
}

/// Where a text or bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentOperand {
    /// The register holds their bits.
    Register(Register),
    /// An index into [`Plan::slots`].
    State(u16),
    /// An index into [`Plan::contents`].
    Constant(u16),
}

/// Where each value of a switch goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SwitchTable {
    /// By value, where all are small; `u32::MAX` is no arm.
    pub dense: Vec<u32>,
    /// In the order of values, where some are not small.
    pub sparse: Vec<(i128, u32)>,
    pub default: Option<u32>,
}

/// An enum's members, sorted by value.
#[derive(Clone, Debug)]
pub(crate) struct EnumTable {
    pub members: Vec<EnumMember>,
}

#[derive(Clone, Debug)]
pub(crate) struct EnumMember {
    pub value: u64,
    pub name: Arc<str>,
    pub kind: Option<u16>,
    pub rules: Option<u16>,
}

/// What the tree and the diagnostics say about a field.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldInfo {
    pub name: Arc<str>,
    /// It is named by its index in the repeat around it.
    pub is_element: bool,
    pub type_name: Arc<str>,
    pub annotation: Option<Arc<str>>,
    pub shown: Shown,
    /// All elements of a repeat together.
    pub is_repeat: bool,
    /// How it, or the length before it, is laid out, where it may take more bits than it needs.
    pub varint: Option<Codec>,
    /// What `align` skips.
    pub padding: Option<Padding>,
    /// What a constant field has on the wire.
    pub constant: Option<u64>,
    /// It is what is left in a window.
    pub rest: Option<Rest>,
    /// What JSON calls the bytes that its content was unpacked from.
    pub packed_key: Option<Arc<str>>,
    /// What it has to do with properties of objects.
    pub of_property: OfProperty,
    /// What it gives to be said back, or says back.
    pub said_back: Option<Box<SaidBack>>,
    /// It is another thing in each copy of its message: `@per_copy`.
    pub is_per_copy: bool,
}

/// What `align` skips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Padding {
    /// What each of its bits has to be.
    pub pad: Option<bool>,
    /// What JSON calls it.
    pub key: Arc<str>,
}

/// A layer, as a field goes through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LayerPlan {
    /// An index into [`Program::layers`].
    pub layer: u16,
    pub arguments: Vec<ArgumentPlan>,
    pub text: u32,
    /// What is left inside.
    pub rest: u32,
    /// What JSON calls the packed bytes.
    pub packed_key: Arc<str>,
}

/// A call of a function that gives an integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallPlan {
    pub function: Function,
    pub arguments: Vec<ArgumentPlan>,
    pub text: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentPlan {
    Integer(Operand),
    Content(ContentOperand),
}

/// What is left in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// What JSON calls it, beside the field that the window is about.
    pub key: Arc<str>,
    /// It is a part of that field, not its neighbour.
    pub is_inside: bool,
}

/// How the integer on the wire becomes a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Shown {
    /// Its children say it.
    #[default]
    Nothing,
    Unsigned,
    Signed {
        bits: u8,
    },
    Bool,
    Range {
        low: i128,
    },
    Zigzag,
    /// 16, 32 or 64 bits.
    Float {
        bits: u8,
    },
    Quantized(Quantized),
    /// See [`Codec::QuakeFloat`].
    QuakeFloat,
    /// See [`Codec::SmallestThree`].
    Rotation {
        bits: u8,
        axes: Axes,
    },
    Flags {
        table: u16,
    },
    /// With what its base adds to the number on the wire.
    Enum {
        table: u16,
        low: u64,
    },
    Text(Encoding),
    /// It ends with a zero.
    ZeroText(Encoding),
    /// Its text ends at the first zero, or with it.
    PaddedText(Encoding),
    Bytes,
    /// 128 bits, in an order of bytes of its own where it has one.
    Wide(Option<ByteOrder>),
    Uuid,
    Hash,
}

impl Shown {
    /// Whether it is a text or bytes, or takes more than 64 bits.
    pub(crate) fn is_content(self) -> bool {
        matches!(
            self,
            Shown::Text(_)
                | Shown::ZeroText(_)
                | Shown::PaddedText(_)
                | Shown::Bytes
                | Shown::Wide(_)
                | Shown::Uuid
                | Shown::Hash
        )
    }
}

impl Dictionary {
    pub(crate) fn field(&self, field: u32) -> Option<&FieldInfo> {
        self.fields.get(field as usize)
    }

    pub(crate) fn of_node(&self, field: u32) -> OfNode {
        let found = self.of_nodes.get(field as usize);
        found.copied().unwrap_or_default()
    }

    pub(crate) fn enumeration(&self, table: u16) -> Option<&EnumTable> {
        self.enums.get(usize::from(table))
    }

    /// The members of an enum, sorted by value.
    pub(crate) fn members(&self, table: u16) -> &[EnumMember] {
        self.enumeration(table).map_or(&[], |table| &table.members)
    }
}

impl EnumTable {
    pub(crate) fn member(&self, value: u64) -> Option<&EnumMember> {
        // Most enums count from 0, so that the value is the place.
        if let Some(member) = self.members.get(usize::try_from(value).ok()?)
            && member.value == value
        {
            return Some(member);
        }
        let place = self
            .members
            .binary_search_by_key(&value, |member| member.value)
            .ok()?;
        self.members.get(place)
    }
}

impl SwitchTable {
    #[inline]
    pub(crate) fn find(&self, value: i128) -> Option<u32> {
        let found = match usize::try_from(value) {
            Ok(index) if !self.dense.is_empty() => {
                self.dense.get(index).copied().filter(|&to| to != u32::MAX)
            }
            _ => {
                let place = self
                    .sparse
                    .binary_search_by_key(&value, |&(value, _)| value)
                    .ok();
                place
                    .and_then(|place| self.sparse.get(place))
                    .map(|&(_, to)| to)
            }
        };
        found.or(self.default)
    }
}
