//! What can be said of every field before its struct is checked: its name and whether an
//! expression may read it.

use super::Checker;
use super::model::{EnumId, StructId};
use super::types;
use crate::syntax::Span;
use crate::syntax::ast::{Field, Statement};

/// A field, seen from afar. Their order is that of the text; `FieldId` is a place in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    pub(super) name: &'a str,
    pub(super) span: Span,
    pub(super) kind: HeadKind,
    pub(super) repeated: bool,
    /// Inside an `if`, a `switch` or a block.
    pub(super) conditional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadKind {
    Integer,
    Bool,
    Enum(EnumId),
    Struct(StructId),
    Text,
    Bytes,
    /// A type that expressions do not read.
    Other,
    /// No such type; reported where the type is checked.
    Broken,
}

impl<'a> Checker<'a, '_> {
    pub(super) fn collect_heads(&self) -> Vec<Vec<Head<'a>>> {
        let mut all = Vec::new();
        for structure in &self.file.structs {
            let mut heads = Vec::new();
            self.collect(&structure.body, false, &mut heads);
            all.push(heads);
        }
        all
    }

    fn collect(&self, body: &[Statement<'a>], conditional: bool, heads: &mut Vec<Head<'a>>) {
        for statement in body {
            match statement {
                Statement::Field(field) => heads.push(self.head(field, conditional)),
                Statement::If(inner) => {
                    self.collect(&inner.then, true, heads);
                    self.collect(&inner.otherwise, true, heads);
                }
                Statement::Switch(inner) => {
                    for arm in &inner.arms {
                        self.collect(&arm.body, true, heads);
                    }
                }
                Statement::Join(join) => heads.push(self.head(&join.field, true)),
                Statement::Follow(follow) => heads.push(self.head(&follow.field, true)),
                Statement::Align(_) | Statement::Set(_) => {}
                Statement::Size(inner) => self.collect(&inner.body, true, heads),
            }
        }
    }

    fn head(&self, field: &Field<'a>, conditional: bool) -> Head<'a> {
        let name = field.field_type.name.text;
        let seen = self.seen_from(field.field_type.name.span);
        let kind = match name {
            "bool" => HeadKind::Bool,
            "string" => HeadKind::Text,
            "bytes" => HeadKind::Bytes,
            "range" | "leb128" | "zigzag" | "delta" => HeadKind::Integer,
            _ if types::width_of(name).is_some() => HeadKind::Integer,
            _ if types::is_built_in(name) => HeadKind::Other,
            _ => match (
                self.struct_names.get(name, seen),
                self.enum_names.get(name, seen),
            ) {
                (Some(&id), _) => HeadKind::Struct(id),
                (_, Some(&id)) => HeadKind::Enum(id),
                _ => HeadKind::Broken,
            },
        };
        let (name, span) = (field.name.text, field.name.span);
        Head {
            name,
            span,
            kind,
            repeated: field.repeat.is_some(),
            conditional,
        }
    }
}
