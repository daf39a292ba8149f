//! The names of built-in types.

use super::model::Number;
use crate::layout::ByteOrder;
use crate::words::{HelpKind, words_of};

/// The built-in types that are not an integer of this many bits.
pub(super) fn named_types() -> impl Iterator<Item = &'static str> {
    words_of(HelpKind::Type)
}

/// The parts of a name such as `u12` or `i32be`.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntegerName<'n> {
    pub signed: bool,
    /// The number, whatever it is.
    pub digits: &'n str,
    pub order: Option<ByteOrder>,
}

impl IntegerName<'_> {
    /// Whether it is `u128`, which expressions do not calculate with.
    pub(super) fn is_wide(self) -> bool {
        !self.signed && self.digits == "128"
    }

    /// What it holds.
    pub(super) fn number(self) -> Number {
        if self.signed {
            Number::Signed
        } else {
            Number::Unsigned
        }
    }

    /// The number of bits, where there is no sign.
    pub(super) fn unsigned_bits(self) -> Option<u8> {
        self.digits.parse().ok().filter(|_| !self.signed)
    }
}

/// `u12`, `i5`, `u16be`
pub(super) fn width_of(name: &str) -> Option<IntegerName<'_>> {
    let signed = name.starts_with('i');
    let (name, order) = byte_order_of(name);
    let digits = name.strip_prefix(['u', 'i'])?;
    let only_digits = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    only_digits.then_some(IntegerName {
        signed,
        digits,
        order,
    })
}

/// A name without `le` or `be` at its end, and which of them it was.
fn byte_order_of(name: &str) -> (&str, Option<ByteOrder>) {
    match (name.strip_suffix("le"), name.strip_suffix("be")) {
        (Some(plain), _) => (plain, Some(ByteOrder::Little)),
        (_, Some(plain)) => (plain, Some(ByteOrder::Big)),
        _ => (name, None),
    }
}

/// The bits of a float, and its order of bytes where it has one of its own.
pub(super) fn float_width(name: &str) -> Option<(u8, Option<ByteOrder>)> {
    let (plain, order) = byte_order_of(name);
    let bits = match plain {
        "f16" => 16,
        "f32" => 32,
        "f64" => 64,
        _ => return None,
    };
    Some((bits, order))
}

/// Whether the name is that of numbers that expressions do not calculate with.
pub(super) fn is_number(name: &str) -> bool {
    float_width(name).is_some() || matches!(name, "quake_float" | "quantized" | "smallest_three")
}

/// Whether the language gives the name a meaning as a type.
pub(crate) fn is_built_in(name: &str) -> bool {
    width_of(name).is_some() || named_types().any(|known| known == name)
}
