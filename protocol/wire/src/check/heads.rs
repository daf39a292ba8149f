//! What can be said of every field before its struct is checked: its name and whether an
//! expression may read it.

use super::Checker;
use super::expressions::ValueType;
use super::model::{EnumId, StructId};
use super::types;
use crate::report::Span;
use crate::syntax::ast::{Binary, Expr, ExprKind, Field, Ident, Parameter, Statement, Unary};

/// How many `let`s without a type one of them can read through, each in a struct of the one before.
const COMPUTED_ROUNDS: usize = 64;

/// A field, seen from afar. Their order is that of the text; `FieldId` is a place in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    pub(super) name: &'a str,
    pub(super) span: Span,
    pub(super) kind: HeadKind,
    pub(super) repeated: bool,
    /// What is inside stands in another stream.
    pub(super) layered: bool,
    /// Inside an `if`, a `switch` or a block.
    pub(super) conditional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadKind {
    Integer,
    Bool,
    Enum(EnumId),
    Flags(EnumId),
    Struct(StructId),
    Text,
    Bytes,
    /// A `let` without a type: not known before all heads are.
    Computed,
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
            heads.extend(structure.parameters.iter().map(|parameter| Head {
                name: parameter.name.text,
                span: parameter.name.span,
                kind: self.parameter_kind(parameter),
                repeated: false,
                layered: false,
                conditional: false,
            }));
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
                Statement::Align(_) | Statement::ByteOrder(_) | Statement::Set(_) => {}
                Statement::Size(inner) => self.collect(&inner.body, true, heads),
            }
        }
    }

    fn head(&self, field: &Field<'a>, conditional: bool) -> Head<'a> {
        let name = field.field_type.name.text;
        let seen = self.seen_from(field.field_type.name.span);
        let kind = match name {
            "let" if field.computed.is_some() => HeadKind::Computed,
            "bool" => HeadKind::Bool,
            "string" => HeadKind::Text,
            "bytes" => HeadKind::Bytes,
            "quake_float" => HeadKind::Other,
            "range" | "leb128" | "sleb128" | "zigzag" | "vlq" | "prefix_varint" | "quic_varint"
            | "ubitvar" | "packed_int" | "compressed" | "delta" => HeadKind::Integer,
            _ if types::width_of(name).is_some() => HeadKind::Integer,
            _ if types::is_built_in(name) => HeadKind::Other,
            _ => match (
                self.struct_names.get(name, seen),
                self.enum_names.get(name, seen),
            ) {
                (Some(&id), _) => HeadKind::Struct(id),
                (_, Some(&id)) if self.is_flags(id) => HeadKind::Flags(id),
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
            layered: field.through.is_some(),
            conditional,
        }
    }

    /// `int`, `bool` or an enum.
    pub(super) fn parameter_kind(&self, parameter: &Parameter<'a>) -> HeadKind {
        let seen = self.seen_from(parameter.type_name.span);
        match parameter.type_name.text {
            "int" => HeadKind::Integer,
            "bool" => HeadKind::Bool,
            name => match self.enum_names.get(name, seen) {
                Some(&id) if self.is_flags(id) => HeadKind::Flags(id),
                Some(&id) => HeadKind::Enum(id),
                None => HeadKind::Broken,
            },
        }
    }

    /// Finds out what each `let` without a type is: by its expression's form, and what it reads.
    pub(super) fn resolve_computed(&mut self) {
        // As many rounds as one `let` can read through others.
        for _ in 0..COMPUTED_ROUNDS {
            let mut found = Vec::new();
            for (index, structure) in self.file.structs.iter().enumerate() {
                let declared = super::meanings::fields(&structure.body);
                for (place, field) in declared.iter().enumerate() {
                    let head = self.heads.get(index).and_then(|heads| heads.get(place));
                    if let (Some(head), Some(expr)) = (head, &field.computed)
                        && head.kind == HeadKind::Computed
                        && let Some(kind) = self.kind_of(expr, index, place)
                    {
                        found.push((index, place, kind));
                    }
                }
            }
            if found.is_empty() {
                break;
            }
            for (index, place, kind) in found {
                self.heads[index][place].kind = kind;
            }
        }
    }

    /// `None`: it reads a `let` that is not known yet.
    fn kind_of(&self, expr: &Expr<'a>, structure: usize, before: usize) -> Option<HeadKind> {
        match &expr.kind {
            ExprKind::Bool(_)
            | ExprKind::Unary(Unary::Not, _)
            | ExprKind::Binary(Binary::And | Binary::Or | Binary::Compare(_), ..) => {
                Some(HeadKind::Bool)
            }
            ExprKind::Call(name, _) if matches!(name.text, "from_first" | "known") => {
                Some(HeadKind::Bool)
            }
            ExprKind::Choice(_, then, _) => self.kind_of(then, structure, before),
            ExprKind::Path(path) => self.kind_of_path(path, structure, before),
            _ => Some(HeadKind::Integer),
        }
    }

    fn kind_of_path(
        &self,
        path: &[Ident<'a>],
        mut structure: usize,
        before: usize,
    ) -> Option<HeadKind> {
        let mut before = Some(before);
        for (depth, name) in path.iter().enumerate() {
            let heads = self.heads.get(structure)?;
            let parameters = self.file.structs.get(structure)?.parameters.len();
            let visible = |place: usize| {
                before.is_none_or(|before| place < before) || place + parameters >= heads.len()
            };
            let mut named = heads.iter().enumerate().rev();
            let found = named.find(|(place, head)| head.name == name.text && visible(*place));
            let Some((_, head)) = found else {
                let seen = self.seen_from(name.span);
                return Some(match self.enum_names.get(name.text, seen) {
                    Some(&id) if depth == 0 && !self.is_flags(id) => HeadKind::Enum(id),
                    _ => match self.constants.get(name.text, seen) {
                        Some(Some((_, ValueType::Bool))) => HeadKind::Bool,
                        _ => HeadKind::Integer,
                    },
                });
            };
            match (head.kind, path.get(depth + 1)) {
                (HeadKind::Computed, _) => return None,
                (HeadKind::Struct(inner), Some(_)) => structure = inner.0 as usize,
                (HeadKind::Flags(_), Some(_)) => return Some(HeadKind::Bool),
                (HeadKind::Flags(_), None) => return Some(HeadKind::Integer),
                (kind, _) => return Some(kind),
            }
            before = None;
        }
        Some(HeadKind::Integer)
    }
}
