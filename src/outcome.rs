//! How a command ends.

use std::fmt;

/// An answer, good or bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done, and nothing is wrong: exit code 0.
    Clean,
    /// Done, and the thing asked about is wrong: exit code 1.
    Wrong,
    /// Done, and what was asked cannot be told from what there is: exit code 2.
    Unknown,
    /// Done, and this is the exit code: that of a program that was run.
    Code(u8),
}

/// No answer: exit code 2.
#[derive(Debug)]
pub enum Failure {
    /// What was asked, what was found, and what to do.
    Told(String),
    /// The output could not be written.
    Output(std::io::Error),
}

impl Failure {
    /// A failure that says `why`.
    pub fn new(why: impl fmt::Display) -> Failure {
        Failure::Told(why.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Told(why) => f.write_str(why),
            Failure::Output(error) => write!(f, "the output could not be written: {error}"),
        }
    }
}
