//! lightyear's links, recorded and replayed.
//!
//! What to take over: [`LinksOver`], lightyear's input and output over any `Transport`. It stands where
//! `UdpPlugin` and `ServerUdpPlugin` would stand: a datagram of the network is a payload of lightyear's
//! `Link`, so that over a `Recorded<UdpTransport>` every packet is in the reel. In a replay the recorded
//! packets come in the same frames.
//!
//! lightyear has two clocks. bevy's `Time`, which the plugin sets to that of the transport; and for its pings
//! `lightyear_core::time::Instant`, which is the machine's, unless the feature `test_utils` of
//! `lightyear_core` makes it one that is set. It is one for the process, so that frames of several apps must
//! not overlap: [`update`] sees to that.

pub mod example;
mod links;

pub use links::{LinksOver, OverTransport, update};
