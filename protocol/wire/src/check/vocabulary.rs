//! The closed vocabulary of annotations: what each one may stand on, and what type it asks for.

use super::model::{Meaning, Type};
use crate::facts::Role;

/// What an annotation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// On a field.
    Meaning(Meaning),
    /// On a struct: each value of it is one message.
    Message,
    /// On a member of a `@message_kind` enum.
    Role(Role),
    /// On a member of an enum: `@color("#rrggbb")`.
    Color,
}

/// Where an annotation may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Field,
    Struct,
    Member,
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
/// says that the field chooses the rules, on a member which rules the member stands for.
pub(super) const WORDS: [(&str, Word); 33] = [
    ("sequence", Word::Meaning(Meaning::Sequence)),
    ("ack", Word::Meaning(Meaning::Ack)),
    ("ack_bits", Word::Meaning(Meaning::AckBits)),
    ("sender", Word::Meaning(Meaning::Sender)),
    ("rules", Word::Meaning(Meaning::Rules)),
    ("message", Word::Message),
    ("message_kind", Word::Meaning(Meaning::MessageKind)),
    ("reliable", Word::Meaning(Meaning::Reliable)),
    (
        "reliable_sequence",
        Word::Meaning(Meaning::ReliableSequence),
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
    ("rpc_name", Word::Meaning(Meaning::RpcName)),
    ("fragment_index", Word::Meaning(Meaning::FragmentIndex)),
    ("fragment_count", Word::Meaning(Meaning::FragmentCount)),
    ("fragment_data", Word::Meaning(Meaning::FragmentData)),
    ("color", Word::Color),
    ("connect", Word::Role(Role::Connect)),
    ("disconnect", Word::Role(Role::Disconnect)),
    ("create", Word::Role(Role::Create)),
    ("update", Word::Role(Role::Update)),
    ("destroy", Word::Role(Role::Destroy)),
    ("migrate", Word::Role(Role::Migrate)),
    ("migrate_order", Word::Role(Role::MigrateOrder)),
    ("rpc", Word::Role(Role::Rpc)),
    ("fragment", Word::Role(Role::Fragment)),
    ("ping", Word::Role(Role::Ping)),
    ("pong", Word::Role(Role::Pong)),
    ("other", Word::Role(Role::Other)),
];

impl Word {
    pub(super) fn place(self) -> Place {
        match self {
            Word::Meaning(_) => Place::Field,
            Word::Message => Place::Struct,
            Word::Role(_) | Word::Color => Place::Member,
        }
    }
}

impl Meaning {
    /// As the wire spells it, without `@`.
    pub(crate) fn spelled(self) -> &'static str {
        let found = WORDS.iter().find(|(_, word)| *word == Word::Meaning(self));
        found.map_or("", |(spelled, _)| spelled)
    }

    /// Whether it says something of one message, not of the whole packet.
    pub(super) fn is_of_message(self) -> bool {
        !matches!(
            self,
            Meaning::Sequence | Meaning::Ack | Meaning::AckBits | Meaning::Sender | Meaning::Rules
        )
    }

    /// Whether a field of this type can mean it.
    pub(super) fn accepts(self, field_type: &Type) -> bool {
        let unsigned = match field_type {
            Type::Unsigned(_) | Type::Leb128 => true,
            Type::Range { low, .. } => *low >= 0,
            _ => false,
        };
        let is_enum = matches!(field_type, Type::Enum(_));
        match self {
            Meaning::AckBits => matches!(field_type, Type::Unsigned(_)),
            Meaning::Rules | Meaning::MessageKind => is_enum,
            Meaning::Reliable => matches!(field_type, Type::Unsigned(1) | Type::Bool),
            Meaning::ObjectType => unsigned || is_enum,
            Meaning::RpcName => matches!(field_type, Type::Text { .. }),
            Meaning::FragmentData => matches!(field_type, Type::Bytes(_)),
            _ => unsigned,
        }
    }

    /// The types that can mean it, for people.
    pub(super) fn expected_type(self) -> &'static str {
        match self {
            Meaning::AckBits => "an unsigned integer of fixed width, such as `u32`",
            Meaning::Rules | Meaning::MessageKind => "an enum",
            Meaning::Reliable => "`u1` or `bool`",
            Meaning::ObjectType => "an unsigned integer or an enum",
            Meaning::RpcName => "a `string`",
            Meaning::FragmentData => "`bytes`",
            _ => "an unsigned integer, such as `u16` or `leb128`",
        }
    }
}
