//! The statements that join what a connection keeps: `join`, `follow`.

use super::Checker;
use super::bodies::Body;
use super::declared::{HeadKind, Kept, is_content};
use super::model::{Expression, FieldId, FollowStep, JoinStep, Repeat, StatePath, Step, Type};
use super::state::{Reached, Use};
use super::type_names::width_of;
use crate::syntax::ast::{self, Expr, ExprKind, Joined, fields};

impl<'a> Checker<'a, '_> {
    /// `join NAME: TYPE from state.NAME[KEY] (INDEX, COUNT, DATA);`
    pub(super) fn join_step(&mut self, declared: &Joined<'a>, body: &mut Body<'a>) -> Option<Step> {
        let path = self.target(&declared.from, Use::Parts);
        let [index, count, data] = declared.arguments.as_slice() else {
            self.report(
                declared.from.span,
                "a part has an index, a count and its data",
            )
            .label("expected `(INDEX, COUNT, DATA)` after this");
            self.joined(&declared.field, body);
            return None;
        };
        let index = self.integer(index, "the index of a part");
        let count = self.integer(count, "the number of parts");
        let data = self.data(data);
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
        declared: &Joined<'a>,
        body: &mut Body<'a>,
    ) -> Option<Step> {
        let path = self.target(&declared.from, Use::Stream);
        let [position, data] = declared.arguments.as_slice() else {
            self.report(
                declared.from.span,
                "a piece of a stream has a position and its data",
            )
            .label("expected `(POSITION, DATA)` after this");
            self.joined(&declared.field, body);
            return None;
        };
        let position = self.integer(position, "a position in a stream");
        let data = self.data(data);
        let wrap_bits = match &position {
            Some(Expression::Field(path)) => self.unsigned_width(path).unwrap_or(0),
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
        used: Use,
    ) -> Option<(StatePath, Kept<'a>, Reached)> {
        if !matches!(target.kind, ExprKind::Path(_) | ExprKind::Index(..)) {
            let message = "this is not a field of the state";
            return self.refuse(target.span, message, "expected `state.NAME`");
        }
        self.state_path(target, used)
    }

    /// Declares the field that is read from joined bytes. Nobody reads it: it is not always there.
    fn joined(&mut self, declared: &ast::Field<'a>, body: &mut Body<'a>) -> FieldId {
        let id = self.field(declared, body);
        self.scope.visible.pop();
        if let Some(field) = body.fields.get(id.0 as usize)
            && !matches!(field.field_type, Type::Struct(_) | Type::Broken)
        {
            self.report(declared.field_type.span, "what is joined is a struct")
                .label("expected a struct");
        }
        id
    }

    fn data(&mut self, data: &Expr<'a>) -> Option<Expression> {
        let (expression, found) = self.typed(data)?;
        if is_content(found) && matches!(expression, Expression::Field(_)) {
            return Some(expression);
        }
        let takes = "the data is a field of bytes, not";
        self.refuse_value(data.span, takes, found, "expected a field of type `bytes`")
    }

    /// The width of the field that a path leads to, where it is a `u1` to `u63`.
    fn unsigned_width(&self, path: &[FieldId]) -> Option<u8> {
        let (last, structs) = path.split_last()?;
        let mut structure = self.scope.structure?;
        for id in structs {
            let head = self.heads.get(structure.0 as usize)?.get(id.0 as usize)?;
            let HeadKind::Struct(inner) = head.kind else {
                return None;
            };
            structure = inner;
        }
        let declared = self.file.structs.get(structure.0 as usize)?;
        let field = *fields(&declared.body).get(last.0 as usize)?;
        let width = width_of(field.field_type.name.text)?.unsigned_bits();
        width.filter(|&width| width < 64)
    }
}
