//! Which parts facts have: those of [`packet_facts!`] and [`message_facts!`], each a number, and a few of
//! other forms, which are [`shape`](super::shape)'s. Each has a bit; those of the lists come first, in
//! their order.

use netreel_wire::{
    KindId, MessageFacts, PacketFacts, Promise, Sequence, message_facts, packet_facts,
};
use serde::{Deserialize, Serialize};

use super::bytes::{Bytes, put};
use super::said::Said;

/// What parts the facts of a packet, or of a message, have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// The protocol of a packet, or the kind of a message.
    pub(super) of: Option<u16>,
    pub(super) parts: Parts,
    pub(super) reliable: bool,
    pub(super) promise: Promise,
}

/// The parts that facts have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Parts {
    /// A bit for each part that is there.
    there: u32,
    /// How many bits sequence numbers have, in the order of the parts.
    pub widths: [u8; WIDTHS],
}

/// The most widths that a packet, or a message, has.
const WIDTHS: usize = if RANGE_WIDTH < MessagePart::WIDTHS {
    MessagePart::WIDTHS
} else {
    RANGE_WIDTH + 1
};

/// What is written as one number.
pub(super) trait Numbered: Copy {
    /// Whether its width stands in the shape.
    const HAS_WIDTH: bool;

    fn told(self) -> Sequence;
    fn of(told: Sequence) -> Self;
}

impl Numbered for u64 {
    const HAS_WIDTH: bool = false;

    fn told(self) -> Sequence {
        let bits = 0;
        Sequence { value: self, bits }
    }

    fn of(told: Sequence) -> u64 {
        told.value
    }
}

impl Numbered for Sequence {
    const HAS_WIDTH: bool = true;

    fn told(self) -> Sequence {
        self
    }

    fn of(told: Sequence) -> Sequence {
        told
    }
}

/// How many of the parts before a place have a width.
const fn widths_before(place: usize, have: &[bool]) -> usize {
    let (mut before, mut count) = (0, 0);
    while before < place {
        count += have[before] as usize;
        before += 1;
    }
    count
}

