//! Every way to send on a UDP socket.

use crate::call::PastId;
use crate::push::{now, pushing};
use crate::sockets::{self, Endpoint};
use crate::sys::{self, IoVec, MMsgHdr, MsgHdr, errno, hook, set_errno};

const SENT: u8 = 3;
const SEND_RESULT: u8 = 4;

/// A send that has its number and not yet its result.
struct Pending {
    number: u64,
    time: u64,
    length: usize,
}

/// Says that the program is about to send.
///
/// # Safety
/// `iov` leads to `count` vectors of readable bytes, `address` to nothing or to an address of
/// `address_length` bytes.
unsafe fn before(
    fd: i32,
    iov: *const IoVec,
    count: usize,
    address: *const u8,
    address_length: u32,
) -> Option<Pending> {
    let socket = sockets::udp(fd)?;
    let mut pushing = pushing()?;
    sockets::announce(&mut pushing, fd, socket);
    // SAFETY: the caller vouches for it.
    let to = unsafe { Endpoint::from_pointer(address, address_length) };
    let to = to.unwrap_or_else(|| sockets::peer(fd, socket));
    let vectors: &[IoVec] = if iov.is_null() {
        &[]
    } else {
        // SAFETY: the caller vouches for it.
        unsafe { core::slice::from_raw_parts(iov, count) }
    };
    let payload: usize = vectors.iter().map(|vector| vector.length).sum();
    let number = socket.to_le_bytes();
    let head = 2 + to.bytes().len();
    let time = now();
    let number = pushing.push(time, SENT, head + payload, |body| {
        // SAFETY: the room is the sum of the parts, which the caller vouches for.
        unsafe {
            core::ptr::copy_nonoverlapping(number.as_ptr(), body, 2);
            core::ptr::copy_nonoverlapping(to.bytes().as_ptr(), body.add(2), to.bytes().len());
            let mut at = body.add(head);
            for vector in vectors {
                if vector.length > 0 {
                    core::ptr::copy_nonoverlapping(vector.base, at, vector.length);
                    at = at.add(vector.length);
                }
            }
        }
    })?;
    Some(Pending {
        number,
        time,
        length: payload,
    })
}

/// Says what came of a send. Leaves `errno` as it is.
fn after(fd: i32, pending: Option<Pending>, result: isize) {
    let Some(pending) = pending else { return };
    let code = errno();
    if let Some(mut pushing) = pushing() {
        let (tag, value) = match usize::try_from(result) {
            Ok(taken) if taken >= pending.length => (0, 0),
            Ok(taken) => (1, taken as u32),
            Err(_) => (2, code as u32),
        };
        let (number, value) = (pending.number.to_le_bytes(), value.to_le_bytes());
        pushing.push_parts(pending.time, SEND_RESULT, &[&number, &[tag], &value]);
        if let Some(socket) = sockets::udp(fd) {
            sockets::announce(&mut pushing, fd, socket);
        }
    }
    set_errno(code);
}

/// Says so where what stands beside the packet has the kernel cut it into several.
fn look_for_segments(message: &MsgHdr) {
    /// Of a piece of control data before its content: length, level, kind.
    const HEAD: usize = 16;
    if message.control.is_null() {
        return;
    }
    // SAFETY: the program gave this memory for the call.
    let mut left = unsafe { core::slice::from_raw_parts(message.control, message.control_length) };
    while let Some((head, _)) = left.split_first_chunk::<HEAD>() {
        let word = |at: usize| {
            head.get(at..at + 4)
                .map_or([0; 4], |four| [four[0], four[1], four[2], four[3]])
        };
        let length = u32::from_ne_bytes(word(0)) as usize;
        if i32::from_ne_bytes(word(8)) == sys::SOL_UDP
            && i32::from_ne_bytes(word(12)) == sys::UDP_SEGMENT
        {
            sockets::past(PastId::SEGMENTS);
            return;
        }
        left = left
            .get(length.max(HEAD).next_multiple_of(8)..)
            .unwrap_or(&[]);
    }
}

fn vector(buffer: *const u8, length: usize) -> IoVec {
    IoVec {
        base: buffer.cast_mut(),
        length,
    }
}

hook! {
    fn send[real](fd: i32, buffer: *const u8, length: usize, flags: i32) -> isize {
        let iov = vector(buffer, length);
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let pending = before(fd, &raw const iov, 1, core::ptr::null(), 0);
            let result = real(fd, buffer, length, flags);
            after(fd, pending, result);
            result
        }
    }

    fn sendto[real](fd: i32, buffer: *const u8, length: usize, flags: i32, address: *const u8, address_length: u32) -> isize {
        let iov = vector(buffer, length);
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let pending = before(fd, &raw const iov, 1, address, address_length);
            let result = real(fd, buffer, length, flags, address, address_length);
            after(fd, pending, result);
            result
        }
    }

    fn write[real](fd: i32, buffer: *const u8, length: usize) -> isize {
        let iov = vector(buffer, length);
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if sockets::udp(fd).is_some() && !sockets::is_still_udp(fd) {
                return real(fd, buffer, length);
            }
            let pending = before(fd, &raw const iov, 1, core::ptr::null(), 0);
            let result = real(fd, buffer, length);
            after(fd, pending, result);
            result
        }
    }

    fn writev[real](fd: i32, iov: *const IoVec, count: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if sockets::udp(fd).is_some() && !sockets::is_still_udp(fd) {
                return real(fd, iov, count);
            }
            let pending = before(fd, iov, count.max(0) as usize, core::ptr::null(), 0);
            let result = real(fd, iov, count);
            after(fd, pending, result);
            result
        }
    }

    fn sendmsg[real](fd: i32, message: *const MsgHdr, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let pending = match message.as_ref() {
                Some(m) => {
                    if m.control_length > 0 && sockets::udp(fd).is_some() {
                        look_for_segments(m);
                    }
                    before(fd, m.iov, m.iov_count, m.name, m.name_length)
                }
                None => None,
            };
            let result = real(fd, message, flags);
            after(fd, pending, result);
            result
        }
    }

    fn sendmmsg[real](fd: i32, messages: *mut MMsgHdr, count: u32, flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if sockets::udp(fd).is_none() || messages.is_null() {
                return real(fd, messages, count, flags);
            }
            // The kernel takes no more at once.
            let count = count.min(1024);
            let mut sent = 0;
            for part in core::slice::from_raw_parts_mut(messages, count as usize).chunks_mut(PART) {
                let result = send_part(fd, part, |first, count| real(fd, first, count, flags));
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
}

/// So many packets of a `sendmmsg` are handed to the kernel at once: more would need more numbers
/// on a stack that may be small.
const PART: usize = 32;

/// # Safety
/// `messages` are the program's own, for the call that `send` makes.
unsafe fn send_part(
    fd: i32,
    messages: &mut [MMsgHdr],
    send: impl FnOnce(*mut MMsgHdr, u32) -> i32,
) -> i32 {
    let mut pending = [const { None }; PART];
    for (message, place) in messages.iter().zip(&mut pending) {
        let m = &message.header;
        look_for_segments(m);
        // SAFETY: the caller vouches for it.
        *place = unsafe { before(fd, m.iov, m.iov_count, m.name, m.name_length) };
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
