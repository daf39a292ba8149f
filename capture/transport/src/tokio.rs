//! A socket of tokio, recorded.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use netreel_reel::{Endpoint, SocketId};
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::{Interest, ReadBuf, Ready};
use tokio::net::{ToSocketAddrs, UdpSocket};

use crate::journal::{Journal, send_outcome, would_block};
use crate::recorded_socket::{NOWHERE, Opened, no_address, write_down};

/// A tokio [`UdpSocket`], recorded: the same methods with the same answers. Tasks may share it.
///
/// A send is numbered when it goes to the operating system, not when its future is made, and a
/// receive when it comes from there: a future that is dropped before that leaves no event. A send
/// that has to wait for room is in the reel as one that failed, and again when there is room.
/// What is missing: `peek`. What is done to [`inner`](RecordedSocket::inner) directly is not
/// recorded.
#[derive(Debug)]
pub struct RecordedSocket {
    socket: UdpSocket,
    journal: Journal,
    opened: Opened,
}

impl RecordedSocket {
    /// Records `socket` into `journal`.
    pub fn new(socket: UdpSocket, journal: &Journal) -> io::Result<RecordedSocket> {
        let opened = Opened::new(journal, socket.local_addr()?, socket.peer_addr().ok());
        Ok(RecordedSocket {
            socket,
            journal: journal.clone(),
            opened,
        })
    }

    /// Opens a socket on `address`, recorded.
    pub async fn bind(
        address: impl ToSocketAddrs,
        journal: &Journal,
    ) -> io::Result<RecordedSocket> {
        RecordedSocket::new(UdpSocket::bind(address).await?, journal)
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
        self.opened.id
    }

    fn peer(&self) -> Endpoint {
        self.opened.peer().unwrap_or(NOWHERE)
    }

    /// See [`UdpSocket::connect`].
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        self.socket.connect(address).await?;
        self.opened.set_peer(self.socket.peer_addr().ok());
        Ok(())
    }

    /// See [`UdpSocket::send_to`].
    pub async fn send_to(&self, packet: &[u8], address: impl ToSocketAddrs) -> io::Result<usize> {
        let to = tokio::net::lookup_host(address)
            .await?
            .next()
            .ok_or_else(no_address)?;
        let send = || self.send_now(packet, Some(to));
        self.socket.async_io(Interest::WRITABLE, send).await
    }

    /// See [`UdpSocket::send`].
    pub async fn send(&self, packet: &[u8]) -> io::Result<usize> {
        let send = || self.send_now(packet, None);
        self.socket.async_io(Interest::WRITABLE, send).await
    }

    /// See [`UdpSocket::recv_from`].
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let receive = || self.receive_now(buffer);
        self.socket.async_io(Interest::READABLE, receive).await
    }

    /// See [`UdpSocket::recv`].
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.recv_from(buffer).await?.0)
    }

    /// See [`UdpSocket::try_send_to`].
    pub fn try_send_to(&self, packet: &[u8], to: SocketAddr) -> io::Result<usize> {
        let send = || self.send_now(packet, Some(to));
        self.socket.try_io(Interest::WRITABLE, send)
    }

    /// See [`UdpSocket::try_send`].
    pub fn try_send(&self, packet: &[u8]) -> io::Result<usize> {
        let send = || self.send_now(packet, None);
        self.socket.try_io(Interest::WRITABLE, send)
    }

    /// See [`UdpSocket::try_recv_from`]. Finding nothing is in the reel.
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let receive = || self.receive_now(buffer);
        let result = self.socket.try_io(Interest::READABLE, receive);
        if let Err(error) = &result
            && would_block(error)
        {
            self.journal.poll_empty(self.id());
        }
        result
    }

    /// See [`UdpSocket::try_recv`]. Finding nothing is in the reel.
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.try_recv_from(buffer)?.0)
    }

    /// See [`UdpSocket::poll_send_to`].
    pub fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        packet: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_send_ready(context))?;
            match self.try_send_to(packet, to) {
                Err(error) if would_block(&error) => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// See [`UdpSocket::poll_recv_from`].
    pub fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        loop {
            ready!(self.socket.poll_recv_ready(context))?;
            let room = buffer.initialize_unfilled();
            let receive = || self.receive_now(room);
            match self.socket.try_io(Interest::READABLE, receive) {
                Err(error) if would_block(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok((length, from)) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(from));
                }
            }
        }
    }

    /// See [`UdpSocket::ready`].
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.socket.ready(interest).await
    }

    /// See [`UdpSocket::readable`].
    pub async fn readable(&self) -> io::Result<()> {
        self.socket.readable().await
    }

    /// See [`UdpSocket::writable`].
    pub async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// See [`UdpSocket::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// See [`UdpSocket::peer_addr`].
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// One call of the operating system; tokio calls this when the socket is ready.
    fn send_now(&self, packet: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        let shown = to.unwrap_or_else(|| self.peer());
        let of = self.journal.sent(self.id(), shown, packet);
        // A datagram that nobody takes raises no signal.
        let flags = SendFlags::empty();
        let result = match to {
            Some(to) => rustix::net::sendto(&self.socket, packet, flags, &to),
            None => rustix::net::send(&self.socket, packet, flags),
        }
        .map_err(io::Error::from);
        self.journal
            .send_result(of, send_outcome(&result, packet.len()));
        result
    }

    /// One call of the operating system; tokio calls this when the socket is ready. That there was
    /// nothing is told to the journal only if the engine is told.
    fn receive_now(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let result = rustix::net::recvfrom(&self.socket, &mut *buffer, RecvFlags::empty())
            .map_err(io::Error::from)
            .map(|(length, _, from)| {
                let from = from.and_then(|from| SocketAddr::try_from(from).ok());
                (length, from.unwrap_or_else(|| self.peer()))
            });
        match &result {
            Err(error) if would_block(error) => {}
            _ => write_down(&self.journal, self.id(), &result, buffer),
        }
        result
    }
}

impl Drop for RecordedSocket {
    fn drop(&mut self) {
        self.journal.close_socket(self.opened.id);
    }
}
