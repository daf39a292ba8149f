//! Sockets of a proxy: opened, read in batches, written to, and waited for, with a timer.
//!
//! What every system has: `poll`, one packet a call.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Weak};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Type};

/// What every socket asks for.
const BUFFER: usize = 8 << 20;
/// How many packets are read at once.
const BATCH: usize = 32;
/// Room for one packet: a little more than the largest.
const ROOM: usize = 65_536 + 64;
/// How long a packet waits at most for room to be sent.
const ROOM_WAITS: Duration = Duration::from_millis(2);

/// A UDP socket that never waits.
#[derive(Debug)]
pub struct Socket(Arc<UdpSocket>);

impl Socket {
    /// One that listens at `local`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn listen(local: SocketAddr) -> io::Result<Socket> {
        let socket = open(local)?;
        if local.is_ipv6() {
            // What comes over IPv4 has a listener of its own where that is wanted.
            socket.set_only_v6(true)?;
        }
        socket.bind(&SockAddr::from(local))?;
        Ok(Socket(Arc::new(socket.into())))
    }

    /// One towards `target`. It gets what comes from there alone.
    ///
    /// # Errors
    /// The operating system's.
    pub fn connect(target: SocketAddr) -> io::Result<Socket> {
        let socket = open(target)?;
        socket.connect(&SockAddr::from(target))?;
        Ok(Socket(Arc::new(socket.into())))
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// The operating system's.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Sends one packet; without `to`, where it is connected to. Waits shortly where the system has no
    /// room for it.
    ///
    /// # Errors
    /// The operating system's; that nobody listens where an earlier packet went is told so as well.
    pub fn send(&self, to: Option<SocketAddr>, packet: &[u8]) -> io::Result<usize> {
        let once = || match to {
            Some(to) => self.0.send_to(packet, to),
            None => self.0.send(packet),
        };
        match once() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(ROOM_WAITS);
                once()
            }
            result => result,
        }
    }

    /// The receive buffer that it got, in bytes.
    pub fn receive_buffer(&self) -> usize {
        socket2::SockRef::from(&*self.0)
            .recv_buffer_size()
            .unwrap_or(0)
    }

    /// How many packets the system has dropped here: it does not tell.
    pub fn drops(&self) -> Option<u32> {
        None
    }
}

fn open(family_of: SocketAddr) -> io::Result<socket2::Socket> {
    let domain = Domain::for_address(family_of);
    let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // A system that allows less keeps what it has.
    let _ = socket.set_recv_buffer_size(BUFFER);
    let _ = socket.set_send_buffer_size(BUFFER);
    Ok(socket)
}

/// Packets read at once.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    read: Vec<(usize, SocketAddr)>,
}

impl Batch {
    /// Room for a batch.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Batch {
        Batch {
            bytes: vec![0; BATCH * ROOM],
            read: Vec::with_capacity(BATCH),
        }
    }

    /// Reads what is there, at most a batch of it; never waits. 0: there is nothing.
    ///
    /// # Errors
    /// The operating system's, of which some are answers of the network to packets that were sent.
    pub fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
        self.read.clear();
        for room in self.bytes.chunks_exact_mut(ROOM) {
            match socket.0.recv_from(room) {
                Ok(read) => self.read.push(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // It comes again by the next call, if it is worth anything.
                Err(_) if !self.read.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self.read.len())
    }

    /// Who sent the packet at `place` and its bytes; `None` where nothing was read there.
    pub fn packet(&self, place: usize) -> Option<(Option<SocketAddr>, &[u8])> {
        let (length, from) = *self.read.get(place)?;
        let start = place.checked_mul(ROOM)?;
        let bytes = self.bytes.get(start..start.checked_add(length)?)?;
        Some((Some(from), bytes))
    }

    /// Whether the latest read may have left something.
    pub fn was_full(&self) -> bool {
        self.read.len() == BATCH
    }
}

/// Waits for sockets, each of which has a number of its caller's choice, and for a time.
#[derive(Debug)]
pub struct Waits {
    sockets: Vec<(Weak<UdpSocket>, u64)>,
    until_ns: Option<u64>,
}

impl Waits {
    /// For no socket yet, and for no time.
    ///
    /// # Errors
    /// None here.
    pub fn new() -> io::Result<Waits> {
        Ok(Waits {
            sockets: Vec::new(),
            until_ns: None,
        })
    }

    /// Waits for a socket as well, until it is closed.
    ///
    /// # Errors
    /// None here.
    pub fn add(&mut self, socket: &Socket, number: u64) -> io::Result<()> {
        self.sockets.push((Arc::downgrade(&socket.0), number));
        Ok(())
    }

    /// Waits no longer than to this moment of the monotonic clock, in nanoseconds; `None`: there is no
    /// such moment.
    pub fn until(&mut self, at_ns: Option<u64>) {
        self.until_ns = at_ns;
    }

    /// Waits until there is something to read, or the moment has come, or for `most`; the numbers of the
    /// sockets that have something go to `ready`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn wait(&mut self, most: Duration, ready: &mut Vec<u64>) -> io::Result<()> {
        ready.clear();
        self.sockets.retain(|(socket, _)| socket.strong_count() > 0);
        let left = self.until_ns.map(|at| {
            let left = at.saturating_sub(crate::clock::monotonic_ns());
            Duration::from_nanos(left)
        });
        let most = left.map_or(most, |left| left.min(most));
        let open: Vec<(Arc<UdpSocket>, u64)> = self
            .sockets
            .iter()
            .filter_map(|(socket, number)| Some((socket.upgrade()?, *number)))
            .collect();
        let sockets: Vec<&UdpSocket> = open.iter().map(|(socket, _)| &**socket).collect();
        for place in here::readable(&sockets, most)? {
            ready.extend(open.get(place).map(|(_, number)| *number));
        }
        Ok(())
    }
}

#[cfg(windows)]
mod here {
    use std::io;
    use std::net::UdpSocket;
    use std::os::windows::io::AsRawSocket;
    use std::time::Duration;

    use windows_sys::Win32::Networking::WinSock::{POLLRDNORM, SOCKET, WSAPOLLFD, WSAPoll};

    /// The places of those that have something to read.
    pub(super) fn readable(sockets: &[&UdpSocket], most: Duration) -> io::Result<Vec<usize>> {
        let polled = |socket: &&UdpSocket| WSAPOLLFD {
            fd: socket.as_raw_socket() as SOCKET,
            events: POLLRDNORM,
            revents: 0,
        };
        let mut polled: Vec<WSAPOLLFD> = sockets.iter().map(polled).collect();
        let ms = i32::try_from(most.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        // SAFETY: so many structures, of sockets that are open.
        let found = unsafe { WSAPoll(polled.as_mut_ptr(), polled.len() as u32, ms) };
        match found {
            0.. => Ok((0..polled.len())
                .filter(|place| polled.get(*place).is_some_and(|it| it.revents != 0))
                .collect()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(unix)]
mod here {
    use std::io;
    use std::net::UdpSocket;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags};

    /// The places of those that have something to read.
    pub(super) fn readable(sockets: &[&UdpSocket], most: Duration) -> io::Result<Vec<usize>> {
        let mut polled: Vec<PollFd<'_>> = sockets
            .iter()
            .map(|socket| PollFd::new(*socket, PollFlags::IN))
            .collect();
        crate::ready::wait(&mut polled, Some(most))?;
        Ok((0..polled.len())
            .filter(|place| {
                polled
                    .get(*place)
                    .is_some_and(|it| !it.revents().is_empty())
            })
            .collect())
    }
}
