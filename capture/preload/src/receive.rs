//! Every way to receive on a UDP socket.

use netreel_shared::call::CallId;

use crate::hook::{self, hook};
use crate::joined::{self, NOWHERE, RECVMSG};
use crate::objects::{Real, real};
use crate::sys::{self, IoVec, MMsgHdr, MsgHdr, TimeSpec, errno};
use crate::taken::{Taken, UNJOINED, after, room_for, taken_by};
use crate::{counters, floor, points, push, reads, replay, sockets, vectors};

/// Pushes what a call with one buffer received. The address is where it lies, how long the kernel
/// says it is, and how many bytes of it there was room for.
///
/// # Safety
/// The address is null, or so many bytes are there.
#[inline]
unsafe fn after_one(
    fd: i32,
    socket: Option<u16>,
    list: &[IoVec],
    flags: i32,
    (address, address_length, address_room): (*const u8, *const u32, u32),
    result: isize,
) {
    // SAFETY: the caller vouches for it.
    let address = unsafe {
        let own = room_for(address_length).min(address_room).min(28);
        sys::slice(address, if result < 0 { 0 } else { own })
    };
    let taken = Taken {
        address,
        ..Taken::new(socket, list, flags)
    };
    after(fd, &taken, result);
}

/// Where a packet comes from, for a program that does not ask for it.
struct Source {
    /// What the descriptor was before the call.
    socket: Option<u16>,
    address: [u8; 28],
    length: u32,
}

real! {
    RECVFROM = recvfrom(i32, *mut u8, usize, i32, *mut u8, *mut u32) -> isize;
}

impl Source {
    fn unknown(fd: i32) -> Source {
        Source {
            socket: sockets::udp(fd),
            address: [0; 28],
            length: 0,
        }
    }

    /// Receives by `ask`, which calls the function that it is given and has the kernel name the
    /// source, where the socket has no one peer and `any`thing is asked for; by `plain` otherwise.
    #[inline]
    fn receive_by<F: Copy>(
        fd: i32,
        any: bool,
        function: &Real<F>,
        plain: impl FnOnce() -> isize,
        ask: impl FnOnce(F, &mut Source) -> isize,
    ) -> (isize, Source) {
        let mut source = Source::unknown(fd);
        let one_peer = |socket| sockets::has_peer(fd, socket);
        let named = any && !source.socket.is_none_or(one_peer);
        let Some(found) = function.get().filter(|_| named) else {
            return (plain(), source);
        };
        const POINT: u32 = points::point("recvfrom");
        let result = hook::calls(POINT, || ask(found, &mut source));
        if result < 0 {
            source.length = 0;
            if errno() == sys::ENOTSOCK {
                sockets::forget(fd);
                source.socket = None;
                return (plain(), source);
            }
        }
        (result, source)
    }

    /// Receives into one buffer.
    ///
    /// # Safety
    /// `buffer` has room for `length` bytes.
    #[inline]
    unsafe fn receive(
        fd: i32,
        buffer: *mut u8,
        length: usize,
        flags: i32,
        plain: impl FnOnce() -> isize,
    ) -> (isize, Source) {
        Source::receive_by(fd, length > 0, &RECVFROM, plain, |receive, source| {
            source.length = 28;
            let (address, length_at) = (source.address.as_mut_ptr(), &raw mut source.length);
            // SAFETY: the C library's function of this name; the caller vouches for the buffer.
            unsafe { receive(fd, buffer, length, flags, address, length_at) }
        })
    }

    /// Receives into several buffers.
    ///
    /// # Safety
    /// They may be written to.
    unsafe fn receive_parts(
        fd: i32,
        list: &[IoVec],
        plain: impl FnOnce() -> isize,
    ) -> (isize, Source) {
        Source::receive_by(fd, !list.is_empty(), &RECVMSG, plain, |receive, source| {
            let mut message = MsgHdr {
                name: source.address.as_mut_ptr(),
                name_length: 28,
                ..MsgHdr::new(list)
            };
            // SAFETY: the C library's function of this name; the caller vouches for the buffers.
            let result = unsafe { receive(fd, &raw mut message, 0) };
            source.length = message.name_length.min(28);
            result
        })
    }
}

