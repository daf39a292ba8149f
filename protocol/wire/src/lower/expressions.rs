//! Expressions to operations: values into registers, conditions into jumps.

use std::sync::Arc;

use super::assembler::Label;
use super::{FieldKey, Lowering};
use crate::check::model::{Call, Expression, FieldId, Look, StructId};
use crate::operation::{NO_FIELD, Operand, Operation, Register};
use crate::program::{CallPlan, FieldInfo, Shown};
use crate::syntax::ast::{Arithmetic, Compare};

impl Lowering<'_> {
    /// Where the value of an expression is, once the operations added here have run.
    pub(super) fn value(&mut self, expression: &Expression) -> Operand {
        match expression {
            Expression::Integer(value) => self.assembler.operand(*value),
            Expression::Float(_) | Expression::Text(_) | Expression::Bytes(_) => {
                self.unchecked("a constant that is no integer, in an expression that is none")
            }
            Expression::Field(path) => self.bound(path),
            Expression::State(path) => self.load(path),
            Expression::Known(inner) => {
                let from = self.value(inner);
                self.result(|to| Operation::Known { to, from })
            }
            Expression::Measure(measure, path) => self.measure(*measure, path),
            Expression::Index => match self.index {
                Some(index) => Operand::Register(index),
                None => self.unchecked("an index outside repeats"),
            },
            Expression::Position => self.result(|to| Operation::Mark { to }),
            Expression::Look {
                look,
                ahead,
                text,
                key,
            } => self.look((*look, ahead, text), key.as_ref()),
            Expression::Called(call) => self.called(call),
            Expression::Context(what) => {
                let what = *what;
                self.result(|to| Operation::Circumstance { what, to })
            }
            Expression::Arithmetic(operator, left, right, text) => {
                let (left, right) = (self.value(left), self.value(right));
                self.arithmetic(*operator, left, right, text)
            }
            Expression::Compare(operator, left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                let operator = *operator;
                self.result(|to| Operation::Compare {
                    operator,
                    to,
                    left,
                    right,
                })
            }
            Expression::Choice(condition, then, otherwise) => {
                self.chosen(condition, then, otherwise)
            }
            Expression::Not(_) | Expression::And(..) | Expression::Or(..) => self.truth(expression),
        }
    }

    /// Adds an operation that has a result; where that is.
    pub(super) fn result(&mut self, operation: impl FnOnce(Register) -> Operation) -> Operand {
        let to = self.register();
        self.push(operation(to));
        Operand::Register(to)
    }

    /// Where a field of this struct is kept, or of structs inside it.
    pub(super) fn bound(&mut self, path: &[FieldId]) -> Operand {
        let found = self.bindings.bound(path);
        found.unwrap_or_else(|| self.unchecked("a field that nobody keeps"))
    }

    pub(super) fn arithmetic(
        &mut self,
        operator: Arithmetic,
        left: Operand,
        right: Operand,
        text: &Arc<str>,
    ) -> Operand {
        let text = self.text(text);
        self.result(|to| Operation::Arithmetic {
            operator,
            to,
            left,
            right,
            text,
        })
    }

    /// Puts what comes out of a register and a number into the register.
    pub(super) fn change(&mut self, operator: Arithmetic, to: Register, by: i128, text: &str) {
        let (left, right) = (Operand::Register(to), self.assembler.operand(by));
        let text = self.text(&text.into());
        self.push(Operation::Arithmetic {
            operator,
            to,
            left,
            right,
            text,
        });
    }

    /// Bytes ahead.
    fn look(
        &mut self,
        (look, ahead, text): (Look, &Expression, &Arc<str>),
        key: Option<&(StructId, Arc<str>)>,
    ) -> Operand {
        let ahead = self.value(ahead);
        let field = match key {
            Some((structure, key)) => self.look_info(*structure, key, text),
            None => NO_FIELD,
        };
        let text = self.text(text);
        self.result(|to| Operation::Look {
            look,
            ahead,
            to,
            field,
            text,
        })
    }

    /// What a function gives.
    fn called(&mut self, call: &Call) -> Operand {
        let plan = CallPlan {
            function: call.function.clone(),
            arguments: self.given(&call.arguments),
            text: self.text(&call.text),
        };
        let call = self.assembler.add(|plan| &mut plan.calls, plan);
        self.result(|to| Operation::Function { to, call })
    }

    /// `if condition { then } else { otherwise }`, as a value.
    fn chosen(
        &mut self,
        condition: &Expression,
        then: &Expression,
        otherwise: &Expression,
    ) -> Operand {
        let to = self.register();
        let (other, end) = (self.assembler.label(), self.assembler.label());
        self.unless(condition, other);
        let from = self.value(then);
        self.push(Operation::Copy { to, from });
        self.jump(end);
        self.assembler.place(other);
        let from = self.value(otherwise);
        self.push(Operation::Copy { to, from });
        self.assembler.place(end);
        Operand::Register(to)
    }

    /// Whether a condition holds, as 1 or 0.
    fn truth(&mut self, expression: &Expression) -> Operand {
        let to = self.register();
        let (yes, no) = (self.assembler.operand(1), self.assembler.operand(0));
        let end = self.assembler.label();
        self.push(Operation::Copy { to, from: no });
        self.unless(expression, end);
        self.push(Operation::Copy { to, from: yes });
        self.assembler.place(end);
        Operand::Register(to)
    }

    /// Before the first element of a repeat whose expressions read `index`.
    pub(super) fn begin_index(&mut self) {
        let (to, from) = (self.register(), self.assembler.operand(0));
        self.index = Some(to);
        self.push(Operation::Copy { to, from });
    }

    /// After an element; `outer` is the index around the repeat.
    pub(super) fn end_index(&mut self, outer: Option<Register>) {
        if let Some(to) = std::mem::replace(&mut self.index, outer) {
            self.change(Arithmetic::Add, to, 1, "index");
        }
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
    pub(super) fn unless(&mut self, condition: &Expression, to: Label) {
        self.jump_where(condition, false, to);
    }

    /// Jumps where a condition holds, or else where it does not.
    fn jump_where(&mut self, condition: &Expression, holds: bool, to: Label) {
        let (operator, left, right) = match condition {
            Expression::Not(inner) => return self.jump_where(inner, !holds, to),
            Expression::And(left, right) | Expression::Or(left, right) => {
                // Either of the two may decide alone.
                if holds == matches!(condition, Expression::Or(..)) {
                    self.jump_where(left, holds, to);
                    return self.jump_where(right, holds, to);
                }
                let goes_on = self.assembler.label();
                self.jump_where(left, !holds, goes_on);
                self.jump_where(right, holds, to);
                return self.assembler.place(goes_on);
            }
            Expression::Compare(operator, left, right) => {
                (*operator, self.value(left), self.value(right))
            }
            other => {
                let left = self.value(other);
                (Compare::NotEqual, left, self.assembler.operand(0))
            }
        };
        let operator = if holds { opposite(operator) } else { operator };
        let to = to.name();
        self.push(Operation::Unless {
            operator,
            left,
            right,
            to,
        });
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
