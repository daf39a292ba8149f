//! `test` blocks: settings, and packets written as values.

use super::ast::{Ident, Pattern, PatternKind, Test};
use super::expression::literal_bytes;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};

impl<'a> Parser<'a, '_> {
    /// `test "NAME" { SETTING = VALUE, VALUE; ... }`
    pub(super) fn test(&mut self) -> Parsed<Test<'a>> {
        self.advance();
        let Ident { text: name, span } = self.quoted("the test's name: `test \"...\" {`")?;
        let setting = |parser: &mut Self| parser.setting(Self::pattern);
        let settings = self.in_braces("to begin the settings", setting)?;
        Ok(Test {
            name,
            span,
            settings,
        })
    }

    fn pattern(&mut self) -> Parsed<Pattern<'a>> {
        let start = self.here();
        let kind = match self.peek() {
            TokenKind::Mark("{") => self.nested(Self::fields)?,
            TokenKind::Mark("[") => self.nested(Self::elements)?,
            TokenKind::Mark("-") => {
                self.advance();
                match self.peek() {
                    TokenKind::Integer(value) => self.took(PatternKind::Integer(-value)),
                    TokenKind::Float(value) => self.took(PatternKind::Float(-value)),
                    _ => return Err(self.unexpected("a number after `-`")),
                }
            }
            TokenKind::Integer(value) => self.took(PatternKind::Integer(value)),
            TokenKind::Float(value) => self.took(PatternKind::Float(value)),
            TokenKind::Text => PatternKind::Text(self.text_value()?),
            TokenKind::Bytes => match literal_bytes(start.text(self.text)) {
                Some(bytes) => self.took(PatternKind::Bytes(bytes)),
                None => return Err(self.unexpected("pairs of hexadecimal digits: `x\"0a ff\"`")),
            },
            TokenKind::Name => self.named()?,
            _ => {
                let expected = "a value: a number, a name, a text, bytes, `{ ... }` or `[ ... ]`";
                return Err(self.unexpected(expected));
            }
        };
        let span = start.to(self.previous());
        Ok(Pattern { kind, span })
    }

    fn took(&mut self, kind: PatternKind<'a>) -> PatternKind<'a> {
        self.advance();
        kind
    }

    /// `true`, `false`, `member` or `Enum.member`
    fn named(&mut self) -> Parsed<PatternKind<'a>> {
        let mut last = self.any_name("a value")?;
        while self.take_mark(".") {
            last = self.any_name("a member after `.`")?;
        }
        Ok(match last.text {
            "true" => PatternKind::Bool(true),
            "false" => PatternKind::Bool(false),
            name => PatternKind::Name(name),
        })
    }

    fn fields(&mut self) -> Parsed<PatternKind<'a>> {
        self.advance();
        let mut fields: Vec<(Ident<'a>, Pattern<'a>)> = Vec::new();
        while !self.at_mark("}") {
            let name = self.any_name("a field, or `}`")?;
            self.expect_mark(":", "between the field's name and its value")?;
            let value = self.pattern()?;
            match fields.iter().find(|(first, _)| first.text == name.text) {
                Some(&(first, _)) => {
                    self.report(name.span, format!("`{}` is given twice", name.text))
                        .label("expected it once")
                        .related(first.span, "the first");
                }
                None => fields.push((name, value)),
            }
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark("}", "or `,` after the field")?;
        Ok(PatternKind::Fields(fields))
    }

    fn elements(&mut self) -> Parsed<PatternKind<'a>> {
        self.advance();
        let elements = self.list("]", "or `,` after the element", Self::pattern)?;
        Ok(PatternKind::Elements(elements))
    }
}
