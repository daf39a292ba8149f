//! Fields of the wire in a filter, by their paths: `create.color == 200`.
//!
//! A path names fields from the outside in; between two of them others may stand, and elements of
//! repeats have no name. So `messages.rpc.name`, `rpc.name` and `any(name)` all find the name of an
//! RPC, each at any depth.

use std::ops::Range;

use netreel_wire::{Decoded, Name, StreamId, TreeNode, Value};

use super::expr::{Comparison, Constant, Each, Path};
use crate::figures::hex;
use crate::session::{MessageId, PacketId, Session};

/// A packet with all its fields, and where its messages are.
pub(super) struct Opened {
    decoded: Decoded,
    messages: Vec<(MessageId, StreamId, Range<u32>)>,
}

impl Opened {
    pub fn new(session: &Session, packet: PacketId) -> Option<Opened> {
        let messages = session
            .messages_of(packet)
            .map(|(id, facts)| (id, facts.stream, facts.bits));
        Some(Opened {
            messages: messages.collect(),
            decoded: session.decode(packet)?,
        })
    }

    /// Whether the fields that a path finds fit. Of a packet with messages, those of one of them are
    /// asked, and those that are in none.
    pub fn fits(
        &self,
        path: &Path,
        message: Option<MessageId>,
        compared: Option<(Comparison, &Constant)>,
    ) -> bool {
        let tree = &self.decoded.tree;
        let mut found = tree
            .iter()
            .filter(|&node| is_at(node, &path.names))
            .filter(|&node| {
                let of = self.message_of(node);
                of.is_none() || message.is_none() || of == message
            });
        let fits = |node: TreeNode<'_>| match compared {
            Some((comparison, constant)) => compare(&node.value(), comparison, constant),
            None => true,
        };
        match path.each {
            Each::Any => found.any(fits),
            Each::All => {
                let mut found = found.peekable();
                found.peek().is_some() && found.all(fits)
            }
        }
    }

    /// The innermost message that holds a field.
    fn message_of(&self, node: TreeNode<'_>) -> Option<MessageId> {
        node.around().find_map(|at| {
            let mut messages = self.messages.iter();
            let found =
                messages.find(|(_, stream, bits)| *stream == at.stream() && *bits == at.bits());
            found.map(|&(message, ..)| message)
        })
    }
}

/// Whether a node is the field of the last name, inside those of the others in their order.
fn is_at(node: TreeNode<'_>, names: &[String]) -> bool {
    let is = |node: TreeNode<'_>, name: &str| matches!(node.name(), Name::Field(it) if it == name);
    let Some((last, outer)) = names.split_last() else {
        return false;
    };
    if !is(node, last) {
        return false;
    }
    let mut around = node.around().skip(1);
    let mut outer = outer.iter().rev();
    outer.all(|name| around.any(|at| is(at, name)))
}

/// Names are equal or not. What cannot be compared does not fit.
fn compare(value: &Value, comparison: Comparison, constant: &Constant) -> bool {
    match constant {
        Constant::Text(text) => has_text(value, text, comparison),
        constant => {
            let order = number(value).and_then(|found| found.order(constant));
            order.is_some_and(|order| comparison.holds(order))
        }
    }
}

fn number(value: &Value) -> Option<Constant> {
    let whole = match value {
        Value::Float(value) | Value::Quantized { value, .. } => {
            return Some(Constant::Decimal(*value));
        }
        Value::Wide(value) => {
            let whole = i128::try_from(*value).map(Constant::Whole);
            return Some(whole.unwrap_or(Constant::Wide(*value)));
        }
        Value::Unsigned(value) => i128::from(*value),
        Value::Signed(value) => i128::from(*value),
        Value::Bool(value) => i128::from(*value),
        Value::Enum { raw, .. } | Value::Flags { raw, .. } => i128::from(*raw),
        Value::Delta { value, .. } => (*value)?,
        _ => return None,
    };
    Some(Constant::Whole(whole))
}

fn has_text(value: &Value, text: &str, comparison: Comparison) -> bool {
    let equal = match value {
        Value::Text(found) | Value::Uuid(found) => found == text,
        Value::Bytes(bytes) | Value::Hash(bytes) => hex(bytes).eq_ignore_ascii_case(text),
        Value::Enum {
            name: Some(name), ..
        } => name.eq_ignore_ascii_case(text),
        Value::Flags { set, .. } => set.iter().any(|name| name.eq_ignore_ascii_case(text)),
        Value::Bool(found) if text == "true" || text == "false" => *found == (text == "true"),
        _ => return false,
    };
    comparison.of_texts(equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Value, comparison: Comparison, constant: Constant, expected: bool) {
        assert_eq!(
            compare(&value, comparison, &constant),
            expected,
            "{value:?}"
        );
    }

    use Comparison::{Equal, Greater, Less, NotEqual};
    use Constant::{Decimal, Text, Whole, Wide};

    #[test]
    fn numbers_of_all_kinds_have_one_order() {
        check(Value::Unsigned(u64::MAX), Greater, Whole(7), true);
        check(Value::Signed(-3), Less, Whole(0), true);
        check(Value::Float(0.5), Less, Whole(1), true);
        check(Value::Unsigned(2), Greater, Decimal(1.5), true);
        check(
            Value::Quantized { raw: 9, value: 1.5 },
            Equal,
            Decimal(1.5),
            true,
        );
        check(Value::Float(f64::NAN), NotEqual, Whole(1), false);
    }

    #[test]
    fn numbers_of_128_bits_are_compared_to_the_last() {
        let large = u128::MAX - 1;
        check(Value::Wide(large), Equal, Wide(large), true);
        check(Value::Wide(large), Less, Wide(u128::MAX), true);
        check(Value::Wide(large), Greater, Whole(i128::MAX), true);
        check(Value::Wide(7), Equal, Whole(7), true);
        check(Value::Wide(7), Less, Wide(large), true);
        check(Value::Unsigned(u64::MAX), Less, Wide(large), true);
        check(Value::Float(0.5), Less, Wide(large), true);
        check(Value::Wide(large), Greater, Decimal(0.5), true);
    }

    #[test]
    fn texts_are_equal_or_not() {
        check(
            Value::Text("ready".into()),
            Equal,
            Text("ready".into()),
            true,
        );
        check(
            Value::Text("ready".into()),
            NotEqual,
            Text("Ready".into()),
            true,
        );
        check(
            Value::Text("ready".into()),
            Greater,
            Text("a".into()),
            false,
        );
        check(Value::Bool(true), Equal, Text("true".into()), true);
        check(
            Value::Bytes(vec![0xB0, 1]),
            Equal,
            Text("b001".into()),
            true,
        );
    }

    #[test]
    fn what_is_no_number_fits_no_number() {
        for comparison in [Equal, NotEqual, Less] {
            check(Value::Text("7".into()), comparison, Whole(7), false);
        }
    }
}
