//! Tokens to a syntax tree. After a mistake it goes on at the next field or item, so that one look
//! finds several mistakes.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Span;
use super::ast::{
    Align, Arm, Block, Constant, Enum, Expr, ExprKind, File, Ident, If, Import, Member, Parameter,
    Setting, SizeBlock, Statement, Struct, Switch,
};
use super::lexer::{Token, TokenKind, tokens};
use crate::error::Report;
use crate::limits::MISTAKES_MAX;
use crate::suggest::did_you_mean;

/// How deep blocks and parentheses may stand in each other.
const NESTING_MAX: usize = 64;

/// Words that cannot name a field.
pub(crate) const RESERVED: [&str; 6] = ["if", "else", "switch", "default", "true", "false"];

/// Words that begin an item.
pub(crate) const ITEMS: [&str; 12] = [
    "import", "wire", "const", "enum", "flags", "struct", "layer", "huffman", "lua", "state",
    "rules", "test",
];

/// The parser has reported a mistake and does not know how to go on from here.
pub(super) struct Failed;

/// Adds the syntax tree of a part of a text, and what is wrong with its form.
pub(crate) fn parse<'a>(
    text: &'a str,
    part: Range<usize>,
    file: &mut File<'a>,
    reports: &mut Vec<Report>,
) {
    let tokens = tokens(text, part, reports);
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        nesting: 0,
        expression_parts: 0,
        vectors: Vec::new(),
        vector_names: BTreeSet::new(),
        reports,
    };
    parser.file(file);
}

pub(super) struct Parser<'a, 'r> {
    pub(super) text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    nesting: usize,
    pub(super) expression_parts: usize,
    /// The structs that vectors stand for, since the last item.
    pub(super) vectors: Vec<Struct<'a>>,
    pub(super) vector_names: BTreeSet<&'a str>,
    reports: &'r mut Vec<Report>,
}

