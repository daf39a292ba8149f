//! What a run reads from the connection's state and leaves in it.

use std::ops::Range;
use std::sync::Arc;

use super::machine::{Machine, Stop};
use super::problem::Problem;
use super::sink::Sink;
use super::tape::Tape;
use crate::arithmetic;
use crate::facts::Meaning;
use crate::operation::{Operand, Register};
use crate::program::{ContentOperand, SetValue, StateSlot};
use crate::syntax::ast::Arithmetic;

/// The bits of a text or of bytes, as a register holds them.
pub(super) fn packed(content: &Range<u32>) -> i128 {
    i128::from(u64::from(content.end) << 32 | u64::from(content.start))
}

pub(super) fn unpacked(register: i128) -> Range<u32> {
    let both = register as u64;
    both as u32..(both >> 32) as u32
}

impl<'p, T: Tape<'p>, S: Sink> Machine<'p, '_, T, S> {
    /// A value that decides how to go on.
    #[inline]
    pub(super) fn needed(&self, operand: Operand) -> Result<i128, Stop> {
        let value = match operand {
            Operand::Constant(index) => return Ok(self.constant(index)),
            Operand::Register(register) => self.register(register),
        };
        match arithmetic::unresolved_field(value) {
            None => Ok(value),
            Some(field) => Err(Stop::here(Problem::Unresolved { field })),
        }
    }

    /// The place in the state, and the key, that a slot stands for; `Err`: the value that the key
    /// is instead, unresolved.
    pub(super) fn place(&self, slot: u16) -> Result<Option<(u16, Option<i128>)>, i128> {
        let Some(slot) = self.plan.slots.get(usize::from(slot)) else {
            return Ok(None);
        };
        let StateSlot {
            place,
            each,
            other,
            key,
            ..
        } = *slot;
        let key = key.map(|key| self.operand(key));
        if let Some(key) = key.filter(|&key| arithmetic::unresolved_field(key).is_some()) {
            return Err(key);
        }
        let second = each && self.context.from_first == other;
        Ok(Some((place + u16::from(second), key)))
    }

    /// An integer of the state, or whether there is a text or bytes; unresolved where there is none.
    pub(super) fn load(&self, slot: u16) -> i128 {
        let (place, key) = match self.place(slot) {
            Ok(Some(found)) => found,
            Ok(None) => return 0,
            Err(unresolved) => return unresolved,
        };
        let field = self.plan.slots.get(usize::from(slot)).map(|s| s.field);
        let content = || self.state.content(place, key).map(|_| 1);
        let found = self.state.integer(place, key).or_else(content);
        found.unwrap_or(arithmetic::unresolved(field.unwrap_or(0)))
    }

    /// The text or bytes of the state, or of an entry of a table there.
    pub(super) fn content_of_state(&self, slot: u16) -> Result<Arc<Vec<u8>>, Stop> {
        let field = self.plan.slots.get(usize::from(slot)).map(|s| s.field);
        let found = match self.place(slot) {
            Ok(Some((place, key))) => self.state.shared_content(place, key),
            _ => None,
        };
        let found = found.cloned();
        let field = field.unwrap_or(0);
        found.ok_or_else(|| Stop::here(Problem::Unresolved { field }))
    }

    pub(super) fn set(&mut self, set: u16) {
        let Some(step) = self.plan.sets.get(usize::from(set)) else {
            return;
        };
        // Nobody knows which entry an unresolved key means.
        let Ok(Some((place, key))) = self.place(step.slot) else {
            return;
        };
        match step.value {
            SetValue::Integer { value, low, high } => {
                let value = self.operand(value);
                if arithmetic::unresolved_field(value).is_some() {
                    self.state.set_integer(place, key, None);
                } else if (low..=high).contains(&value) {
                    self.state.set_integer(place, key, Some(value));
                } else {
                    self.state.set_integer(place, key, None);
                    self.report(None, self.tape.at(), Problem::NotKept { set, value });
                }
            }
            SetValue::Content(from) => self.set_content(set, (place, key), from),
        }
    }

    fn set_content(&mut self, set: u16, (place, key): (u16, Option<i128>), from: ContentOperand) {
        let (kept, bytes) = match from {
            ContentOperand::Register(register) => {
                let bits = unpacked(self.register(register));
                let bytes = (bits.end - bits.start) as usize / 8;
                let tape = &self.tape;
                let copy = |to: &mut Vec<u8>| tape.copy(bits, to);
                (self.state.set_content(place, key, bytes, copy), bytes)
            }
            ContentOperand::Constant(index) => {
                let content = self.plan.contents.get(usize::from(index));
                let content = content.map_or(&[][..], |content| content);
                let copy = |to: &mut Vec<u8>| to.extend_from_slice(content);
                let kept = self.state.set_content(place, key, content.len(), copy);
                (kept, content.len())
            }
            ContentOperand::State(other) => {
                let found = match self.place(other) {
                    Ok(Some((place, key))) => self.state.content(place, key),
                    _ => None,
                };
                let Some(content) = found.map(<[u8]>::to_vec) else {
                    self.state.unset_content(place, key);
                    return;
                };
                let copy = |to: &mut Vec<u8>| to.extend_from_slice(&content);
                let kept = self.state.set_content(place, key, content.len(), copy);
                (kept, content.len())
            }
        };
        if kept.is_err() {
            let value = bytes as i128;
            self.report(None, self.tape.at(), Problem::NotKept { set, value });
        }
    }

    /// The field that was just read is added to another value.
    pub(super) fn add_delta(
        &mut self,
        base: Operand,
        change: Register,
        fact: Option<Meaning>,
        text: u32,
    ) -> Result<i128, Stop> {
        let base = self.operand(base);
        let change = self.register(change);
        let sum = arithmetic::evaluate(Arithmetic::Add, base, change)
            .map_err(|why| Stop::here(Problem::Arithmetic { text, why }))?;
        let known = arithmetic::unresolved_field(sum).is_none();
        self.sink.sum(known.then_some(sum));
        if let (true, Ok(sum)) = (known, u64::try_from(sum)) {
            self.say(fact, sum, 64);
        }
        Ok(sum)
    }
}
