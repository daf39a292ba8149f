//! Ports for the nodes of a match: free, and no two matches have the same.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports below those that the system gives out by itself.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// The next port that is tried. Runners start at different ones.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// The ports of a match by their names.
#[derive(Debug, Default)]
pub(crate) struct Ports(BTreeMap<String, u16>);

impl Ports {
    /// The port of this name: the same whenever it is asked for; `None` where none is free.
    pub fn port(&mut self, name: &str) -> Option<u16> {
        if let Some(port) = self.0.get(name) {
            return Some(*port);
        }
        let port = free()?;
        self.0.insert(name.to_owned(), port);
        Some(port)
    }
}

/// A port that is free for TCP and UDP at loopback.
fn free() -> Option<u16> {
    let start = (std::process::id() as u16).wrapping_mul(97) % COUNT;
    for _ in 0..COUNT {
        let next = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (start + next) % COUNT;
        let address = (Ipv4Addr::LOCALHOST, port);
        if TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok() {
            return Some(port);
        }
    }
    None
}
