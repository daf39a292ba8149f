//! The interpreter: a loop over the operations of a plan.

use std::ops::Range;

use super::arena::Arena;
use super::checksum::Checksum;
use super::problem::Problem;
use super::reading::Reading;
use super::sink::{Rest, Sink};
use super::stack::Stack;
use super::tape::Tape;
use crate::bits::BitReader;
use crate::context::Context;
use crate::facts::{PacketFacts, Slow};
use crate::layers::{begin_packet, slow, steps};
use crate::layout::{ByteOrder, StreamId};
use crate::limits::{NODE_STEPS, NODES_MAX, PACKET_BYTES_MAX};
use crate::operation::{NO_REGISTER, Operand, Register};
use crate::program::{Plan, Program};
use crate::state::ConnectionState;

/// What is around the bytes.
pub(crate) struct Surroundings<'r> {
    pub context: Context,
    pub state: &'r mut ConnectionState,
}

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Packet,
    JoinedMessage,
    /// A packet of which no protocol of the wire says that it is its own.
    Unclaimed,
    /// A packet that is not read, because those before it have taken all the work that there may be.
    Unread,
}

/// How many registers stand on the stack: of most plans, and of long ones. More are allocated, once a
/// packet.
const REGISTERS: usize = 32;
const MANY_REGISTERS: usize = 128;

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
    facts.clear();
    begin_packet(packet.len());
    let looked_at = &packet[..packet.len().min(PACKET_BYTES_MAX)];
    let arena = Arena::default();
    let reader = BitReader::new(looked_at, program.dictionary.order);
    let tape = Reading::new(reader, &arena);
    let (mut few, mut many, mut allocated);
    let registers: &mut [i128] = if plan.registers <= REGISTERS {
        few = [0; REGISTERS];
        &mut few
    } else if plan.registers <= MANY_REGISTERS {
        many = [0; MANY_REGISTERS];
        &mut many
    } else {
        allocated = vec![0; plan.registers];
        &mut allocated
    };
    let mut machine = Machine::new(program, plan, tape, registers, around, facts, sink);
    let end = machine.run(entry);
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
    let beyond = machine.nodes_beyond(packet.len());
    facts.steps = steps().saturating_add(beyond.saturating_mul(NODE_STEPS));
    facts.slow = Slow(slow());
}

pub(super) struct Machine<'p, 'r, T, S> {
    pub program: &'p Program,
    pub plan: &'p Plan,
    pub tape: T,
    pub registers: &'r mut [i128],
    /// Where the registers of the current frame begin.
    pub base: usize,
    /// Callers of recursive structs.
    pub frames: Vec<Frame>,
    /// How many there are in the machines around this one.
    pub frames_around: usize,
    /// The windows that are open.
    pub scopes: Stack<Scope>,
    /// The bits that blocks elsewhere have read, of each stream.
    pub read_elsewhere: Vec<(StreamId, Range<u32>)>,
    /// The streams around the one that is being read, as far as layers opened them.
    pub outer_streams: Stack<StreamId>,
    pub nodes_left: u32,
    pub open: OpenMessages,
    pub fragment: (Option<u64>, Option<u64>),
    pub checksum: Option<Checksum>,
    /// A number in it that is unresolved.
    pub checksum_lacks: Option<i128>,
    /// What came out of layers, where a checksum is of that.
    pub unpacked: Vec<Vec<u8>>,
    /// The stream that the tape runs along.
    pub stream: StreamId,
    /// How many streams were opened in the packet.
    pub streams: u16,
    /// How many streams it stands in.
    pub streams_around: u8,
    /// What is cut at the end of the stream comes with a later packet.
    pub waits: bool,
    pub context: Context,
    pub state: &'r mut ConnectionState,
    pub facts: &'r mut PacketFacts,
    pub sink: &'r mut S,
}

/// The messages that are begun and not ended, by their places among the facts: the one that fields are
/// of, and the one that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenMessages {
    pub inner: Option<u32>,
    pub outer: Option<u32>,
}

#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub back: usize,
    pub base: usize,
}

