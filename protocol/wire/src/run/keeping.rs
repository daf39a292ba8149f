//! What a run reads from the connection's state and leaves in it.

use std::ops::Range;
use std::sync::Arc;

use super::machine::{Machine, Stop};
use super::problem::Problem;
use super::sink::Sink;
use super::tape::Tape;
use crate::arithmetic;
use crate::check::model::StatePart;
use crate::facts::Meaning;
use crate::limits::{STATE_CONTENT_MAX, STATE_KEYS_MAX};
use crate::operation::{Operand, Register};
use crate::program::{ContentOperand, SetValue};
use crate::state::{ConnectionState, Kept, RowValue};
use crate::syntax::ast::Arithmetic;

/// The bits of a text or of bytes, as a register holds them.
pub(super) fn packed(content: &Range<u32>) -> i128 {
    i128::from(u64::from(content.end) << 32 | u64::from(content.start))
}

pub(super) fn unpacked(register: i128) -> Range<u32> {
    let both = register as u64;
    both as u32..(both >> 32) as u32
}

/// An integer of the state, or 1 where there is something else.
pub(crate) fn kept(
    state: &ConnectionState,
    place: u16,
    keys: &[i128],
    part: StatePart,
) -> Option<i128> {
    match part {
        StatePart::Plain => {
            let key = keys.first().copied();
            let content = || state.content(place, key).map(|_| 1);
            state.integer(place, key).or_else(content)
        }
        StatePart::Value(value) => {
            let found = state.rows(place)?.value(keys, value)?;
            found.integer().or(found.content().map(|_| 1))
        }
        StatePart::All => state.rows(place)?.get(keys).map(|_| 1),
    }
}

/// How many entries of a table that is copied count as a node of the packet.
const ENTRIES_A_NODE: usize = 8;

/// A place in the state, with the keys of an entry there.
pub(super) struct Place {
    pub place: u16,
    keys: [i128; STATE_KEYS_MAX],
    count: usize,
    part: StatePart,
}

impl Place {
    fn keys(&self) -> &[i128] {
        self.keys.get(..self.count).unwrap_or_default()
    }

    /// Of a table that has one.
    pub(super) fn key(&self) -> Option<i128> {
        self.keys().first().copied()
    }
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

    /// The place in the state, and the keys, that a slot stands for; `Err`: the value that a key is
    /// instead, unresolved.
    pub(super) fn place(&self, slot: u16) -> Result<Option<Place>, i128> {
        let Some(slot) = self.plan.slots.get(usize::from(slot)) else {
            return Ok(None);
        };
        let mut keys = [0; STATE_KEYS_MAX];
        let mut count = 0;
        for (to, key) in keys.iter_mut().zip(slot.keys.iter().flatten()) {
            *to = self.operand(*key);
            count += 1;
            if arithmetic::unresolved_field(*to).is_some() {
                return Err(*to);
            }
        }
        let second = slot.each && self.context.from_first == slot.other;
        Ok(Some(Place {
            place: slot.place + u16::from(second),
            keys,
            count,
            part: slot.part,
        }))
    }

    /// An integer of the state, or whether there is something else; unresolved where there is nothing.
    pub(super) fn load(&self, slot: u16) -> i128 {
        let at = match self.place(slot) {
            Ok(Some(found)) => found,
            Ok(None) => return 0,
            Err(unresolved) => return unresolved,
        };
        let field = self.plan.slots.get(usize::from(slot)).map(|s| s.field);
        let found = kept(self.state, at.place, at.keys(), at.part);
        found.unwrap_or(arithmetic::unresolved(field.unwrap_or(0)))
    }

    fn kept_content(&self, at: &Place) -> Option<&Arc<Vec<u8>>> {
        match at.part {
            StatePart::Plain => self.state.shared_content(at.place, at.key()),
            StatePart::Value(value) => self
                .state
                .rows(at.place)?
                .value(at.keys(), value)?
                .content(),
            StatePart::All => None,
        }
    }

    /// The text or bytes of the state, or of an entry of a table there.
    pub(super) fn content_of_state(&self, slot: u16) -> Result<Arc<Vec<u8>>, Stop> {
        let field = self.plan.slots.get(usize::from(slot)).map(|s| s.field);
        let field = field.unwrap_or(0);
        self.content_in(slot)
            .ok_or_else(|| Stop::here(Problem::Unresolved { field }))
    }

