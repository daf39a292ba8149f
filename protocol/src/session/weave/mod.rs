//! From the ends of packets to packets: which belong together, what became of them, in which order.

mod explain;
pub(super) mod fate;
pub(super) mod matching;
mod neighbours;
pub(super) mod order;
pub(super) mod rows;
mod sockets;
pub(super) mod weaver;
