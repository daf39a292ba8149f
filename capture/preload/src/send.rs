//! Every way to send on a UDP socket.

use netreel_shared::body::{self, EventKind, SendOutcome};
use netreel_shared::call::{CallId, PastId};

use crate::corks::{self, First, To, Whole};
use crate::endpoint::Endpoint;
use crate::hook::hook;
use crate::push::{Pushing, pushing};
use crate::replay::{self, Outgoing};
use crate::sys::{self, IoVec, MMsgHdr, MsgHdr, errno, set_errno};
use crate::thread::now;
use crate::vectors::{self, Vectors, length};
use crate::{children, counters, floor, printed, sockets};

/// A send that has its number and not yet its result.
struct Pending {
    number: u64,
    time: u64,
    length: usize,
}

/// What a call on a UDP socket hands over to be sent to an address, if that is none without bytes.
#[inline]
fn outgoing<'a>(fd: i32, socket: u16, list: &'a [IoVec], address: &[u8]) -> Outgoing<'a> {
    let named = || Endpoint::from_c(address).or_else(|| sockets::without_family(fd, address));
    Outgoing {
        fd,
        socket,
        to: if address.is_empty() { None } else { named() },
        was_peer: false,
        list,
        segment: None,
    }
}

/// The same of a message.
///
/// # Safety
/// It is the program's own, for a call that it makes.
unsafe fn message<'a>(fd: i32, socket: u16, message: &MsgHdr) -> Outgoing<'a> {
    // SAFETY: the caller vouches for it.
    let (list, address, segment) = unsafe {
        let address = sys::slice(message.name, message.name_length);
        (message.list(), address, told_segment(message))
    };
    Outgoing {
        segment,
        ..outgoing(fd, socket, list, address)
    }
}

/// The size into which the kernel cuts a message, where that says.
///
/// # Safety
/// As [`message`].
unsafe fn told_segment(message: &MsgHdr) -> Option<u16> {
    // SAFETY: the caller vouches for it.
    let segment =
        unsafe { vectors::control(message.control, message.control_length, sys::UDP_SEGMENT) };
    segment.map(u16::from_ne_bytes)
}

/// Where it goes, whatever the socket's peer is later; `None` where nobody knows yet.
fn to_from_now(out: &Outgoing<'_>) -> Option<To> {
    let peer = || match replay::on() {
        true => sockets::known_peer(out.socket),
        false => Some(sockets::peer(out.fd, out.socket)),
    };
    let endpoint = out.to.or_else(peer)?;
    let is_peer = out.to.is_none();
    Some(To { endpoint, is_peer })
}

/// The size into which the kernel cuts what a call hands over, as the call says or the socket.
#[inline]
fn segment(told: Option<u16>, socket: u16) -> u16 {
    told.unwrap_or_else(|| sockets::segment(socket))
}

/// The size of each packet that the kernel makes of it; 0 where it goes as it is.
#[inline]
fn cut(list: &[IoVec], told: Option<u16>, socket: u16) -> usize {
    let size = usize::from(segment(told, socket));
    if size == 0 {
        return 0;
    }
    let length = length(list);
    // Of more segments the kernel takes none.
    if length > size && length.div_ceil(size) <= SEGMENTS_MAX {
        size
    } else {
        0
    }
}

/// How many packets the kernel makes at most of what one call hands over.
const SEGMENTS_MAX: usize = 128;

/// Pushes the packet, where the descriptor is a UDP socket, sends it, and pushes the result. `flags` are
/// those of the call.
#[inline]
fn send_by(
    fd: i32,
    list: &[IoVec],
    address: &[u8],
    flags: i32,
    send: impl FnOnce() -> isize,
) -> isize {
    match sockets::udp(fd) {
        Some(socket) => send_packet(&outgoing(fd, socket, list, address), flags, send),
        None => floor::in_order(fd, Some(length(list)), flags, send),
    }
}

/// The same of a UDP socket.
#[inline]
fn send_packet(out: &Outgoing<'_>, flags: i32, send: impl FnOnce() -> isize) -> isize {
    if is_in_parts(out.socket, flags) {
        return send_in_parts(out, is_part(out.socket, flags), send);
    }
    send_whole(out, send)
}

