//! The interpreter: a loop over the operations of a plan.

use std::ops::Range;

use super::arena::Arena;
use super::checksum::Checksum;
use super::keeping::{packed, unpacked};
use super::meanings::clear;
use super::problem::Problem;
use super::reading::{Reading, sign_extended, zigzag};
use super::tape::{Content, Tape};
use crate::arithmetic;
use crate::bits::BitReader;
use crate::check::model::{Circumstance, Encoding};
use crate::context::Context;
use crate::facts::{KindId, MessageFacts, PacketFacts, RulesId};
use crate::limits::{DEPTH_MAX, NODES_MAX, PACKET_BYTES_MAX};
use crate::program::{
    Extent, MISSING, NO_FIELD, NO_REGISTER, Operand, Operation, Plan, Program, Register,
};
use crate::state::ConnectionState;
use crate::tree::StreamId;

/// Who wants to know what is in a packet. Fields come as indices into [`Program::fields`].
pub(crate) trait Sink {
    /// A struct or a repeat begins; `count` is the number of elements, where it is known.
    fn enter(&mut self, field: u32, bit: u32, count: Option<u32>);
    /// It ends.
    fn leave(&mut self, bit: u32);
    /// An integer, as it was on the wire.
    fn value(&mut self, field: u32, bits: Range<u32>, raw: u64);
    /// A text or bytes; `content` leaves out the prefix.
    fn content(&mut self, field: u32, bits: Range<u32>, content: Range<u32>);
    /// Something is wrong; with the field that comes next. Only a wrong constant is told after its
    /// field.
    fn problem(&mut self, field: Option<u32>, bit: u32, problem: Problem);
    /// The integer that was told last is added to another value; the sum, where that is known.
    fn sum(&mut self, sum: Option<i128>);
    /// Decoding stopped here; what is open ends, and all bits from here on are unexplained.
    fn rest(&mut self, bits: Range<u32>, why: Rest);
    /// Fields are in other bytes from here on, until [`Sink::end_stream`].
    fn begin_stream(&mut self, stream: BitReader<'_>);
    /// The stream has only so many bytes.
    fn cut_stream(&mut self, bytes: usize);
    /// Bits of a stream that are unexplained.
    fn rest_of_stream(&mut self, bits: Range<u32>, why: Rest);
    /// Fields are again where they were before. Where decoding stopped in the stream, what is open
    /// in it ends, and the bits from there on are unexplained.
    fn end_stream(&mut self, rest: Option<(Range<u32>, Rest)>);
    /// How much was told so far.
    fn mark(&self) -> Mark;
    /// Forgets what was told since.
    fn go_back(&mut self, mark: Mark);
    /// Why the problem that is told next is there.
    fn because(&mut self, why: String);
    /// How many structs and repeats are open.
    fn depth(&self) -> usize;
    /// Bits of a window that are unexplained; the field after `field` is for those that are
    /// unresolved. Where decoding stopped in the window, what is open inside a depth ends.
    fn rest_of_window(&mut self, field: u32, bits: Range<u32>, stopped: Option<(usize, Rest)>);
}

/// How much a sink was told at some point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) nodes: usize,
    pub(crate) streams: usize,
    pub(crate) sums: usize,
    pub(crate) diagnostics: usize,
    pub(crate) open: usize,
    /// Of the innermost node that is open.
    pub(crate) next_element: u32,
}

/// The sink that wants nothing but the facts.
pub(crate) struct FactsOnly;

