//! Windows: parts of a packet whose size is known before they are read.

use std::sync::Arc;

use super::Checker;
use super::bodies::Body;
use super::declared::Scope;
use super::model::{Expression, Step, Window};
use crate::report::Span;
use crate::syntax::ast::{ByteOrderOf, Expr, Field, Ident, Size, SizeBlock};

impl<'a> Checker<'a, '_> {
    /// `byte_order = if (CONDITION) little else big;`
    pub(super) fn order_step(&mut self, inner: &ByteOrderOf<'a>, body: &Body<'a>) -> Option<Step> {
        let first = self.is_big(inner.order);
        let Some((condition, other)) = &inner.choice else {
            let big = Expression::Integer(first?.into());
            return Some(Step::ByteOrder { big });
        };
        let condition = self.condition(condition, &body.scope);
        let (first, other, condition) = (first?, self.is_big(*other)?, condition?);
        let big = match (first, other) {
            (true, false) => condition,
            (false, true) => Expression::Not(Box::new(condition)),
            (same, _) => Expression::Integer(same.into()),
        };
        Some(Step::ByteOrder { big })
    }

    fn is_big(&mut self, order: Ident<'a>) -> Option<bool> {
        match order.text {
            "little" => Some(false),
            "big" => Some(true),
            other => {
                let message = format!("there is no byte order `{other}`");
                self.report_choice(order.span, message, other, ["little", "big"]);
                None
            }
        }
    }

    /// `size(BYTES)`; `rest_key` is what JSON calls what is left in it.
    pub(super) fn window(
        &mut self,
        size: &Size<'a>,
        rest_key: Arc<str>,
        scope: &Scope<'a>,
    ) -> Option<Window> {
        let text = size.span.text(self.text).into();
        let size = self.integer(&size.bytes, scope, "a size")?;
        Some(Window {
            at: None,
            size: Some(size),
            text,
            rest_key,
            layer: None,
        })
    }

    /// `at (BIT)`
    fn place(&mut self, at: &Size<'a>, rest_key: Arc<str>, scope: &Scope<'a>) -> Option<Window> {
        let text = at.span.text(self.text).into();
        let at = self.integer(&at.bytes, scope, "a place")?;
        Some(Window {
            at: Some(at),
            size: None,
            text,
            rest_key,
            layer: None,
        })
    }

    /// The window that `TYPE[bytes SIZE]` fills.
    pub(super) fn filled(
        &mut self,
        bytes: &Expr<'a>,
        repeat: Span,
        declared: &Field<'a>,
        scope: &Scope<'a>,
    ) -> Option<Window> {
        if let Some(size) = &declared.size {
            self.report(
                size.span,
                "the repeat says already how many bytes there are",
            )
            .label("expected no `size` here")
            .related(repeat, "these");
        }
        let text = repeat.text(self.text).into();
        let size = self.integer(bytes, scope, "a number of bytes")?;
        let rest_key = format!("{}.rest", declared.name.text).into();
        Some(Window {
            at: None,
            size: Some(size),
            text,
            rest_key,
            layer: None,
        })
    }

    /// `size (BYTES) { ... }` or `at (BIT) { ... }`
    pub(super) fn size_step(
        &mut self,
        declared: &SizeBlock<'a>,
        body: &mut Body<'a>,
    ) -> Option<Step> {
        let (word, blocks) = if declared.is_at {
            ("at", &mut body.at_blocks)
        } else {
            ("size", &mut body.size_blocks)
        };
        *blocks += 1;
        let rest_key: Arc<str> = match *blocks {
            1 => format!("{word}.rest").into(),
            more => format!("{word}_{more}.rest").into(),
        };
        let window = if declared.is_at {
            self.place(&declared.size, rest_key, &body.scope)
        } else {
            self.window(&declared.size, rest_key, &body.scope)
        };
        let body = self.steps(&declared.body, body);
        Some(Step::Window {
            window: window?,
            body,
        })
    }
}
