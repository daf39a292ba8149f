//! Sockets of a proxy: opened, read in batches, written to, and waited for, with a timer.
//!
//! Linux's: `recvmmsg`, epoll and a timer of the kernel's.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// What every socket asks for: 40 ms of 100 000 packets a second, as the kernel counts them.
const BUFFER: usize = 8 << 20;
/// How many packets are read by one call.
const BATCH: usize = 32;
/// Room for one packet. A little more than the largest, so that the starts of the rooms do not all
/// fall on the same lines of the processor's cache.
const ROOM: usize = 65_536 + 64;
/// How long a packet waits at most for room to be sent.
const ROOM_WAITS: Duration = Duration::from_millis(2);

/// A UDP socket that never waits.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// One that listens at `local`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn listen(local: SocketAddr) -> io::Result<Socket> {
        let socket = open(local)?;
        if local.is_ipv6() {
            // What comes over IPv4 has a listener of its own where that is wanted.
            sockopt::set_ipv6_v6only(&socket, true)?;
        }
        net::bind(&socket, &local)?;
        Ok(Socket(socket))
    }

    /// One towards `target`. It gets what comes from there alone.
    ///
    /// # Errors
    /// The operating system's.
    pub fn connect(target: SocketAddr) -> io::Result<Socket> {
        let socket = open(target)?;
        net::connect(&socket, &target)?;
        Ok(Socket(socket))
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// The operating system's.
    pub fn local(&self) -> io::Result<SocketAddr> {
        let address = net::getsockname(&self.0)?;
        Ok(SocketAddr::try_from(address)?)
    }

    /// Sends one packet; without `to`, where it is connected to. Waits shortly where the
    /// kernel has no room for it.
    ///
    /// # Errors
    /// The operating system's; that nobody listens where an earlier packet went is told so as well.
    pub fn send(&self, to: Option<SocketAddr>, packet: &[u8]) -> io::Result<usize> {
        let socket = &self.0;
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
                    let room = &mut [PollFd::new(socket, PollFlags::OUT)];
                    let _ = crate::ready::wait(room, Some(ROOM_WAITS));
                }
                result => return Ok(result?),
            }
        }
    }

    /// The receive buffer that it got, in bytes as the kernel counts them.
    pub fn receive_buffer(&self) -> usize {
        sockopt::socket_recv_buffer_size(&self.0).unwrap_or(0)
    }

    /// How many packets the kernel has dropped here, most often because its receive buffer was
    /// full. Wraps around.
    pub fn drops(&self) -> Option<u32> {
        /// The place of the drops among the numbers (`SK_MEMINFO_DROPS` in `linux/sock_diag.h`).
        const DROPS: usize = 8;
        let mut numbers = [0u32; 9];
        let mut length = size_of_val(&numbers) as libc::socklen_t;
        // SAFETY: the call writes at most `length` bytes into `numbers`.
        let told = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                numbers.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        (told == 0 && length as usize == size_of_val(&numbers)).then_some(numbers[DROPS])
    }
}

fn open(family_of: SocketAddr) -> io::Result<OwnedFd> {
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

/// Packets read by one call.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    names: Vec<libc::sockaddr_storage>,
    lengths: Vec<(usize, libc::socklen_t)>,
}

impl Batch {
    /// Room for a batch.
    #[allow(clippy::new_without_default)]
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
    ///
    /// # Errors
    /// The operating system's, of which some are answers of the network to packets that were sent.
    pub fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
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
                    socket.0.as_raw_fd(),
                    headers.as_mut_ptr(),
                    BATCH as libc::c_uint,
                    libc::MSG_DONTWAIT,
                    std::ptr::null_mut(),
                )
            };
            if let Ok(taken) = usize::try_from(taken) {
                break taken;
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Ok(0),
                _ => return Err(error),
            }
        };
        let taken = headers.iter().take(taken);
        self.lengths
            .extend(taken.map(|header| (header.msg_len as usize, header.msg_hdr.msg_namelen)));
        Ok(self.lengths.len())
    }

    /// Who sent the packet at `place` and its bytes; `None` where nothing was read there.
    pub fn packet(&self, place: usize) -> Option<(Option<SocketAddr>, &[u8])> {
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

fn endpoint(name: &libc::sockaddr_storage, length: libc::socklen_t) -> Option<SocketAddr> {
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

/// Waits for sockets, each of which has a number of its caller's choice, and for a time.
pub struct Waits {
    epoll: OwnedFd,
    timer: OwnedFd,
}

/// The number of the timer.
const TIMER: u64 = u64::MAX;
/// How many sockets are told of at once.
const READY_MAX: usize = 64;

impl Waits {
    /// For no socket yet, and for no time.
    ///
    /// # Errors
    /// The operating system's.
    pub fn new() -> io::Result<Waits> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let number = epoll::EventData::new_u64(TIMER);
        epoll::add(&epoll, &timer, number, epoll::EventFlags::IN)?;
        Ok(Waits { epoll, timer })
    }

    /// Waits for a socket as well, until it is closed.
    ///
    /// # Errors
    /// The operating system's.
    pub fn add(&mut self, socket: &Socket, number: u64) -> io::Result<()> {
        let number = epoll::EventData::new_u64(number);
        epoll::add(&self.epoll, &socket.0, number, epoll::EventFlags::IN)?;
        Ok(())
    }

    /// Waits no longer than to this moment of the monotonic clock, in nanoseconds; `None`: there is no
    /// such moment.
    pub fn until(&mut self, at_ns: Option<u64>) {
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let value = at_ns.map_or(never, |at| Timespec {
            tv_sec: (at / 1_000_000_000) as i64,
            tv_nsec: (at % 1_000_000_000) as _,
        });
        let value = Itimerspec {
            it_interval: never,
            it_value: value,
        };
        // Should it fail, whoever waits comes by by itself some time.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &value);
    }

    /// Waits until there is something to read, or the moment has come, or for `most`; the numbers of the
    /// sockets that have something go to `ready`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn wait(&mut self, most: Duration, ready: &mut Vec<u64>) -> io::Result<()> {
        ready.clear();
        let most = Timespec::try_from(most).ok();
        let mut room = [MaybeUninit::<epoll::Event>::uninit(); READY_MAX];
        let came = match epoll::wait(&self.epoll, &mut room, most.as_ref()) {
            Ok((came, _)) => came,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in came {
            match event.data.u64() {
                TIMER => {
                    let _ = rustix::io::read(&self.timer, &mut [0; 8]);
                }
                number => ready.push(number),
            }
        }
        Ok(())
    }
}
