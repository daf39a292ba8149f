//! Structs that a connection keeps, and the statement that sets values, structs and tables: `set`.

use std::ops::Range;
use std::sync::Arc;

use super::Checker;
use super::declared::{Head, HeadKind, Kept, Member, ValueType, is_content};
use super::model::{Expression, SetMember, SetStep, SetWhat, StatePart, Step, StructId};
use super::state::{Reached, Use};
use crate::limits::{STATE_VALUES_MAX, STRUCT_NESTING_MAX};
use crate::report::Span;
use crate::state::StateKind;
use crate::syntax::ast::{self, Expr, ExprKind, Ident, Set, TypeRef, fields};

/// Structs in each other, while their values are gathered.
struct Gathering<'a> {
    path: Vec<&'a str>,
    members: Vec<Member<'a>>,
    /// The first field that is no single value, and why nobody can keep it.
    refused: Option<(Span, &'static str)>,
    /// How many structs were looked at.
    structs: usize,
}

impl<'a> Checker<'a, '_> {
    /// The struct that a type in a `state` block names.
    pub(super) fn kept_struct(&self, declared: &TypeRef<'a>) -> Option<StructId> {
        let found = self.struct_named(declared.name);
        found.filter(|_| declared.arguments.is_none())
    }

    /// What expressions can read of a struct, which is what a connection keeps of it.
    pub(super) fn members(&mut self, id: StructId, span: Span) -> Option<Vec<Member<'a>>> {
        let mut gathering = Gathering {
            path: Vec::new(),
            members: Vec::new(),
            refused: None,
            structs: 0,
        };
        self.gather(id, &mut gathering);
        let Gathering {
            members,
            refused,
            structs,
            ..
        } = gathering;
        let spelled = span.text(self.text);
        if members.len().max(structs) > STATE_VALUES_MAX {
            return self.refuse(
                span,
                format!("`{spelled}` has too many values"),
                format!("a connection keeps {STATE_VALUES_MAX} of a struct"),
            );
        }
        if members.is_empty() {
            let message = format!("nothing of `{spelled}` can be kept");
            let report = self.report(span, message);
            report.label("expected a struct with single values that are always there");
            if let Some((place, why)) = refused {
                report.related(place, why);
            }
            return None;
        }
        Some(members)
    }

    fn gather(&self, id: StructId, into: &mut Gathering<'a>) {
        let (Some(heads), Some(declared)) = (
            self.heads.get(id.0 as usize),
            self.file.structs.get(id.0 as usize),
        ) else {
            return;
        };
        into.structs += 1;
        let declared = fields(&declared.body);
        for (head, field) in heads.iter().zip(declared) {
            if into.members.len().max(into.structs) > STATE_VALUES_MAX {
                return;
            }
            let known = |member: &Member<'_>| {
                member.path.len() == into.path.len() + 1
                    && member.path.starts_with(&into.path)
                    && member.path.last() == Some(&head.name)
            };
            if into.members.iter().any(known) {
                continue;
            }
            match why_not_kept(head) {
                Some(why) => {
                    into.refused.get_or_insert((head.span, why));
                }
                None => self.gather_field(head, field, into),
            }
        }
    }

    fn gather_field(&self, head: &Head<'a>, field: &ast::Field<'a>, into: &mut Gathering<'a>) {
        if let HeadKind::Struct(inner) = head.kind
            && into.path.len() < STRUCT_NESTING_MAX
        {
            into.path.push(head.name);
            self.gather(inner, into);
            into.path.pop();
        }
        let Some(value) = head.kind.value() else {
            return;
        };
        let range = match value {
            ValueType::Bool => (0, 1),
            ValueType::Enum(_) | ValueType::Number(_) => (0, i128::from(u64::MAX)),
            _ => (i128::from(i64::MIN), i128::from(u64::MAX)),
        };
        let mut path = into.path.clone();
        path.push(head.name);
        into.members.push(Member {
            path,
            value,
            range,
            type_text: field.field_type.span.text(self.text),
        });
    }

    /// What names after the keys of a struct lead to.
    pub(super) fn reached(
        &mut self,
        kept: &Kept<'a>,
        name: Ident<'a>,
        rest: &[Ident<'a>],
    ) -> Option<(StatePart, Reached)> {
        self.note_members(kept, rest);
        let wanted: Vec<&str> = rest.iter().map(|name| name.text).collect();
        let found = kept.members.iter().position(|it| it.path == wanted);
        if let Some((place, member)) = found.and_then(|at| Some((at, kept.members.get(at)?))) {
            let value = Reached::Value(member.value, member.range, member.type_text.into());
            return Some((StatePart::Value(place as u16), value));
        }
        if wanted.is_empty() {
            return Some((StatePart::All, Reached::All(0)));
        }
        let mut within = kept.members.iter();
        let first = within.position(|member| member.path.starts_with(&wanted));
        if let Some(first) = first {
            let is_in = |member: &&Member<'_>| member.path.starts_with(&wanted);
            let count = kept.members.iter().skip(first).take_while(is_in).count();
            let inside = Reached::Inside(first..first + count, wanted.len());
            return Some((StatePart::All, inside));
        }
        self.report_member(kept, name, rest);
        None
    }

    /// Notes which fields names after the keys of a struct stand for.
    fn note_members(&mut self, kept: &Kept<'a>, names: &[Ident<'a>]) {
        let mut fields = self.file.states.iter().flat_map(|block| &block.fields);
        let declared = fields.find(|field| field.name.span == kept.name.span);
        let mut of = declared.and_then(|field| self.kept_struct(&field.field_type));
        for name in names {
            let heads = of.and_then(|of| self.heads.get(of.0 as usize));
            let head = heads.and_then(|heads| heads.iter().find(|head| head.name == name.text));
            let Some(&head) = head else { return };
            self.stands_for(name.span, head.span);
            of = match head.kind {
                HeadKind::Struct(inner) => Some(inner),
                _ => None,
            };
        }
    }

    /// The first name that leads nowhere.
    fn report_member(&mut self, kept: &Kept<'a>, name: Ident<'a>, rest: &[Ident<'a>]) {
        let mut before = name.text;
        let mut path: Vec<&str> = Vec::new();
        for wanted in rest {
            let here = kept
                .members
                .iter()
                .filter(|member| member.path.starts_with(&path));
            let names: Vec<&str> = here
                .filter_map(|it| it.path.get(path.len()).copied())
                .collect();
            if names.contains(&wanted.text) {
                path.push(wanted.text);
                before = wanted.text;
                continue;
            }
            let message = if names.is_empty() {
                format!("`{before}` is not a struct")
            } else {
                format!("nothing called `{}` is kept of `{before}`", wanted.text)
            };
            self.report(wanted.span, message)
                .label("expected a field that expressions can read: one that is always there")
                .related(kept.name.span, "declared here")
                .suggest(wanted.text, names);
            return;
        }
    }

    /// `set state.NAME[KEY] = VALUE;`, `unset state.NAME[KEY];`
    pub(super) fn set_step(&mut self, declared: &Set<'a>) -> Option<Step> {
        let found = self.target(&declared.target, Use::Value);
        let Some(given) = &declared.value else {
            let (path, _, reached) = found?;
            if let Reached::Inside(..) = reached {
                let expected = "expected the whole struct, or one of its values";
                let message = "a struct is forgotten as a whole";
                return self.refuse(declared.target.span, message, expected);
            }
            let what = SetWhat::Nothing;
            return Some(Step::Set(Box::new(SetStep { path, what })));
        };
        let (path, what) = match found {
            Some((path, kept, Reached::Value(wanted, range, type_text))) => {
                let value = self.set_value(given, (wanted, range, type_text), &kept)?;
                (path, SetWhat::Value(value))
            }
            Some((path, kept, Reached::All(keys))) => (path, self.set_all(given, &kept, keys)?),
            Some((path, kept, Reached::Inside(places, depth))) => {
                let members = self.set_members(given, &kept, places, depth)?;
                (path, SetWhat::Members(members))
            }
            None => {
                // What is wrong with the value is told, too.
                self.typed(given);
                return None;
            }
        };
        Some(Step::Set(Box::new(SetStep { path, what })))
    }

    fn set_value(
        &mut self,
        given: &Expr<'a>,
        (wanted, range, type_text): (ValueType, (i128, i128), Arc<str>),
        kept: &Kept<'a>,
    ) -> Option<SetMember> {
        let typed = self.typed(given)?;
        let (value, found) = self.as_wanted(typed, wanted, given.span)?;
        if found != wanted && !(is_content(found) && is_content(wanted)) {
            let is = format!("`{}` is", kept.name.text);
            self.report_mismatch(given.span, (&is, "the value"), wanted, found)
                .related(kept.name.span, "declared here");
            return None;
        }
        let (low, high) = range;
        if let Expression::Integer(value) = value
            && !(low..=high).contains(&value)
        {
            let message = format!("{value} does not fit `{}`", kept.name.text);
            self.report(given.span, message)
                .label(format!("`{type_text}` holds {low} to {high}"))
                .related(kept.name.span, "declared here");
            return None;
        }
        Some(SetMember {
            value,
            is_content: is_content(found),
            range,
            text: given.span.text(self.text).into(),
            type_text,
        })
    }

    /// A struct, or a table of which this many keys lead to a struct.
    fn set_all(&mut self, given: &Expr<'a>, kept: &Kept<'a>, keys: usize) -> Option<SetWhat> {
        if let ExprKind::Path(path) | ExprKind::Index(path, ..) = &given.kind
            && self.is_state_path(path)
        {
            let (from, of, reached) = self.state_path(given, Use::Value)?;
            if let Reached::All(others) = reached
                && others == keys
                && is_same(kept, &of, keys)
            {
                return Some(SetWhat::Copy(from));
            }
        }
        if keys > 0 {
            let name = kept.name.text;
            self.report(given.span, format!("`{name}` is a table here"))
                .label("expected a table of the state with the same entries")
                .related(kept.name.span, "declared here");
            return None;
        }
        let members = self.set_members(given, kept, 0..kept.members.len(), 0)?;
        Some(SetWhat::Members(members))
    }

    /// The values from one place to another of a struct that is kept; so many of their names lead to
    /// the struct that is set.
    fn set_members(
        &mut self,
        given: &Expr<'a>,
        kept: &Kept<'a>,
        places: Range<usize>,
        depth: usize,
    ) -> Option<Vec<(u16, SetMember)>> {
        let mut all = Vec::new();
        for place in places {
            let member = kept.members.get(place)?.clone();
            let names = member.path.get(depth..)?.iter().map(|&text| Ident {
                text,
                span: given.span,
            });
            let kind = match &given.kind {
                ExprKind::Path(path) => ExprKind::Path(path.iter().copied().chain(names).collect()),
                ExprKind::Index(path, keys, inside) => {
                    let inside = inside.iter().copied().chain(names).collect();
                    ExprKind::Index(path.clone(), keys.clone(), inside)
                }
                _ => {
                    let name = kept.name.text;
                    self.report(given.span, format!("`{name}` is a struct"))
                        .label("expected a field that is a struct, or one that is kept")
                        .related(kept.name.span, "declared here");
                    return None;
                }
            };
            let part = Expr::new(kind, given.span);
            let wanted = (member.value, member.range, member.type_text.into());
            let mut value = self.set_value(&part, wanted, kept)?;
            let names = member.path.get(depth..)?.join(".");
            value.text = format!("{}.{names}", value.text).into();
            all.push((place as u16, value));
        }
        Some(all)
    }
}

/// Why nobody can keep a field of a struct.
fn why_not_kept(head: &Head<'_>) -> Option<&'static str> {
    match head.kind {
        _ if head.repeated => Some("this is repeated"),
        _ if head.layered => Some("this goes through a layer"),
        _ if head.conditional && !head.shared => Some("this is not always there"),
        HeadKind::Other | HeadKind::Broken => Some("expressions do not read this"),
        _ => None,
    }
}

/// Whether what is kept under this many keys less than lead to a struct can be put from one to the other.
fn is_same(to: &Kept<'_>, from: &Kept<'_>, keys: usize) -> bool {
    let (StateKind::Rows(a), StateKind::Rows(b)) = (to.kind, from.kind) else {
        return false;
    };
    let inner = |shape: &crate::state::RowsShape| {
        let all = shape.keys();
        shape.capacities.get(all - keys..all).map(<[u16]>::to_vec)
    };
    let same = |a: &Member<'_>, b: &Member<'_>| a.path == b.path && a.value == b.value;
    inner(&a) == inner(&b)
        && to.members.len() == from.members.len()
        && to
            .members
            .iter()
            .zip(from.members.iter())
            .all(|(a, b)| same(a, b))
}
