//! What goes over the recorder's socket.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use netreel_shared::hello::{HELLO_MAGIC, Hello, Welcome};
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags, sockopt};
use rustix::process::Uid;

/// Takes who asks next: its socket, number and user, and what it says, with the descriptor that it passes.
pub(super) fn next(listener: &OwnedFd) -> Option<(OwnedFd, u32, Uid, Hello, Option<OwnedFd>)> {
    let socket = net::accept_with(listener, SocketFlags::CLOEXEC).ok()?;
    let patience = Some(Duration::from_secs(1));
    let _ = sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, patience);
    let (hello, passed) = read_hello(&socket)?;
    let peer = sockopt::socket_peercred(&socket).ok()?;
    let pid = peer.pid.as_raw_nonzero().get() as u32;
    Some((socket, pid, peer.uid, hello, passed))
}

fn read_hello(socket: &OwnedFd) -> Option<(Hello, Option<OwnedFd>)> {
    let mut bytes = [0u8; size_of::<Hello>()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = net::RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    // A receive with a time-out is not begun again by itself where a signal comes: that a child has
    // ended.
    let received =
        rustix::io::retry_on_intr(|| net::recvmsg(socket, &mut parts, &mut control, flags));
    let received = received.ok()?;
    let mut passed = None;
    for message in control.drain() {
        if let net::RecvAncillaryMessage::ScmRights(fds) = message {
            passed = fds.into_iter().next();
        }
    }
    let number = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let hello = Hello {
        magic: number(0)?,
        kind: number(4)?,
        pid: number(8)?,
        flags: number(12)?,
        identity: 0,
    };
    let whole = received.bytes == bytes.len() && hello.magic == HELLO_MAGIC;
    whole.then_some((hello, passed))
}

/// Answers, with the ring file where there is one, and the bell where it was not given before.
pub(super) fn write_welcome(
    socket: &OwnedFd,
    welcome: &Welcome,
    files: Option<(&File, Option<&File>)>,
) {
    let words = |numbers: [u32; 4]| numbers.map(u32::to_ne_bytes);
    let Welcome {
        magic,
        accepted,
        rings,
        capacity,
        identity,
        drop_when_full,
        tripwire,
        one_thread,
        no_log,
    } = *welcome;
    let first = words([magic, accepted, rings, capacity]);
    let last = words([drop_when_full, tripwire, one_thread, no_log]);
    let bytes = [
        first.as_flattened(),
        &identity.to_ne_bytes(),
        last.as_flattened(),
    ]
    .concat();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = net::SendAncillaryBuffer::new(&mut space);
    let fds: Vec<_> = files
        .into_iter()
        .flat_map(|(ring, bell)| [Some(ring), bell])
        .flatten()
        .map(|file| file.as_fd())
        .collect();
    if !fds.is_empty() {
        control.push(net::SendAncillaryMessage::ScmRights(&fds));
    }
    let parts = [IoSlice::new(&bytes)];
    // Whoever asked may be gone.
    let _ = rustix::io::retry_on_intr(|| {
        net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL)
    });
}
