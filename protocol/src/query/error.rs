//! A filter that was not understood.

/// What does not fit in a filter, where, and what would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {}", self.told())]
pub struct QueryError {
    /// In characters, from 1.
    pub column: usize,
    /// What could stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// What may have been meant.
    pub meant: Option<String>,
}

impl QueryError {
    fn told(&self) -> String {
        let QueryError {
            expected, found, ..
        } = self;
        match &self.meant {
            Some(meant) => format!("{found}: did you mean `{meant}`? It can be {expected}"),
            None => format!("expected {expected}, found {found}"),
        }
    }
}
