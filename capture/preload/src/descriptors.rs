//! The life of UDP sockets: made, bound, connected, duplicated, closed.

use core::ffi::c_char;

use netreel_shared::call::{CallId, PastId};

use crate::endpoint::Endpoint;
use crate::hook::{Onward, hook, passing};
use crate::numbered::number_of;
use crate::objects::real;
use crate::replay::{self, Did};
use crate::sockets::{self, tell};
use crate::sys::{self, FIONREAD, Opaque, errno};
use crate::{attach, children, corks, floor, others, send};

/// The recorded result of a call on a UDP socket; `None`: it is not replayed.
#[inline]
fn replayed(fd: i32, call: CallId) -> Option<i32> {
    if !replay::on() {
        return None;
    }
    let socket = sockets::udp(fd).filter(|_| !replay::is_muted())?;
    Some(replay::told(Did::on_socket(call, fd, socket)).0)
}

/// Calls `real` and pushes its result with these details, or answers from a replay.
fn told(fd: i32, call: CallId, details: &[&[u8]], real: impl FnOnce() -> i32) -> i32 {
    replayed(fd, call).unwrap_or_else(|| {
        let result = real();
        tell(fd, call, result, details);
        result
    })
}

/// The same for `ioctl`, with the number that it answers.
///
/// # Safety
/// `argument` is as the request wants it.
unsafe fn replayed_ioctl(
    fd: i32,
    request: u64,
    argument: *mut i32,
    real: impl FnOnce() -> i32,
) -> Option<i32> {
    let socket = sockets::udp(fd).filter(|_| !replay::is_muted())?;
    let did = Did::on_socket(CallId::IOCTL, fd, socket);
    if request != FIONREAD {
        // It may steer the descriptor itself, or tell of the machine.
        real();
    }
    let (result, details) = replay::told(did);
    let answer = details.get(10..14).and_then(|four| four.first_chunk::<4>());
    // SAFETY: the caller vouches for it.
    if let (FIONREAD, Some(answer), Some(place)) = (request, answer, unsafe { argument.as_mut() }) {
        *place = i32::from_le_bytes(*answer);
    }
    Some(result)
}

fn quietly(run: impl FnOnce()) {
    if attach::generation().is_some() {
        sys::quietly(run);
    }
}

/// Pushes that the program uses the socket in a way that no hook sees. Leaves `errno` as it is.
fn went_past(fd: i32, what: PastId) {
    quietly(|| {
        if sockets::udp(fd).is_some() {
            sockets::past(what);
        }
    });
}

/// The start of an `aiocb`.
#[repr(C)]
pub struct Request {
    fd: i32,
}

/// # Safety
/// `request` is null or leads to one.
unsafe fn requested(request: *const Request) {
    // SAFETY: the caller vouches for it.
    if let Some(request) = unsafe { request.as_ref() } {
        went_past(request.fd, PastId::MOVED);
    }
}

/// # Safety
/// `list` is null or leads to `count` requests.
unsafe fn all_requested(list: *const *mut Request, count: i32) {
    // SAFETY: the caller vouches for it.
    unsafe {
        for request in sys::slice(list, count) {
            requested(*request);
        }
    }
}

/// What the kernel calls an `iocb`.
#[repr(C)]
pub struct Block {
    data: u64,
    key: u32,
    flags: u32,
    operation: u16,
    priority: i16,
    fd: i32,
}

/// Pushes that the program hands the kernel reads or writes of a UDP socket to do by itself, where
/// it does.
///
/// # Safety
/// `list` is null or leads to `count` blocks.
pub unsafe fn submitted(list: *const *const Block, count: usize) {
    // SAFETY: the caller vouches for it.
    unsafe {
        for block in sys::slice(list, count).iter().filter_map(|it| it.as_ref()) {
            went_past(block.fd, PastId::MOVED);
        }
    }
}

// Both take as many arguments as their format wants, so they go on as they came.
passing! {
    fn dprintf[real](arguments, _) {
        went_past(arguments[0] as i32, PastId::STREAM);
        Onward::to(real)
    }

    fn __dprintf_chk[real](arguments, _) {
        went_past(arguments[0] as i32, PastId::STREAM);
        Onward::to(real)
    }
}

