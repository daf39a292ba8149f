//! A socket of the standard library, recorded.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netreel_reel::{Endpoint, SocketId};
use netreel_system::locked;

use crate::journal::{Journal, send_outcome, would_block};

/// A [`UdpSocket`], recorded: the same methods with the same answers, so that code which calls
/// them needs no change but the type. Waiting calls wait; threads may share it.
///
/// What is missing: `peek`, which takes nothing. What is done to [`inner`](RecordedSocket::inner)
/// directly is not recorded.
#[derive(Debug)]
pub struct RecordedSocket {
    socket: UdpSocket,
    journal: Journal,
    // `None` only while it is dropped.
    opened: Option<Arc<Opened>>,
}

/// What the clones of a socket have in common.
#[derive(Debug)]
pub(crate) struct Opened {
    pub id: SocketId,
    peer: Mutex<Option<Endpoint>>,
}

impl Opened {
    pub fn new(journal: &Journal, local: Endpoint, peer: Option<Endpoint>) -> Opened {
        Opened {
            id: journal.open_socket(local),
            peer: Mutex::new(peer),
        }
    }

    pub fn peer(&self) -> Option<Endpoint> {
        *locked(&self.peer)
    }

    pub fn set_peer(&self, peer: Option<Endpoint>) {
        *locked(&self.peer) = peer;
    }
}

/// Writes down what a receive call came to; `from` is who sent the packet.
pub(crate) fn write_down(
    journal: &Journal,
    socket: SocketId,
    result: &io::Result<(usize, Endpoint)>,
    buffer: &[u8],
) {
    match result {
        Ok((length, from)) => {
            let payload = buffer.get(..*length).unwrap_or(&[]);
            journal.received(socket, *from, payload);
        }
        Err(error) if would_block(error) => journal.poll_empty(socket),
        Err(error) => journal.receive_failed(socket, error.raw_os_error().unwrap_or(0)),
    }
}

/// Where a socket has no address of its own yet, or no peer.
pub(crate) const NOWHERE: Endpoint =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);

/// What the standard library says of a name without an address.
pub(crate) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "no addresses to send data to")
}

impl RecordedSocket {
    /// Records `socket` into `journal`.
    pub fn new(socket: UdpSocket, journal: &Journal) -> io::Result<RecordedSocket> {
        let opened = Opened::new(journal, socket.local_addr()?, socket.peer_addr().ok());
        Ok(RecordedSocket {
            socket,
            journal: journal.clone(),
            opened: Some(Arc::new(opened)),
        })
    }

    /// Opens a socket on `address`, recorded.
    pub fn bind(address: impl ToSocketAddrs, journal: &Journal) -> io::Result<RecordedSocket> {
        RecordedSocket::new(UdpSocket::bind(address)?, journal)
    }

    /// The same socket for another thread, which has a journal of its own.
    pub fn try_clone(&self, journal: &Journal) -> io::Result<RecordedSocket> {
        Ok(RecordedSocket {
            socket: self.socket.try_clone()?,
            journal: journal.clone(),
            opened: self.opened.clone(),
        })
    }

    /// The recorded socket. What is done to it directly is not recorded.
    pub fn inner(&self) -> &UdpSocket {
        &self.socket
    }

    /// Where the engine writes down its ticks, inputs, clock reads and random draws.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The socket's number in the reel.
    pub fn id(&self) -> SocketId {
        self.opened.as_ref().map_or(SocketId(0), |opened| opened.id)
    }

    fn peer(&self) -> Endpoint {
        let peer = self.opened.as_ref().and_then(|opened| opened.peer());
        peer.unwrap_or(NOWHERE)
    }

    /// See [`UdpSocket::send_to`].
    pub fn send_to(&self, packet: &[u8], address: impl ToSocketAddrs) -> io::Result<usize> {
        let to = address.to_socket_addrs()?.next().ok_or_else(no_address)?;
        let of = self.journal.sent(self.id(), to, packet);
        let result = self.socket.send_to(packet, to);
        self.journal
            .send_result(of, send_outcome(&result, packet.len()));
        result
    }

    /// See [`UdpSocket::recv_from`].
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let result = self.socket.recv_from(buffer);
        write_down(&self.journal, self.id(), &result, buffer);
        result
    }

    /// See [`UdpSocket::connect`].
    pub fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        self.socket.connect(address)?;
        if let Some(opened) = &self.opened {
            opened.set_peer(self.socket.peer_addr().ok());
        }
        Ok(())
    }

    /// See [`UdpSocket::send`].
    pub fn send(&self, packet: &[u8]) -> io::Result<usize> {
        let of = self.journal.sent(self.id(), self.peer(), packet);
        let result = self.socket.send(packet);
        self.journal
            .send_result(of, send_outcome(&result, packet.len()));
        result
    }

    /// See [`UdpSocket::recv`].
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.socket.recv(buffer);
        let result = result.map(|length| (length, self.peer()));
        write_down(&self.journal, self.id(), &result, buffer);
        Ok(result?.0)
    }

    /// See [`UdpSocket::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// See [`UdpSocket::peer_addr`].
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// See [`UdpSocket::set_nonblocking`].
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    /// See [`UdpSocket::set_read_timeout`].
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    /// See [`UdpSocket::set_broadcast`].
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.socket.set_broadcast(broadcast)
    }
}

#[cfg(unix)]
impl AsFd for RecordedSocket {
    /// For waiting until the socket is ready; what is read or sent through it is not recorded.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for RecordedSocket {
    fn drop(&mut self) {
        // Exactly one of the clones is the last.
        if let Some(opened) = self.opened.take().and_then(Arc::into_inner) {
            self.journal.close_socket(opened.id);
        }
    }
}
