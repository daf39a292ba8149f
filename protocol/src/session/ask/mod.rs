//! How a session is read.

pub(super) mod lookup;
pub(super) mod moments;
pub(crate) mod ports;
pub(super) mod reels;
mod rpc;
pub(super) mod some;
pub(super) mod traffic;
