//! What can be said of every field before its struct is checked: its name and whether an
//! expression may read it.

use std::collections::BTreeMap;

use super::Checker;
use super::declared::{Head, HeadKind, Item, ShapeId, ValueType};
use super::type_names::{self, IntegerName};
use crate::syntax::ast::{
    Binary, Expr, ExprKind, Field, Ident, Parameter, Statement, TypeRef, Unary, fields,
};

/// How many `let`s without a type one of them can read through, each in a struct of the one before.
const COMPUTED_ROUNDS: usize = 64;

impl<'a> Checker<'a, '_> {
    pub(super) fn collect_heads(&self) -> Vec<Vec<Head<'a>>> {
        let mut all = Vec::new();
        for structure in &self.file.structs {
            let mut heads = Vec::new();
            for statement in &structure.body {
                let conditional = !matches!(statement, Statement::Field(_));
                let fields = statement.fields().into_iter();
                heads.extend(fields.map(|field| self.head_of(field, conditional)));
            }
            heads.extend(structure.parameters.iter().map(|parameter| Head {
                name: parameter.name.text,
                span: parameter.name.span,
                kind: self.parameter_kind(parameter),
                repeated: false,
                layered: false,
                conditional: false,
                shared: false,
            }));
            all.push(heads);
        }
        all
    }

    fn head_of(&self, field: &Field<'a>, conditional: bool) -> Head<'a> {
        let name = field.field_type.name.text;
        let kind = match name {
            "let" if field.computed.is_some() => HeadKind::Computed,
            "bool" => HeadKind::Bool,
            "string" => HeadKind::Text,
            "bytes" => HeadKind::Bytes,
            _ if type_names::is_number(name) => HeadKind::Number(self.shape(&field.field_type)),
            "uuid" | "hash" | "vec2" | "vec3" | "vec4" => HeadKind::Other,
            _ if type_names::width_of(name).is_some_and(IntegerName::is_wide) => HeadKind::Other,
            _ if type_names::is_built_in(name) => HeadKind::Integer,
            _ => self.declared_kind(field.field_type.name),
        };
        let (name, span) = (field.name.text, field.name.span);
        Head {
            name,
            span,
            kind,
            repeated: field.repeat.is_some(),
            layered: field.through.is_some(),
            conditional,
            shared: false,
        }
    }

    /// What the name of a struct or an enum says.
    fn declared_kind(&self, name: Ident<'a>) -> HeadKind {
        match self.item(name) {
            Some(Item::Struct(id)) => HeadKind::Struct(id),
            Some(Item::Enum(id)) if self.is_flags(id) => HeadKind::Flags(id),
            Some(Item::Enum(id)) => HeadKind::Enum(id),
            _ => HeadKind::Broken,
        }
    }

    /// The id of a type of numbers.
    fn shape(&self, spelled: &TypeRef<'a>) -> ShapeId {
        let end = spelled.arguments.iter().flatten().last();
        let start = spelled.name.span;
        let text = match end {
            Some(last) => start.to(last.span).text(self.text),
            None => spelled.name.text,
        };
        let mut shapes = self.shapes.borrow_mut();
        let known = shapes.iter().position(|(known, _)| *known == text);
        let place = known.unwrap_or(shapes.len());
        if known.is_none() {
            shapes.push((text, spelled.clone()));
        }
        ShapeId(place as u32)
    }

    /// The same, where it is one.
    pub(super) fn number_shape(&self, spelled: &TypeRef<'a>) -> Option<ShapeId> {
        type_names::is_number(spelled.name.text).then(|| self.shape(spelled))
    }

    /// How a type of numbers is spelled.
    pub(super) fn shape_text(&self, shape: ShapeId) -> String {
        let shapes = self.shapes.borrow();
        let text = shapes.get(shape.0 as usize).map_or("", |(text, _)| text);
        if text.contains('(') {
            format!("{text})")
        } else {
            text.to_owned()
        }
    }

    /// The type of numbers, as a field was declared with it.
    pub(super) fn shape_type(&self, shape: ShapeId) -> Option<TypeRef<'a>> {
        let shapes = self.shapes.borrow();
        shapes
            .get(shape.0 as usize)
            .map(|(_, spelled)| spelled.clone())
    }

    /// Says of each field that every arm of a branch declares that it stands for those of the others.
    pub(super) fn share_heads(&mut self) {
        let file = self.file;
        for (structure, heads) in file.structs.iter().zip(&mut self.heads) {
            for place in at_end(&structure.body, &mut 0, heads).into_values() {
                if let Some(head) = heads.get_mut(place) {
                    head.shared = head.conditional;
                }
            }
        }
    }

    /// `int`, `bool` or an enum.
    pub(super) fn parameter_kind(&self, parameter: &Parameter<'a>) -> HeadKind {
        match parameter.type_name.text {
            "int" => HeadKind::Integer,
            "bool" => HeadKind::Bool,
            name if type_names::is_number(name) => {
                HeadKind::Number(self.shape(&TypeRef::plain(parameter.type_name)))
            }
            _ => match self.declared_kind(parameter.type_name) {
                HeadKind::Struct(_) => HeadKind::Broken,
                kind => kind,
            },
        }
    }

    /// Finds out what each `let` without a type is: by its expression's form, and what it reads.
    pub(super) fn resolve_computed(&mut self) {
        // As many rounds as one `let` can read through others.
        for _ in 0..COMPUTED_ROUNDS {
            let mut found = Vec::new();
            for (index, structure) in self.file.structs.iter().enumerate() {
                let declared = fields(&structure.body);
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
                let is_bool = |place| {
                    let value = self.constants.get(&place);
                    matches!(value, Some(Some((_, ValueType::Bool))))
                };
                return Some(match self.item(*name) {
                    Some(Item::Enum(id)) if depth == 0 && !self.is_flags(id) => HeadKind::Enum(id),
                    Some(Item::Constant(place)) if is_bool(place) => HeadKind::Bool,
                    _ => HeadKind::Integer,
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

/// The fields that can be read at the end of a block, by name. `next` is the place of its first field.
fn at_end<'a>(
    body: &[Statement<'a>],
    next: &mut usize,
    heads: &[Head<'a>],
) -> BTreeMap<&'a str, usize> {
    let mut readable = BTreeMap::new();
    for statement in body {
        match statement {
            Statement::Field(field) => {
                readable.insert(field.name.text, *next);
                *next += 1;
            }
            Statement::If(inner) => {
                let then = at_end(&inner.then, next, heads);
                let otherwise = at_end(&inner.otherwise, next, heads);
                readable.extend(in_all(&[then, otherwise], heads));
            }
            Statement::Switch(inner) => {
                let mut arms = Vec::new();
                let mut default = None;
                for arm in &inner.arms {
                    let end = at_end(&arm.body, next, heads);
                    if arm.patterns.is_empty() {
                        default = Some(end);
                    } else {
                        arms.push(end);
                    }
                }
                arms.extend(default);
                readable.extend(in_all(&arms, heads));
            }
            Statement::Size(inner) => {
                at_end(&inner.body, next, heads);
            }
            Statement::Join(_) | Statement::Follow(_) => *next += 1,
            Statement::Align(_) | Statement::ByteOrder(_) | Statement::Set(_) => {}
        }
    }
    readable
}

/// Those that are a value of one kind in every arm, which the first arm's stands for.
fn in_all<'a>(arms: &[BTreeMap<&'a str, usize>], heads: &[Head<'a>]) -> BTreeMap<&'a str, usize> {
    let mut shared = BTreeMap::new();
    let Some((first, others)) = arms.split_first() else {
        return shared;
    };
    for (name, &place) in first {
        let kind = |place: usize| heads.get(place).and_then(Head::value_kind);
        let same = |arm: &BTreeMap<&str, usize>| arm.get(name).map(|&other| kind(other));
        let is_shared = !others.is_empty()
            && kind(place).is_some()
            && others.iter().all(|arm| same(arm) == Some(kind(place)));
        if is_shared {
            shared.insert(*name, place);
        }
    }
    shared
}
