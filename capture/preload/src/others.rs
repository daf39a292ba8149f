//! Descriptors of other kinds than UDP sockets, whose numbers UDP sockets may have had: also where
//! the C library closed those inside itself.

use crate::hook::hook;
use crate::sockets;

fn made(fd: i32) -> i32 {
    if fd >= 0 {
        sockets::made_another(fd);
    }
    fd
}

/// # Safety
/// `pair` is null or leads to two descriptors.
unsafe fn made_two(result: i32, pair: *const [i32; 2]) -> i32 {
    // SAFETY: the caller vouches for it.
    let pair = unsafe { pair.as_ref() };
    for fd in pair.filter(|_| result == 0).into_iter().flatten() {
        made(*fd);
    }
    result
}

hook! {
    fn accept[real](fd: i32, address: *mut u8, length: *mut u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        made(unsafe { real(fd, address, length) })
    }

    fn accept4[real](fd: i32, address: *mut u8, length: *mut u32, flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        made(unsafe { real(fd, address, length, flags) })
    }

    fn pipe[real](pair: *mut [i32; 2]) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { made_two(real(pair), pair) }
    }

    fn pipe2[real](pair: *mut [i32; 2], flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { made_two(real(pair, flags), pair) }
    }

    fn socketpair[real](domain: i32, kind: i32, protocol: i32, pair: *mut [i32; 2]) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { made_two(real(domain, kind, protocol, pair), pair) }
    }
}
