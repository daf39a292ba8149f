//! KCP (the crate `kcp`), recorded and replayed.
//!
//! What to take over: [`KcpHost`], the loop that KCP leaves to its user. KCP does no input or output of its
//! own and reads no clock: the host gives it what a `Transport` says. Over a `Recorded<UdpTransport>` it
//! writes a reel, and over the transport of a replay it does the same again, to the byte.

pub mod example;
mod host;

pub use host::{KcpHost, KcpOutput};
