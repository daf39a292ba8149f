//! Which of a wire's protocols a packet is of.

use crate::Context;
use crate::arithmetic;
use crate::check::model::{Expression, Selection, StatePath};
use crate::state::{ConnectionState, StateField};

/// Whether a selection takes a packet.
pub(crate) fn takes(
    selection: &Selection,
    context: &Context,
    (fields, state): (&[StateField], &ConnectionState),
    packet: &[u8],
) -> bool {
    let ports = [context.source_port, context.destination_port];
    let is_port = || {
        let mut ranges = selection.ports.iter();
        ranges.any(|range| ports.iter().any(|port| range.contains(port)))
    };
    let holds = || match &selection.when {
        Some(condition) => {
            let asked = Asked {
                context,
                fields,
                state,
            };
            asked.value(condition) == Some(1)
        }
        None => true,
    };
    (selection.ports.is_empty() || is_port()) && packet.starts_with(&selection.magic) && holds()
}

/// What a condition may ask about.
struct Asked<'a> {
    context: &'a Context,
    fields: &'a [StateField],
    state: &'a ConnectionState,
}

impl Asked<'_> {
    /// The value of an expression that reads no field; `None` where it has none, so that the
    /// condition does not hold.
    fn value(&self, expression: &Expression) -> Option<i128> {
        let value = |expression| self.value(expression);
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
            Expression::State(path) => self.kept(path)?,
            Expression::Known(inner) => i128::from(value(inner).is_some()),
            _ => return None,
        })
    }

    /// An integer of the state, or 1 where there is a text or bytes.
    fn kept(&self, path: &StatePath) -> Option<i128> {
        let key = match &path.key {
            Some(key) => Some(self.value(key)?),
            None => None,
        };
        let field = self.fields.get(usize::from(path.field))?;
        let second = field.each && self.context.from_first == path.other;
        let place = field.place + u16::from(second);
        let content = || self.state.content(place, key).map(|_| 1);
        self.state.integer(place, key).or_else(content)
    }
}
