//! How a session is read.

mod crossings;
mod decoding;
mod drops;
mod firm;
mod fragments;
pub(super) mod lookup;
pub(super) mod moments;
pub(crate) mod ports;
pub(super) mod reels;
pub(super) mod rpc;
pub(super) mod seen;
pub(super) mod some;
pub(super) mod traffic;
mod words;
