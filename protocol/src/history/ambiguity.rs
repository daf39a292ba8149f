//! Why a message cannot be told apart from another one.

use serde::{Deserialize, Serialize};

use crate::session::MessageId;

named! {
    /// Why nobody can say by its number which message one is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Ambiguity {
        /// Half of all numbers are under way: a copy of the older one and a new message look the same.
        "numbers" Numbers,
        /// The id of its fragments came again when parts of the message before were still to be sent.
        "fragment-id" FragmentId,
        /// Another message has its number and says something else: it is no copy, or one that was changed.
        "content" Content,
    }
}

impl Ambiguity {
    /// What is ambiguous, in words: `ambiguous number`.
    pub fn words(self) -> &'static str {
        match self {
            Ambiguity::Numbers => "ambiguous number",
            Ambiguity::FragmentId => "ambiguous fragment id",
            Ambiguity::Content => "ambiguous copy",
        }
    }
}

/// A message, why it is ambiguous, and the other one.
pub(super) type Ambiguous = (MessageId, Ambiguity, MessageId);
