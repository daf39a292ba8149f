//! The live world: a UDP socket, the monotonic clock, and random bits.

use std::net::UdpSocket;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};

use netreel_reel::{Endpoint, Time};

use crate::journal::{send_outcome, would_block};
use crate::recorded::monotonic_now;
use crate::{Datagram, Draw, ReceiveError, SendError, Transport};

/// A UDP socket with the machine's monotonic clock. Nothing in it ever waits.
#[derive(Debug)]
pub struct UdpTransport {
    socket: UdpSocket,
    local: Endpoint,
    draw: Draw,
}

/// A socket that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("no UDP socket on {local}: {source}; {}", advice(source))]
pub struct BindError {
    /// The address that was asked for.
    pub local: Endpoint,
    /// What the operating system said.
    pub source: std::io::Error,
}

impl UdpTransport {
    /// Opens a socket on `local`; port 0 lets the operating system choose one. Random bits follow
    /// from a seed that the operating system gives.
    pub fn bind(local: Endpoint) -> Result<UdpTransport, BindError> {
        let mut seed = [0; 8];
        netreel_system::random(&mut seed).map_err(|source| BindError { local, source })?;
        UdpTransport::bind_seeded(local, u64::from_le_bytes(seed))
    }

    /// The same, with random bits that follow from `seed`.
    pub fn bind_seeded(local: Endpoint, seed: u64) -> Result<UdpTransport, BindError> {
        let open = || {
            let socket = UdpSocket::bind(local)?;
            socket.set_nonblocking(true)?;
            let local = socket.local_addr()?;
            Ok(UdpTransport {
                socket,
                local,
                draw: Draw::new(seed),
            })
        };
        open().map_err(|source| BindError { local, source })
    }

    /// The address that the socket is bound to.
    pub fn local(&self) -> Endpoint {
        self.local
    }
}

/// For the socket's options.
#[cfg(unix)]
impl AsFd for UdpTransport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Transport for UdpTransport {
    fn now(&mut self) -> Time {
        monotonic_now()
    }

    fn random(&mut self) -> u64 {
        self.draw.bits()
    }

    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        let result = self.socket.send_to(packet, to);
        SendError::of(send_outcome(&result, packet.len()))
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        match self.socket.recv_from(buffer) {
            Ok((length, from)) => Ok(Some(Datagram { from, length })),
            Err(error) if would_block(&error) => Ok(None),
            Err(error) => Err(ReceiveError(error.raw_os_error().unwrap_or(0))),
        }
    }

    fn tick(&mut self, _tick: u64, _time: Time) {}

    fn input(&mut self, _call: &[u8]) {}

    fn note(&mut self, _text: &str) {}
}

fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "something else has that port: choose another, or 0 to let the system choose"
        }
        std::io::ErrorKind::AddrNotAvailable => "this machine has no such address",
        std::io::ErrorKind::PermissionDenied => "ports below 1024 need privileges: choose another",
        _ => "check the address",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> UdpTransport {
        UdpTransport::bind("127.0.0.1:0".parse().expect("an address")).expect("a socket")
    }

    /// Waits for the packet by yielding: loopback delivers before `send_to` returns, or soon after.
    fn next(transport: &mut UdpTransport) -> (Endpoint, Vec<u8>) {
        let mut buffer = [0; 2048];
        loop {
            if let Some(datagram) = transport.receive(&mut buffer).expect("a socket that works") {
                return (datagram.from, buffer[..datagram.length].to_vec());
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_packet_makes_the_round_over_loopback() {
        let (mut one, mut two) = (loopback(), loopback());
        one.send(two.local(), b"ping").expect("sent");
        assert_eq!(next(&mut two), (one.local(), b"ping".to_vec()));
        two.send(one.local(), b"pong").expect("sent");
        assert_eq!(next(&mut one), (two.local(), b"pong".to_vec()));
    }

    #[test]
    fn nothing_there_is_not_an_error() {
        assert_eq!(loopback().receive(&mut [0; 16]), Ok(None));
    }

    #[test]
    fn a_port_in_use_is_refused_with_advice() {
        let one = loopback();
        let error = UdpTransport::bind(one.local())
            .expect_err("the port is taken")
            .to_string();
        assert!(error.contains(&one.local().to_string()), "{error}");
        assert!(error.contains("choose another"), "{error}");
    }

    #[test]
    fn a_packet_too_large_for_udp_is_a_send_error() {
        let (mut one, two) = (loopback(), loopback());
        assert!(matches!(
            one.send(two.local(), &vec![0; 70_000]),
            Err(SendError::Os(_))
        ));
    }

    #[test]
    fn the_clock_does_not_go_back() {
        let mut one = loopback();
        let first = one.now();
        assert!(first > Time::ZERO && one.now() >= first);
    }

    #[test]
    fn one_seed_gives_the_same_random_bits() {
        let local = "127.0.0.1:0".parse().expect("an address");
        let draw = |seed| {
            UdpTransport::bind_seeded(local, seed)
                .expect("a socket")
                .random()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
