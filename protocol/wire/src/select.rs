//! Which of a wire's protocols a packet is of.

use crate::Context;
use crate::arithmetic;
use crate::check::model::{Expression, Selection};

/// Whether a selection takes a packet.
pub(crate) fn takes(selection: &Selection, context: &Context, packet: &[u8]) -> bool {
    let ports = [context.source_port, context.destination_port];
    let is_port = || {
        let mut ranges = selection.ports.iter();
        ranges.any(|range| ports.iter().any(|port| range.contains(port)))
    };
    let holds = || match &selection.when {
        Some(condition) => value(condition) == Some(1),
        None => true,
    };
    (selection.ports.is_empty() || is_port()) && packet.starts_with(&selection.magic) && holds()
}

/// The value of an expression that reads no field; `None` where it has none, so that the condition
/// does not hold.
fn value(expression: &Expression) -> Option<i128> {
    Some(match expression {
        Expression::Integer(value) => *value,
        Expression::Not(inner) => i128::from(value(inner)? == 0),
        Expression::And(left, right) => match value(left)? {
            0 => 0,
            _ => value(right)?,
        },
        Expression::Or(left, right) => match value(left)? {
            0 => value(right)?,
            _ => 1,
        },
        Expression::Compare(operator, left, right) => {
            i128::from(arithmetic::compare(*operator, value(left)?, value(right)?))
        }
        Expression::Arithmetic(operator, left, right, _) => {
            arithmetic::evaluate(*operator, value(left)?, value(right)?).ok()?
        }
        _ => return None,
    })
}
