//! What a wire says a packet means: facts, the only thing that other rooms know a packet by.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::layout::StreamId;
use crate::spelled::spelled;

/// A message kind that the wire declares, by its place in [`Wire::kinds`](crate::Wire::kinds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KindId(pub u16);

/// A `rules` block of the wire, by its place in [`Wire::rules`](crate::Wire::rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RulesId(pub u16);

/// A protocol of the wire, by the place of its `wire` block in
/// [`Wire::protocols`](crate::Wire::protocols).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProtocolId(pub u16);

/// A message kind: its name, what it does to objects, and how it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// As the wire spells it.
    pub name: String,
    /// What the closed vocabulary says of it.
    pub role: Role,
    /// Red, green, blue, where the wire gives a colour.
    pub color: Option<[u8; 3]>,
}

/// What a message does, in words that every protocol shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Role {
    Connect,
    Disconnect,
    Create,
    Update,
    Destroy,
    /// Announces a new owner.
    Migrate,
    /// The host tells the new owner that it is one.
    MigrateOrder,
    /// Tells what a snapshot's differences are from where its base lacks the object.
    Baseline,
    Rpc,
    Fragment,
    /// Says that messages were received.
    Ack,
    Ping,
    Pong,
    /// The wire declares the kind and gives it no role.
    Other,
}

/// What a field means: the annotations that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meaning {
    Sequence,
    Ack,
    AckBits,
    /// A packet that the sender says it lacks.
    Nack,
    /// Of an `@ack_range`.
    AckFirst,
    AckLast,
    /// Of a `@nack_range`.
    NackFirst,
    NackLast,
    Sender,
    Host,
    Rules,
    MessageKind,
    Reliable,
    ReliableSequence,
    /// The same, with other promises than the order.
    ReliableUnordered,
    ReliableSequenced,
    OrderedSequence,
    OrderedSequenced,
    Channel,
    Acknowledges,
    AcknowledgesBefore,
    Origin,
    Object,
    ObjectType,
    Owner,
    NewOwner,
    MigrationCounter,
    Tick,
    Checksum,
    Input,
    InputCount,
    SentTime,
    EchoesTime,
    RpcName,
    FragmentId,
    FragmentIndex,
    FragmentCount,
    FragmentData,
    /// The number of a snapshot that begins; see [`crate::Decoded::snapshots`].
    Snapshot,
    /// That of the snapshot that it tells the differences from.
    Base,
}

/// How a receiver treats what it does not expect: a `rules` block of the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// As the wire spells it.
    pub name: String,
    /// A MIGRATE for an object that does not exist here.
    pub unknown_migrate: UnknownMigrate,
    /// An UPDATE for an object that does not exist here.
    pub unknown_update: UnknownUpdate,
    /// A DESTROY for an object that does not exist here.
    pub unknown_destroy: UnknownDestroy,
    /// When a CREATE is believed.
    pub create: CreateRule,
    /// What makes a message old.
    pub stale: StaleRule,
    /// Whose UPDATEs count.
    pub update_from: UpdateFrom,
    /// What becomes of an UPDATE that was sent before one that was taken of the same sender.
    pub older_update: OlderUpdate,
    /// What becomes of an input that comes after its tick; `None` where the wire does not say.
    pub late_input: Option<LateInput>,
    /// A node tells its own input of a tick this many ticks before it works the tick out.
    pub input_delay: u32,
}

spelled! {
    /// See [`Rules::unknown_migrate`].
    UnknownMigrate {
        Drop = "drop",
        Create = "create",
        /// Keep it until CREATE comes.
        Queue = "queue",
    }

    /// See [`Rules::unknown_update`].
    UnknownUpdate {
        Drop = "drop",
        /// Its speaker, or the `@owner` that it names, owns the object.
        Create = "create",
        /// Keep it until CREATE comes.
        Queue = "queue",
    }

    /// See [`Rules::unknown_destroy`].
    UnknownDestroy {
        Drop = "drop",
        /// Remember the counter, so that an older CREATE is known to be old.
        Tombstone = "tombstone",
        /// Keep it until what it ends has come.
        Queue = "queue",
    }

    /// See [`Rules::create`].
    CreateRule {
        Always = "always",
        /// Not below the highest counter heard of the object, and not after DESTROY at that counter.
        Newer = "newer",
    }

    /// See [`Rules::stale`].
    StaleRule {
        Never = "never",
        /// A lower migration counter is old, and so is anything at the same counter after DESTROY.
        Counter = "counter",
    }

    /// See [`Rules::late_input`].
    LateInput {
        /// No tick is worked out before all its inputs are there.
        Wait = "wait",
        /// The game goes back to the tick, and plays all since again.
        Rollback = "rollback",
        /// It has no effect at that node.
        Drop = "drop",
    }

    /// See [`Rules::update_from`].
    UpdateFrom {
        Anyone = "anyone",
        Owner = "owner",
    }

    /// See [`Rules::older_update`].
    OlderUpdate {
        /// What arrives last is believed, whenever it was sent.
        Take = "take",
        Drop = "drop",
    }
}

