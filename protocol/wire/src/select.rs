//! Which of a wire's protocols a packet is of.

use crate::Context;
use crate::arithmetic;
use crate::bits::BitReader;
use crate::check::model::{Circumstance, Expression, Look, Selection, StatePath};
use crate::layout::Order;
use crate::run::kept;
use crate::state::{ConnectionState, StateField};

/// Whether a selection takes a packet.
pub(crate) fn takes(
    selection: &Selection,
    context: &Context,
    (fields, state): (&[StateField], &ConnectionState),
    order: Order,
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
                packet: BitReader::new(packet, order),
            };
            asked.holds(condition) == Some(true)
        }
        None => true,
    };
    let has_magic = selection.magic.is_empty() || packet.starts_with(&selection.magic);
    (selection.ports.is_empty() || is_port()) && has_magic && holds()
}

/// The same condition with the alternatives of `a || b || c` one after the other, not in each other,
/// so that the first is asked at once.
pub(crate) fn first_at_once(condition: Expression) -> Expression {
    match condition {
        Expression::Or(left, right) => match first_at_once(*left) {
            Expression::Or(first, second) => {
                let rest = Expression::Or(second, right);
                Expression::Or(first, Box::new(first_at_once(rest)))
            }
            left => Expression::Or(Box::new(left), right),
        },
        other => other,
    }
}

/// What a condition may ask about.
struct Asked<'a> {
    context: &'a Context,
    fields: &'a [StateField],
    state: &'a ConnectionState,
    packet: BitReader<'a>,
}

impl Asked<'_> {
    /// Whether a condition holds; `None` where that cannot be said.
    fn holds(&self, condition: &Expression) -> Option<bool> {
        Some(match condition {
            Expression::Not(inner) => !self.holds(inner)?,
            Expression::And(left, right) => self.holds(left)? && self.holds(right)?,
            Expression::Or(left, right) => self.holds(left)? || self.holds(right)?,
            Expression::Compare(operator, left, right) => {
                arithmetic::compare(*operator, self.value(left)?, self.value(right)?)
            }
            other => self.value(other)? != 0,
        })
    }

    /// The value of an expression that reads no field; `None` where it has none, so that the
    /// condition does not hold.
    fn value(&self, expression: &Expression) -> Option<i128> {
        let value = |expression| self.value(expression);
        Some(match expression {
            Expression::Integer(value) => *value,
            Expression::Not(_)
            | Expression::And(..)
            | Expression::Or(..)
            | Expression::Compare(..) => self.holds(expression)?.into(),
            Expression::Arithmetic(operator, left, right, _) => {
                arithmetic::evaluate(*operator, value(left)?, value(right)?).ok()?
            }
            Expression::Choice(condition, then, otherwise) => {
                if self.holds(condition)? {
                    value(then)?
                } else {
                    value(otherwise)?
                }
            }
            Expression::Position => 0,
            Expression::Look { look, ahead, .. } => self.look(*look, value(ahead)?)?,
            Expression::Context(what) => match what {
                Circumstance::SourcePort => self.context.source_port.into(),
                Circumstance::DestinationPort => self.context.destination_port.into(),
                Circumstance::FromFirst => self.context.from_first.into(),
            },
            Expression::State(path) => self.kept(path)?,
            Expression::Known(inner) => i128::from(value(inner).is_some()),
            _ => return None,
        })
    }

    fn look(&self, look: Look, ahead: i128) -> Option<i128> {
        let Look::Integer(codec) = look else {
            return Some(self.packet.left().into());
        };
        let mut reader = self.packet;
        if !reader.skip(u32::try_from(ahead).ok()?) {
            return None;
        }
        let raw = codec.read(reader.order(), |bits| reader.read(bits));
        raw.ok().map(i128::from)
    }

    /// An integer of the state, or 1 where there is a text or bytes.
    fn kept(&self, path: &StatePath) -> Option<i128> {
        let mut keys = Vec::new();
        for key in &path.keys {
            keys.push(self.value(key)?);
        }
        let field = self.fields.get(usize::from(path.field))?;
        let second = field.each && self.context.from_first == path.other;
        let place = field.place + u16::from(second);
        kept(self.state, place, &keys, path.part)
    }
}
