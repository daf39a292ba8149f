//! From the ends of packets to packets: which belong together, what became of them, in which order.

pub(super) mod end;
mod explain;
pub(super) mod fate;
mod filling;
pub(super) mod matching;
mod merge;
pub(super) mod missing;
mod neighbours;
pub(super) mod odd;
mod once;
pub(super) mod order;
mod ordering;
pub(super) mod places;
pub(super) mod rows;
pub(super) mod samples;
pub(super) mod sockets;
pub(super) mod strangers;
pub(super) mod weaver;
pub(super) mod woven;
