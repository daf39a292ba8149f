//! `state` items and the statements that change or join what a connection keeps.

use super::ast::{Expr, Field, Joined, Set, State, StateField};
use super::field::BEFORE_TYPE;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};

impl<'a> Parser<'a, '_> {
    /// `state NAME { FIELD ... }`
    pub(super) fn state_item(&mut self) -> Parsed<State<'a>> {
        let name = self.name_behind("the state's name")?;
        let fields = self.in_braces("to begin what is kept", Self::state_field)?;
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
        let value = Some(self.expression()?);
        self.expect_mark(";", "after `set`")?;
        Ok(Set { target, value })
    }

    /// `unset state.NAME[KEY];`
    pub(super) fn unset(&mut self) -> Parsed<Set<'a>> {
        self.advance();
        let target = self.state_operand()?;
        self.expect_mark(";", "after `unset`")?;
        let value = None;
        Ok(Set { target, value })
    }

    /// `join NAME: TYPE from state.NAME[KEY] (INDEX, COUNT, DATA);`
    pub(super) fn join(&mut self) -> Parsed<Joined<'a>> {
        self.joined(false, "`(INDEX, COUNT, DATA)`")
    }

    /// `follow NAME: TYPE[until end] from state.NAME (POSITION, DATA);`
    pub(super) fn follow(&mut self) -> Parsed<Joined<'a>> {
        self.joined(true, "`(POSITION, DATA)`")
    }

    fn joined(&mut self, repeated: bool, pieces: &str) -> Parsed<Joined<'a>> {
        self.advance();
        Ok(Joined {
            field: self.joined_field(repeated)?,
            from: self.state_operand()?,
            arguments: self.pieces(pieces)?,
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
