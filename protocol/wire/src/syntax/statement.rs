//! The statements of a struct: fields, branches, windows.

use super::ast::{Align, Arm, ByteOrderOf, If, SizeBlock, Statement, Switch};
use super::lexer::TokenKind;
use super::parser::{Failed, Parsed, Parser};

impl<'a> Parser<'a, '_> {
    /// Statements up to and including `}`.
    pub(super) fn body(&mut self) -> Parsed<Vec<Statement<'a>>> {
        let open = self.previous();
        let mut body = Vec::new();
        while !self.at_mark("}") {
            if self.peek() == TokenKind::End {
                return Err(self.unclosed("a field, or `}`", open));
            }
            if self.is_at_item() {
                // The body was never closed: what follows stands for itself.
                return Err(self.unclosed("`}` before the next item", open));
            }
            match self.statement() {
                Ok(statement) => body.push(statement),
                Err(Failed) if self.is_at_item() => return Err(Failed),
                Err(Failed) => self.skip_to_statement()?,
            }
        }
        self.advance();
        Ok(body)
    }

    /// Whether what comes is an item at the start of a line, such as `struct NAME {`.
    fn is_at_item(&self) -> bool {
        let start = self.here().start as usize;
        let before = self.text.get(..start).unwrap_or_default();
        let names = [
            "struct", "enum", "flags", "wire", "state", "rules", "layer", "test",
        ];
        (before.is_empty() || before.ends_with('\n'))
            && names.iter().any(|word| self.at_word(word))
            && matches!(self.peek_second(), TokenKind::Name | TokenKind::Text)
    }

    fn braced_body(&mut self, after: &str) -> Parsed<Vec<Statement<'a>>> {
        self.expect_mark("{", after)?;
        self.nested(Self::body)
    }

    fn statement(&mut self) -> Parsed<Statement<'a>> {
        let word = match self.peek() {
            TokenKind::Name => self.here().text(self.text),
            _ => return Err(self.unexpected("a field, `if`, `switch`, `align` or `}`")),
        };
        // A field of that name, which says what to write instead.
        let names_field = self.peek_second() == TokenKind::Mark(":");
        match word {
            "if" if !names_field => Ok(Statement::If(self.if_statement()?)),
            "switch" if !names_field => Ok(Statement::Switch(self.switch()?)),
            "align" if self.peek_second() == TokenKind::Mark("(") => {
                Ok(Statement::Align(self.align()?))
            }
            "byte_order" if self.peek_second() == TokenKind::Mark("=") => {
                Ok(Statement::ByteOrder(self.byte_order()?))
            }
            "let" if self.peek_second() == TokenKind::Name => {
                Ok(Statement::Field(Box::new(self.computed()?)))
            }
            "set" if self.at_statement_word("set") => Ok(Statement::Set(self.set()?)),
            "unset" if self.at_statement_word("unset") => Ok(Statement::Set(self.unset()?)),
            "join" if self.at_statement_word("join") => Ok(Statement::Join(self.join()?)),
            "follow" if self.at_statement_word("follow") => Ok(Statement::Follow(self.follow()?)),
            "label" if self.peek_second() == TokenKind::Name => {
                Ok(Statement::Field(Box::new(self.label()?)))
            }
            "size" if self.peek_second() == TokenKind::Mark("(") => self.size_block(false),
            "at" if self.peek_second() == TokenKind::Mark("(") => self.size_block(true),
            _ => Ok(Statement::Field(Box::new(self.field()?))),
        }
    }

    fn size_block(&mut self, is_at: bool) -> Parsed<Statement<'a>> {
        let size = self.size()?;
        let body = self.braced_body("to begin what stands there")?;
        Ok(Statement::Size(SizeBlock { is_at, size, body }))
    }

    fn if_statement(&mut self) -> Parsed<If<'a>> {
        self.advance();
        self.expect_mark("(", "before the condition")?;
        let condition = self.expression()?;
        if self.at_mark("=") {
            let help = "values are compared with `==`";
            return Err(self.unexpected_but("`)` after the condition", help));
        }
        self.expect_mark(")", "after the condition")?;
        let then = self.braced_body("to begin the fields of the `if`")?;
        let mut otherwise = Vec::new();
        if self.take_word("else") {
            if self.at_word("if") {
                otherwise.push(Statement::If(self.nested(Self::if_statement)?));
            } else {
                otherwise = self.braced_body("to begin the fields of the `else`, or `if`")?;
            }
        }
        Ok(If {
            condition,
            then,
            otherwise,
        })
    }

    fn switch(&mut self) -> Parsed<Switch<'a>> {
        let start = self.here();
        self.advance();
        let on = self.in_parentheses("what the switch looks at")?;
        let span = start.to(self.previous());
        self.expect_mark("{", "to begin the arms")?;
        let arms = self.nested(Self::arms)?;
        Ok(Switch { on, arms, span })
    }

    fn arms(&mut self) -> Parsed<Vec<Arm<'a>>> {
        let mut arms = Vec::new();
        while !self.at_mark("}") {
            match self.arm() {
                Ok(arm) => arms.push(arm),
                Err(Failed) => self.skip_to_arm()?,
            }
        }
        self.advance();
        Ok(arms)
    }

    fn arm(&mut self) -> Parsed<Arm<'a>> {
        let start = self.here();
        let mut patterns = Vec::new();
        let is_case = self.here().text(self.text) == "case";
        if !self.take_word("default") {
            patterns.push(self.expression()?);
            while self.take_mark(",") {
                patterns.push(self.expression()?);
            }
        }
        let span = start.to(self.previous());
        if let Err(failed) = self.expect_mark("=>", "between the value and what follows it") {
            if is_case && let Some(report) = self.reports.last_mut() {
                report.help("an arm is its value alone: `1 => { ... }`");
            }
            return Err(failed);
        }
        let body = if self.take_mark("{") {
            self.nested(Self::body)?
        } else {
            vec![self.nested(Self::statement)?]
        };
        self.take_mark(",");
        Ok(Arm {
            patterns,
            body,
            span,
        })
    }

    /// After a mistake in an arm: to the next one, or to the `}` that ends the switch.
    fn skip_to_arm(&mut self) -> Parsed<()> {
        self.skip_to_statement()?;
        self.take_mark(",");
        Ok(())
    }

    fn byte_order(&mut self) -> Parsed<ByteOrderOf<'a>> {
        self.advance();
        self.advance();
        let expected = "`little`, `big`, or `if (CONDITION) little else big`";
        let byte_order = if self.take_word("if") {
            let condition = self.in_parentheses("the condition")?;
            let order = self.any_name("`little` or `big`")?;
            self.expect_word("else", "`else` and the other order")?;
            let other = self.any_name("`little` or `big`")?;
            ByteOrderOf {
                order,
                choice: Some((condition, other)),
            }
        } else {
            ByteOrderOf {
                order: self.any_name(expected)?,
                choice: None,
            }
        };
        self.expect_mark(";", "after the byte order")?;
        Ok(byte_order)
    }

    fn align(&mut self) -> Parsed<Align<'a>> {
        let start = self.here();
        self.advance();
        self.advance();
        let bits = self.expression()?;
        self.expect_mark(")", "after the number of bits")?;
        let span = start.to(self.previous());
        let pad = self.behind("=", Self::expression)?;
        self.expect_mark(";", "after `align`")?;
        Ok(Align { bits, pad, span })
    }
}
