//! A wire's text in pieces, comments included: what an editor and the formatter work on.

use std::ops::Range;

use crate::syntax::lexer::{TokenKind, tokens};

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexemeKind {
    /// A name or a word of the language.
    Word,
    /// An integer or a float.
    Number,
    /// Between quotes.
    Text,
    /// `x"0a ff"`
    Bytes,
    /// Punctuation.
    Mark,
    /// `// ...` up to the line's end, without it.
    LineComment,
    /// `/* ... */`
    BlockComment,
    /// Characters without a meaning.
    Other,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// What it is.
    pub kind: LexemeKind,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

impl Lexeme {
    /// The piece; empty where the text is another one.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.range.clone()).unwrap_or_default()
    }

    /// Whether it is a comment.
    pub fn is_comment(&self) -> bool {
        matches!(
            self.kind,
            LexemeKind::LineComment | LexemeKind::BlockComment
        )
    }
}

/// All pieces of a text but the blanks between them, in its order. Never fails: what has no meaning is
/// [`LexemeKind::Other`].
pub fn lexemes(text: &str) -> Vec<Lexeme> {
    let mut lexemes = Vec::new();
    if u32::try_from(text.len()).is_err() {
        return lexemes;
    }
    let mut at = 0;
    for token in tokens(text, 0..text.len(), &mut Vec::new()) {
        let range = token.span.range();
        between(text, at..range.start, &mut lexemes);
        at = range.end;
        let kind = match token.kind {
            TokenKind::Name => LexemeKind::Word,
            TokenKind::Integer(_) | TokenKind::Float(_) => LexemeKind::Number,
            TokenKind::Text => LexemeKind::Text,
            TokenKind::Bytes => LexemeKind::Bytes,
            TokenKind::Mark(_) => LexemeKind::Mark,
            TokenKind::End => continue,
        };
        lexemes.push(Lexeme { kind, range });
    }
    lexemes
}

/// What stands between two tokens: comments, and characters that begin no token.
fn between(text: &str, gap: Range<usize>, lexemes: &mut Vec<Lexeme>) {
    let mut at = gap.start;
    while let Some(rest) = text.get(at..gap.end) {
        let blanks = rest.len() - rest.trim_start().len();
        at += blanks;
        let rest = rest.trim_start();
        if rest.is_empty() {
            return;
        }
        let (kind, length) = if rest.starts_with("//") {
            let line = rest.split('\n').next().unwrap_or(rest);
            (LexemeKind::LineComment, line.trim_end().len())
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |end| end + 2);
            (LexemeKind::BlockComment, end)
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (LexemeKind::Other, end)
        };
        lexemes.push(Lexeme {
            kind,
            range: at..at + length,
        });
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::{LexemeKind, lexemes};

    #[test]
    fn comments_and_odd_characters_are_pieces() {
        let text = "a: u8; // one\n/* two */ # three\nx\"0a\"";
        let found: Vec<(LexemeKind, &str)> = lexemes(text)
            .iter()
            .map(|lexeme| (lexeme.kind, lexeme.text(text)))
            .collect();
        use LexemeKind::*;
        let expected = [
            (Word, "a"),
            (Mark, ":"),
            (Word, "u8"),
            (Mark, ";"),
            (LineComment, "// one"),
            (BlockComment, "/* two */"),
            (Other, "#"),
            (Other, "three"),
            (Bytes, "x\"0a\""),
        ];
        assert_eq!(found, expected);
    }
}
