//! Expressions to operations: values into registers, conditions into jumps.

use super::assembler::Label;
use std::sync::Arc;

use super::bindings::Bindings;
use super::{FieldKey, Lowering, NotLowered};
use crate::check::model::{Call, Expression, Look, StructId};
use crate::operation::{NO_FIELD, Operand, Operation, Register};
use crate::program::{CallPlan, FieldInfo, Shown};
use crate::syntax::ast::{Arithmetic, Compare};

impl Lowering<'_> {
    /// Where the value of an expression is, once the operations added here have run.
    pub(super) fn value(
        &mut self,
        expression: &Expression,
        bindings: &Bindings,
    ) -> Result<Operand, NotLowered> {
        match expression {
            Expression::Integer(value) => self.assembler.operand(*value),
            Expression::Float(_) | Expression::Text(_) | Expression::Bytes(_) => {
                Err(NotLowered::Unchecked(
                    "a constant that is no integer, in an expression that is none",
                ))
            }
            Expression::Field(path) => bindings.bound(path),
            Expression::State(path) => self.load(path, bindings),
            Expression::Known(inner) => {
                let from = self.value(inner, bindings)?;
                let to = self.register()?;
                self.assembler.push(Operation::Known { to, from })?;
                Ok(Operand::Register(to))
            }
            Expression::Measure(measure, path) => {
                let (last, structs) = path
                    .split_last()
                    .ok_or(NotLowered::Unchecked("a measure of nothing"))?;
                let inner = bindings
                    .inside(structs)
                    .ok_or(NotLowered::Unchecked("a measure inside no struct"))?;
                self.measure(*measure, &[*last], inner)
            }
            Expression::Index => self
                .index
                .map(Operand::Register)
                .ok_or(NotLowered::Unchecked("an index outside repeats")),
            Expression::Position => {
                let to = self.register()?;
                self.assembler.push(Operation::Mark { to })?;
                Ok(Operand::Register(to))
            }
            Expression::Look {
                look,
                ahead,
                text,
                key,
            } => self.look((*look, ahead, text), key.as_ref(), bindings),
            Expression::Called(call) => self.called(call, bindings),
            Expression::Context(what) => {
                let (what, to) = (*what, self.register()?);
                self.assembler.push(Operation::Circumstance { what, to })?;
                Ok(Operand::Register(to))
            }
            Expression::Arithmetic(operator, left, right, text) => {
                let left = self.value(left, bindings)?;
                let right = self.value(right, bindings)?;
                let (operator, to) = (*operator, self.register()?);
                let text = self.text(text);
                let operation = Operation::Arithmetic {
                    operator,
                    to,
                    left,
                    right,
                    text,
                };
                self.assembler.push(operation)?;
                Ok(Operand::Register(to))
            }
            Expression::Compare(operator, left, right) => {
                let left = self.value(left, bindings)?;
                let right = self.value(right, bindings)?;
                let (operator, to) = (*operator, self.register()?);
                self.assembler.push(Operation::Compare {
                    operator,
                    to,
                    left,
                    right,
                })?;
                Ok(Operand::Register(to))
            }
            Expression::Choice(condition, then, otherwise) => {
                self.chosen(condition, (then, otherwise), bindings)
            }
            Expression::Not(_) | Expression::And(..) | Expression::Or(..) => {
                self.truth(expression, bindings)
            }
        }
    }

    /// Bytes ahead.
    fn look(
        &mut self,
        (look, ahead, text): (Look, &Expression, &Arc<str>),
        key: Option<&(StructId, Arc<str>)>,
        bindings: &Bindings,
    ) -> Result<Operand, NotLowered> {
        let ahead = self.value(ahead, bindings)?;
        let field = match key {
            Some((structure, key)) => self.look_info(*structure, key, text),
            None => NO_FIELD,
        };
        let (to, text) = (self.register()?, self.text(text));
        self.assembler.push(Operation::Look {
            look,
            ahead,
            to,
            field,
            text,
        })?;
        Ok(Operand::Register(to))
    }

    /// What a function gives.
    fn called(&mut self, call: &Call, bindings: &Bindings) -> Result<Operand, NotLowered> {
        let (arguments, text) = (
            self.given(&call.arguments, bindings)?,
            self.text(&call.text),
        );
        let call = self.assembler.function_call(CallPlan {
            function: call.function.clone(),
            arguments,
            text,
        })?;
        let to = self.register()?;
        self.assembler.push(Operation::Function { to, call })?;
        Ok(Operand::Register(to))
    }

    /// `if condition { then } else { otherwise }`, as a value.
    fn chosen(
        &mut self,
        condition: &Expression,
        (then, otherwise): (&Expression, &Expression),
        bindings: &Bindings,
    ) -> Result<Operand, NotLowered> {
        let to = self.register()?;
        let (other, end) = (self.assembler.label(), self.assembler.label());
        self.unless(condition, other, bindings)?;
        let from = self.value(then, bindings)?;
        self.assembler.push(Operation::Copy { to, from })?;
        self.assembler.jump(end)?;
        self.assembler.place(other)?;
        let from = self.value(otherwise, bindings)?;
        self.assembler.push(Operation::Copy { to, from })?;
        self.assembler.place(end)?;
        Ok(Operand::Register(to))
    }

    /// Whether a condition holds, as 1 or 0.
    fn truth(
        &mut self,
        expression: &Expression,
        bindings: &Bindings,
    ) -> Result<Operand, NotLowered> {
        let to = self.register()?;
        let (yes, no) = (self.assembler.operand(1)?, self.assembler.operand(0)?);
        let end = self.assembler.label();
        self.assembler.push(Operation::Copy { to, from: no })?;
        self.unless(expression, end, bindings)?;
        self.assembler.push(Operation::Copy { to, from: yes })?;
        self.assembler.place(end)?;
        Ok(Operand::Register(to))
    }

    /// Before the first element of a repeat whose expressions read `index`.
    pub(super) fn begin_index(&mut self) -> Result<(), NotLowered> {
        let to = self.register()?;
        self.index = Some(to);
        let from = self.assembler.operand(0)?;
        self.assembler.push(Operation::Copy { to, from })
    }

    /// After an element; `outer` is the index around the repeat.
    pub(super) fn end_index(&mut self, outer: Option<Register>) -> Result<(), NotLowered> {
        let Some(to) = std::mem::replace(&mut self.index, outer) else {
            return Ok(());
        };
        let (left, right) = (Operand::Register(to), self.assembler.operand(1)?);
        let text = self.text(&"index".into());
        self.assembler.push(Operation::Arithmetic {
            operator: Arithmetic::Add,
            to,
            left,
            right,
            text,
        })
    }

    fn look_info(&mut self, structure: StructId, key: &Arc<str>, text: &Arc<str>) -> u32 {
        self.info(FieldKey::Look(structure, key.clone()), || FieldInfo {
            name: key.clone(),
            type_name: text.clone(),
            shown: Shown::Unsigned,
            ..FieldInfo::default()
        })
    }

    /// Jumps where a condition does not hold.
    pub(super) fn unless(
        &mut self,
        condition: &Expression,
        to: Label,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        self.jump_where(condition, false, to, bindings)
    }

    /// Jumps where a condition holds, or else where it does not.
    fn jump_where(
        &mut self,
        condition: &Expression,
        holds: bool,
        to: Label,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        let (operator, left, right) = match condition {
            Expression::Not(inner) => return self.jump_where(inner, !holds, to, bindings),
            Expression::And(left, right) | Expression::Or(left, right) => {
                // Either of the two may decide alone.
                if holds == matches!(condition, Expression::Or(..)) {
                    self.jump_where(left, holds, to, bindings)?;
                    return self.jump_where(right, holds, to, bindings);
                }
                let goes_on = self.assembler.label();
                self.jump_where(left, !holds, goes_on, bindings)?;
                self.jump_where(right, holds, to, bindings)?;
                return self.assembler.place(goes_on);
            }
            Expression::Compare(operator, left, right) => {
                let left = self.value(left, bindings)?;
                (*operator, left, self.value(right, bindings)?)
            }
            other => {
                let left = self.value(other, bindings)?;
                (Compare::NotEqual, left, self.assembler.operand(0)?)
            }
        };
        let operator = if holds { opposite(operator) } else { operator };
        let to = to.name();
        self.assembler.push(Operation::Unless {
            operator,
            left,
            right,
            to,
        })
    }
}

fn opposite(operator: Compare) -> Compare {
    match operator {
        Compare::Equal => Compare::NotEqual,
        Compare::NotEqual => Compare::Equal,
        Compare::Less => Compare::GreaterOrEqual,
        Compare::LessOrEqual => Compare::Greater,
        Compare::Greater => Compare::LessOrEqual,
        Compare::GreaterOrEqual => Compare::Less,
    }
}