/// Makes of a list of facts what writes and reads them. `$other` are all other fields of `$facts`: a field
/// that is in neither does not compile.
macro_rules! parts {
    (
        $part:ident of $facts:ident ($($other:ident)*), read as $read:ident:
        $($(#[$doc:meta])* $name:ident: $of:ident,)*
    ) => {
        #[allow(non_camel_case_types)] // spelled as the facts are
        #[derive(Clone, Copy)]
        pub(super) enum $part {
            $($name,)*
        }

        impl $part {
            const HAVE_WIDTHS: &[bool] = &[$(<$of>::HAS_WIDTH),*];
            const WIDTHS: usize = widths_before(Self::HAVE_WIDTHS.len(), Self::HAVE_WIDTHS);
            /// The names of all, and what they are.
            const LIST: &str = concat!($(stringify!($name), ": ", stringify!($of), ","),*);

            /// The bit of a part that is none of these.
            const fn after(nth: u32) -> u32 {
                let place = Self::HAVE_WIDTHS.len() as u32 + nth;
                assert!(place < u32::BITS, "`Parts::there` has a bit for each part: make it wider");
                1 << place
            }

            const fn bit(self) -> u32 {
                1 << self as u32
            }

            const fn width(self) -> usize {
                widths_before(self as usize, Self::HAVE_WIDTHS)
            }

            /// Notes which there are.
            pub fn note(facts: &$facts, parts: &mut Parts) {
                let $facts { $($name,)* $($other: _,)* } = facts;
                $(
                    parts.note($part::$name.bit(), *$name);
                    if <$of>::HAS_WIDTH {
                        let width = &mut parts.widths[const { $part::$name.width() }];
                        *width = $name.map_or(0, |fact| fact.told().bits);
                    }
                )*
            }

            /// Appends the numbers of those that there are.
            pub fn put(facts: &$facts, to: &mut Vec<u8>) {
                $(if let Some(fact) = facts.$name {
                    put(fact.told().value, to);
                })*
            }

            /// Takes what was appended.
            pub fn take(read: &mut $read, parts: &Parts, from: &mut Bytes<'_>) {
                $(
                    let bits = if <$of>::HAS_WIDTH {
                        parts.widths[const { $part::$name.width() }]
                    } else {
                        0
                    };
                    let number = parts.number($part::$name.bit(), from);
                    read.$name = number.map(|value| <$of>::of(Sequence { value, bits }));
                )*
            }
        }
    };
}

// A field of the facts that is in no list stands in parentheses. `shape` keeps it; of a packet nobody keeps
// `sender`, `echoed_times`, `rules`, `contents`, `steps` and `slow`.
packet_facts!(parts PacketPart of PacketFacts (
    protocol ack_bits nack ack_ranges nack_ranges range_bits sender echoed_times rules messages
    contents diagnostics steps slow
), read as Said:);

message_facts!(parts MessagePart of MessageFacts (
    kind stream bits reliable promise rpc_name fragment fragment_data
), read as MessageFacts:);

/// The facts that are kept of packets and messages: an index that was written with others is none.
pub(crate) const FACTS: [&str; 2] = [PacketPart::LIST, MessagePart::LIST];

/// Of a packet: how many messages, unless it is one.
pub(super) const MESSAGES: u32 = PacketPart::after(0);
/// How many ranges it acks.
pub(super) const RANGES: u32 = PacketPart::after(1);
/// How many ranges it lacks.
pub(super) const LACKS: u32 = PacketPart::after(2);
/// How many diagnostics it has.
pub(super) const UNFIT: u32 = PacketPart::after(3);
pub(super) const ACK_BITS: u32 = PacketPart::after(4);
/// The places of the width of `@ack_bits`, and of the numbers of ranges.
pub(super) const ACK_BITS_WIDTH: usize = PacketPart::WIDTHS;
pub(super) const RANGE_WIDTH: usize = PacketPart::WIDTHS + 1;

/// Of a message.
pub(super) const STREAM: u32 = MessagePart::after(0);
pub(super) const FRAGMENT_INDEX: u32 = MessagePart::after(1);
pub(super) const FRAGMENT_COUNT: u32 = MessagePart::after(2);
/// Three numbers of a place, and one of a name.
pub(super) const RPC_NAME: u32 = MessagePart::after(3);
/// Three numbers of a place.
pub(super) const FRAGMENT_DATA: u32 = MessagePart::after(4);

/// In [`Shape::has`]: a `@reliable_sequence`.
pub(crate) const RELIABLE_SEQUENCE: u32 = MessagePart::reliable_sequence.bit();
/// In [`Shape::has`]: that a message acknowledges others.
pub(crate) const ACKNOWLEDGES: u32 =
    MessagePart::acknowledges.bit() | MessagePart::acknowledges_before.bit();
/// In [`Shape::has`]: a `@host`.
pub(crate) const HOST: u32 = MessagePart::host.bit();
/// In [`Shape::has`]: an `@object`.
pub(crate) const OBJECT: u32 = MessagePart::object.bit();
/// In [`Shape::has`]: a `@checksum`.
pub(crate) const CHECKSUM: u32 = MessagePart::checksum.bit();
/// In [`Shape::has`]: an `@input`.
pub(crate) const INPUT: u32 = MessagePart::input.bit();

impl Shape {
    /// The kind of a message.
    pub fn kind(&self) -> Option<KindId> {
        self.of.map(KindId)
    }

    /// Whether a packet or a message has one of these parts.
    pub fn has(&self, parts: u32) -> bool {
        self.parts.there & parts != 0
    }

    /// Whether a message is handed over unless a newer one was.
    pub fn is_sequenced(&self) -> bool {
        self.promise == Promise::Sequenced
    }

    /// How many numbers stand behind a message's shape and bits.
    pub(super) fn values(&self) -> u32 {
        let more = |part, count| if self.has(part) { count } else { 0 };
        self.parts.there.count_ones() + more(RPC_NAME, 3) + more(FRAGMENT_DATA, 2)
    }

    /// A number below `count` that shapes of packets and messages in turn seldom share.
    pub(super) fn place(&self, count: usize) -> usize {
        let there = self.parts.there;
        let there = there ^ there >> 16;
        let of = u32::from(self.of.unwrap_or(0));
        (there ^ there >> 8 ^ there >> 4 ^ of) as usize % count
    }
}

impl Parts {
    pub fn note<T>(&mut self, part: u32, fact: Option<T>) {
        self.there |= if fact.is_some() { part } else { 0 };
    }

    /// Takes the number of a part, if it is there.
    #[inline]
    pub fn number(&self, part: u32, from: &mut Bytes<'_>) -> Option<u64> {
        (self.there & part != 0).then(|| from.take())
    }

    /// How many parts there are besides these.
    pub fn count_without(&self, parts: u32) -> u32 {
        (self.there & !parts).count_ones()
    }
}
