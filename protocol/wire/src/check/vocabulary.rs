//! The closed vocabulary of annotations: what each one may stand on, and what type it asks for.

use super::model::{RangeOf, Type};
use crate::facts::{Meaning, Role};

/// What an annotation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// On a field.
    Meaning(Meaning),
    /// On a struct: each value of it is one message.
    Message,
    /// On a struct: each value of it is one range of packets.
    Range(RangeOf),
    /// On a member of a `@message_kind` enum.
    Role(Role),
    /// On a member of a `@rules` enum: `@rules(NAME)`.
    RulesOf,
    /// On a member of an enum: `@color("#rrggbb")`.
    Color,
    /// On a field of a message: `@property(KIND, "UNIT", TOLERANCE)`.
    Property,
    /// On a field of a struct that is a property: its value.
    Value,
    /// On a field: `@gives(NAME)`, a value that the other side says back.
    Gives,
    /// On a field: `@takes(NAME)`, a value that is said back.
    Takes,
    /// On a field: another thing in each copy of its message.
    PerCopy,
}

/// Where an annotation may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Field,
    Struct,
    Member,
}

/// What a meaning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Packet,
    Message,
    /// The message that it stands in; outside messages the packet.
    Either,
    /// One `@ack_range` or `@nack_range`.
    Range,
}

impl Place {
    pub(super) fn shown(self) -> &'static str {
        match self {
            Place::Field => "a field",
            Place::Struct => "a struct",
            Place::Member => "a member of an enum",
        }
    }
}

/// All words, in the order in which the reference lists them. `@rules` is two words: on a field it
/// says that the field chooses the rules, on a member which rules the member stands for; and so is
/// `@ack`.
pub(super) const WORDS: [(&str, Word); 59] = [
    ("sequence", Word::Meaning(Meaning::Sequence)),
    ("ack", Word::Meaning(Meaning::Ack)),
    ("ack_bits", Word::Meaning(Meaning::AckBits)),
    ("nack", Word::Meaning(Meaning::Nack)),
    ("ack_range", Word::Range(RangeOf::Acks)),
    ("nack_range", Word::Range(RangeOf::Nacks)),
    ("range_first", Word::Meaning(Meaning::AckFirst)),
    ("range_last", Word::Meaning(Meaning::AckLast)),
    ("sender", Word::Meaning(Meaning::Sender)),
    ("host", Word::Meaning(Meaning::Host)),
    ("rules", Word::Meaning(Meaning::Rules)),
    ("rules", Word::RulesOf),
    ("message", Word::Message),
    ("message_kind", Word::Meaning(Meaning::MessageKind)),
    ("reliable", Word::Meaning(Meaning::Reliable)),
    (
        "reliable_sequence",
        Word::Meaning(Meaning::ReliableSequence),
    ),
    ("ordered_sequence", Word::Meaning(Meaning::OrderedSequence)),
    ("channel", Word::Meaning(Meaning::Channel)),
    ("acknowledges", Word::Meaning(Meaning::Acknowledges)),
    (
        "acknowledges_before",
        Word::Meaning(Meaning::AcknowledgesBefore),
    ),
    ("origin", Word::Meaning(Meaning::Origin)),
    ("object", Word::Meaning(Meaning::Object)),
    ("object_type", Word::Meaning(Meaning::ObjectType)),
    ("owner", Word::Meaning(Meaning::Owner)),
    ("new_owner", Word::Meaning(Meaning::NewOwner)),
    (
        "migration_counter",
        Word::Meaning(Meaning::MigrationCounter),
    ),
    ("tick", Word::Meaning(Meaning::Tick)),
    ("checksum", Word::Meaning(Meaning::Checksum)),
    ("input", Word::Meaning(Meaning::Input)),
    ("input_count", Word::Meaning(Meaning::InputCount)),
    ("sent_time", Word::Meaning(Meaning::SentTime)),
    ("echoes_time", Word::Meaning(Meaning::EchoesTime)),
    ("rpc_name", Word::Meaning(Meaning::RpcName)),
    ("fragment_id", Word::Meaning(Meaning::FragmentId)),
    ("fragment_index", Word::Meaning(Meaning::FragmentIndex)),
    ("fragment_count", Word::Meaning(Meaning::FragmentCount)),
    ("fragment_data", Word::Meaning(Meaning::FragmentData)),
    ("snapshot", Word::Meaning(Meaning::Snapshot)),
    ("base", Word::Meaning(Meaning::Base)),
    ("property", Word::Property),
    ("value", Word::Value),
    ("gives", Word::Gives),
    ("takes", Word::Takes),
    ("per_copy", Word::PerCopy),
    ("color", Word::Color),
    ("connect", Word::Role(Role::Connect)),
    ("disconnect", Word::Role(Role::Disconnect)),
    ("create", Word::Role(Role::Create)),
    ("update", Word::Role(Role::Update)),
    ("destroy", Word::Role(Role::Destroy)),
    ("migrate", Word::Role(Role::Migrate)),
    ("migrate_order", Word::Role(Role::MigrateOrder)),
    ("baseline", Word::Role(Role::Baseline)),
    ("rpc", Word::Role(Role::Rpc)),
    ("fragment", Word::Role(Role::Fragment)),
    ("ack", Word::Role(Role::Ack)),
    ("ping", Word::Role(Role::Ping)),
    ("pong", Word::Role(Role::Pong)),
    ("other", Word::Role(Role::Other)),
];

