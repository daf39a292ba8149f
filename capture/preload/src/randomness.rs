//! Sources of randomness.

use core::ffi::{CStr, c_char, c_void};

use crate::call::CallId;
use crate::push::pushing;
use crate::sockets;
use crate::sys::{errno, hook, set_errno};

const GETRANDOM: u8 = 0;
const GETENTROPY: u8 = 1;
const DEVICE: u8 = 2;
const ARC4RANDOM: u8 = 3;

/// Says which random bytes the program was given. Leaves `errno` as it is.
///
/// # Safety
/// `bytes` leads to `result` bytes where that is positive.
unsafe fn given(source: u8, bytes: *const u8, result: isize) {
    let code = errno();
    if let Some(mut pushing) = pushing() {
        match usize::try_from(result) {
            Ok(length) => {
                // SAFETY: the caller vouches for it.
                let bytes = unsafe { core::slice::from_raw_parts(bytes, length) };
                pushing.called(CallId::RANDOM, length as i32, &[&[source], bytes]);
            }
            Err(_) => pushing.called(CallId::RANDOM, -code, &[&[source]]),
        }
    }
    set_errno(code);
}

/// After a read of any descriptor: tells of the bytes if they were random.
///
/// # Safety
/// `buffer` leads to `result` bytes where that is positive.
#[inline]
pub unsafe fn after_read(fd: i32, buffer: *const u8, result: isize) {
    if sockets::is_random_source(fd) {
        // SAFETY: the caller vouches for it.
        unsafe { given(DEVICE, buffer, result) };
    }
}

/// # Safety
/// `path` is null or a zero-ended string.
unsafe fn opened(path: *const c_char, fd: i32) -> i32 {
    if fd >= 0 && !path.is_null() {
        // SAFETY: the caller vouches for it.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        if path == b"/dev/urandom" || path == b"/dev/random" {
            sockets::set_random_source(fd);
        } else {
            sockets::opened(fd);
        }
    }
    fd
}

hook! {
    fn getrandom[real](buffer: *mut c_void, length: usize, flags: u32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(buffer, length, flags);
            given(GETRANDOM, buffer.cast(), result);
            result
        }
    }

    fn getentropy[real](buffer: *mut c_void, length: usize) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe {
            let result = real(buffer, length);
            let got = if result == 0 { length as isize } else { -1 };
            given(GETENTROPY, buffer.cast(), got);
            result
        }
    }

    fn arc4random[real]() -> u32 {
        // SAFETY: asks for a number.
        unsafe {
            let result = real();
            given(ARC4RANDOM, (&raw const result).cast(), 4);
            result
        }
    }

    fn arc4random_uniform[real](bound: u32) -> u32 {
        // SAFETY: asks for a number.
        unsafe {
            let result = real(bound);
            given(ARC4RANDOM, (&raw const result).cast(), 4);
            result
        }
    }

    fn open[real](path: *const c_char, flags: i32, mode: u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { opened(path, real(path, flags, mode)) }
    }

    fn open64[real](path: *const c_char, flags: i32, mode: u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { opened(path, real(path, flags, mode)) }
    }

    fn openat[real](folder: i32, path: *const c_char, flags: i32, mode: u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { opened(path, real(folder, path, flags, mode)) }
    }

    fn openat64[real](folder: i32, path: *const c_char, flags: i32, mode: u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { opened(path, real(folder, path, flags, mode)) }
    }

    fn __open_2[real](path: *const c_char, flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { opened(path, real(path, flags)) }
    }

    fn __open64_2[real](path: *const c_char, flags: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { opened(path, real(path, flags)) }
    }
}

#[unsafe(no_mangle)]
/// Lets the C library fill the buffer, and tells of the bytes.
///
/// # Safety
/// `buffer` has room for `length` bytes.
pub unsafe extern "C" fn arc4random_buf(buffer: *mut u8, length: usize) {
    static REAL: crate::sys::Real = crate::sys::Real::new(c"arc4random_buf");
    let found = REAL.get();
    if found.is_null() {
        return;
    }
    // SAFETY: the C library's function has this signature; the caller vouches for the buffer.
    unsafe {
        let real: unsafe extern "C" fn(*mut u8, usize) = core::mem::transmute(found);
        real(buffer, length);
        given(ARC4RANDOM, buffer, length as isize);
    }
}
