//! Functions in expressions: what a packet is like where it is read, and what was measured of it.

use std::sync::Arc;

use super::Checker;
use super::declared::{HeadKind, Typed, ValueType};
use super::model::{Call, Circumstance, Expression, FieldId, Look, Measure};
use super::types::is_type;
use crate::layers::Function;
use crate::syntax::ast::{Arithmetic, Expr, ExprKind, Ident, TypeRef};
use crate::values::codec::Codec;
use crate::words::{Help, HelpKind, words};

/// All functions but `known`, which has no arguments like theirs.
fn functions() -> impl Iterator<Item = Help> {
    words().filter(|it| it.kind == HelpKind::Function && it.word != "known")
}

impl<'a> Checker<'a, '_> {
    pub(super) fn typed_call(
        &mut self,
        name: Ident<'a>,
        arguments: &[Expr<'a>],
        whole: &Expr<'a>,
    ) -> Option<Typed> {
        let integer = |expression| Some((expression, ValueType::Integer));
        let function = functions().find(|known| known.word == name.text);
        match (name.text, arguments) {
            ("min", [left, right]) => self.folded(Arithmetic::Least, left, Some(right), whole),
            ("max", [left, right]) => self.folded(Arithmetic::Greatest, left, Some(right), whole),
            ("int", [value]) => self.as_integer(value),
            ("popcount", [value]) => self.folded(Arithmetic::CountOnes, value, None, whole),
            (unknown, _) if function.is_none() => {
                self.report(name.span, format!("there is no function `{unknown}`"))
                    .label("expected a number, a field, a constant or a function")
                    .suggest(unknown, functions().map(|function| function.word));
                None
            }
            (known, _) if self.scope.structure.is_none() => {
                let expected = format!("`{known}` is known only where a packet is read");
                self.refuse(whole.span, "this is not a constant", expected)
            }
            ("left", []) => {
                let ahead = Box::new(Expression::Integer(0));
                integer(self.look(Look::Left, ahead, whole))
            }
            ("position", []) => integer(Expression::Position),
            ("source_port", []) => integer(Expression::Context(Circumstance::SourcePort)),
            ("destination_port", []) => integer(Expression::Context(Circumstance::DestinationPort)),
            ("from_first", []) => Some((
                Expression::Context(Circumstance::FromFirst),
                ValueType::Bool,
            )),
            ("peek", [of]) => self.peek(of, None, whole),
            ("peek", [of, ahead]) => self.peek(of, Some(ahead), whole),
            ("lua", [function, arguments @ ..]) => {
                let (script, name) = self.lua_function(function)?;
                self.call_of(Function::Lua(script, name), arguments, whole)
            }
            ("number", [_]) => self.call_of(Function::Number, arguments, whole),
            ("quake_hash", [_]) => self.call_of(Function::QuakeHash, arguments, whole),
            ("count", [field]) => self.measure(Measure::Count, field),
            ("size", [field]) => self.measure(Measure::Bytes, field),
            ("bits", [field]) => self.measure(Measure::Bits, field),
            (known, _) => {
                let message = format!("`{known}` is not called so");
                let shape = function.map_or("", |function| function.shape);
                let shape = shape.replace(" or ", "` or `");
                self.refuse(whole.span, message, format!("expected `{shape}`"))
            }
        }
    }

    /// `int(A)`: what holds an enum's value, or a truth value, holds its integer.
    fn as_integer(&mut self, value: &Expr<'a>) -> Option<Typed> {
        let (expression, found) = self.typed(value)?;
        if let ValueType::Integer | ValueType::Bool | ValueType::Enum(_) = found {
            return Some((expression, ValueType::Integer));
        }
        let expected = "expected an enum or a truth value";
        self.refuse_value(value.span, "`int` does not take", found, expected)
    }

    fn call_of(
        &mut self,
        function: Function,
        arguments: &[Expr<'a>],
        whole: &Expr<'a>,
    ) -> Option<Typed> {
        let of_text = !matches!(function, Function::Lua(..));
        let mut checked = Vec::new();
        for argument in arguments {
            let (value, found) = self.typed(argument)?;
            let is_content = match found {
                ValueType::Text | ValueType::Bytes => true,
                ValueType::Integer | ValueType::Bool if !of_text => false,
                _ => {
                    let expected = if of_text {
                        "expected a text or bytes"
                    } else {
                        "a Lua function takes integers, truth values, texts and bytes"
                    };
                    return self.refuse_value(argument.span, "this is", found, expected);
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
        right: Option<&Expr<'a>>,
        whole: &Expr<'a>,
    ) -> Option<Typed> {
        let takes = "a function takes integers, not";
        let left = self.taken_integer(left, takes)?;
        let right = match right {
            Some(right) => self.taken_integer(right, takes)?,
            None => Expression::Integer(0),
        };
        self.fold(operator, left, right, whole.span)
    }

    fn peek(&mut self, of: &Expr<'a>, ahead: Option<&Expr<'a>>, whole: &Expr<'a>) -> Option<Typed> {
        let found = match of.name() {
            Some(name) if is_type(of) => Some(self.plain_type(&TypeRef::plain(name))?),
            _ => None,
        };
        let codec = found.and_then(|found| found.unsigned_codec());
        let Some(codec) = codec.filter(|&codec| codec != Codec::Leb128) else {
            let message = "nothing of this type can be looked at ahead";
            let expected = "expected an unsigned integer of fixed width, such as `u8` or `u16be`";
            return self.refuse(of.span, message, expected);
        };
        let ahead = match ahead {
            None => Expression::Integer(0),
            Some(ahead) => self.integer(ahead, "a number of bits")?,
        };
        let look = self.look(Look::Integer(codec), Box::new(ahead), whole);
        Some((look, ValueType::Integer))
    }

    fn look(&mut self, look: Look, ahead: Box<Expression>, whole: &Expr<'a>) -> Expression {
        let text: Arc<str> = whole.span.text(self.text).into();
        let asks = self.scope.structure;
        let asks = asks.filter(|_| self.scope.item.is_none());
        let key = asks.map(|structure| {
            let looks = self.looks.entry((structure, text.clone())).or_insert(0);
            *looks += 1;
            let key = match *looks {
                1 => text.clone(),
                more => format!("{text} #{more}").into(),
            };
            (structure, key)
        });
        Expression::Look {
            look,
            ahead,
            text,
            key,
        }
    }

    /// A field before this, of this struct or of structs inside it.
    fn measure(&mut self, measure: Measure, argument: &Expr<'a>) -> Option<Typed> {
        let (ExprKind::Path(path), Some(structure)) = (&argument.kind, self.scope.structure) else {
            let expected = "expected the name of a field";
            return self.refuse(argument.span, "only a field is measured", expected);
        };
        let first = *path.first()?;
        let mut visible = self.scope.visible.iter().rev();
        let Some(&(_, id)) = visible.find(|(name, _)| *name == first.text) else {
            self.report_unknown(first);
            return None;
        };
        let (mut structure, mut id) = (structure, id);
        let declared = self.head(structure, id).span;
        self.stands_for(first.span, declared);
        let mut ids = vec![id];
        for (name, next) in path.iter().zip(path.iter().skip(1)) {
            let head = self.head(structure, id);
            let inner = match head.kind {
                HeadKind::Struct(inner) if !head.repeated && !self.recursive[inner.0 as usize] => {
                    inner
                }
                _ => {
                    let message = format!("`{}` is not a single struct", name.text);
                    let expected = "only a struct that does not hold itself has fields to measure";
                    return self.refuse(name.span, message, expected);
                }
            };
            let heads = &self.heads[inner.0 as usize];
            let found = heads.iter().position(|head| head.name == next.text);
            let Some(found) = found.filter(|&found| !heads[found].conditional) else {
                let message = format!("`{}` has no field `{}`", name.text, next.text);
                let expected = "expected a field that is always there";
                return self.refuse(next.span, message, expected);
            };
            let declared = heads[found].span;
            self.stands_for(next.span, declared);
            structure = inner;
            id = FieldId(found as u32);
            ids.push(id);
        }
        if measure == Measure::Count && !self.head(structure, id).repeated {
            return self.refuse_single(argument.span);
        }
        self.measured.insert((structure, id, measure));
        Some((Expression::Measure(measure, ids), ValueType::Integer))
    }
}
