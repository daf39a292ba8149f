//! Redacted copies: what was to go is gone, and nothing else changed.

mod any;
mod caught;
mod copied;
mod mapped;
mod parts;
mod pieces;
mod texts;
