//! Fields that nothing is left for: those after one that takes all that is left.

use super::Checker;
use super::types::is_word;
use crate::report::Span;
use crate::syntax::ast::{Field, Statement};

impl<'a> Checker<'a, '_> {
    /// Reports a field that comes after `bytes(rest)` or a text of all that is left. Less than a byte
    /// can be left after those.
    pub(super) fn check_after_rest(&mut self, statements: &[Statement<'a>]) {
        let mut rest: Option<Span> = None;
        for statement in statements {
            if let (Some(taken), Some(next)) = (rest, first_field(statement)) {
                self.report(next.name.span, "nothing is left for this field")
                    .label("expected no field after one that takes all that is left")
                    .related(taken, "takes all whole bytes that are left")
                    .help("say how many bytes that one has, or confine it: `size(length)`");
                return;
            }
            if let Statement::Field(field) = statement
                && takes_rest(field)
            {
                rest = Some(field.field_type.span);
            }
        }
    }
}

/// Whether a field takes all whole bytes that are left in the window around it.
fn takes_rest(field: &Field<'_>) -> bool {
    let is_whole = field.computed.is_none()
        && field.repeat.is_none()
        && field.size.is_none()
        && matches!(field.field_type.name.text, "bytes" | "string");
    let arguments = field.field_type.arguments.as_deref();
    let length = arguments.and_then(<[_]>::first);
    is_whole && length.is_some_and(|length| is_word(length, "rest"))
}

/// The first field of a statement that takes a byte or more, or may do so.
fn first_field<'s, 'a>(statement: &'s Statement<'a>) -> Option<&'s Field<'a>> {
    let among = |statements: &'s [Statement<'a>]| statements.iter().find_map(first_field);
    match statement {
        Statement::Field(field) => {
            let spelled = field.field_type.name.text;
            let is_small = field.repeat.is_none()
                && matches!(
                    spelled,
                    "bool" | "u1" | "u2" | "u3" | "u4" | "u5" | "u6" | "u7"
                );
            (field.computed.is_none() && !is_small).then_some(field)
        }
        Statement::If(inner) => among(&inner.then).or_else(|| among(&inner.otherwise)),
        Statement::Switch(inner) => inner.arms.iter().find_map(|arm| among(&arm.body)),
        Statement::Size(inner) if !inner.is_at => among(&inner.body),
        Statement::Size(_)
        | Statement::Align(_)
        | Statement::ByteOrder(_)
        | Statement::Set(_)
        | Statement::Join(_)
        | Statement::Follow(_) => None,
    }
}
