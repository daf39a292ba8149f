//! Types: built-in ones with their arguments, enums and structs.

use super::Checker;
use super::declared::Item;
use super::model::{EnumId, Number, Type};
use super::type_names::{IntegerName, float_width, is_built_in, named_types, width_of};
use crate::layout::ByteOrder;
use crate::report::Span;
use crate::syntax::ast::{Expr, ExprKind, Ident, TypeRef};
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
    pub(super) fn field_type(&mut self, declared: &TypeRef<'a>) -> Type {
        let arguments = declared.arguments.as_deref();
        let given = arguments.unwrap_or_default();
        let found = match (declared.name.text, given) {
            ("string", _) => self.text_type(declared, given),
            ("bytes", [length]) if is_word(length, "rest") => Some(Type::BytesRest),
            ("bytes", [length]) if is_type(length) => self.length_is_type(length),
            ("bytes", [length]) => self.integer(length, "a length").map(Type::Bytes),
            ("bytes", _) => self.wrong_arguments(declared.span, "bytes(LENGTH)"),
            ("delta", _) => self.delta_type(declared, given),
            ("hash", [length]) => self.hash_type(length),
            ("hash", _) => self.wrong_arguments(declared.span, "hash(BYTES)"),
            ("uuid", _) if arguments.is_none() => Some(Type::Uuid),
            ("smallest_three", [bits]) => self.rotation_type(bits, None),
            ("smallest_three", [bits, axes]) => self.rotation_type(bits, Some(axes)),
            ("smallest_three", _) => self.wrong_arguments(declared.span, "smallest_three(BITS)"),
            _ => self.plain_type(declared),
        };
        if found.is_none() && self.uses.is_some() {
            for argument in given {
                self.typed(argument);
            }
        }
        found.unwrap_or(Type::Broken)
    }

    /// Every type that depends on constants only.
    pub(super) fn plain_type(&mut self, declared: &TypeRef<'a>) -> Option<Type> {
        let (name, span) = (declared.name.text, declared.span);
        let arguments = declared.arguments.as_deref();
        if let Some(integer) = width_of(name) {
            return self.integer_type(integer, arguments.is_some(), span);
        }
        match (name, arguments) {
            ("range", Some([low, high])) => return self.range_type(low, high, span),
            ("quantized", Some([low, high, bits, rounding @ ..])) if rounding.len() < 2 => {
                return self.quantized_type(low, high, bits, rounding.first(), span);
            }
            ("compressed", Some([integer])) => return self.compressed_type(integer),
            ("compressed", _) => return self.wrong_arguments(span, "compressed(TYPE)"),
            ("range", _) => return self.wrong_arguments(span, "range(LOW, HIGH)"),
            ("quantized", _) => return self.wrong_arguments(span, "quantized(LOW, HIGH, BITS)"),
            ("string" | "bytes" | "delta" | "uuid" | "hash" | "smallest_three", _) => {
                let message = format!("`{name}` has no place here");
                return self.refuse(span, message, "expected an integer type");
            }
            ("vec2" | "vec3" | "vec4", _) => {
                return self.wrong_arguments(span, &format!("{name}(TYPE)"));
            }
            _ => {}
        }
        let varint = VARINTS.iter().find(|(known, ..)| *known == name);
        let found = match (name, float_width(name), varint) {
            ("bool", ..) => Type::Bool,
            ("leb128", ..) => Type::Leb128,
            ("zigzag", ..) => Type::Zigzag,
            (_, Some((bits, None)), _) => Type::Float(bits),
            (_, Some((bits, Some(order))), _) => Type::Coded {
                codec: Codec::Ordered { bits, order },
                number: Number::Float,
            },
            (_, _, Some(&(_, codec, number))) => Type::Coded { codec, number },
            _ => self.declared_type(declared)?,
        };
        // What a struct gets for its parameters is checked where it is known what can be read.
        if arguments.is_some() && !matches!(found, Type::Struct(_)) {
            return self.refuse_arguments(span, name);
        }
        Some(found)
    }

    fn refuse_arguments(&mut self, span: Span, name: &str) -> Option<Type> {
        let message = format!("`{name}` takes no arguments");
        self.refuse(span, message, format!("expected `{name}`"))
    }

    /// A struct or an enum.
    fn declared_type(&mut self, declared: &TypeRef<'a>) -> Option<Type> {
        let name = declared.name;
        if self.is_ambiguous(name) {
            return None;
        }
        if name.text.contains('(') {
            // A vector: names stand in it.
            self.stands_for(name.span, name.span);
        }
        match self.item(name) {
            Some(Item::Struct(id)) => Some(Type::Struct(id)),
            Some(Item::Enum(id)) if self.is_flags(id) => Some(Type::Flags(id)),
            Some(Item::Enum(id)) => Some(Type::Enum(id)),
            // Without arguments, the type that it stands for would have taken its place.
            Some(Item::Alias(_)) => self.refuse_arguments(declared.span, name.text),
            _ => {
                self.report_unknown_type(name);
                None
            }
        }
    }

    /// Whether it was declared by `flags`.
    pub(super) fn is_flags(&self, id: EnumId) -> bool {
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

    fn report_unknown_type(&mut self, name: Ident<'a>) {
        let mut names: Vec<&str> = named_types().collect();
        names.extend(["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64"]);
        let is_type = |item| !matches!(item, Item::Constant(_));
        names.extend(self.items_seen(name.span, is_type));
        let report = self.report(name.span, format!("there is no type `{}`", name.text));
        report.label("expected a built-in type, an enum or a struct");
        match of_another_language(name.text) {
            Some(meant) => report.help(format!("did you mean {meant}?")),
            None => report.suggest(name.text, names),
        };
    }

    fn integer_type(
        &mut self,
        name: IntegerName<'_>,
        has_arguments: bool,
        span: Span,
    ) -> Option<Type> {
        let digits = name.digits;
        let bits = digits
            .parse::<u8>()
            .ok()
            .filter(|bits| (1..=64).contains(bits) || name.is_wide());
        let Some(bits) = bits.filter(|_| !digits.starts_with('0')) else {
            let message = format!("an integer cannot have {digits} bits");
            return self.refuse(span, message, "expected 1 to 64, or `u128`");
        };
        let sign = if name.signed { 'i' } else { 'u' };
        if has_arguments {
            let order = match name.order {
                None => "",
                Some(ByteOrder::Little) => "le",
                Some(ByteOrder::Big) => "be",
            };
            return self.refuse_arguments(span, &format!("{sign}{bits}{order}"));
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
            let expected = format!("expected `{sign}{bits}`, or a multiple of 8 bits");
            return self.refuse(span, message, expected);
        }
        Some(Type::Coded {
            codec: Codec::Ordered { bits, order },
            number: name.number(),
        })
    }

    fn delta_type(&mut self, declared: &TypeRef<'a>, arguments: &[Expr<'a>]) -> Option<Type> {
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
            let expected = "expected an integer type, such as `i8` or `zigzag`";
            return self.refuse(change.span, "this cannot be added to a value", expected);
        }
        let base = self.integer(base, "the value before")?;
        Some(Type::Delta {
            change: Box::new(change_type),
            base,
            text: declared.span.text(self.text).into(),
        })
    }

    /// The argument as a built-in type, if it names one.
    pub(super) fn prefix_type(&mut self, argument: &Expr<'a>) -> Option<Option<Type>> {
        let (name, arguments) = match &argument.kind {
            ExprKind::Call(name, arguments) => (*name, Some(arguments.clone())),
            _ => (argument.name()?, None),
        };
        let span = argument.span;
        let declared = TypeRef {
            name,
            arguments,
            span,
        };
        is_built_in(name.text).then(|| self.plain_type(&declared))
    }

    pub(super) fn wrong_arguments(&mut self, span: Span, expected: &str) -> Option<Type> {
        let message = format!("`{}` lacks arguments or has too many", span.text(self.text));
        self.refuse(span, message, format!("expected `{expected}`"))
    }
}

/// Whether the argument is this word and nothing else.
pub(super) fn is_word(argument: &Expr<'_>, word: &str) -> bool {
    let is_it = |name: Ident<'_>| name.text == word;
    !argument.grouped && argument.name().is_some_and(is_it)
}

pub(super) fn is_type(argument: &Expr<'_>) -> bool {
    let name = argument.name();
    name.is_some_and(|name| width_of(name.text).is_some())
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