impl Sink for FactsOnly {
    fn enter(&mut self, _: u32, _: u32, _: Option<u32>) {}
    fn leave(&mut self, _: u32) {}
    fn value(&mut self, _: u32, _: Range<u32>, _: u64) {}
    fn content(&mut self, _: u32, _: Range<u32>, _: Range<u32>) {}
    fn problem(&mut self, _: Option<u32>, _: u32, _: Problem) {}
    fn sum(&mut self, _: Option<i128>) {}
    fn rest(&mut self, _: Range<u32>, _: Rest) {}
    fn begin_stream(&mut self, _: BitReader<'_>) {}
    fn cut_stream(&mut self, _: usize) {}
    fn rest_of_stream(&mut self, _: Range<u32>, _: Rest) {}
    fn end_stream(&mut self, _: Option<(Range<u32>, Rest)>) {}
    fn mark(&self) -> Mark {
        Mark::default()
    }
    fn go_back(&mut self, _: Mark) {}
    fn because(&mut self, _: String) {}
    fn depth(&self) -> usize {
        0
    }
    fn rest_of_window(&mut self, _: u32, _: Range<u32>, _: Option<(usize, Rest)>) {}
}

/// Why bits are not explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// They do not fit the wire.
    Unexplained,
    /// The connection's state lacks what it takes to read them.
    Unresolved,
}

impl Rest {
    pub(super) fn of(problem: Problem) -> Rest {
        match problem {
            Problem::Unresolved { .. } | Problem::Unpack { .. } => Rest::Unresolved,
            _ => Rest::Unexplained,
        }
    }
}

/// What is around the bytes.
pub(crate) struct Surroundings<'r> {
    pub(crate) context: Context,
    pub(crate) state: &'r mut ConnectionState,
}

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Packet,
    JoinedMessage,
    /// A packet of which no protocol of the wire says that it is its own.
    Unclaimed,
}

/// How many registers stand on the stack; more are allocated, once a packet.
const STACK_REGISTERS: usize = 32;

/// Runs a plan over a packet. Fills `facts`, tells `sink` the rest.
pub(crate) fn read<S: Sink>(
    program: &Program,
    plan: &Plan,
    entry: Entry,
    packet: &[u8],
    around: Surroundings<'_>,
    facts: &mut PacketFacts,
    sink: &mut S,
) {
    clear(facts);
    let looked_at = &packet[..packet.len().min(PACKET_BYTES_MAX)];
    let arena = Arena::default();
    let reader = BitReader::new(looked_at, program.dictionary.order);
    let tape = Reading::new(reader, &arena);
    run(
        program,
        (plan, entry),
        tape,
        around,
        facts,
        sink,
        |mut machine, end| {
            if packet.len() > PACKET_BYTES_MAX {
                let problem = Problem::PacketTooLong {
                    bytes: packet.len(),
                };
                machine.report(None, machine.tape.end(), problem);
            }
            if let Err(Stop { field, problem }) = end {
                if problem != Problem::Told {
                    machine.report(field, machine.tape.at(), problem);
                }
                machine.give_up(problem);
            } else {
                machine.finish();
            }
        },
    );
}

/// Runs a plan along a tape. `finish` is told how it ended.
pub(super) fn run<T: Tape, S: Sink, R>(
    program: &Program,
    (plan, entry): (&Plan, Entry),
    tape: T,
    around: Surroundings<'_>,
    facts: &mut PacketFacts,
    sink: &mut S,
    finish: impl FnOnce(Machine<'_, '_, T, S>, Result<(), Stop>) -> R,
) -> R {
    let (start, weight) = match entry {
        Entry::Packet => (Some(plan.packet), program.packet_weight),
        Entry::JoinedMessage => (plan.message, program.message_weight),
        Entry::Unclaimed => (None, 0),
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
        tape,
        registers,
        base: 0,
        frames: Vec::new(),
        frames_around: 0,
        scopes: Vec::new(),
        outer_streams: Vec::new(),
        nodes_left: NODES_MAX.saturating_sub(weight),
        in_message: false,
        fragment: (None, None),
        checksum: None,
        checksum_lacks: None,
        unpacked: Vec::new(),
        stream: StreamId(0),
        streams_around: 0,
        waits: false,
        context: around.context,
        state: around.state,
        facts,
        sink,
    };
    let end = match start {
        Some(start) => machine.interpret(start),
        None if entry == Entry::Unclaimed => Err(Stop::here(Problem::Unclaimed)),
        None => Err(Stop::here(Problem::NoMessages)),
    };
    finish(machine, end)
}

