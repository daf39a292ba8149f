//! What reads and changes the connection's state.

use super::bindings::Bindings;
use super::{Lowering, NotLowered};
use crate::check::model::{Expression, SetMember, SetStep, SetWhat, StatePart, StatePath};
use crate::limits::STATE_KEYS_MAX;
use crate::operation::{Operand, Operation, Register};
use crate::program::{ContentOperand, SetPlan, SetValue, StateSlot};

/// Those that there are come first.
type Keys = [Option<Operand>; STATE_KEYS_MAX];

impl Lowering<'_> {
    /// The index of a field of the state, or of an entry of a table there, once the operations
    /// added here have run.
    pub(super) fn slot(
        &mut self,
        path: &StatePath,
        bindings: &Bindings,
    ) -> Result<u16, NotLowered> {
        let keys = self.keys(path, bindings)?;
        self.slot_of(path, keys, path.part)
    }

    /// Where the keys of an entry are.
    fn keys(&mut self, path: &StatePath, bindings: &Bindings) -> Result<Keys, NotLowered> {
        let mut keys = Keys::default();
        for (to, key) in keys.iter_mut().zip(&path.keys) {
            *to = Some(self.value(key, bindings)?);
        }
        Ok(keys)
    }

    fn slot_of(
        &mut self,
        path: &StatePath,
        keys: Keys,
        part: StatePart,
    ) -> Result<u16, NotLowered> {
        let declared =
            self.model
                .state
                .get(usize::from(path.field))
                .ok_or(NotLowered::Unchecked(
                    "a field of the state that is not declared",
                ))?;
        self.assembler.slot(StateSlot {
            field: path.field,
            place: declared.place,
            each: declared.each,
            other: path.other,
            keys,
            part,
        })
    }

    pub(super) fn load(
        &mut self,
        path: &StatePath,
        bindings: &Bindings,
    ) -> Result<Operand, NotLowered> {
        let slot = self.slot(path, bindings)?;
        let to = self.register()?;
        self.assembler.push(Operation::Load { to, slot })?;
        Ok(Operand::Register(to))
    }

    /// Where a text or bytes are.
    pub(super) fn content(
        &mut self,
        expression: &Expression,
        bindings: &Bindings,
    ) -> Result<ContentOperand, NotLowered> {
        match expression {
            Expression::State(path) => Ok(ContentOperand::State(self.slot(path, bindings)?)),
            Expression::Text(text) => self.constant_content(text.as_bytes()),
            Expression::Bytes(bytes) => self.constant_content(bytes),
            other => match self.value(other, bindings)? {
                Operand::Register(register) => Ok(ContentOperand::Register(register)),
                Operand::Constant(_) => Err(NotLowered::Unchecked(
                    "a number where a text or bytes are expected",
                )),
            },
        }
    }

    fn constant_content(&mut self, bytes: &[u8]) -> Result<ContentOperand, NotLowered> {
        Ok(ContentOperand::Constant(self.assembler.content(bytes)?))
    }

    pub(super) fn set(&mut self, step: &SetStep, bindings: &Bindings) -> Result<(), NotLowered> {
        match &step.what {
            SetWhat::Value(member) => {
                let value = self.set_value(member, bindings)?;
                let slot = self.slot(&step.path, bindings)?;
                self.add_set(slot, value, Some(member))
            }
            // The keys are those from before the first value is set.
            SetWhat::Members(members) => {
                let keys = self.keys(&step.path, bindings)?;
                let mut values = Vec::new();
                for (place, member) in members {
                    values.push((*place, self.set_value(member, bindings)?, member));
                }
                for (place, value, member) in values {
                    let slot = self.slot_of(&step.path, keys, StatePart::Value(place))?;
                    self.add_set(slot, value, Some(member))?;
                }
                Ok(())
            }
            SetWhat::Copy(from) => {
                let from = self.slot(from, bindings)?;
                let slot = self.slot(&step.path, bindings)?;
                self.add_set(slot, SetValue::Copy(from), None)
            }
            SetWhat::Nothing => {
                let slot = self.slot(&step.path, bindings)?;
                self.add_set(slot, SetValue::Nothing, None)
            }
        }
    }

    fn set_value(
        &mut self,
        member: &SetMember,
        bindings: &Bindings,
    ) -> Result<SetValue, NotLowered> {
        if member.is_content {
            return Ok(SetValue::Content(self.content(&member.value, bindings)?));
        }
        let (low, high) = member.range;
        let value = self.value(&member.value, bindings)?;
        Ok(SetValue::Integer { value, low, high })
    }

    fn add_set(
        &mut self,
        slot: u16,
        value: SetValue,
        member: Option<&SetMember>,
    ) -> Result<(), NotLowered> {
        let (text, type_text) = match member {
            Some(member) => (self.text(&member.text), self.text(&member.type_text)),
            None => (self.text(&"".into()), self.text(&"".into())),
        };
        let set = self.assembler.set(SetPlan {
            slot,
            value,
            text,
            type_text,
        })?;
        self.assembler.push(Operation::Set { set })
    }

    /// A register for a text or bytes that something reads.
    pub(super) fn content_register(&mut self, read: bool) -> Result<Register, NotLowered> {
        if read {
            self.register()
        } else {
            Ok(crate::operation::NO_REGISTER)
        }
    }
}