/// A sequence number and how many bits it has on the wire before it starts again from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sequence {
    /// The value on the wire.
    pub value: u64,
    /// 1 to 64.
    pub bits: u8,
}

/// Hands the facts of a packet that are one number, or one [`Sequence`], to a macro, behind what is given
/// for it: of each its documentation, its name and what it is. [`PacketFacts`] has them, and whoever keeps
/// facts keeps them by this list, in this order.
#[macro_export]
macro_rules! packet_facts {
    ($make:ident $($with:tt)*) => {
        $make! {
            $($with)*
            /// `@sequence`
            sequence: Sequence,
            /// `@ack`: the newest packet that the sender has received.
            ack: Sequence,
            /// `@acknowledges_before` outside messages: the sender has received all messages without a
            /// channel whose `@reliable_sequence` comes before this one.
            acknowledges_before: Sequence,
            /// `@host`: the number of the node that is host.
            host: u64,
            /// `@tick` outside messages.
            tick: Sequence,
            /// `@checksum` outside messages: of the sender's state after the tick.
            checksum: u64,
            /// `@input` outside messages: an integer, or a hash of bytes.
            input: u64,
            /// `@input_count` outside messages.
            input_count: u64,
            /// `@sent_time` outside messages: when the sender sent it, by the sender's clock.
            sent_time: Sequence,
        }
    };
}

/// The same as [`packet_facts!`] of a message, which [`MessageFacts`] has.
#[macro_export]
macro_rules! message_facts {
    ($make:ident $($with:tt)*) => {
        $make! {
            $($with)*
            /// `@reliable_sequence`: its place in the reliable stream of its link,
            /// and channel, where the wire has channels.
            reliable_sequence: Sequence,
            /// `@ordered_sequence`: its place among the messages of its channel that are handed over in
            /// order.
            ordered_sequence: Sequence,
            /// `@channel`
            channel: u64,
            /// `@acknowledges`: the `@reliable_sequence` of a message of this channel that the sender has
            /// received.
            acknowledges: Sequence,
            /// `@acknowledges_before`: the sender has received all messages of this channel whose
            /// `@reliable_sequence` comes before this one.
            acknowledges_before: Sequence,
            /// `@host`: the number of the node that is host.
            host: u64,
            /// `@origin`: the protocol's number of the node that said it first.
            origin: u64,
            /// `@object`
            object: u64,
            /// `@object_type`
            object_type: u64,
            /// `@owner`: of a CREATE.
            owner: u64,
            /// `@new_owner`: of a MIGRATE or an order.
            new_owner: u64,
            /// `@migration_counter`
            migration_counter: u64,
            /// `@tick`
            tick: Sequence,
            /// `@checksum`: of the state after the tick.
            checksum: u64,
            /// `@input`: what a player does in the tick, an integer, or a hash of bytes.
            input: u64,
            /// `@input_count`: the inputs of this many ticks, from the tick on.
            input_count: u64,
            /// `@sent_time`: when this copy of it was sent, by the sender's clock.
            sent_time: Sequence,
            /// `@echoes_time`: the `@sent_time` of what it answers.
            echoed_time: Sequence,
            /// `@fragment_id`: which split message this is a part of.
            fragment_id: u64,
        }
    };
}

