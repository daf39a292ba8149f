//! From the ends of packets to packets: which belong together, what became of them, in which order.

mod explain;
pub(super) mod fate;
pub(super) mod matching;
pub(super) mod missing;
mod neighbours;
pub(super) mod order;
pub(super) mod rows;
pub(super) mod samples;
mod sockets;
pub(super) mod strangers;
pub(super) mod weaver;
