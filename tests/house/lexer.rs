//! Tokens of Rust and C, as far as counting them and following paths takes it: a word, a number, a
//! text or one sign each. Comments and blanks are none.

/// A token, with the line on which it begins (from 1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Token<'a> {
    pub text: &'a str,
    pub line: u32,
}

impl Token<'_> {
    /// Whether it is a name or a keyword.
    pub fn is_word(&self) -> bool {
        self.text
            .as_bytes()
            .first()
            .is_some_and(|it| begins_word(*it))
    }
}

fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn in_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit()
}

/// All tokens of a text.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len() / 5);
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let end = end_of(bytes, at);
        let piece = &bytes[at..end];
        let is_nothing =
            piece[0].is_ascii_whitespace() || piece.starts_with(b"//") || piece.starts_with(b"/*");
        if !is_nothing {
            let text = &text[at..end];
            found.push(Token { text, line });
        }
        if is_nothing || piece.len() > 1 && !begins_word(piece[0]) {
            line += lines_in(piece);
        }
        at = end;
    }
    found
}

fn lines_in(piece: &[u8]) -> u32 {
    let mut lines = 0;
    for byte in piece {
        if *byte == b'\n' {
            lines += 1;
        }
    }
    lines
}

/// Where the token, comment or blank that begins at `at` ends.
fn end_of(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let while_true = |from: usize, test: fn(u8) -> bool| {
        let mut end = at + from;
        while end < bytes.len() && test(bytes[end]) {
            end += 1;
        }
        end
    };
    match rest {
        [b'/', b'/', ..] => while_true(0, |it| it != b'\n'),
        [b'/', b'*', ..] => end_of_comment(bytes, at),
        [b'"', ..] => end_of_text(bytes, at + 1),
        [b'\'', ..] => end_of_quote(bytes, at),
        [b'r' | b'b' | b'c', ..] if prefix_of_text(rest).is_some() => {
            let (hashes, quote) = prefix_of_text(rest).unwrap_or_default();
            match rest[..quote].contains(&b'r') {
                true => end_of_raw(bytes, at + quote + 1, hashes),
                false => end_of_text(bytes, at + quote + 1),
            }
        }
        [first, ..] if first.is_ascii_whitespace() => while_true(1, |it| it.is_ascii_whitespace()),
        [first, ..] if begins_word(*first) => while_true(1, in_word),
        [first, ..] if first.is_ascii_digit() => end_of_number(bytes, at),
        _ => at + 1,
    }
}

/// Of a text with letters before its quote (`b"`, `r#"`, `br"`): how many `#`, and where the quote is.
fn prefix_of_text(rest: &[u8]) -> Option<(usize, usize)> {
    let letters = rest
        .iter()
        .take(2)
        .take_while(|it| b"rbc".contains(it))
        .count();
    let is_raw = rest[..letters].contains(&b'r');
    let hashes = rest[letters..].iter().take_while(|it| **it == b'#').count();
    let quote = letters + hashes;
    let fits = rest.get(quote) == Some(&b'"') && (is_raw || hashes == 0);
    fits.then_some((hashes, quote))
}

fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn end_of_raw(bytes: &[u8], from: usize, hashes: usize) -> usize {
    let closes = |at: &usize| {
        let behind = bytes.get(at + 1..at + 1 + hashes);
        bytes[*at] == b'"' && behind.is_some_and(|it| it.iter().all(|it| *it == b'#'))
    };
    let found = (from..bytes.len()).find(closes);
    found.map_or(bytes.len(), |at| at + 1 + hashes)
}

/// Comments of Rust stand in each other, those of C do not: no comment of ours tells the two apart.
fn end_of_comment(bytes: &[u8], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A character, or the sign before the name of a lifetime.
fn end_of_quote(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at + 1..];
    let length = match rest {
        [b'\\', _, ..] => 2 + rest[2..].iter().take_while(|it| **it != b'\'').count(),
        [first, ..] if *first >= 0x80 => rest.iter().take_while(|it| **it >= 0x80).count(),
        [_, b'\'', ..] => 1,
        _ => return at + 1,
    };
    match rest.get(length) {
        Some(b'\'') => at + length + 2,
        _ => at + 1,
    }
}

/// `1.5`, `0xff_u8`, `1..2` (of which the first alone).
fn end_of_number(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while let Some(byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        match *byte {
            it if in_word(it) => at += 1,
            b'.' if next.is_ascii_digit() => at += 1,
            _ => break,
        }
    }
    at
}

/// The tokens that are not only there for tests: what `#[cfg(test)]` stands before is left out.
pub fn without_tests<'a>(all: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::with_capacity(all.len());
    let mut at = 0;
    while at < all.len() {
        let end = match is_test_attribute(&all[at..]) {
            true => end_of_item(all, end_of_attribute(all, at)),
            false => at,
        };
        if end > at {
            at = end;
        } else {
            kept.push(all[at]);
            at += 1;
        }
    }
    kept
}

/// `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub fn is_test_attribute(rest: &[Token<'_>]) -> bool {
    if rest.first().is_none_or(|it| it.text != "#") {
        return false;
    }
    let begins = |with: &[&str]| {
        let same = rest
            .iter()
            .zip(with)
            .filter(|(it, other)| it.text == **other);
        same.count() == with.len()
    };
    begins(&["#", "[", "cfg", "(", "test", ")"])
        || begins(&["#", "[", "cfg", "(", "all", "(", "test"])
}

fn end_of_attribute(all: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0;
    for (index, token) in all.iter().enumerate().skip(at + 1) {
        match token.text {
            "[" => depth += 1,
            "]" if depth == 1 => return index + 1,
            "]" => depth -= 1,
            _ => {}
        }
    }
    all.len()
}

/// Where what an attribute stands before ends: an item, a statement, a field or an arm.
fn end_of_item(all: &[Token<'_>], mut at: usize) -> usize {
    while all.get(at).is_some_and(|it| it.text == "#") {
        at = end_of_attribute(all, at);
    }
    let is_use = all[at..].iter().take(5).any(|it| it.text == "use");
    let keywords = [
        "fn", "mod", "impl", "use", "struct", "enum", "const", "static", "type", "trait",
    ];
    let is_item = all[at..]
        .iter()
        .take(6)
        .any(|it| keywords.contains(&it.text));
    let mut depth = 0;
    for (index, token) in all.iter().enumerate().skip(at) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return index,
            ")" | "]" => depth -= 1,
            "}" => {
                depth -= 1;
                if depth == 0 && !is_use {
                    return index + 1;
                }
            }
            ";" if depth == 0 => return index + 1,
            "," if depth == 0 && !is_item => return index + 1,
            _ => {}
        }
    }
    all.len()
}
