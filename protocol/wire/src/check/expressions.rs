//! Expressions: names resolved, types checked, constants folded.

use std::sync::Arc;

use super::Checker;
use super::declared::{Head, HeadKind, Item, Scope, Typed, ValueType};
use super::model::{EnumId, Expression, FieldId, StructId};
use crate::arithmetic;
use crate::report::Span;
use crate::syntax::ast::{Arithmetic, Binary, Compare, Expr, ExprKind, Ident, Unary};

impl<'a> Checker<'a, '_> {
    /// Types an expression that reads constants alone.
    pub(super) fn constant(&mut self, expr: &Expr<'a>) -> Option<Typed> {
        self.within(Scope::default(), |checker| checker.typed(expr))
    }

    /// Types an expression; `None` where a mistake was reported.
    pub(super) fn typed(&mut self, expr: &Expr<'a>) -> Option<Typed> {
        let found = self.typed_whole(expr);
        let span = expr.span;
        if found.is_none() && self.uses.is_some() && self.broken.insert((span.start, span.end)) {
            for part in expr.parts() {
                self.typed(part);
            }
        }
        found
    }

    fn typed_whole(&mut self, expr: &Expr<'a>) -> Option<Typed> {
        match &expr.kind {
            ExprKind::Integer(value) => Some((Expression::Integer(*value), ValueType::Integer)),
            ExprKind::Float(value) => Some((Expression::Float(*value), ValueType::Float)),
            ExprKind::Bool(value) => {
                Some((Expression::Integer(i128::from(*value)), ValueType::Bool))
            }
            ExprKind::Text(text) => Some((Expression::Text(text[..].into()), ValueType::Text)),
            ExprKind::Bytes(bytes) => {
                Some((Expression::Bytes(bytes.as_slice().into()), ValueType::Bytes))
            }
            ExprKind::Interval(..) => {
                let expected = "expected one number, a field or a constant";
                self.refuse(expr.span, "a range of numbers is not a value", expected)
            }
            ExprKind::Path(path) | ExprKind::Index(path, ..) if self.is_state_path(path) => {
                self.typed_state(expr)
            }
            ExprKind::Path(path) => self.typed_path(path, expr.span),
            ExprKind::Index(..) => {
                let message = "only tables of the connection's state have keys";
                let expected = "expected a number, a field or a constant";
                self.refuse(expr.span, message, expected)
            }
            ExprKind::Call(name, arguments) if name.text == "known" => {
                self.typed_known(*name, arguments)
            }
            ExprKind::Call(name, arguments) => self.typed_call(*name, arguments, expr),
            ExprKind::Unary(operator, inner) => self.typed_unary(*operator, inner, expr),
            ExprKind::Choice(condition, then, otherwise) => {
                self.typed_choice(condition, then, otherwise, expr.span)
            }
            ExprKind::Binary(operator, left, right) => {
                let left_typed = self.typed(left);
                let right_typed = self.typed(right);
                let (left, right) = ((&**left, left_typed?), (&**right, right_typed?));
                self.typed_binary(*operator, left, right, expr.span)
            }
        }
    }

    /// A constant integer.
    pub(super) fn constant_integer(&mut self, expr: &Expr<'a>, what: &str) -> Option<i128> {
        match self.constant(expr)? {
            (Expression::Integer(value), ValueType::Integer) => Some(value),
            (_, found) => {
                let takes = format!("{what} is an integer, not");
                self.refuse_value(expr.span, &takes, found, "expected an integer")
            }
        }
    }

    /// A constant number; integers become floats.
    pub(super) fn constant_float(&mut self, expr: &Expr<'a>, what: &str) -> Option<f64> {
        match self.constant(expr)? {
            (Expression::Integer(value), ValueType::Integer) => Some(value as f64),
            (Expression::Float(value), _) => Some(value),
            (_, found) => {
                let takes = format!("{what} is a number, not");
                self.refuse_value(expr.span, &takes, found, "expected a number")
            }
        }
    }

    /// An integer that may depend on fields.
    pub(super) fn integer(&mut self, expr: &Expr<'a>, what: &str) -> Option<Expression> {
        self.taken_integer(expr, &format!("{what} is an integer, not"))
    }

    /// The same; what a value of another type is refused with ends with that.
    pub(super) fn taken_integer(&mut self, expr: &Expr<'a>, takes: &str) -> Option<Expression> {
        match self.typed(expr)? {
            (expression, ValueType::Integer) => Some(expression),
            (_, found) => self.refuse_value(expr.span, takes, found, "expected an integer"),
        }
    }

    /// A condition.
    pub(super) fn condition(&mut self, expr: &Expr<'a>) -> Option<Expression> {
        let (expression, found) = self.typed(expr)?;
        if found == ValueType::Bool {
            return Some(expression);
        }
        let spelled = expr.span.text(self.text);
        let found = self.shown(found);
        self.report(
            expr.span,
            format!("a condition is true or false, not {found}"),
        )
        .label("expected a comparison or a `bool` field")
        .help(format!("write `{spelled} != 0` if that is what is meant"));
        None
    }

    pub(super) fn shown(&self, value_type: ValueType) -> String {
        match value_type {
            ValueType::Integer => "an integer".to_owned(),
            ValueType::Float => "a float".to_owned(),
            ValueType::Bool => "a truth value".to_owned(),
            ValueType::Text => "a text".to_owned(),
            ValueType::Bytes => "bytes".to_owned(),
            ValueType::Enum(id) => format!("a `{}`", self.file.enums[id.0 as usize].name.text),
            ValueType::Number(shape) => format!("a `{}`", self.shape_text(shape)),
        }
    }

    pub(super) fn typed_path(&mut self, path: &[Ident<'a>], span: Span) -> Option<Typed> {
        let first = *path.first()?;
        let Scope {
            visible, shared, ..
        } = &self.scope;
        let mut readable = visible.iter().rev().chain(shared.iter().rev());
        let field = readable.find(|(name, _)| *name == first.text);
        let field = field.map(|&(_, id)| id);
        let item = self.scope.item.filter(|_| first.text == "item");
        if let (Some(structure), Some(id)) = (self.scope.structure, item.or(field)) {
            return self.typed_field(structure, id, path, span, item.is_some());
        }
        if self.is_ambiguous(first) {
            return None;
        }
        match self.item(first) {
            Some(Item::Constant(place)) if let Some(value) = self.constants.get(&place) => {
                let value = value.clone();
                let Some(second) = path.get(1) else {
                    return value;
                };
                let message = format!("the constant `{}` has no parts", first.text);
                self.report(second.span, message);
            }
            Some(Item::Enum(id)) => return self.typed_member(id, path, span),
            _ if first.text == "index" && path.len() == 1 => return self.index(span),
            _ => self.report_unknown(first),
        }
        None
    }

    fn typed_member(&mut self, id: EnumId, path: &[Ident<'a>], span: Span) -> Option<Typed> {
        let declared = &self.file.enums[id.0 as usize];
        let [_, wanted] = path else {
            let label = format!("expected a member, such as `{}.NAME`", declared.name.text);
            let what = if declared.is_flags {
                format!("the flags `{}` are not a value", declared.name.text)
            } else {
                format!("the enum `{}` is not a value", declared.name.text)
            };
            return self.refuse(span, what, label);
        };
        let value = self.member_value(id, *wanted)?;
        let value_type = if declared.is_flags {
            ValueType::Integer
        } else {
            ValueType::Enum(id)
        };
        Some((Expression::Integer(value), value_type))
    }

    fn member_value(&mut self, id: EnumId, wanted: Ident<'a>) -> Option<i128> {
        let declared = &self.file.enums[id.0 as usize];
        let members = || declared.members.iter().map(|member| member.name.text);
        let Some(place) = members().position(|name| name == wanted.text) else {
            let message = format!("`{}` has no member `{}`", declared.name.text, wanted.text);
            let report = self.report(wanted.span, message);
            report
                .label("unknown member")
                .suggest(wanted.text, members());
            return None;
        };
        self.stands_for(wanted.span, declared.members[place].name.span);
        let value = *self.enum_values.get(id.0 as usize)?.get(place)?;
        Some(i128::from(value))
    }

    pub(super) fn typed_field(
        &mut self,
        structure: StructId,
        id: FieldId,
        path: &[Ident<'a>],
        span: Span,
        is_item: bool,
    ) -> Option<Typed> {
        let mut ids = vec![id];
        let (mut structure, mut id) = (structure, id);
        let mut through_layer = None;
        for (depth, name) in path.iter().enumerate() {
            self.needed_later.insert((structure, id));
            let head = self.head(structure, id);
            if !(is_item && depth == 0) {
                self.stands_for(name.span, head.span);
            }
            let next = path.get(depth + 1);
            through_layer = through_layer.or(head.layered.then_some(head.span));
            if head.repeated && !(is_item && depth == 0) {
                let message = format!("`{}` is repeated", name.text);
                let expected = "an expression can read a single field only";
                return self.refuse(name.span, message, expected);
            }
            let value_type = match (head.kind, next) {
                (HeadKind::Struct(inner), Some(next)) => {
                    if self.recursive[inner.0 as usize] {
                        let message = format!("`{}` can hold itself", name.text);
                        let expected = "an expression cannot read what is inside such a struct";
                        return self.refuse(name.span, message, expected);
                    }
                    id = self.inner_field(inner, name, next)?;
                    structure = inner;
                    ids.push(id);
                    continue;
                }
                (HeadKind::Struct(_), None) => {
                    let message = format!("`{}` is a struct, not a value", name.text);
                    return self.refuse(span, message, "expected one of its fields");
                }
                (HeadKind::Flags(flags), Some(member)) if path.len() == depth + 2 => {
                    let mask = self.member_value(flags, *member)?;
                    self.reads.insert((structure, id));
                    return Some((is_set(ids, mask, span.text(self.text)), ValueType::Bool));
                }
                (_, Some(next)) => {
                    let message = format!("`{}` is not a struct", name.text);
                    return self.refuse(next.span, message, "only a struct has fields");
                }
                (HeadKind::Text | HeadKind::Bytes, None) if through_layer.is_some() => {
                    let message = format!("`{}` is in another stream", name.text);
                    let layer: Span = through_layer.unwrap_or(span);
                    self.report(span, message)
                        .label("an expression can read numbers of another stream only")
                        .related(layer, "this goes through a layer");
                    return None;
                }
                (HeadKind::Other, None) => {
                    let message = format!("`{}` cannot be read", name.text);
                    let expected = "expected an integer, a `bool` or an enum";
                    return self.refuse(span, message, expected);
                }
                (kind, None) => kind.value()?,
            };
            self.reads.insert((structure, id));
            return Some((Expression::Field(ids), value_type));
        }
        None
    }

    /// A field of a struct that an expression reads by its name; `outer` is what is of the struct.
    fn inner_field(
        &mut self,
        inner: StructId,
        outer: &Ident<'a>,
        next: &Ident<'a>,
    ) -> Option<FieldId> {
        let heads = &self.heads[inner.0 as usize];
        let found = heads.iter().position(|head| head.name == next.text);
        let Some(found) = found else {
            let names: Vec<&str> = heads.iter().map(|head| head.name).collect();
            let message = format!("`{}` has no field `{}`", outer.text, next.text);
            let report = self.report(next.span, message);
            report.label("unknown field").suggest(next.text, names);
            return None;
        };
        let head = heads[found];
        if head.conditional && !head.shared {
            self.report_conditional(*next, head);
            return None;
        }
        Some(FieldId(found as u32))
    }

    fn report_conditional(&mut self, name: Ident<'a>, head: Head<'a>) {
        self.report(name.span, format!("`{}` is not always there", name.text))
            .label("an expression can read only what is always there")
            .related(head.span, "it stands inside an `if`, a `switch` or a block");
    }

    pub(super) fn report_unknown(&mut self, name: Ident<'a>) {
        let is_known = |item: Item, or_enum: bool| match item {
            Item::Constant(place) => self.constants.contains_key(&place),
            Item::Enum(_) => or_enum,
            _ => false,
        };
        let Some(structure) = self.scope.structure else {
            let names = self.items_seen(name.span, |item| is_known(item, false));
            self.report(name.span, format!("`{}` is not a constant", name.text))
                .label("expected a number or a constant that is declared before this")
                .suggest(name.text, names);
            return;
        };
        let mut names = self.items_seen(name.span, |item| is_known(item, true));
        let of = self.heads.get(structure.0 as usize);
        let heads = of.map_or(&[][..], Vec::as_slice);
        let declared = heads.iter().find(|head| head.name == name.text).copied();
        if let Some(head) = declared {
            if head.span.start > name.span.start {
                self.report(name.span, format!("`{}` comes later", name.text))
                    .label("an expression reads only what comes before it on the wire")
                    .related(head.span, "declared here");
            } else if !head.conditional {
                let message = format!("`{}` cannot be read by itself", name.text);
                self.report(name.span, message)
                    .label("an expression reads only what comes before it on the wire");
            } else {
                self.report_conditional(name, head);
            }
            return;
        }
        names.extend(self.scope.visible.iter().map(|(name, _)| *name));
        let member = self.member_called(name);
        let report = self.report(name.span, format!("there is no `{}`", name.text));
        report.label("expected a field before this one, a constant or an enum");
        match member {
            Some(member) => report.help(member),
            None => report.suggest(name.text, names),
        };
    }

    fn typed_unary(
        &mut self,
        operator: Unary,
        inner: &Expr<'a>,
        whole: &Expr<'a>,
    ) -> Option<Typed> {
        let (expression, found) = self.typed(inner)?;
        match (operator, found, expression) {
            (Unary::Negate, ValueType::Float, Expression::Float(value)) => {
                Some((Expression::Float(-value), ValueType::Float))
            }
            (Unary::Negate, ValueType::Integer, Expression::Integer(value)) => Some((
                Expression::Integer(value.checked_neg()?),
                ValueType::Integer,
            )),
            (Unary::Negate, ValueType::Integer, expression) => {
                let text: Arc<str> = whole.span.text(self.text).into();
                let zero = Box::new(Expression::Integer(0));
                let expression = Box::new(expression);
                let negated = Expression::Arithmetic(Arithmetic::Subtract, zero, expression, text);
                Some((negated, ValueType::Integer))
            }
            (Unary::Not, ValueType::Bool, Expression::Integer(value)) => {
                Some((Expression::Integer(i128::from(value == 0)), ValueType::Bool))
            }
            (Unary::Not, ValueType::Bool, expression) => {
                Some((Expression::Not(Box::new(expression)), ValueType::Bool))
            }
            (operator, found, _) => {
                let (mark, wants) = match operator {
                    Unary::Negate => ("-", "a number"),
                    Unary::Not => ("!", "a truth value"),
                };
                let takes = format!("`{mark}` takes {wants}, not");
                self.refuse_value(inner.span, &takes, found, &format!("expected {wants}"))
            }
        }
    }

    fn typed_binary(
        &mut self,
        operator: Binary,
        (left, (left_value, left_type)): (&Expr<'a>, Typed),
        (right, (right_value, right_type)): (&Expr<'a>, Typed),
        span: Span,
    ) -> Option<Typed> {
        let boxed = |left, right| (Box::new(left), Box::new(right));
        match operator {
            Binary::And | Binary::Or => {
                for (side, found) in [(left, left_type), (right, right_type)] {
                    if found != ValueType::Bool {
                        let mark = if operator == Binary::And { "&&" } else { "||" };
                        let takes = format!("`{mark}` takes truth values, not");
                        let expected = "expected a comparison or a `bool`";
                        return self.refuse_value(side.span, &takes, found, expected);
                    }
                }
                let (left, right) = boxed(left_value, right_value);
                let expression = match operator {
                    Binary::And => Expression::And(left, right),
                    _ => Expression::Or(left, right),
                };
                Some((expression, ValueType::Bool))
            }
            Binary::Compare(compare) => self.typed_comparison(
                compare,
                (left, (left_value, left_type)),
                (right, (right_value, right_type)),
                span,
            ),
            Binary::Arithmetic(arithmetic) => {
                if let (Some(a), Some(b)) = (float(&left_value), float(&right_value))
                    && (left_type == ValueType::Float || right_type == ValueType::Float)
                {
                    return self.fold_floats(arithmetic, a, b, span);
                }
                for (side, found) in [(left, left_type), (right, right_type)] {
                    if found != ValueType::Integer {
                        let takes = "arithmetic takes integers, not";
                        return self.refuse_value(side.span, takes, found, "expected an integer");
                    }
                }
                self.fold(arithmetic, left_value, right_value, span)
            }
        }
    }

    /// What is done with two integers: of constants a constant.
    pub(super) fn fold(
        &mut self,
        operator: Arithmetic,
        left: Expression,
        right: Expression,
        span: Span,
    ) -> Option<Typed> {
        let folded = match (&left, &right) {
            (Expression::Integer(a), Expression::Integer(b)) => {
                match arithmetic::evaluate(operator, *a, *b) {
                    Ok(value) => Expression::Integer(value),
                    Err(why) => {
                        self.report(span, format!("this has no value: {why}"));
                        return None;
                    }
                }
            }
            _ => {
                let text = span.text(self.text).into();
                Expression::Arithmetic(operator, Box::new(left), Box::new(right), text)
            }
        };
        Some((folded, ValueType::Integer))
    }

    fn typed_comparison(
        &mut self,
        compare: Compare,
        (left, (left_value, left_type)): (&Expr<'a>, Typed),
        (right, (right_value, right_type)): (&Expr<'a>, Typed),
        span: Span,
    ) -> Option<Typed> {
        let is_number_like = !matches!(
            left_type,
            ValueType::Float | ValueType::Text | ValueType::Bytes | ValueType::Number(_)
        );
        if left_type != right_type || !is_number_like {
            self.report_incomparable((left, left_type), (right, right_type), span);
            return None;
        }
        let orders = !matches!(compare, Compare::Equal | Compare::NotEqual);
        if orders && left_type != ValueType::Integer {
            let message = format!("{} has no order", self.shown(left_type));
            return self.refuse(span, message, "expected `==` or `!=`");
        }
        if let (Expression::Integer(a), Expression::Integer(b)) = (&left_value, &right_value) {
            let holds = arithmetic::compare(compare, *a, *b);
            return Some((Expression::Integer(i128::from(holds)), ValueType::Bool));
        }
        let (left, right) = (Box::new(left_value), Box::new(right_value));
        Some((Expression::Compare(compare, left, right), ValueType::Bool))
    }

    fn report_incomparable(
        &mut self,
        (left, left_type): (&Expr<'a>, ValueType),
        (right, right_type): (&Expr<'a>, ValueType),
        span: Span,
    ) {
        let shown = (self.shown(left_type), self.shown(right_type));
        let (other, id) = match (left_type, right_type) {
            (ValueType::Enum(id), ValueType::Integer) => (&right.kind, Some(id)),
            (ValueType::Integer, ValueType::Enum(id)) => (&left.kind, Some(id)),
            _ => (&left.kind, None),
        };
        let member = id.and_then(|id| match other {
            ExprKind::Integer(value) => self.member_with_value(id, *value),
            _ => None,
        });
        let message = format!("{} cannot be compared with {}", shown.0, shown.1);
        let label = if left_type == right_type {
            "expected integers, truth values or an enum"
        } else {
            "expected the same type on both sides"
        };
        let report = self.report(span, message).label(label);
        if let Some(member) = member {
            report.help(format!("write `{member}`"));
        }
    }

    /// `Enum.member`, where a member has this value.
    fn member_with_value(&self, id: EnumId, value: i128) -> Option<String> {
        let declared = self.file.enums.get(id.0 as usize)?;
        let values = self.enum_values.get(id.0 as usize)?;
        let place = values.iter().position(|&v| i128::from(v) == value)?;
        let member = declared.members.get(place)?;
        Some(format!("{}.{}", declared.name.text, member.name.text))
    }

    fn fold_floats(&mut self, operator: Arithmetic, a: f64, b: f64, span: Span) -> Option<Typed> {
        let value = match operator {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
            Arithmetic::Divide => a / b,
            _ => f64::NAN,
        };
        if value.is_finite() {
            return Some((Expression::Float(value), ValueType::Float));
        }
        let expected = "floats can be added, subtracted, multiplied and divided, and stay finite";
        self.refuse(span, "this has no value", expected)
    }
}

/// Whether a field of flags has a bit set.
fn is_set(field: Vec<FieldId>, mask: i128, text: &str) -> Expression {
    let boxed = |value| Box::new(Expression::Integer(value));
    let whole = Box::new(Expression::Field(field));
    let bit = Expression::Arithmetic(Arithmetic::BitAnd, whole, boxed(mask), text.into());
    Expression::Compare(Compare::NotEqual, Box::new(bit), boxed(0))
}

/// A constant as a float.
fn float(expression: &Expression) -> Option<f64> {
    match expression {
        Expression::Float(value) => Some(*value),
        Expression::Integer(value) => Some(*value as f64),
        _ => None,
    }
}
