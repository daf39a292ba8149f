//! What values mean: the facts, as the interpreter comes by them.

use super::machine::{Machine, OpenMessages};
use super::sink::Sink;
use super::tape::Tape;
use crate::facts::{Meaning, MessageFacts, PacketFacts, Promise, Sequence};
use crate::operation::Register;
use crate::program::EnumMember;

/// Says where the range that began last ends.
fn end_range(ranges: &mut [(u64, u64)], last: u64) {
    if let Some(range) = ranges.last_mut() {
        range.1 = last;
    }
}

/// Bytes as a number by which they are told apart: up to eight as they are, the first the lowest; more by
/// their hash (FNV-1a, 64 bits).
pub(super) fn numbered(bytes: &[u8]) -> u64 {
    if bytes.len() <= 8 {
        let bytes = bytes.iter().rev();
        return bytes.fold(0, |number, &byte| number << 8 | u64::from(byte));
    }
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

impl<'p, T: Tape<'p>, S: Sink> Machine<'p, '_, T, S> {
    pub(super) fn begin_message(&mut self) {
        let at = self.tape.at();
        let place = self.facts.messages.len() as u32;
        self.facts.messages.push(MessageFacts {
            stream: self.stream,
            bits: at..at,
            ..MessageFacts::default()
        });
        self.open = OpenMessages {
            inner: Some(place),
            outer: self.open.inner,
        };
        self.fragment = (None, None);
    }

    pub(super) fn end_message(&mut self) {
        let at = self.tape.at();
        self.message(|message| message.bits.end = at);
        self.open = OpenMessages {
            inner: self.open.outer,
            outer: None,
        };
    }

    /// Ends messages until only those are open.
    pub(super) fn end_messages(&mut self, left: OpenMessages) {
        while self.open != left && self.open.inner.is_some() {
            self.end_message();
        }
    }

    pub(super) fn member(&self, value: Register, table: u16) -> Option<&'p EnumMember> {
        let value = u64::try_from(self.register(value)).ok()?;
        self.program.dictionary.enumeration(table)?.member(value)
    }

    #[inline]
    pub(super) fn message(&mut self, change: impl FnOnce(&mut MessageFacts)) {
        let open = self.open.inner;
        if let Some(message) = open.and_then(|at| self.facts.messages.get_mut(at as usize)) {
            change(message);
        }
    }

    /// Says something of the message that is open; outside messages, of the packet.
    #[inline]
    fn either(
        &mut self,
        of_message: impl FnOnce(&mut MessageFacts),
        of_packet: impl FnOnce(&mut PacketFacts),
    ) {
        match self.open.inner {
            Some(_) => self.message(of_message),
            None => of_packet(self.facts),
        }
    }

    #[inline]
    pub(super) fn say(&mut self, fact: Option<Meaning>, value: u64, bits: u8) {
        if let Some(meaning) = fact {
            self.say_meaning(meaning, value, bits);
        }
    }

    pub(super) fn say_meaning(&mut self, meaning: Meaning, value: u64, bits: u8) {
        let sequence = Some(Sequence { value, bits });
        let fact = Some(value);
        match meaning {
            Meaning::Sequence => self.facts.sequence = sequence,
            Meaning::Ack => self.facts.ack = sequence,
            Meaning::AckBits => self.facts.ack_bits = Some((value, bits)),
            Meaning::Nack => self.facts.nack = sequence,
            Meaning::AckFirst => {
                self.facts.range_bits = bits;
                self.facts.ack_ranges.push((value, value));
            }
            Meaning::AckLast => end_range(&mut self.facts.ack_ranges, value),
            Meaning::NackFirst => {
                self.facts.range_bits = bits;
                self.facts.nack_ranges.push((value, value));
            }
            Meaning::NackLast => end_range(&mut self.facts.nack_ranges, value),
            Meaning::Sender => self.facts.sender = fact,
            Meaning::Reliable => self.message(|message| {
                message.reliable = value != 0 || message.reliable_sequence.is_some();
            }),
            Meaning::ReliableSequence => self.message(|message| {
                message.reliable_sequence = sequence;
                message.reliable = true;
            }),
            Meaning::ReliableUnordered => {
                self.say_meaning(Meaning::ReliableSequence, value, bits);
                self.message(|message| message.promise = Promise::Unordered);
            }
            Meaning::ReliableSequenced => {
                self.say_meaning(Meaning::ReliableSequence, value, bits);
                self.message(|message| message.promise = Promise::Sequenced);
            }
            Meaning::OrderedSequenced => self.message(|message| {
                message.ordered_sequence = sequence;
                message.promise = Promise::Sequenced;
            }),
            Meaning::OrderedSequence => self.message(|m| m.ordered_sequence = sequence),
            Meaning::Channel => self.message(|message| message.channel = fact),
            Meaning::Acknowledges => self.message(|message| message.acknowledges = sequence),
            Meaning::AcknowledgesBefore => self.either(
                |it| it.acknowledges_before = sequence,
                |it| it.acknowledges_before = sequence,
            ),
            Meaning::Origin => self.message(|message| message.origin = fact),
            Meaning::Object => self.message(|message| message.object = fact),
            Meaning::ObjectType => self.message(|message| message.object_type = fact),
            Meaning::Owner => self.message(|message| message.owner = fact),
            Meaning::NewOwner => self.message(|message| message.new_owner = fact),
            Meaning::MigrationCounter => self.message(|m| m.migration_counter = fact),
            Meaning::Tick => self.either(|it| it.tick = sequence, |it| it.tick = sequence),
            Meaning::Checksum => self.either(|it| it.checksum = fact, |it| it.checksum = fact),
            Meaning::Input => self.either(|it| it.input = fact, |it| it.input = fact),
            Meaning::InputCount => {
                self.either(|it| it.input_count = fact, |it| it.input_count = fact)
            }
            Meaning::SentTime => {
                self.either(|it| it.sent_time = sequence, |it| it.sent_time = sequence)
            }
            Meaning::EchoesTime => {
                self.facts.echoed_times.extend(sequence);
                self.message(|message| message.echoed_time = sequence);
            }
            Meaning::Host => self.either(|it| it.host = fact, |it| it.host = fact),
            Meaning::FragmentId => self.message(|message| message.fragment_id = fact),
            Meaning::FragmentIndex => {
                self.fragment.0 = fact;
                self.say_fragment();
            }
            Meaning::FragmentCount => {
                self.fragment.1 = fact;
                self.say_fragment();
            }
            // These have operations of their own, or say what bits they have.
            Meaning::Rules
            | Meaning::MessageKind
            | Meaning::Snapshot
            | Meaning::Base
            | Meaning::RpcName
            | Meaning::FragmentData => {}
        }
    }

    pub(super) fn say_fragment(&mut self) {
        if let (Some(index), Some(count)) = self.fragment {
            self.message(|message| message.fragment = Some((index, count)));
        }
    }
}
