//! QUIC (`quinn-proto`), recorded with its keys and replayed.
//!
//! What to take over: [`QuicHost`], the loop that quinn-proto leaves to its user, and [`Drawn`], which
//! answers what quinn and its TLS library else ask the operating system: random bytes and the calendar.
//! Between them all of it comes through one `Transport`, so that a `Recorded<UdpTransport>` writes a reel,
//! and the transport of a replay gets the same packets again, sealed with the same keys. [`KeyFile`] writes
//! down the keys, by which netreel and Wireshark read what the packets say.

mod drawn;
pub mod example;
mod host;
mod keys;

pub use drawn::Drawn;
pub use host::QuicHost;
pub use keys::KeyFile;
