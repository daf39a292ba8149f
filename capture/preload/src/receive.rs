//! Every way to receive on a UDP socket.

use crate::call::CallId;
use crate::joined::{self, NOWHERE};
use crate::push::{Pushing, now, pushing};
use crate::sockets::{self, Endpoint};
use crate::sys::{self, IoVec, MMsgHdr, MsgHdr, Real, TimeSpec, errno, hook, set_errno};
use crate::vectors::{self, Vectors};

const RECEIVED: u8 = 5;
const POLL_EMPTY: u8 = 6;
const RECEIVE_FAILED: u8 = 7;

/// What the program gets, wherever it gets it.
pub struct Taken {
    /// What the descriptor was before the call: another thread may close it meanwhile.
    socket: Option<u16>,
    iov: *const IoVec,
    count: usize,
    address: *const u8,
    /// How long the address is; 0 where the program did not ask for it.
    address_length: u32,
    flags: i32,
    /// How long each packet is that the kernel has joined with others; 0 for a single one.
    size: usize,
}

/// Says what came of a receive. Leaves `errno` as it is.
///
/// # Safety
/// `taken` describes memory that the program gave for the call, and the call has filled.
pub unsafe fn after(fd: i32, taken: &Taken, result: isize) {
    let code = errno();
    // SAFETY: the caller vouches for it.
    unsafe { tell(fd, taken, result, code) };
    set_errno(code);
}

unsafe fn tell(fd: i32, taken: &Taken, result: isize, code: i32) -> Option<()> {
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
            pushing.push_parts(time, POLL_EMPTY, &[&number]);
        } else {
            pushing.push_parts(now(), RECEIVE_FAILED, &[&number, &code.to_le_bytes()]);
        }
        return Some(());
    };
    // SAFETY: the caller vouches for it.
    let from = unsafe { Endpoint::from_pointer(taken.address, taken.address_length) };
    let from = from.unwrap_or_else(|| sockets::peer(fd, socket));
    // SAFETY: as above.
    let mut vectors = unsafe { Vectors::new(taken.iov, taken.count) };
    // With MSG_TRUNC the result is the packet's length, which may be more than was stored.
    left = left.min(vectors.length());
    if taken.flags & sys::MSG_PEEK != 0 {
        let result = result as i32;
        pushing.called(CallId::PEEK, result, &[&number]);
        return Some(());
    }
    let time = now();
    if taken.size == 0 || left <= taken.size {
        // SAFETY: as above.
        unsafe { received(&mut pushing, time, socket, &from, &mut vectors, left) };
        return Some(());
    }
    pushing.joined(time, socket, left.div_ceil(taken.size), taken.size);
    while left > 0 {
        let part = left.min(taken.size);
        // SAFETY: as above.
        unsafe { received(&mut pushing, time, socket, &from, &mut vectors, part) };
        left -= part;
    }
    Some(())
}

/// Pushes that the next `length` bytes of `vectors` were received.
///
/// # Safety
/// There are so many.
#[inline]
unsafe fn received(
    pushing: &mut Pushing,
    time: u64,
    socket: u16,
    from: &Endpoint,
    vectors: &mut Vectors<'_>,
    length: usize,
) {
    let (number, head) = (socket.to_le_bytes(), 2 + from.bytes().len());
    pushing.push(time, RECEIVED, head + length, |body| {
        // SAFETY: the room is the sum of what is copied, which the caller vouches for.
        unsafe {
            core::ptr::copy_nonoverlapping(number.as_ptr(), body, 2);
            core::ptr::copy_nonoverlapping(from.bytes().as_ptr(), body.add(2), head - 2);
            vectors.take(body.add(head), length);
        }
    });
}

/// How long an address is that the program has room for, before a call.
///
/// # Safety
/// `length` is null or leads to a length.
pub unsafe fn room_for(length: *const u32) -> u32 {
    // SAFETY: the caller vouches for it.
    unsafe { length.as_ref() }.copied().unwrap_or(0)
}

