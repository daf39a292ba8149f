//! Descriptors of other kinds than UDP sockets, whose numbers UDP sockets may have had: also where
//! the C library closed those inside itself. Of TCP connections it is told that they are made.

use netreel_shared::call::CallId;

use crate::endpoint::Endpoint;
use crate::hook::hook;
use crate::sys::{self, quietly};
use crate::taken::room_for;
use crate::{attach, children, files, floor, push, replay, sockets};

/// How a TCP connection came to be: the program made it, or took it.
pub const MADE: u16 = 1;
const TAKEN: u16 = 2;

/// Pushes that there is a TCP connection. Leaves `errno` as it is.
pub fn connected(how: u16, fd: i32, peer: &Endpoint) {
    if attach::generation().is_none() || replay::on() {
        return;
    }
    if sockets::is_tcp(fd) {
        push::called(CallId::TCP, fd, &[&how.to_le_bytes(), peer.bytes()]);
    }
}

/// Pushes that the program has connected a stream of this machine's (X11, D-Bus), as a file by whose path it
/// is found. Leaves `errno` as it is.
#[cold]
pub fn speaks_with(fd: i32, address: &[u8]) {
    if attach::generation().is_none() {
        return;
    }
    let Some((family, path)) = address.split_first_chunk() else {
        return;
    };
    if i32::from(u16::from_ne_bytes(*family)) == sys::AF_UNIX && sockets::is_stream(fd) {
        quietly(|| files::speaks_with(fd, path));
    }
}

/// Takes a connection by `real`.
///
/// # Safety
/// Both are null, or as `accept` wants them.
unsafe fn takes(address: *const u8, length: *const u32, real: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the caller vouches for it.
    let room = unsafe { room_for(length) };
    let fd = real();
    if fd >= 0 {
        // SAFETY: as above; the kernel says how long the address is, however little room there was.
        let peer = unsafe { sys::slice(address, room_for(length).min(room)) };
        connected(TAKEN, fd, &Endpoint::from_c(peer).unwrap_or(Endpoint::NONE));
    }
    made(fd)
}

fn made(fd: i32) -> i32 {
    if fd >= 0 {
        sockets::made_another(fd);
    }
    fd
}

/// # Safety
/// `pair` is null or leads to two descriptors.
unsafe fn made_a_pipe(result: i32, pair: *const [i32; 2]) -> i32 {
    // SAFETY: the caller vouches for it.
    if let (0, Some(pair)) = (result, unsafe { pair.as_ref() }) {
        for fd in pair {
            made(*fd);
        }
        children::made_pipe(*pair);
    }
    result
}

hook! {
    fn accept[goes_on](fd: i32, address: *mut u8, length: *mut u32),
    fn accept4[goes_on](fd: i32, address: *mut u8, length: *mut u32, flags: i32) -> i32 {
        takes(address, length, goes_on)
    }

    fn pipe[goes_on](pair: *mut [i32; 2]),
    fn pipe2[goes_on](pair: *mut [i32; 2], flags: i32),
    fn socketpair[goes_on](domain: i32, kind: i32, protocol: i32, pair: *mut [i32; 2]) -> i32 {
        made_a_pipe(floor::at_once(goes_on), pair)
    }
}
