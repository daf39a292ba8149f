//! What the command is asked about sessions that stay the same, and what holds of all its answers.

pub mod agree;
pub mod sessions;
