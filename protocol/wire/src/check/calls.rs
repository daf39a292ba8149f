//! Functions in expressions: what a packet is like where it is read, and what was measured of it.

use std::sync::Arc;

use super::Checker;
use super::declared::{HeadKind, Scope, Typed, ValueType};
use super::model::{Call, Circumstance, Expression, Look, Measure, Number, Type};
use crate::arithmetic;
use crate::layers::Function;
use crate::syntax::ast::{Arithmetic, Expr, ExprKind, Ident};
use crate::values::codec::Codec;

/// All functions, with what they are called with.
pub(super) const FUNCTIONS: [(&str, &str); 16] = [
    ("left", "left()"),
    ("position", "position()"),
    ("peek", "peek(TYPE)` or `peek(TYPE, BITS_AHEAD)"),
    ("count", "count(FIELD)"),
    ("size", "size(FIELD)"),
    ("bits", "bits(FIELD)"),
    ("int", "int(A)"),
    ("min", "min(A, B)"),
    ("max", "max(A, B)"),
    ("popcount", "popcount(A)"),
    ("number", "number(TEXT)"),
    ("quake_hash", "quake_hash(TEXT)"),
    ("source_port", "source_port()"),
    ("destination_port", "destination_port()"),
    ("from_first", "from_first()"),
    ("lua", "lua(\"FUNCTION\", A, ...)"),
];

