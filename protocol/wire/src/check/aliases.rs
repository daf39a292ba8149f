//! `type NAME = TYPE;`: the type takes the place of the name wherever a type stands, before anything
//! else is checked. Spans of whole types stay those of the use, so that trees show the name.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::Checker;
use super::declared::Scope;
use super::model::{Expression, Length, StructId, Type};
use super::names::{Names, Seen};
use crate::files::Files;
use crate::report::Span;
use crate::syntax::ast::{Alias, Expr, ExprKind, File, Ident, Statement, Struct, TypeRef};

/// How many names may stand for each other before a type comes.
const NAMES_MAX: usize = 16;

/// The `type` items of all files.
struct Aliases<'a, 'c> {
    files: &'c Files,
    imported: &'c [BTreeSet<usize>],
    all: &'c [Alias<'a>],
    names: Names<'a, usize>,
    replaced: RefCell<Vec<(Span, Span)>>,
}

/// Replaces the names of `type` items by what they stand for. Where they stood, and where they are
/// declared.
pub(super) fn spell_out<'a>(
    files: &Files,
    imported: &[BTreeSet<usize>],
    file: &mut File<'a>,
) -> Vec<(Span, Span)> {
    if file.aliases.is_empty() {
        return Vec::new();
    }
    let all = std::mem::take(&mut file.aliases);
    let aliases = Aliases::new(files, imported, &all);
    for structure in &mut file.structs {
        aliases.in_struct(structure);
    }
    for declared in &mut file.enums {
        aliases.replace(&mut declared.base);
    }
    for field in file.states.iter_mut().flat_map(|state| &mut state.fields) {
        aliases.replace(&mut field.field_type);
    }
    for alias in &all {
        aliases.replace(&mut alias.stands_for.clone());
    }
    let replaced = aliases.replaced.take();
    file.aliases = all;
    replaced
}