/// Receives into one buffer by `plain`, for a program that may have a place for the address of the
/// source; where it has none, by another call that says more. `length` is what the program asks for, `room`
/// what it has: beyond that the C library ends the program.
///
/// # Safety
/// `buffer` has room for `length` bytes, or `plain` ends the program; `address` leads to nothing or to as
/// many bytes as `address_length` says.
#[inline]
unsafe fn receive_from(
    fd: i32,
    (buffer, length, room): (*mut u8, usize, usize),
    flags: i32,
    (address, address_length): (*mut u8, *mut u32),
    plain: impl FnOnce() -> isize,
) -> isize {
    let Some(socket) = sockets::udp(fd) else {
        return floor::in_order(fd, None, flags, plain);
    };
    // SAFETY: the caller vouches for it.
    unsafe {
        let list = [IoVec::new(buffer, length)];
        if length <= room {
            let from = (address, address_length);
            if replay::on() {
                return replay::receives(fd, socket, &list, flags, from);
            }
            if let Some(result) = joined::ask_plainly(fd, &list, flags, from) {
                return result;
            }
        }
        if address.is_null() {
            let (result, source) = Source::receive(fd, buffer, length, flags, plain);
            let asked = (source.address.as_ptr(), &raw const source.length, 28);
            after_one(fd, source.socket, &list, flags, asked, result);
            return result;
        }
        let asked = (
            address.cast_const(),
            address_length.cast_const(),
            room_for(address_length),
        );
        let result = plain();
        after_one(fd, Some(socket), &list, flags, asked, result);
        result
    }
}

/// Reads into one buffer by `plain`, as [`receive_from`] does: of any descriptor.
///
/// # Safety
/// As there.
#[inline]
unsafe fn read_bytes(
    fd: i32,
    (buffer, length, room): (*mut u8, usize, usize),
    plain: impl FnOnce() -> isize + Copy,
) -> isize {
    // SAFETY: the caller vouches for it.
    unsafe {
        if length <= room {
            if fd == 0
                && let Some(result) = reads::input(buffer, length, plain)
            {
                return result;
            }
            if replay::on()
                && let Some(result) = counters::replayed(fd, &[IoVec::new(buffer, length)])
            {
                return result;
            }
        }
        let result = receive_from(fd, (buffer, length, room), 0, NOWHERE, plain);
        reads::after_read(fd, buffer, result)
    }
}

/// Reads into several buffers by `plain`; by another call where that says more and `flags`, those of
/// `preadv2`, ask for nothing special.
///
/// # Safety
/// They may be written to.
#[inline]
unsafe fn read_parts(fd: i32, list: &[IoVec], flags: i32, plain: impl FnOnce() -> isize) -> isize {
    let nobody = Source::unknown(fd);
    let plain = || match nobody.socket {
        Some(_) => plain(),
        None => floor::in_order(fd, None, 0, plain),
    };
    // SAFETY: the caller vouches for it.
    unsafe {
        if replay::on() {
            if let Some(result) = counters::replayed(fd, list) {
                return result;
            }
            if let Some(socket) = nobody.socket
                && sockets::is_still_udp(fd)
            {
                return replay::receives(fd, socket, list, 0, NOWHERE);
            }
        }
        if flags == 0
            && let Some(result) = joined::ask_plainly(fd, list, 0, NOWHERE)
        {
            return result;
        }
        let (result, source) = if flags == 0 {
            Source::receive_parts(fd, list, plain)
        } else {
            joined::name_unasked(fd);
            (plain(), nobody)
        };
        let taken = Taken {
            address: &source.address[..source.length as usize],
            ..Taken::new(source.socket, list, 0)
        };
        after(fd, &taken, result);
        reads::after_read_parts(fd, list, result)
    }
}

