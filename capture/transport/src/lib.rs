//! The one seam between a network layer and the world.
//!
//! A network layer reaches the network, the clock and randomness through [`Transport`] alone.
//! Which world answers is not its business: `UdpTransport` is live, `SimTransport` is a seeded
//! world in virtual time, `Faults` makes any world worse, `Recorded` writes down what crossed, and
//! `ReplayTransport` plays it back.

mod replay;
mod transport;

pub use replay::{Divergence, Events, ReplayTransport, Step};
pub use transport::{Datagram, InputError, Layer, ReceiveError, SendError, Transport};
