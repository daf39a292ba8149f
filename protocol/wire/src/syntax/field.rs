//! Fields: names, types, repeats, values, annotations.

use super::ast::{
    Annotation, Expr, ExprKind, Field, Ident, Repeat, Size, Statement, Struct, TypeRef, Until,
};
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use crate::report::Span;

impl<'a> Parser<'a, '_> {
    pub(super) fn field(&mut self) -> Parsed<Field<'a>> {
        let name = self.new_name("a field")?;
        let other = (self.peek() == TokenKind::Name).then(|| self.here().text(self.text));
        if let Err(failed) = self.expect_mark(":", BEFORE_TYPE) {
            if let (Some(other), Some(report)) = (other, self.reports.last_mut()) {
                report.help(if is_number_type(other) {
                    format!("write `{}: {other}`", name.text)
                } else {
                    format!("the name comes first: `{other}: {}`", name.text)
                });
            }
            return Err(failed);
        }
        let field_type = self.type_ref()?;
        let mut field = Field::plain(name, field_type);
        if self.at_mark("[") {
            field.repeat = Some(self.repeat()?);
        }
        if self.at_word("size") {
            field.size = Some(self.size()?);
        }
        if self.at_word("through") {
            field.through = Some(self.through()?);
            if self.at_word("size") {
                let help =
                    "`size(...)` stands before `through`: it says how long the packed bytes are";
                return Err(self.unexpected_but("`;` after the field", help));
            }
        }
        field.constant = self.behind("=", Self::expression)?;
        if field.constant.is_none() && self.take_word("derived") {
            field.derived = Some(self.expression()?);
        }
        field.annotations = self.annotations()?;
        self.expect_mark(";", "after the field")?;
        Ok(field)
    }

    /// `size(BYTES)`
    pub(super) fn size(&mut self) -> Parsed<Size<'a>> {
        let start = self.here();
        self.advance();
        let bytes = self.in_parentheses("the number of bytes")?;
        let span = start.to(self.previous());
        Ok(Size { bytes, span })
    }

    /// `let NAME: TYPE = EXPRESSION @annotation;`
    pub(super) fn computed(&mut self) -> Parsed<Field<'a>> {
        let word = self.here();
        let name = self.name_behind("a name after `let`")?;
        let field_type = self.behind(":", Self::type_ref)?;
        let mut field = Field::plain(name, field_type.unwrap_or(of_value(word)));
        self.expect_mark("=", "and the value")?;
        field.computed = Some(self.expression()?);
        field.annotations = self.annotations()?;
        self.expect_mark(";", "after the value")?;
        Ok(field)
    }

    /// `label NAME;`: a short word for `let NAME = position();`.
    pub(super) fn label(&mut self) -> Parsed<Field<'a>> {
        let word = self.here();
        let name = self.name_behind("a name after `label`")?;
        self.expect_mark(";", "after the label")?;
        let position = Ident {
            text: "position",
            span: name.span,
        };
        let position = Expr::new(ExprKind::Call(position, Vec::new()), name.span);
        Ok(Field {
            computed: Some(position),
            ..Field::plain(name, of_value(word))
        })
    }

    /// `NAME`, `NAME(ARGUMENT, ...)` or `LOW..=HIGH`
    pub(super) fn type_ref(&mut self) -> Parsed<TypeRef<'a>> {
        let is_range = match self.peek() {
            TokenKind::Integer(_) | TokenKind::Mark("-" | "(") => true,
            TokenKind::Name => self.peek_second() == TokenKind::Mark("..="),
            _ => false,
        };
        if is_range {
            return self.range();
        }
        let name = self.new_name("a type")?;
        if let ("vec2" | "vec3" | "vec4", TokenKind::Mark("(")) = (name.text, self.peek()) {
            return self.vector(name);
        }
        Ok(TypeRef {
            name,
            arguments: self.own_arguments()?,
            span: name.span.to(self.previous()),
        })
    }

    /// `LOW..=HIGH`, which is `range(LOW, HIGH)`.
    fn range(&mut self) -> Parsed<TypeRef<'a>> {
        let low = self.expression()?;
        self.expect_mark("..=", "and the highest value, or a type")?;
        let high = self.expression()?;
        let span = low.span.to(high.span);
        Ok(TypeRef {
            name: Ident {
                text: "range",
                span,
            },
            arguments: Some(vec![low, high]),
            span,
        })
    }

    /// `vec3(TYPE)`: a struct with the fields x, y and z, named as the vector is spelled.
    fn vector(&mut self, name: Ident<'a>) -> Parsed<TypeRef<'a>> {
        self.advance();
        let component = self.nested(Self::type_ref)?;
        self.expect_mark(")", "after the type of the vector's components")?;
        let span = name.span.to(self.previous());
        let vector = Ident::spelled(span, self.text);
        let count = match name.text {
            "vec2" => 2,
            "vec3" => 3,
            _ => 4,
        };
        let (name, start) = (component.name, component.span);
        let arguments = component.arguments;
        let field = |text| {
            let field_type = TypeRef {
                name,
                arguments: arguments.clone(),
                span: start,
            };
            let name = Ident { text, span: start };
            Statement::Field(Box::new(Field::plain(name, field_type)))
        };
        let body = ["x", "y", "z", "w"].into_iter().take(count).map(field);
        if !self.vector_names.contains(vector.text) {
            self.vector_names.insert(vector.text);
            self.vectors.push(Struct {
                name: vector,
                parameters: Vec::new(),
                is_vector: true,
                is_nameless: false,
                annotations: Vec::new(),
                body: body.collect(),
            });
        }
        Ok(TypeRef::plain(vector))
    }

    pub(super) fn repeat(&mut self) -> Parsed<Repeat<'a>> {
        let start = self.here();
        self.advance();
        let until = if self.at_word("until") && self.opens_operand() {
            self.advance();
            if self.at_word("end") && self.peek_second() == TokenKind::Mark("]") {
                self.advance();
                Until::End
            } else {
                Until::Holds(self.expression()?)
            }
        } else if self.at_word("bytes") && self.opens_operand() {
            self.advance();
            Until::Bytes(self.expression()?)
        } else if self.at_mark("]") {
            return Err(self.unexpected("how many there are: a number, a field, or `until end`"));
        } else {
            Until::Count(self.expression()?)
        };
        self.expect_mark("]", "after the number of elements")?;
        Ok(Repeat {
            until,
            span: start.to(self.previous()),
        })
    }

    /// Whether the token after the next one begins a value.
    fn opens_operand(&self) -> bool {
        matches!(
            self.peek_second(),
            TokenKind::Name | TokenKind::Integer(_) | TokenKind::Mark("(" | "!" | "-")
        )
    }

    pub(super) fn annotations(&mut self) -> Parsed<Vec<Annotation<'a>>> {
        let mut annotations = Vec::new();
        while self.at_mark("@") {
            let start = self.here();
            self.advance();
            annotations.push(Annotation {
                name: self.any_name("an annotation after `@`")?,
                arguments: self.own_arguments()?.unwrap_or_default(),
                span: start.to(self.previous()),
            });
        }
        Ok(annotations)
    }
}

/// Where a type is missing between a name and its type.
pub(super) const BEFORE_TYPE: &str = "between the field's name and its type";

/// What stands for the type of a `let` that says none.
fn of_value<'a>(span: Span) -> TypeRef<'a> {
    TypeRef::plain(Ident { text: "let", span })
}

/// Whether a word looks like one of the types `u16`, `i8le`, `f32` and so on.
fn is_number_type(word: &str) -> bool {
    let digits = word.strip_prefix(['u', 'i', 'f']);
    digits.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}
