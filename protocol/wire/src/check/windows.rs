//! Windows: parts of a packet whose size is known before they are read.

use std::sync::Arc;

use super::Checker;
use super::bodies::Body;
use super::expressions::Scope;
use super::model::{Step, Window};
use crate::report::Span;
use crate::syntax::ast::{Expr, Field, Size, SizeBlock};

impl<'a> Checker<'a, '_> {
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
        let (word, blocks) = match declared.is_at {
            true => ("at", &mut body.at_blocks),
            false => ("size", &mut body.size_blocks),
        };
        *blocks += 1;
        let rest_key: Arc<str> = match *blocks {
            1 => format!("{word}.rest").into(),
            more => format!("{word}_{more}.rest").into(),
        };
        let window = match declared.is_at {
            true => self.place(&declared.size, rest_key, &body.scope),
            false => self.window(&declared.size, rest_key, &body.scope),
        };
        let body = self.steps(&declared.body, body);
        Some(Step::Window {
            window: window?,
            body,
        })
    }
}
