//! Every way to send on a UDP socket.

use netreel_shared::body::{self, EventKind, SendOutcome};
use netreel_shared::call::{CallId, PastId};

use crate::corks::{self, First, To, Whole};
use crate::endpoint::Endpoint;
use crate::hook::hook;
use crate::push::{Pushing, pushing};
use crate::sys::{self, IoVec, MMsgHdr, MsgHdr, errno, set_errno};
use crate::thread::now;
use crate::vectors::{self, Vectors, length};
use crate::{children, counters, floor, printed, replay, sockets};

/// A send that has its number and not yet its result.
struct Pending {
    number: u64,
    time: u64,
    length: usize,
}

/// What a call hands over to be sent.
struct Outgoing<'a> {
    list: &'a [IoVec],
    address: *const u8,
    address_length: u32,
    /// The size into which the kernel cuts it, where the call itself says.
    segment: Option<u16>,
    /// Where it goes, where an earlier call has said that.
    told: Option<To>,
}

impl<'a> Outgoing<'a> {
    fn new(list: &'a [IoVec]) -> Outgoing<'a> {
        Outgoing {
            list,
            address: core::ptr::null(),
            address_length: 0,
            segment: None,
            told: None,
        }
    }

    /// # Safety
    /// The message is the program's own, for a call that it makes.
    unsafe fn message(message: &MsgHdr) -> Outgoing<'a> {
        // SAFETY: the caller vouches for it.
        let (list, segment) = unsafe {
            let length = message.control_length;
            let segment = vectors::control(message.control, length, sys::UDP_SEGMENT);
            (message.list(), segment)
        };
        Outgoing {
            address: message.name,
            address_length: message.name_length,
            segment: segment.map(u16::from_ne_bytes),
            ..Outgoing::new(list)
        }
    }

    /// Where it goes.
    ///
    /// # Safety
    /// As [`send_by`].
    #[inline]
    unsafe fn to(&self, fd: i32, socket: u16) -> Endpoint {
        // SAFETY: the caller vouches for it.
        unsafe { self.named(fd) }.unwrap_or_else(|| sockets::peer(fd, socket))
    }

    /// Where the call says that it goes.
    ///
    /// # Safety
    /// As [`send_by`].
    #[inline]
    unsafe fn named(&self, fd: i32) -> Option<Endpoint> {
        if let Some(told) = &self.told {
            return Some(told.endpoint);
        }
        let (address, length) = (self.address, self.address_length);
        if address.is_null() {
            return None;
        }
        // SAFETY: the caller vouches for it.
        unsafe {
            Endpoint::from_pointer(address, length)
                .or_else(|| sockets::without_family(fd, address, length))
        }
    }

    /// Where it goes, whatever the socket's peer is later; `None` where nobody knows yet.
    ///
    /// # Safety
    /// As [`send_by`].
    unsafe fn to_from_now(&self, fd: i32, socket: u16) -> Option<To> {
        // SAFETY: the caller vouches for it.
        let named = unsafe { self.named(fd) };
        let peer = || {
            if replay::on() {
                sockets::known_peer(socket)
            } else {
                Some(sockets::peer(fd, socket))
            }
        };
        let is_peer = named.is_none();
        let endpoint = named.or_else(peer)?;
        Some(To { endpoint, is_peer })
    }

    /// For a replay.
    ///
    /// # Safety
    /// As [`send_by`].
    unsafe fn replayed(&self, fd: i32, socket: u16) -> replay::Outgoing<'a> {
        replay::Outgoing {
            fd,
            socket,
            // SAFETY: the caller vouches for it.
            to: unsafe { self.named(fd) },
            was_peer: self.told.is_some_and(|told| told.is_peer),
            list: self.list,
        }
    }

    /// The size into which the kernel cuts it, as the call says or the socket.
    #[inline]
    fn segment(&self, socket: u16) -> u16 {
        self.segment.unwrap_or_else(|| sockets::segment(socket))
    }

    /// The size of each packet that the kernel makes of it; 0 where it goes as it is.
    #[inline]
    fn cut(&self, socket: u16) -> usize {
        let size = usize::from(self.segment(socket));
        if size == 0 {
            return 0;
        }
        let length = length(self.list);
        // Of more segments the kernel takes none.
        if length > size && length.div_ceil(size) <= SEGMENTS_MAX {
            size
        } else {
            0
        }
    }
}

/// How many packets the kernel makes at most of what one call hands over.
const SEGMENTS_MAX: usize = 128;

