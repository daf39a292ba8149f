//! Values that one side says and the other says back: tokens, numbers of peers, times.

use std::sync::Arc;

/// What a field gives to the other side to say back, and what it says back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SaidBack {
    /// `@gives(NAME)`
    pub gives: Option<Arc<str>>,
    /// `@takes(NAME)`
    pub takes: Option<Arc<str>>,
}
