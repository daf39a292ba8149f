//! Types: built-in ones with their arguments, enums and structs.

use super::Checker;
use super::expressions::Scope;
use super::model::{ByteOrder, Encoding, Enum, Length, Member, Number, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, Expr, ExprKind, TypeRef};
use crate::values::codec::Codec;
use crate::values::quantized::{Quantized, Rounding};
use crate::values::rotation::Axes;

/// The built-in types that are not an integer of so many bits.
pub(super) const NAMED: [&str; 31] = [
    "bool",
    "range",
    "leb128",
    "sleb128",
    "zigzag",
    "vlq",
    "prefix_varint",
    "quic_varint",
    "ubitvar",
    "packed_int",
    "compressed",
    "quake_float",
    "f16",
    "f32",
    "f64",
    "f16le",
    "f16be",
    "f32le",
    "f32be",
    "f64le",
    "f64be",
    "quantized",
    "vec2",
    "vec3",
    "vec4",
    "smallest_three",
    "string",
    "bytes",
    "delta",
    "uuid",
    "hash",
];

/// The varints that take no arguments.
const VARINTS: [(&str, Codec, Number); 7] = [
    ("sleb128", Codec::Sleb128, Number::Signed),
    ("vlq", Codec::Vlq, Number::Unsigned),
    ("prefix_varint", Codec::Prefix, Number::Unsigned),
    ("quic_varint", Codec::Quic, Number::Unsigned),
    ("ubitvar", Codec::UbitVar, Number::Unsigned),
    ("packed_int", Codec::Packed, Number::Signed),
    ("quake_float", Codec::QuakeFloat, Number::Float),
];

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

/// The parts of a name such as `u12` or `i32be`.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntegerName<'n> {
    signed: bool,
    /// The number, whatever it is.
    digits: &'n str,
    order: Option<ByteOrder>,
}

impl IntegerName<'_> {
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

/// Whether the language gives the name a meaning as a type.
pub(super) fn is_built_in(name: &str) -> bool {
    width_of(name).is_some() || NAMED.contains(&name)
}