/// Pushes the packet, sends it, and pushes the result. `flags` are those of the call.
///
/// # Safety
/// What goes out leads to readable bytes, and to nothing or to an address of its length.
#[inline]
unsafe fn send_by(
    fd: i32,
    outgoing: &Outgoing<'_>,
    flags: i32,
    send: impl FnOnce() -> isize,
) -> isize {
    let Some(socket) = sockets::udp(fd) else {
        return floor::in_order(fd, Some(length(outgoing.list)), flags, send);
    };
    // SAFETY: the caller vouches for it.
    unsafe {
        if is_in_parts(socket, flags) {
            return send_in_parts(fd, socket, outgoing, is_part(socket, flags), send);
        }
        send_whole(fd, socket, outgoing, send)
    }
}

/// The same for a packet that leaves at once.
///
/// # Safety
/// As [`send_by`].
#[inline]
unsafe fn send_whole(
    fd: i32,
    socket: u16,
    outgoing: &Outgoing<'_>,
    send: impl FnOnce() -> isize,
) -> isize {
    // SAFETY: the caller vouches for it.
    unsafe {
        let size = outgoing.cut(socket);
        if replay::on() {
            let out = outgoing.replayed(fd, socket);
            return match size {
                0 => replay::sends(&out),
                size => replay::sends_cut(&out, size),
            };
        }
        if size > 0 {
            return send_cut(fd, socket, outgoing, size, send);
        }
        let pending = before(fd, socket, outgoing);
        let result = send();
        after(fd, pending, result);
        result
    }
}

/// Whether the kernel keeps what is sent until more comes.
#[inline]
fn is_part(socket: u16, flags: i32) -> bool {
    flags & sys::MSG_MORE != 0 || sockets::is_corked(socket)
}

/// Whether the packet is one of several parts, of which this may be the last.
#[inline]
fn is_in_parts(socket: u16, flags: i32) -> bool {
    is_part(socket, flags) || corks::waits(socket)
}

/// Of a packet that is sent in parts, tells of each but the last that it was handed over, and
/// with the last one of the packet that they come to.
///
/// # Safety
/// As [`send_by`].
#[cold]
#[inline(never)]
unsafe fn send_in_parts(
    fd: i32,
    socket: u16,
    outgoing: &Outgoing<'_>,
    more: bool,
    send: impl FnOnce() -> isize,
) -> isize {
    // SAFETY: the caller vouches for it.
    unsafe {
        let length = length(outgoing.list);
        // The kernel refuses more, and what waits goes on waiting.
        if length > usize::from(u16::MAX) {
            return send_whole(fd, socket, outgoing, send);
        }
        let first = || First::new(outgoing.to_from_now(fd, socket), outgoing.segment(socket));
        if !corks::keep(socket, first, &mut Vectors::new(outgoing.list), length) {
            sockets::past(PastId::PARTS);
            return send_whole(fd, socket, outgoing, send);
        }
        if more {
            let result = if replay::on() {
                replay::sends_part(fd, socket)
            } else {
                let result = send();
                sockets::tell(fd, CallId::PART, result as i32, &[]);
                result
            };
            if result < 0 {
                corks::forget(socket);
            }
            return result;
        }
        // Another thread may have sent them meanwhile.
        let Some(whole) = corks::leave(socket) else {
            return send_whole(fd, socket, outgoing, send);
        };
        send_parts(fd, socket, &whole, send).min(length as isize)
    }
}

/// The parts that waited are sent by a call that fails with a negative result. How many bytes they
/// are, where it does not.
///
/// # Safety
/// The call is the program's own.
unsafe fn send_parts(fd: i32, socket: u16, whole: &Whole, send: impl FnOnce() -> isize) -> isize {
    let (bytes, first) = ([whole.bytes()], whole.first());
    let outgoing = Outgoing {
        segment: Some(first.segment),
        told: first.to(),
        ..Outgoing::new(&bytes)
    };
    let all = |result: isize| {
        if result < 0 {
            result
        } else {
            length(&bytes) as isize
        }
    };
    // SAFETY: they are this thread's as long as `whole` is there.
    unsafe { send_whole(fd, socket, &outgoing, || all(send())) }
}

/// What waits leaves, because `set` switches off that it does. What that returned; `None`: nothing
/// waited, or it is replayed.
///
/// # Safety
/// The call is the program's own.
pub unsafe fn uncorks(fd: i32, set: impl FnOnce() -> i32) -> Option<i32> {
    let socket = sockets::udp(fd)?;
    let whole = corks::leave(socket)?;
    let mut told = None;
    // SAFETY: the caller vouches for it.
    unsafe {
        send_parts(fd, socket, &whole, || {
            let result = set();
            told = Some(result);
            result as isize
        });
    }
    told
}

