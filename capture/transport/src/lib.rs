//! The one seam between a network layer and the world.
//!
//! A network layer reaches the network, the clock and randomness through [`Transport`] alone.
//! Which world answers is not its business: `UdpTransport` is live, `SimTransport` is a seeded
//! world in virtual time, `Faults` makes any world worse, `Recorded` writes down what crossed, and
//! `ReplayTransport` plays it back.
//!
//! Two nodes in virtual time, of which one is recorded:
//!
//! ```
//! use netreel_reel::Header;
//! use netreel_transport::{Duration, MemoryRecorder, Recorded, SimNet, Transport};
//!
//! let latency = Duration::from_millis(20);
//! let net = SimNet::new(7, latency);
//! let [a, b] = ["10.0.0.1:7000", "10.0.0.2:7000"].map(|it| it.parse().unwrap());
//! let recorder = MemoryRecorder::create(&Header::default())?;
//! let mut sender = Recorded::new(net.join(a), recorder.pusher(), a);
//! let mut receiver = net.join(b);
//!
//! sender.send(b, b"hello")?;
//! net.advance(latency);
//! let mut buffer = [0; 1500];
//! let datagram = receiver.receive(&mut buffer)?.expect("it has arrived");
//! assert_eq!((datagram.from, &buffer[..datagram.length]), (a, &b"hello"[..]));
//!
//! let reel = netreel_reel::Reel::from_bytes(recorder.finish())?;
//! assert_eq!(reel.totals().packets(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Into a file, with threads that push at once, records `netreel_record::Recorder`: its `pusher()`
//! takes the place of the one above.
//!
//! Why it is so: `docs/decisions/recording.md`.

mod draw;
mod faults;
mod gates;
mod journal;
mod memory;
mod memory_reel;
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
// What the proxy of `netreel-capture` needs; nobody else has a use for it.
#[doc(hidden)]
pub use journal::send_outcome;
pub use memory::MemoryRecorder;
pub use pusher::{Pusher, WhenFull};
// What `netreel-record` makes pushers with; nobody else has a use for it.
#[doc(hidden)]
pub use pusher::{BellRef, Gate, GateRef, RingSink};
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