/// Pushes that the program made a ring of requests to the kernel (`io_uring`), past every hook, where it
/// did: by number, or through liburing where that is a library of its own. Leaves `errno` as it is. Returns
/// `result`.
pub fn set_up(result: isize) -> isize {
    if result >= 0 {
        quietly(|| sockets::past(PastId::IO_URING));
    }
    result
}

/// `to` becomes a second descriptor of what is behind `fd`.
fn becomes(fd: i32, to: i32, call: impl FnOnce() -> i32) -> i32 {
    if fd != to {
        quietly(|| sockets::closing(to));
    }
    let result = call();
    if result >= 0 {
        quietly(|| sockets::duplicated(fd, to));
    }
    sockets::closed(to);
    result
}

const EINPROGRESS: i32 = 115;
const CLOSE_RANGE_CLOEXEC: i32 = 4;
const F_DUPFD: i32 = 0;
const F_DUPFD_CLOEXEC: i32 = 1030;

hook! {
    fn socket[goes_on](domain: i32, kind: i32, protocol: i32) -> i32 {
        let fd = goes_on();
        if fd >= 0 && attach::generation().is_some() && replay::on() {
            return sys::quietly(|| replay::has_made(fd, sockets::is_udp(fd)));
        }
        if fd >= 0 {
            quietly(|| sockets::made(fd, sockets::is_udp_by(domain, kind, protocol)));
        }
        fd
    }

    fn bind[goes_on](fd: i32, address: *const u8, length: u32) -> i32 {
        told(fd, CallId::BIND, &[], goes_on)
    }

    fn connect | __connect[goes_on](fd: i32, address: *const u8, length: u32) -> i32 {
        if replay::on() {
            let peer = Endpoint::from_c(sys::slice(address, length));
            if let Some(socket) = sockets::udp(fd) {
                return replay::connects(fd, socket, peer.as_ref());
            }
            if peer.is_some() {
                return replay::refuses();
            }
        }
        let (result, address) = (goes_on(), sys::slice(address, length));
        let peer = Endpoint::from_c(address);
        if let Some(socket) = sockets::udp(fd) {
            sockets::forget_peer(socket);
            if result == 0 && address.starts_with(&[0, 0]) {
                sockets::dissolved(socket);
            }
            if let (0, Some(peer)) = (result, &peer) {
                corks::connected(socket, peer);
            }
            let peer = peer.as_ref().map_or(&[][..], Endpoint::bytes);
            tell(fd, CallId::CONNECT, result, &[peer]);
        } else if let Some(peer) = &peer && (result == 0 || errno() == EINPROGRESS) {
            others::connected(others::MADE, fd, peer);
        } else if result == 0 {
            others::speaks_with(fd, address);
        }
        result
    }

    fn shutdown[goes_on](fd: i32, how: i32) -> i32 {
        told(fd, CallId::SHUTDOWN, &[&how.to_le_bytes()], goes_on)
    }

    fn setsockopt[goes_on](fd: i32, level: i32, name: i32, value: *const u8, length: u32) -> i32 {
        let on = value.cast::<i32>();
        let uncorks = (level, name) == (sys::SOL_UDP, sys::UDP_CORK)
            && length >= 4 && !on.is_null() && on.read_unaligned() == 0;
        let sent = if uncorks { send::uncorks(fd, goes_on) } else { None };
        let told = replayed(fd, CallId::SET_OPTION);
        let result = told.or(sent).unwrap_or_else(goes_on);
        let value = sys::slice(value, length.min(64));
        if told.is_none() {
            tell(fd, CallId::SET_OPTION, result, &[&level.to_le_bytes(), &name.to_le_bytes(), value]);
        }
        if level == sys::SOL_UDP && result == 0
            && let (Some(value), Some(socket)) = (value.first_chunk(), sockets::udp(fd))
            && sockets::has_option(socket, name, i32::from_ne_bytes(*value))
        {
            attach::tell_of_segments(fd);
        }
        result
    }

    fn ioctl[goes_on](fd: i32, request: u64, argument: *mut i32) -> i32 {
        if replay::on() && let Some(result) = replayed_ioctl(fd, request, argument, goes_on) {
            return result;
        }
        if request == FIONREAD && sockets::counter(fd) == Some(CallId::PIPE) {
            return children::asks_how_much(fd, argument, goes_on);
        }
        let result = goes_on();
        if sockets::udp(fd).is_some() {
            // FIONREAD and FIONBIO have an integer there; of others the request says enough.
            let known = request == FIONREAD || request == 0x5421;
            let answer = if known { argument.as_ref().copied().unwrap_or(0) } else { 0 };
            tell(fd, CallId::IOCTL, result, &[&request.to_le_bytes(), &answer.to_le_bytes()]);
        }
        result
    }

    fn close | __close[goes_on](fd: i32) -> i32 {
        quietly(|| sockets::closing(fd));
        let result = floor::at_once(goes_on);
        sockets::closed(fd);
        result
    }

    fn close_range[goes_on](first: u32, last: u32, flags: i32) -> i32 {
        // With this flag nothing is closed before another program is run.
        let all = || first..=last.min(65_535);
        let closes = flags & CLOSE_RANGE_CLOEXEC == 0;
        if closes {
            quietly(|| all().for_each(|fd| sockets::closing(fd as i32)));
        }
        let result = goes_on();
        if closes {
            all().for_each(|fd| sockets::closed(fd as i32));
        }
        result
    }

    fn fclose[goes_on](stream: Opaque) -> i32 {
        let fd = number_of(stream);
        quietly(|| sockets::closing(fd));
        let result = goes_on();
        sockets::closed(fd);
        result
    }

    fn fdopen[goes_on](fd: i32, mode: *const c_char) -> Opaque {
        let stream = goes_on();
        went_past(fd, PastId::STREAM);
        stream
    }

    fn __vdprintf_chk[goes_on](fd: i32, flag: i32, format: *const c_char, arguments: Opaque),
    fn vdprintf[goes_on](fd: i32, format: *const c_char, arguments: Opaque) -> i32 {
        went_past(fd, PastId::STREAM);
        goes_on()
    }

    fn sendfile | sendfile64[goes_on](to: i32, from: i32, offset: *mut i64, count: usize) -> isize {
        went_past(to, PastId::MOVED);
        goes_on()
    }

    fn splice[goes_on](from: i32, from_offset: *mut i64, to: i32, to_offset: *mut i64, count: usize, flags: u32) -> isize {
        went_past(from, PastId::MOVED);
        went_past(to, PastId::MOVED);
        goes_on()
    }

    fn aio_read | aio_read64 | aio_write | aio_write64[goes_on](request: *mut Request) -> i32 {
        requested(request);
        goes_on()
    }

    fn lio_listio | lio_listio64[goes_on](mode: i32, list: *const *mut Request, count: i32, signal: Opaque) -> i32 {
        all_requested(list, count);
        goes_on()
    }

    fn io_uring_setup[goes_on](entries: u32, parameters: Opaque),
    fn io_uring_queue_init[goes_on](entries: u32, ring: Opaque, flags: u32),
    fn io_uring_queue_init_params[goes_on](entries: u32, ring: Opaque, parameters: Opaque) -> i32 {
        set_up(goes_on() as isize) as i32
    }

    fn dup[goes_on](fd: i32) -> i32 {
        let to = goes_on();
        if to >= 0 {
            quietly(|| sockets::duplicated(fd, to));
        }
        to
    }

    fn dup2 | __dup2[goes_on](fd: i32, to: i32),
    fn dup3[goes_on](fd: i32, to: i32, flags: i32) -> i32 {
        becomes(fd, to, goes_on)
    }

    fn fcntl | fcntl64 | __fcntl[goes_on](fd: i32, command: i32, argument: usize) -> i32 {
        let result = goes_on();
        if result >= 0 && matches!(command, F_DUPFD | F_DUPFD_CLOEXEC) {
            quietly(|| sockets::duplicated(fd, result));
        }
        result
    }
}

#[unsafe(no_mangle)]
/// Lets the C library close all descriptors from `first` on.
///
/// # Safety
/// As the call says.
pub unsafe extern "C" fn closefrom(first: i32) {
    real! { REAL = closefrom(i32); }
    let all = || first.max(0)..65_536;
    quietly(|| all().for_each(sockets::closing));
    if let Some(real) = REAL.get() {
        // SAFETY: the C library's function has this signature.
        unsafe { real(first) };
    }
    all().for_each(sockets::closed);
}
