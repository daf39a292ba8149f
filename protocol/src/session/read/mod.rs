//! One reel: what it holds of packets becomes rows, and who has which reel.

pub(super) mod beliefs;
pub(super) mod connections;
pub(super) mod cut;
pub(super) mod ends;
pub(super) mod grown;
pub(super) mod interfaces;
pub(super) mod pass;
pub(super) mod payloads;
pub(super) mod scan;
pub(super) mod source;
pub(super) mod ticks;
