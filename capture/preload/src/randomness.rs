//! Sources of randomness.

use core::ffi::{CStr, c_void};

use crate::elsewhere::led;
use crate::files::O_NOFOLLOW;
use crate::hook::hook;
use crate::objects::{Real, real};
use crate::plainly::Plainly;
use crate::reads::{after_read, after_read_parts, given_parts};
use crate::sys::{self, AT_FDCWD, IoVec, Text, nr};
use crate::{attach, files, found, sockets, threads};

const GETRANDOM: u8 = 0;
const GETENTROPY: u8 = 1;
const ARC4RANDOM: u8 = 3;
const RANDOM_DEVICE: u8 = 4;

/// Pushes the random bytes that the program was given. Leaves `errno` as it is.
///
/// # Safety
/// `bytes` leads to `result` bytes where that is positive.
unsafe fn given(source: u8, bytes: *const u8, result: isize) -> isize {
    // SAFETY: the caller vouches for it.
    let part = unsafe { IoVec::new(bytes, usize::try_from(result).unwrap_or(0)) };
    given_parts(source, &[part], result)
}

/// Opens a file by `real`, which is given where it lies.
///
/// # Safety
/// `path` is null or a zero-ended string.
pub unsafe fn opens(
    folder: i32,
    path: Text,
    flags: i32,
    real: impl FnOnce(i32, Text) -> i32,
) -> i32 {
    let follows = flags & O_NOFOLLOW == 0;
    // As in `syscall`.
    let _ = attach::generation();
    // SAFETY: the caller vouches for it.
    unsafe {
        if files::of_flags(flags).writes {
            found::before(folder, path, follows);
        }
        let fd = led(folder, path, follows, real);
        opened(folder, path, flags, fd)
    }
}

/// # Safety
/// `path` is null or a zero-ended string.
unsafe fn opened(folder: i32, path: Text, flags: i32, fd: i32) -> i32 {
    let is_there = fd >= 0 && !path.is_null();
    // SAFETY: the caller vouches for it.
    if is_there && is_device(unsafe { CStr::from_ptr(path) }) {
        sockets::set_random_source(fd);
        return fd;
    }
    if is_there {
        sockets::opened(fd);
    }
    // SAFETY: the caller vouches for it.
    unsafe { files::opened(folder, path, fd, files::of_flags(flags)) };
    fd
}

/// Whether a path is that of a source of randomness.
pub fn is_device(path: &CStr) -> bool {
    path == c"/dev/urandom" || path == c"/dev/random"
}

hook! {
    fn getrandom[goes_on](buffer: *mut c_void, length: usize, flags: u32) -> isize {
        let result = goes_on();
        given(GETRANDOM, buffer.cast(), result)
    }

    fn getentropy[goes_on](buffer: *mut c_void, length: usize) -> i32 {
        let result = goes_on();
        let got = if result == 0 { length as isize } else { -1 };
        let got = given(GETENTROPY, buffer.cast(), got);
        if got < 0 { -1 } else { 0 }
    }

    fn arc4random[goes_on](),
    fn arc4random_uniform[goes_on](bound: u32) -> u32 {
        let mut result = goes_on();
        let bytes = (&raw mut result).cast_const();
        given(ARC4RANDOM, bytes.cast(), 4);
        result
    }

    fn pread | pread64[goes_on](fd: i32, buffer: *mut u8, length: usize, offset: i64),
    fn __pread_chk | __pread64_chk[goes_on](fd: i32, buffer: *mut u8, length: usize, offset: i64, room: usize) -> isize {
        after_read(fd, buffer, goes_on())
    }

    fn preadv | preadv64[goes_on](fd: i32, iov: *const IoVec, count: i32, offset: i64) -> isize {
        after_read_parts(fd, sys::slice(iov, count), goes_on())
    }

    fn open | open64 | __open | __open64[real by path](path: Text, flags: i32, mode: u32),
    fn __open_2 | __open64_2[real by path](path: Text, flags: i32) -> i32 {
        opens(AT_FDCWD, path, flags, |_, path| real(path))
    }

    fn openat | openat64[real by folder, path](folder: i32, path: Text, flags: i32, mode: u32) -> i32 {
        opens(folder, path, flags, real)
    }
}

#[unsafe(no_mangle)]
/// Lets the C library fill the buffer, and pushes the bytes.
///
/// # Safety
/// `buffer` has room for `length` bytes.
pub unsafe extern "C" fn arc4random_buf(buffer: *mut u8, length: usize) {
    real! { REAL = arc4random_buf(*mut u8, usize); }
    let Some(real) = REAL.get() else { return };
    // SAFETY: the C library's function has this signature; the caller vouches for the buffer.
    unsafe {
        real(buffer, length);
        given(ARC4RANDOM, buffer, length as isize);
    }
}

/// `std::random_device`, which asks the processor where it can, and otherwise one of the sources above.
///
/// # Safety
/// As libstdc++ calls it.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> u32 {
    static REAL: Real<unsafe extern "C-unwind" fn(*mut c_void) -> u32> =
        Real::new(c"_ZNSt13random_device9_M_getvalEv");
    let own = threads::own();
    let inside = |yes: u32| own.into_iter().for_each(|own| own.draws.set(yes));
    let mut result = 0u32;
    let bytes = (&raw mut result).cast::<u8>();
    inside(1);
    // SAFETY: the function has this signature; this many bytes are there.
    unsafe {
        if let Some(real) = REAL.get() {
            result = real(device);
        } else {
            // Of a libstdc++ that only the library behind the call can see.
            sys::syscall(nr::GETRANDOM, [bytes as usize, 4]);
        }
        inside(0);
        given(RANDOM_DEVICE, bytes, 4);
    }
    result
}
