//! `@gives` and `@takes`: values that one side says and the other says back.

use std::sync::Arc;

use super::Checker;
use super::model::Type;
use super::vocabulary::Word;
use crate::said_back::SaidBack;
use crate::syntax::ast::{self, Annotation};

impl<'a> Checker<'a, '_> {
    /// Notes what a field gives or takes.
    pub(super) fn said_back(
        &mut self,
        annotation: &Annotation<'a>,
        word: Word,
        (field, field_type): (&ast::Field<'a>, &Type),
        out: &mut SaidBack,
    ) {
        let word_name = annotation.name.text;
        let [argument] = annotation.arguments.as_slice() else {
            self.report(annotation.span, format!("`@{word_name}` names one value"))
                .label(format!("expected `@{word_name}(NAME)`"));
            return;
        };
        if argument.name().is_none() {
            self.report(argument.span, "this is no name of a value")
                .label(format!("expected `@{word_name}(NAME)`"));
            return;
        }
        let is_fit = field_type.is_unsigned()
            || matches!(field_type, Type::Bytes(_) | Type::BytesRest | Type::Broken);
        if !is_fit || field.repeat.is_some() {
            let spelled = field.field_type.span.text(self.text);
            let message = format!("`@{word_name}` cannot be on a field of type `{spelled}`");
            self.report(annotation.span, message)
                .label("expected a single unsigned integer, or bytes")
                .related(field.field_type.span, "the field's type");
            return;
        }
        let name = argument.span.text(self.text);
        let kept: Arc<str> = name.into();
        match word {
            Word::Takes => {
                self.taken.push((name, argument.span));
                out.takes = Some(kept);
            }
            _ => {
                self.given.insert(name);
                out.gives = Some(kept);
            }
        }
    }

    /// Reports values that are said back and that nobody gives.
    pub(super) fn check_said_back(&mut self) {
        for (name, span) in std::mem::take(&mut self.taken) {
            if self.given.contains(name) {
                continue;
            }
            let given: Vec<&str> = self.given.iter().copied().collect();
            self.report(span, format!("no field gives `{name}`"))
                .label("expected the name of a `@gives(NAME)`")
                .suggest(name, given);
        }
    }
}
