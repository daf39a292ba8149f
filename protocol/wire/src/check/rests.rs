//! Fields that nothing is left for: those after one that takes all that is left.

use super::Checker;
use super::types::{is_number, is_type, is_word, width_of};
use crate::report::Span;
use crate::syntax::ast::{Expr, ExprKind, Field, Ident, Statement, Until};

/// What statements do to what is left in the window around them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taking<'a> {
    rest: Option<Rest<'a>>,
    /// A byte or more is read, whatever a packet says.
    needs_byte: bool,
}

/// A field that takes all whole bytes that are left.
#[derive(Clone, Copy, Debug)]
struct Rest<'a> {
    name: Ident<'a>,
    field_type: Span,
    /// The field of the struct that it stands in, seen from where something comes after it.
    inside: Option<&'a str>,
    /// Every packet has it.
    always: bool,
}

impl<'a> Rest<'a> {
    fn sometimes(self) -> Rest<'a> {
        Rest {
            always: false,
            ..self
        }
    }
}

impl<'a> Checker<'a, '_> {
    /// Works out for every struct what it leaves to whatever comes after it.
    pub(super) fn collect_rests(&mut self) {
        let file = self.file;
        self.takings = vec![Taking::default(); file.structs.len()];
        let weight = |taking: &Taking<'_>| {
            let rest = taking.rest.map(|rest| rest.always);
            (rest, taking.needs_byte)
        };
        // A round finds more about one struct at least, or is the last: each knows more twice at most.
        loop {
            let mut changed = false;
            for (index, structure) in file.structs.iter().enumerate() {
                let found = self.taking(&structure.body);
                changed |= weight(&found) != weight(&self.takings[index]);
                self.takings[index] = found;
            }
            if !changed {
                break;
            }
        }
    }

    /// Reports a field that comes after `bytes(rest)` or a text of all that is left, be it at the end
    /// of a struct or of a branch. Less than a byte can be left after those.
    pub(super) fn check_after_rest(&mut self, statements: &[Statement<'a>]) {
        let mut rest: Option<Rest<'a>> = None;
        for statement in statements {
            let next = match rest {
                Some(rest) if rest.always => first_field(statement),
                // Two branches may exclude each other: what is read in any case may not come.
                Some(_) => match statement {
                    Statement::Field(field) if self.needs_byte(field) => Some(&**field),
                    _ => None,
                },
                None => None,
            };
            if let (Some(rest), Some(next)) = (rest, next) {
                self.report_after_rest(rest, next.name);
                return;
            }
            let found = self.rest_of(statement);
            rest = found.filter(|found| found.always).or(rest).or(found);
        }
    }

    fn report_after_rest(&mut self, rest: Rest<'a>, next: Ident<'a>) {
        let (taker, next_name) = (rest.name.text, next.text);
        let after = match (rest.inside, rest.always) {
            (None, true) => format!("after `{taker}`"),
            (None, false) => format!("where a packet has `{taker}`"),
            (Some(inside), true) => format!("after `{inside}`, which ends with `{taker}`"),
            (Some(inside), false) => format!("where `{inside}` ends with `{taker}`"),
        };
        self.report(
            next.span,
            format!("nothing is left for `{next_name}` {after}"),
        )
        .label("expected no field after one that takes all that is left")
        .related(rest.field_type, "takes all whole bytes that are left")
        .help("say how many bytes that one has, or confine it: `size(length)`");
    }

    fn taking(&self, statements: &[Statement<'a>]) -> Taking<'a> {
        let rests = statements.iter().filter_map(|it| self.rest_of(it));
        let needs =
            |it: &Statement<'a>| matches!(it, Statement::Field(field) if self.needs_byte(field));
        Taking {
            rest: strongest(rests),
            needs_byte: statements.iter().any(needs),
        }
    }

    /// What a statement takes of the window around it.
    fn rest_of(&self, statement: &Statement<'a>) -> Option<Rest<'a>> {
        let branch =
            |body: &[Statement<'a>]| strongest(body.iter().filter_map(|it| self.rest_of(it)));
        match statement {
            Statement::Field(field) => self.rest_in(field),
            Statement::If(inner) => {
                either([branch(&inner.then), branch(&inner.otherwise)].into_iter())
            }
            // A value without an arm ends the look at the packet.
            Statement::Switch(inner) => either(inner.arms.iter().map(|arm| branch(&arm.body))),
            // Rest ends where the window does, or stands elsewhere.
            Statement::Size(_)
            | Statement::Align(_)
            | Statement::ByteOrder(_)
            | Statement::Set(_)
            | Statement::Join(_)
            | Statement::Follow(_) => None,
        }
    }

    fn rest_in(&self, field: &Field<'a>) -> Option<Rest<'a>> {
        let is_confined = field.size.is_some() || field.through.is_some();
        let until = field.repeat.as_ref().map(|repeat| &repeat.until);
        if field.computed.is_some() || is_confined || matches!(until, Some(Until::Bytes(_))) {
            return None;
        }
        let declared = &field.field_type;
        let rest = match declared.name.text {
            "bytes" | "string" => {
                let is_rest = length_of(field).is_some_and(|length| is_word(length, "rest"));
                is_rest.then_some(Rest {
                    name: field.name,
                    field_type: declared.span,
                    inside: None,
                    always: true,
                })
            }
            _ => {
                let rest = self.taking_of(field)?.rest?;
                // What a struct is given may say that it has no such branch.
                let is_known = rest.always || declared.arguments.is_none();
                is_known.then_some(Rest {
                    inside: Some(field.name.text),
                    ..rest
                })
            }
        };
        match until {
            Some(_) => rest.map(Rest::sometimes),
            None => rest,
        }
    }

    /// What the struct does that is a field's type.
    fn taking_of(&self, field: &Field<'a>) -> Option<Taking<'a>> {
        let name = &field.field_type.name;
        let id = self
            .struct_names
            .get(name.text, self.seen_from(name.span))?;
        self.takings.get(id.0 as usize).copied()
    }

    /// Whether a field reads a byte or more, whatever a packet says.
    fn needs_byte(&self, field: &Field<'a>) -> bool {
        if field.computed.is_some()
            || field.repeat.is_some()
            || field.size.is_some()
            || field.through.is_some()
        {
            return false;
        }
        let name = &field.field_type.name;
        match name.text {
            "bytes" | "string" => length_of(field).is_some_and(|length| {
                let is_known = matches!(length.kind, ExprKind::Integer(1..));
                is_known || is_word(length, "zero") || is_type(length)
            }),
            "quantized" | "smallest_three" => false,
            "leb128" | "sleb128" | "zigzag" | "vlq" | "prefix_varint" | "quic_varint" | "uuid"
            | "hash" => true,
            text if is_number(text) || is_whole(text) => true,
            text => {
                let of_enum = self.enum_names.get(text, self.seen_from(name.span));
                let base = of_enum.map(|id| self.file.enums[id.0 as usize].base.name.text);
                base.is_some_and(is_whole) || self.taking_of(field).is_some_and(|it| it.needs_byte)
            }
        }
    }
}

/// The first that every packet has; else the first.
fn strongest<'a>(mut rests: impl Iterator<Item = Rest<'a>>) -> Option<Rest<'a>> {
    let first = rests.next()?;
    match first.always {
        true => Some(first),
        false => rests.find(|rest| rest.always).or(Some(first)),
    }
}

/// What branches take of which a packet has one.
fn either<'a>(branches: impl Iterator<Item = Option<Rest<'a>>>) -> Option<Rest<'a>> {
    let (mut found, mut always) = (None, true);
    for branch in branches {
        always &= branch.is_some_and(|rest| rest.always);
        found = found.or(branch);
    }
    found.map(|rest: Rest<'a>| Rest { always, ..rest })
}

/// What stands in the first place between the parentheses of a type.
fn length_of<'s, 'a>(field: &'s Field<'a>) -> Option<&'s Expr<'a>> {
    field.field_type.arguments.as_deref()?.first()
}

/// Whether it is an integer of a byte or more.
fn is_whole(name: &str) -> bool {
    let bits = width_of(name).and_then(|width| width.digits.parse::<u32>().ok());
    bits.is_some_and(|bits| bits >= 8)
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