impl<'a> Checker<'a, '_> {
    /// The type of a field. [`Type::Broken`] where a mistake was reported.
    pub(super) fn field_type(&mut self, declared: &TypeRef<'a>, scope: &Scope<'a>) -> Type {
        let found = match (declared.name.text, &declared.arguments) {
            ("string", arguments) => {
                self.text_type(declared, arguments.as_deref().unwrap_or_default(), scope)
            }
            ("bytes", arguments) => match arguments.as_deref() {
                Some([length]) if is_word(length, "rest") => Some(Type::BytesRest),
                Some([length]) => self.integer(length, scope, "a length").map(Type::Bytes),
                _ => self.wrong_arguments(declared.span, "bytes(LENGTH)"),
            },
            ("delta", arguments) => {
                self.delta_type(declared, arguments.as_deref().unwrap_or_default(), scope)
            }
            ("hash", arguments) => match arguments.as_deref() {
                Some([length]) => self.hash_type(length),
                _ => self.wrong_arguments(declared.span, "hash(BYTES)"),
            },
            ("uuid", None) => Some(Type::Uuid),
            ("smallest_three", arguments) => match arguments.as_deref() {
                Some([bits]) => self.rotation_type(bits, None),
                Some([bits, axes]) => self.rotation_type(bits, Some(axes)),
                _ => self.wrong_arguments(declared.span, "smallest_three(BITS)"),
            },
            (name, arguments) => self.plain_type(
                name,
                arguments.as_deref(),
                declared.name.span,
                declared.span,
            ),
        };
        found.unwrap_or(Type::Broken)
    }

    pub(super) fn check_enum(&mut self, declared: &ast::Enum<'a>) -> Enum {
        let base = &declared.base;
        let arguments = base.arguments.as_deref();
        let base_type = self.plain_type(base.name.text, arguments, base.name.span, base.span);
        let base_type = base_type.unwrap_or(Type::Broken);
        let (a, one) = match declared.is_flags {
            true => ("flags", "one flag"),
            false => ("an enum", "one member"),
        };
        let limit = match base_type {
            Type::Range { .. } if declared.is_flags => {
                self.report(base.span, "flags are held by an unsigned integer")
                    .label("expected a type such as `u8` or `leb128`");
                u64::MAX
            }
            Type::Coded {
                codec,
                number: Number::Unsigned,
            } => u64::MAX >> (64 - codec.bits().clamp(1, 64)),
            Type::Unsigned(bits) => u64::MAX >> (64 - bits.clamp(1, 64)),
            Type::Leb128 | Type::Broken => u64::MAX,
            Type::Range { low, high, .. } if low >= 0 => u64::try_from(high).unwrap_or(u64::MAX),
            _ => {
                self.report(base.span, format!("{a} is held by an unsigned integer"))
                    .label("expected a type such as `u8` or `leb128`");
                u64::MAX
            }
        };
        let mut members: Vec<Member> = Vec::new();
        let mut taken = std::collections::BTreeMap::new();
        let mut values = std::collections::BTreeMap::new();
        let mut next: Option<u64> = Some(u64::from(declared.is_flags));
        for member in &declared.members {
            self.claim(&mut taken, member.name);
            let value = match &member.value {
                None => next,
                Some(expr) => {
                    let value = self.constant_integer(expr, "the value of a member");
                    value.and_then(|value| u64::try_from(value).ok())
                }
            };
            let span = member
                .value
                .as_ref()
                .map_or(member.name.span, |expr| expr.span);
            match value {
                Some(value) if value <= limit => {
                    if declared.is_flags && !value.is_power_of_two() {
                        self.report(span, format!("{value:#x} is not a single bit"))
                            .label("expected 0x01, 0x02, 0x04, ...");
                    }
                    if let Some(&first) = values.get(&value) {
                        self.report(span, format!("the value {value} is taken"))
                            .label("expected another value")
                            .related(first, "by this member");
                    }
                    values.entry(value).or_insert(member.name.span);
                }
                _ => {
                    let base = base.span.text(self.text);
                    let whose = match declared.is_flags {
                        true => "the flags'",
                        false => "the enum's",
                    };
                    self.report(span, format!("the value does not fit {whose} type"))
                        .label(format!("`{base}` holds 0 to {limit}"));
                }
            }
            let value = value.unwrap_or(0);
            next = match declared.is_flags {
                true => value.checked_mul(2),
                false => value.checked_add(1),
            };
            members.push(Member {
                name: member.name.text.into(),
                value,
                rules: None,
            });
        }
        if members.is_empty() {
            let message = format!("{a} has at least {one}").replace("flags has", "flags have");
            self.report(declared.name.span, message);
        }
        if members.len() > usize::from(u16::MAX) {
            self.report(declared.name.span, "an enum has at most 65535 members");
        }
        Enum {
            base: base_type,
            members,
            first_kind: None,
        }
    }

    /// Every type that depends on constants only.
    pub(super) fn plain_type(
        &mut self,
        name: &str,
        arguments: Option<&[Expr<'a>]>,
        name_span: Span,
        span: Span,
    ) -> Option<Type> {
        if let Some(integer) = width_of(name) {
            return self.integer_type(integer, arguments, span);
        }
        match (name, arguments) {
            ("range", Some([low, high])) => return self.range_type(low, high, span),
            ("quantized", Some([low, high, bits])) => {
                return self.quantized_type(low, high, bits, None, span);
            }
            ("quantized", Some([low, high, bits, rounding])) => {
                return self.quantized_type(low, high, bits, Some(rounding), span);
            }
            ("compressed", Some([integer])) => return self.compressed_type(integer),
            ("compressed", _) => return self.wrong_arguments(span, "compressed(TYPE)"),
            ("range", _) => return self.wrong_arguments(span, "range(LOW, HIGH)"),
            ("quantized", _) => return self.wrong_arguments(span, "quantized(LOW, HIGH, BITS)"),
            ("string" | "bytes" | "delta" | "uuid" | "hash" | "smallest_three", _) => {
                self.report(span, format!("`{name}` has no place here"))
                    .label("expected an integer type");
                return None;
            }
            _ => {}
        }
        let found = match name {
            "bool" => Type::Bool,
            "leb128" => Type::Leb128,
            "zigzag" => Type::Zigzag,
            "f16" => Type::Float(16),
            "f32" => Type::Float(32),
            "f64" => Type::Float(64),
            "f16le" | "f16be" | "f32le" | "f32be" | "f64le" | "f64be" => {
                let (plain, order) = byte_order_of(name);
                let bits = match plain {
                    "f16" => 16,
                    "f32" => 32,
                    _ => 64,
                };
                let order = order.unwrap_or_default();
                Type::Coded {
                    codec: Codec::Ordered { bits, order },
                    number: Number::Float,
                }
            }
            _ if VARINTS.iter().any(|(known, ..)| *known == name) => {
                let found = VARINTS.iter().find(|(known, ..)| *known == name);
                let &(_, codec, number) = found?;
                Type::Coded { codec, number }
            }
            "vec2" | "vec3" | "vec4" => {
                let expected = format!("{name}(TYPE)");
                return self.wrong_arguments(span, &expected);
            }
            _ if self.is_ambiguous(name, name_span) => return None,
            _ => match (
                self.struct_names.get(name, self.seen_from(name_span)),
                self.enum_names.get(name, self.seen_from(name_span)),
            ) {
                (Some(&id), _) => Type::Struct(id),
                (_, Some(&id)) if self.is_flags(id) => Type::Flags(id),
                (_, Some(&id)) => Type::Enum(id),
                _ => {
                    self.report_unknown_type(name, name_span);
                    return None;
                }
            },
        };
        // What a struct gets for its parameters is checked where it is known what can be read.
        if arguments.is_some() && !matches!(found, Type::Struct(_)) {
            self.report(span, format!("`{name}` takes no arguments"))
                .label(format!("expected `{name}`"));
            return None;
        }
        Some(found)
    }

    /// Whether it was declared by `flags`.
    pub(super) fn is_flags(&self, id: super::model::EnumId) -> bool {
        let declared = self.file.enums.get(id.0 as usize);
        declared.is_some_and(|declared| declared.is_flags)
    }

    fn report_unknown_type(&mut self, name: &str, span: Span) {
        let mut names: Vec<&str> = NAMED.to_vec();
        names.extend(["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]);
        names.extend(self.struct_names.seen(self.seen_from(span)));
        names.extend(self.enum_names.seen(self.seen_from(span)));
        let suggestion = crate::suggest::did_you_mean(name, names);
        let report = self
            .report(span, format!("there is no type `{name}`"))
            .label("expected a built-in type, an enum or a struct");
        if let Some(suggestion) = suggestion {
            report.help(suggestion);
        }
    }

    fn integer_type(
        &mut self,
        name: IntegerName<'_>,
        arguments: Option<&[Expr<'a>]>,
        span: Span,
    ) -> Option<Type> {
        let digits = name.digits;
        let bits = digits
            .parse::<u8>()
            .ok()
            .filter(|bits| (1..=64).contains(bits));
        let Some(bits) = bits.filter(|_| !digits.starts_with('0')) else {
            self.report(span, format!("an integer cannot have {digits} bits"))
                .label("expected 1 to 64");
            return None;
        };
        let sign = if name.signed { 'i' } else { 'u' };
        if arguments.is_some() {
            let spelled = match name.order {
                None => format!("{sign}{bits}"),
                Some(ByteOrder::Little) => format!("{sign}{bits}le"),
                Some(ByteOrder::Big) => format!("{sign}{bits}be"),
            };
            self.report(span, format!("`{spelled}` takes no arguments"))
                .label(format!("expected `{spelled}`"));
            return None;
        }
        let Some(order) = name.order else {
            return Some(match name.signed {
                true => Type::Signed(bits),
                false => Type::Unsigned(bits),
            });
        };
        if !bits.is_multiple_of(8) {
            let message = format!("{bits} bits are not whole bytes, so they have no byte order");
            self.report(span, message)
                .label(format!("expected `{sign}{bits}`, or a multiple of 8 bits"));
            return None;
        }
        let number = match name.signed {
            true => Number::Signed,
            false => Number::Unsigned,
        };
        Some(Type::Coded {
            codec: Codec::Ordered { bits, order },
            number,
        })
    }

    /// RakNet's `WriteCompressed` of an integer of whole bytes.
    fn compressed_type(&mut self, integer: &Expr<'a>) -> Option<Type> {
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
        let number = match inner.signed {
            true => Number::Signed,
            false => Number::Unsigned,
        };
        let codec = Codec::Compressed {
            bits,
            signed: inner.signed,
            order: inner.order,
        };
        Some(Type::Coded { codec, number })
    }

    fn rotation_type(&mut self, bits: &Expr<'a>, axes: Option<&Expr<'a>>) -> Option<Type> {
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

    fn hash_type(&mut self, length: &Expr<'a>) -> Option<Type> {
        let bytes = self.constant_integer(length, "the length of a hash")?;
        if !(1..=HASH_BYTES_MAX).contains(&bytes) {
            self.report(length.span, format!("a hash cannot have {bytes} bytes"))
                .label(format!("expected 1 to {HASH_BYTES_MAX}"));
            return None;
        }
        Some(Type::Hash(bytes as u32))
    }

    fn range_type(&mut self, low: &Expr<'a>, high: &Expr<'a>, span: Span) -> Option<Type> {
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

    fn quantized_type(
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

    fn text_type(
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
        let spelled = encoding.span.text(self.text);
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

    fn delta_type(
        &mut self,
        declared: &TypeRef<'a>,
        arguments: &[Expr<'a>],
        scope: &Scope<'a>,
    ) -> Option<Type> {
        let [change, base] = arguments else {
            return self.wrong_arguments(declared.span, "delta(TYPE, EXPRESSION)");
        };
        let change_type = match self.prefix_type(change) {
            Some(found) => found?,
            None => Type::Broken,
        };
        if !matches!(
            change_type,
            Type::Unsigned(_) | Type::Signed(_) | Type::Leb128 | Type::Zigzag | Type::Range { .. }
        ) {
            self.report(change.span, "this cannot be added to a value")
                .label("expected an integer type, such as `i8` or `zigzag`");
            return None;
        }
        let base = self.integer(base, scope, "the value before")?;
        Some(Type::Delta {
            change: Box::new(change_type),
            base,
            text: declared.span.text(self.text).into(),
        })
    }

    /// The type of an integer that a connection keeps.
    pub(super) fn state_type(&mut self, declared: &TypeRef<'a>) -> Option<Type> {
        let arguments = declared.arguments.as_deref();
        self.plain_type(
            declared.name.text,
            arguments,
            declared.name.span,
            declared.span,
        )
    }

    /// The argument as a built-in type, if it names one.
    fn prefix_type(&mut self, argument: &Expr<'a>) -> Option<Option<Type>> {
        let (name, arguments) = match &argument.kind {
            ExprKind::Path(path) => (*path.first().filter(|_| path.len() == 1)?, None),
            ExprKind::Call(name, arguments) => (*name, Some(arguments.as_slice())),
            _ => return None,
        };
        if !is_built_in(name.text) {
            return None;
        }
        Some(self.plain_type(name.text, arguments, name.span, argument.span))
    }

    fn wrong_arguments(&mut self, span: Span, expected: &str) -> Option<Type> {
        let spelled = span.text(self.text);
        self.report(span, format!("`{spelled}` lacks arguments or has too many"))
            .label(format!("expected `{expected}`"));
        None
    }
}

/// Whether the argument is this word and nothing else.
fn is_word(argument: &Expr<'_>, word: &str) -> bool {
    match &argument.kind {
        ExprKind::Path(path) => path.len() == 1 && path.iter().all(|name| name.text == word),
        _ => false,
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