pub(super) struct Machine<'p, 'r, T, S> {
    pub(super) program: &'p Program,
    pub(super) plan: &'p Plan,
    pub(super) tape: T,
    pub(super) registers: &'r mut [i128],
    /// Where the registers of the current frame begin.
    pub(super) base: usize,
    /// Callers of recursive structs.
    pub(super) frames: Vec<Frame>,
    /// How many there are in the machines around this one.
    pub(super) frames_around: usize,
    /// The windows that are open.
    pub(super) scopes: Vec<Scope>,
    /// The streams around the one that is being read, as far as layers opened them.
    pub(super) outer_streams: Vec<StreamId>,
    pub(super) nodes_left: u32,
    pub(super) in_message: bool,
    pub(super) fragment: (Option<u64>, Option<u64>),
    pub(super) checksum: Option<Checksum>,
    /// A number in it that is unresolved.
    pub(super) checksum_lacks: Option<i128>,
    /// What came out of layers, where a checksum is of that.
    pub(super) unpacked: Vec<Vec<u8>>,
    /// The stream that the tape runs along.
    pub(super) stream: StreamId,
    /// How many streams it stands in.
    pub(super) streams_around: u8,
    /// What is cut at the end of the stream comes with a later packet.
    pub(super) waits: bool,
    pub(super) context: Context,
    pub(super) state: &'r mut ConnectionState,
    pub(super) facts: &'r mut PacketFacts,
    pub(super) sink: &'r mut S,
}

#[derive(Clone, Copy)]
pub(super) struct Frame {
    back: usize,
    base: usize,
}

/// A window, and what to go back to where something in it cannot be read.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    pub(super) rest: u32,
    pub(super) text: u32,
    pub(super) catches: bool,
    /// The operation after it.
    pub(super) end: u32,
    pub(super) frames: usize,
    pub(super) base: usize,
    pub(super) in_message: bool,
    /// How many nodes are open around it.
    pub(super) depth: usize,
    /// It is a layer.
    pub(super) is_layer: bool,
}

/// Why a run cannot go on. The tape stands at the first bit that is not explained.
pub(super) struct Stop {
    pub(super) field: Option<u32>,
    pub(super) problem: Problem,
}

impl Stop {
    pub(super) fn at(field: u32, problem: Problem) -> Stop {
        Stop {
            field: Some(field),
            problem,
        }
    }

    pub(super) fn in_field(self, field: u32) -> Stop {
        Stop::at(field, self.problem)
    }

    /// Not in a field, but between two.
    pub(super) fn here(problem: Problem) -> Stop {
        Stop {
            field: None,
            problem,
        }
    }
}

impl<S: Sink> Machine<'_, '_, Reading<'_>, S> {
    /// The plan has run to its end; is the packet at its end too?
    fn finish(&mut self) {
        let left = self.tape.left();
        if left > 0 {
            let problem = Problem::Trailing { bits: left };
            self.report(None, self.tape.at(), problem);
            self.give_up(problem);
        }
    }

    fn give_up(&mut self, problem: Problem) {
        self.end_message();
        self.leave_scopes(0);
        let rest = self.tape.at()..self.tape.end();
        self.sink.rest(rest, Rest::of(problem));
    }
}

impl<T: Tape, S: Sink> Machine<'_, '_, T, S> {
    /// Runs from an operation on, and goes on after a window in which something cannot be read.
    pub(super) fn interpret(&mut self, start: u32) -> Result<(), Stop> {
        let mut next = start;
        loop {
            match self.operate(next) {
                Ok(()) => return Ok(()),
                Err(stop) => next = self.leave_window(stop)?,
            }
        }
    }

