//! Numbers to operations: those that are read, and those that are worked out.

use super::bindings::Binding;
use super::{Lowering, Sinks};
use crate::check::model::{Expression, Field, Model, Number, Type};
use crate::facts::{KindId, Meaning};
use crate::operation::{Operation, Register};
use crate::values::codec::Codec;
use crate::values::quantized::Quantized;

impl<'m> Lowering<'m> {
    /// A `let`.
    pub(super) fn compute(
        &mut self,
        field: &Field,
        value: &Expression,
        info: u32,
    ) -> Option<Binding> {
        if let (Some(kind), Sinks::Facts) = (constant_kind(field, value, self.model), self.sinks) {
            self.push(Operation::KindIs { kind });
            return None;
        }
        let (table, base) = self.table_and_base(&field.field_type);
        let (low, high) = base.limits().unwrap_or((0, i128::from(u64::MAX)));
        let is_within = match value {
            Expression::Integer(value) => (low..=high).contains(value),
            _ => matches!(field.field_type, Type::Bool),
        };
        let value = self.value(value);
        if self.sinks == Sinks::Facts && field.meaning.is_none() && is_within {
            return field.read.then_some(Binding::Constant(value));
        }
        let limits = self.assembler.constant_pair(low, high);
        let bits = match *base {
            Type::Unsigned(bits) | Type::Signed(bits) | Type::Range { bits, .. } => bits,
            Type::Coded { codec, .. } => codec.bits(),
            _ => 64,
        };
        let by_table = is_by_table(field);
        let to = self.register_if(field.read || by_table);
        self.push(Operation::Compute {
            value,
            limits,
            offset: matches!(base, Type::Range { .. }),
            bits,
            fact: field.meaning.filter(|_| !by_table),
            to,
            field: info,
        });
        self.after_scalar(field, table, to, info);
        field.read.then_some(Binding::Register(to))
    }

    pub(super) fn scalar(&mut self, field: &Field, info: u32) -> Option<Binding> {
        let (table, base) = self.table_and_base(&field.field_type);
        let by_table = is_by_table(field);
        let needed = field.read || field.constant.is_some() || by_table;
        let to = self.register_if(needed);
        let fact = field.meaning.filter(|_| !by_table);
        self.read_scalar(base, fact, to, info);
        self.after_scalar(field, table, to, info);
        needed.then_some(Binding::Register(to))
    }

    /// Of an enum its table; the type of what is on the wire.
    fn table_and_base<'t>(&self, of: &'t Type) -> (Option<u16>, &'t Type)
    where
        'm: 't,
    {
        match *of {
            Type::Enum(id) => (Some(id.0 as u16), &self.model.enumeration(id).base),
            Type::Flags(id) => (None, &self.model.enumeration(id).base),
            _ => (None, of),
        }
    }

    pub(super) fn read_scalar(
        &mut self,
        scalar: &Type,
        fact: Option<Meaning>,
        to: Register,
        field: u32,
    ) {
        let operation = match *scalar {
            Type::Signed(bits) => Operation::Signed { bits, to, field },
            Type::Range { low, high, bits } => {
                let low = self.assembler.constant_pair(low, high);
                Operation::Range {
                    bits,
                    fact,
                    to,
                    field,
                    low,
                }
            }
            Type::Leb128 => Operation::Leb128 { fact, to, field },
            Type::Zigzag => Operation::Zigzag { to, field },
            Type::Coded { codec, number } => Operation::Coded {
                codec,
                signed: number == Number::Signed,
                fact,
                to,
                field,
            },
            Type::Rotation { bits, .. } => Operation::Coded {
                codec: Codec::SmallestThree { bits },
                signed: false,
                fact,
                to,
                field,
            },
            Type::Unsigned(bits) | Type::Float(bits) | Type::Quantized(Quantized { bits, .. }) => {
                Operation::Unsigned {
                    bits,
                    fact,
                    to,
                    field,
                }
            }
            _ => Operation::Unsigned {
                bits: 1,
                fact,
                to,
                field,
            },
        };
        self.push(operation);
    }

    /// What a value that was read is compared with and looked up in.
    fn after_scalar(&mut self, field: &Field, table: Option<u16>, value: Register, info: u32) {
        if let Some(constant) = field.constant {
            let constant = self.assembler.constant(constant);
            self.push(Operation::Expect {
                value,
                constant,
                field: info,
            });
        }
        match (field.meaning, table) {
            (Some(Meaning::MessageKind), Some(table)) => {
                self.push(Operation::Kind { value, table });
            }
            (Some(Meaning::Rules), Some(table)) => {
                self.push(Operation::Rules { value, table });
            }
            _ => {}
        }
    }
}

/// Whether a table says what the field's value means.
fn is_by_table(field: &Field) -> bool {
    matches!(field.meaning, Some(Meaning::MessageKind | Meaning::Rules))
}

/// The kind of the message, where a `let` that nothing else reads says it once and for all.
fn constant_kind(field: &Field, value: &Expression, model: &Model) -> Option<KindId> {
    let (Type::Enum(id), &Expression::Integer(value)) = (&field.field_type, value) else {
        return None;
    };
    let declared = model.enumeration(*id);
    let value = u64::try_from(value).ok()?;
    let place = declared.members.iter().position(|it| it.value == value)?;
    let says_kind = field.meaning == Some(Meaning::MessageKind) && !field.read;
    let first = declared.first_kind.filter(|_| says_kind)?;
    Some(KindId(first.saturating_add(place as u16)))
}
