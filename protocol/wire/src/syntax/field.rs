//! Fields: names, types, repeats, values, annotations.

use super::ast::{
    Annotation, Expr, ExprKind, Field, Ident, Repeat, Size, Statement, Struct, TypeRef, Until,
};
use super::lexer::TokenKind;
use super::parser::{Failed, Parser};

impl<'a> Parser<'a, '_> {
    pub(super) fn field(&mut self) -> Result<Field<'a>, Failed> {
        let name = self.new_name("a field")?;
        let other = (self.peek() == TokenKind::Name).then(|| self.here().text(self.text));
        if let Err(failed) = self.expect_mark(":", "between the field's name and its type") {
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
        let repeat = if self.at_mark("[") {
            Some(self.repeat()?)
        } else {
            None
        };
        let size = if self.at_word("size") {
            Some(self.size()?)
        } else {
            None
        };
        let through = if self.at_word("through") {
            Some(self.through()?)
        } else {
            None
        };
        if through.is_some() && self.at_word("size") {
            let failed = self.unexpected("`;` after the field");
            if let Some(report) = self.reports.last_mut() {
                report.help(
                    "`size(...)` stands before `through`: it says how long the packed bytes are",
                );
            }
            return Err(failed);
        }
        let constant = if self.take_mark("=") {
            Some(self.expression()?)
        } else {
            None
        };
        let derived = if constant.is_none() && self.at_word("derived") {
            self.advance();
            Some(self.expression()?)
        } else {
            None
        };
        let annotations = self.annotations()?;
        self.expect_mark(";", "after the field")?;
        Ok(Field {
            name,
            field_type,
            repeat,
            size,
            through,
            constant,
            derived,
            computed: None,
            gap: None,
            annotations,
        })
    }

    /// `size(BYTES)`
    pub(super) fn size(&mut self) -> Result<Size<'a>, Failed> {
        let start = self.here();
        self.advance();
        self.expect_mark("(", "before the number of bytes")?;
        let bytes = self.expression()?;
        self.expect_mark(")", "after the number of bytes")?;
        let span = start.to(self.previous());
        Ok(Size { bytes, span })
    }

    /// `let NAME: TYPE = EXPRESSION @annotation;`
    pub(super) fn computed(&mut self) -> Result<Field<'a>, Failed> {
        let word = self.here();
        self.advance();
        let name = self.new_name("a name after `let`")?;
        let field_type = if self.take_mark(":") {
            self.type_ref()?
        } else {
            TypeRef {
                name: Ident {
                    text: "let",
                    span: word,
                },
                arguments: None,
                span: word,
            }
        };
        self.expect_mark("=", "and the value")?;
        let computed = Some(self.expression()?);
        let annotations = self.annotations()?;
        self.expect_mark(";", "after the value")?;
        Ok(Field {
            name,
            field_type,
            repeat: None,
            size: None,
            through: None,
            constant: None,
            derived: None,
            computed,
            gap: None,
            annotations,
        })
    }

    /// `label NAME;`: a short word for `let NAME = position();`.
    pub(super) fn label(&mut self) -> Result<Field<'a>, Failed> {
        let word = self.here();
        self.advance();
        let name = self.new_name("a name after `label`")?;
        self.expect_mark(";", "after the label")?;
        let position = Ident {
            text: "position",
            span: name.span,
        };
        let position = Expr::new(ExprKind::Call(position, Vec::new()), name.span);
        Ok(Field {
            name,
            field_type: TypeRef {
                name: Ident {
                    text: "let",
                    span: word,
                },
                arguments: None,
                span: word,
            },
            repeat: None,
            size: None,
            through: None,
            constant: None,
            derived: None,
            computed: Some(position),
            gap: None,
            annotations: Vec::new(),
        })
    }

    /// `NAME`, `NAME(ARGUMENT, ...)` or `LOW..=HIGH`
    pub(super) fn type_ref(&mut self) -> Result<TypeRef<'a>, Failed> {
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
        let mut arguments = None;
        if self.take_mark("(") {
            self.expression_parts = 0;
            arguments = Some(self.arguments(")")?);
        }
        Ok(TypeRef {
            name,
            arguments,
            span: name.span.to(self.previous()),
        })
    }

    /// `LOW..=HIGH`, which is `range(LOW, HIGH)`.
    fn range(&mut self) -> Result<TypeRef<'a>, Failed> {
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
    fn vector(&mut self, name: Ident<'a>) -> Result<TypeRef<'a>, Failed> {
        self.advance();
        let component = self.nested(Self::type_ref)?;
        self.expect_mark(")", "after the type of the vector's components")?;
        let span = name.span.to(self.previous());
        let vector = Ident {
            text: span.text(self.text),
            span,
        };
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
            Statement::Field(Box::new(Field {
                name: Ident { text, span: start },
                field_type,
                repeat: None,
                size: None,
                through: None,
                constant: None,
                derived: None,
                computed: None,
                gap: None,
                annotations: Vec::new(),
            }))
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
        Ok(TypeRef {
            name: vector,
            arguments: None,
            span,
        })
    }

    pub(super) fn repeat(&mut self) -> Result<Repeat<'a>, Failed> {
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

    pub(super) fn annotations(&mut self) -> Result<Vec<Annotation<'a>>, Failed> {
        let mut annotations = Vec::new();
        while self.at_mark("@") {
            let start = self.here();
            self.advance();
            let name = self.any_name("an annotation after `@`")?;
            let mut arguments = Vec::new();
            if self.take_mark("(") {
                self.expression_parts = 0;
                arguments = self.arguments(")")?;
            }
            annotations.push(Annotation {
                name,
                arguments,
                span: start.to(self.previous()),
            });
        }
        Ok(annotations)
    }
}

/// Whether a word looks like one of the types `u16`, `i8le`, `f32` and so on.
fn is_number_type(word: &str) -> bool {
    let digits = word.strip_prefix(['u', 'i', 'f']);
    digits.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}