/// Reads at an offset, which a socket has not; -1 is where it goes on.
///
/// # Safety
/// As [`read_parts`].
unsafe fn read_at(
    fd: i32,
    list: &[IoVec],
    offset: i64,
    flags: i32,
    plain: impl FnOnce() -> isize,
) -> isize {
    // SAFETY: the caller vouches for it.
    unsafe {
        if offset == -1 {
            return read_parts(fd, list, flags, plain);
        }
        reads::after_read_parts(fd, list, plain())
    }
}

/// How many messages of one `recvmmsg` have their sources looked at.
const SOURCES_MAX: usize = 256;

/// Receives by `receive` with a place for the source of each of the first `N` messages that has
/// none, shows them to `tell` with the room that each has for its source, and takes the places
/// back.
///
/// # Safety
/// `messages` are the program's own, for the call that `receive` makes.
#[inline(never)] // only what needs so many has so much on its stack
unsafe fn with_sources<const N: usize>(
    messages: &mut [MMsgHdr],
    receive: impl FnOnce(*mut MMsgHdr) -> i32,
    tell: impl FnOnce(&[MMsgHdr], &[u32], i32),
) -> i32 {
    let mut addresses = [[0u8; 28]; N];
    let (mut rooms, mut lent) = ([28u32; N], [None; N]);
    let places = addresses.iter_mut().zip(&mut rooms).zip(&mut lent);
    for (message, ((address, room), lent)) in messages.iter_mut().zip(places) {
        let header = &mut message.header;
        if header.name.is_null() {
            *lent = Some(header.name_length);
            (header.name, header.name_length) = (address.as_mut_ptr(), 28);
        } else {
            *room = header.name_length;
        }
    }
    let result = receive(messages.as_mut_ptr());
    tell(messages, &rooms, result);
    for (message, lent) in messages.iter_mut().zip(lent) {
        if let Some(asked) = lent {
            message.header.name = core::ptr::null_mut();
            message.header.name_length = asked;
        }
    }
    result
}

/// Pushes the result of a `recvmmsg`; `rooms` is how long an address each message has room for.
///
/// # Safety
/// As [`taken_by`], for each of the messages.
unsafe fn after_many(
    fd: i32,
    socket: Option<u16>,
    messages: &[MMsgHdr],
    rooms: &[u32],
    flags: i32,
    result: i32,
) {
    let Ok(got) = usize::try_from(result) else {
        return after(fd, &Taken::new(socket, &[], flags), -1);
    };
    if let Some(socket) = socket.filter(|_| got > 0) {
        push::called(CallId::BATCH, result, &[&socket.to_le_bytes()]);
    }
    for (index, message) in messages.iter().take(got).enumerate() {
        let room = rooms.get(index).copied().unwrap_or(0);
        // SAFETY: the caller vouches for it.
        let taken = unsafe { taken_by(socket, &message.header, room, flags, 0) };
        after(fd, &taken, message.length as isize);
    }
}