macro_rules! facts_of_packets {
    ($($(#[$doc:meta])* $name:ident: $of:ty,)*) => {
        /// The facts of one packet.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct PacketFacts {
            /// The protocol that claims the packet; `None` where none does.
            pub protocol: Option<ProtocolId>,
            $($(#[$doc])* pub $name: Option<$of>,)*
            /// `@ack_bits`: bit i says that packet `ack - 1 - i` was received; and how many bits there are.
            pub ack_bits: Option<(u64, u8)>,
            /// `@nack`: a packet that the sender lacks.
            pub nack: Option<Sequence>,
            /// `@ack_range`: packets that the sender has received, first and last, in wire order.
            pub ack_ranges: Vec<(u64, u64)>,
            /// `@nack_range`: packets that the sender lacks, first and last, in wire order.
            pub nack_ranges: Vec<(u64, u64)>,
            /// How many bits the numbers of the ranges have; 0 where there are no ranges.
            pub range_bits: u8,
            /// `@sender`: the sender's number in the protocol.
            pub sender: Option<u64>,
            /// `@echoes_time`, in messages and outside: times of the other side that came back, in wire
            /// order.
            pub echoed_times: Vec<Sequence>,
            /// `@rules`: the rules that the sender goes by.
            pub rules: Option<RulesId>,
            /// In wire order.
            pub messages: Vec<MessageFacts>,
            /// What facts point to in streams inside the packet, which are not kept.
            pub contents: Vec<InnerContent>,
            /// How many diagnostics a full decode would give.
            pub diagnostics: u32,
            /// How many steps the wire's scripts took for the packet.
            pub steps: u64,
            /// What these took beyond their number.
            pub slow: Slow,
        }

        impl PacketFacts {
            /// Empties the facts and keeps their memory.
            pub(crate) fn clear(&mut self) {
                let PacketFacts {
                    protocol,
                    $($name,)*
                    ack_bits,
                    nack,
                    ack_ranges,
                    nack_ranges,
                    range_bits,
                    sender,
                    echoed_times,
                    rules,
                    messages,
                    contents,
                    diagnostics,
                    steps,
                    slow,
                } = self;
                $(*$name = None;)*
                (*protocol, *rules) = (None, None);
                (*ack_bits, *nack, *sender) = (None, None, None);
                (*range_bits, *diagnostics, *steps) = (0, 0, 0);
                *slow = Slow::default();
                echoed_times.clear();
                ack_ranges.clear();
                nack_ranges.clear();
                messages.clear();
                contents.clear();
            }
        }
    };
}

packet_facts!(facts_of_packets);

impl PacketFacts {
    /// What the packet takes of the steps that a file has for all packets.
    pub fn charged(&self) -> u64 {
        self.steps.saturating_add(self.slow.0)
    }
}

/// Steps that a packet counts besides its own, because those took far longer than steps take. It is
/// measured, and another one each time: it tells no packets apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slow(pub u64);

impl PartialEq for Slow {
    fn eq(&self, _: &Slow) -> bool {
        true
    }
}

impl Eq for Slow {}

/// Bytes of a packet that are a piece of something that runs over packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they are.
    pub place: Place,
    /// What of the connection's state keeps them, in the packet's direction.
    pub kept: u16,
    /// Where they belong; `None` where that depends on something that no packet has said.
    pub at: Option<PieceAt>,
    /// The stream in which what is complete with them is read.
    pub whole: Option<StreamId>,
}

/// Where a piece belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceAt {
    /// A part of a message.
    Part {
        /// Which message.
        key: i128,
        /// Which part, from 0.
        index: i128,
    },
    /// Bytes of a stream of records.
    Stream {
        /// The place of the first byte.
        position: i128,
        /// The place of the first byte that nobody had read before this packet.
        start: i128,
        /// How many bytes were read from there on.
        read: usize,
    },
}

/// Bits of one of a packet's streams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The packet itself, or a stream inside it.
    pub stream: StreamId,
    /// Numbered from the first of the stream, in its bit order.
    pub bits: Range<u32>,
}

/// The name of the remote procedure that a message calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RpcName {
    /// Where it is, without the length before it.
    pub place: Place,
    /// What it is. What is no text of its encoding stands there as by [`Value::Text`](crate::Value::Text).
    pub text: SmolStr,
}

/// Bytes of a stream inside a packet that facts point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InnerContent {
    /// Where they are.
    pub place: Place,
    /// What they are.
    pub bytes: Vec<u8>,
}

/// In which order a receiver hands messages of a stream to its game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Promise {
    /// In the order of their numbers: one that came waits for those before it.
    #[default]
    Ordered,
    /// As they come, each once.
    Unordered,
    /// As they come, but none with a lower number than one that was handed over.
    Sequenced,
}

macro_rules! facts_of_messages {
    ($($(#[$doc:meta])* $name:ident: $of:ty,)*) => {
        /// The facts of one message.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub struct MessageFacts {
            /// `@message_kind`; `None` where the packet ended before it.
            pub kind: Option<KindId>,
            /// The stream that its bits are in.
            pub stream: StreamId,
            /// The message's bits, numbered from the first of the stream in its bit order.
            pub bits: Range<u32>,
            /// `@reliable`, or there is a `@reliable_sequence`.
            pub reliable: bool,
            /// What its stream promises, where it has a sequence.
            pub promise: Promise,
            $($(#[$doc])* pub $name: Option<$of>,)*
            /// `@rpc_name`: what is called.
            pub rpc_name: Option<RpcName>,
            /// `@fragment_index` and `@fragment_count`.
            pub fragment: Option<(u64, u64)>,
            /// `@fragment_data`: where the data is.
            pub fragment_data: Option<Place>,
        }
    };
}

message_facts!(facts_of_messages);
