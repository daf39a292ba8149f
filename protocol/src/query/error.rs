//! A filter that was not understood.

/// What does not fit in a filter, where, and what would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}, found {found}")]
pub struct QueryError {
    /// In characters, from 1.
    pub column: usize,
    /// What could stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}
