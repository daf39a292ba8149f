//! Types that are told more by their arguments.

use super::Checker;
use super::model::{Length, Type};
use super::type_names::width_of;
use super::types::is_word;
use crate::layout::Encoding;
use crate::report::Span;
use crate::syntax::ast::{Expr, Ident, TypeRef};
use crate::values::codec::Codec;
use crate::values::quantized::{Quantized, Rounding};
use crate::values::rotation::Axes;

const ENCODINGS: [(&str, Encoding); 5] = [
    ("utf8", Encoding::Utf8),
    ("ascii", Encoding::Ascii),
    ("latin1", Encoding::Latin1),
    ("utf16le", Encoding::Utf16Le),
    ("utf16be", Encoding::Utf16Be),
];

const ROUNDINGS: [(&str, Rounding); 4] = [
    ("nearest", Rounding::Nearest),
    ("down", Rounding::Down),
    ("up", Rounding::Up),
    ("toward_zero", Rounding::TowardZero),
];

/// The bits of each of the three in a `smallest_three`.
const SMALLEST_THREE_BITS_MAX: i128 = 20;

/// The bytes of a `hash`.
const HASH_BYTES_MAX: i128 = 1024;

/// The widest `quantized` field; more bits would not fit a float.
const QUANTIZED_BITS_MAX: i128 = 53;

impl<'a> Checker<'a, '_> {
    /// An argument that is a word.
    fn argument_word(&self, argument: &Expr<'a>) -> Ident<'a> {
        let name = argument.name().filter(|_| !argument.grouped);
        name.unwrap_or(Ident::spelled(argument.span, self.text))
    }

    /// RakNet's `WriteCompressed` of an integer of whole bytes.
    pub(super) fn compressed_type(&mut self, integer: &Expr<'a>) -> Option<Type> {
        let inner = integer.name().and_then(|name| width_of(name.text));
        let bits = inner.and_then(|inner| inner.digits.parse::<u8>().ok());
        let bits = bits.filter(|bits| (8..=64).contains(bits) && bits.is_multiple_of(8));
        let (Some(inner), Some(bits)) = (inner, bits) else {
            let expected = "expected an integer of whole bytes, such as `u32` or `u16be`";
            return self.refuse(integer.span, "this cannot be compressed", expected);
        };
        let number = inner.number();
        let codec = Codec::Compressed {
            bits,
            signed: inner.signed,
            order: inner.order,
        };
        Some(Type::Coded { codec, number })
    }

    pub(super) fn rotation_type(
        &mut self,
        bits: &Expr<'a>,
        axes: Option<&Expr<'a>>,
    ) -> Option<Type> {
        let value = self.constant_integer(bits, "the number of bits")?;
        if !(1..=SMALLEST_THREE_BITS_MAX).contains(&value) {
            let message = format!("the three smallest cannot have {value} bits each");
            let expected = format!("expected 1 to {SMALLEST_THREE_BITS_MAX}");
            return self.refuse(bits.span, message, expected);
        }
        let axes = match axes {
            None => Axes::default(),
            Some(axes) => self.one_of(
                self.argument_word(axes),
                &Axes::ALL,
                "there is no order of axes",
            )?,
        };
        let bits = value as u8;
        Some(Type::Rotation { bits, axes })
    }

    pub(super) fn hash_type(&mut self, length: &Expr<'a>) -> Option<Type> {
        let bytes = self.constant_integer(length, "the length of a hash")?;
        if !(1..=HASH_BYTES_MAX).contains(&bytes) {
            let message = format!("a hash cannot have {bytes} bytes");
            let expected = format!("expected 1 to {HASH_BYTES_MAX}");
            return self.refuse(length.span, message, expected);
        }
        Some(Type::Hash(bytes as u32))
    }

    pub(super) fn range_type(
        &mut self,
        low: &Expr<'a>,
        high: &Expr<'a>,
        span: Span,
    ) -> Option<Type> {
        let low_value = self.constant_integer(low, "the start of a range");
        let high_value = self.constant_integer(high, "the end of a range");
        let (low, high) = (low_value?, high_value?);
        if low >= high {
            let expected = format!("expected an end above {low}");
            return self.refuse(span, "a range has at least two values", expected);
        }
        let fits_signed = low >= i128::from(i64::MIN) && high <= i128::from(i64::MAX);
        let fits_unsigned = low >= 0 && high <= i128::from(u64::MAX);
        if !fits_signed && !fits_unsigned {
            let expected = "expected numbers that fit `i64` or `u64`";
            return self.refuse(span, "this range needs more than 64 bits", expected);
        }
        let bits = 128 - ((high - low) as u128).leading_zeros();
        Some(Type::Range {
            low,
            high,
            bits: bits as u8,
        })
    }

    pub(super) fn quantized_type(
        &mut self,
        low: &Expr<'a>,
        high: &Expr<'a>,
        bits: &Expr<'a>,
        rounding: Option<&Expr<'a>>,
        span: Span,
    ) -> Option<Type> {
        let low_value = self.constant_float(low, "the lowest value");
        let high_value = self.constant_float(high, "the highest value");
        let bits_value = self.constant_integer(bits, "the number of bits")?;
        let (low, high) = (low_value?, high_value?);
        if low >= high {
            let expected = format!("expected a highest value above {low}");
            return self.refuse(span, "there is nothing between these values", expected);
        }
        if !(1..=QUANTIZED_BITS_MAX).contains(&bits_value) {
            let message = format!("a quantized float cannot have {bits_value} bits");
            let expected = format!("expected 1 to {QUANTIZED_BITS_MAX}");
            return self.refuse(bits.span, message, expected);
        }
        let rounding = match rounding {
            None => Rounding::default(),
            Some(rounding) => self.one_of(
                self.argument_word(rounding),
                &ROUNDINGS,
                "there is no rounding",
            )?,
        };
        Some(Type::Quantized(Quantized {
            low,
            high,
            bits: bits_value as u8,
            rounding,
        }))
    }

    pub(super) fn text_type(
        &mut self,
        declared: &TypeRef<'a>,
        arguments: &[Expr<'a>],
    ) -> Option<Type> {
        let (length, encoding, padded) = match arguments {
            [length, encoding] => (length, encoding, false),
            [length, encoding, word] if is_word(word, "padded") => (length, encoding, true),
            [_, _, word] => {
                let expected = "expected `padded`, or nothing";
                return self.refuse(word.span, "this says nothing of a text", expected);
            }
            _ => return self.wrong_arguments(declared.span, "string(LENGTH, ENCODING)"),
        };
        let encoding = self.one_of(
            self.argument_word(encoding),
            &ENCODINGS,
            "there is no encoding",
        );
        let length = match self.prefix_type(length) {
            _ if padded => Length::Padded(self.integer(length, "a length")?),
            _ if is_word(length, "zero") => Length::Zero,
            _ if is_word(length, "rest") => Length::Rest,
            Some(prefix) => {
                let Some(codec) = prefix?.unsigned_codec() else {
                    let message = "this cannot be the length before a text";
                    let expected = "expected `u1` to `u64`, `leb128` or the name of a field";
                    return self.refuse(length.span, message, expected);
                };
                Length::Prefix(codec)
            }
            None => Length::Expression(self.integer(length, "a length")?),
        };
        let encoding = encoding?;
        Some(Type::Text { length, encoding })
    }
}
