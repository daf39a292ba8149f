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
pub(crate) enum Place {
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

/// An annotation: a line of the vocabulary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(super) word: Word,
    /// How it is written.
    pub shape: &'static str,
    /// What it means, in a sentence for editors. The reference says more (docs/wire-language.md).
    pub text: &'static str,
}

impl Known {
    /// Without `@`, and without what stands in parentheses.
    pub(crate) fn spelled(&self) -> &'static str {
        let name = self.shape.split('(').next();
        name.map_or("", |name| name.trim_start_matches('@'))
    }

    pub(crate) fn place(&self) -> Place {
        self.word.place()
    }
}

/// All annotations, in their order.
pub(crate) fn vocabulary() -> impl Iterator<Item = Known> + Clone {
    let words = WORDS.iter();
    words.map(|&(word, shape, text)| Known { word, shape, text })
}

/// All words, in the order in which the reference lists them. `@rules` is two words: on a field it
/// says that the field chooses the rules, on a member which rules the member stands for; and so is
/// `@ack`.
#[rustfmt::skip]
const WORDS: &[(Word, &str, &str)] = &[
    (Word::Meaning(Meaning::Sequence), "@sequence", "The packet's number."),
    (Word::Meaning(Meaning::Ack), "@ack", "The newest packet that the sender has received."),
    (Word::Meaning(Meaning::AckBits), "@ack_bits", "Bit i: packet `ack - 1 - i` was received."),
    (Word::Meaning(Meaning::Nack), "@nack", "A packet that the sender lacks."),
    (Word::Range(RangeOf::Acks), "@ack_range", "Each value is one range of packets that the sender has received."),
    (Word::Range(RangeOf::Nacks), "@nack_range", "Each value is one range of packets that the sender lacks."),
    (Word::Meaning(Meaning::AckFirst), "@range_first", "The first packet of a range."),
    (Word::Meaning(Meaning::AckLast), "@range_last", "The last packet of a range."),
    (Word::Meaning(Meaning::Sender), "@sender", "The sender's number in the protocol."),
    (Word::Meaning(Meaning::Host), "@host", "The number of the node that is host."),
    (Word::Meaning(Meaning::Rules), "@rules", "Which rules the sender goes by: an enum with `@rules(NAME)` on its members."),
    (Word::RulesOf, "@rules(NAME)", "The rules that this member stands for."),
    (Word::Message, "@message", "Each value of the struct is one message."),
    (Word::Meaning(Meaning::MessageKind), "@message_kind", "What the message is: an enum, whose members are the wire's message kinds."),
    (Word::Meaning(Meaning::Reliable), "@reliable", "Whether the message is sent again until it is acked."),
    (Word::Meaning(Meaning::ReliableSequence), "@reliable_sequence", "The message's place in the reliable stream of its link and channel. In parentheses what the stream promises: `ordered` (without a word as well), `unordered` or `sequenced`."),
    (Word::Meaning(Meaning::OrderedSequence), "@ordered_sequence", "The message's place among those of its channel that are handed over in order; `(sequenced)`: as they come, and none that is older than one before."),
    (Word::Meaning(Meaning::Channel), "@channel", "The channel of the message; each counts for itself."),
    (Word::Meaning(Meaning::Acknowledges), "@acknowledges", "The message of its channel with this `@reliable_sequence` was received."),
    (Word::Meaning(Meaning::AcknowledgesBefore), "@acknowledges_before", "All messages before this `@reliable_sequence` were received."),
    (Word::Meaning(Meaning::Origin), "@origin", "The number of the node that said the message first."),
    (Word::Meaning(Meaning::Object), "@object", "The replicated object that the message is about."),
    (Word::Meaning(Meaning::ObjectType), "@object_type", "That object's type."),
    (Word::Meaning(Meaning::Owner), "@owner", "Who owns the object that a CREATE makes."),
    (Word::Meaning(Meaning::NewOwner), "@new_owner", "Who owns the object after a MIGRATE or an order."),
    (Word::Meaning(Meaning::MigrationCounter), "@migration_counter", "How often the object has migrated."),
    (Word::Meaning(Meaning::Tick), "@tick", "The tick of the simulation."),
    (Word::Meaning(Meaning::Checksum), "@checksum", "A checksum of the sender's state after the tick; nodes that tell another one of the same tick have parted."),
    (Word::Meaning(Meaning::Input), "@input", "What a player does in the tick."),
    (Word::Meaning(Meaning::InputCount), "@input_count", "The inputs of so many ticks are here, from the tick on; without it of one."),
    (Word::Meaning(Meaning::SentTime), "@sent_time", "When the packet, or this copy of the message, was sent, by the sender's clock."),
    (Word::Meaning(Meaning::EchoesTime), "@echoes_time", "A `@sent_time` of the other side that came back."),
    (Word::Meaning(Meaning::RpcName), "@rpc_name", "The remote procedure that is called."),
    (Word::Meaning(Meaning::FragmentId), "@fragment_id", "Which split message this is a part of."),
    (Word::Meaning(Meaning::FragmentIndex), "@fragment_index", "Which part of a split message this is, from 0."),
    (Word::Meaning(Meaning::FragmentCount), "@fragment_count", "How many parts there are."),
    (Word::Meaning(Meaning::FragmentData), "@fragment_data", "The part."),
    (Word::Meaning(Meaning::Snapshot), "@snapshot", "The number of a snapshot; the messages about objects that follow in the packet are its differences from the `@base`."),
    (Word::Meaning(Meaning::Base), "@base", "The number of the snapshot that this one tells the differences from; where it is not there, from nothing."),
    (Word::Property, "@property(KIND, \"UNIT\", TOLERANCE)", "A property of the object: its kind (number, position, angle, count, flag, name), its unit, and how far values of two nodes may differ; each may be left out."),
    (Word::Value, "@value", "The value of the property that the struct around it is; without one, all fields of the struct are."),
    (Word::Gives, "@gives(NAME)", "A value that the other side says back where it has `@takes(NAME)`: a token, the number of a peer. Whoever plays a recording at a live endpoint says the live one."),
    (Word::Takes, "@takes(NAME)", "A value that the other side has said where it has `@gives(NAME)`."),
    (Word::PerCopy, "@per_copy", "It is another thing in each copy of a message that is sent again: how long the sender waited, room in its buffers. Copies that differ in it say the same."),
    (Word::Color, "@color(\"#rrggbb\")", "How messages of this kind are drawn."),
    (Word::Role(Role::Connect), "@connect", "A message that joins the session."),
    (Word::Role(Role::Disconnect), "@disconnect", "A message that leaves the session."),
    (Word::Role(Role::Create), "@create", "A message that makes an object."),
    (Word::Role(Role::Update), "@update", "A message that changes an object."),
    (Word::Role(Role::Destroy), "@destroy", "A message that removes an object."),
    (Word::Role(Role::Migrate), "@migrate", "A message that gives an object to another owner."),
    (Word::Role(Role::MigrateOrder), "@migrate_order", "The host tells the new owner."),
    (Word::Role(Role::Baseline), "@baseline", "Tells an object's values that snapshots tell the differences from where their base lacks the object."),
    (Word::Role(Role::Rpc), "@rpc", "A message that calls a remote procedure."),
    (Word::Role(Role::Fragment), "@fragment", "A part of a split message."),
    (Word::Role(Role::Ack), "@ack", "A message that says which messages were received."),
    (Word::Role(Role::Ping), "@ping", "A message that asks for a `@pong`."),
    (Word::Role(Role::Pong), "@pong", "The answer to a `@ping`."),
    (Word::Role(Role::Other), "@other", "Any other message; the same as no annotation."),
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
        let found = vocabulary().find(|known| known.word == Word::Meaning(in_words));
        found.map_or("", |known| known.spelled())
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
            Meaning::MessageKind
            | Meaning::Reliable
            | Meaning::ReliableSequence
            | Meaning::ReliableUnordered
            | Meaning::ReliableSequenced
            | Meaning::OrderedSequence
            | Meaning::OrderedSequenced
            | Meaning::Channel
            | Meaning::Acknowledges
            | Meaning::Origin
            | Meaning::Object
            | Meaning::ObjectType
            | Meaning::Owner
            | Meaning::NewOwner
            | Meaning::MigrationCounter
            | Meaning::RpcName
            | Meaning::FragmentId
            | Meaning::FragmentIndex
            | Meaning::FragmentCount
            | Meaning::FragmentData
            | Meaning::Snapshot
            | Meaning::Base => Subject::Message,
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

    /// Whether a field of this type can mean it; and the types that can, for people.
    pub(super) fn accepts(self, field_type: &Type) -> (bool, &'static str) {
        let unsigned =
            field_type.is_unsigned() || matches!(field_type, Type::Computed | Type::Delta { .. });
        let is_enum = matches!(field_type, Type::Enum(_));
        let is_bytes = matches!(field_type, Type::Bytes(_) | Type::BytesRest);
        match self {
            Meaning::AckBits => {
                let is_fixed = match field_type {
                    Type::Coded { codec, .. } => unsigned && !codec.is_varint(),
                    other => matches!(other, Type::Unsigned(_)),
                };
                (
                    is_fixed,
                    "an unsigned integer of fixed width, such as `u32`",
                )
            }
            Meaning::Rules | Meaning::MessageKind => (is_enum, "an enum"),
            Meaning::Reliable => {
                let is_bit = matches!(field_type, Type::Unsigned(1) | Type::Bool);
                (is_bit, "`u1` or `bool`")
            }
            Meaning::ObjectType | Meaning::Channel => {
                (unsigned || is_enum, "an unsigned integer or an enum")
            }
            Meaning::RpcName => (matches!(field_type, Type::Text { .. }), "a `string`"),
            Meaning::FragmentData => (is_bytes, "`bytes`"),
            Meaning::Checksum => {
                let is_hash = matches!(field_type, Type::Hash(_));
                (unsigned || is_hash, "an unsigned integer or a `hash`")
            }
            Meaning::Input => {
                let expected = "an unsigned integer, an enum or `bytes`";
                (unsigned || is_enum || is_bytes, expected)
            }
            _ => (unsigned, "an unsigned integer, such as `u16` or `leb128`"),
        }
    }
}