/// A window, and what to go back to where something in it cannot be read.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    pub rest: u32,
    pub text: u32,
    pub catches: bool,
    /// The operation after it.
    pub end: u32,
    pub frames: usize,
    pub base: usize,
    pub open: OpenMessages,
    /// How many nodes are open around it.
    pub depth: usize,
    /// It is a layer.
    pub is_layer: bool,
    /// Around it.
    pub order: ByteOrder,
    /// Where it begins, if it stands elsewhere.
    pub elsewhere: Option<u32>,
}

/// Why a run cannot go on. The tape stands at the first bit that is not explained.
pub(super) struct Stop {
    pub field: Option<u32>,
    pub problem: Problem,
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

impl<'a, 'p: 'a, S: Sink> Machine<'p, '_, Reading<'a>, S> {
    /// The plan has run to its end; is the packet at its end too?
    fn finish(&mut self) {
        let left = self.tape.left();
        let rest = self.tape.at()..self.tape.end();
        if left > 0 && !self.is_read_elsewhere(&rest) {
            let problem = Problem::Trailing { bits: left };
            self.report(None, self.tape.at(), problem);
            self.give_up(problem);
        }
    }

    /// How many nodes it has had beyond one for each bit of the packet and of what its layers gave: so
    /// many a packet has that reads little often.
    fn nodes_beyond(&self, bytes: usize) -> u64 {
        let bits = bytes.saturating_add(self.tape.inflated().bytes) as u64 * 8;
        u64::from(NODES_MAX - self.nodes_left).saturating_sub(bits)
    }

    fn give_up(&mut self, problem: Problem) {
        self.end_messages(OpenMessages::default());
        self.leave_scopes(0);
        let rest = self.tape.at()..self.tape.end();
        self.sink.rest(rest, Rest::of(problem));
    }
}

impl<'p, 'r, T: Tape<'p>, S: Sink> Machine<'p, 'r, T, S> {
    #[inline]
    pub(super) fn new(
        program: &'p Program,
        plan: &'p Plan,
        tape: T,
        registers: &'r mut [i128],
        around: Surroundings<'r>,
        facts: &'r mut PacketFacts,
        sink: &'r mut S,
    ) -> Machine<'p, 'r, T, S> {
        Machine {
            program,
            plan,
            tape,
            registers,
            base: 0,
            frames: Vec::new(),
            frames_around: 0,
            scopes: Stack::new(),
            read_elsewhere: Vec::new(),
            outer_streams: Stack::new(),
            nodes_left: NODES_MAX,
            open: OpenMessages::default(),
            fragment: (None, None),
            checksum: None,
            checksum_lacks: None,
            unpacked: Vec::new(),
            stream: StreamId(0),
            streams: 0,
            streams_around: 0,
            waits: false,
            context: around.context,
            state: around.state,
            facts,
            sink,
        }
    }

    /// Runs the plan along the tape.
    pub(super) fn run(&mut self, entry: Entry) -> Result<(), Stop> {
        let (start, weight) = match entry {
            Entry::Packet => (self.plan.packet, self.program.packet_weight),
            Entry::JoinedMessage => match self.plan.message {
                Some(start) => (start, self.program.message_weight),
                None => return Err(Stop::here(Problem::NoMessages)),
            },
            Entry::Unread => return Err(Stop::here(Problem::Unread)),
            Entry::Unclaimed => return Err(Stop::here(Problem::Unclaimed)),
        };
        self.nodes_left = NODES_MAX.saturating_sub(weight);
        self.interpret(start)
    }

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

    #[inline]
    pub(super) fn enter(&mut self, field: u32, count: Option<u32>) {
        self.tape.enter(field);
        self.sink.enter(field, self.tape.at(), count);
    }

    #[inline]
    pub(super) fn leave(&mut self) {
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

    /// Whether a repetition whose element began at what `start` holds goes on; it is left where it is done.
    pub(super) fn goes_on(
        &mut self,
        is_done: bool,
        start: Register,
        weight: u32,
    ) -> Result<bool, Stop> {
        if is_done {
            self.leave();
        } else if self.register(start) == i128::from(self.tape.at()) {
            return Err(Stop::here(Problem::EmptyElement));
        } else {
            self.count_nodes(weight)?;
            self.keep(start, i128::from(self.tape.at()));
        }
        Ok(!is_done)
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
    pub(super) fn constant(&self, index: u16) -> i128 {
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
