//! Derived fields as they were written, and what was asked of what comes.

use crate::check::model::Look;
use crate::layout::ByteOrder;

/// A derived field as a run wrote it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    pub(crate) path: String,
    /// What the JSON says it is.
    pub(crate) given: Option<i128>,
    pub(crate) written: i128,
    /// What it should have been.
    pub(crate) worked_out: Option<i128>,
    /// It stays what the JSON says.
    pub(super) keeps: bool,
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
    pub(super) number: usize,
    pub(super) look: Look,
    pub(super) at: u32,
    pub(super) ahead: i128,
    /// How many windows were open.
    pub(super) depth: usize,
    /// Where the innermost of them ends, once that is known; `None`: with the stream.
    pub(super) end: Option<u32>,
    /// The order of bytes there.
    pub(super) order: ByteOrder,
}
