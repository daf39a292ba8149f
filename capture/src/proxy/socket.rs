//! The proxy's sockets: opened, read in batches, written to.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use netreel_reel::Endpoint;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

/// What every socket asks for: 40 ms of 100 000 packets a second, as the kernel counts them.
const BUFFER: usize = 8 << 20;
/// How many packets are read by one call.
const BATCH: usize = 32;
/// Room for one packet. A little more than the largest, so that the starts of the rooms do not all
/// fall on the same lines of the processor's cache.
const ROOM: usize = 65_536 + 64;

/// A socket that listens at `local`.
pub(super) fn listen(local: Endpoint) -> io::Result<OwnedFd> {
    let socket = open(local)?;
    if local.is_ipv6() {
        // What comes over IPv4 has a listener of its own where that is wanted.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    net::bind(&socket, &local)?;
    Ok(socket)
}

/// A socket towards `target`. The kernel hands it what comes from there alone.
pub(super) fn connect(target: Endpoint) -> io::Result<OwnedFd> {
    let socket = open(target)?;
    net::connect(&socket, &target)?;
    Ok(socket)
}

/// Where a socket is bound.
pub(super) fn local(socket: &OwnedFd) -> io::Result<Endpoint> {
    let address = net::getsockname(socket)?;
    Ok(SocketAddr::try_from(address)?)
}

fn open(family_of: Endpoint) -> io::Result<OwnedFd> {
    let family = match family_of {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::DGRAM, flags, None)?;
    // Past the system's limit only root may go; up to it everybody.
    if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, BUFFER)?;
    }
    if sockopt::set_socket_send_buffer_size_force(&socket, BUFFER).is_err() {
        sockopt::set_socket_send_buffer_size(&socket, BUFFER)?;
    }
    Ok(socket)
}

/// The receive buffer that a socket got, in bytes as the kernel counts them.
pub(super) fn receive_buffer(socket: &OwnedFd) -> usize {
    sockopt::socket_recv_buffer_size(socket).unwrap_or(0)
}

/// Sends one packet; without `to`, where the socket is connected to. Waits shortly where the
/// kernel has no room for it.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    to: Option<Endpoint>,
    packet: &[u8],
) -> Result<usize, Errno> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let once = || match to {
        Some(to) => net::sendto(socket, packet, flags, &to),
        None => net::send(socket, packet, flags),
    };
    let mut waited = false;
    loop {
        match once() {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN | Errno::NOBUFS) if !waited => {
                waited = true;
                let room = &mut [PollFd::from_borrowed_fd(socket, PollFlags::OUT)];
                let patience = Timespec {
                    tv_sec: 0,
                    tv_nsec: 2_000_000,
                };
                let _ = poll(room, Some(&patience));
            }
            result => return result,
        }
    }
}

/// How many packets the kernel has dropped at a socket, most often because its receive buffer was
/// full. Wraps around.
pub(super) fn drops(socket: &OwnedFd) -> Option<u32> {
    /// The place of the drops among the numbers (`SK_MEMINFO_DROPS` in `linux/sock_diag.h`).
    const DROPS: usize = 8;
    let mut numbers = [0u32; 9];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the call writes at most `length` bytes into `numbers`.
    let told = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (told == 0 && length as usize == size_of_val(&numbers)).then_some(numbers[DROPS])
}

/// Packets read by one call.
pub(super) struct Batch {
    bytes: Vec<u8>,
    names: Vec<libc::sockaddr_storage>,
    lengths: Vec<(usize, libc::socklen_t)>,
}

impl Batch {
    pub fn new() -> Batch {
        // SAFETY: an address of zeros is one of no family.
        let nobody: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        Batch {
            bytes: vec![0; BATCH * ROOM],
            names: vec![nobody; BATCH],
            lengths: Vec::with_capacity(BATCH),
        }
    }

    /// Reads what is there, at most a batch of it; never waits. 0: there is nothing.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> Result<usize, Errno> {
        self.lengths.clear();
        // SAFETY: headers and parts of zeros are empty ones.
        let mut parts: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let rooms = self.bytes.chunks_exact_mut(ROOM).zip(&mut self.names);
        for ((header, part), (room, name)) in headers.iter_mut().zip(&mut parts).zip(rooms) {
            part.iov_base = room.as_mut_ptr().cast();
            part.iov_len = room.len();
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = (name as *mut libc::sockaddr_storage).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        }
        let taken = loop {
            // SAFETY: every header points to a part and a name of its own, which outlive the call.
            let taken = unsafe {
                libc::recvmmsg(
                    socket.as_raw_fd(),
                    headers.as_mut_ptr(),
                    BATCH as libc::c_uint,
                    libc::MSG_DONTWAIT,
                    std::ptr::null_mut(),
                )
            };
            if let Ok(taken) = usize::try_from(taken) {
                break taken;
            }
            match Errno::from_io_error(&io::Error::last_os_error()) {
                Some(Errno::INTR) => {}
                Some(Errno::AGAIN) => return Ok(0),
                error => return Err(error.unwrap_or(Errno::IO)),
            }
        };
        let taken = headers.iter().take(taken);
        self.lengths
            .extend(taken.map(|header| (header.msg_len as usize, header.msg_hdr.msg_namelen)));
        Ok(self.lengths.len())
    }

    /// Who sent the packet at `place` and its bytes; `None` where nothing was read there.
    pub fn packet(&self, place: usize) -> Option<(Option<Endpoint>, &[u8])> {
        let (length, name_length) = *self.lengths.get(place)?;
        let start = place.checked_mul(ROOM)?;
        let bytes = self.bytes.get(start..start.checked_add(length)?)?;
        Some((endpoint(self.names.get(place)?, name_length), bytes))
    }

    /// Whether the latest read may have left something.
    pub fn was_full(&self) -> bool {
        self.lengths.len() == BATCH
    }
}

fn endpoint(name: &libc::sockaddr_storage, length: libc::socklen_t) -> Option<Endpoint> {
    let length = length as usize;
    match i32::from(name.ss_family) {
        libc::AF_INET if length >= size_of::<libc::sockaddr_in>() => {
            // SAFETY: the kernel wrote an address of this family there, and it is large enough.
            let v4: libc::sockaddr_in = unsafe { *(&raw const *name).cast() };
            let ip = u32::from_be(v4.sin_addr.s_addr);
            Some((std::net::Ipv4Addr::from(ip), u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 if length >= size_of::<libc::sockaddr_in6>() => {
            // SAFETY: as above.
            let v6: libc::sockaddr_in6 = unsafe { *(&raw const *name).cast() };
            let address = std::net::SocketAddrV6::new(
                v6.sin6_addr.s6_addr.into(),
                u16::from_be(v6.sin6_port),
                v6.sin6_flowinfo,
                v6.sin6_scope_id,
            );
            Some(address.into())
        }
        _ => None,
    }
}