hook! {
    fn recv[goes_on](fd: i32, buffer: *mut u8, length: usize, flags: i32) -> isize {
        receive_from(fd, (buffer, length, usize::MAX), flags, NOWHERE, goes_on)
    }

    fn __recv_chk[goes_on](fd: i32, buffer: *mut u8, length: usize, room: usize, flags: i32) -> isize {
        receive_from(fd, (buffer, length, room), flags, NOWHERE, goes_on)
    }

    fn recvfrom[goes_on](fd: i32, buffer: *mut u8, length: usize, flags: i32, address: *mut u8, address_length: *mut u32) -> isize {
        let from = (address, address_length);
        receive_from(fd, (buffer, length, usize::MAX), flags, from, goes_on)
    }

    fn __recvfrom_chk[goes_on](fd: i32, buffer: *mut u8, length: usize, room: usize, flags: i32, address: *mut u8, address_length: *mut u32) -> isize {
        let from = (address, address_length);
        receive_from(fd, (buffer, length, room), flags, from, goes_on)
    }

    fn read | __read[goes_on](fd: i32, buffer: *mut u8, length: usize) -> isize {
        read_bytes(fd, (buffer, length, usize::MAX), goes_on)
    }

    fn __read_chk[goes_on](fd: i32, buffer: *mut u8, length: usize, room: usize) -> isize {
        read_bytes(fd, (buffer, length, room), goes_on)
    }

    fn readv[goes_on](fd: i32, iov: *const IoVec, count: i32) -> isize {
        read_parts(fd, sys::slice(iov, count), 0, goes_on)
    }

    fn preadv2 | preadv64v2[goes_on](fd: i32, iov: *const IoVec, count: i32, offset: i64, flags: i32) -> isize {
        read_at(fd, sys::slice(iov, count), offset, flags, goes_on)
    }

    fn recvmsg[real](fd: i32, message: *mut MsgHdr, flags: i32) -> isize {
        let Some(asked) = message.as_mut() else {
            return real(fd, message, flags);
        };
        if replay::on() && let Some(socket) = sockets::udp(fd) {
            let name = (asked.name, &raw mut asked.name_length);
            let result = replay::receives(fd, socket, asked.list(), flags, name);
            if result >= 0 {
                (asked.flags, asked.control_length) = (0, 0);
            }
            return result;
        }
        if asked.control.is_null() && let Some(result) = joined::ask(fd, asked, flags) {
            return result;
        }
        let socket = sockets::udp(fd);
        let many = socket.is_some_and(|socket| !sockets::has_peer(fd, socket));
        if !many || !asked.name.is_null() {
            let room = asked.name_length;
            let receive = || real(fd, message, flags);
            let result = match socket {
                Some(_) => receive(),
                None => floor::in_order(fd, None, flags, receive),
            };
            if socket.is_none() && result >= 0 {
                came_beside(asked);
            }
            after(fd, &taken_by(socket, asked, room, flags, result), result);
            return result;
        }
        let mut address = [0u8; 28];
        let mut ours = *asked;
        ours.name = address.as_mut_ptr();
        ours.name_length = 28;
        let result = real(fd, &raw mut ours, flags);
        asked.control_length = ours.control_length;
        asked.flags = ours.flags;
        after(fd, &taken_by(socket, &ours, 28, flags, result), result);
        result
    }

    fn recvmmsg[real](fd: i32, messages: *mut MMsgHdr, count: u32, flags: i32, timeout: *mut TimeSpec) -> i32 {
        if messages.is_null() {
            return real(fd, messages, count, flags, timeout);
        }
        let list = core::slice::from_raw_parts_mut(messages, count as usize);
        let socket = sockets::udp(fd);
        if replay::on() && let Some(socket) = socket {
            return replay::receives_many(fd, socket, list, flags);
        }
        let many = socket.is_some_and(|socket| !sockets::has_peer(fd, socket));
        let receive = |messages| real(fd, messages, count, flags, timeout);
        let receive_list = |list: &mut [MMsgHdr]| {
            if !many {
                let result = receive(list.as_mut_ptr());
                if socket.is_none() {
                    let got = usize::try_from(result).unwrap_or(0);
                    list.iter().take(got).for_each(|message| came_beside(&message.header));
                }
                // All come from the one peer.
                after_many(fd, socket, list, &[], flags, result);
                return result;
            }
            let tell = |list: &[MMsgHdr], rooms: &[u32], result| after_many(fd, socket, list, rooms, flags, result);
            match list.len() {
                0..=16 => with_sources::<16>(list, receive, tell),
                17..=64 => with_sources::<64>(list, receive, tell),
                _ => with_sources::<SOURCES_MAX>(list, receive, tell),
            }
        };
        if flags & UNJOINED == 0 && joined::joins(fd) {
            joined::with_room(list, receive_list)
        } else {
            receive_list(list)
        }
    }
}

/// Forgets what was known of the numbers that descriptors beside a message have.
///
/// # Safety
/// The message was filled by the kernel.
#[cold]
unsafe fn came_beside(message: &MsgHdr) {
    // SAFETY: the caller vouches for it.
    unsafe { vectors::descriptors(message.control, message.control_length, sockets::arrived) };
}
