//! The words and signs of a filter.

use super::error::QueryError;

/// A word or a sign, with its column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    /// In characters, from 1.
    pub column: usize,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// Letters, digits, `_`, `-` and `.` that start with a letter.
    Name(String),
    /// In quotes: never a field.
    Quoted(String),
    /// A number and the unit that follows it at once; empty where there is none.
    Number(String, String),
    Sign(&'static str),
    End,
}

/// Longer signs first.
const SIGNS: [&str; 17] = [
    "&&", "||", "==", "!=", "<=", ">=", "->", "<", ">", "!", "(", ")", "=", ":", "[", "]", ".",
];

impl What {
    /// As an error shows it.
    pub fn shown(&self) -> String {
        match self {
            What::Name(name) => format!("`{name}`"),
            What::Quoted(text) => format!("\"{text}\""),
            What::Number(digits, unit) => format!("`{digits}{unit}`"),
            What::Sign(sign) => format!("`{sign}`"),
            What::End => "the end".to_owned(),
        }
    }
}

/// Splits a filter; the last token is always [`What::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, QueryError> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&first) = characters.get(at) {
        let column = at + 1;
        let rest = &characters[at..];
        let (length, what) = if first.is_whitespace() {
            at += 1;
            continue;
        } else if first == '"' || first == '\'' {
            quoted(rest, first, column)?
        } else if first.is_ascii_digit() {
            number(rest)
        } else if first == '-' && rest.get(1).is_some_and(char::is_ascii_digit) {
            match number(&rest[1..]) {
                (length, What::Number(digits, unit)) => {
                    (length + 1, What::Number(format!("-{digits}"), unit))
                }
                other => other,
            }
        } else if let Some(sign) = sign(rest) {
            (sign.len(), What::Sign(sign))
        } else if first.is_alphabetic() || first == '_' {
            let length = name_length(rest);
            (length, What::Name(rest[..length].iter().collect()))
        } else {
            return Err(QueryError {
                column,
                expected: "a field, a value or a sign".to_owned(),
                found: format!("`{first}`"),
                meant: None,
            });
        };
        tokens.push(Token { column, what });
        at += length;
    }
    tokens.push(Token {
        column: characters.len() + 1,
        what: What::End,
    });
    Ok(tokens)
}

fn sign(rest: &[char]) -> Option<&'static str> {
    SIGNS.into_iter().find(|sign| {
        sign.chars()
            .enumerate()
            .all(|(place, character)| rest.get(place) == Some(&character))
    })
}

/// A name may hold a `-` (rules do), but `A->X` is two names.
fn name_length(rest: &[char]) -> usize {
    let mut length = 0;
    while let Some(&character) = rest.get(length) {
        let arrow = character == '-' && rest.get(length + 1) == Some(&'>');
        let inside = character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
        if arrow || !inside {
            break;
        }
        length += 1;
    }
    length
}

/// Digits with `_` and one point, then a unit; `127.0.0.1:5000` is a name.
fn number(rest: &[char]) -> (usize, What) {
    let count = |from: usize, inside: fn(char) -> bool| {
        rest[from..]
            .iter()
            .take_while(|&&character| inside(character))
            .count()
    };
    let digits = count(0, |character| {
        character.is_ascii_digit() || matches!(character, '_' | '.')
    });
    let text: String = rest[..digits]
        .iter()
        .filter(|&&character| character != '_')
        .collect();
    if text.matches('.').count() > 1 {
        let length = count(0, |character| {
            character.is_alphanumeric() || matches!(character, '.' | ':')
        });
        return (length, What::Name(rest[..length].iter().collect()));
    }
    if text == "0" && matches!(rest.get(1), Some('x' | 'X')) {
        let hex = count(2, |character| character.is_ascii_hexdigit());
        let digits: String = rest[2..2 + hex].iter().collect();
        if let Ok(value) = u128::from_str_radix(&digits, 16) {
            return (2 + hex, What::Number(value.to_string(), String::new()));
        }
    }
    let unit = count(digits, |character| character.is_alphabetic());
    let unit_text = rest[digits..digits + unit].iter().collect();
    (digits + unit, What::Number(text, unit_text))
}

fn quoted(rest: &[char], quote: char, column: usize) -> Result<(usize, What), QueryError> {
    let length = rest
        .iter()
        .skip(1)
        .position(|&character| character == quote);
    match length {
        Some(length) => Ok((length + 2, What::Quoted(rest[1..=length].iter().collect()))),
        None => Err(QueryError {
            column: column + rest.len(),
            expected: format!("{quote} that closes the text of column {column}"),
            found: "the end".to_owned(),
            meant: None,
        }),
    }
}
