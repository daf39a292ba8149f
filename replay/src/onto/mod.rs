//! One node's recorded packets, played at a live endpoint.
//!
//! [`said`] takes from a reel what a node and one other endpoint said to each other. [`Onto`] says
//! again what the node said, when it is due, and hears what the live endpoint answers; it knows no
//! socket and no clock. What the other side gave to be said back (`@gives` in the wire) is said as
//! the live endpoint gave it, and acks name what really came.

mod live;
mod play;

pub use live::{Changed, LiveError};
pub use play::{Came, Next, Onto, Pace, Peer, Said, Sent, peers, said};