impl<'a> Parser<'a, '_> {
    fn file(&mut self, file: &mut File<'a>) {
        while self.peek() != TokenKind::End {
            if self.item(file).is_err() {
                self.skip_to_item();
            }
        }
    }

    fn item(&mut self, file: &mut File<'a>) -> Result<(), Failed> {
        let word = match self.peek() {
            TokenKind::Name => self.here().text(self.text),
            _ => return Err(self.unexpected_item(None)),
        };
        match word {
            "import" => file.imports.push(self.import()?),
            "wire" => file.wires.push(self.block()?),
            "rules" => file.rules.push(self.block()?),
            "const" => file.constants.push(self.constant()?),
            "enum" | "flags" => file.enums.push(self.enumeration(word == "flags")?),
            "struct" => {
                let structure = self.structure();
                file.structs.append(&mut self.vectors);
                file.structs.push(structure?);
            }
            "test" => file.tests.push(self.test()?),
            "state" => file.states.push(self.state_item()?),
            "layer" => file.layers.push(self.layer()?),
            "huffman" => file.huffmans.push(self.huffman()?),
            "lua" => file.scripts.push(self.lua()?),
            _ => return Err(self.unexpected_item(Some(word))),
        }
        Ok(())
    }

    fn unexpected_item(&mut self, word: Option<&str>) -> Failed {
        let suggestion = word.and_then(|word| did_you_mean(word, ITEMS));
        let found = self.found();
        let [all @ .., last] = ITEMS.map(|item| format!("`{item}`"));
        let label = format!("expected {} or {last}", all.join(", "));
        let report = self
            .report(self.here(), format!("expected an item, found {found}"))
            .label(label);
        if let Some(suggestion) = suggestion {
            report.help(suggestion);
        }
        Failed
    }

    fn block(&mut self) -> Result<Block<'a>, Failed> {
        self.advance();
        let name = self.new_name("a name")?;
        self.settings(name)
    }

    /// The settings of a block, with their braces.
    pub(super) fn settings(&mut self, name: Ident<'a>) -> Result<Block<'a>, Failed> {
        self.expect_mark("{", "to begin the settings")?;
        let mut settings = Vec::new();
        while !self.at_mark("}") {
            let name = self.any_name("a setting, or `}`")?;
            self.expect_mark("=", "after the setting's name")?;
            let value = self.setting_value()?;
            let mut more = Vec::new();
            while self.take_mark(",") {
                more.push(self.setting_value()?);
            }
            self.expect_mark(";", "after the setting")?;
            settings.push(Setting { name, value, more });
        }
        self.advance();
        Ok(Block { name, settings })
    }

    /// An expression, or `LOW..=HIGH`.
    fn setting_value(&mut self) -> Result<Expr<'a>, Failed> {
        let low = self.expression()?;
        if !self.take_mark("..=") {
            return Ok(low);
        }
        let high = self.expression()?;
        let span = low.span.to(high.span);
        let kind = ExprKind::Interval(Box::new(low), Box::new(high));
        Ok(Expr::new(kind, span))
    }

    fn import(&mut self) -> Result<Import<'a>, Failed> {
        self.advance();
        let span = self.here();
        if self.peek() != TokenKind::Text {
            return Err(self.unexpected("the path of a file: `import \"other.wire\";`"));
        }
        self.advance();
        let quoted = span.text(self.text);
        let path = quoted.strip_prefix('"').unwrap_or(quoted);
        let path = path.strip_suffix('"').unwrap_or(path);
        self.expect_mark(";", "after the path")?;
        Ok(Import { path, span })
    }

    fn constant(&mut self) -> Result<Constant<'a>, Failed> {
        self.advance();
        let name = self.new_name("the constant's name")?;
        self.expect_mark("=", "after the constant's name")?;
        let value = self.expression()?;
        self.expect_mark(";", "after the constant")?;
        Ok(Constant { name, value })
    }

    fn enumeration(&mut self, is_flags: bool) -> Result<Enum<'a>, Failed> {
        self.advance();
        let (name, holds) = match is_flags {
            true => ("the flags' name", "the flags"),
            false => ("the enum's name", "the enum"),
        };
        let name = self.new_name(name)?;
        let holds = format!("and the integer type that holds {holds}, such as `u8`");
        self.expect_mark(":", &holds)?;
        let base = self.type_ref()?;
        self.expect_mark("{", "to begin the members")?;
        let mut members = Vec::new();
        while !self.at_mark("}") {
            let name = self.new_name("a member, or `}`")?;
            let value = if self.take_mark("=") {
                Some(self.expression()?)
            } else {
                None
            };
            let annotations = self.annotations()?;
            members.push(Member {
                name,
                value,
                annotations,
            });
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark("}", "or `,` after the member")?;
        Ok(Enum {
            name,
            is_flags,
            base,
            members,
        })
    }

    fn structure(&mut self) -> Result<Struct<'a>, Failed> {
        self.advance();
        let name = self.new_name("the struct's name")?;
        let parameters = match self.take_mark("(") {
            true => self.parameters()?,
            false => Vec::new(),
        };
        let annotations = self.annotations()?;
        self.expect_mark("{", "to begin the fields")?;
        let body = self.body()?;
        Ok(Struct {
            name,
            parameters,
            is_vector: false,
            annotations,
            body,
        })
    }

    /// Up to and including `)`.
    fn parameters(&mut self) -> Result<Vec<Parameter<'a>>, Failed> {
        let mut parameters = Vec::new();
        while !self.at_mark(")") {
            let name = self.new_name("a parameter")?;
            self.expect_mark(":", "between the parameter's name and its type")?;
            let type_name = self.new_name("`int`, `bool` or an enum")?;
            parameters.push(Parameter { name, type_name });
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark(")", "after the last parameter")?;
        Ok(parameters)
    }

    /// Statements up to and including `}`.
    fn body(&mut self) -> Result<Vec<Statement<'a>>, Failed> {
        let open = self.previous();
        let mut body = Vec::new();
        while !self.at_mark("}") {
            if self.peek() == TokenKind::End {
                let failed = self.unexpected("a field, or `}`");
                if let Some(report) = self.reports.last_mut() {
                    report.related(open, "this has no `}`");
                }
                return Err(failed);
            }
            match self.statement() {
                Ok(statement) => body.push(statement),
                Err(Failed) => self.skip_to_statement()?,
            }
        }
        self.advance();
        Ok(body)
    }

    fn braced_body(&mut self, after: &str) -> Result<Vec<Statement<'a>>, Failed> {
        self.expect_mark("{", after)?;
        self.nested(Self::body)
    }

    fn statement(&mut self) -> Result<Statement<'a>, Failed> {
        let word = match self.peek() {
            TokenKind::Name => self.here().text(self.text),
            _ => return Err(self.unexpected("a field, `if`, `switch`, `align` or `}`")),
        };
        match word {
            "if" => Ok(Statement::If(self.if_statement()?)),
            "switch" => Ok(Statement::Switch(self.switch()?)),
            "align" if self.peek_second() == TokenKind::Mark("(") => {
                Ok(Statement::Align(self.align()?))
            }
            "let" if self.peek_second() == TokenKind::Name => {
                Ok(Statement::Field(Box::new(self.computed()?)))
            }
            "set" if self.at_statement_word("set") => Ok(Statement::Set(self.set()?)),
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

    fn size_block(&mut self, is_at: bool) -> Result<Statement<'a>, Failed> {
        let size = self.size()?;
        let body = self.braced_body("to begin what stands there")?;
        Ok(Statement::Size(SizeBlock { is_at, size, body }))
    }

    fn if_statement(&mut self) -> Result<If<'a>, Failed> {
        self.advance();
        self.expect_mark("(", "before the condition")?;
        let condition = self.expression()?;
        self.expect_mark(")", "after the condition")?;
        let then = self.braced_body("to begin the fields of the `if`")?;
        let mut otherwise = Vec::new();
        if self.at_word("else") {
            self.advance();
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

    fn switch(&mut self) -> Result<Switch<'a>, Failed> {
        let start = self.here();
        self.advance();
        self.expect_mark("(", "before what the switch looks at")?;
        let on = self.expression()?;
        self.expect_mark(")", "after what the switch looks at")?;
        let span = start.to(self.previous());
        self.expect_mark("{", "to begin the arms")?;
        let arms = self.nested(Self::arms)?;
        Ok(Switch { on, arms, span })
    }

    fn arms(&mut self) -> Result<Vec<Arm<'a>>, Failed> {
        let mut arms = Vec::new();
        while !self.at_mark("}") {
            let start = self.here();
            let mut patterns = Vec::new();
            if self.at_word("default") {
                self.advance();
            } else {
                patterns.push(self.expression()?);
                while self.take_mark(",") {
                    patterns.push(self.expression()?);
                }
            }
            let span = start.to(self.previous());
            self.expect_mark("=>", "between the value and what follows it")?;
            let body = if self.take_mark("{") {
                self.nested(Self::body)?
            } else {
                vec![self.nested(Self::statement)?]
            };
            self.take_mark(",");
            arms.push(Arm {
                patterns,
                body,
                span,
            });
        }
        self.advance();
        Ok(arms)
    }

    fn align(&mut self) -> Result<Align<'a>, Failed> {
        let start = self.here();
        self.advance();
        self.advance();
        let bits = self.expression()?;
        self.expect_mark(")", "after the number of bits")?;
        let span = start.to(self.previous());
        let pad = if self.take_mark("=") {
            Some(self.expression()?)
        } else {
            None
        };
        self.expect_mark(";", "after `align`")?;
        Ok(Align { bits, pad, span })
    }

    pub(super) fn any_name(&mut self, expected: &str) -> Result<Ident<'a>, Failed> {
        if self.peek() != TokenKind::Name {
            return Err(self.unexpected(expected));
        }
        let span = self.here();
        self.advance();
        Ok(Ident {
            text: span.text(self.text),
            span,
        })
    }

    /// A name that is not a word of the language.
    pub(super) fn new_name(&mut self, expected: &str) -> Result<Ident<'a>, Failed> {
        if RESERVED.iter().any(|word| self.at_word(word)) {
            return Err(self.unexpected(expected));
        }
        self.any_name(expected)
    }

    pub(super) fn peek(&self) -> TokenKind {
        self.tokens
            .get(self.at)
            .map_or(TokenKind::End, |token| token.kind)
    }

    pub(super) fn peek_second(&self) -> TokenKind {
        self.tokens
            .get(self.at + 1)
            .map_or(TokenKind::End, |token| token.kind)
    }

    /// The place of the token that is next.
    pub(super) fn here(&self) -> Span {
        let end = Span {
            start: self.text.len() as u32,
            end: self.text.len() as u32,
        };
        self.tokens.get(self.at).map_or(end, |token| token.span)
    }

    /// The place of the token that was taken last.
    pub(super) fn previous(&self) -> Span {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.map_or(Span::default(), |token| token.span)
    }

    pub(super) fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    pub(super) fn at_mark(&self, mark: &'static str) -> bool {
        self.peek() == TokenKind::Mark(mark)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        self.peek() == TokenKind::Name && self.here().text(self.text) == word
    }

    pub(super) fn take_mark(&mut self, mark: &'static str) -> bool {
        let there = self.at_mark(mark);
        if there {
            self.advance();
        }
        there
    }

    /// `place` ends the sentence "expected `;` ...".
    pub(super) fn expect_mark(&mut self, mark: &'static str, place: &str) -> Result<(), Failed> {
        if self.take_mark(mark) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{mark}` {place}")))
    }

    pub(super) fn unexpected(&mut self, expected: &str) -> Failed {
        let found = self.found();
        let here = self.here();
        // A mark that is missing at the end of a line is missed there, not on the next line.
        let gap = Span {
            start: self.previous().end,
            end: here.start,
        };
        let at_gap = expected.starts_with("`;`") && gap.text(self.text).contains('\n');
        let span = if at_gap {
            Span {
                start: gap.start,
                end: gap.start,
            }
        } else {
            here
        };
        let label = format!("expected {expected}");
        self.report(span, format!("expected {expected}, found {found}"))
            .label(label);
        Failed
    }

    fn found(&self) -> String {
        let spelled = self.here().text(self.text);
        match self.peek() {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::Name if RESERVED.contains(&spelled) => {
                format!("`{spelled}`, a word of the language")
            }
            _ => format!("`{spelled}`"),
        }
    }

    pub(super) fn report(&mut self, span: Span, message: impl Into<String>) -> &mut Report {
        self.reports.push(Report::at(span, message));
        if self.reports.len() >= MISTAKES_MAX {
            self.at = self.tokens.len().saturating_sub(1);
        }
        let last = self.reports.len() - 1;
        &mut self.reports[last]
    }

    /// Runs a part of the parser one level deeper, and refuses to go too deep.
    pub(super) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        if self.nesting >= NESTING_MAX {
            let label = format!("blocks and parentheses may be {NESTING_MAX} deep");
            self.report(self.here(), "this is nested too deeply")
                .label(label);
            // Whatever follows would be taken to stand somewhere else.
            self.at = self.tokens.len().saturating_sub(1);
            return Err(Failed);
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// After a mistake in a statement: past the next `;`, or to the `}` that ends the body.
    fn skip_to_statement(&mut self) -> Result<(), Failed> {
        let mut depth = 0usize;
        loop {
            match self.peek() {
                TokenKind::End => return Err(Failed),
                TokenKind::Mark(";") if depth == 0 => {
                    self.advance();
                    return Ok(());
                }
                TokenKind::Mark("{") => depth += 1,
                TokenKind::Mark("}") if depth == 0 => return Ok(()),
                TokenKind::Mark("}") => {
                    depth -= 1;
                    if depth == 0 {
                        self.advance();
                        return Ok(());
                    }
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// After a mistake in an item: to a word that begins one at the start of a line.
    fn skip_to_item(&mut self) {
        loop {
            self.advance();
            let here = self.here();
            let before = self.text.get(..here.start as usize).unwrap_or_default();
            let starts_line = before.is_empty() || before.ends_with('\n');
            let is_item = ITEMS.iter().any(|word| self.at_word(word));
            if self.peek() == TokenKind::End || (starts_line && is_item) {
                return;
            }
        }
    }
}
