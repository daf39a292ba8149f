//! Constants as numbers that expressions do not calculate with: as they are on the wire.

use super::Checker;
use super::declared::{ShapeId, Typed, ValueType};
use super::model::{Expression, Number, Type};
use crate::json::float_raw;
use crate::program::Shown;
use crate::report::Span;
use crate::values::codec::Codec;

impl<'a> Checker<'a, '_> {
    /// A constant where a float is wanted becomes one; all else stays as it is. `None` where the type
    /// has no such value, which is reported.
    pub(super) fn as_wanted(
        &mut self,
        (value, found): Typed,
        wanted: ValueType,
        span: Span,
    ) -> Option<Typed> {
        let (number, shape) = match (&value, found, wanted) {
            (Expression::Float(number), ValueType::Float, ValueType::Number(shape)) => {
                (*number, shape)
            }
            (Expression::Integer(number), ValueType::Integer, ValueType::Number(shape)) => {
                (*number as f64, shape)
            }
            _ => return Some((value, found)),
        };
        let Some(of) = self.type_of_shape(shape) else {
            return Some((value, found));
        };
        if matches!(of, Type::Rotation { .. }) {
            return Some((value, found));
        }
        if let Some(raw) = raw_number(number, &of) {
            return Some((Expression::Integer(raw.into()), wanted));
        }
        let message = format!("`{}` has no {number}", self.shape_text(shape));
        self.refuse(span, message, "expected a number between its ends")
    }

    /// The type; `None` where it is wrong, which is told where it is declared.
    fn type_of_shape(&mut self, shape: ShapeId) -> Option<Type> {
        let spelled = self.shape_type(shape)?;
        let told = self.reports.len();
        let found = self.plain_type(&spelled);
        self.reports.truncate(told);
        found
    }
}

fn raw_number(value: f64, of: &Type) -> Option<u64> {
    match *of {
        Type::Quantized(quantized) => quantized.raw(value),
        Type::Float(bits) => float_raw(value, Shown::Float { bits }),
        Type::Coded { codec, number } => match (codec, number) {
            (Codec::QuakeFloat, _) => float_raw(value, Shown::QuakeFloat),
            (_, Number::Float) => float_raw(value, Shown::Float { bits: codec.bits() }),
            _ => None,
        },
        _ => None,
    }
}
