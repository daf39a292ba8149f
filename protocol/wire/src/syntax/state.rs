//! `state` items and the statements that change or join what a connection keeps.

use super::ast::{Expr, Field, Follow, Join, Set, State, StateField};
use super::field::BEFORE_TYPE;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};

impl<'a> Parser<'a, '_> {
    /// `state NAME { FIELD ... }`
    pub(super) fn state_item(&mut self) -> Parsed<State<'a>> {
        self.advance();
        let name = self.new_name("the state's name")?;
        self.expect_mark("{", "to begin what is kept")?;
        let mut fields = Vec::new();
        while !self.at_mark("}") {
            fields.push(self.state_field()?);
        }
        self.advance();
        Ok(State { name, fields })
    }

    fn state_field(&mut self) -> Parsed<StateField<'a>> {
        let each = self.at_statement_word("each") && self.take_word("each");
        let name = self.new_name("a field, `each` or `}`")?;
        self.expect_mark(":", BEFORE_TYPE)?;
        let field_type = self.type_ref()?;
        let mut capacities = Vec::new();
        while self.take_mark("[") {
            capacities.push(self.expression()?);
            self.expect_mark("]", "after the number of entries")?;
        }
        let initial = self.behind("=", Self::expression)?;
        self.expect_mark(";", "after the field")?;
        Ok(StateField {
            each,
            name,
            field_type,
            capacities,
            initial,
        })
    }

    /// Whether the word here begins a statement and does not name a field.
    pub(super) fn at_statement_word(&self, word: &str) -> bool {
        self.at_word(word) && self.peek_second() == TokenKind::Name
    }

    /// `set state.NAME[KEY] = VALUE;`
    pub(super) fn set(&mut self) -> Parsed<Set<'a>> {
        self.advance();
        let target = self.state_operand()?;
        self.expect_mark("=", "between what is set and its value")?;
        let value = self.expression()?;
        self.expect_mark(";", "after `set`")?;
        Ok(Set {
            target,
            value: Some(value),
        })
    }

    /// `unset state.NAME[KEY];`
    pub(super) fn unset(&mut self) -> Parsed<Set<'a>> {
        self.advance();
        let target = self.state_operand()?;
        self.expect_mark(";", "after `unset`")?;
        Ok(Set {
            target,
            value: None,
        })
    }

    /// `join NAME: TYPE from state.NAME[KEY] (INDEX, COUNT, DATA);`
    pub(super) fn join(&mut self) -> Parsed<Join<'a>> {
        self.advance();
        let field = self.joined_field(false)?;
        let from = self.state_operand()?;
        let arguments = self.pieces("`(INDEX, COUNT, DATA)`")?;
        Ok(Join {
            field,
            from,
            arguments,
        })
    }

    /// `follow NAME: TYPE[until end] from state.NAME (POSITION, DATA);`
    pub(super) fn follow(&mut self) -> Parsed<Follow<'a>> {
        self.advance();
        let field = self.joined_field(true)?;
        let from = self.state_operand()?;
        let arguments = self.pieces("`(POSITION, DATA)`")?;
        Ok(Follow {
            field,
            from,
            arguments,
        })
    }

    /// `NAME: TYPE @annotation from`
    fn joined_field(&mut self, repeated: bool) -> Parsed<Field<'a>> {
        let name = self.new_name("a field")?;
        self.expect_mark(":", BEFORE_TYPE)?;
        let mut field = Field::plain(name, self.type_ref()?);
        if self.at_mark("[") {
            field.repeat = Some(self.repeat()?);
        } else if repeated {
            return Err(self.unexpected("`[until end]` after the type"));
        }
        field.annotations = self.annotations()?;
        self.expect_word("from", "`from`, and where the bytes are kept")?;
        Ok(field)
    }

    fn state_operand(&mut self) -> Parsed<Expr<'a>> {
        if !self.at_word("state") {
            return Err(self.unexpected("`state.NAME`"));
        }
        self.expression_parts = 0;
        self.named_operand()
    }

    fn pieces(&mut self, expected: &str) -> Parsed<Vec<Expr<'a>>> {
        let Some(arguments) = self.own_arguments()? else {
            return Err(self.unexpected(expected));
        };
        self.expect_mark(";", "after the last argument")?;
        Ok(arguments)
    }
}