/// # Safety
/// As [`send_by`].
unsafe fn before(fd: i32, socket: u16, outgoing: &Outgoing<'_>) -> Option<Pending> {
    let mut pushing = pushing()?;
    sockets::announce(&mut pushing, fd, socket);
    // SAFETY: the caller vouches for it.
    let to = unsafe { outgoing.to(fd, socket) };
    let (time, kind, length) = (now(), EventKind::Sent, length(outgoing.list));
    let mut vectors = Vectors::new(outgoing.list);
    // SAFETY: as above.
    let number = unsafe { pushing.packet(kind, time, (socket, &to), &mut vectors, length) }?;
    Some(Pending {
        number,
        time,
        length,
    })
}

/// Pushes the result of a send. Leaves `errno` as it is.
fn after(fd: i32, pending: Option<Pending>, result: isize) {
    let Some(pending) = pending else { return };
    let code = errno();
    if let Some(mut pushing) = pushing() {
        push_result(&mut pushing, &pending, result, code);
        if let Some(socket) = sockets::udp(fd) {
            sockets::announce(&mut pushing, fd, socket);
        }
    }
    set_errno(code);
}

#[inline]
fn push_result(pushing: &mut Pushing, pending: &Pending, result: isize, code: i32) {
    let outcome = match usize::try_from(result) {
        Ok(taken) if taken >= pending.length => SendOutcome::Sent,
        Ok(taken) => SendOutcome::Short(taken as u32),
        Err(_) => SendOutcome::Failed(code),
    };
    let body = body::send_result(pending.number, outcome);
    pushing.push_body(pending.time, EventKind::SendResult, body);
}

/// The same for what the kernel cuts into packets of `size` bytes: each is one, and all have the
/// result of the call, which takes all or none.
///
/// # Safety
/// As [`send_by`].
#[cold]
#[inline(never)] // only what needs it has so much on its stack
unsafe fn send_cut(
    fd: i32,
    socket: u16,
    outgoing: &Outgoing<'_>,
    size: usize,
    send: impl FnOnce() -> isize,
) -> isize {
    let (time, mut numbers) = (now(), [u64::MAX; SEGMENTS_MAX]);
    if let Some(mut pushing) = pushing() {
        sockets::announce(&mut pushing, fd, socket);
        // SAFETY: the caller vouches for it.
        let to = unsafe { outgoing.to(fd, socket) };
        let mut vectors = Vectors::new(outgoing.list);
        let mut left = length(outgoing.list);
        pushing.joined(time, socket, left.div_ceil(size), size);
        for number in &mut numbers {
            if left == 0 {
                break;
            }
            let part = left.min(size);
            let kind = EventKind::Sent;
            // SAFETY: as above.
            let known = unsafe { pushing.packet(kind, time, (socket, &to), &mut vectors, part) };
            *number = known.unwrap_or(u64::MAX);
            left -= part;
        }
    }
    let result = send();
    let code = errno();
    if let Some(mut pushing) = pushing() {
        for number in numbers.into_iter().filter(|number| *number != u64::MAX) {
            let length = 0;
            let pending = Pending {
                number,
                time,
                length,
            };
            push_result(&mut pushing, &pending, result, code);
        }
        sockets::announce(&mut pushing, fd, socket);
    }
    set_errno(code);
    result
}