    fn content_in(&self, slot: u16) -> Option<Arc<Vec<u8>>> {
        let at = self.place(slot).ok()??;
        self.kept_content(&at).cloned()
    }

    pub(super) fn set(&mut self, set: u16) -> Result<(), Stop> {
        let Some(step) = self.plan.sets.get(usize::from(set)) else {
            return Ok(());
        };
        // Nobody knows which entry an unresolved key means.
        let Ok(Some(at)) = self.place(step.slot) else {
            return Ok(());
        };
        match step.value {
            SetValue::Integer { value, low, high } => {
                let value = self.operand(value);
                let is_known = arithmetic::unresolved_field(value).is_none();
                let fits = (low..=high).contains(&value);
                self.set_integer(&at, Some(value).filter(|_| is_known && fits));
                if is_known && !fits {
                    self.report(None, self.tape.at(), Problem::NotKept { set, value });
                }
            }
            SetValue::Content(from) => self.set_content(set, &at, from),
            SetValue::Copy(from) => {
                let found = match self.place(from) {
                    Ok(Some(from)) => {
                        let rows = self.state.rows(from.place);
                        rows.and_then(|rows| rows.get(from.keys())).cloned()
                    }
                    _ => None,
                };
                // Whoever changes one of the two copies has all entries to copy.
                let entries = found.as_ref().map_or(0, Kept::entries);
                self.count_nodes((entries / ENTRIES_A_NODE) as u32)?;
                self.put_rows(&at, found);
            }
            SetValue::Nothing => match at.part {
                StatePart::All => self.put_rows(&at, None),
                _ => {
                    self.set_integer(&at, None);
                    self.unset_content(&at);
                }
            },
        }
        Ok(())
    }

    fn put_rows(&mut self, at: &Place, kept: Option<Kept>) {
        if let Some(rows) = self.state.rows_mut(at.place) {
            rows.put(at.keys(), kept);
        }
    }

    /// Sets a value of a struct.
    fn set_row(&mut self, at: &Place, place: u16, value: RowValue) {
        if let Some(rows) = self.state.rows_mut(at.place) {
            rows.set(at.keys(), place, value);
        }
    }

    fn set_integer(&mut self, at: &Place, value: Option<i128>) {
        match at.part {
            StatePart::Value(place) => {
                self.set_row(at, place, value.map_or(RowValue::Unset, RowValue::of));
            }
            _ => self.state.set_integer(at.place, at.key(), value),
        }
    }

    fn unset_content(&mut self, at: &Place) {
        match at.part {
            StatePart::Plain => self.state.unset_content(at.place, at.key()),
            _ => self.set_integer(at, None),
        }
    }

    fn set_content(&mut self, set: u16, at: &Place, from: ContentOperand) {
        let bytes = match from {
            ContentOperand::Register(register) => {
                let bits = unpacked(self.register(register));
                let bytes = (bits.end - bits.start) as usize / 8;
                if bytes <= STATE_CONTENT_MAX && at.part == StatePart::Plain {
                    let tape = &self.tape;
                    let copy = |to: &mut Vec<u8>| tape.copy(bits, to);
                    // It is not too long.
                    let _ = self.state.set_content(at.place, at.key(), bytes, copy);
                    return;
                }
                let mut content = Vec::new();
                if bytes <= STATE_CONTENT_MAX {
                    self.tape.copy(bits, &mut content);
                    return self.put_content(at, Arc::new(content));
                }
                bytes
            }
            ContentOperand::Constant(index) => {
                let content = self.plan.contents.get(usize::from(index));
                let content = content.map_or(&[][..], |content| content);
                if content.len() <= STATE_CONTENT_MAX {
                    return self.put_content(at, Arc::new(content.to_vec()));
                }
                content.len()
            }
            ContentOperand::State(other) => {
                return match self.content_in(other) {
                    Some(content) => self.put_content(at, content),
                    None => self.unset_content(at),
                };
            }
        };
        self.unset_content(at);
        let value = bytes as i128;
        self.report(None, self.tape.at(), Problem::NotKept { set, value });
    }

    /// Keeps a text or bytes that are not too long.
    fn put_content(&mut self, at: &Place, content: Arc<Vec<u8>>) {
        match at.part {
            StatePart::Value(place) => self.set_row(at, place, RowValue::Content(content)),
            _ => {
                let copy = |to: &mut Vec<u8>| to.extend_from_slice(&content);
                let length = content.len();
                let _ = self.state.set_content(at.place, at.key(), length, copy);
            }
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
