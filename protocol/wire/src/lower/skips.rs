//! What the facts plan can step over: fields of fixed width that nobody reads and that cannot be
//! wrong.

use super::weights::Weights;
use crate::check::model::{Field, Model, Step, StructId, Type};

/// The widths of a field, of its elements, or of all that its struct holds; `false` where it
/// cannot be skipped. What was added to `widths` then is to be thrown away.
pub(super) fn add_field(
    field: &Field,
    model: &Model,
    weights: &Weights,
    widths: &mut Vec<u8>,
) -> bool {
    let is_looked_at = field.meaning.is_some() || field.constant.is_some() || field.read;
    let is_worked_out = field.computed.is_some() || !field.arguments.is_empty();
    if is_looked_at || is_worked_out || !field.measured.is_empty() || field.window.is_some() {
        return false;
    }
    if field.repeat.is_none() {
        return add_single(field, model, weights, widths);
    }
    let Some(count) = weights.small_repeat(field, model) else {
        return false;
    };
    let first = widths.len();
    if !add_single(field, model, weights, widths) {
        return false;
    }
    let element: Vec<u8> = widths.drain(first..).collect();
    for _ in 0..count {
        widths.extend_from_slice(&element);
    }
    true
}

fn add_single(field: &Field, model: &Model, weights: &Weights, widths: &mut Vec<u8>) -> bool {
    match field.field_type {
        Type::Struct(inner) => add_struct(inner, model, weights, widths),
        ref other => match fixed_bits(other, model) {
            Some(bits) => {
                widths.push(bits);
                true
            }
            None => false,
        },
    }
}

fn add_struct(id: StructId, model: &Model, weights: &Weights, widths: &mut Vec<u8>) -> bool {
    let structure = model.structure(id);
    if structure.recursive || structure.is_message {
        return false;
    }
    structure.body.iter().all(|step| match step {
        Step::Field(id) => add_field(structure.field(*id), model, weights, widths),
        _ => false,
    })
}

/// The width of a type of which every pattern of bits is right.
fn fixed_bits(field_type: &Type, model: &Model) -> Option<u8> {
    match *field_type {
        // In a coded stream its parts take other bits than the whole would.
        Type::Rotation { .. } => None,
        Type::Range { low, high, bits } if high - low + 1 != 1i128 << bits => None,
        Type::Enum(id) | Type::Flags(id) => fixed_bits(&model.enumeration(id).base, model),
        ref other => other.width(),
    }
}
