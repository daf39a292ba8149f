//! Whose endpoint is whose: from whom to whom every packet goes.

pub(super) mod bound;
mod canonical;
pub(super) mod cast;
pub(super) mod groups;
pub(super) mod holders;
pub(super) mod meeting;
pub(super) mod proxied;
pub(super) mod roads;
pub(super) mod shares;
mod votes;
pub(super) mod watched;
