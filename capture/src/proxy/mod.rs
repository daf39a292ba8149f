//! Recording between clients and a server: `netreel record --proxy`.
//!
//! The proxy listens where clients are told to send, and has a socket of its own towards the
//! server for each of them, as an address translation has. One thread waits for all sockets,
//! passes packets on in both directions, and pushes what it does into the reel as it does it.
//! Nothing that a packet, a client or the network does ends it.

mod between;
mod faults;
mod relay;
mod spec;
mod wanted;

pub use between::{Between, BetweenError};
pub use netreel_system::thread::run_before_others;
pub use relay::{Next, Proxy};
pub use spec::{FaultSpec, HEADERS, SpecError, WayFaults};
pub use wanted::{Outcome, ProxyError, Report, Route, RouteError, Wanted};
