//! A request to the recorder over its socket, and the answer.

use core::sync::atomic::AtomicU64;

use netreel_shared::hello::{HELLO_MAGIC, Hello, MUTED, Welcome};

use crate::environment::recorder_path;
use crate::plainly::{Plainly, zero};
use crate::sys::{self, IoVec, MsgHdr, nr};

/// Of the reel, where there is one already.
pub static IDENTITY: AtomicU64 = zero();

/// The longest path of a Unix socket, with its zero byte.
const PATH_MAX: usize = 108;

/// Sends a request to the recorder, and receives its answer, the ring file and the bell.
pub fn ask(kind: u32, flags: u32) -> Option<(Welcome, i32, Option<i32>)> {
    exchange((kind, flags, None), receive_welcome)
}

/// Passes a descriptor (or that there is none) to the recorder, and waits until it has it.
pub fn tell(kind: u32, flags: u32, fd: Option<i32>) -> Option<()> {
    exchange((kind, flags, fd), |socket| {
        let mut byte = [0u8; 64];
        let arguments = [socket as usize, byte.as_mut_ptr() as usize, 64];
        // SAFETY: room of 64 bytes.
        let read = unsafe { sys::syscall(nr::RECVFROM, arguments) };
        (read > 0).then_some(())
    })
}

/// Sends a request over a socket of its own, and receives the answer by `receive`.
fn exchange<R>(
    (kind, flags, fd): (u32, u32, Option<i32>),
    receive: impl FnOnce(i32) -> Option<R>,
) -> Option<R> {
    let socket = connect()?;
    let answer = send_hello(socket, kind, flags, fd).and_then(|()| receive(socket));
    sys::close(socket);
    answer
}

fn connect() -> Option<i32> {
    let mut address = [0u8; 2 + PATH_MAX];
    let length = recorder_path(address.get_mut(2..)?)?;
    address[..2].copy_from_slice(&(sys::AF_UNIX as u16).to_ne_bytes());
    let kind = (sys::SOCK_SEQPACKET | sys::SOCK_CLOEXEC) as usize;
    // SAFETY: a socket of our own.
    let socket = unsafe { sys::syscall(nr::SOCKET, [sys::AF_UNIX as usize, kind]) };
    if socket < 0 {
        return None;
    }
    let pointer = address.as_ptr() as usize;
    let arguments = [socket as usize, pointer, 2 + length + 1];
    // SAFETY: the address lives through the call.
    if unsafe { sys::syscall(nr::CONNECT, arguments) } < 0 {
        sys::close(socket as i32);
        return None;
    }
    Some(socket as i32)
}

fn send_hello(socket: i32, kind: u32, flags: u32, fd: Option<i32>) -> Option<()> {
    let hello = Hello {
        magic: HELLO_MAGIC,
        kind,
        pid: sys::process(),
        flags,
        identity: IDENTITY.get(),
    };
    // SAFETY: it lives through the call.
    let iov = [unsafe { IoVec::new((&raw const hello).cast(), size_of::<Hello>()) }];
    // cmsghdr: length, level, type, and the descriptor.
    let mut control = [0usize; 3];
    control[0] = 20;
    control[1] = (sys::SOL_SOCKET as u32 as usize) | ((sys::SCM_RIGHTS as usize) << 32);
    control[2] = fd.unwrap_or(0) as u32 as usize;
    let mut message = MsgHdr::new(&iov);
    if fd.is_some() {
        (message.control, message.control_length) = (control.as_mut_ptr().cast(), 24);
    }
    let pointer = (&raw const message) as usize;
    let flags = sys::MSG_NOSIGNAL as usize;
    // SAFETY: all that the message points to lives through the call.
    let sent = unsafe { sys::syscall(nr::SENDMSG, [socket as usize, pointer, flags]) };
    (sent > 0).then_some(())
}

fn receive_welcome(socket: i32) -> Option<(Welcome, i32, Option<i32>)> {
    let mut welcome = Welcome::default();
    // SAFETY: it lives through the call.
    let iov = [unsafe { IoVec::new((&raw mut welcome).cast(), size_of::<Welcome>()) }];
    let mut control = [0usize; 3];
    let mut message = MsgHdr {
        control: control.as_mut_ptr().cast(),
        control_length: 24,
        ..MsgHdr::new(&iov)
    };
    let pointer = (&raw mut message) as usize;
    let flags = sys::MSG_CMSG_CLOEXEC as usize;
    // A signal may interrupt the wait.
    let received = loop {
        // SAFETY: all that the message points to lives through the call.
        let got = unsafe { sys::syscall(nr::RECVMSG, [socket as usize, pointer, flags]) };
        if got != -4 {
            break got;
        }
    };
    let whole = received == size_of::<Welcome>() as isize && welcome.magic == HELLO_MAGIC;
    let with_fd = message.control_length >= 20 && control[0] >= 20;
    if whole && welcome.accepted == MUTED {
        return Some((welcome, -1, None));
    }
    if !whole || !with_fd || welcome.accepted == 0 {
        return None;
    }
    // cmsghdr: two descriptors make it 24 bytes long.
    let bell = (control[0] >= 24).then_some((control[2] >> 32) as i32);
    Some((welcome, control[2] as u32 as i32, bell))
}
