//! Layers: streams inside a packet, and what their transforms are told.

use std::ops::Range;
use std::sync::Arc;

use super::keeping::unpacked;
use super::machine::{Machine, Scope, Stop};
use super::problem::Problem;
use super::sink::Sink;
use super::tape::{Tape, Through};
use crate::arithmetic;
use crate::check::model::{LayerArgument, LayerKind};
use crate::facts::{InnerContent, Place};
use crate::layers::{Argument, Failure};
use crate::layout::StreamId;
use crate::operation::Register;
use crate::program::{ArgumentPlan, ContentOperand};

impl<'p, T: Tape<'p>, S: Sink> Machine<'p, '_, T, S> {
    pub(super) fn begin_layer(&mut self, place: u16, catches: bool, end: u32) -> Result<(), Stop> {
        let plan = self.plan;
        let Some(through) = plan.layer_uses.get(usize::from(place)) else {
            return Ok(());
        };
        let Some(layer) = self.program.layers.get(usize::from(through.layer)) else {
            return Ok(());
        };
        let mut given = Vec::new();
        for argument in &through.arguments {
            given.push(self.argument(*argument)?);
        }
        let told = match &layer.kind {
            LayerKind::Coding(_) => Ok(Vec::new()),
            LayerKind::Transform { arguments, .. } => arguments
                .iter()
                .map(|argument| self.told(argument, &given))
                .collect(),
        };
        let order = self.tape.byte_order();
        let opened = told.and_then(|arguments| {
            self.tape.layer(&Through {
                layer,
                arguments,
                text: through.text,
                rest: through.rest,
                packed_key: &through.packed_key,
                catches,
            })
        });
        opened.map_err(|failure| self.failed(through.text, &failure))?;
        self.outer_streams.push(self.stream);
        let stream = self.tape.stream();
        self.sink.begin_stream(stream);
        self.streams = self.streams.saturating_add(1);
        self.stream = StreamId(self.streams);
        self.scopes.push(Scope {
            rest: through.rest,
            text: through.text,
            catches,
            end,
            frames: self.frames.len(),
            base: self.base,
            open: self.open,
            depth: self.sink.depth(),
            is_layer: true,
            order,
            elsewhere: None,
        });
        Ok(())
    }

    pub(super) fn end_layer(&mut self) -> Result<(), Stop> {
        let Some(scope) = self.scopes.pop() else {
            return Ok(());
        };
        let at = self.tape.at();
        let rest = self.tape.rest();
        if !rest.is_empty() && !self.is_read_elsewhere(&rest) {
            let (bits, text) = (rest.end - rest.start, scope.text);
            self.report(None, at, Problem::LeftInWindow { bits, text });
            self.sink.rest_of_window(scope.rest, rest, None);
        }
        self.close_layer(scope.text)
    }

    /// The stream inside is done; the scope is gone already.
    pub(super) fn close_layer(&mut self, text: u32) -> Result<(), Stop> {
        self.leave_stream();
        let ended = self.tape.end_layer();
        ended.map_err(|failure| self.failed(text, &failure))
    }

    pub(super) fn leave_stream(&mut self) {
        self.stream = self.outer_streams.pop().unwrap_or_default();
        self.sink.end_stream(None);
    }

    /// The integer that a function gives; unresolved, where something that it is told is.
    pub(super) fn call_function(&mut self, to: Register, call: u16) -> Result<(), Stop> {
        let plan = self.plan;
        let Some(call) = plan.calls.get(usize::from(call)) else {
            return Ok(());
        };
        let mut arguments = Vec::new();
        for &argument in &call.arguments {
            match self.argument(argument) {
                Ok(argument) => arguments.push(argument),
                Err(Stop {
                    problem: Problem::Unresolved { field },
                    ..
                }) => {
                    self.keep(to, arithmetic::unresolved(field));
                    return Ok(());
                }
                Err(stop) => return Err(stop),
            }
        }
        match call.function.of(&arguments) {
            Ok(value) => {
                self.keep(to, value.into());
                Ok(())
            }
            Err(failure) => {
                self.sink.because(failure.to_string());
                Err(Stop::here(Problem::Function { text: call.text }))
            }
        }
    }

    fn failed(&mut self, text: u32, failure: &Failure) -> Stop {
        self.sink.because(failure.to_string());
        Stop::here(Problem::Unpack { text })
    }

    /// What a layer is given where it is used.
    fn argument(&mut self, argument: ArgumentPlan) -> Result<Argument, Stop> {
        Ok(match argument {
            ArgumentPlan::Integer(operand) => Argument::Integer(self.needed(operand)?),
            ArgumentPlan::Content(ContentOperand::Register(register)) => {
                let mut bytes = Vec::new();
                self.tape
                    .copy(unpacked(self.register(register)), &mut bytes);
                Argument::Bytes(Arc::new(bytes))
            }
            ArgumentPlan::Content(ContentOperand::Constant(index)) => {
                let content = self.plan.contents.get(usize::from(index));
                let content = content.map(|content| content.to_vec());
                Argument::Bytes(Arc::new(content.unwrap_or_default()))
            }
            ArgumentPlan::Content(ContentOperand::State(slot)) => {
                Argument::Bytes(self.content_of_state(slot)?)
            }
        })
    }

    /// What its transform is told.
    fn told(&self, argument: &LayerArgument, given: &[Argument]) -> Result<Argument, Failure> {
        Ok(match argument {
            LayerArgument::Parameter(place) => {
                let found = given.get(*place).cloned();
                found.ok_or_else(|| Failure::because("an argument is missing"))?
            }
            LayerArgument::Integer(value) => Argument::Integer(*value),
            LayerArgument::Bytes(bytes) => Argument::Bytes(Arc::new(bytes.to_vec())),
            LayerArgument::KeyLog { label, id } => {
                let id = match self.told(id, given)? {
                    Argument::Bytes(id) => id,
                    Argument::Integer(id) => Arc::new(shortest_big_endian(id)?),
                };
                let key = self.program.keys.get(label, &id).ok_or_else(|| {
                    let shown: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
                    let why = format!("the key log has no key `{label}` with the id {shown}");
                    Failure::Broken(why)
                })?;
                Argument::Bytes(Arc::new(key.to_vec()))
            }
        })
    }

    /// Where a text or bytes are. What stands in a stream inside is kept, since nobody has it.
    pub(super) fn place_of(&mut self, bits: Range<u32>) -> Place {
        let stream = self.stream;
        if stream != StreamId(0) {
            let mut bytes = Vec::new();
            self.tape.copy(bits.clone(), &mut bytes);
            self.facts.contents.push(InnerContent {
                place: Place {
                    stream,
                    bits: bits.clone(),
                },
                bytes,
            });
        }
        Place { stream, bits }
    }
}

/// A number as an id: as few bytes as it needs, one at least, the highest first.
fn shortest_big_endian(number: i128) -> Result<Vec<u8>, Failure> {
    let number =
        u64::try_from(number).map_err(|_| Failure::because("the id is no unsigned integer"))?;
    let bytes = number.to_be_bytes();
    let zeros = bytes.iter().take(7).take_while(|&&byte| byte == 0).count();
    Ok(bytes.iter().skip(zeros).copied().collect())
}
