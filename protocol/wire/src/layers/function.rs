//! Functions that give an integer for integers, texts and bytes.

use std::sync::Arc;

use super::argument::{Argument, Failure};
use super::script::Script;
use super::xor_text::letters;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// The whole number at the start of a text.
    Number,
    /// The hash of a text that is a part of Quake 3's keys.
    QuakeHash,
    /// A function of the wire's Lua, by its name.
    Lua(Arc<Script>, Arc<str>),
}

impl Function {
    pub(crate) fn of(&self, arguments: &[Argument]) -> Result<i64, Failure> {
        match (self, arguments) {
            (Function::Number, [Argument::Bytes(text)]) => Ok(number(text)),
            (Function::QuakeHash, [Argument::Bytes(text)]) => Ok(quake_hash(text)),
            (Function::Lua(script, name), _) => script.integer(name, arguments),
            _ => Err(Failure::because("a text is missing")),
        }
    }
}

/// The lowest 64 bits of the number in digits at the start of a text, which `-` may stand before; 0 where
/// there is none.
fn number(text: &[u8]) -> i64 {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let digits = digits.iter().take_while(|digit| digit.is_ascii_digit());
    let number = digits.fold(0i64, |number, digit| {
        number
            .wrapping_mul(10)
            .wrapping_add(i64::from(digit - b'0'))
    });
    if is_negative {
        number.wrapping_neg()
    } else {
        number
    }
}

/// The first 32 letters of a text, as messages carry them (ioquake3, `MSG_HashKey`).
fn quake_hash(text: &[u8]) -> i64 {
    let letters = letters(text).take(32);
    let sum: i64 = (119..)
        .zip(letters)
        .map(|(weight, letter)| weight * i64::from(letter))
        .sum();
    sum ^ sum >> 10 ^ sum >> 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_ends_where_its_digits_do() {
        for (text, expected) in [
            ("", 0),
            ("x1", 0),
            ("-", 0),
            ("- 1", 0),
            ("007 71", 7),
            ("-16 71", -16),
            ("+5", 0),
            ("18446744073709551617", 1),
            ("9223372036854775808", i64::MIN),
            ("-9223372036854775809", i64::MAX),
        ] {
            assert_eq!(number(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_hash_is_that_of_the_engine() {
        assert_eq!(quake_hash(b""), 0);
        // 99 * 119 + 112 * 120 + 32 * 121 + 34 * 122, which is 33241, and 33241 >> 10.
        assert_eq!(quake_hash(b"cp \""), 33273);
        assert_eq!(quake_hash(b"%\xe9\0x"), quake_hash(b".."));
        assert_eq!(quake_hash(&[b'a'; 40]), quake_hash(&[b'a'; 32]));
    }
}