impl<'a, 'c> Aliases<'a, 'c> {
    fn new(
        files: &'c Files,
        imported: &'c [BTreeSet<usize>],
        all: &'c [Alias<'a>],
    ) -> Aliases<'a, 'c> {
        let mut names = Names::default();
        for (index, alias) in all.iter().enumerate() {
            let of = files.at(alias.name.span.start as usize);
            names.insert(alias.name, of, index);
        }
        Aliases {
            files,
            imported,
            all,
            names,
            replaced: RefCell::default(),
        }
    }

    fn in_struct(&self, structure: &mut Struct<'a>) {
        for parameter in &mut structure.parameters {
            let name = parameter.type_name;
            let mut of = TypeRef::plain(name);
            self.replace(&mut of);
            if of.arguments.is_none() {
                parameter.type_name = of.name;
            }
        }
        self.in_body(&mut structure.body);
    }

    fn in_body(&self, body: &mut [Statement<'a>]) {
        for statement in body {
            match statement {
                Statement::Field(field) => self.replace(&mut field.field_type),
                Statement::Join(joined) | Statement::Follow(joined) => {
                    self.replace(&mut joined.field.field_type);
                }
                Statement::If(inner) => {
                    self.in_body(&mut inner.then);
                    self.in_body(&mut inner.otherwise);
                }
                Statement::Switch(inner) => {
                    for arm in &mut inner.arms {
                        self.in_body(&mut arm.body);
                    }
                }
                Statement::Size(inner) => self.in_body(&mut inner.body),
                Statement::Align(_) | Statement::ByteOrder(_) | Statement::Set(_) => {}
            }
        }
    }

    /// What a name stands for at a place, where it is one alias.
    fn named(&self, name: Ident<'_>) -> Option<&Alias<'a>> {
        let own = self.files.at(name.span.start as usize);
        let seen = Seen::new(own, self.imported.get(own)?);
        let mut all = self.names.all(name.text, seen);
        let (declared, index) = all.next()?;
        if all.next().is_some() {
            return None;
        }
        self.replaced.borrow_mut().push((name.span, declared));
        self.all.get(index)
    }

    /// The type itself, and an integer type that it is told first, as in `string(Length, utf8)`.
    fn replace(&self, field_type: &mut TypeRef<'a>) {
        for _ in 0..NAMES_MAX {
            if field_type.arguments.is_some() {
                break;
            }
            let Some(alias) = self.named(field_type.name) else {
                break;
            };
            field_type.name = alias.stands_for.name;
            field_type.arguments.clone_from(&alias.stands_for.arguments);
        }
        if !matches!(field_type.name.text, "string" | "delta" | "compressed") {
            return;
        }
        let arguments = field_type.arguments.iter_mut().flatten();
        if let Some(first) = arguments.into_iter().next() {
            self.replace_argument(first);
        }
    }

    fn replace_argument(&self, argument: &mut Expr<'a>) {
        for _ in 0..NAMES_MAX {
            let Some(alias) = argument.name().and_then(|name| self.named(name)) else {
                return;
            };
            let TypeRef {
                name, arguments, ..
            } = alias.stands_for.clone();
            argument.kind = match arguments {
                None => ExprKind::Path(vec![name]),
                Some(arguments) => ExprKind::Call(name, arguments),
            };
        }
    }
}

impl<'a> Checker<'a, '_> {
    /// Whether every `type` item stands for a type that is the same wherever it is used; says which
    /// does not.
    pub(super) fn check_aliases(&mut self) -> bool {
        let file = self.file;
        let before = self.reports.len();
        let mut spelled_out = Vec::new();
        let aliases = Aliases::new(self.files, &self.imported, &file.aliases);
        for alias in &file.aliases {
            let mut of = alias.stands_for.clone();
            aliases.replace(&mut of);
            let is_name = aliases.named(of.name).is_some();
            spelled_out.push((alias, of, is_name));
        }
        for (alias, of, is_name) in spelled_out {
            if self.has_enough() {
                break;
            }
            if is_name {
                let name = alias.name;
                let message = format!("`{}` leads to no type", name.text);
                self.report(name.span, message)
                    .label(format!("followed through {NAMES_MAX} names"))
                    .help("a name stands for a type, or for another name that does");
            } else if alias.stands_for.name.span == of.name.span {
                // What another alias stands for is checked there.
                self.check_alias(alias, &of);
            }
        }
        self.reports.len() == before
    }

    /// Of an alias, what it stands for when nothing is left to replace.
    fn check_alias(&mut self, alias: &Alias<'a>, of: &TypeRef<'a>) {
        let is_open = of.arguments.iter().flatten().any(reads_state);
        // No struct has this number, and no field can be seen.
        let nowhere = Scope::of(StructId(u32::MAX));
        let before = self.reports.len();
        let found = (!is_open).then(|| self.within(nowhere, |checker| checker.field_type(of)));
        let depends_on = match &found {
            Some(Type::Bytes(length)) => Some(length),
            Some(Type::Delta { base, .. }) => Some(base),
            Some(Type::Text {
                length: Length::Expression(length) | Length::Padded(length),
                ..
            }) => Some(length),
            _ => None,
        };
        let is_constant = depends_on.is_none_or(|it| matches!(it, Expression::Integer(_)));
        if let Some(report) = self.reports.get_mut(before)
            && report.help.is_none()
        {
            report.help("the arguments of a type with a name are constants");
        }
        if is_open || !is_constant {
            let span = alias.stands_for.span;
            let message = format!("`{}` depends on the packet", alias.name.text);
            self.report(span, message)
                .label("expected arguments that are constants")
                .help("give such a type where the field is declared");
        }
        self.alias_types
            .extend(found.map(|found| (alias.name.span, found)));
    }
}

/// Whether an expression asks for what the connection keeps.
fn reads_state(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Path(path) | ExprKind::Index(path, ..) => {
            path.len() > 1 && path.first().is_some_and(|name| name.text == "state")
        }
        _ => expr.parts().into_iter().any(reads_state),
    }
}
