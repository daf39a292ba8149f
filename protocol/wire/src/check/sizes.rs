//! How many bits things take that always take as many, and the values of constants: for editors.

use super::Checker;
use super::declared::ValueType;
use super::model::{Enum, EnumId, Expression, Field, Length, Repeat, Struct, StructId, Type};
use crate::syntax::ast::{self, Statement, fields};

/// Sizes in a model that may have mistakes.
struct Sizes<'m, 'a> {
    declared: &'m [ast::Struct<'a>],
    structs: &'m [Struct],
    enums: &'m [Enum],
    /// Of structs that were looked at; `None` inside while that is under way: a struct that holds itself
    /// has no fixed size.
    known: Vec<Option<Option<u64>>>,
}

impl<'a> Checker<'a, '_> {
    /// Notes sizes, and the values of constants, for who asks for what names stand for.
    pub(super) fn note_sizes(&mut self, structs: &[Struct], enums: &[Enum]) {
        let file = self.file;
        let Some(resolved) = &mut self.uses else {
            return;
        };
        for (place, constant) in file.constants.iter().enumerate() {
            let value = self.constants.get(&place);
            if let Some(Some((Expression::Integer(value), ValueType::Integer))) = value {
                resolved.values.push((constant.name.span, *value));
            }
        }
        if structs.len() < file.structs.len() {
            return;
        }
        let mut sizes = Sizes {
            declared: &file.structs,
            structs,
            enums,
            known: vec![None; structs.len()],
        };
        for (place, declared) in file.structs.iter().enumerate() {
            let bits = sizes.of_struct(StructId(place as u32));
            resolved.bits.push((declared.name.span, bits));
            for (field, declared) in structs[place].fields.iter().zip(fields(&declared.body)) {
                let bits = sizes.of_field(field, declared);
                resolved.bits.push((declared.name.span, bits));
            }
        }
        for (place, declared) in file.enums.iter().enumerate() {
            let bits = sizes.of_type(&Type::Enum(EnumId(place as u32)));
            resolved.bits.push((declared.name.span, bits));
        }
        for (name, stands_for) in &self.alias_types {
            resolved.bits.push((*name, sizes.of_type(stands_for)));
        }
    }
}

impl Sizes<'_, '_> {
    fn of_struct(&mut self, id: StructId) -> Option<u64> {
        let place = id.0 as usize;
        if let Some(known) = self.known[place] {
            return known;
        }
        self.known[place] = Some(None);
        let (structure, declared) = (&self.structs[place], &self.declared[place]);
        let is_fixed = |it: &Statement<'_>| matches!(it, Statement::Field(_) | Statement::Set(_));
        let mut sum = declared.body.iter().all(is_fixed).then_some(0u64);
        for (field, declared) in structure.fields.iter().zip(fields(&declared.body)) {
            let bits = self.of_field(field, declared);
            sum = sum.zip(bits).and_then(|(sum, bits)| sum.checked_add(bits));
        }
        self.known[place] = Some(sum);
        sum
    }

    fn of_field(&mut self, field: &Field, declared: &ast::Field<'_>) -> Option<u64> {
        if declared.computed.is_some() {
            return Some(0);
        }
        if let Some(window) = &field.window {
            return bytes(window.size.as_ref()?);
        }
        // What has no window though one is declared has a mistake there.
        if declared.size.is_some() || declared.through.is_some() {
            return None;
        }
        let one = self.of_type(&field.field_type)?;
        match &field.repeat {
            None if declared.repeat.is_none() => Some(one),
            Some(Repeat::Count(Expression::Integer(count))) => {
                one.checked_mul(u64::try_from(*count).ok()?)
            }
            _ => None,
        }
    }

    fn of_type(&mut self, of: &Type) -> Option<u64> {
        match of {
            Type::Hash(bytes) => Some(8 * u64::from(*bytes)),
            Type::Enum(id) | Type::Flags(id) => {
                // A base that is another one of them is a mistake, and may lead back here.
                let base = &self.enums.get(id.0 as usize)?.base;
                let is_plain = !matches!(base, Type::Enum(_) | Type::Flags(_) | Type::Struct(_));
                is_plain.then(|| self.of_type(base))?
            }
            Type::Struct(id) => self.of_struct(*id),
            Type::Bytes(length) => bytes(length),
            Type::Text {
                length: Length::Expression(length) | Length::Padded(length),
                ..
            } => bytes(length),
            other => other.width().map(u64::from),
        }
    }
}

/// The bits of a constant number of bytes.
fn bytes(count: &Expression) -> Option<u64> {
    match count {
        Expression::Integer(count) => u64::try_from(*count).ok()?.checked_mul(8),
        _ => None,
    }
}
