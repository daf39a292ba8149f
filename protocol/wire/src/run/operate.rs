//! The loop over the operations of a plan.

use super::keeping::packed;
use super::machine::{Machine, Scope, Stop};
use super::meanings::numbered;
use super::problem::Problem;
use super::sink::Sink;
use super::tape::{Content, Tape};
use crate::arithmetic;
use crate::facts::{KindId, Meaning};
use crate::layout::Encoding;
use crate::operation::{NO_FIELD, Operation};
use crate::values::codec::sign_extended;

impl<'p, T: Tape<'p>, S: Sink> Machine<'p, '_, T, S> {
    pub(super) fn operate(&mut self, start: u32) -> Result<(), Stop> {
        let plan = self.plan;
        let operations = plan.operations.as_slice();
        let mut next = start as usize;
        loop {
            let Some(operation) = operations.get(next) else {
                return Ok(());
            };
            next += 1;
            match *operation {
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
                Operation::UnlessBit {
                    register,
                    field,
                    to,
                } => {
                    let at = self.tape.at();
                    let raw = self.read(1, field)?;
                    self.sink.value(field, at..self.tape.at(), raw);
                    self.keep(register, i128::from(raw));
                    if raw == 0 {
                        next = to as usize;
                    }
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
                Operation::Coded {
                    codec,
                    signed,
                    fact,
                    to,
                    field,
                } => {
                    let at = self.tape.at();
                    let raw = self
                        .tape
                        .coded(codec, field)
                        .map_err(|problem| Stop::at(field, problem))?;
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
                    match fact {
                        Some(fact @ (Meaning::Checksum | Meaning::Input)) => {
                            let mut number = 0;
                            self.tape
                                .with_bytes(content, |bytes| number = numbered(bytes));
                            self.say_meaning(fact, number, 64);
                        }
                        Some(_) => {
                            let place = self.place_of(content);
                            self.message(|message| message.fragment_data = Some(place));
                        }
                        None => {}
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
                Operation::Kind { value, table } => {
                    let kind = self.member(value, table).and_then(|member| member.kind);
                    self.message(|message| message.kind = kind.map(KindId));
                }
                Operation::KindIs { kind } => self.message(|message| message.kind = Some(kind)),
                Operation::Align { bits, pad, field } => self.align(bits, pad, field)?,
                Operation::Enter { field } => self.enter(field, None),
                Operation::Leave => self.leave(),
                Operation::MessageBegin => self.begin_message(),
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
                    let is_done = !self.tape.more();
                    if self.goes_on(is_done, start, weight)? {
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
                    let is_done = self.tape.is_done(holds);
                    if self.goes_on(is_done, start, weight)? {
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
                        open: self.open,
                        depth: self.sink.depth(),
                        is_layer: false,
                        order: self.tape.byte_order(),
                        elsewhere: None,
                    };
                    let at = at.map(|at| self.needed(at)).transpose()?;
                    let size = size.map(|size| self.needed(size)).transpose()?;
                    match at {
                        Some(at) => self.begin_elsewhere(at, scope)?,
                        None => self.begin_window(size, field, scope)?,
                    }
                }
                Operation::WindowEnd => self.end_window()?,
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
                Operation::Set { set } => self.set(set)?,
                Operation::Copy { to, from } => self.keep(to, self.operand(from)),
                Operation::Mark { to } => self.keep(to, i128::from(self.tape.at())),
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
                Operation::Return => match self.frames.pop() {
                    Some(frame) => {
                        next = frame.back;
                        self.base = frame.base;
                    }
                    None => return Ok(()),
                },
                Operation::End => return Ok(()),
                _ => next = self.operate_rarely(operation, next)?,
            }
        }
    }
}
