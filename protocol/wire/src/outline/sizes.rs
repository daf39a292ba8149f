//! Sizes in bits, and values of constants, as far as the text alone says them.

use std::collections::{BTreeMap, BTreeSet};

use crate::arithmetic;
use crate::files::Files;
use crate::report::Span;
use crate::syntax::ast::{
    Arithmetic, Binary, Expr, ExprKind, Field, File, Statement, Struct, TypeRef, Unary, Until,
};

/// Constants and structs that are made of others, so deep.
const DEPTH_MAX: usize = 32;

/// Sizes of structs that are known by now, by their places in the syntax tree.
#[derive(Default)]
pub(super) struct Sizes {
    structs: BTreeMap<usize, Option<u64>>,
}

/// The texts of a wire's files, and which can use what another declares.
pub(super) struct Texts<'a> {
    pub files: &'a Files,
    pub tree: &'a File<'a>,
    /// For each file those that it imports.
    pub imported: Vec<BTreeSet<usize>>,
}

impl<'a> Texts<'a> {
    pub(super) fn file_of(&self, span: Span) -> usize {
        self.files.at(span.start as usize)
    }

    /// Whether what a file declares can be used in another.
    pub(super) fn sees(&self, from: usize, file: usize) -> bool {
        let imported = self.imported.get(from);
        from == file || imported.is_some_and(|imported| imported.contains(&file))
    }

    /// The value of a constant expression, seen from a file.
    pub(super) fn value(&self, expr: &Expr<'a>, depth: usize) -> Option<i128> {
        if depth > DEPTH_MAX {
            return None;
        }
        match &expr.kind {
            ExprKind::Integer(value) => Some(*value),
            ExprKind::Path(path) => match path.as_slice() {
                [name] => {
                    let file = self.file_of(name.span);
                    let mut constants = self.tree.constants.iter();
                    let found = constants.find(|constant| {
                        constant.name.text == name.text
                            && self.sees(file, self.file_of(constant.name.span))
                    })?;
                    self.value(&found.value, depth + 4)
                }
                _ => None,
            },
            ExprKind::Unary(Unary::Negate, inner) => self.value(inner, depth + 1)?.checked_neg(),
            ExprKind::Binary(Binary::Arithmetic(operator), left, right) => {
                let left = self.value(left, depth + 1)?;
                let right = self.value(right, depth + 1)?;
                arithmetic::evaluate(*operator, left, right).ok()
            }
            ExprKind::Call(name, arguments) => {
                let operator = match name.text {
                    "min" => Arithmetic::Least,
                    "max" => Arithmetic::Greatest,
                    _ => return None,
                };
                let [left, right] = arguments.as_slice() else {
                    return None;
                };
                let left = self.value(left, depth + 1)?;
                let right = self.value(right, depth + 1)?;
                arithmetic::evaluate(operator, left, right).ok()
            }
            _ => None,
        }
    }

    /// The bits of a struct that always has as many.
    pub(super) fn struct_bits(&self, place: usize, sizes: &mut Sizes) -> Option<u64> {
        if let Some(known) = sizes.structs.get(&place) {
            return *known;
        }
        // Until it is known: a struct that holds itself has no fixed size.
        sizes.structs.insert(place, None);
        let structure: &Struct<'a> = self.tree.structs.get(place)?;
        let mut sum = Some(0u64);
        for statement in &structure.body {
            let bits = match statement {
                Statement::Field(field) => self.field_bits(field, sizes),
                Statement::Set(_) => Some(0),
                _ => None,
            };
            sum = sum.zip(bits).and_then(|(sum, bits)| sum.checked_add(bits));
        }
        sizes.structs.insert(place, sum);
        sum
    }

    /// The bits of a field that always has as many.
    pub(super) fn field_bits(&self, field: &Field<'a>, sizes: &mut Sizes) -> Option<u64> {
        if field.computed.is_some() {
            return Some(0);
        }
        if let Some(size) = &field.size {
            let bytes = u64::try_from(self.value(&size.bytes, 0)?).ok()?;
            return bytes.checked_mul(8);
        }
        if field.through.is_some() {
            return None;
        }
        let one = self.type_bits(&field.field_type, sizes)?;
        match field.repeat.as_ref().map(|repeat| &repeat.until) {
            None => Some(one),
            Some(Until::Count(count)) => {
                let count = u64::try_from(self.value(count, 0)?).ok()?;
                one.checked_mul(count)
            }
            Some(Until::Bytes(bytes)) => u64::try_from(self.value(bytes, 0)?).ok()?.checked_mul(8),
            Some(_) => None,
        }
    }

    /// The bits of a type that always takes as many.
    pub(super) fn type_bits(&self, declared: &TypeRef<'a>, sizes: &mut Sizes) -> Option<u64> {
        let name = declared.name.text;
        let arguments = declared.arguments.as_deref().unwrap_or_default();
        let number = |at: usize| self.value(arguments.get(at)?, 0);
        let bytes = |count: i128| u64::try_from(count).ok()?.checked_mul(8);
        match (name, arguments.len()) {
            ("bool", 0) => return Some(1),
            ("uuid", 0) => return Some(128),
            ("range", 2) => {
                let distance = number(1)?.checked_sub(number(0)?)?;
                return (distance > 0).then(|| u64::from(128 - distance.leading_zeros()));
            }
            ("quantized", 3 | 4) => return u64::try_from(number(2)?).ok(),
            ("smallest_three", 1 | 2) => {
                let each = u64::try_from(number(0)?).ok()?;
                return each.checked_mul(3)?.checked_add(2);
            }
            ("hash" | "bytes", 1) | ("string", 2 | 3) => return bytes(number(0)?),
            _ => {}
        }
        let plain = name.strip_suffix("le").or_else(|| name.strip_suffix("be"));
        let digits = plain.unwrap_or(name).strip_prefix(['u', 'i', 'f']);
        if let Some(Ok(bits)) = digits.map(str::parse::<u64>) {
            return (bits <= 64 || bits == 128).then_some(bits);
        }
        let file = self.file_of(declared.name.span);
        let declares = |at: Span| self.sees(file, self.file_of(at));
        let mut enums = self.tree.enums.iter();
        let found = enums.find(|item| item.name.text == name && declares(item.name.span));
        if let Some(found) = found {
            // What holds an enum is a plain type.
            let is_plain = found.base.name.text != name;
            return is_plain.then(|| self.plain_bits(&found.base)).flatten();
        }
        let mut structs = self.tree.structs.iter();
        let found = structs.position(|item| item.name.text == name && declares(item.name.span));
        self.struct_bits(found?, sizes)
    }

    /// The bits of what can hold an enum.
    fn plain_bits(&self, base: &TypeRef<'a>) -> Option<u64> {
        let is_declared = |name: &str| self.tree.enums.iter().any(|it| it.name.text == name);
        if is_declared(base.name.text) {
            None
        } else {
            self.type_bits(base, &mut Sizes::default())
        }
    }
}
