//! What a transform is told, and why it has no result.

use std::fmt;
use std::sync::Arc;

/// What a transform is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Integer(i128),
    Bytes(Arc<Vec<u8>>),
}

/// Why a transform has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// More bytes come out than this many.
    TooLong { max: usize },
    /// The bytes are not what the transform makes, or the arguments do not fit.
    Broken(String),
}

impl Failure {
    pub(crate) fn because(why: impl Into<String>) -> Failure {
        Failure::Broken(why.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::TooLong { max } => write!(f, "more than the limit of {max} bytes come out"),
            Failure::Broken(why) => f.write_str(why),
        }
    }
}
