//! The interpreter: a loop over the operations of a plan.

use std::ops::Range;

use super::problem::Problem;
use super::text::is_text;
use crate::arithmetic;
use crate::bits::BitReader;
use crate::check::model::Meaning;
use crate::facts::{KindId, MessageFacts, PacketFacts, RulesId, Sequence};
use crate::limits::{DEPTH_MAX, NODES_MAX, PACKET_BYTES_MAX, REPEAT_MAX};
use crate::program::{NO_REGISTER, Operand, Operation, Plan, Program, Register};

/// Who wants to know what is in a packet. Fields come as indices into [`Program::fields`].
pub(crate) trait Sink {
    /// A struct or a repeat begins; `count` is the number of elements, where it is known.
    fn enter(&mut self, field: u32, bit: u32, count: Option<u32>);
    /// It ends.
    fn leave(&mut self, bit: u32);
    /// An integer, as it was on the wire.
    fn value(&mut self, field: u32, bits: Range<u32>, raw: u64);
    /// A text or bytes; `content` leaves out the prefix.
    fn content(&mut self, field: u32, bits: Range<u32>, content: Range<u32>, of: &BitReader<'_>);
    /// Something is wrong; with the field that comes next. Only a wrong constant is told after its
    /// field.
    fn problem(&mut self, field: Option<u32>, bit: u32, problem: Problem);
    /// Decoding stopped here; what is open ends, and all bits from here on are unexplained.
    fn rest(&mut self, bits: Range<u32>, of: &BitReader<'_>);
}

/// The sink that wants nothing but the facts.
pub(crate) struct FactsOnly;

impl Sink for FactsOnly {
    fn enter(&mut self, _: u32, _: u32, _: Option<u32>) {}
    fn leave(&mut self, _: u32) {}
    fn value(&mut self, _: u32, _: Range<u32>, _: u64) {}
    fn content(&mut self, _: u32, _: Range<u32>, _: Range<u32>, _: &BitReader<'_>) {}
    fn problem(&mut self, _: Option<u32>, _: u32, _: Problem) {}
    fn rest(&mut self, _: Range<u32>, _: &BitReader<'_>) {}
}

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Packet,
    JoinedMessage,
}

/// How many registers stand on the stack; more are allocated, once a packet.
const STACK_REGISTERS: usize = 32;

/// Runs a plan over a packet. Fills `facts`, tells `sink` the rest.
pub(crate) fn run<S: Sink>(
    program: &Program,
    plan: &Plan,
    entry: Entry,
    packet: &[u8],
    facts: &mut PacketFacts,
    sink: &mut S,
) {
    clear(facts);
    let looked_at = &packet[..packet.len().min(PACKET_BYTES_MAX)];
    let (start, weight) = match entry {
        Entry::Packet => (Some(plan.packet), program.packet_weight),
        Entry::JoinedMessage => (plan.message, program.message_weight),
    };
    let mut on_stack;
    let mut allocated;
    let registers: &mut [i128] = if plan.registers <= STACK_REGISTERS {
        on_stack = [0; STACK_REGISTERS];
        &mut on_stack
    } else {
        allocated = vec![0; plan.registers];
        &mut allocated
    };
    let mut machine = Machine {
        program,
        plan,
        reader: BitReader::new(looked_at, program.order),
        registers,
        base: 0,
        frames: Vec::new(),
        nodes_left: NODES_MAX.saturating_sub(weight),
        in_message: false,
        fragment: (None, None),
        prefix_at: 0,
        facts,
        sink,
    };
    if packet.len() > PACKET_BYTES_MAX {
        let problem = Problem::PacketTooLong {
            bytes: packet.len(),
        };
        machine.report(None, machine.reader.end(), problem);
    }
    let Some(start) = start else {
        machine.report(None, 0, Problem::NoMessages);
        machine.give_up();
        return;
    };
    match machine.interpret(start) {
        Ok(()) => machine.finish(),
        Err(Stop { field, problem }) => {
            machine.report(field, machine.reader.at(), problem);
            machine.give_up();
        }
    }
}

/// Empties the facts and keeps their memory.
fn clear(facts: &mut PacketFacts) {
    let mut messages = std::mem::take(&mut facts.messages);
    messages.clear();
    *facts = PacketFacts {
        messages,
        ..PacketFacts::default()
    };
}

struct Machine<'p, 'r, S> {
    program: &'p Program,
    plan: &'p Plan,
    reader: BitReader<'p>,
    registers: &'r mut [i128],
    /// Where the registers of the current frame begin.
    base: usize,
    /// Callers of recursive structs.
    frames: Vec<Frame>,
    nodes_left: u32,
    in_message: bool,
    fragment: (Option<u64>, Option<u64>),
    /// Where the length prefix that was read last starts.
    prefix_at: u32,
    facts: &'r mut PacketFacts,
    sink: &'r mut S,
}

#[derive(Clone, Copy)]
struct Frame {
    back: usize,
    base: usize,
}

/// Why decoding cannot go on. The reader stands at the first bit that is not explained.
struct Stop {
    field: Option<u32>,
    problem: Problem,
}

impl<'p, S: Sink> Machine<'p, '_, S> {
    fn interpret(&mut self, start: u32) -> Result<(), Stop> {
        let plan = self.plan;
        let mut next = start as usize;
        loop {
            let Some(&operation) = plan.operations.get(next) else {
                return Ok(());
            };
            next += 1;
            match operation {
                Operation::Skip { bits, first, count } => {
                    if !self.reader.skip(bits) {
                        return Err(self.cut_skip(first, count));
                    }
                }
                Operation::Unsigned {
                    bits,
                    fact,
                    to,
                    field,
                } => {
                    let at = self.reader.at();
                    let raw = self.read(bits, field)?;
                    self.sink.value(field, at..self.reader.at(), raw);
                    self.keep(to, i128::from(raw));
                    self.say(fact, raw, bits);
                }
                Operation::Signed { bits, to, field } => {
                    let at = self.reader.at();
                    let raw = self.read(bits, field)?;
                    self.sink.value(field, at..self.reader.at(), raw);
                    self.keep(to, i128::from(sign_extended(raw, bits)));
                }
                Operation::Range {
                    bits,
                    fact,
                    to,
                    field,
                    low,
                } => {
                    let at = self.reader.at();
                    let raw = self.read(bits, field)?;
                    let (high, low) = (self.constant(low + 1), self.constant(low));
                    let value = low + i128::from(raw);
                    if value > high {
                        let problem = Problem::OutOfRange { value, low, high };
                        self.report(Some(field), at, problem);
                    }
                    self.sink.value(field, at..self.reader.at(), raw);
                    self.keep(to, value);
                    // Only a range without negative numbers can mean something.
                    self.say(fact, u64::try_from(value).unwrap_or(u64::MAX), bits);
                }
                Operation::Leb128 { fact, to, field } => {
                    let at = self.reader.at();
                    let raw = self.read_leb128(field)?;
                    self.sink.value(field, at..self.reader.at(), raw);
                    self.keep(to, i128::from(raw));
                    self.say(fact, raw, 64);
                }
                Operation::Zigzag { to, field } => {
                    let at = self.reader.at();
                    let raw = self.read_leb128(field)?;
                    self.sink.value(field, at..self.reader.at(), raw);
                    self.keep(to, i128::from(zigzag(raw)));
                }
                Operation::PrefixUnsigned { bits, to, field } => {
                    self.prefix_at = self.reader.at();
                    let raw = self.read(bits, field)?;
                    self.keep(to, i128::from(raw));
                }
                Operation::PrefixLeb128 { to, field } => {
                    self.prefix_at = self.reader.at();
                    let raw = self.read_leb128(field)?;
                    self.keep(to, i128::from(raw));
                }
                Operation::Text {
                    length,
                    prefixed,
                    encoding,
                    fact,
                    field,
                } => {
                    let at = if prefixed {
                        self.prefix_at
                    } else {
                        self.reader.at()
                    };
                    let content = self.take_bytes(length, at, field)?;
                    if !is_text(&self.reader, content.start, content.end, encoding) {
                        self.report(Some(field), at, Problem::NotText { encoding });
                    }
                    self.sink
                        .content(field, at..content.end, content.clone(), &self.reader);
                    if fact.is_some() {
                        self.message(|message| message.rpc_name = Some(content));
                    }
                }
                Operation::Bytes {
                    length,
                    fact,
                    field,
                } => {
                    let at = self.reader.at();
                    let content = self.take_bytes(length, at, field)?;
                    self.sink
                        .content(field, content.clone(), content.clone(), &self.reader);
                    if fact.is_some() {
                        self.message(|message| message.fragment_data = Some(content));
                    }
                }
                Operation::Expect {
                    value,
                    constant,
                    field,
                } => {
                    let found = self.register(value);
                    let expected = self.constant(constant);
                    if found != expected {
                        let problem = Problem::Constant { expected, found };
                        self.report(Some(field), self.reader.at(), problem);
                    }
                }
                Operation::Kind { value, table } => {
                    let kind = self.member(value, table).and_then(|member| member.kind);
                    self.message(|message| message.kind = kind.map(KindId));
                }
                Operation::Rules { value, table } => {
                    let rules = self.member(value, table).and_then(|member| member.rules);
                    self.facts.rules = rules.map(RulesId);
                }
                Operation::Align { bits, pad, field } => self.align(bits, pad, field)?,
                Operation::Enter { field } => self.sink.enter(field, self.reader.at(), None),
                Operation::Leave => self.sink.leave(self.reader.at()),
                Operation::MessageBegin => {
                    let at = self.reader.at();
                    let message = MessageFacts {
                        bits: at..at,
                        ..MessageFacts::default()
                    };
                    self.facts.messages.push(message);
                    self.in_message = true;
                    self.fragment = (None, None);
                }
                Operation::MessageEnd => self.end_message(),
                Operation::RepeatBegin {
                    count,
                    counter,
                    weight,
                    field,
                    end,
                } => {
                    let count = self.count(count, field)?;
                    self.sink.enter(field, self.reader.at(), Some(count));
                    if count == 0 {
                        self.sink.leave(self.reader.at());
                        next = end as usize;
                    } else {
                        self.count_nodes(weight)?;
                        self.keep(counter, i128::from(count - 1));
                    }
                }
                Operation::RepeatNext {
                    counter,
                    weight,
                    body,
                } => {
                    let left = self.register(counter);
                    if left == 0 {
                        self.sink.leave(self.reader.at());
                    } else {
                        self.count_nodes(weight)?;
                        self.keep(counter, left - 1);
                        next = body as usize;
                    }
                }
                Operation::UntilEndBegin {
                    start,
                    weight,
                    field,
                    end,
                } => {
                    self.sink.enter(field, self.reader.at(), None);
                    if self.reader.left() == 0 {
                        self.sink.leave(self.reader.at());
                        next = end as usize;
                    } else {
                        self.count_nodes(weight)?;
                        self.keep(start, i128::from(self.reader.at()));
                    }
                }
                Operation::UntilEndNext {
                    start,
                    weight,
                    body,
                } => {
                    if self.reader.left() == 0 {
                        self.sink.leave(self.reader.at());
                    } else if self.register(start) == i128::from(self.reader.at()) {
                        return Err(Stop {
                            field: None,
                            problem: Problem::EmptyElement,
                        });
                    } else {
                        self.count_nodes(weight)?;
                        self.keep(start, i128::from(self.reader.at()));
                        next = body as usize;
                    }
                }
                Operation::Arithmetic {
                    operator,
                    to,
                    left,
                    right,
                    text,
                } => {
                    let (left, right) = (self.operand(left), self.operand(right));
                    let value =
                        arithmetic::evaluate(operator, left, right).map_err(|why| Stop {
                            field: None,
                            problem: Problem::Arithmetic { text, why },
                        })?;
                    self.keep(to, value);
                }
                Operation::Compare {
                    operator,
                    to,
                    left,
                    right,
                } => {
                    let (left, right) = (self.operand(left), self.operand(right));
                    self.keep(to, i128::from(arithmetic::compare(operator, left, right)));
                }
                Operation::Copy { to, from } => self.keep(to, self.operand(from)),
                Operation::Jump { to } => next = to as usize,
                Operation::Unless {
                    operator,
                    left,
                    right,
                    to,
                } => {
                    let (left, right) = (self.operand(left), self.operand(right));
                    if !arithmetic::compare(operator, left, right) {
                        next = to as usize;
                    }
                }
                Operation::Switch { on, table, text } => {
                    let value = self.operand(on);
                    let table = plan.switches.get(usize::from(table));
                    match table.and_then(|table| table.find(value)) {
                        Some(to) => next = to as usize,
                        None => {
                            let problem = Problem::NoArm { text, value };
                            return Err(Stop {
                                field: None,
                                problem,
                            });
                        }
                    }
                }
                Operation::Call { to, frame, weight } => {
                    if self.frames.len() >= DEPTH_MAX {
                        return Err(Stop {
                            field: None,
                            problem: Problem::TooDeep,
                        });
                    }
                    self.count_nodes(weight)?;
                    self.frames.push(Frame {
                        back: next,
                        base: self.base,
                    });
                    self.base += usize::from(frame);
                    next = to as usize;
                }
                Operation::Return => match self.frames.pop() {
                    Some(frame) => {
                        next = frame.back;
                        self.base = frame.base;
                    }
                    None => return Ok(()),
                },
                Operation::End => return Ok(()),
            }
        }
    }

    /// The plan has run to its end; is the packet at its end too?
    fn finish(&mut self) {
        let left = self.reader.left();
        if left > 0 {
            self.report(None, self.reader.at(), Problem::Trailing { bits: left });
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.end_message();
        self.sink
            .rest(self.reader.at()..self.reader.end(), &self.reader);
    }

    fn end_message(&mut self) {
        let at = self.reader.at();
        if self.in_message
            && let Some(message) = self.facts.messages.last_mut()
        {
            message.bits.end = at;
        }
        self.in_message = false;
    }

    #[inline]
    fn read(&mut self, bits: u8, field: u32) -> Result<u64, Stop> {
        let bits = u32::from(bits);
        match self.reader.read(bits) {
            Some(raw) => Ok(raw),
            None => Err(self.past_end(u64::from(bits), field)),
        }
    }

    fn past_end(&self, needed: u64, field: u32) -> Stop {
        let left = self.reader.left();
        Stop {
            field: Some(field),
            problem: Problem::PastEnd { needed, left },
        }
    }

    /// Seven bits a byte, the least significant first; ten bytes at most.
    #[inline]
    fn read_leb128(&mut self, field: u32) -> Result<u64, Stop> {
        let at = self.reader.at();
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.reader.read(8) else {
                let needed = u64::from(self.reader.at() - at) + 8;
                self.reader.rewind(at);
                return Err(self.past_end(needed, field));
            };
            if shift == 63 && byte > 1 {
                self.reader.rewind(at);
                return Err(Stop {
                    field: Some(field),
                    problem: Problem::VarintTooLong,
                });
            }
            value |= (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    /// The bits of so many bytes. Where they are not there, the reader goes back to `at`.
    fn take_bytes(&mut self, length: Operand, at: u32, field: u32) -> Result<Range<u32>, Stop> {
        let length = self.operand(length);
        let from = self.reader.at();
        let needed = match u64::try_from(length) {
            Ok(length) => length.saturating_mul(8),
            Err(_) => {
                let too_long = length > 0;
                self.reader.rewind(at);
                if too_long {
                    return Err(self.past_end(u64::MAX, field));
                }
                let problem = Problem::NegativeLength { length };
                return Err(Stop {
                    field: Some(field),
                    problem,
                });
            }
        };
        if !u32::try_from(needed).is_ok_and(|needed| self.reader.skip(needed)) {
            let needed = needed.saturating_add(u64::from(from - at));
            self.reader.rewind(at);
            return Err(self.past_end(needed, field));
        }
        Ok(from..self.reader.at())
    }

    fn align(&mut self, bits: u32, pad: Option<bool>, field: u32) -> Result<(), Stop> {
        let at = self.reader.at();
        let width = (bits - at % bits) % bits;
        if width == 0 {
            return Ok(());
        }
        let raw = self.read(width as u8, field)?;
        let expected = match pad {
            Some(true) => u64::MAX >> (64 - width),
            Some(false) => 0,
            None => raw,
        };
        if raw != expected {
            self.report(Some(field), at, Problem::Padding { found: raw });
        }
        self.sink.value(field, at..self.reader.at(), raw);
        Ok(())
    }

    /// The number of elements of a repeat.
    fn count(&mut self, count: Operand, field: u32) -> Result<u32, Stop> {
        let count = self.operand(count);
        let problem = if count < 0 {
            Problem::NegativeCount { count }
        } else if count > i128::from(REPEAT_MAX) {
            Problem::TooManyElements { count }
        } else {
            return Ok(count as u32);
        };
        Err(Stop {
            field: Some(field),
            problem,
        })
    }

    fn count_nodes(&mut self, weight: u32) -> Result<(), Stop> {
        match self.nodes_left.checked_sub(weight) {
            Some(left) => {
                self.nodes_left = left;
                Ok(())
            }
            None => Err(Stop {
                field: None,
                problem: Problem::TooManyNodes,
            }),
        }
    }

    /// Skips field by field, so that the reader stops at the field that is cut.
    fn cut_skip(&mut self, first: u32, count: u32) -> Stop {
        let widths = self
            .plan
            .skipped_bits
            .iter()
            .skip(first as usize)
            .take(count as usize);
        for &width in widths {
            if !self.reader.skip(u32::from(width)) {
                let (needed, left) = (u64::from(width), self.reader.left());
                return Stop {
                    field: None,
                    problem: Problem::PastEnd { needed, left },
                };
            }
        }
        Stop {
            field: None,
            problem: Problem::PastEnd { needed: 0, left: 0 },
        }
    }

    fn report(&mut self, field: Option<u32>, bit: u32, problem: Problem) {
        self.facts.diagnostics = self.facts.diagnostics.saturating_add(1);
        self.sink.problem(field, bit, problem);
    }

    #[inline]
    fn operand(&self, operand: Operand) -> i128 {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Constant(index) => self.constant(index),
        }
    }

    #[inline]
    fn register(&self, register: Register) -> i128 {
        self.registers
            .get(self.base + usize::from(register))
            .copied()
            .unwrap_or(0)
    }

    #[inline]
    fn constant(&self, index: u16) -> i128 {
        self.plan
            .constants
            .get(usize::from(index))
            .copied()
            .unwrap_or(0)
    }

    #[inline]
    fn keep(&mut self, to: Register, value: i128) {
        if to != NO_REGISTER
            && let Some(register) = self.registers.get_mut(self.base + usize::from(to))
        {
            *register = value;
        }
    }

    fn member(&self, value: Register, table: u16) -> Option<&'p crate::program::EnumMember> {
        let value = u64::try_from(self.register(value)).ok()?;
        self.program.enums.get(usize::from(table))?.member(value)
    }

    #[inline]
    fn message(&mut self, change: impl FnOnce(&mut MessageFacts)) {
        if self.in_message
            && let Some(message) = self.facts.messages.last_mut()
        {
            change(message);
        }
    }

    #[inline]
    fn say(&mut self, fact: Option<Meaning>, value: u64, bits: u8) {
        if let Some(meaning) = fact {
            self.say_meaning(meaning, value, bits);
        }
    }

    fn say_meaning(&mut self, meaning: Meaning, value: u64, bits: u8) {
        let sequence = Some(Sequence { value, bits });
        let fact = Some(value);
        match meaning {
            Meaning::Sequence => self.facts.sequence = sequence,
            Meaning::Ack => self.facts.ack = sequence,
            Meaning::AckBits => self.facts.ack_bits = Some((value, bits)),
            Meaning::Sender => self.facts.sender = fact,
            Meaning::Reliable => self.message(|message| message.reliable = value != 0),
            Meaning::ReliableSequence => self.message(|m| m.reliable_sequence = sequence),
            Meaning::Origin => self.message(|message| message.origin = fact),
            Meaning::Object => self.message(|message| message.object = fact),
            Meaning::ObjectType => self.message(|message| message.object_type = fact),
            Meaning::Owner => self.message(|message| message.owner = fact),
            Meaning::NewOwner => self.message(|message| message.new_owner = fact),
            Meaning::MigrationCounter => self.message(|m| m.migration_counter = fact),
            Meaning::Tick => self.message(|message| message.tick = fact),
            Meaning::FragmentIndex => {
                self.fragment.0 = fact;
                self.say_fragment();
            }
            Meaning::FragmentCount => {
                self.fragment.1 = fact;
                self.say_fragment();
            }
            // These have operations of their own, or say what bits they have.
            Meaning::Rules | Meaning::MessageKind | Meaning::RpcName | Meaning::FragmentData => {}
        }
    }

    fn say_fragment(&mut self) {
        if let (Some(index), Some(count)) = self.fragment {
            self.message(|message| message.fragment = Some((index, count)));
        }
    }
}

/// Two's complement of 1 to 64 bits.
pub(super) fn sign_extended(raw: u64, bits: u8) -> i64 {
    let shift = 64 - u32::from(bits.clamp(1, 64));
    (raw << shift).cast_signed() >> shift
}

/// 0, -1, 1, -2, ...
pub(super) fn zigzag(raw: u64) -> i64 {
    (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()
}