    fn operate(&mut self, start: u32) -> Result<(), Stop> {
        let plan = self.plan;
        let mut next = start as usize;
        loop {
            let Some(&operation) = plan.operations.get(next) else {
                return Ok(());
            };
            next += 1;
            match operation {
                Operation::Skip { bits, first, count } => {
                    if !self.tape.skip(bits) {
                        self.cut_skip(first, count)?;
                    }
                }
                Operation::Unsigned {
                    bits,
                    fact,
                    to,
                    field,
                } => {
                    let at = self.tape.at();
                    let raw = self.read(bits, field)?;
                    self.sink.value(field, at..self.tape.at(), raw);
                    self.keep(to, i128::from(raw));
                    self.say(fact, raw, bits);
                }
                Operation::Signed { bits, to, field } => {
                    let at = self.tape.at();
                    let raw = self.read(bits, field)?;
                    self.sink.value(field, at..self.tape.at(), raw);
                    self.keep(to, i128::from(sign_extended(raw, bits)));
                }
                Operation::Range {
                    bits,
                    fact,
                    to,
                    field,
                    low,
                } => {
                    let at = self.tape.at();
                    let raw = self.read(bits, field)?;
                    let (high, low) = (self.constant(low + 1), self.constant(low));
                    let value = low + i128::from(raw);
                    if value > high {
                        let problem = Problem::OutOfRange { value, low, high };
                        self.report(Some(field), at, problem);
                    }
                    self.sink.value(field, at..self.tape.at(), raw);
                    self.keep(to, value);
                    // Only a range without negative numbers can mean something.
                    self.say(fact, u64::try_from(value).unwrap_or(u64::MAX), bits);
                }
                Operation::Leb128 { fact, to, field } => {
                    let at = self.tape.at();
                    let raw = self.read_leb128(field)?;
                    self.sink.value(field, at..self.tape.at(), raw);
                    self.keep(to, i128::from(raw));
                    self.say(fact, raw, 64);
                }
                Operation::Zigzag { to, field } => {
                    let at = self.tape.at();
                    let raw = self.read_leb128(field)?;
                    self.sink.value(field, at..self.tape.at(), raw);
                    self.keep(to, i128::from(zigzag(raw)));
                }
                Operation::Coded {
                    codec,
                    signed,
                    fact,
                    to,
                    field,
                } => {
                    let at = self.tape.at();
                    let raw = self.tape.coded(codec, field);
                    let raw = raw.map_err(|problem| Stop::at(field, problem))?;
                    self.sink.value(field, at..self.tape.at(), raw);
                    self.keep(
                        to,
                        match signed {
                            true => i128::from(sign_extended(raw, codec.bits())),
                            false => i128::from(raw),
                        },
                    );
                    self.say(fact, raw, codec.bits());
                }
                Operation::Prefix { codec, to, field } => {
                    let raw = self.read_prefix(codec, field)?;
                    self.keep(to, i128::from(raw));
                }
                Operation::Compute {
                    value,
                    limits,
                    offset,
                    bits,
                    fact,
                    to,
                    field,
                } => {
                    let value = self.operand(value);
                    let limits = (self.constant(limits), self.constant(limits + 1));
                    self.compute(value, limits, (offset, bits), fact, field);
                    self.keep(to, value);
                }
                Operation::Look {
                    look,
                    ahead,
                    to,
                    field,
                    text,
                } => {
                    let ahead = self.needed(ahead)?;
                    let found = self.tape.look(look, ahead, field).map_err(Stop::here)?;
                    let Some(value) = found else {
                        return Err(Stop::here(Problem::NothingAhead { text }));
                    };
                    if field != NO_FIELD {
                        let at = self.tape.at();
                        self.sink.value(field, at..at, value as u64);
                    }
                    self.keep(to, value);
                }
                Operation::Circumstance { what, to } => {
                    let value = match what {
                        Circumstance::SourcePort => i128::from(self.context.source_port),
                        Circumstance::DestinationPort => i128::from(self.context.destination_port),
                        Circumstance::FromFirst => i128::from(self.context.from_first),
                    };
                    self.keep(to, value);
                }
                Operation::Pass {
                    parameter,
                    from,
                    frame,
                } => {
                    let value = self.operand(from);
                    let place = self.base + usize::from(frame) + usize::from(parameter);
                    if let Some(register) = self.registers.get_mut(place) {
                        *register = value;
                    }
                }
                Operation::Text {
                    extent,
                    encoding,
                    fact,
                    to,
                    field,
                } => {
                    let Content { whole, content } = self.take_content(extent, encoding, field)?;
                    let end = match extent {
                        Extent::Padded(_) => self.tape.text_end(content.clone(), encoding),
                        _ => content.end,
                    };
                    let content = content.start..end;
                    self.keep(to, packed(&content));
                    if !self.tape.is_text(content.clone(), encoding) {
                        self.report(Some(field), whole.start, Problem::NotText { encoding });
                    }
                    self.sink.content(field, whole, content.clone());
                    if fact.is_some() {
                        let place = self.place_of(content);
                        self.message(|message| message.rpc_name = Some(place));
                    }
                }
                Operation::Bytes {
                    extent,
                    fact,
                    to,
                    field,
                } => {
                    // Bytes have no zeros that mean something.
                    let Content { whole, content } =
                        self.take_content(extent, Encoding::Latin1, field)?;
                    self.keep(to, packed(&content));
                    self.sink.content(field, whole, content.clone());
                    if fact.is_some() {
                        let place = self.place_of(content);
                        self.message(|message| message.fragment_data = Some(place));
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
                        self.report(Some(field), self.tape.at(), problem);
                    }
                }
                Operation::ExpectContent { value, field } => {
                    let content = unpacked(self.register(value));
                    let expected = self.program.dictionary.contents.get(&field);
                    let mut same = false;
                    self.tape.with_bytes(content, |found| {
                        same = expected.map(|e| &**e) == Some(found)
                    });
                    if !same {
                        let problem = Problem::Content { field };
                        self.report(Some(field), self.tape.at(), problem);
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
                Operation::Enter { field } => self.enter(field, None),
                Operation::Leave => self.leave(),
                Operation::MessageBegin => {
                    let at = self.tape.at();
                    let message = MessageFacts {
                        stream: self.stream,
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
                    self.enter(field, Some(count));
                    if count == 0 {
                        self.leave();
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
                        self.leave();
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
                    self.enter(field, None);
                    if !self.tape.more() {
                        self.leave();
                        next = end as usize;
                    } else {
                        self.count_nodes(weight)?;
                        self.keep(start, i128::from(self.tape.at()));
                    }
                }
                Operation::UntilEndNext {
                    start,
                    weight,
                    body,
                } => {
                    if !self.tape.more() {
                        self.leave();
                    } else if self.register(start) == i128::from(self.tape.at()) {
                        return Err(Stop::here(Problem::EmptyElement));
                    } else {
                        self.count_nodes(weight)?;
                        self.keep(start, i128::from(self.tape.at()));
                        next = body as usize;
                    }
                }
                Operation::UntilBegin {
                    start,
                    weight,
                    field,
                } => {
                    self.enter(field, None);
                    self.count_nodes(weight)?;
                    self.keep(start, i128::from(self.tape.at()));
                }
                Operation::UntilNext {
                    holds,
                    start,
                    weight,
                    body,
                } => {
                    let holds = self.needed(holds)? != 0;
                    if self.tape.is_done(holds) {
                        self.leave();
                    } else if self.register(start) == i128::from(self.tape.at()) {
                        return Err(Stop::here(Problem::EmptyElement));
                    } else {
                        self.count_nodes(weight)?;
                        self.keep(start, i128::from(self.tape.at()));
                        next = body as usize;
                    }
                }
                Operation::WindowBegin {
                    at,
                    size,
                    text,
                    field,
                    rest,
                    catches,
                    end,
                } => {
                    let scope = Scope {
                        rest,
                        text,
                        catches,
                        end,
                        frames: self.frames.len(),
                        base: self.base,
                        in_message: self.in_message,
                        depth: self.sink.depth(),
                        is_layer: false,
                    };
                    let at = at.map(|at| self.needed(at)).transpose()?;
                    let size = size.map(|size| self.needed(size)).transpose()?;
                    match at {
                        Some(at) => self.begin_elsewhere(at, scope)?,
                        None => self.begin_window(size, field, scope)?,
                    }
                }
                Operation::WindowEnd => self.end_window()?,
                Operation::LayerBegin {
                    place,
                    catches,
                    end,
                } => self.begin_layer(place, catches, end)?,
                Operation::LayerEnd => self.end_layer()?,
                Operation::Arithmetic {
                    operator,
                    to,
                    left,
                    right,
                    text,
                } => {
                    let (left, right) = (self.operand(left), self.operand(right));
                    let value = arithmetic::evaluate(operator, left, right)
                        .map_err(|why| Stop::here(Problem::Arithmetic { text, why }))?;
                    self.keep(to, value);
                }
                Operation::Compare {
                    operator,
                    to,
                    left,
                    right,
                } => {
                    let (left, right) = (self.operand(left), self.operand(right));
                    self.keep(to, arithmetic::compared(operator, left, right));
                }
                Operation::Delta {
                    base,
                    change,
                    fact,
                    to,
                    text,
                } => {
                    let sum = self.add_delta(base, change, fact, text)?;
                    self.keep(to, sum);
                }
                Operation::Load { to, slot } => self.keep(to, self.load(slot)),
                Operation::Set { set } => self.set(set),
                Operation::Join { join, end } => {
                    let Some(&join) = plan.joins.get(usize::from(join)) else {
                        return Ok(());
                    };
                    next = self.join(join, next as u32, end)? as usize;
                }
                Operation::Follow { follow, end } => {
                    let Some(&follow) = plan.follows.get(usize::from(follow)) else {
                        return Ok(());
                    };
                    self.follow(follow, next as u32)?;
                    next = end as usize;
                }
                Operation::StreamEnd => {
                    let (at, left) = (self.tape.at(), self.tape.left());
                    if left > 0 {
                        self.report(None, at, Problem::Trailing { bits: left });
                        let rest = self.tape.rest();
                        self.sink.rest_of_stream(rest, Rest::Unexplained);
                    }
                }
                Operation::Known { to, from } => {
                    let known = arithmetic::unresolved_field(self.operand(from)).is_none();
                    self.keep(to, i128::from(known));
                }
                Operation::Script { to, call } => self.script(to, call)?,
                Operation::Copy { to, from } => self.keep(to, self.operand(from)),
                Operation::Mark { to } => self.keep(to, i128::from(self.tape.at())),
                Operation::Foresee { to, field } => {
                    let present = self.tape.foresee(field);
                    self.keep(to, i128::from(present));
                }
                Operation::Meet { to } => {
                    let present = self.tape.meet(self.register(to) != 0);
                    self.keep(to, i128::from(present));
                }
                Operation::Derive { slot, field } => {
                    let number = self.tape.derive(field);
                    self.keep(slot, i128::from(number));
                }
                Operation::CheckDerived {
                    slot,
                    value,
                    derived,
                    field,
                } => {
                    let (found, derived) = (self.register(value), self.operand(derived));
                    // Of what no packet has set nobody knows whether it is right.
                    if arithmetic::unresolved_field(derived).is_some() {
                        continue;
                    }
                    let slot = u32::try_from(self.register(slot)).unwrap_or(0);
                    if self.tape.is_derived(slot, found, derived) {
                        continue;
                    }
                    let at = self.tape.at();
                    self.report(Some(field), at, Problem::Derived { derived, found });
                }
                Operation::ChecksumBegin { kind } => {
                    self.checksum = Some(Checksum::new(kind));
                    self.checksum_lacks = None;
                }
                Operation::ChecksumBits { from, to } => {
                    let (from, to) = (self.register(from) as u32, self.register(to) as u32);
                    if let Some(checksum) = &mut self.checksum {
                        self.tape.with_bytes(from..to, |bytes| checksum.add(bytes));
                    }
                }
                Operation::KeepStream { to } => {
                    let stream = self.tape.stream();
                    let bytes = stream.bytes(0, stream.end());
                    self.unpacked.push(bytes);
                    self.keep(to, self.unpacked.len() as i128 - 1);
                }
                Operation::ChecksumUnpacked { kept, from, to } => {
                    let kept = self.register(kept);
                    let (from, to) = (self.register(from) as u32, self.register(to) as u32);
                    if kept == MISSING && from < to {
                        // What could not be unpacked was told already.
                        self.checksum_lacks = Some(arithmetic::unresolved(u16::MAX));
                    }
                    let Some(checksum) = &mut self.checksum else {
                        continue;
                    };
                    match usize::try_from(kept).map(|kept| self.unpacked.get(kept)) {
                        Ok(bytes) => checksum.add(bytes.map_or(&[], Vec::as_slice)),
                        Err(_) => self.tape.with_bytes(from..to, |bytes| checksum.add(bytes)),
                    }
                }
                Operation::ChecksumInteger { value, bytes, big } => {
                    let value = self.operand(value);
                    if arithmetic::unresolved_field(value).is_some() {
                        self.checksum_lacks = Some(value);
                    }
                    let mut value = (value as u64).to_le_bytes();
                    let value = &mut value[..usize::from(bytes).min(8)];
                    if big {
                        value.reverse();
                    }
                    if let Some(checksum) = &mut self.checksum {
                        checksum.add(value);
                    }
                }
                Operation::ChecksumEnd { to } => {
                    if let Some(checksum) = self.checksum.take() {
                        let value = i128::from(checksum.finish());
                        self.keep(to, self.checksum_lacks.unwrap_or(value));
                    }
                }
                Operation::Jump { to } => next = to as usize,
                Operation::Unless {
                    operator,
                    left,
                    right,
                    to,
                } => {
                    let (left, right) = (self.needed(left)?, self.needed(right)?);
                    if !arithmetic::compare(operator, left, right) {
                        next = to as usize;
                    }
                }
                Operation::Switch { on, table, text } => {
                    let value = self.needed(on)?;
                    let table = plan.switches.get(usize::from(table));
                    match table.and_then(|table| table.find(value)) {
                        Some(to) => next = to as usize,
                        None => {
                            return Err(Stop::here(Problem::NoArm { text, value }));
                        }
                    }
                }
                Operation::Call { to, frame, weight } => {
                    if self.frames.len() + self.frames_around >= DEPTH_MAX {
                        return Err(Stop::here(Problem::TooDeep));
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

    #[inline]
    pub(super) fn enter(&mut self, field: u32, count: Option<u32>) {
        self.tape.enter(field);
        self.sink.enter(field, self.tape.at(), count);
    }

    #[inline]
    fn leave(&mut self) {
        self.tape.leave();
        self.sink.leave(self.tape.at());
    }

    pub(super) fn count_nodes(&mut self, weight: u32) -> Result<(), Stop> {
        match self.nodes_left.checked_sub(weight) {
            Some(left) => {
                self.nodes_left = left;
                Ok(())
            }
            None => Err(Stop::here(Problem::TooManyNodes)),
        }
    }

    pub(super) fn report(&mut self, field: Option<u32>, bit: u32, problem: Problem) {
        self.facts.diagnostics = self.facts.diagnostics.saturating_add(1);
        self.sink.problem(field, bit, problem);
    }

    #[inline]
    pub(super) fn operand(&self, operand: Operand) -> i128 {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Constant(index) => self.constant(index),
        }
    }

    #[inline]
    pub(super) fn register(&self, register: Register) -> i128 {
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
    pub(super) fn keep(&mut self, to: Register, value: i128) {
        if to != NO_REGISTER
            && let Some(register) = self.registers.get_mut(self.base + usize::from(to))
        {
            *register = value;
        }
    }
}
