//! The ground floor: ids, time, endpoints, events, and the reel format over [`ReadAt`].
//!
//! A *reel* is the recording of one node: a total order of everything that crossed the boundary
//! of its network layer. This crate knows how a reel is written in bytes and read back; it makes
//! no system call, so that everything above it can be tested without a disk.

mod event;
mod header;
mod id;
mod time;

pub use event::{Event, EventKind, Record, SendOutcome};
pub use header::{ClockAnchor, Header, WireText};
pub use id::{Endpoint, EventNumber, SocketId, ThreadId};
pub use time::{Duration, Time};
