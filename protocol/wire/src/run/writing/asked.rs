//! Derived fields as they were written, and what was asked of what comes.

use crate::check::model::Look;
use crate::layout::ByteOrder;

/// A derived field as a run wrote it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    pub path: String,
    /// What the JSON says it is.
    pub given: Option<i128>,
    pub written: i128,
    /// What it should have been.
    pub worked_out: Option<i128>,
    /// It stays what the JSON says.
    pub keeps: bool,
}

impl Derived {
    pub(crate) fn is_settled(&self) -> bool {
        self.keeps
            || self
                .worked_out
                .is_none_or(|worked_out| worked_out == self.written)
    }
}

/// Something that was asked of what comes.
pub(super) struct Asked {
    /// Among the derived fields.
    pub number: usize,
    pub look: Look,
    pub at: u32,
    pub ahead: i128,
    /// How many windows were open.
    pub depth: usize,
    /// Where the innermost of them ends, once that is known; `None`: with the stream.
    pub end: Option<u32>,
    /// The order of bytes there.
    pub order: ByteOrder,
}
