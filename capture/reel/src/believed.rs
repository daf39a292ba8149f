//! What a game says that it believes of an object.
//!
//! An engine says it by a call (`Transport::believes`, `libnetreel`); a program that cannot be changed
//! prints a line. Both have the same words:
//!
//! ```text
//! netreel: created 42 owner 3
//! netreel: destroyed 42
//! netreel: owner 42 3
//! netreel: value 42 position 1.5 2 3
//! ```
//!
//! Objects and owners are numbers, as the protocol has them: decimal, or hexadecimal behind `0x`.

use std::fmt::Write as _;

/// What a line begins with that says a belief.
pub const BELIEF_LINE: &str = "netreel: ";

/// What a game believes of an object from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Believed<'a> {
    /// The object lives.
    Created {
        /// The protocol's number of the peer that owns it, where the game says it.
        owner: Option<u64>,
    },
    /// The object lives no more.
    Destroyed,
    /// The object lives, and another peer owns it.
    Owner {
        /// The protocol's number of the peer.
        owner: u64,
    },
    /// A property of the object has a value.
    Value {
        /// The property's name, a space and the value, UTF-8, as [`said_value`] reads it.
        said: &'a [u8],
    },
}

/// A value that a game said.
#[derive(Clone, Debug, PartialEq)]
pub enum SaidValue<'a> {
    /// Numbers, in the order in which they were said.
    Numbers(Vec<SaidNumber>),
    /// Anything else, without the quotation marks around it.
    Text(&'a str),
}

/// A number that a game said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SaidNumber {
    /// Without a point.
    Whole(i64),
    /// Any other.
    Real(f64),
}

impl<'a> Believed<'a> {
    /// What a line says, and of which object; `None` where it says no belief. Blanks before the line
    /// and at its end do not count.
    ///
    /// ```
    /// use netreel_reel::Believed;
    /// let said = Believed::of_line(b"netreel: created 42 owner 3\n");
    /// assert_eq!(said, Some((42, Believed::Created { owner: Some(3) })));
    /// assert_eq!(Believed::of_line(b"netreel: created"), None);
    /// ```
    pub fn of_line(line: &'a [u8]) -> Option<(u64, Believed<'a>)> {
        // Most lines are of other things, and this is asked of each.
        Believed::of_words(
            line.trim_ascii_start()
                .strip_prefix(BELIEF_LINE.as_bytes())?,
        )
    }

    /// The same of the words behind [`BELIEF_LINE`].
    pub fn of_words(words: &'a [u8]) -> Option<(u64, Believed<'a>)> {
        let (word, rest) = split(words);
        let (object, rest) = split(rest);
        let object = number(object)?;
        let believed = match word {
            b"created" if rest.is_empty() => Believed::Created { owner: None },
            b"created" => {
                let (b"owner", owner) = split(rest) else {
                    return None;
                };
                let owner = Some(number(owner)?);
                Believed::Created { owner }
            }
            b"destroyed" if rest.is_empty() => Believed::Destroyed,
            b"owner" => Believed::Owner {
                owner: number(rest)?,
            },
            b"value" if said_value(rest).is_some() => Believed::Value { said: rest },
            _ => return None,
        };
        Some((object, believed))
    }

    /// The words of it, as they stand in a line behind [`BELIEF_LINE`]: `created 42 owner 3`.
    pub fn words(&self, object: u64) -> String {
        match *self {
            Believed::Created { owner: None } => format!("created {object}"),
            Believed::Created { owner: Some(owner) } => format!("created {object} owner {owner}"),
            Believed::Destroyed => format!("destroyed {object}"),
            Believed::Owner { owner } => format!("owner {object} {owner}"),
            Believed::Value { said } => {
                format!("value {object} {}", String::from_utf8_lossy(said))
            }
        }
    }
}

/// The property and the value that [`Believed::Value`] says; `None` where one of them is missing or the
/// bytes are no UTF-8. A value is a row of numbers with blanks between them, `true` and `false` being 1
/// and 0, or a text, which may stand in quotation marks.
pub fn said_value(said: &[u8]) -> Option<(&str, SaidValue<'_>)> {
    let (property, value) = split(said);
    let (property, value) = (str::from_utf8(property).ok()?, str::from_utf8(value).ok()?);
    if property.is_empty() || value.is_empty() {
        return None;
    }
    let quoted = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    if let Some(text) = quoted {
        return Some((property, SaidValue::Text(text)));
    }
    let numbers: Option<Vec<SaidNumber>> = value.split_ascii_whitespace().map(of_word).collect();
    let value = numbers.map_or(SaidValue::Text(value), SaidValue::Numbers);
    Some((property, value))
}

