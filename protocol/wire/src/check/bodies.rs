//! The bodies of structs: fields, conditions, switches, alignment.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Checker;
use super::annotations::FieldSays;
use super::declared::{Scope, ValueType};
use super::layers::layered;
use super::model::{Expression, Field, FieldId, Length, Step, Struct, StructId, Type};
use crate::json::padding_name;
use crate::limits::FIELDS_MAX;
use crate::report::Span;
use crate::syntax::ast::{self, Align, Arm, Expr, If, Statement, Switch};

/// `align` pads to a multiple of at most this many bits.
const ALIGN_BITS_MAX: i128 = 64;

/// What a field has to be.
enum Constant {
    Number(i128),
    Content(Arc<[u8]>),
}

/// A struct that is being checked.
#[derive(Default)]
pub(super) struct Body<'a> {
    pub fields: Vec<Field>,
    /// Names that may be on the wire at this point, conditional ones included.
    pub taken: BTreeMap<&'a str, Span>,
    /// How many `size` blocks there are so far.
    pub size_blocks: u32,
    /// `at` blocks so far.
    pub at_blocks: u32,
    /// How many `align`s there are so far.
    paddings: u32,
    /// The same names in the order of declaration.
    added: Vec<&'a str>,
    /// What can be read at the end of the steps that were checked last.
    at_end: Vec<(&'a str, FieldId)>,
}

impl<'a> Body<'a> {
    /// Forgets the names that were added since `mark`: what comes next excludes them.
    fn set_aside(&mut self, mark: usize) -> Vec<(&'a str, Span)> {
        let names = self.added.drain(mark..);
        let named = |name| Some((name, self.taken.remove(name)?));
        names.filter_map(named).collect()
    }

    fn put_back(&mut self, names: Vec<(&'a str, Span)>) {
        for (name, span) in names {
            if self.taken.insert(name, span).is_none() {
                self.added.push(name);
            }
        }
    }
}

impl<'a> Checker<'a, '_> {
    pub(super) fn check_structs(&mut self) -> Vec<Struct> {
        let file = self.file;
        let mut structs = Vec::new();
        for (index, declared) in file.structs.iter().enumerate() {
            if self.has_enough() {
                break;
            }
            if self.heads[index].len() > FIELDS_MAX {
                self.report(declared.name.span, "the struct has too many fields")
                    .label(format!("a struct may have {FIELDS_MAX} fields"));
                continue;
            }
            self.scope = Scope::of(StructId(index as u32));
            let mut body = Body::default();
            let (is_message, range) = self.struct_annotations(declared);
            let parameters = self.parameters(declared, &mut body);
            let steps = self.steps(&declared.body, &mut body);
            for field in &mut body.fields {
                field.meaning = field.meaning.map(|meaning| meaning.of_range(range));
            }
            if !self.has_enough() {
                let fields = ast::fields(&declared.body);
                self.check_derived(&fields, StructId(index as u32), &mut body);
            }
            self.check_vector(declared, &body.fields);
            body.fields.extend(parameters);
            let first = body.fields.len() - declared.parameters.len();
            let parameters = (first..body.fields.len()).map(|place| FieldId(place as u32));
            structs.push(Struct {
                name: declared.name.text.into(),
                is_message,
                range,
                recursive: self.recursive[index],
                parameters: parameters.collect(),
                fields: body.fields,
                body: steps,
            });
        }
        self.scope = Scope::default();
        structs
    }

