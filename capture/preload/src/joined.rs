//! Packets that the kernel has joined (`UDP_GRO`): it is asked how long each was, also where the
//! program does not ask.

use netreel_shared::call::PastId;

use crate::objects::real;
use crate::sys::{self, IoVec, MMsgHdr, MsgHdr, errno};
use crate::taken::{UNJOINED, after, room_for, taken_by};
use crate::{hook, points, sockets};

real! {
    pub RECVMSG = recvmsg(i32, *mut MsgHdr, i32) -> isize;
}

#[inline]
pub fn joins(fd: i32) -> bool {
    sockets::udp(fd).is_some_and(sockets::joins)
}

/// Pushes that the program may receive joined packets without the kernel's word on their lengths.
pub fn name_unasked(fd: i32) {
    if joins(fd) {
        sockets::past(PastId::SEGMENTS);
    }
}

/// Receives a message that has no room for the kernel's word on joined packets, with such room.
/// `None` where none can be joined.
///
/// # Safety
/// The message is the program's own, for a call that it makes.
#[inline]
pub unsafe fn ask(fd: i32, message: &mut MsgHdr, flags: i32) -> Option<isize> {
    if flags & UNJOINED != 0 || !joins(fd) {
        return None;
    }
    // SAFETY: the caller vouches for it.
    unsafe { ask_slowly(fd, message, flags) }
}

#[cold]
unsafe fn ask_slowly(fd: i32, message: &mut MsgHdr, flags: i32) -> Option<isize> {
    let receive = RECVMSG.get()?;
    let (mut address, mut control) = ([0u8; 28], [0u64; 32]);
    let mut ours = *message;
    (ours.control, ours.control_length) = (control.as_mut_ptr().cast(), 256);
    if ours.name.is_null() {
        (ours.name, ours.name_length) = (address.as_mut_ptr(), 28);
    }
    let room = ours.name_length;
    // SAFETY: the C library's function of this name; the caller vouches for the buffers.
    unsafe {
        let socket = sockets::udp(fd);
        const POINT: u32 = points::point("recvmsg");
        let result = hook::calls(POINT, || receive(fd, &raw mut ours, flags));
        if result < 0 && errno() == sys::ENOTSOCK {
            sockets::forget(fd);
            return None;
        }
        after(fd, &taken_by(socket, &ours, room, flags, result), result);
        if result >= 0 {
            if !message.name.is_null() {
                message.name_length = ours.name_length;
            }
            let untold = if ours.control_length > 0 {
                sys::MSG_CTRUNC
            } else {
                0
            };
            message.flags = ours.flags | untold;
            message.control_length = 0;
        }
        Some(result)
    }
}

/// The same for calls that have no message.
///
/// # Safety
/// The buffers may be written to; `address` leads to nothing or to as many bytes as `length` says.
#[inline]
pub unsafe fn ask_plainly(
    fd: i32,
    list: &[IoVec],
    flags: i32,
    (address, length): (*mut u8, *mut u32),
) -> Option<isize> {
    if list.is_empty() || !joins(fd) || !address.is_null() && length.is_null() {
        return None;
    }
    let mut message = MsgHdr {
        name: address,
        // SAFETY: the caller vouches for it.
        name_length: unsafe { room_for(length) },
        ..MsgHdr::new(list)
    };
    // SAFETY: as above.
    unsafe {
        let result = ask(fd, &mut message, flags)?;
        if result >= 0
            && !address.is_null()
            && let Some(length) = length.as_mut()
        {
            *length = message.name_length;
        }
        Some(result)
    }
}

/// For calls that have no address.
pub const NOWHERE: (*mut u8, *mut u32) = (core::ptr::null_mut(), core::ptr::null_mut());

/// How many messages of one `recvmmsg` are lent room for the kernel's word.
const ROOMS_MAX: usize = 64;

/// Receives by `receive` with such room for each of the first messages that has none, and takes it
/// back.
#[cold]
#[inline(never)] // only what needs it has so much on its stack
pub fn with_room(messages: &mut [MMsgHdr], receive: impl FnOnce(&mut [MMsgHdr]) -> i32) -> i32 {
    let mut rooms = [[0u64; 5]; ROOMS_MAX];
    let mut lent = [None; ROOMS_MAX];
    for ((message, room), lent) in messages.iter_mut().zip(&mut rooms).zip(&mut lent) {
        let header = &mut message.header;
        if header.control.is_null() {
            *lent = Some(header.control_length);
            (header.control, header.control_length) = (room.as_mut_ptr().cast(), size_of_val(room));
        }
    }
    let result = receive(messages);
    let got = usize::try_from(result).unwrap_or(0);
    for (index, (message, lent)) in messages.iter_mut().zip(lent).enumerate() {
        let Some(asked) = lent else { continue };
        let header = &mut message.header;
        header.control = core::ptr::null_mut();
        if index >= got {
            header.control_length = asked;
            continue;
        }
        // As the kernel says it of what it has no room for.
        if header.control_length > 0 {
            header.flags |= sys::MSG_CTRUNC;
        }
        header.control_length = 0;
    }
    result
}
