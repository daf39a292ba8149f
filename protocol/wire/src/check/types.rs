//! Types: built-in ones with their arguments, enums and structs.

use super::Checker;
use super::declared::Scope;
use super::model::{Number, Type};
use super::type_names::{IntegerName, NAMED, byte_order_of, is_built_in, width_of};
use crate::layout::ByteOrder;
use crate::report::Span;
use crate::syntax::ast::{Expr, ExprKind, TypeRef};
use crate::values::codec::Codec;

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

impl<'a> Checker<'a, '_> {
    /// The type of a field. [`Type::Broken`] where a mistake was reported.
    pub(super) fn field_type(&mut self, declared: &TypeRef<'a>, scope: &Scope<'a>) -> Type {
        let found = match (declared.name.text, &declared.arguments) {
            ("string", arguments) => {
                self.text_type(declared, arguments.as_deref().unwrap_or_default(), scope)
            }
            ("bytes", arguments) => match arguments.as_deref() {
                Some([length]) if is_word(length, "rest") => Some(Type::BytesRest),
                Some([length]) if is_type(length) => self.length_is_type(length),
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
        if found.is_none() && self.uses.is_some() {
            for argument in declared.arguments.iter().flatten() {
                self.typed(argument, Some(scope));
            }
        }
        found.unwrap_or(Type::Broken)
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
            _ => self.declared_type(name, name_span, span)?,
        };
        // What a struct gets for its parameters is checked where it is known what can be read.
        if arguments.is_some() && !matches!(found, Type::Struct(_)) {
            self.report(span, format!("`{name}` takes no arguments"))
                .label(format!("expected `{name}`"));
            return None;
        }
        Some(found)
    }

    /// A struct or an enum.
    fn declared_type(&mut self, name: &str, name_span: Span, span: Span) -> Option<Type> {
        if self.is_ambiguous(name, name_span) {
            return None;
        }
        if name.contains('(') {
            // A vector: names stand in it.
            self.stands_for(name_span, name_span);
        }
        let seen = self.seen_from(name_span);
        let structure = self.struct_names.get(name, seen).copied();
        let declared = self.enum_names.get(name, seen).copied();
        let is_alias = self.alias_names.get(name, seen).is_some();
        match (structure, declared) {
            (Some(id), _) => Some(Type::Struct(id)),
            (_, Some(id)) if self.is_flags(id) => Some(Type::Flags(id)),
            (_, Some(id)) => Some(Type::Enum(id)),
            // Without arguments, the type that it stands for would have taken its place.
            _ if is_alias => {
                self.report(span, format!("`{name}` takes no arguments"))
                    .label(format!("expected `{name}`"));
                None
            }
            _ => {
                self.report_unknown_type(name, name_span);
                None
            }
        }
    }

    /// Whether it was declared by `flags`.
    pub(super) fn is_flags(&self, id: super::model::EnumId) -> bool {
        let declared = self.file.enums.get(id.0 as usize);
        declared.is_some_and(|declared| declared.is_flags)
    }

    /// A type where a number of bytes stands: texts have a length before them, bytes do not.
    fn length_is_type(&mut self, length: &Expr<'a>) -> Option<Type> {
        let spelled = length.span.text(self.text);
        self.report(length.span, format!("`{spelled}` is a type, not a length"))
            .label("expected a number of bytes: a field or a constant")
            .help(format!(
                "make the length a field of its own: `length: {spelled}; data: bytes(length);`"
            ));
        None
    }

    fn report_unknown_type(&mut self, name: &str, span: Span) {
        let mut names: Vec<&str> = NAMED.to_vec();
        names.extend(["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64"]);
        names.extend(self.struct_names.seen(self.seen_from(span)));
        names.extend(self.enum_names.seen(self.seen_from(span)));
        names.extend(self.alias_names.seen(self.seen_from(span)));
        let meant = of_another_language(name);
        let suggestion = match meant {
            Some(meant) => Some(format!("did you mean {meant}?")),
            None => crate::suggest::did_you_mean(name, names),
        };
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
            .filter(|bits| (1..=64).contains(bits) || name.is_wide());
        let Some(bits) = bits.filter(|_| !digits.starts_with('0')) else {
            self.report(span, format!("an integer cannot have {digits} bits"))
                .label("expected 1 to 64, or `u128`");
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
        if name.is_wide() {
            return Some(Type::Wide(name.order));
        }
        let Some(order) = name.order else {
            return Some(if name.signed {
                Type::Signed(bits)
            } else {
                Type::Unsigned(bits)
            });
        };
        if !bits.is_multiple_of(8) {
            let message = format!("{bits} bits are not whole bytes, so they have no byte order");
            self.report(span, message)
                .label(format!("expected `{sign}{bits}`, or a multiple of 8 bits"));
            return None;
        }
        let number = if name.signed {
            Number::Signed
        } else {
            Number::Unsigned
        };
        Some(Type::Coded {
            codec: Codec::Ordered { bits, order },
            number,
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
            Type::Unsigned(_)
                | Type::Signed(_)
                | Type::Leb128
                | Type::Zigzag
                | Type::Range { .. }
                | Type::Coded {
                    number: Number::Unsigned | Number::Signed,
                    ..
                }
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
    pub(super) fn prefix_type(&mut self, argument: &Expr<'a>) -> Option<Option<Type>> {
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

    pub(super) fn wrong_arguments(&mut self, span: Span, expected: &str) -> Option<Type> {
        let spelled = span.text(self.text);
        self.report(span, format!("`{spelled}` lacks arguments or has too many"))
            .label(format!("expected `{expected}`"));
        None
    }
}

/// Whether the argument is this word and nothing else.
pub(super) fn is_word(argument: &Expr<'_>, word: &str) -> bool {
    match &argument.kind {
        ExprKind::Path(path) => path.len() == 1 && path.iter().all(|name| name.text == word),
        _ => false,
    }
}

pub(super) fn is_type(argument: &Expr<'_>) -> bool {
    match &argument.kind {
        ExprKind::Path(path) => matches!(path[..], [name] if width_of(name.text).is_some()),
        _ => false,
    }
}

/// What is called so in C, C# or Java.
fn of_another_language(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let known = match lower.as_str() {
        "byte" | "uchar" => "`u8`",
        "sbyte" => "`i8`",
        "short" => "`i16`",
        "ushort" => "`u16`",
        "int" => "`i32`",
        "uint" => "`u32`",
        "long" => "`i32` or `i64`",
        "ulong" => "`u32` or `u64`",
        "half" => "`f16`",
        "float" => "`f32`",
        "double" => "`f64`",
        "boolean" => "`bool`",
        "str" | "char" => "`string(LENGTH, ENCODING)`",
        _ => "",
    };
    if !known.is_empty() {
        return Some(known.to_owned());
    }
    // `U16`, `uint16_t`, `Int16`.
    let plain = lower.strip_suffix("_t").unwrap_or(&lower);
    let (letter, bits) = match plain.strip_prefix("uint").or(plain.strip_prefix('u')) {
        Some(bits) => ('u', bits),
        None => match plain.strip_prefix("int").or(plain.strip_prefix('i')) {
            Some(bits) => ('i', bits),
            None => (
                'f',
                plain.strip_prefix("float").or(plain.strip_prefix('f'))?,
            ),
        },
    };
    let may_be: &[&str] = match letter {
        'f' => &["16", "32", "64"],
        'u' => &["8", "16", "24", "32", "64", "128"],
        _ => &["8", "16", "24", "32", "64"],
    };
    may_be.contains(&bits).then(|| format!("`{letter}{bits}`"))
}
