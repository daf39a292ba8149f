//! What reads and changes the connection's state.

use super::{Bindings, Lowering, NotLowered};
use crate::check::model::{Expression, SetStep, StatePath};
use crate::operation::{Operand, Operation, Register};
use crate::program::{ContentOperand, SetPlan, SetValue, StateSlot};

impl Lowering<'_> {
    /// The index of a field of the state, or of an entry of a table there, once the operations
    /// added here have run.
    pub(super) fn slot(
        &mut self,
        path: &StatePath,
        bindings: &Bindings,
    ) -> Result<u16, NotLowered> {
        let key = match &path.key {
            Some(key) => Some(self.value(key, bindings)?),
            None => None,
        };
        let declared = self.model.state.get(usize::from(path.field));
        let declared = declared.ok_or(NotLowered::Unchecked(
            "a field of the state that is not declared",
        ))?;
        self.assembler.slot(StateSlot {
            field: path.field,
            place: declared.place,
            each: declared.each,
            other: path.other,
            key,
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
        let value = if step.is_content {
            SetValue::Content(self.content(&step.value, bindings)?)
        } else {
            let (low, high) = step.range;
            let value = self.value(&step.value, bindings)?;
            SetValue::Integer { value, low, high }
        };
        let slot = self.slot(&step.path, bindings)?;
        let (text, type_text) = (self.text(&step.text), self.text(&step.type_text));
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
        match read {
            true => self.register(),
            false => Ok(crate::operation::NO_REGISTER),
        }
    }
}
