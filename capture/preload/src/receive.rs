//! Every way to receive on a UDP socket.

use core::ffi::c_void;

use crate::call::CallId;
use crate::push::{now, pushing};
use crate::sockets::{self, Endpoint};
use crate::sys::{self, IoVec, MMsgHdr, MsgHdr, Real, TimeSpec, errno, hook, set_errno};

const RECEIVED: u8 = 5;
const POLL_EMPTY: u8 = 6;
const RECEIVE_FAILED: u8 = 7;

/// What the program gets, wherever it gets it.
struct Taken {
    iov: *const IoVec,
    count: usize,
    address: *const u8,
    /// How long the address is; 0 where the program did not ask for it.
    address_length: u32,
    flags: i32,
}

/// Says what came of a receive. Leaves `errno` as it is.
///
/// # Safety
/// `taken` describes memory that the program gave for the call, and the call has filled.
unsafe fn after(fd: i32, taken: &Taken, result: isize) {
    let code = errno();
    // SAFETY: the caller vouches for it.
    unsafe { tell(fd, taken, result, code) };
    set_errno(code);
}

unsafe fn tell(fd: i32, taken: &Taken, result: isize, code: i32) -> Option<()> {
    let socket = sockets::udp(fd)?;
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
    let vectors: &[IoVec] = if taken.iov.is_null() {
        &[]
    } else {
        // SAFETY: the caller vouches for it.
        unsafe { core::slice::from_raw_parts(taken.iov, taken.count) }
    };
    // With MSG_TRUNC the result is the packet's length, which may be more than was stored.
    let room: usize = vectors.iter().map(|vector| vector.length).sum();
    left = left.min(room);
    let (head, peeked) = (2 + from.bytes().len(), taken.flags & sys::MSG_PEEK != 0);
    let fill = |body: *mut u8, mut left: usize| {
        // SAFETY: the room is the sum of what is copied, which the caller vouches for.
        unsafe {
            let mut at = body;
            for vector in vectors {
                let part = vector.length.min(left);
                if part > 0 {
                    core::ptr::copy_nonoverlapping(vector.base, at, part);
                    at = at.add(part);
                }
                left -= part;
            }
        }
    };
    if peeked {
        let result = result as i32;
        pushing.called(CallId::PEEK, result, &[&number]);
        return Some(());
    }
    pushing.push(now(), RECEIVED, head + left, |body| {
        // SAFETY: as above.
        unsafe {
            core::ptr::copy_nonoverlapping(number.as_ptr(), body, 2);
            core::ptr::copy_nonoverlapping(from.bytes().as_ptr(), body.add(2), head - 2);
            fill(body.add(head), left);
        }
    });
    Some(())
}

/// How long an address is that the program has room for, before a call.
///
/// # Safety
/// `length` is null or leads to a length.
unsafe fn room_for(length: *const u32) -> u32 {
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
            iov: &raw const iov,
            count: 1,
            address,
            address_length: if known && result >= 0 {
                (*address_length).min(address_room).min(28)
            } else {
                0
            },
            flags,
        };
        after(fd, &taken, result);
    }
}