impl Word {
    pub(super) fn place(self) -> Place {
        match self {
            Word::Meaning(_)
            | Word::Property
            | Word::Value
            | Word::Gives
            | Word::Takes
            | Word::PerCopy => Place::Field,
            Word::Message | Word::Range(_) => Place::Struct,
            Word::Role(_) | Word::RulesOf | Word::Color => Place::Member,
        }
    }
}

impl Meaning {
    /// As the wire spells it, without `@`.
    pub(crate) fn spelled(self) -> &'static str {
        let in_words = match self.of_any_promise() {
            Meaning::NackFirst => Meaning::AckFirst,
            Meaning::NackLast => Meaning::AckLast,
            other => other,
        };
        let found = WORDS
            .iter()
            .find(|(_, word)| *word == Word::Meaning(in_words));
        found.map_or("", |(spelled, _)| spelled)
    }

    /// Of what it says something.
    pub(super) fn subject(self) -> Subject {
        match self {
            Meaning::Sequence
            | Meaning::Ack
            | Meaning::AckBits
            | Meaning::Nack
            | Meaning::Sender
            | Meaning::Rules => Subject::Packet,
            Meaning::SentTime
            | Meaning::EchoesTime
            | Meaning::Tick
            | Meaning::Checksum
            | Meaning::Input
            | Meaning::InputCount
            | Meaning::Host
            | Meaning::AcknowledgesBefore => Subject::Either,
            Meaning::AckFirst | Meaning::AckLast | Meaning::NackFirst | Meaning::NackLast => {
                Subject::Range
            }
            _ => Subject::Message,
        }
    }

    /// Without what it promises.
    pub(super) fn of_any_promise(self) -> Meaning {
        match self {
            Meaning::ReliableUnordered | Meaning::ReliableSequenced => Meaning::ReliableSequence,
            Meaning::OrderedSequenced => Meaning::OrderedSequence,
            other => other,
        }
    }

    /// The words that can stand behind it in parentheses, and what it then means.
    pub(super) fn promises(self) -> &'static [(&'static str, Meaning)] {
        match self {
            Meaning::ReliableSequence => &[
                ("ordered", Meaning::ReliableSequence),
                ("unordered", Meaning::ReliableUnordered),
                ("sequenced", Meaning::ReliableSequenced),
            ],
            Meaning::OrderedSequence => &[
                ("ordered", Meaning::OrderedSequence),
                ("sequenced", Meaning::OrderedSequenced),
            ],
            _ => &[],
        }
    }

    /// The same of a range of the other sort.
    pub(super) fn of_range(self, range: Option<RangeOf>) -> Meaning {
        match (self, range) {
            (Meaning::AckFirst, Some(RangeOf::Nacks)) => Meaning::NackFirst,
            (Meaning::AckLast, Some(RangeOf::Nacks)) => Meaning::NackLast,
            _ => self,
        }
    }

    /// Whether a field of this type can mean it.
    pub(super) fn accepts(self, field_type: &Type) -> bool {
        let unsigned =
            field_type.is_unsigned() || matches!(field_type, Type::Computed | Type::Delta { .. });
        let is_enum = matches!(field_type, Type::Enum(_));
        match self {
            Meaning::AckBits => match field_type {
                Type::Coded { codec, .. } => unsigned && !codec.is_varint(),
                other => matches!(other, Type::Unsigned(_)),
            },
            Meaning::Rules | Meaning::MessageKind => is_enum,
            Meaning::Reliable => matches!(field_type, Type::Unsigned(1) | Type::Bool),
            Meaning::ObjectType | Meaning::Channel => unsigned || is_enum,
            Meaning::RpcName => matches!(field_type, Type::Text { .. }),
            Meaning::FragmentData => matches!(field_type, Type::Bytes(_) | Type::BytesRest),
            Meaning::Checksum => unsigned || matches!(field_type, Type::Hash(_)),
            Meaning::Input => {
                let is_bytes = matches!(field_type, Type::Bytes(_) | Type::BytesRest);
                unsigned || is_enum || is_bytes
            }
            _ => unsigned,
        }
    }

    /// The types that can mean it, for people.
    pub(super) fn expected_type(self) -> &'static str {
        match self {
            Meaning::AckBits => "an unsigned integer of fixed width, such as `u32`",
            Meaning::Rules | Meaning::MessageKind => "an enum",
            Meaning::Reliable => "`u1` or `bool`",
            Meaning::ObjectType | Meaning::Channel => "an unsigned integer or an enum",
            Meaning::RpcName => "a `string`",
            Meaning::FragmentData => "`bytes`",
            Meaning::Checksum => "an unsigned integer or a `hash`",
            Meaning::Input => "an unsigned integer, an enum or `bytes`",
            _ => "an unsigned integer, such as `u16` or `leb128`",
        }
    }
}
