//! Texts between quotes, with their escapes.

use std::borrow::Cow;

use super::parser::{Failed, Parsed, Parser};
use crate::report::Span;

/// Marks after a backslash, with what they stand for.
const ESCAPES: [(char, char); 6] = [
    ('n', '\n'),
    ('r', '\r'),
    ('t', '\t'),
    ('0', '\0'),
    ('"', '"'),
    ('\\', '\\'),
];

impl<'a> Parser<'a, '_> {
    /// The text token that is next, without its quotes.
    pub(super) fn text_value(&mut self) -> Parsed<Cow<'a, str>> {
        let span = self.here();
        let quoted = span.text(self.text);
        self.advance();
        let inner = unquoted(quoted);
        let is_long = quoted.starts_with("\"\"\"");
        if is_long || !inner.contains('\\') {
            return Ok(Cow::Borrowed(inner));
        }
        let mut text = String::new();
        let mut rest = inner;
        while let Some((before, after)) = rest.split_once('\\') {
            text.push_str(before);
            match escaped(after) {
                Ok((character, length)) => {
                    text.push(character);
                    rest = after.get(length..).unwrap_or_default();
                }
                Err(wrong) => {
                    let start = span.start as usize + 1 + (inner.len() - after.len()) - 1;
                    let end = start + 1 + after.chars().next().map_or(0, char::len_utf8);
                    let at = Span::new(start..end);
                    let report = self.report(at, wrong.message).label(wrong.expected);
                    if let Some(help) = wrong.help {
                        report.help(help);
                    }
                    return Err(Failed);
                }
            }
        }
        text.push_str(rest);
        Ok(Cow::Owned(text))
    }
}

/// A text without its quotes, where it has them.
pub(super) fn unquoted(text: &str) -> &str {
    let text = text.strip_prefix('"').unwrap_or(text);
    text.strip_suffix('"').unwrap_or(text)
}

/// What is wrong with an escape.
struct Wrong {
    message: &'static str,
    expected: &'static str,
    help: Option<&'static str>,
}

/// What stands after a backslash: a character, and how many bytes spell it.
fn escaped(after: &str) -> Result<(char, usize), Wrong> {
    let first = after.chars().next();
    if let Some((_, character)) = ESCAPES.iter().find(|(mark, _)| Some(*mark) == first) {
        return Ok((*character, 1));
    }
    match first {
        Some('x') => {
            let digits = after.get(1..3).filter(|digits| is_hexadecimal(digits));
            let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            match value {
                Some(value) if value.is_ascii() => Ok((char::from(value), 3)),
                Some(_) => Err(Wrong {
                    message: "this byte is no character",
                    expected: "expected `\\x00` to `\\x7f`",
                    help: Some(
                        "bytes are written `x\"ff 0a\"`, and the character U+00FF is `\\u{ff}`",
                    ),
                }),
                None => Err(Wrong {
                    message: "this is no character",
                    expected: "expected two hexadecimal digits after `\\x`",
                    help: None,
                }),
            }
        }
        Some('u') => {
            let digits = after
                .strip_prefix("u{")
                .and_then(|rest| Some(rest.split_once('}')?.0));
            let digits = digits.filter(|digits| is_hexadecimal(digits) && digits.len() <= 6);
            let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            match (value.and_then(char::from_u32), digits) {
                (Some(character), Some(digits)) => Ok((character, digits.len() + 3)),
                _ => Err(Wrong {
                    message: "this is no character",
                    expected: "expected the number of one: `\\u{e9}`, up to `\\u{10ffff}`",
                    help: None,
                }),
            }
        }
        _ => Err(Wrong {
            message: "this escape means nothing",
            expected: "expected `\\n`, `\\r`, `\\t`, `\\0`, `\\\"`, `\\\\`, `\\x41` or `\\u{e9}`",
            help: Some("a backslash is written `\\\\`"),
        }),
    }
}

fn is_hexadecimal(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}
