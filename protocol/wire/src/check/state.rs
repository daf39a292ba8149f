//! What connections keep: `state` blocks, and the expressions and statements that read and change
//! it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::Checker;
use super::declared::{HeadKind, Kept, Member, Typed, ValueType};
use super::model::{Expression, StatePart, StatePath, StructId, Type};
use crate::limits::{STATE_ENTRIES_MAX, STATE_FIELDS_MAX, STATE_KEYS_MAX};
use crate::report::Span;
use crate::state::{RowsShape, StateField, StateKind};
use crate::suggest::did_you_mean;
use crate::syntax::ast::{self, Expr, ExprKind, Ident, Setting};

/// What a path into the state leads to.
pub(super) enum Reached {
    /// A single value: its type, what an integer may be, the type as it is spelled.
    Value(ValueType, (i128, i128), Arc<str>),
    /// The values of a struct that stands in the one that is kept: places, and how many of the names of
    /// each lead to it.
    Inside(Range<usize>, usize),
    /// A whole struct, or a table, of this many keys less than lead to a struct.
    All(usize),
}

/// What a statement needs the state for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Value,
    Parts,
    Stream,
}

impl<'a> Checker<'a, '_> {
    /// Fills in what the `state` blocks declare.
    pub(super) fn check_states(&mut self) {
        let file = self.file;
        for (block, declared) in file.states.iter().enumerate() {
            self.declare_as(|checker| &mut checker.state_names, declared.name, block);
            for field in &declared.fields {
                if self.has_enough() {
                    return;
                }
                let place = self.kept.len();
                self.declare_as(|checker| &mut checker.kept_names, field.name, place);
                if field.name.text == "other" {
                    self.report(field.name.span, "`other` means the other direction")
                        .label("expected another name");
                }
                let kept = self.kept(block, field);
                self.kept.push(kept);
            }
        }
        let fields = file.states.iter().flat_map(|block| &block.fields);
        if let Some(first_too_many) = fields.into_iter().nth(STATE_FIELDS_MAX) {
            let span = first_too_many.name.span;
            self.report(span, "connections keep too many fields")
                .label(format!("a file may declare {STATE_FIELDS_MAX} of them"));
        }
    }

    fn kept(&mut self, block: usize, field: &ast::StateField<'a>) -> Option<Kept<'a>> {
        let declared = &field.field_type;
        let type_text = declared.span.text(self.text);
        let mut capacities = Vec::new();
        for capacity in &field.capacities {
            capacities.push(self.state_capacity(capacity)?);
        }
        let capacity = capacities.first().copied();
        let mut kept = Kept {
            name: field.name,
            block,
            each: field.each,
            kind: StateKind::Content,
            value: match declared.name.text {
                "string" => ValueType::Text,
                _ => ValueType::Bytes,
            },
            range: (0, 0),
            type_text,
            members: Arc::default(),
        };
        match (declared.name.text, capacity) {
            ("string" | "bytes" | "parts" | "stream", _) if declared.arguments.is_some() => {
                let name = declared.name.text;
                return self.refuse(
                    declared.span,
                    format!("`{name}` takes no arguments here"),
                    format!("expected `{name}`"),
                );
            }
            ("parts" | "stream", _) if capacities.len() > 1 => {
                let message = format!("there are no tables of `{}` in tables", declared.name.text);
                return self.refuse(declared.span, message, "expected one number of entries");
            }
            _ if capacities.len() > 1 || self.kept_struct(declared).is_some() => {
                self.kept_rows(field, &capacities, &mut kept)?;
            }
            ("string" | "bytes", None) => kept.kind = StateKind::Content,
            ("string" | "bytes", Some(capacity)) => kept.kind = StateKind::Contents { capacity },
            ("parts", Some(capacity)) => kept.kind = StateKind::Parts { capacity },
            ("parts", None) => {
                return self.refuse(
                    declared.span,
                    "how many split messages are under way?",
                    "expected a number, such as `parts[64]`",
                );
            }
            ("stream", None) => kept.kind = StateKind::Stream,
            ("stream", Some(_)) => {
                return self.refuse(
                    declared.span,
                    "there is no table of streams",
                    "expected `stream`",
                );
            }
            _ => {
                let (value, range) = self.state_integer(field)?;
                kept.value = value;
                kept.range = range;
                kept.kind = match capacity {
                    Some(capacity) => StateKind::Integers { capacity },
                    None => StateKind::Integer { initial: None },
                };
            }
        }
        if let Some(initial) = &field.initial {
            let value = self.state_initial(initial, &kept)?;
            kept.kind = StateKind::Integer {
                initial: Some(value),
            };
        }
        Some(kept)
    }

    /// Structs, and tables in tables.
    fn kept_rows(
        &mut self,
        field: &ast::StateField<'a>,
        capacities: &[u16],
        kept: &mut Kept<'a>,
    ) -> Option<()> {
        let declared = &field.field_type;
        let members = match (self.kept_struct(declared), declared.name.text) {
            (Some(id), _) => self.members(id, declared.span)?,
            (None, "string" | "bytes") => vec![Member::plain(kept)],
            (None, _) => {
                (kept.value, kept.range) = self.state_integer(field)?;
                vec![Member::plain(kept)]
            }
        };
        let mut shape = RowsShape {
            capacities: [0; STATE_KEYS_MAX],
            values: members.len() as u16,
        };
        if capacities.len() > STATE_KEYS_MAX {
            return self.refuse(
                field.name.span,
                "tables stand too deep in each other",
                format!("an entry has at most {STATE_KEYS_MAX} keys"),
            );
        }
        for (place, capacity) in shape.capacities.iter_mut().zip(capacities) {
            *place = *capacity;
        }
        kept.kind = StateKind::Rows(shape);
        kept.members = members.into();
        Some(())
    }

    fn state_capacity(&mut self, capacity: &Expr<'a>) -> Option<u16> {
        let value = self.constant_integer(capacity, "the number of entries")?;
        if (1..=i128::from(STATE_ENTRIES_MAX)).contains(&value) {
            return u16::try_from(value).ok();
        }
        let message = format!("{value} entries cannot be kept");
        let expected = format!("expected 1 to {STATE_ENTRIES_MAX}");
        self.refuse(capacity.span, message, expected)
    }

    /// The type and the range of an integer, a `bool` or an enum.
    fn state_integer(&mut self, field: &ast::StateField<'a>) -> Option<(ValueType, (i128, i128))> {
        let declared = &field.field_type;
        let any = (0, i128::from(u64::MAX));
        let found = self.plain_type(declared)?;
        Some(match found {
            Type::Unsigned(_) | Type::Signed(_) | Type::Range { .. } => {
                (ValueType::Integer, found.limits()?)
            }
            Type::Bool => (ValueType::Bool, (0, 1)),
            Type::Enum(id) => (ValueType::Enum(id), any),
            Type::Float(_) | Type::Quantized(_) | Type::Coded { .. }
                if let Some(shape) = self.number_shape(declared) =>
            {
                (ValueType::Number(shape), any)
            }
            Type::Broken => return None,
            _ => {
                let spelled = declared.span.text(self.text);
                return self.refuse(
                    declared.span,
                    format!("connections keep no `{spelled}`"),
                    "expected `u1` to `u64`, `i1` to `i64`, a range, a float, `bool`, an enum, \
                         a struct, `string`, `bytes`, `parts` or `stream`",
                );
            }
        })
    }

    fn state_initial(&mut self, initial: &Expr<'a>, kept: &Kept<'a>) -> Option<i128> {
        if !matches!(kept.kind, StateKind::Integer { .. }) {
            let expected = "only numbers, `bool`s and enums can, and not in tables";
            return self.refuse(initial.span, "this cannot have an initial value", expected);
        }
        let typed = self.typed(initial)?;
        let (value, found) = self.as_wanted(typed, kept.value, initial.span)?;
        let Expression::Integer(value) = value else {
            self.report(
                initial.span,
                "an initial value is a number, a `bool` or an enum",
            );
            return None;
        };
        if found != kept.value {
            let words = ("the field is", "its initial value");
            self.report_mismatch(initial.span, words, kept.value, found);
            return None;
        }
        let (low, high) = kept.range;
        if !(low..=high).contains(&value) {
            let spelled = kept.type_text;
            return self.refuse(
                initial.span,
                format!("{value} does not fit the field"),
                format!("`{spelled}` holds {low} to {high}"),
            );
        }
        Some(value)
    }

    /// The setting `state = NAME;` of a `wire` block: which block.
    pub(super) fn state_setting(&mut self, setting: &Setting<'a>) -> Option<usize> {
        let name = Ident::spelled(setting.value.span, self.text);
        let found = self.state_names.all(name.text, self.seen_from(name.span));
        let declared = found.map(|(span, _)| span).collect();
        if self.stands_for_two(name, declared) {
            return None;
        }
        self.named(|checker| &checker.state_names, name, "there is no state")
    }

    /// Whether what the structs of each protocol read and change is in the state that it keeps.
    pub(super) fn check_state_uses(&mut self) {
        for (root, wire, state) in self.keepers.clone() {
            let reached = self.reached_structs(root);
            for (structure, field, span) in self.state_uses.clone() {
                let Some(Some(kept)) = self.kept.get(field) else {
                    continue;
                };
                if !reached.contains(&structure) || state == Some(kept.block) {
                    continue;
                }
                let block = self.file.states.get(kept.block);
                let block = block.map_or("", |block| block.name.text);
                let keeps = match state {
                    None => "no state",
                    Some(_) => "another state",
                };
                self.report(span, format!("the wire `{}` keeps {keeps}", wire.text))
                    .label(format!("this is kept by `{block}`"))
                    .related(wire.span, format!("`state = {block};` is missing here"));
                break;
            }
        }
    }

    /// A struct and all that it holds.
    fn reached_structs(&self, root: StructId) -> BTreeSet<StructId> {
        let mut reached = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            for head in self.heads.get(id.0 as usize).into_iter().flatten() {
                if let HeadKind::Struct(inner) = head.kind
                    && reached.insert(inner)
                {
                    open.push(inner);
                }
            }
        }
        reached
    }

    /// Whether a path reads the state of the connection: a field called `state` goes first.
    pub(super) fn is_state_path(&self, path: &[Ident<'a>]) -> bool {
        self.scope.structure.is_some()
            && path.first().is_some_and(|first| first.text == "state")
            && self.scope.visible.iter().all(|(name, _)| *name != "state")
    }

    /// A single value of the state.
    pub(super) fn typed_state(&mut self, expr: &Expr<'a>) -> Option<Typed> {
        let (path, kept, reached) = self.state_path(expr, Use::Value)?;
        match reached {
            Reached::Value(value, ..) => Some((Expression::State(Box::new(path)), value)),
            Reached::All(keys) if keys > 0 => {
                self.report(expr.span, format!("`{}` is a table", kept.name.text))
                    .label(format!("{keys} more keys lead to an entry"))
                    .related(kept.name.span, "declared here");
                None
            }
            _ => {
                let spelled = expr.span.text(self.text);
                self.report(expr.span, format!("`{spelled}` is a struct, not a value"))
                    .label("expected one of its fields")
                    .related(kept.name.span, "declared here");
                None
            }
        }
    }

    /// `known(EXPRESSION)`
    pub(super) fn typed_known(&mut self, name: Ident<'a>, arguments: &[Expr<'a>]) -> Option<Typed> {
        let [argument] = arguments else {
            let expected = "expected `known(state.NAME)`";
            return self.refuse(name.span, "`known` asks about one value", expected);
        };
        if let ExprKind::Path(path) | ExprKind::Index(path, ..) = &argument.kind
            && self.is_state_path(path)
        {
            // A whole struct is known where something was set of it.
            let (path, ..) = self.state_path(argument, Use::Value)?;
            let kept = Box::new(Expression::State(Box::new(path)));
            return Some((Expression::Known(kept), ValueType::Bool));
        }
        let (expression, _) = self.typed(argument)?;
        if let Expression::Integer(_) | Expression::Float(_) = expression {
            let expected = "expected a value of the connection's state";
            return self.refuse(argument.span, "a constant is always known", expected);
        }
        Some((Expression::Known(Box::new(expression)), ValueType::Bool))
    }

    /// `state.NAME`, `state.NAME[KEY].FIELD`, `state.other.NAME`.
    pub(super) fn state_path(
        &mut self,
        expr: &Expr<'a>,
        used: Use,
    ) -> Option<(StatePath, Kept<'a>, Reached)> {
        let (path, given, inside): (&[Ident<'a>], &[Expr<'a>], &[Ident<'a>]) = match &expr.kind {
            ExprKind::Path(path) => (path, &[], &[]),
            ExprKind::Index(path, keys, inside) => (path, keys, inside),
            _ => (&[], &[], &[]),
        };
        let span = expr.span;
        let mut names = path.iter().skip(1);
        let mut name = names.next().copied();
        let other = name.is_some_and(|name| name.text == "other");
        if other {
            name = names.next().copied();
        }
        let Some(name) = name else {
            let expected = "expected one of its fields, such as `state.NAME`";
            return self.refuse(span, "the state is not a value", expected);
        };
        let place = self.state_field_named(name)?;
        let structure = self.scope.structure?;
        self.state_uses.push((structure, place, name.span));
        let kept = self.kept.get(place)?.clone()?;
        if other && !kept.each {
            self.report_one_for_both(name, kept.name.span);
            return None;
        }
        self.check_use(&kept, name, used)?;
        let wanted = match kept.kind {
            StateKind::Integers { .. } | StateKind::Contents { .. } | StateKind::Parts { .. } => 1,
            StateKind::Rows(shape) => shape.keys(),
            StateKind::Integer { .. } | StateKind::Content | StateKind::Stream => 0,
        };
        if let Some(key) = given.get(wanted) {
            let message = match wanted {
                0 => format!("`{}` is not a table", name.text),
                _ => format!("`{}` has no table in this one", name.text),
            };
            self.report(key.span, message)
                .label("expected no key")
                .related(kept.name.span, "declared here");
            return None;
        }
        let mut keys = Vec::new();
        for key in given {
            keys.push(self.integer(key, "a key")?);
        }
        let is_rows = matches!(kept.kind, StateKind::Rows(_));
        let rest: Vec<Ident<'a>> = names.chain(inside).copied().collect();
        if given.len() < wanted && !(is_rows && rest.is_empty()) {
            self.report(span, format!("`{}` is a table", name.text))
                .label(format!("expected a key: `state.{}[KEY]`", name.text))
                .related(kept.name.span, "declared here");
            return None;
        }
        let (part, reached) = match (is_rows, given.len() < wanted) {
            (true, true) => (StatePart::All, Reached::All(wanted - given.len())),
            (true, false) => self.reached(&kept, name, &rest)?,
            (false, _) => {
                if let Some(more) = rest.first() {
                    let message = format!("`{}` is not a struct", name.text);
                    return self.refuse(more.span, message, "only a struct has fields");
                }
                let spelled = kept.type_text.into();
                let reached = Reached::Value(kept.value, kept.range, spelled);
                (StatePart::Plain, reached)
            }
        };
        let path = StatePath {
            field: place as u16,
            other,
            keys,
            part,
        };
        Some((path, kept, reached))
    }

    fn report_one_for_both(&mut self, name: Ident<'a>, declared: Span) {
        let message = format!("`{}` is one for both directions", name.text);
        self.report(name.span, message)
            .label(format!("expected `state.{}`", name.text))
            .related(declared, "declared without `each`");
    }

    fn state_field_named(&mut self, name: Ident<'a>) -> Option<usize> {
        let seen = self.seen_from(name.span);
        let found = self.kept_names.all(name.text, seen);
        let (declared, places): (Vec<Span>, Vec<usize>) = found.unzip();
        if let Some(&place) = places.first() {
            return (!self.stands_for_two(name, declared)).then_some(place);
        }
        let names = self.kept_names.seen(seen);
        let suggestion = did_you_mean(name.text, names.iter().copied());
        let report = self.report(name.span, format!("connections keep no `{}`", name.text));
        match (suggestion, names.is_empty()) {
            (Some(suggestion), _) => report.label("unknown field").help(suggestion),
            (None, false) => report.label("expected a field of a `state` block"),
            (None, true) => report
                .label("the file has no `state` block")
                .help("declare what connections keep: `state NAME { FIELD: TYPE; }`"),
        };
        None
    }

    fn check_use(&mut self, kept: &Kept<'a>, name: Ident<'a>, used: Use) -> Option<()> {
        let there = match kept.kind {
            StateKind::Parts { .. } => Use::Parts,
            StateKind::Stream => Use::Stream,
            _ => Use::Value,
        };
        if there == used {
            return Some(());
        }
        let (what, label) = match there {
            Use::Parts => ("holds parts of split messages", "only `join` uses it"),
            Use::Stream => ("is a byte stream", "only `follow` uses it"),
            Use::Value => ("is a value", "expressions read it and `set` sets it"),
        };
        let message = format!("`{}` {what}", name.text);
        self.report(name.span, message)
            .label(label)
            .related(kept.name.span, "declared here");
        None
    }
}

/// The fields of all `state` blocks with their places in a connection's state.
pub(super) fn state_fields(kept: &[Option<Kept<'_>>]) -> Vec<StateField> {
    let mut fields = Vec::new();
    let mut place: u16 = 0;
    for kept in kept.iter().flatten() {
        let name: Arc<str> = kept.name.text.into();
        fields.push(StateField {
            name,
            each: kept.each,
            kind: kept.kind,
            values: kept.members.iter().map(Member::named).collect(),
            place,
        });
        place = place.saturating_add(1 + u16::from(kept.each));
    }
    fields
}
