//! Fields that nothing is left for: those after one that takes all that is left.

use std::collections::BTreeMap;

use super::Checker;
use super::takings::{Bits, Rest, Taking};
use super::type_names::{is_number, width_of};
use super::types::{is_type, is_word};
use crate::report::Span;
use crate::syntax::ast::{Expr, ExprKind, Field, Ident, If, Statement, TypeRef, Until};

/// What takes the rest where a condition, by its text without blanks, holds, and where it does not.
type TakenWhere<'a> = BTreeMap<String, [Option<Rest<'a>>; 2]>;

impl<'a> Checker<'a, '_> {
    /// Works out for every struct what it leaves to whatever comes after it.
    pub(super) fn collect_rests(&mut self) {
        let file = self.file;
        self.takings = vec![Taking::default(); file.structs.len()];
        let weight = |taking: &Taking<'_>| (taking.rest.map(|rest| rest.always), taking.bits);
        // A round finds more about one struct at least, or is the last: what is known only grows.
        loop {
            let mut changed = false;
            for (index, structure) in file.structs.iter().enumerate() {
                let found = Taking {
                    rest: self.rest_among(&structure.body),
                    bits: self.bits_among(&structure.body),
                };
                changed |= weight(&found) != weight(&self.takings[index]);
                self.takings[index] = found;
            }
            if !changed {
                break;
            }
        }
    }

    /// Reports a field that comes after one that takes all that is left, be that at the end of a struct
    /// or of a branch.
    pub(super) fn check_after_rest(&mut self, statements: &[Statement<'a>]) {
        self.check_after(statements, None);
    }

    /// Where every packet has what takes the rest, a field that may need a bit more than is left has
    /// none. Where only some have it, a field that every packet has and that needs more has none in
    /// those. Whether one was reported.
    fn check_after(&mut self, statements: &[Statement<'a>], before: Option<Rest<'a>>) -> bool {
        let mut rest = before;
        let mut taken = TakenWhere::new();
        for statement in statements {
            let next = match (rest, statement) {
                (Some(rest), _) if rest.always => self.field_beyond(statement, rest.leaves),
                // Two branches may exclude each other: what is read in any case may not come.
                (Some(rest), Statement::Field(field)) => {
                    (self.bits_of(field).least > rest.leaves).then_some(&**field)
                }
                _ => None,
            };
            if let (Some(rest), Some(next)) = (rest, next) {
                self.report_after_rest(rest, next.name);
                return true;
            }
            if let Statement::Field(field) = statement
                && let Some(rest) = self.rest_of_one_of_several(field)
            {
                self.report_second(rest, field.name);
                return true;
            }
            if let Statement::If(inner) = statement
                && is_steady(&inner.condition)
                && self.check_same_branch(&mut taken, inner)
            {
                return true;
            }
            let found = self.rest_of(statement);
            rest = found.filter(|found| found.always).or(rest).or(found);
        }
        false
    }

    /// Under the same condition a packet has the same branch again.
    fn check_same_branch(&mut self, taken: &mut TakenWhere<'a>, inner: &If<'a>) -> bool {
        let condition = inner.condition.span.text(self.text);
        let condition: String = condition.split_whitespace().collect();
        let before = taken.get(&condition).copied().unwrap_or_default();
        let mut after = before;
        for ((body, before), after) in [&inner.then, &inner.otherwise]
            .into_iter()
            .zip(before)
            .zip(&mut after)
        {
            if before.is_some() && self.check_after(body, before) {
                return true;
            }
            let found = self.rest_among(body).filter(|rest| rest.always);
            *after = after.or(found);
        }
        taken.insert(condition, after);
        false
    }

    fn report_after_rest(&mut self, rest: Rest<'a>, next: Ident<'a>) {
        let (taker, next_name) = (rest.name.text, next.text);
        let after = match (rest.inside, rest.always) {
            (None, true) => format!("after `{taker}`"),
            (None, false) => format!("where a packet has `{taker}`"),
            (Some(inside), true) => format!("after `{inside}`, which ends with `{taker}`"),
            (Some(inside), false) => format!("where `{inside}` ends with `{taker}`"),
        };
        let message = format!("nothing is left for `{next_name}` {after}");
        self.report_nothing_left(next.span, message, rest);
    }

    fn report_second(&mut self, rest: Rest<'a>, name: Ident<'a>) {
        let (taker, name_text) = (rest.name.text, name.text);
        let message = format!(
            "nothing is left for the second of `{name_text}`: the first ends with `{taker}`"
        );
        self.report_nothing_left(name.span, message, rest);
    }

    fn report_nothing_left(&mut self, span: Span, message: String, rest: Rest<'a>) {
        let takes = match rest.leaves {
            0 => "takes all that is left",
            _ => "takes all whole bytes that are left",
        };
        self.report(span, message)
            .label("expected no field after one that takes all that is left")
            .related(rest.declared, takes)
            .help("say how many bytes that one has, or confine it: `size(length)`");
    }

    /// What the statements take of the window around them, all together.
    fn rest_among(&self, statements: &[Statement<'a>]) -> Option<Rest<'a>> {
        strongest(statements.iter().filter_map(|it| self.rest_of(it)))
    }

    /// What a statement takes of the window around it.
    fn rest_of(&self, statement: &Statement<'a>) -> Option<Rest<'a>> {
        match statement {
            Statement::Field(field) => self.rest_in(field),
            // Rest ends where the window does, or stands elsewhere.
            Statement::Size(_) => None,
            // A value of a `switch` without an arm ends the look at the packet.
            _ => {
                let branches = statement.blocks();
                either(branches.iter().map(|body| self.rest_among(body)))
            }
        }
    }

    fn rest_in(&self, field: &Field<'a>) -> Option<Rest<'a>> {
        if field.computed.is_some() || field.size.is_some() {
            return None;
        }
        let repeat = field.repeat.as_ref();
        let element = match &field.through {
            Some(through) => Some(Rest::new(field.name, through.span, 7)),
            None => self.rest_of_element(field),
        };
        match repeat.map(|repeat| &repeat.until) {
            None | Some(Until::Holds(_)) => element,
            Some(Until::End) => {
                let span = repeat.map_or(field.field_type.span, |repeat| repeat.span);
                Some(Rest::new(field.name, span, 0))
            }
            Some(Until::Count(count)) if literal(count).is_some_and(|count| count > 0) => element,
            Some(Until::Count(_)) => element.map(Rest::sometimes),
            Some(Until::Bytes(_)) => None,
        }
    }

    /// What one element of a field takes, or the field without a repeat.
    fn rest_of_element(&self, field: &Field<'a>) -> Option<Rest<'a>> {
        let declared = &field.field_type;
        if matches!(declared.name.text, "bytes" | "string") {
            let is_rest = length_of(declared).is_some_and(|length| is_word(length, "rest"));
            return is_rest.then_some(Rest::new(field.name, declared.span, 7));
        }
        let rest = self.taking_of(declared)?.rest?;
        // What a struct is given may say that it has no such branch.
        let is_known = rest.always || declared.arguments.is_none();
        is_known.then_some(Rest {
            inside: Some(field.name.text),
            ..rest
        })
    }

    /// What the first of several elements takes, where the second needs something.
    fn rest_of_one_of_several(&self, field: &Field<'a>) -> Option<Rest<'a>> {
        let repeat = field.repeat.as_ref().filter(|_| field.through.is_none())?;
        let Until::Count(count) = &repeat.until else {
            return None;
        };
        let several = field.size.is_none() && literal(count).is_some_and(|count| count > 1);
        let rest = self.rest_of_element(field).filter(|rest| rest.always)?;
        (several && self.bits_of_type(&field.field_type).most > rest.leaves).then_some(rest)
    }

    /// What the struct takes that a type names.
    fn taking_of(&self, declared: &TypeRef<'a>) -> Option<Taking<'a>> {
        let id = self.struct_named(declared.name)?;
        self.takings.get(id.0 as usize).copied()
    }

    /// The first field of a statement that may take more bits than are left.
    fn field_beyond<'s>(&self, statement: &'s Statement<'a>, left: u8) -> Option<&'s Field<'a>> {
        match statement {
            Statement::Field(field) => (self.bits_of(field).most > left).then_some(&**field),
            Statement::Size(inner) if inner.is_at => None,
            _ => {
                let mut inside = statement.blocks().into_iter().flatten();
                inside.find_map(|it| self.field_beyond(it, left))
            }
        }
    }

    fn bits_among(&self, statements: &[Statement<'a>]) -> Bits {
        let each = statements.iter().map(|statement| match statement {
            Statement::Field(field) => self.bits_of(field),
            Statement::Size(inner) if inner.is_at => Bits::default(),
            Statement::Size(inner) => Bits::between(0, self.bits_among(&inner.body).most),
            _ => {
                let blocks = statement.blocks();
                let branches = blocks.iter().map(|body| self.bits_among(body));
                branches.reduce(Bits::or).unwrap_or_default()
            }
        });
        each.fold(Bits::default(), Bits::and)
    }

    fn bits_of(&self, field: &Field<'a>) -> Bits {
        if field.computed.is_some() {
            return Bits::default();
        }
        if field.size.is_some() || field.through.is_some() {
            return Bits::ANY;
        }
        let element = self.bits_of_type(&field.field_type);
        let many = if element.most > 0 { 8 } else { 0 };
        match field.repeat.as_ref().map(|repeat| &repeat.until) {
            None => element,
            Some(Until::Holds(_)) => Bits::between(element.least, many),
            Some(Until::Count(count)) => match literal(count) {
                Some(count) => element.times(count),
                None => Bits::between(0, many),
            },
            Some(Until::End | Until::Bytes(_)) => Bits::between(0, many),
        }
    }

    fn bits_of_type(&self, declared: &TypeRef<'a>) -> Bits {
        match declared.name.text {
            "bytes" | "string" => match length_of(declared) {
                Some(length) if is_word(length, "zero") || is_type(length) => Bits::BYTE,
                Some(length) => match literal(length) {
                    Some(bytes) => Bits::exactly(bytes.saturating_mul(8)),
                    None => Bits::ANY,
                },
                None => Bits::ANY,
            },
            "bool" => Bits::exactly(1),
            "ubitvar" => Bits::between(6, 8),
            "quantized" | "compressed" | "smallest_three" => Bits::between(1, 8),
            "leb128" | "sleb128" | "zigzag" | "vlq" | "prefix_varint" | "quic_varint"
            | "packed_int" | "uuid" | "hash" => Bits::BYTE,
            text if is_number(text) => Bits::BYTE,
            text => {
                let digits = width_of(text).and_then(|width| width.digits.parse::<u16>().ok());
                match (digits, self.enum_named(declared.name)) {
                    (Some(bits), _) => Bits::exactly(bits.into()),
                    (None, Some(id)) => self.bits_of_type(&self.file.enums[id.0 as usize].base),
                    (None, None) => self.taking_of(declared).map_or(Bits::ANY, |it| it.bits),
                }
            }
        }
    }
}

/// The first that every packet has; else the first.
fn strongest<'a>(mut rests: impl Iterator<Item = Rest<'a>>) -> Option<Rest<'a>> {
    let first = rests.next()?;
    if first.always {
        Some(first)
    } else {
        rests.find(|rest| rest.always).or(Some(first))
    }
}

/// What branches take of which a packet has one.
fn either<'a>(branches: impl Iterator<Item = Option<Rest<'a>>>) -> Option<Rest<'a>> {
    let (mut found, mut always, mut leaves) = (None, true, 0);
    for branch in branches {
        always &= branch.is_some_and(|rest| rest.always);
        leaves = branch.map_or(leaves, |rest| rest.leaves.max(leaves));
        found = found.or(branch);
    }
    found.map(|rest: Rest<'a>| Rest {
        always,
        leaves,
        ..rest
    })
}

/// What stands in the first place between the parentheses of a type.
fn length_of<'s, 'a>(declared: &'s TypeRef<'a>) -> Option<&'s Expr<'a>> {
    declared.arguments.as_deref()?.first()
}

fn literal(expr: &Expr<'_>) -> Option<i128> {
    match expr.kind {
        ExprKind::Integer(value) => Some(value),
        _ => None,
    }
}

/// Whether a condition has the same value wherever it stands in a struct: it reads no state, and asks
/// nothing of what comes.
fn is_steady(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Integer(_) | ExprKind::Bool(_) => true,
        ExprKind::Path(path) => path.first().is_some_and(|name| name.text != "state"),
        ExprKind::Unary(_, inner) => is_steady(inner),
        ExprKind::Binary(_, left, right) => is_steady(left) && is_steady(right),
        _ => false,
    }
}
