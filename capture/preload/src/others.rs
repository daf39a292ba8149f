//! Descriptors of other kinds than UDP sockets, whose numbers UDP sockets may have had: also where
//! the C library closed those inside itself.

use crate::sockets;
use crate::sys::hook;

fn made(fd: i32) {
    if fd >= 0 {
        sockets::made_another(fd);
    }
}

/// # Safety
/// `pair` is null or leads to two descriptors.
unsafe fn made_two(result: i32, pair: *const [i32; 2]) {
    // SAFETY: the caller vouches for it.
    let pair = unsafe { pair.as_ref() };
    for fd in pair.filter(|_| result == 0).into_iter().flatten() {
        made(*fd);
    }
}

hook! {
    fn accept[real](fd: i32, address: *mut u8, length: *mut u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        let made_now = unsafe { real(fd, address, length) };
        made(made_now);
        made_now
    }

    fn accept4[real](fd: i32, address: *mut u8, length: *mut u32, flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        let made_now = unsafe { real(fd, address, length, flags) };
        made(made_now);
        made_now
    }

    fn eventfd[real](value: u32, flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        let made_now = unsafe { real(value, flags) };
        made(made_now);
        made_now
    }

    fn timerfd_create[real](clock: i32, flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        let made_now = unsafe { real(clock, flags) };
        made(made_now);
        made_now
    }

    fn pipe[real](pair: *mut [i32; 2]) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(pair);
            made_two(result, pair);
            result
        }
    }

    fn pipe2[real](pair: *mut [i32; 2], flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(pair, flags);
            made_two(result, pair);
            result
        }
    }

    fn socketpair[real](domain: i32, kind: i32, protocol: i32, pair: *mut [i32; 2]) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(domain, kind, protocol, pair);
            made_two(result, pair);
            result
        }
    }
}
