//! What all go by who find what led to something.

pub(super) use super::fact::{Cause, Fact, Link, NotKnown, RuleWord, Unseen};
pub(super) use super::step::{Certainty, StepId};
pub(super) use super::telling::{Telling, once_each};
