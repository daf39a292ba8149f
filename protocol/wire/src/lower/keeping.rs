//! What reads and changes the connection's state.

use super::{Lowering, NotLowered};
use crate::check::model::{Expression, SetMember, SetStep, SetWhat, StatePart, StatePath};
use crate::limits::STATE_KEYS_MAX;
use crate::operation::{NO_REGISTER, Operand, Operation, Register};
use crate::program::{ContentOperand, SetPlan, SetValue, StateSlot};

/// Those that there are come first.
type Keys = [Option<Operand>; STATE_KEYS_MAX];

impl Lowering<'_> {
    /// The index of a field of the state, or of an entry of a table there, once the operations
    /// added here have run.
    pub(super) fn slot(&mut self, path: &StatePath) -> u16 {
        let keys = self.keys(path);
        self.slot_of(path, keys, path.part)
    }

    /// Where the keys of an entry are.
    fn keys(&mut self, path: &StatePath) -> Keys {
        let mut keys = Keys::default();
        for (to, key) in keys.iter_mut().zip(&path.keys) {
            *to = Some(self.value(key));
        }
        keys
    }

    fn slot_of(&mut self, path: &StatePath, keys: Keys, part: StatePart) -> u16 {
        let Some(declared) = self.model.state.get(usize::from(path.field)) else {
            let why = "a field of the state that is not declared";
            self.assembler.fail(NotLowered::Unchecked(why));
            return 0;
        };
        self.assembler.slot(StateSlot {
            field: path.field,
            place: declared.place,
            each: declared.each,
            other: path.other,
            keys,
            part,
        })
    }

    pub(super) fn load(&mut self, path: &StatePath) -> Operand {
        let slot = self.slot(path);
        self.result(|to| Operation::Load { to, slot })
    }

    /// Where a text or bytes are.
    pub(super) fn content(&mut self, expression: &Expression) -> ContentOperand {
        match expression {
            Expression::State(path) => ContentOperand::State(self.slot(path)),
            Expression::Text(text) => self.constant_content(text.as_bytes()),
            Expression::Bytes(bytes) => self.constant_content(bytes),
            other => ContentOperand::Register(self.content_field(other)),
        }
    }

    /// Where a field holds the bits of a text or of bytes.
    pub(super) fn content_field(&mut self, field: &Expression) -> Register {
        match self.value(field) {
            Operand::Register(register) => register,
            Operand::Constant(_) => {
                self.unchecked("a number where a text or bytes are expected");
                NO_REGISTER
            }
        }
    }

    fn constant_content(&mut self, bytes: &[u8]) -> ContentOperand {
        let content = self.assembler.add(|plan| &mut plan.contents, bytes.into());
        ContentOperand::Constant(content)
    }

    pub(super) fn set(&mut self, step: &SetStep) {
        match &step.what {
            SetWhat::Value(member) => {
                let value = self.set_value(member);
                let slot = self.slot(&step.path);
                self.add_set(slot, value, Some(member));
            }
            // The keys are those from before the first value is set.
            SetWhat::Members(members) => {
                let keys = self.keys(&step.path);
                let mut values = Vec::new();
                for (place, member) in members {
                    values.push((*place, self.set_value(member), member));
                }
                for (place, value, member) in values {
                    let slot = self.slot_of(&step.path, keys, StatePart::Value(place));
                    self.add_set(slot, value, Some(member));
                }
            }
            SetWhat::Copy(from) => {
                let from = self.slot(from);
                let slot = self.slot(&step.path);
                self.add_set(slot, SetValue::Copy(from), None);
            }
            SetWhat::Nothing => {
                let slot = self.slot(&step.path);
                self.add_set(slot, SetValue::Nothing, None);
            }
        }
    }

    fn set_value(&mut self, member: &SetMember) -> SetValue {
        if member.is_content {
            return SetValue::Content(self.content(&member.value));
        }
        let (low, high) = member.range;
        let value = self.value(&member.value);
        SetValue::Integer { value, low, high }
    }

    fn add_set(&mut self, slot: u16, value: SetValue, member: Option<&SetMember>) {
        let (text, type_text) = match member {
            Some(member) => (self.text(&member.text), self.text(&member.type_text)),
            None => (self.text(&"".into()), self.text(&"".into())),
        };
        let set = SetPlan {
            slot,
            value,
            text,
            type_text,
        };
        let set = self.assembler.add(|plan| &mut plan.sets, set);
        self.push(Operation::Set { set });
    }

    /// A register for what something reads.
    pub(super) fn register_if(&mut self, is_read: bool) -> Register {
        if is_read {
            self.register()
        } else {
            NO_REGISTER
        }
    }
}