    pub(super) fn steps(&mut self, statements: &[Statement<'a>], body: &mut Body<'a>) -> Vec<Step> {
        let outer = (self.scope.visible.len(), self.scope.shared.len());
        let mut steps = Vec::new();
        self.check_after_rest(statements);
        for statement in statements {
            if self.has_enough() {
                break;
            }
            match statement {
                Statement::Field(field) => steps.push(Step::Field(self.field(field, body))),
                Statement::If(inner) => steps.extend(self.if_step(inner, body)),
                Statement::Switch(inner) => steps.extend(self.switch_step(inner, body)),
                Statement::Set(inner) => steps.extend(self.set_step(inner)),
                Statement::Join(inner) => steps.extend(self.join_step(inner, body)),
                Statement::Follow(inner) => steps.extend(self.follow_step(inner, body)),
                Statement::Align(inner) => steps.extend(self.align_step(inner, body)),
                Statement::ByteOrder(inner) => steps.extend(self.order_step(inner)),
                Statement::Size(inner) => steps.extend(self.size_step(inner, body)),
            }
        }
        let own = self.scope.visible.drain(outer.0..);
        body.at_end = own.chain(self.scope.shared.drain(outer.1..)).collect();
        steps
    }

    pub(super) fn field(&mut self, declared: &ast::Field<'a>, body: &mut Body<'a>) -> FieldId {
        if !body.taken.contains_key(declared.name.text) {
            body.added.push(declared.name.text);
        }
        self.claim(&mut body.taken, declared.name);
        let id = FieldId(body.fields.len() as u32);
        self.index_is_read = false;
        self.scope.repeated = declared.repeat.is_some();
        let (field_type, computed) = match &declared.computed {
            Some(expr) => self.computed(declared, expr),
            None => (self.field_type(&declared.field_type), None),
        };
        let arguments = self.struct_arguments(&declared.field_type, &field_type);
        self.scope.repeated = false;
        let repeat = declared.repeat.as_ref();
        let repeat = repeat.and_then(|repeat| self.repeat(repeat, id));
        let reads_index = self.index_is_read;
        let constant = declared
            .constant
            .as_ref()
            .and_then(|expr| self.field_constant(expr, &field_type, declared));
        let (constant, content) = match constant {
            Some(Constant::Number(number)) => (Some(number), None),
            Some(Constant::Content(content)) => (None, Some(content)),
            None => (None, declared.gap.map(|bytes| vec![0; bytes].into())),
        };
        let window = declared.size.as_ref().and_then(|size| {
            let rest_key = format!("{}.rest", declared.name.text);
            self.window(&size.bytes, "a size", size.span, rest_key)
        });
        let mut window = match &declared.repeat {
            Some(ast::Repeat {
                until: ast::Until::Bytes(bytes),
                span,
            }) => self.filled(bytes, *span, declared),
            _ => window,
        };
        if let Some(through) = &declared.through {
            let layer = self.layer_use(through, declared, &field_type);
            window = layer.map(|layer| layered(window, layer, declared.name.text));
        }
        let FieldSays {
            meaning,
            property,
            is_value,
            said_back,
            is_per_copy,
        } = self.field_annotations(declared, &field_type);
        let repeat_span = declared.repeat.as_ref().map(|repeat| repeat.span);
        let type_text = self.type_text(declared, &field_type);
        body.fields.push(Field {
            repeat,
            repeat_text: repeat_span.map_or("", |span| span.text(self.text)).into(),
            constant,
            content,
            computed,
            reads_index,
            is_gap: declared.gap.is_some(),
            arguments,
            meaning,
            property,
            is_value,
            said_back,
            is_per_copy,
            window,
            ..Field::new(declared.name.text, type_text, field_type)
        });
        self.scope.visible.push((declared.name.text, id));
        id
    }

    /// The type of a field as people read it: of a `let` without one, what its value is.
    fn type_text(&self, declared: &ast::Field<'a>, field_type: &Type) -> &'a str {
        let is_let = declared.computed.is_some() && declared.field_type.name.text == "let";
        match field_type {
            _ if !is_let => declared.field_type.span.text(self.text),
            Type::Bool => "bool",
            Type::Enum(id) => self.file.enums[id.0 as usize].name.text,
            _ => "int",
        }
    }

    /// The value of `name: type = value`.
    fn field_constant(
        &mut self,
        expr: &Expr<'a>,
        field_type: &Type,
        declared: &ast::Field<'a>,
    ) -> Option<Constant> {
        let (value, found) = self.constant(expr)?;
        let value = match value {
            Expression::Integer(value) => value,
            Expression::Text(_) | Expression::Bytes(_) => {
                return self.content_constant(expr, value, field_type, declared);
            }
            _ => {
                let expected = "expected an integer, a `bool`, an enum, a text or bytes";
                return self.refuse(expr.span, "a float cannot be a constant field", expected);
            }
        };
        let wanted = match *field_type {
            Type::Broken => return None,
            Type::Bool => Some((ValueType::Bool, (0, 1))),
            Type::Enum(id) => Some((ValueType::Enum(id), (0, i128::from(u64::MAX)))),
            Type::Flags(_) => Some((ValueType::Integer, (0, i128::from(u64::MAX)))),
            ref other => other.limits().map(|limits| (ValueType::Integer, limits)),
        };
        let Some((wanted, range)) = wanted else {
            let spelled = declared.field_type.span.text(self.text);
            let message = format!("a field of type `{spelled}` cannot be constant");
            return self.refuse(expr.span, message, "expected a type that holds an integer");
        };
        if found != wanted {
            let words = ("the field is", "its constant");
            self.report_mismatch(expr.span, words, wanted, found);
            return None;
        }
        let (low, high) = range;
        if !(low..=high).contains(&value) {
            let spelled = declared.field_type.span.text(self.text);
            let message = format!("{value} does not fit the field");
            let expected = format!("`{spelled}` holds {low} to {high}");
            return self.refuse(expr.span, message, expected);
        }
        Some(Constant::Number(value))
    }

    /// The bytes of `name: bytes(4) = x"..."` or `name: string(4, ascii) = "..."`.
    fn content_constant(
        &mut self,
        expr: &Expr<'a>,
        value: Expression,
        field_type: &Type,
        declared: &ast::Field<'a>,
    ) -> Option<Constant> {
        let (bytes, length) = match (value, field_type) {
            (Expression::Bytes(bytes), Type::Bytes(length)) => (Ok(bytes.to_vec()), Some(length)),
            (Expression::Bytes(bytes), Type::BytesRest) => (Ok(bytes.to_vec()), None),
            (Expression::Text(text), Type::Text { length, encoding }) => {
                let length = match length {
                    Length::Expression(length) => Some(length),
                    _ => None,
                };
                (crate::json::text_bytes(&text, *encoding), length)
            }
            (_, Type::Broken) => return None,
            (value, _) => {
                let what = match value {
                    Expression::Bytes(_) => "bytes",
                    _ => "a text",
                };
                let spelled = declared.field_type.span.text(self.text);
                let message = format!("a field of type `{spelled}` cannot be {what}");
                return self.refuse(expr.span, message, "expected the value of such a field");
            }
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(why) => return self.refuse(expr.span, why, "expected other characters"),
        };
        if let Some(Expression::Integer(length)) = length
            && *length != bytes.len() as i128
        {
            let message = format!("the constant has {} bytes", bytes.len());
            self.report(expr.span, message)
                .label(format!("expected {length}"))
                .related(declared.field_type.span, "says this");
            return None;
        }
        Some(Constant::Content(bytes.into()))
    }

    fn if_step(&mut self, inner: &If<'a>, body: &mut Body<'a>) -> Option<Step> {
        let condition = self.condition(&inner.condition);
        let mark = body.added.len();
        let then = self.steps(&inner.then, body);
        let mut ends = vec![std::mem::take(&mut body.at_end)];
        let of_then = body.set_aside(mark);
        let otherwise = self.steps(&inner.otherwise, body);
        ends.push(std::mem::take(&mut body.at_end));
        body.put_back(of_then);
        let shared = self.shared(&ends);
        Some(Step::If {
            condition: condition?,
            then,
            otherwise,
            shared,
        })
    }

    fn switch_step(&mut self, inner: &Switch<'a>, body: &mut Body<'a>) -> Option<Step> {
        let on = self.typed(&inner.on);
        let found = match on.as_ref().map(|(_, found)| *found) {
            Some(found) if !matches!(found, ValueType::Integer | ValueType::Enum(_)) => {
                let expected = "expected an integer or an enum";
                self.refuse_value(inner.on.span, "a switch cannot look at", found, expected)
            }
            found => found,
        };
        let mark = body.added.len();
        let mut of_arms = Vec::new();
        let mut arms = Vec::new();
        let (mut ends, mut default_end) = (Vec::new(), None);
        let mut default: Option<(Vec<Step>, Span)> = None;
        let mut seen: BTreeMap<i128, Span> = BTreeMap::new();
        for arm in &inner.arms {
            let values = self.patterns(arm, found, &mut seen);
            let steps = self.steps(&arm.body, body);
            of_arms.extend(body.set_aside(mark));
            let end = std::mem::take(&mut body.at_end);
            if !arm.patterns.is_empty() {
                ends.push(end);
                arms.push((values, steps));
                continue;
            }
            default_end = Some(end);
            if let Some(&(_, first)) = default.as_ref() {
                self.report_again(
                    arm.span,
                    "a switch has one `default`",
                    "expected a value",
                    first,
                );
            } else {
                default = Some((steps, arm.span));
            }
        }
        body.put_back(of_arms);
        // A value without an arm ends the look at the packet.
        ends.extend(default_end);
        let shared = self.shared(&ends);
        if inner.arms.is_empty() {
            self.report(inner.span, "this switch has no arms")
                .label("expected `VALUE => ...`");
        }
        let (on, _) = on?;
        let text: Arc<str> = inner.span.text(self.text).into();
        Some(Step::Switch {
            on,
            text,
            arms,
            default: default.map(|(steps, _)| steps),
            shared,
        })
    }

    fn patterns(
        &mut self,
        arm: &Arm<'a>,
        wanted: Option<ValueType>,
        seen: &mut BTreeMap<i128, Span>,
    ) -> Vec<i128> {
        let mut values = Vec::new();
        for pattern in &arm.patterns {
            let (Some((value, found)), Some(wanted)) = (self.constant(pattern), wanted) else {
                continue;
            };
            let Expression::Integer(value) = value else {
                let message = "an arm of a switch is an integer or an enum's member";
                self.report(pattern.span, message);
                continue;
            };
            if found != wanted {
                let words = ("the switch looks at", "this is");
                self.report_mismatch(pattern.span, words, wanted, found);
                continue;
            }
            if let Some(first) = seen.insert(value, pattern.span) {
                self.report_again(
                    pattern.span,
                    "this value has an arm already",
                    "expected another value",
                    first,
                );
            }
            values.push(value);
        }
        values
    }

    fn align_step(&mut self, inner: &Align<'a>, body: &mut Body<'a>) -> Option<Step> {
        let bits = self.constant_integer(&inner.bits, "an alignment")?;
        if !(2..=ALIGN_BITS_MAX).contains(&bits) {
            let message = format!("nothing can be aligned to {bits} bits");
            let expected = format!("expected 2 to {ALIGN_BITS_MAX}");
            return self.refuse(inner.bits.span, message, expected);
        }
        let pad = match &inner.pad {
            None => None,
            Some(expr) => match self.constant_integer(expr, "the padding")? {
                0 => Some(false),
                1 => Some(true),
                _ => {
                    let expected = "expected 0 or 1; without `= ...` the padding may be anything";
                    return self.refuse(expr.span, "padding is made of equal bits", expected);
                }
            },
        };
        let text: Arc<str> = inner.span.text(self.text).into();
        let key = padding_name(body.paddings).into();
        body.paddings += 1;
        Some(Step::Align {
            bits: bits as u32,
            pad,
            text,
            key,
        })
    }
}
