//! Types that are told more by their arguments.

use super::Checker;
use super::declared::Scope;
use super::model::{Length, Number, Type};
use super::type_names::width_of;
use super::types::is_word;
use crate::layout::Encoding;
use crate::report::Span;
use crate::syntax::ast::{Expr, ExprKind, TypeRef};
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
    /// RakNet's `WriteCompressed` of an integer of whole bytes.
    pub(super) fn compressed_type(&mut self, integer: &Expr<'a>) -> Option<Type> {
        let inner = match &integer.kind {
            ExprKind::Path(path) if path.len() == 1 => width_of(path.first()?.text),
            _ => None,
        };
        let bits = inner.and_then(|inner| inner.digits.parse::<u8>().ok());
        let bits = bits.filter(|bits| (8..=64).contains(bits) && bits.is_multiple_of(8));
        let (Some(inner), Some(bits)) = (inner, bits) else {
            self.report(integer.span, "this cannot be compressed")
                .label("expected an integer of whole bytes, such as `u32` or `u16be`");
            return None;
        };
        let number = if inner.signed {
            Number::Signed
        } else {
            Number::Unsigned
        };
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
            self.report(
                bits.span,
                format!("the three smallest cannot have {value} bits each"),
            )
            .label(format!("expected 1 to {SMALLEST_THREE_BITS_MAX}"));
            return None;
        }
        let axes = match axes {
            None => Axes::default(),
            Some(axes) => {
                let spelled = axes.span.text(self.text);
                let Some(found) = Axes::named(spelled) else {
                    let message = format!("there is no order of axes `{spelled}`");
                    self.report_choice(axes.span, message, spelled, Axes::names());
                    return None;
                };
                found
            }
        };
        let bits = value as u8;
        Some(Type::Rotation { bits, axes })
    }

    pub(super) fn hash_type(&mut self, length: &Expr<'a>) -> Option<Type> {
        let bytes = self.constant_integer(length, "the length of a hash")?;
        if !(1..=HASH_BYTES_MAX).contains(&bytes) {
            self.report(length.span, format!("a hash cannot have {bytes} bytes"))
                .label(format!("expected 1 to {HASH_BYTES_MAX}"));
            return None;
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
            self.report(span, "a range has at least two values")
                .label(format!("expected an end above {low}"));
            return None;
        }
        let fits_signed = low >= i128::from(i64::MIN) && high <= i128::from(i64::MAX);
        let fits_unsigned = low >= 0 && high <= i128::from(u64::MAX);
        if !fits_signed && !fits_unsigned {
            self.report(span, "this range needs more than 64 bits")
                .label("expected numbers that fit `i64` or `u64`");
            return None;
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
            self.report(span, "there is nothing between these values")
                .label(format!("expected a highest value above {low}"));
            return None;
        }
        if !(1..=QUANTIZED_BITS_MAX).contains(&bits_value) {
            self.report(
                bits.span,
                format!("a quantized float cannot have {bits_value} bits"),
            )
            .label(format!("expected 1 to {QUANTIZED_BITS_MAX}"));
            return None;
        }
        let rounding = match rounding {
            None => Rounding::default(),
            Some(rounding) => {
                let spelled = rounding.span.text(self.text);
                let found = ROUNDINGS.iter().find(|(name, _)| *name == spelled);
                let Some(&(_, found)) = found else {
                    let names = ROUNDINGS.iter().map(|(name, _)| *name);
                    let message = format!("there is no rounding `{spelled}`");
                    self.report_choice(rounding.span, message, spelled, names);
                    return None;
                };
                found
            }
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
        scope: &Scope<'a>,
    ) -> Option<Type> {
        let (length, encoding, padded) = match arguments {
            [length, encoding] => (length, encoding, false),
            [length, encoding, word] if is_word(word, "padded") => (length, encoding, true),
            [_, _, word] => {
                self.report(word.span, "this says nothing of a text")
                    .label("expected `padded`, or nothing");
                return None;
            }
            _ => return self.wrong_arguments(declared.span, "string(LENGTH, ENCODING)"),
        };
        let spelled = match &encoding.kind {
            ExprKind::Path(path) if path.len() == 1 => path.first().map_or("", |name| name.text),
            _ => encoding.span.text(self.text),
        };
        let found = ENCODINGS.iter().find(|(name, _)| *name == spelled);
        if found.is_none() {
            let names = ENCODINGS.iter().map(|(name, _)| *name);
            let message = format!("there is no encoding `{spelled}`");
            self.report_choice(encoding.span, message, spelled, names);
        }
        let length = match self.prefix_type(length) {
            _ if padded => Length::Padded(self.integer(length, scope, "a length")?),
            _ if is_word(length, "zero") => Length::Zero,
            _ if is_word(length, "rest") => Length::Rest,
            Some(prefix) => {
                let Some(codec) = prefix_codec(&prefix?) else {
                    self.report(length.span, "this cannot be the length before a text")
                        .label("expected `u1` to `u64`, `leb128` or the name of a field");
                    return None;
                };
                Length::Prefix(codec)
            }
            None => Length::Expression(self.integer(length, scope, "a length")?),
        };
        let (_, encoding) = found?;
        Some(Type::Text {
            length,
            encoding: *encoding,
        })
    }
}

/// How the length before a text is laid out, where the type can be one.
fn prefix_codec(prefix: &Type) -> Option<Codec> {
    match *prefix {
        Type::Unsigned(bits) => Some(Codec::Plain { bits }),
        Type::Leb128 => Some(Codec::Leb128),
        Type::Coded {
            codec,
            number: Number::Unsigned,
        } => Some(codec),
        _ => None,
    }
}