hook! {
    fn send | __send[goes_on](fd: i32, buffer: *const u8, length: usize, flags: i32) -> isize {
        send_by(fd, &Outgoing::new(&[IoVec::new(buffer, length)]), flags, goes_on)
    }

    fn sendto[goes_on](fd: i32, buffer: *const u8, length: usize, flags: i32, address: *const u8, address_length: u32) -> isize {
        let list = [IoVec::new(buffer, length)];
        let outgoing = Outgoing { address, address_length, ..Outgoing::new(&list) };
        send_by(fd, &outgoing, flags, goes_on)
    }

    fn write | __write[goes_on](fd: i32, buffer: *const u8, length: usize) -> isize {
        if sockets::udp(fd).is_some() {
            if !sockets::is_still_udp(fd) {
                return goes_on();
            }
        } else if let Some(length) = children::swallows(fd, || length) {
            return length;
        } else if let Some(call) = sockets::counter(fd) {
            return counters::raises(call, fd, buffer, length, goes_on);
        }
        let result = send_by(fd, &Outgoing::new(&[IoVec::new(buffer, length)]), 0, goes_on);
        if printed::is_printed(fd) && sockets::udp(fd).is_none() {
            printed::wrote(fd, buffer, result);
        }
        result
    }

    fn writev[goes_on](fd: i32, iov: *const IoVec, count: i32) -> isize {
        if sockets::udp(fd).is_some() && !sockets::is_still_udp(fd) {
            return goes_on();
        }
        let list = sys::buffers(iov, count);
        if let Some(length) = children::swallows(fd, || length(list)) {
            return length;
        }
        let result = send_by(fd, &Outgoing::new(list), 0, goes_on);
        if printed::is_printed(fd) && sockets::udp(fd).is_none() {
            printed::wrote_all(fd, list, result);
        }
        result
    }

    fn pwritev2 | pwritev64v2[goes_on](fd: i32, iov: *const IoVec, count: i32, offset: i64, flags: i32) -> isize {
        write_at(fd, sys::buffers(iov, count), offset, goes_on)
    }

    fn sendmsg[goes_on](fd: i32, message: *const MsgHdr, flags: i32) -> isize {
        match message.as_ref().filter(|_| sockets::udp(fd).is_some()) {
            Some(asked) => send_by(fd, &Outgoing::message(asked), flags, goes_on),
            None => {
                let length = || message.as_ref().map_or(0, |it| length(it.list()));
                children::swallows(fd, length).unwrap_or_else(|| {
                    floor::in_order(fd, Some(length()), flags, goes_on)
                })
            }
        }
    }

    fn sendmmsg[real](fd: i32, messages: *mut MMsgHdr, count: u32, flags: i32) -> i32 {
        let Some(socket) = sockets::udp(fd).filter(|_| !messages.is_null()) else {
            return real(fd, messages, count, flags);
        };
        // The kernel takes no more at once.
        let count = count.min(1024);
        let mut sent = 0;
        for part in core::slice::from_raw_parts_mut(messages, count as usize).chunks_mut(PART) {
            let send = |first, count| real(fd, first, count, flags);
            let cut = |message: &MMsgHdr| Outgoing::message(&message.header).cut(socket) > 0;
            let result = if is_in_parts(socket, flags) || part.iter().any(cut) {
                send_one_by_one(fd, flags, part, send)
            } else if replay::on() {
                let out = |message: &MMsgHdr| Outgoing::message(&message.header).replayed(fd, socket);
                replay::sends_many(part, out)
            } else {
                send_part(fd, socket, part, send)
            };
            // An error after others were taken comes again with the next call.
            if result < 0 {
                return if sent > 0 { sent } else { result };
            }
            sent += result;
            if (result as usize) < part.len() {
                break;
            }
        }
        sent
    }
}

/// A write at an offset, which a socket has not; -1 is where it goes on.
///
/// # Safety
/// As [`send_by`].
unsafe fn write_at(fd: i32, list: &[IoVec], offset: i64, write: impl FnOnce() -> isize) -> isize {
    if offset != -1 || sockets::udp(fd).is_none() || !sockets::is_still_udp(fd) {
        let result = write();
        // SAFETY: the caller vouches for it.
        unsafe { printed::wrote_all(fd, list, result) };
        return result;
    }
    // SAFETY: the caller vouches for it.
    unsafe { send_by(fd, &Outgoing::new(list), 0, write) }
}

/// How many packets of a `sendmmsg` are handed to the kernel at once: more would need more numbers
/// on a stack that may be small.
const PART: usize = 32;

/// # Safety
/// `messages` are the program's own, for the call that `send` makes.
unsafe fn send_part(
    fd: i32,
    socket: u16,
    messages: &mut [MMsgHdr],
    send: impl FnOnce(*mut MMsgHdr, u32) -> i32,
) -> i32 {
    let mut pending = [const { None }; PART];
    for (message, place) in messages.iter().zip(&mut pending) {
        // SAFETY: the caller vouches for it.
        *place = unsafe { before(fd, socket, &Outgoing::message(&message.header)) };
    }
    let result = send(messages.as_mut_ptr(), messages.len() as u32);
    let done = usize::try_from(result).unwrap_or(0);
    for (index, (message, place)) in messages.iter().zip(&mut pending).enumerate() {
        let taken = if index < done {
            message.length as isize
        } else if index == 0 {
            -1
        } else {
            0
        };
        after(fd, place.take(), taken);
    }
    result
}

/// The same where the kernel makes several packets of some messages, or one of several: each is a
/// call of its own.
///
/// # Safety
/// As [`send_part`].
unsafe fn send_one_by_one(
    fd: i32,
    flags: i32,
    messages: &mut [MMsgHdr],
    mut send: impl FnMut(*mut MMsgHdr, u32) -> i32,
) -> i32 {
    let mut done = 0;
    for message in messages {
        // SAFETY: the caller vouches for it.
        let taken = unsafe {
            let outgoing = Outgoing::message(&message.header);
            send_by(fd, &outgoing, flags, || match send(&raw mut *message, 1) {
                1 => message.length as isize,
                failed => failed as isize,
            })
        };
        if replay::on() && taken >= 0 {
            message.length = taken as u32;
        }
        if taken < 0 {
            return if done > 0 { done } else { -1 };
        }
        done += 1;
    }
    done
}
