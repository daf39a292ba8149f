//! Tokens to a syntax tree. After a mistake it goes on at the next field or item, so that one look
//! finds several mistakes.

use std::collections::BTreeSet;
use std::ops::Range;

use super::ast::{File, Ident, Struct};
use super::lexer::{Token, TokenKind, tokens};
use crate::limits::MISTAKES_MAX;
use crate::report::{Report, Span, report};

/// How deep blocks and parentheses may stand in each other.
const NESTING_MAX: usize = 64;

/// Words that cannot name a field.
pub(crate) const RESERVED: [&str; 6] = ["if", "else", "switch", "default", "true", "false"];

/// Words that begin an item.
pub(crate) const ITEMS: [&str; 14] = [
    "import", "wire", "const", "type", "enum", "flags", "struct", "c_struct", "layer", "huffman",
    "lua", "state", "rules", "test",
];

/// The parser has reported a mistake and does not know how to go on from here.
pub(super) struct Failed;

/// What was parsed; else a mistake was reported.
pub(super) type Parsed<T> = Result<T, Failed>;

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
    pub text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    nesting: usize,
    pub expression_parts: usize,
    /// The structs that vectors stand for, since the last item.
    pub vectors: Vec<Struct<'a>>,
    pub vector_names: BTreeSet<&'a str>,
    pub reports: &'r mut Vec<Report>,
}

impl<'a> Parser<'a, '_> {
    fn file(&mut self, file: &mut File<'a>) {
        while self.peek() != TokenKind::End {
            let start = self.at;
            if self.item(file).is_err() {
                if self.at == start {
                    self.advance();
                }
                self.skip_to_item();
            }
        }
    }

    fn item(&mut self, file: &mut File<'a>) -> Parsed<()> {
        let word = match self.peek() {
            TokenKind::Name => self.here().text(self.text),
            _ => return Err(self.unexpected_item(None)),
        };
        match word {
            "import" => file.imports.push(self.import()?),
            "wire" => file.wires.push(self.block()?),
            "rules" => file.rules.push(self.block()?),
            "const" => file.constants.push(self.constant()?),
            "type" => {
                let alias = self.alias();
                file.structs.append(&mut self.vectors);
                file.aliases.push(alias?);
            }
            "enum" | "flags" => file.enums.push(self.enumeration(word == "flags")?),
            "struct" => {
                let structure = self.structure();
                file.structs.append(&mut self.vectors);
                file.structs.push(structure?);
            }
            "c_struct" => self.c_item(file)?,
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
        let found = self.found();
        let [all @ .., last] = ITEMS.map(|item| format!("`{item}`"));
        let label = format!("expected {} or {last}", all.join(", "));
        self.report(self.here(), format!("expected an item, found {found}"))
            .label(label)
            .suggest(word.unwrap_or_default(), ITEMS);
        Failed
    }

    pub(super) fn any_name(&mut self, expected: &str) -> Parsed<Ident<'a>> {
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
    pub(super) fn new_name(&mut self, expected: &str) -> Parsed<Ident<'a>> {
        if RESERVED.iter().any(|word| self.at_word(word)) {
            let word = self.here().text(self.text);
            let help = format!("`{word}` cannot be a name; `{word}_` can");
            return Err(self.unexpected_but(expected, help));
        }
        self.any_name(expected)
    }

    /// The name behind the word here.
    pub(super) fn name_behind(&mut self, expected: &str) -> Parsed<Ident<'a>> {
        self.advance();
        self.new_name(expected)
    }

    pub(super) fn peek(&self) -> TokenKind {
        self.peek_at(self.at)
    }

    pub(super) fn peek_second(&self) -> TokenKind {
        self.peek_at(self.at + 1)
    }

    fn peek_at(&self, at: usize) -> TokenKind {
        let token = self.tokens.get(at);
        token.map_or(TokenKind::End, |token| token.kind)
    }

    /// The place of the token that is next.
    pub(super) fn here(&self) -> Span {
        let end = Span::at(self.text.len());
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

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let there = self.at_word(word);
        if there {
            self.advance();
        }
        there
    }

    pub(super) fn expect_word(&mut self, word: &str, expected: &str) -> Parsed<()> {
        if self.take_word(word) {
            return Ok(());
        }
        Err(self.unexpected(expected))
    }

    /// What stands behind a mark, where the mark is there.
    pub(super) fn behind<T>(
        &mut self,
        mark: &'static str,
        parse: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<Option<T>> {
        if self.take_mark(mark) {
            Ok(Some(parse(self)?))
        } else {
            Ok(None)
        }
    }

    /// All parts between `{`, which stands at that place, and `}`.
    pub(super) fn in_braces<T>(
        &mut self,
        place: &str,
        mut part: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect_mark("{", place)?;
        let mut parts = Vec::new();
        while !self.take_mark("}") {
            parts.push(part(self)?);
        }
        Ok(parts)
    }

    /// Parts with `,` between them, up to and including the mark that closes them. `place` is where that
    /// is missing.
    pub(super) fn list<T>(
        &mut self,
        close: &'static str,
        place: &str,
        mut part: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut parts = Vec::new();
        while !self.at_mark(close) {
            parts.push(part(self)?);
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark(close, place)?;
        Ok(parts)
    }

    /// `place` ends the sentence "expected `;` ...".
    pub(super) fn expect_mark(&mut self, mark: &'static str, place: &str) -> Parsed<()> {
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
            Span::at(gap.start as usize)
        } else {
            here
        };
        let label = format!("expected {expected}");
        self.report(span, format!("expected {expected}, found {found}"))
            .label(label);
        Failed
    }

    /// The same, with what to do about it.
    pub(super) fn unexpected_but(&mut self, expected: &str, help: impl Into<String>) -> Failed {
        let failed = self.unexpected(expected);
        if let Some(report) = self.reports.last_mut() {
            report.help(help);
        }
        failed
    }

    /// The same in a block that should have ended before.
    pub(super) fn unclosed(&mut self, expected: &str, open: Span) -> Failed {
        let failed = self.unexpected(expected);
        if let Some(report) = self.reports.last_mut() {
            report.related(open, "this has no `}`");
        }
        failed
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
        if self.reports.len() + 1 >= MISTAKES_MAX {
            self.at = self.tokens.len().saturating_sub(1);
        }
        report(self.reports, span, message)
    }

    /// Runs a part of the parser one level deeper, and refuses to go too deep.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
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
    pub(super) fn skip_to_statement(&mut self) -> Parsed<()> {
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
            let here = self.here();
            let before = self.text.get(..here.start as usize).unwrap_or_default();
            let starts_line = before.is_empty() || before.ends_with('\n');
            let is_item = ITEMS.iter().any(|word| self.at_word(word));
            if self.peek() == TokenKind::End || (starts_line && is_item) {
                return;
            }
            self.advance();
        }
    }
}