/// The same for a packet that leaves at once.
#[inline]
fn send_whole(out: &Outgoing<'_>, send: impl FnOnce() -> isize) -> isize {
    let size = cut(out.list, out.segment, out.socket);
    if replay::on() {
        return match size {
            0 => replay::sends(out),
            size => replay::sends_cut(out, size),
        };
    }
    if size > 0 {
        return send_cut(out, size, send);
    }
    let pending = before(out);
    let result = send();
    after(out.fd, pending, result);
    result
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
#[cold]
#[inline(never)]
fn send_in_parts(out: &Outgoing<'_>, more: bool, send: impl FnOnce() -> isize) -> isize {
    let (socket, length) = (out.socket, length(out.list));
    // The kernel refuses more, and what waits goes on waiting.
    if length > usize::from(u16::MAX) {
        return send_whole(out, send);
    }
    let first = || First::new(to_from_now(out), segment(out.segment, socket));
    if !corks::keep(socket, first, out.list) {
        sockets::past(PastId::PARTS);
        return send_whole(out, send);
    }
    if more {
        let result = if replay::on() {
            replay::sends_part(out.fd, socket)
        } else {
            let result = send();
            sockets::tell(out.fd, CallId::PART, result as i32, &[]);
            result
        };
        if result < 0 {
            corks::forget(socket);
        }
        return result;
    }
    // Another thread may have sent them meanwhile.
    match corks::leave(socket) {
        Some(whole) => send_parts(out.fd, socket, &whole, send).min(length as isize),
        None => send_whole(out, send),
    }
}

/// The parts that waited are sent by a call that fails with a negative result. How many bytes they
/// are, where it does not.
fn send_parts(fd: i32, socket: u16, whole: &Whole, send: impl FnOnce() -> isize) -> isize {
    let (bytes, first) = ([whole.bytes()], whole.first());
    let to = first.to();
    let out = Outgoing {
        to: to.map(|to| to.endpoint),
        was_peer: to.is_some_and(|to| to.is_peer),
        segment: Some(first.segment),
        ..outgoing(fd, socket, &bytes, &[])
    };
    send_whole(&out, || match send() {
        result if result < 0 => result,
        _ => length(&bytes) as isize,
    })
}

/// What waits leaves, because `set` switches off that it does. What that returned; `None`: nothing
/// waited, or it is replayed.
pub fn uncorks(fd: i32, set: impl FnOnce() -> i32) -> Option<i32> {
    let socket = sockets::udp(fd)?;
    let whole = corks::leave(socket)?;
    let mut told = None;
    send_parts(fd, socket, &whole, || *told.insert(set()) as isize);
    told
}

/// Pushes a packet that is about to be sent.
fn before(out: &Outgoing<'_>) -> Option<Pending> {
    let mut pushing = pushing()?;
    let socket = out.socket;
    sockets::announce(&mut pushing, out.fd, socket);
    let to = out.to.unwrap_or_else(|| sockets::peer(out.fd, socket));
    let (time, kind, length) = (now(), EventKind::Sent, length(out.list));
    let mut vectors = Vectors::new(out.list);
    let number = pushing.packet(kind, time, (socket, &to), &mut vectors, length)?;
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
#[cold]
#[inline(never)] // only what needs it has so much on its stack
fn send_cut(out: &Outgoing<'_>, size: usize, send: impl FnOnce() -> isize) -> isize {
    let (fd, socket) = (out.fd, out.socket);
    let (time, mut numbers) = (now(), [u64::MAX; SEGMENTS_MAX]);
    if let Some(mut pushing) = pushing() {
        sockets::announce(&mut pushing, fd, socket);
        let to = out.to.unwrap_or_else(|| sockets::peer(fd, socket));
        let (mut vectors, mut left) = (Vectors::new(out.list), length(out.list));
        pushing.joined(time, socket, left.div_ceil(size), size);
        for number in &mut numbers {
            if left == 0 {
                break;
            }
            let part = left.min(size);
            let known = pushing.packet(EventKind::Sent, time, (socket, &to), &mut vectors, part);
            *number = known.unwrap_or(u64::MAX);
            left -= part;
        }
    }
    let result = send();
    let code = errno();
    if let Some(mut pushing) = pushing() {
        for number in numbers.into_iter().filter(|number| *number != u64::MAX) {
            let pending = Pending {
                number,
                time,
                length: 0,
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
        send_by(fd, &[IoVec::new(buffer, length)], &[], flags, goes_on)
    }

    fn sendto[goes_on](fd: i32, buffer: *const u8, length: usize, flags: i32, address: *const u8, address_length: u32) -> isize {
        let address = sys::slice(address, address_length);
        send_by(fd, &[IoVec::new(buffer, length)], address, flags, goes_on)
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
        let result = send_by(fd, &[IoVec::new(buffer, length)], &[], 0, goes_on);
        if printed::is_printed(fd) && sockets::udp(fd).is_none() {
            printed::wrote(fd, buffer, result);
        }
        result
    }

    fn writev[goes_on](fd: i32, iov: *const IoVec, count: i32) -> isize {
        if sockets::udp(fd).is_some() && !sockets::is_still_udp(fd) {
            return goes_on();
        }
        let list = sys::slice(iov, count);
        if let Some(length) = children::swallows(fd, || length(list)) {
            return length;
        }
        let result = send_by(fd, list, &[], 0, goes_on);
        if printed::is_printed(fd) && sockets::udp(fd).is_none() {
            printed::wrote_all(fd, list, result);
        }
        result
    }

    fn pwritev2 | pwritev64v2[goes_on](fd: i32, iov: *const IoVec, count: i32, offset: i64, flags: i32) -> isize {
        write_at(fd, sys::slice(iov, count), offset, goes_on)
    }

    fn sendmsg[goes_on](fd: i32, message: *const MsgHdr, flags: i32) -> isize {
        match (message.as_ref(), sockets::udp(fd)) {
            (Some(asked), Some(socket)) => send_packet(&self::message(fd, socket, asked), flags, goes_on),
            (asked, _) => {
                let length = || asked.map_or(0, |it| length(it.list()));
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
            let out = |of: &MMsgHdr| message(fd, socket, &of.header);
            let is_cut = |of: &MMsgHdr| cut(of.header.list(), told_segment(&of.header), socket) > 0;
            let result = if is_in_parts(socket, flags) || part.iter().any(is_cut) {
                send_one_by_one(flags, part, out, send)
            } else if replay::on() {
                replay::sends_many(part, out)
            } else {
                send_part(fd, part, out, send)
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
fn write_at(fd: i32, list: &[IoVec], offset: i64, write: impl FnOnce() -> isize) -> isize {
    if offset != -1 || sockets::udp(fd).is_none() || !sockets::is_still_udp(fd) {
        let result = write();
        printed::wrote_all(fd, list, result);
        return result;
    }
    send_by(fd, list, &[], 0, write)
}

/// How many packets of a `sendmmsg` are handed to the kernel at once: more would need more numbers
/// on a stack that may be small.
const PART: usize = 32;

/// Sends messages, of each of which `out` says what goes out, by `send`.
fn send_part<'a>(
    fd: i32,
    messages: &mut [MMsgHdr],
    out: impl Fn(&MMsgHdr) -> Outgoing<'a>,
    send: impl FnOnce(*mut MMsgHdr, u32) -> i32,
) -> i32 {
    let mut pending = [const { None }; PART];
    for (message, place) in messages.iter().zip(&mut pending) {
        *place = before(&out(message));
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
fn send_one_by_one<'a>(
    flags: i32,
    messages: &mut [MMsgHdr],
    out: impl Fn(&MMsgHdr) -> Outgoing<'a>,
    mut send: impl FnMut(*mut MMsgHdr, u32) -> i32,
) -> i32 {
    let mut done = 0;
    for message in messages {
        let taken = send_packet(&out(message), flags, || match send(&raw mut *message, 1) {
            1 => message.length as isize,
            failed => failed as isize,
        });
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
