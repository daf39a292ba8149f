//! How a session is read.

pub(super) mod lookup;
pub(super) mod moments;
mod rpc;
pub(super) mod some;
pub(super) mod traffic;