/// `address_room`: how many bytes of an address there was room for; the kernel says how many it
/// would have written.
///
/// # Safety
/// As [`after`], for one buffer.
#[allow(clippy::too_many_arguments)] // as many as the call has
unsafe fn after_one(
    fd: i32,
    socket: Option<u16>,
    buffer: *mut u8,
    room: usize,
    flags: i32,
    address: *const u8,
    address_length: *const u32,
    address_room: u32,
    result: isize,
) {
    let iov = IoVec {
        base: buffer,
        length: room,
    };
    // SAFETY: the caller vouches for it.
    unsafe {
        let known = !address.is_null() && !address_length.is_null();
        let taken = Taken {
            socket,
            iov: &raw const iov,
            count: 1,
            address,
            address_length: if known && result >= 0 {
                (*address_length).min(address_room).min(28)
            } else {
                0
            },
            flags,
            size: 0,
        };
        after(fd, &taken, result);
    }
}

/// Where a packet comes from, for a program that does not ask for it.
struct Source {
    /// What the descriptor was before the call.
    socket: Option<u16>,
    address: [u8; 28],
    length: u32,
}

static RECVFROM: Real = Real::new(c"recvfrom");
static RECVMSG: Real = Real::new(c"recvmsg");

impl Source {
    /// Receives with the kernel's word on the source where the socket has no one peer; by `plain`
    /// otherwise.
    ///
    /// # Safety
    /// `buffer` has room for `length` bytes.
    unsafe fn receive(
        fd: i32,
        buffer: *mut u8,
        length: usize,
        flags: i32,
        plain: impl FnOnce() -> isize,
    ) -> (isize, Source) {
        let mut source = Source {
            socket: sockets::udp(fd),
            address: [0; 28],
            length: 0,
        };
        let found = RECVFROM.get();
        let many = source
            .socket
            .is_some_and(|socket| !sockets::has_peer(fd, socket));
        if !many || found.is_null() || length == 0 {
            return (plain(), source);
        }
        source.length = 28;
        let (address, length_at) = (source.address.as_mut_ptr(), &raw mut source.length);
        // SAFETY: the C library's function of this name; the caller vouches for the buffer.
        let result = unsafe {
            let receive: unsafe extern "C" fn(
                i32,
                *mut u8,
                usize,
                i32,
                *mut u8,
                *mut u32,
            ) -> isize = core::mem::transmute(found);
            receive(fd, buffer, length, flags, address, length_at)
        };
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

    /// The same for several buffers.
    ///
    /// # Safety
    /// `iov` leads to `count` buffers.
    unsafe fn receive_parts(
        fd: i32,
        iov: *const IoVec,
        count: i32,
        plain: impl FnOnce() -> isize,
    ) -> (isize, Source) {
        let mut source = Source {
            socket: sockets::udp(fd),
            address: [0; 28],
            length: 0,
        };
        let found = RECVMSG.get();
        let many = source
            .socket
            .is_some_and(|socket| !sockets::has_peer(fd, socket));
        let count = usize::try_from(count).unwrap_or(0);
        if !many || found.is_null() || count == 0 {
            return (plain(), source);
        }
        let mut message = MsgHdr {
            name: source.address.as_mut_ptr(),
            name_length: 28,
            iov: iov.cast_mut(),
            iov_count: count,
            control: core::ptr::null_mut(),
            control_length: 0,
            flags: 0,
        };
        // SAFETY: the C library's function of this name; the caller vouches for the buffers.
        let result = unsafe {
            let receive: unsafe extern "C" fn(i32, *mut MsgHdr, i32) -> isize =
                core::mem::transmute(found);
            receive(fd, &raw mut message, 0)
        };
        if result >= 0 {
            source.length = message.name_length.min(28);
        } else if errno() == sys::ENOTSOCK {
            sockets::forget(fd);
            source.socket = None;
            return (plain(), source);
        }
        (result, source)
    }

    /// # Safety
    /// As [`after`], for one buffer.
    unsafe fn tell(&self, fd: i32, buffer: *mut u8, length: usize, flags: i32, result: isize) {
        let (address, length_at) = (self.address.as_ptr(), &raw const self.length);
        // SAFETY: the caller vouches for it.
        unsafe {
            after_one(
                fd,
                self.socket,
                buffer,
                length,
                flags,
                address,
                length_at,
                28,
                result,
            )
        };
    }
}

/// Reads into several buffers by `plain`; by another call where that says more and `flags`, those of
/// `preadv2`, ask for nothing special.
///
/// # Safety
/// `iov` leads to `count` buffers.
#[inline]
unsafe fn read_parts(
    fd: i32,
    iov: *const IoVec,
    count: i32,
    flags: i32,
    plain: impl FnOnce() -> isize,
) -> isize {
    let nobody = Source {
        socket: sockets::udp(fd),
        address: [0; 28],
        length: 0,
    };
    // SAFETY: the caller vouches for it.
    unsafe {
        if flags == 0
            && let Some(result) = joined::ask_plainly(fd, iov, count, 0, NOWHERE)
        {
            return result;
        }
        let (result, source) = if flags == 0 {
            Source::receive_parts(fd, iov, count, plain)
        } else {
            joined::name_unasked(fd);
            (plain(), nobody)
        };
        let taken = Taken {
            socket: source.socket,
            iov,
            count: count.max(0) as usize,
            address: source.address.as_ptr(),
            address_length: source.length,
            flags: 0,
            size: 0,
        };
        after(fd, &taken, result);
        crate::randomness::after_read_parts(fd, iov, count, result);
        result
    }
}

/// Reads at an offset, which a socket has not; -1 is where it goes on.
///
/// # Safety
/// As [`read_parts`].
unsafe fn read_at(
    fd: i32,
    iov: *const IoVec,
    count: i32,
    offset: i64,
    flags: i32,
    plain: impl FnOnce() -> isize,
) -> isize {
    // SAFETY: the caller vouches for it.
    unsafe {
        if offset == -1 {
            return read_parts(fd, iov, count, flags, plain);
        }
        let result = plain();
        crate::randomness::after_read_parts(fd, iov, count, result);
        result
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
    let (mut rooms, mut lent) = ([28u32; N], [false; N]);
    let mut asked = [0u32; N];
    let places = addresses.iter_mut().zip(&mut rooms).zip(&mut lent);
    for ((message, ((address, room), lent)), asked) in
        messages.iter_mut().zip(places).zip(&mut asked)
    {
        let header = &mut message.header;
        *asked = header.name_length;
        if header.name.is_null() {
            *lent = true;
            (header.name, header.name_length) = (address.as_mut_ptr(), 28);
        } else {
            *room = header.name_length;
        }
    }
    let result = receive(messages.as_mut_ptr());
    tell(messages, &rooms, result);
    for (message, (lent, asked)) in messages.iter_mut().zip(lent.into_iter().zip(asked)) {
        if lent {
            message.header.name = core::ptr::null_mut();
            message.header.name_length = asked;
        }
    }
    result
}

/// Says what came of a `recvmmsg`; `rooms` is how long an address each message has room for.
///
/// # Safety
/// As [`after`], for each of the messages.
unsafe fn after_many(
    fd: i32,
    socket: Option<u16>,
    messages: &[MMsgHdr],
    rooms: &[u32],
    flags: i32,
    result: i32,
) {
    let none = Taken {
        socket,
        iov: core::ptr::null(),
        count: 0,
        address: core::ptr::null(),
        address_length: 0,
        flags,
        size: 0,
    };
    let Ok(got) = usize::try_from(result) else {
        // SAFETY: there is no memory to vouch for.
        unsafe { after(fd, &none, -1) };
        return;
    };
    for (index, message) in messages.iter().take(got).enumerate() {
        let room = rooms.get(index).copied().unwrap_or(0);
        // SAFETY: the caller vouches for it.
        unsafe {
            let taken = taken_by(socket, &message.header, room, flags, 0);
            after(fd, &taken, message.length as isize);
        }
    }
}

hook! {
    fn recv[real](fd: i32, buffer: *mut u8, length: usize, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if let Some(result) = joined::ask_for_bytes(fd, buffer, length, flags) {
                return result;
            }
            let (result, source) = Source::receive(fd, buffer, length, flags, || real(fd, buffer, length, flags));
            source.tell(fd, buffer, length, flags, result);
            result
        }
    }

    fn __recv_chk[real](fd: i32, buffer: *mut u8, length: usize, room: usize, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if length <= room && let Some(result) = joined::ask_for_bytes(fd, buffer, length, flags) {
                return result;
            }
            let (result, source) = Source::receive(fd, buffer, length, flags, || real(fd, buffer, length, room, flags));
            source.tell(fd, buffer, length, flags, result);
            result
        }
    }

