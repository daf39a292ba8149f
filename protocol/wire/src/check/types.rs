//! Types: built-in ones with their arguments, enums and structs.

use super::Checker;
use super::expressions::Scope;
use super::model::{Encoding, Enum, Length, Member, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, Expr, ExprKind, TypeRef};

/// The built-in types that are not an integer of so many bits.
const NAMED: [&str; 11] = [
    "bool",
    "range",
    "leb128",
    "zigzag",
    "f16",
    "f32",
    "f64",
    "quantized",
    "string",
    "bytes",
    "delta",
];

const ENCODINGS: [(&str, Encoding); 3] = [
    ("utf8", Encoding::Utf8),
    ("ascii", Encoding::Ascii),
    ("latin1", Encoding::Latin1),
];

/// The widest `quantized` field; more bits would not fit a float.
const QUANTIZED_BITS_MAX: i128 = 53;

/// `u12` and `i5`: whether it is signed, and the number, whatever it is.
pub(super) fn width_of(name: &str) -> Option<(bool, &str)> {
    let signed = name.starts_with('i');
    let digits = name.strip_prefix(['u', 'i'])?;
    let only_digits = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    only_digits.then_some((signed, digits))
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
                Some([length]) => self.integer(length, scope, "a length").map(Type::Bytes),
                _ => self.wrong_arguments(declared.span, "bytes(LENGTH)"),
            },
            ("delta", arguments) => {
                self.delta_type(declared, arguments.as_deref().unwrap_or_default(), scope)
            }
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
        let limit = match base_type {
            Type::Unsigned(bits) => u64::MAX >> (64 - bits.clamp(1, 64)),
            Type::Leb128 | Type::Broken => u64::MAX,
            Type::Range { low, high, .. } if low >= 0 => u64::try_from(high).unwrap_or(u64::MAX),
            _ => {
                self.report(base.span, "an enum is held by an unsigned integer")
                    .label("expected a type such as `u8` or `leb128`");
                u64::MAX
            }
        };
        let mut members: Vec<Member> = Vec::new();
        let mut taken = std::collections::BTreeMap::new();
        let mut values = std::collections::BTreeMap::new();
        let mut next: Option<u64> = Some(0);
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
                    if let Some(&first) = values.get(&value) {
                        self.report(span, format!("the value {value} is taken"))
                            .label("expected another value")
                            .related(first, "by this member");
                    }
                    values.entry(value).or_insert(member.name.span);
                }
                _ => {
                    let base = base.span.text(self.text);
                    self.report(span, "the value does not fit the enum's type")
                        .label(format!("`{base}` holds 0 to {limit}"));
                }
            }
            let value = value.unwrap_or(0);
            next = value.checked_add(1);
            members.push(Member {
                name: member.name.text.into(),
                value,
                rules: None,
            });
        }
        if members.is_empty() {
            self.report(declared.name.span, "an enum has at least one member");
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
    fn plain_type(
        &mut self,
        name: &str,
        arguments: Option<&[Expr<'a>]>,
        name_span: Span,
        span: Span,
    ) -> Option<Type> {
        if let Some((signed, digits)) = width_of(name) {
            return self.integer_type(signed, digits, arguments, span);
        }
        match (name, arguments) {
            ("range", Some([low, high])) => return self.range_type(low, high, span),
            ("quantized", Some([low, high, bits])) => {
                return self.quantized_type(low, high, bits, span);
            }
            ("range", _) => return self.wrong_arguments(span, "range(LOW, HIGH)"),
            ("quantized", _) => return self.wrong_arguments(span, "quantized(LOW, HIGH, BITS)"),
            ("string" | "bytes" | "delta", _) => {
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
            _ if self.is_ambiguous(name, name_span) => return None,
            _ => match (
                self.struct_names.get(name, self.seen_from(name_span)),
                self.enum_names.get(name, self.seen_from(name_span)),
            ) {
                (Some(&id), _) => Type::Struct(id),
                (_, Some(&id)) => Type::Enum(id),
                _ => {
                    self.report_unknown_type(name, name_span);
                    return None;
                }
            },
        };
        if arguments.is_some() {
            self.report(span, format!("`{name}` takes no arguments"))
                .label(format!("expected `{name}`"));
            return None;
        }
        Some(found)
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
        signed: bool,
        digits: &str,
        arguments: Option<&[Expr<'a>]>,
        span: Span,
    ) -> Option<Type> {
        let bits = digits
            .parse::<u8>()
            .ok()
            .filter(|bits| (1..=64).contains(bits));
        let Some(bits) = bits.filter(|_| !digits.starts_with('0')) else {
            self.report(span, format!("an integer cannot have {digits} bits"))
                .label("expected 1 to 64");
            return None;
        };
        if arguments.is_some() {
            let name = if signed { 'i' } else { 'u' };
            self.report(span, format!("`{name}{bits}` takes no arguments"))
                .label(format!("expected `{name}{bits}`"));
            return None;
        }
        Some(if signed {
            Type::Signed(bits)
        } else {
            Type::Unsigned(bits)
        })
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
        Some(Type::Quantized {
            low,
            high,
            bits: bits_value as u8,
        })
    }

    fn text_type(
        &mut self,
        declared: &TypeRef<'a>,
        arguments: &[Expr<'a>],
        scope: &Scope<'a>,
    ) -> Option<Type> {
        let [length, encoding] = arguments else {
            return self.wrong_arguments(declared.span, "string(LENGTH, ENCODING)");
        };
        let spelled = encoding.span.text(self.text);
        let found = ENCODINGS.iter().find(|(name, _)| *name == spelled);
        if found.is_none() {
            let names = ENCODINGS.iter().map(|(name, _)| *name);
            let message = format!("there is no encoding `{spelled}`");
            self.report_choice(encoding.span, message, spelled, names);
        }
        let length = match self.prefix_type(length) {
            Some(prefix) => {
                let prefix = prefix?;
                if !matches!(prefix, Type::Unsigned(_) | Type::Leb128) {
                    self.report(length.span, "this cannot be the length before a text")
                        .label("expected `u1` to `u64`, `leb128` or the name of a field");
                    return None;
                }
                Length::Prefix(Box::new(prefix))
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