/// Writes what [`Believed::Value`] says of numbers: the shortest texts that are read as the same
/// numbers again.
pub fn say_numbers(property: &str, numbers: &[f64], to: &mut String) {
    to.push_str(property);
    for number in numbers {
        // Writing into a string cannot fail.
        let _ = write!(to, " {number}");
    }
}

/// Writes what [`Believed::Value`] says of a text.
pub fn say_text(property: &str, text: &str, to: &mut String) {
    to.extend([property, " \"", text, "\""]);
}

fn of_word(word: &str) -> Option<SaidNumber> {
    match word {
        "true" => return Some(SaidNumber::Whole(1)),
        "false" => return Some(SaidNumber::Whole(0)),
        _ => {}
    }
    let whole = word.parse().map(SaidNumber::Whole);
    whole.or_else(|_| word.parse().map(SaidNumber::Real)).ok()
}

/// The first word, and what is behind the blanks after it.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii();
    let end = text.iter().position(u8::is_ascii_whitespace);
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}

fn number(word: &[u8]) -> Option<u64> {
    let word = str::from_utf8(word).ok()?;
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_its_words_say() {
        let lines: [(&str, u64, Believed<'_>); 6] = [
            ("created 42", 42, Believed::Created { owner: None }),
            (
                "created 42 owner 3",
                42,
                Believed::Created { owner: Some(3) },
            ),
            ("destroyed 42", 42, Believed::Destroyed),
            ("owner 42 3", 42, Believed::Owner { owner: 3 }),
            (
                "value 42 position 1.5 2 3",
                42,
                Believed::Value {
                    said: b"position 1.5 2 3",
                },
            ),
            (
                "value 7 name \"Bob the second\"",
                7,
                Believed::Value {
                    said: b"name \"Bob the second\"",
                },
            ),
        ];
        for (words, object, believed) in lines {
            let line = format!("  {BELIEF_LINE}{words}\r\n");
            assert_eq!(
                Believed::of_line(line.as_bytes()),
                Some((object, believed)),
                "{words}"
            );
            assert_eq!(believed.words(object), words);
        }
        let hexadecimal = Believed::of_line(b"netreel: owner 0xff 0x10");
        assert_eq!(hexadecimal, Some((255, Believed::Owner { owner: 16 })));
    }

    #[test]
    fn a_line_of_something_else_says_nothing() {
        for line in [
            "",
            "netreel:",
            "netreel: ",
            "netreel: created",
            "netreel: created x",
            "netreel: created 42 by 3",
            "netreel: created 42 owner",
            "netreel: destroyed 42 now",
            "netreel: owner 42",
            "netreel: value 42",
            "netreel: value 42 hp",
            "netreel: moved 42",
            "said netreel: destroyed 42",
        ] {
            assert_eq!(Believed::of_line(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn numbers_come_back_as_they_were() {
        let numbers = [0.1, -2.0, 1e300, f64::from(0.1f32), -0.0];
        let mut said = String::new();
        say_numbers("p", &numbers, &mut said);
        let (property, value) = said_value(said.as_bytes()).unwrap();
        let SaidValue::Numbers(read) = value else {
            panic!("{said}: {value:?}")
        };
        let read: Vec<f64> = read
            .into_iter()
            .map(|it| match it {
                SaidNumber::Whole(whole) => whole as f64,
                SaidNumber::Real(real) => real,
            })
            .collect();
        assert_eq!((property, read.as_slice()), ("p", &numbers[..]));
    }

    proptest::proptest! {
        /// Bytes of a stranger's program are no more than a line of something else.
        #[test]
        fn any_line_is_read(start in "(netreel: )?(created|owner|value|destroyed)?[ 0-9x]*", rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40)) {
            let line = [start.as_bytes(), &rest].concat();
            if let Some((object, believed)) = Believed::of_line(&line) {
                let words = format!("{BELIEF_LINE}{}", believed.words(object));
                if str::from_utf8(&rest).is_ok() {
                    proptest::prop_assert_eq!(
                        Believed::of_line(words.as_bytes()),
                        Some((object, believed))
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_no_row_of_numbers_is_a_text() {
        let read = |said: &'static str| said_value(said.as_bytes()).unwrap().1;
        assert_eq!(read("state open"), SaidValue::Text("open"));
        assert_eq!(read("name \"3\""), SaidValue::Text("3"));
        assert_eq!(read("at 1 2 home"), SaidValue::Text("1 2 home"));
        let truths = vec![SaidNumber::Whole(1), SaidNumber::Whole(0)];
        assert_eq!(read("flags true false"), SaidValue::Numbers(truths));
    }
}