    fn recvfrom[real](fd: i32, buffer: *mut u8, length: usize, flags: i32, address: *mut u8, address_length: *mut u32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let iov = IoVec { base: buffer, length };
            if let Some(result) = joined::ask_plainly(fd, &raw const iov, 1, flags, (address, address_length)) {
                return result;
            }
            if address.is_null() {
                let (result, source) = Source::receive(fd, buffer, length, flags, || real(fd, buffer, length, flags, address, address_length));
                source.tell(fd, buffer, length, flags, result);
                return result;
            }
            let address_room = room_for(address_length);
            let socket = sockets::udp(fd);
            let result = real(fd, buffer, length, flags, address, address_length);
            after_one(fd, socket, buffer, length, flags, address, address_length, address_room, result);
            result
        }
    }

    fn __recvfrom_chk[real](fd: i32, buffer: *mut u8, length: usize, room: usize, flags: i32, address: *mut u8, address_length: *mut u32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let iov = IoVec { base: buffer, length };
            if length <= room && let Some(result) = joined::ask_plainly(fd, &raw const iov, 1, flags, (address, address_length)) {
                return result;
            }
            if address.is_null() {
                let (result, source) = Source::receive(fd, buffer, length, flags, || real(fd, buffer, length, room, flags, address, address_length));
                source.tell(fd, buffer, length, flags, result);
                return result;
            }
            let address_room = room_for(address_length);
            let socket = sockets::udp(fd);
            let result = real(fd, buffer, length, room, flags, address, address_length);
            after_one(fd, socket, buffer, length, flags, address, address_length, address_room, result);
            result
        }
    }

    fn read[real](fd: i32, buffer: *mut u8, length: usize) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if let Some(result) = joined::ask_for_bytes(fd, buffer, length, 0) {
                return result;
            }
            let (result, source) = Source::receive(fd, buffer, length, 0, || real(fd, buffer, length));
            source.tell(fd, buffer, length, 0, result);
            crate::randomness::after_read(fd, buffer, result);
            result
        }
    }

    fn __read_chk[real](fd: i32, buffer: *mut u8, length: usize, room: usize) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if length <= room && let Some(result) = joined::ask_for_bytes(fd, buffer, length, 0) {
                return result;
            }
            let (result, source) = Source::receive(fd, buffer, length, 0, || real(fd, buffer, length, room));
            source.tell(fd, buffer, length, 0, result);
            crate::randomness::after_read(fd, buffer, result);
            result
        }
    }

    fn readv[real](fd: i32, iov: *const IoVec, count: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe { read_parts(fd, iov, count, 0, || real(fd, iov, count)) }
    }

    fn preadv2[real](fd: i32, iov: *const IoVec, count: i32, offset: i64, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let plain = || real(fd, iov, count, offset, flags);
            read_at(fd, iov, count, offset, flags, plain)
        }
    }

    fn preadv64v2[real](fd: i32, iov: *const IoVec, count: i32, offset: i64, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let plain = || real(fd, iov, count, offset, flags);
            read_at(fd, iov, count, offset, flags, plain)
        }
    }

    fn recvmsg[real](fd: i32, message: *mut MsgHdr, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let Some(asked) = message.as_mut() else {
                return real(fd, message, flags);
            };
            if asked.control.is_null() && let Some(result) = joined::ask(fd, asked, flags) {
                return result;
            }
            let socket = sockets::udp(fd);
            let many = socket.is_some_and(|socket| !sockets::has_peer(fd, socket));
            if !many || !asked.name.is_null() {
                let room = asked.name_length;
                let result = real(fd, message, flags);
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
    }

    fn recvmmsg[real](fd: i32, messages: *mut MMsgHdr, count: u32, flags: i32, timeout: *mut TimeSpec) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if messages.is_null() {
                return real(fd, messages, count, flags, timeout);
            }
            let list = core::slice::from_raw_parts_mut(messages, count as usize);
            let socket = sockets::udp(fd);
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
            if flags & joined::UNJOINED == 0 && joined::joins(fd) {
                joined::with_room(list, receive_list)
            } else {
                receive_list(list)
            }
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

/// What a call on `socket` that came to `result` put into a message.
///
/// # Safety
/// As [`after`].
pub unsafe fn taken_by(
    socket: Option<u16>,
    message: &MsgHdr,
    room: u32,
    flags: i32,
    result: isize,
) -> Taken {
    let joins = || socket.is_some_and(sockets::joins);
    let size = if result >= 0 && flags & joined::UNJOINED == 0 && joins() {
        // SAFETY: the caller vouches for it.
        unsafe { joined::size_in(message) }
    } else {
        0
    };
    Taken {
        socket,
        iov: message.iov,
        count: message.iov_count,
        address: message.name,
        address_length: message.name_length.min(room).min(28),
        flags,
        size,
    }
}
