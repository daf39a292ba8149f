//! The statements that join what a connection keeps: `join`, `follow`.

use super::Checker;
use super::bodies::Body;
use super::declared::{HeadKind, Kept, Scope, ValueType};
use super::meanings::fields;
use super::model::{Expression, FieldId, FollowStep, JoinStep, Repeat, StatePath, Step, Type};
use super::state::{Reached, Use};
use super::type_names::{IntegerName, width_of};
use crate::syntax::ast::{self, Expr, ExprKind, Follow, Join};

impl<'a> Checker<'a, '_> {
    /// `join NAME: TYPE from state.NAME[KEY] (INDEX, COUNT, DATA);`
    pub(super) fn join_step(&mut self, declared: &Join<'a>, body: &mut Body<'a>) -> Option<Step> {
        let path = self.target(&declared.from, &body.scope, Use::Parts);
        let [index, count, data] = declared.arguments.as_slice() else {
            self.report(
                declared.from.span,
                "a part has an index, a count and its data",
            )
            .label("expected `(INDEX, COUNT, DATA)` after this");
            self.joined(&declared.field, body);
            return None;
        };
        let index = self.integer(index, &body.scope, "the index of a part");
        let count = self.integer(count, &body.scope, "the number of parts");
        let data = self.data(data, &body.scope);
        if let Some(repeat) = &declared.field.repeat {
            self.report(repeat.span, "parts are joined to one message")
                .label("expected no repeat");
        }
        let field = self.joined(&declared.field, body);
        Some(Step::Join(Box::new(JoinStep {
            field,
            path: path?.0,
            index: index?,
            count: count?,
            data: data?,
        })))
    }

    /// `follow NAME: TYPE[until end] from state.NAME (POSITION, DATA);`
    pub(super) fn follow_step(
        &mut self,
        declared: &Follow<'a>,
        body: &mut Body<'a>,
    ) -> Option<Step> {
        let path = self.target(&declared.from, &body.scope, Use::Stream);
        let [position, data] = declared.arguments.as_slice() else {
            self.report(
                declared.from.span,
                "a piece of a stream has a position and its data",
            )
            .label("expected `(POSITION, DATA)` after this");
            self.joined(&declared.field, body);
            return None;
        };
        let position = self.integer(position, &body.scope, "a position in a stream");
        let data = self.data(data, &body.scope);
        let wrap_bits = match &position {
            Some(Expression::Field(path)) => self.unsigned_width(path, &body.scope),
            _ => 0,
        };
        let field = self.joined(&declared.field, body);
        let is_open = body
            .fields
            .get(field.0 as usize)
            .is_some_and(|field| matches!(field.repeat, Some(Repeat::UntilEnd)));
        if let Some(repeat) = declared.field.repeat.as_ref().filter(|_| !is_open) {
            self.report(repeat.span, "a stream goes on as long as packets come")
                .label("expected `[until end]`");
        }
        Some(Step::Follow(Box::new(FollowStep {
            field,
            path: path?.0,
            position: position?,
            wrap_bits,
            data: data?,
        })))
    }

    pub(super) fn target(
        &mut self,
        target: &Expr<'a>,
        scope: &Scope<'a>,
        used: Use,
    ) -> Option<(StatePath, Kept<'a>, Reached)> {
        if !matches!(target.kind, ExprKind::Path(_) | ExprKind::Index(..)) {
            self.report(target.span, "this is not a field of the state")
                .label("expected `state.NAME`");
            return None;
        }
        self.state_path(target, scope, used)
    }

    /// Declares the field that is read from joined bytes. Nobody reads it: it is not always there.
    fn joined(&mut self, declared: &ast::Field<'a>, body: &mut Body<'a>) -> FieldId {
        let id = self.field(declared, body);
        body.scope.visible.pop();
        if let Some(field) = body.fields.get(id.0 as usize)
            && !matches!(field.field_type, Type::Struct(_) | Type::Broken)
        {
            self.report(declared.field_type.span, "what is joined is a struct")
                .label("expected a struct");
        }
        id
    }

    fn data(&mut self, data: &Expr<'a>, scope: &Scope<'a>) -> Option<Expression> {
        let (expression, found) = self.typed(data, Some(scope))?;
        let is_content = matches!(found, ValueType::Text | ValueType::Bytes);
        if is_content && matches!(expression, Expression::Field(_)) {
            return Some(expression);
        }
        let found = self.shown(found);
        self.report(
            data.span,
            format!("the data is a field of bytes, not {found}"),
        )
        .label("expected a field of type `bytes`");
        None
    }

    /// The width of the field that a path leads to, where it is a `u1` to `u63`; else 0.
    fn unsigned_width(&self, path: &[FieldId], scope: &Scope<'a>) -> u8 {
        let mut structure = scope.structure;
        for (place, id) in path.iter().enumerate() {
            if place + 1 == path.len() {
                let declared = self.file.structs.get(structure.0 as usize);
                let fields = declared.map(|declared| fields(&declared.body));
                let field = fields.and_then(|fields| fields.get(id.0 as usize).copied());
                let width = field
                    .and_then(|field| width_of(field.field_type.name.text))
                    .and_then(IntegerName::unsigned_bits);
                return width.filter(|&width| width < 64).unwrap_or(0);
            }
            let heads = self.heads.get(structure.0 as usize);
            match heads.and_then(|heads| heads.get(id.0 as usize)) {
                Some(head) => match head.kind {
                    HeadKind::Struct(inner) => structure = inner,
                    _ => return 0,
                },
                None => return 0,
            }
        }
        0
    }
}
