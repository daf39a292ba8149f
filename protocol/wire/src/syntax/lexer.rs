//! Text to tokens.

use std::ops::Range;

use crate::limits::MISTAKES_MAX;
use crate::report::{Report, Span, report};

/// What a token is. Names and texts are read from the source by their span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Name,
    Integer(i128),
    Float(f64),
    /// Between quotes; the span includes them.
    Text,
    /// `x"0a ff"`; the span includes the `x` and the quotes.
    Bytes,
    /// Punctuation, as it is spelled.
    Mark(&'static str),
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// Longer ones first, so that `<<` is not read as `<`, `<`.
const MARKS: [&str; 34] = [
    "..=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "=>", "..", "{", "}", "(", ")", "[",
    "]", ";", ":", ",", ".", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "!", "@",
];

/// All tokens of a part of a text, the last one `End`. Characters that begin no token are reported and
/// skipped. The text is at most `u32::MAX` bytes long: the caller sees to it.
pub(crate) fn tokens(text: &str, part: Range<usize>, reports: &mut Vec<Report>) -> Vec<Token> {
    let mut lexer = Lexer {
        text: text.get(..part.end).unwrap_or(text),
        at: part.start,
        reports,
    };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next();
        tokens.push(token);
        if token.kind == TokenKind::End {
            return tokens;
        }
    }
}

/// What to write instead of lines for the preprocessor of C.
const OF_C: [(&str, &str); 6] = [
    (
        "#pragma",
        "a `c_struct` says how it is laid out: `c_struct(packed)`, `c_struct(pack(4))`",
    ),
    ("#define", "a constant is written `const NAME = VALUE;`"),
    ("#include", NO_PREPROCESSOR),
    ("#if", NO_PREPROCESSOR),
    ("#endif", NO_PREPROCESSOR),
    ("#else", NO_PREPROCESSOR),
];

const NO_PREPROCESSOR: &str =
    "there is no preprocessor: leave the line out, and `import` other wires";

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    reports: &'a mut Vec<Report>,
}

impl Lexer<'_> {
    fn next(&mut self) -> Token {
        loop {
            self.skip_blanks();
            if self.reports.len() >= MISTAKES_MAX {
                self.at = self.text.len();
            }
            let start = self.at;
            let Some(first) = self.rest().chars().next() else {
                return self.token(start, TokenKind::End);
            };
            if self.rest().starts_with("x\"") {
                self.at += 1;
                self.bytes_literal();
                return self.token(start, TokenKind::Bytes);
            }
            if first.is_ascii_alphabetic() || first == '_' {
                self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                return self.token(start, TokenKind::Name);
            }
            if first.is_ascii_digit() {
                let kind = self.number();
                return self.token(start, kind);
            }
            if self.rest().starts_with("\"\"\"") {
                self.long_text();
                return self.token(start, TokenKind::Text);
            }
            if first == '"' {
                self.text_literal();
                return self.token(start, TokenKind::Text);
            }
            if let Some(mark) = MARKS.iter().find(|mark| self.rest().starts_with(**mark)) {
                self.at += mark.len();
                return self.token(start, TokenKind::Mark(mark));
            }
            self.at += first.len_utf8();
            let shown = first.escape_debug();
            let message = format!("the character `{shown}` has no meaning here");
            let rest = self.text.get(start..).unwrap_or_default();
            let report = self.report(start, message);
            if first == '?' {
                report.help("a choice between two values is `if (CONDITION) a else b`");
                self.take_while(|c| !matches!(c, ';' | '\n'));
            } else if first == '#' {
                let of_c = OF_C.iter().find(|(word, _)| rest.starts_with(word));
                report.help(of_c.map_or("a comment starts with `//`", |(_, help)| *help));
                self.take_while(|c| c != '\n');
            }
        }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn token(&self, start: usize, kind: TokenKind) -> Token {
        let span = Span::new(start..self.at);
        Token { kind, span }
    }

    fn report(&mut self, start: usize, message: impl Into<String>) -> &mut Report {
        report(self.reports, Span::new(start..self.at), message)
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) {
        let length: usize = self
            .rest()
            .chars()
            .take_while(|&c| accept(c))
            .map(char::len_utf8)
            .sum();
        self.at += length;
    }

    fn skip_blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                let start = self.at;
                match self.rest().find("*/") {
                    Some(length) => self.at += length + 2,
                    None => {
                        self.at += 2;
                        self.report(start, "this comment has no end")
                            .label("expected `*/` before the end of the file");
                        self.at = self.text.len();
                    }
                }
            } else {
                return;
            }
        }
    }

    /// From `"""` to `"""`, over any number of lines.
    fn long_text(&mut self) {
        let start = self.at;
        self.at += 3;
        match self.rest().find("\"\"\"") {
            Some(length) => self.at += length + 3,
            None => {
                self.report(start, "this text has no end")
                    .label("expected `\"\"\"` before the end of the file");
                self.at = self.text.len();
            }
        }
    }

    fn number(&mut self) -> TokenKind {
        let start = self.at;
        let radix = match self.rest().as_bytes() {
            [b'0', b'x' | b'X', ..] => 16,
            [b'0', b'b' | b'B', ..] => 2,
            _ => 10,
        };
        if radix != 10 {
            self.at += 2;
        }
        let digits = self.at;
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let mut float = false;
        let mut after_point = self.rest().bytes().skip(1);
        if radix == 10
            && self.rest().starts_with('.')
            && after_point.next().is_some_and(|c| c.is_ascii_digit())
        {
            float = true;
            self.at += 1;
            self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        }
        let spelled: String = self.text[digits..self.at]
            .chars()
            .filter(|&c| c != '_')
            .collect();
        if float {
            if let Ok(value) = spelled.parse::<f64>()
                && value.is_finite()
            {
                return TokenKind::Float(value);
            }
            self.report(start, "this is not a number")
                .label("expected digits such as `12.5`");
            return TokenKind::Float(0.0);
        }
        match u64::from_str_radix(&spelled, radix) {
            Ok(value) => TokenKind::Integer(i128::from(value)),
            Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
                self.report(start, "this number needs more than 64 bits");
                TokenKind::Integer(0)
            }
            Err(_) => {
                let expected = match radix {
                    16 => "expected hexadecimal digits after `0x`",
                    2 => "expected `0` and `1` after `0b`",
                    _ => "expected digits only; a name starts with a letter",
                };
                self.report(start, "this is not a number").label(expected);
                TokenKind::Integer(0)
            }
        }
    }

    /// From the first quote. Bytes may run over several lines; where one of them holds something
    /// else, the quote that ends them was forgotten, and they end with their first line.
    fn bytes_literal(&mut self) {
        let start = self.at;
        self.at += 1;
        self.take_while(|c| c.is_ascii_hexdigit() || c.is_ascii_whitespace());
        if self.rest().starts_with('"') {
            self.at += 1;
        } else {
            self.at = start;
            self.text_literal();
        }
    }

    fn text_literal(&mut self) {
        let start = self.at;
        self.at += 1;
        loop {
            self.take_while(|c| !matches!(c, '"' | '\n' | '\\'));
            // What a backslash stands before does not end the text.
            let mut rest = self.rest().chars();
            match (rest.next(), rest.next()) {
                (Some('\\'), Some(after)) if after != '\n' => self.at += 1 + after.len_utf8(),
                (Some('\\'), _) => self.at += 1,
                _ => break,
            }
        }
        if self.rest().starts_with('"') {
            self.at += 1;
        } else {
            self.report(start, "this text has no end")
                .label("expected `\"` before the line's end");
        }
    }
}
