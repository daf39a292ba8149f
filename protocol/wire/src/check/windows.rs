//! Windows: parts of a packet whose size is known before they are read.

use super::Checker;
use super::bodies::Body;
use super::model::{Expression, Step, Window};
use crate::report::Span;
use crate::syntax::ast::{ByteOrderOf, Expr, Field, Ident, Size, SizeBlock};

impl<'a> Checker<'a, '_> {
    /// `byte_order = if (CONDITION) little else big;`
    pub(super) fn order_step(&mut self, inner: &ByteOrderOf<'a>) -> Option<Step> {
        let first = self.is_big(inner.order);
        let Some((condition, other)) = &inner.choice else {
            let big = Expression::Integer(first?.into());
            return Some(Step::ByteOrder { big });
        };
        let condition = self.condition(condition);
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

    /// A window of this many bytes, for `what`, as the text says at a place; `rest_key` is what JSON calls
    /// what is left in it.
    pub(super) fn window(
        &mut self,
        bytes: &Expr<'a>,
        what: &str,
        said: Span,
        rest_key: String,
    ) -> Option<Window> {
        let size = self.integer(bytes, what)?;
        let text = said.text(self.text).into();
        Some(Window {
            size: Some(size),
            ..Window::whole(text, rest_key)
        })
    }

    /// The window that `TYPE[bytes SIZE]` fills.
    pub(super) fn filled(
        &mut self,
        bytes: &Expr<'a>,
        repeat: Span,
        declared: &Field<'a>,
    ) -> Option<Window> {
        if let Some(size) = &declared.size {
            self.report(
                size.span,
                "the repeat says already how many bytes there are",
            )
            .label("expected no `size` here")
            .related(repeat, "these");
        }
        let rest_key = format!("{}.rest", declared.name.text);
        self.window(bytes, "a number of bytes", repeat, rest_key)
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
        let rest_key = match *blocks {
            1 => format!("{word}.rest"),
            more => format!("{word}_{more}.rest"),
        };
        let Size { bytes, span } = &declared.size;
        let window = if declared.is_at {
            let text = span.text(self.text).into();
            let at = self.integer(bytes, "a place");
            at.map(|at| Window {
                at: Some(at),
                ..Window::whole(text, rest_key)
            })
        } else {
            self.window(bytes, "a size", *span, rest_key)
        };
        let body = self.steps(&declared.body, body);
        Some(Step::Window {
            window: window?,
            body,
        })
    }
}
