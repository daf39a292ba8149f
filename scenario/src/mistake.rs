//! What is wrong with a scenario's file, and where.

use std::fmt::Display;
use std::ops::Range;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {why}")]
pub struct Mistake {
    /// Which file.
    pub file: String,
    /// Where, from 1.
    pub line: usize,
    /// Where in the line, from 1, in letters.
    pub column: usize,
    /// What is wrong, and what could stand there.
    pub why: String,
}

/// A mistake before its place is told in lines.
pub(crate) struct Wrong {
    pub at: Range<usize>,
    pub why: String,
}

impl Wrong {
    pub fn new(at: Range<usize>, why: impl Into<String>) -> Wrong {
        let why = why.into();
        Wrong { at, why }
    }
}

/// Refuses what stands at this place.
pub(crate) fn wrong<T>(at: Range<usize>, why: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::new(at, why))
}

/// Says of an error what it is about.
pub(crate) fn about<E: Display>(what: impl Display) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}

/// Where a mistake is: in the scenario's file, or in another one.
pub(crate) enum Place {
    Here(Wrong),
    Elsewhere(Mistake),
}

impl From<Wrong> for Place {
    fn from(wrong: Wrong) -> Place {
        Place::Here(wrong)
    }
}

impl Place {
    pub fn placed(self, file: &str, text: &str) -> Mistake {
        let wrong = match self {
            Place::Here(wrong) => wrong,
            Place::Elsewhere(mistake) => return mistake,
        };
        let before = text.get(..wrong.at.start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Mistake {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            why: wrong.why,
        }
    }
}