impl<'a> Checker<'a, '_> {
    pub(super) fn typed_call(
        &mut self,
        name: Ident<'a>,
        arguments: &[Expr<'a>],
        whole: &Expr<'a>,
        scope: Option<&Scope<'a>>,
    ) -> Option<Typed> {
        let integer = |expression| Some((expression, ValueType::Integer));
        match (name.text, arguments) {
            ("min", [left, right]) => self.folded(Arithmetic::Least, left, right, whole, scope),
            ("max", [left, right]) => self.folded(Arithmetic::Greatest, left, right, whole, scope),
            ("int", [value]) => self.as_integer(value, scope),
            ("popcount", [value]) => self.folded(Arithmetic::CountOnes, value, value, whole, scope),
            (known, _) if !FUNCTIONS.iter().any(|(function, _)| *function == known) => {
                let suggestion = crate::suggest::did_you_mean(
                    known,
                    FUNCTIONS.iter().map(|(function, _)| *function),
                );
                let report = self
                    .report(name.span, format!("there is no function `{known}`"))
                    .label("expected a number, a field, a constant or a function");
                if let Some(suggestion) = suggestion {
                    report.help(suggestion);
                }
                None
            }
            (known, _) if scope.is_none() => {
                let label = format!("`{known}` is known only where a packet is read");
                self.report(whole.span, "this is not a constant")
                    .label(label);
                None
            }
            ("left", []) => {
                let ahead = Box::new(Expression::Integer(0));
                integer(self.look(Look::Left, ahead, whole, scope))
            }
            ("position", []) => integer(Expression::Position),
            ("source_port", []) => integer(Expression::Context(Circumstance::SourcePort)),
            ("destination_port", []) => integer(Expression::Context(Circumstance::DestinationPort)),
            ("from_first", []) => Some((
                Expression::Context(Circumstance::FromFirst),
                ValueType::Bool,
            )),
            ("peek", [of]) => self.peek(of, None, whole, scope),
            ("peek", [of, ahead]) => self.peek(of, Some(ahead), whole, scope),
            ("lua", [function, arguments @ ..]) => {
                let (script, name) = self.lua_function(function)?;
                self.call_of(Function::Lua(script, name), arguments, whole, scope)
            }
            ("number", [_]) => self.call_of(Function::Number, arguments, whole, scope),
            ("quake_hash", [_]) => self.call_of(Function::QuakeHash, arguments, whole, scope),
            ("count", [field]) => self.measure(Measure::Count, field, scope),
            ("size", [field]) => self.measure(Measure::Bytes, field, scope),
            ("bits", [field]) => self.measure(Measure::Bits, field, scope),
            (known, _) => {
                let shape = FUNCTIONS.iter().find(|(function, _)| *function == known);
                let shape = shape.map_or("", |(_, shape)| shape);
                self.report(whole.span, format!("`{known}` is not called so"))
                    .label(format!("expected `{shape}`"));
                None
            }
        }
    }

    /// `int(A)`: what holds an enum's value, or a truth value, holds its integer.
    fn as_integer(&mut self, value: &Expr<'a>, scope: Option<&Scope<'a>>) -> Option<Typed> {
        let (expression, found) = self.typed(value, scope)?;
        if let ValueType::Integer | ValueType::Bool | ValueType::Enum(_) = found {
            return Some((expression, ValueType::Integer));
        }
        let found = self.shown(found);
        self.report(value.span, format!("`int` does not take {found}"))
            .label("expected an enum or a truth value");
        None
    }

    fn call_of(
        &mut self,
        function: Function,
        arguments: &[Expr<'a>],
        whole: &Expr<'a>,
        scope: Option<&Scope<'a>>,
    ) -> Option<Typed> {
        let of_text = !matches!(function, Function::Lua(..));
        let mut checked = Vec::new();
        for argument in arguments {
            let (value, found) = self.typed(argument, scope)?;
            let is_content = match found {
                ValueType::Text | ValueType::Bytes => true,
                ValueType::Integer | ValueType::Bool if !of_text => false,
                _ => {
                    let found = self.shown(found);
                    self.report(argument.span, format!("this is {found}"))
                        .label(if of_text {
                            "expected a text or bytes"
                        } else {
                            "a Lua function takes integers, truth values, texts and bytes"
                        });
                    return None;
                }
            };
            checked.push((value, is_content));
        }
        let call = Call {
            function,
            arguments: checked,
            text: whole.span.text(self.text).into(),
        };
        Some((Expression::Called(Box::new(call)), ValueType::Integer))
    }

    fn folded(
        &mut self,
        operator: Arithmetic,
        left: &Expr<'a>,
        right: &Expr<'a>,
        whole: &Expr<'a>,
        scope: Option<&Scope<'a>>,
    ) -> Option<Typed> {
        let mut values = Vec::new();
        let sides = match operator {
            Arithmetic::CountOnes => vec![left],
            _ => vec![left, right],
        };
        for side in sides {
            let (value, found) = self.typed(side, scope)?;
            if found != ValueType::Integer {
                let found = self.shown(found);
                self.report(side.span, format!("a function takes integers, not {found}"))
                    .label("expected an integer");
                return None;
            }
            values.push(value);
        }
        let right = values.pop().unwrap_or(Expression::Integer(0));
        let left = values.pop();
        let (left, right) = match left {
            Some(left) => (left, right),
            None => (right, Expression::Integer(0)),
        };
        if let (Expression::Integer(a), Expression::Integer(b)) = (&left, &right) {
            return match arithmetic::evaluate(operator, *a, *b) {
                Ok(value) => Some((Expression::Integer(value), ValueType::Integer)),
                Err(why) => {
                    self.report(whole.span, format!("this has no value: {why}"));
                    None
                }
            };
        }
        let text = whole.span.text(self.text).into();
        let expression = Expression::Arithmetic(operator, Box::new(left), Box::new(right), text);
        Some((expression, ValueType::Integer))
    }

    fn peek(
        &mut self,
        of: &Expr<'a>,
        ahead: Option<&Expr<'a>>,
        whole: &Expr<'a>,
        scope: Option<&Scope<'a>>,
    ) -> Option<Typed> {
        let named = match &of.kind {
            ExprKind::Path(path) if path.len() == 1 => path.first(),
            _ => None,
        };
        let found = match named {
            Some(name) if super::type_names::width_of(name.text).is_some() => {
                Some(self.plain_type(name.text, None, name.span, of.span)?)
            }
            _ => None,
        };
        let codec = match found {
            Some(Type::Unsigned(bits)) => Some(Codec::Plain { bits }),
            Some(Type::Coded {
                codec,
                number: Number::Unsigned,
            }) => Some(codec),
            _ => None,
        };
        let Some(codec) = codec else {
            self.report(of.span, "nothing of this type can be looked at ahead")
                .label("expected an unsigned integer of fixed width, such as `u8` or `u16be`");
            return None;
        };
        let ahead = match ahead {
            None => Expression::Integer(0),
            Some(ahead) => {
                let (value, found) = self.typed(ahead, scope)?;
                if found != ValueType::Integer {
                    let found = self.shown(found);
                    let message = format!("a number of bits is an integer, not {found}");
                    self.report(ahead.span, message)
                        .label("expected an integer");
                    return None;
                }
                value
            }
        };
        let look = self.look(Look::Integer(codec), Box::new(ahead), whole, scope);
        Some((look, ValueType::Integer))
    }

    fn look(
        &mut self,
        look: Look,
        ahead: Box<Expression>,
        whole: &Expr<'a>,
        scope: Option<&Scope<'a>>,
    ) -> Expression {
        let text: Arc<str> = whole.span.text(self.text).into();
        let asks = scope.filter(|scope| scope.item.is_none());
        let key = asks.map(|scope| {
            let looks = self
                .looks
                .entry((scope.structure, text.clone()))
                .or_insert(0);
            *looks += 1;
            let key = match *looks {
                1 => text.to_string(),
                more => format!("{text} #{more}"),
            };
            (scope.structure, key.into())
        });
        Expression::Look {
            look,
            ahead,
            text,
            key,
        }
    }

    /// A field before this, of this struct or of structs inside it.
    fn measure(
        &mut self,
        measure: Measure,
        argument: &Expr<'a>,
        scope: Option<&Scope<'a>>,
    ) -> Option<Typed> {
        let (ExprKind::Path(path), Some(scope)) = (&argument.kind, scope) else {
            self.report(argument.span, "only a field is measured")
                .label("expected the name of a field");
            return None;
        };
        let first = *path.first()?;
        let mut visible = scope.visible.iter().rev();
        let Some(&(_, id)) = visible.find(|(name, _)| *name == first.text) else {
            self.report_unknown(first, Some(scope));
            return None;
        };
        let (mut structure, mut id) = (scope.structure, id);
        let declared = self.heads[structure.0 as usize][id.0 as usize].span;
        self.stands_for(first.span, declared);
        let mut ids = vec![id];
        for (name, next) in path.iter().zip(path.iter().skip(1)) {
            let head = self.heads[structure.0 as usize][id.0 as usize];
            let inner = match head.kind {
                HeadKind::Struct(inner) if !head.repeated && !self.recursive[inner.0 as usize] => {
                    inner
                }
                _ => {
                    self.report(name.span, format!("`{}` is not a single struct", name.text))
                        .label("only a struct that does not hold itself has fields to measure");
                    return None;
                }
            };
            let heads = &self.heads[inner.0 as usize];
            let found = heads.iter().position(|head| head.name == next.text);
            let Some(found) = found.filter(|&found| !heads[found].conditional) else {
                let message = format!("`{}` has no field `{}`", name.text, next.text);
                self.report(next.span, message)
                    .label("expected a field that is always there");
                return None;
            };
            let declared = heads[found].span;
            self.stands_for(next.span, declared);
            structure = inner;
            id = super::model::FieldId(found as u32);
            ids.push(id);
        }
        let head = self.heads[structure.0 as usize][id.0 as usize];
        if measure == Measure::Count && !head.repeated {
            let spelled = argument.span.text(self.text);
            self.report(argument.span, format!("`{spelled}` is not repeated"))
                .label("expected a repeated field");
            return None;
        }
        self.measured.insert((structure, id, measure));
        Some((Expression::Measure(measure, ids), ValueType::Integer))
    }
}