/// Where a packet comes from, for a program that does not ask for it.
struct Source {
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
            address: [0; 28],
            length: 0,
        };
        let found = RECVFROM.get();
        let many = sockets::udp(fd).is_some_and(|socket| !sockets::has_peer(fd, socket));
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
            address: [0; 28],
            length: 0,
        };
        let found = RECVMSG.get();
        let many = sockets::udp(fd).is_some_and(|socket| !sockets::has_peer(fd, socket));
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
            return (plain(), source);
        }
        (result, source)
    }

    /// # Safety
    /// As [`after`], for one buffer.
    unsafe fn tell(&self, fd: i32, buffer: *mut u8, length: usize, flags: i32, result: isize) {
        let (address, length_at) = (self.address.as_ptr(), &raw const self.length);
        // SAFETY: the caller vouches for it.
        unsafe { after_one(fd, buffer, length, flags, address, length_at, 28, result) };
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
unsafe fn after_many(fd: i32, messages: &[MMsgHdr], rooms: &[u32], flags: i32, result: i32) {
    let none = Taken {
        iov: core::ptr::null(),
        count: 0,
        address: core::ptr::null(),
        address_length: 0,
        flags,
    };
    let Ok(got) = usize::try_from(result) else {
        // SAFETY: there is no memory to vouch for.
        unsafe { after(fd, &none, -1) };
        return;
    };
    for (index, message) in messages.iter().take(got).enumerate() {
        let taken = taken_by(
            &message.header,
            rooms.get(index).copied().unwrap_or(0),
            flags,
        );
        // SAFETY: the caller vouches for it.
        unsafe { after(fd, &taken, message.length as isize) };
    }
}

hook! {
    fn recv[real](fd: i32, buffer: *mut u8, length: usize, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let (result, source) = Source::receive(fd, buffer, length, flags, || real(fd, buffer, length, flags));
            source.tell(fd, buffer, length, flags, result);
            result
        }
    }

    fn __recv_chk[real](fd: i32, buffer: *mut u8, length: usize, room: usize, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let (result, source) = Source::receive(fd, buffer, length, flags, || real(fd, buffer, length, room, flags));
            source.tell(fd, buffer, length, flags, result);
            result
        }
    }

    fn recvfrom[real](fd: i32, buffer: *mut u8, length: usize, flags: i32, address: *mut u8, address_length: *mut u32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if address.is_null() {
                let (result, source) = Source::receive(fd, buffer, length, flags, || real(fd, buffer, length, flags, address, address_length));
                source.tell(fd, buffer, length, flags, result);
                return result;
            }
            let address_room = room_for(address_length);
            let result = real(fd, buffer, length, flags, address, address_length);
            after_one(fd, buffer, length, flags, address, address_length, address_room, result);
            result
        }
    }

    fn __recvfrom_chk[real](fd: i32, buffer: *mut u8, length: usize, room: usize, flags: i32, address: *mut u8, address_length: *mut u32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            if address.is_null() {
                let (result, source) = Source::receive(fd, buffer, length, flags, || real(fd, buffer, length, room, flags, address, address_length));
                source.tell(fd, buffer, length, flags, result);
                return result;
            }
            let address_room = room_for(address_length);
            let result = real(fd, buffer, length, room, flags, address, address_length);
            after_one(fd, buffer, length, flags, address, address_length, address_room, result);
            result
        }
    }

    fn read[real](fd: i32, buffer: *mut u8, length: usize) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let (result, source) = Source::receive(fd, buffer, length, 0, || real(fd, buffer, length));
            source.tell(fd, buffer, length, 0, result);
            crate::randomness::after_read(fd, buffer, result);
            result
        }
    }

    fn __read_chk[real](fd: i32, buffer: *mut u8, length: usize, room: usize) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let (result, source) = Source::receive(fd, buffer, length, 0, || real(fd, buffer, length, room));
            source.tell(fd, buffer, length, 0, result);
            crate::randomness::after_read(fd, buffer, result);
            result
        }
    }

    fn readv[real](fd: i32, iov: *const IoVec, count: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let (result, source) = Source::receive_parts(fd, iov, count, || real(fd, iov, count));
            let taken = Taken {
                iov,
                count: count.max(0) as usize,
                address: source.address.as_ptr(),
                address_length: source.length,
                flags: 0,
            };
            after(fd, &taken, result);
            result
        }
    }

    fn recvmsg[real](fd: i32, message: *mut MsgHdr, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let Some(asked) = message.as_mut() else {
                return real(fd, message, flags);
            };
            let many = sockets::udp(fd).is_some_and(|socket| !sockets::has_peer(fd, socket));
            if !many || !asked.name.is_null() {
                let room = asked.name_length;
                let result = real(fd, message, flags);
                after(fd, &taken_by(asked, room, flags), result);
                return result;
            }
            let mut address = [0u8; 28];
            let mut ours = *asked;
            ours.name = address.as_mut_ptr();
            ours.name_length = 28;
            let result = real(fd, &raw mut ours, flags);
            asked.control_length = ours.control_length;
            asked.flags = ours.flags;
            after(fd, &taken_by(&ours, 28, flags), result);
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
            let many = sockets::udp(fd).is_some_and(|socket| !sockets::has_peer(fd, socket));
            let receive = |messages| real(fd, messages, count, flags, timeout);
            if !many {
                let result = receive(messages);
                // All come from the one peer.
                after_many(fd, list, &[], flags, result);
                return result;
            }
            let tell = |list: &[MMsgHdr], rooms: &[u32], result| after_many(fd, list, rooms, flags, result);
            match list.len() {
                0..=16 => with_sources::<16>(list, receive, tell),
                17..=64 => with_sources::<64>(list, receive, tell),
                _ => with_sources::<SOURCES_MAX>(list, receive, tell),
            }
        }
    }

    fn syscall[real](number: isize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
        use crate::sys::nr;
        use crate::{clocks, descriptors, processes, randomness, send, waits};
        // SAFETY: each is the C library's function for that system call.
        unsafe {
            let fd = a as i32;
            match usize::try_from(number).unwrap_or(usize::MAX) {
                nr::SENDTO => send::sendto(fd, b as *const u8, c, d as i32, e as *const u8, f as u32),
                nr::SENDMSG => send::sendmsg(fd, b as *const MsgHdr, c as i32),
                nr::SENDMMSG => send::sendmmsg(fd, b as *mut MMsgHdr, c as u32, d as i32) as isize,
                nr::WRITE => send::write(fd, b as *const u8, c),
                nr::WRITEV => send::writev(fd, b as *const IoVec, c as i32),
                nr::RECVFROM => recvfrom(fd, b as *mut u8, c, d as i32, e as *mut u8, f as *mut u32),
                nr::RECVMSG => recvmsg(fd, b as *mut MsgHdr, c as i32),
                nr::RECVMMSG => recvmmsg(fd, b as *mut MMsgHdr, c as u32, d as i32, e as *mut TimeSpec) as isize,
                nr::READ => read(fd, b as *mut u8, c),
                nr::READV => readv(fd, b as *const IoVec, c as i32),
                nr::SOCKET => descriptors::socket(fd, b as i32, c as i32) as isize,
                nr::BIND => descriptors::bind(fd, b as *const u8, c as u32) as isize,
                nr::CONNECT => descriptors::connect(fd, b as *const u8, c as u32) as isize,
                nr::SHUTDOWN => descriptors::shutdown(fd, b as i32) as isize,
                nr::SETSOCKOPT => descriptors::setsockopt(fd, b as i32, c as i32, d as *const u8, e as u32) as isize,
                nr::IOCTL => descriptors::ioctl(fd, b as u64, c as *mut i32) as isize,
                nr::CLOSE => descriptors::close(fd) as isize,
                nr::CLOSE_RANGE => descriptors::close_range(a as u32, b as u32, c as i32) as isize,
                nr::DUP => descriptors::dup(fd) as isize,
                #[cfg(target_arch = "x86_64")]
                nr::DUP2 => descriptors::dup2(fd, b as i32) as isize,
                nr::DUP3 => descriptors::dup3(fd, b as i32, c as i32) as isize,
                nr::FCNTL => descriptors::fcntl(fd, b as i32, c) as isize,
                #[cfg(target_arch = "x86_64")]
                nr::POLL => waits::poll(a as *mut _, b as u64, c as i32) as isize,
                #[cfg(target_arch = "x86_64")]
                nr::EPOLL_WAIT => waits::epoll_wait(fd, b as *mut _, c as i32, d as i32) as isize,
                nr::EPOLL_CTL => waits::epoll_ctl(fd, b as i32, c as i32, d as *mut _) as isize,
                nr::EXECVE => processes::execve(a as *const _, b as *const _, c as *const _) as isize,
                nr::GETRANDOM => randomness::getrandom(a as *mut c_void, b, c as u32),
                nr::CLOCK_GETTIME => clocks::clock_gettime(fd, b as *mut TimeSpec) as isize,
                _ => real(number, a, b, c, d, e, f),
            }
        }
    }
}

fn taken_by(message: &MsgHdr, room: u32, flags: i32) -> Taken {
    Taken {
        iov: message.iov,
        count: message.iov_count,
        address: message.name,
        address_length: message.name_length.min(room).min(28),
        flags,
    }
}
