//! A network of programs' own: each has a namespace with one interface, and what it sends there comes here.
//!
//! Linux's network namespaces and TUN devices. Nothing of them has a name outside: a namespace is gone with
//! the last process in it and the [`Network`].

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

/// How many bits of an address name the network, not the node in it.
const PREFIX: u32 = 16;
/// The largest packet: no datagram is cut into several.
const MTU: libc::c_int = 65_535;

/// A namespace with one interface.
#[derive(Debug)]
pub struct Network {
    packets: File,
    namespace: File,
    address: Ipv4Addr,
}

impl Network {
    /// Makes one whose interface has this address. The other addresses with the same first 16 bits are
    /// reached through it, and nothing else.
    ///
    /// # Errors
    /// The operating system's: it takes root (`CAP_SYS_ADMIN`, `CAP_NET_ADMIN`) and `/dev/net/tun`.
    pub fn new(address: Ipv4Addr) -> io::Result<Network> {
        let makes = || {
            // SAFETY: it takes a number, and concerns this thread alone, which ends below.
            done(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
            Ok(Network {
                packets: interface(address)?,
                namespace: File::open("/proc/thread-self/ns/net")?,
                address,
            })
        };
        apart(makes)?
    }

    /// The address of its interface.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The process starts in it.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn starts_in<'a>(&self, command: &'a mut Command) -> io::Result<&'a mut Command> {
        let namespace = self.namespace.try_clone()?;
        // SAFETY: between fork and exec it makes one system call, and touches no memory.
        Ok(unsafe { command.pre_exec(move || enter(&namespace)) })
    }

    /// Does something on a thread that is in it: sockets that are made there are.
    ///
    /// # Errors
    /// There is no such thread.
    pub fn inside<R: Send>(&self, act: impl FnOnce() -> R + Send) -> io::Result<R> {
        apart(|| enter(&self.namespace).map(|()| act()))?
    }

    /// Takes the next packet that was sent, from its IP header on: its length; `None` where there is none.
    ///
    /// # Errors
    /// The operating system's.
    pub fn take(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.packets).read(room) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            taken => taken.map(Some),
        }
    }

    /// Has a packet arrive, from its IP header on.
    ///
    /// # Errors
    /// The operating system's.
    pub fn give(&self, packet: &[u8]) -> io::Result<()> {
        (&self.packets).write(packet).map(|_| ())
    }
}

/// Waits until one of them has a packet, at most so long.
///
/// # Errors
/// The operating system's.
pub fn wait(networks: &[Arc<Network>], most: Duration) -> io::Result<()> {
    let mut descriptors: Vec<PollFd<'_>> = networks
        .iter()
        .map(|it| PollFd::from_borrowed_fd(it.packets.as_fd(), PollFlags::IN))
        .collect();
    crate::ready::wait(&mut descriptors, Some(most))
}

/// Does something on a thread of its own.
fn apart<R: Send>(act: impl FnOnce() -> R + Send) -> io::Result<R> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, act)?;
        Ok(thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: it takes numbers; the descriptor is open.
    done(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
}

/// The interface of this thread's namespace, and its loopback, switched on.
fn interface(address: Ipv4Addr) -> io::Result<File> {
    let mut open = OpenOptions::new();
    let open = open.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let packets = open.open("/dev/net/tun")?;
    let mut tun = request(b"net0");
    tun.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    ask(&packets, libc::TUNSETIFF, &mut tun)?;
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mask = Ipv4Addr::from_bits(u32::MAX << (32 - PREFIX));
    for (what, value) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, mask)] {
        let mut given = request(b"net0");
        given.ifr_ifru.ifru_addr = socket_address(value);
        ask(&socket, what, &mut given)?;
    }
    let mut size = request(b"net0");
    size.ifr_ifru.ifru_mtu = MTU;
    ask(&socket, libc::SIOCSIFMTU, &mut size)?;
    for name in [&b"lo"[..], b"net0"] {
        let mut on = request(name);
        on.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        ask(&socket, libc::SIOCSIFFLAGS, &mut on)?;
    }
    Ok(packets)
}

/// What is asked of the interface of this name.
fn request(name: &[u8]) -> libc::ifreq {
    // SAFETY: plain numbers, for which zeros are values.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    request
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: plain numbers, for which zeros are values.
    let mut internet: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    internet.sin_family = libc::AF_INET as libc::sa_family_t;
    internet.sin_addr.s_addr = u32::from_ne_bytes(address.octets());
    // SAFETY: both have the same size, and every pattern of bits is a value.
    unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(internet) }
}

fn ask(of: &impl AsFd, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    let descriptor = of.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open; the kernel reads and writes the request during the call alone.
    done(unsafe { libc::ioctl(descriptor, what, std::ptr::from_mut(request)) })
}

fn done(answer: libc::c_int) -> io::Result<()> {
    match answer {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
