//! What a receive put into the program's memory, and the events that hold it.

use netreel_shared::body::{self, EventKind};
use netreel_shared::call::{CallId, PastId};

use crate::endpoint::Endpoint;
use crate::push::pushing;
use crate::sockets;
use crate::sys::{self, IoVec, MsgHdr, errno, quietly};
use crate::thread::now;
use crate::vectors::{self, Vectors};

/// Flags of receives that take no packet: joined packets need not be taken apart for them.
pub const UNJOINED: i32 = sys::MSG_PEEK | sys::MSG_ERRQUEUE;

/// What the program gets, wherever it gets it.
pub struct Taken<'a> {
    /// What the descriptor was before the call: another thread may close it meanwhile.
    pub socket: Option<u16>,
    pub list: &'a [IoVec],
    /// Where the packet came from; nothing where the program did not ask for it.
    pub address: &'a [u8],
    pub flags: i32,
    /// How long each packet is that the kernel has joined with others; 0 for a single one.
    pub size: usize,
}

impl<'a> Taken<'a> {
    /// A single packet, for a program that did not ask for its address.
    pub fn new(socket: Option<u16>, list: &'a [IoVec], flags: i32) -> Taken<'a> {
        Taken {
            socket,
            list,
            address: &[],
            flags,
            size: 0,
        }
    }
}

/// Pushes the result of a receive. Leaves `errno` as it is.
pub fn after(fd: i32, taken: &Taken<'_>, result: isize) {
    quietly(|| tell(fd, taken, result, errno()));
}

fn tell(fd: i32, taken: &Taken<'_>, result: isize, code: i32) -> Option<()> {
    let socket = taken.socket?;
    let mut pushing = pushing()?;
    sockets::announce(&mut pushing, fd, socket);
    let number = socket.to_le_bytes();
    if taken.flags & sys::MSG_ERRQUEUE != 0 {
        let result = if result < 0 { -code } else { result as i32 };
        pushing.called(CallId::ERROR_QUEUE, result, &[&number]);
        return Some(());
    }
    let Ok(mut left) = usize::try_from(result) else {
        if code == sys::EAGAIN {
            // An empty poll costs no clock read; it has the time of the event before it.
            let time = pushing.latest();
            pushing.push_body(time, EventKind::PollEmpty, body::socket(socket));
        } else {
            let body = body::receive_failed(socket, code);
            pushing.push_body(now(), EventKind::ReceiveFailed, body);
        }
        return Some(());
    };
    let from = Endpoint::from_c(taken.address).unwrap_or_else(|| sockets::peer(fd, socket));
    let mut vectors = Vectors::new(taken.list);
    // With MSG_TRUNC the result is the packet's length, which may be more than was stored.
    left = left.min(vectors::length(taken.list));
    if taken.flags & sys::MSG_PEEK != 0 {
        let result = result as i32;
        pushing.called(CallId::PEEK, result, &[&number]);
        return Some(());
    }
    let (time, kind, source) = (now(), EventKind::Received, (socket, &from));
    if taken.size == 0 || left <= taken.size {
        pushing.packet(kind, time, source, &mut vectors, left);
        return Some(());
    }
    pushing.joined(time, socket, left.div_ceil(taken.size), taken.size);
    while left > 0 {
        let part = left.min(taken.size);
        pushing.packet(kind, time, source, &mut vectors, part);
        left -= part;
    }
    Some(())
}

/// What a call on `socket` that returned `result` put into a message.
///
/// # Safety
/// The message describes memory that the program gave for the call, and the call has filled.
pub unsafe fn taken_by<'a>(
    socket: Option<u16>,
    message: &MsgHdr,
    room: u32,
    flags: i32,
    result: isize,
) -> Taken<'a> {
    let joins = || socket.is_some_and(sockets::joins);
    let size = if result >= 0 && flags & UNJOINED == 0 && joins() {
        // SAFETY: the caller vouches for it.
        unsafe { size_in(message) }
    } else {
        0
    };
    let own = message.name_length.min(room).min(28);
    // SAFETY: the caller vouches for it.
    let (list, address) = unsafe { (message.list(), sys::slice(message.name, own)) };
    Taken {
        address,
        size,
        ..Taken::new(socket, list, flags)
    }
}

/// How long each packet is that the kernel has joined in a message; 0 for a single one.
///
/// # Safety
/// The message was filled by the kernel.
#[cold]
unsafe fn size_in(message: &MsgHdr) -> usize {
    // SAFETY: the caller vouches for it.
    let size = unsafe { vectors::control(message.control, message.control_length, sys::UDP_GRO) };
    let known = size.and_then(|size| usize::try_from(i32::from_ne_bytes(size)).ok());
    if known.is_none() && (message.control.is_null() || message.flags & sys::MSG_CTRUNC != 0) {
        sockets::past(PastId::SEGMENTS);
    }
    known.unwrap_or(0)
}

/// How long an address is that the program has room for, before a call.
///
/// # Safety
/// `length` is null or leads to a length.
pub unsafe fn room_for(length: *const u32) -> u32 {
    // SAFETY: the caller vouches for it.
    unsafe { length.as_ref() }.copied().unwrap_or(0)
}
