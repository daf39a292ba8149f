//! The one seam between a network layer and the world.
//!
//! A network layer reaches the network, the clock and randomness through [`Transport`] alone.
//! Which world answers is not its business: `UdpTransport` is live, `SimTransport` is a seeded
//! world in virtual time, `Faults` makes any world worse, `Recorded` writes down what crossed, and
//! `ReplayTransport` plays it back.

mod draw;
mod faults;
mod gates;
mod journal;
mod memory;
mod pusher;
mod recorded;
mod recorded_socket;
mod replay;
mod shared;
mod sim;
mod snapshots;
#[cfg(feature = "tokio")]
pub mod tokio;
mod transport;
mod udp;

// What a network layer needs of the ground floor, so that it can depend on this crate alone.
pub use netreel_reel::{Believed, Duration, Endpoint, Time};

pub use draw::{Draw, mix};
pub use faults::{BURST_LENGTH, Faults, LinkFaults, Verdict, turn_bit};
pub use gates::{Gates, LinkEnd};
pub use journal::Journal;
pub use memory::MemoryRecorder;
pub use pusher::{BellRef, Gate, GateRef, Pusher, RingSink, WhenFull};
pub use recorded::{InnerClock, MonotonicClock, Recorded, StampClock, monotonic_now};
pub use recorded_socket::RecordedSocket;
pub use replay::{BeliefDifference, Divergence, Events, ReplayTransport, Step};
pub use shared::Shared;
pub use sim::{SimClock, SimNet, SimTransport};
pub use snapshots::SnapshotPlan;
pub use transport::{
    Datagram, InputError, Layer, ObjectBelief, ReceiveError, RestoreError, SendError, Transport,
};
pub use udp::{BindError, UdpTransport};
