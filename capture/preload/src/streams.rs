//! Sources of randomness that are opened as a stream of the C library, which reads them inside
//! itself: the program gets a stream whose bytes come through the hooks.

use core::ffi::{CStr, c_void};
use core::sync::atomic::Ordering;

use crate::elsewhere::led_here;
use crate::hook::hook;
use crate::numbered::OPEN;
use crate::objects::real;
use crate::plainly::Plainly;
use crate::sys::{self, Text};
use crate::{attach, descriptors, files, found, randomness, receive};

/// As glibc has it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Functions {
    read: Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> isize>,
    write: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize) -> isize>,
    seek: Option<unsafe extern "C" fn(*mut c_void, *mut i64, i32) -> i32>,
    close: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
}

real! {
    FOPENCOOKIE = fopencookie(*mut c_void, Text, Functions) -> *mut c_void;
    FILENO = fileno(*mut c_void) -> i32;
}

/// More than a program needs at a time of a source that never ends.
const AT_ONCE: usize = 256;

unsafe extern "C" fn read(fd: *mut c_void, buffer: *mut u8, length: usize) -> isize {
    // SAFETY: the C library's buffer.
    unsafe { receive::read(fd as usize as i32, buffer, length.min(AT_ONCE)) }
}

unsafe extern "C" fn close(fd: *mut c_void) -> i32 {
    let fd = fd as usize as i32;
    for (stream, its) in &OPEN {
        if its.get() == fd {
            its.set(-1);
            stream.store(core::ptr::null_mut(), Ordering::Release);
        }
    }
    // SAFETY: the stream's own descriptor.
    unsafe { descriptors::close(fd) }
}

/// The stream of a source of randomness; `None` where it is another file, or is not only read.
///
/// # Safety
/// Both are null or zero-ended strings.
unsafe fn random(path: Text, mode: Text) -> Option<*mut c_void> {
    if path.is_null() || mode.is_null() {
        return None;
    }
    // SAFETY: the caller vouches for it.
    let (name, how) = unsafe { (CStr::from_ptr(path), CStr::from_ptr(mode).to_bytes()) };
    if !randomness::is_device(name) || how.first() != Some(&b'r') || how.contains(&b'+') {
        return None;
    }
    attach::generation()?;
    let make = FOPENCOOKIE.get()?;
    let place = OPEN.iter().find(|(stream, _)| {
        let (empty, taken) = (core::ptr::null_mut(), core::ptr::without_provenance_mut(1));
        stream.exchange(empty, taken, Ordering::Acquire).is_ok()
    })?;
    let functions = Functions {
        read: Some(read),
        write: None,
        seek: None,
        close: Some(close),
    };
    let flags = if how.contains(&b'e') {
        sys::O_CLOEXEC
    } else {
        0
    };
    // SAFETY: the C library's function has this signature; the path is the program's.
    let stream = unsafe {
        let fd = randomness::open(path, flags, 0);
        if fd < 0 {
            place.0.store(core::ptr::null_mut(), Ordering::Release);
            return None;
        }
        place.1.set(fd);
        make(fd as usize as *mut c_void, c"r".as_ptr(), functions)
    };
    place.0.store(stream, Ordering::Release);
    Some(stream)
}

/// Opens a stream of a file by `real`, which is given where it lies.
///
/// # Safety
/// Both strings are null or end in a zero byte.
unsafe fn opens(path: Text, mode: Text, real: impl FnOnce(Text) -> *mut c_void) -> *mut c_void {
    let _ = attach::generation();
    // SAFETY: the caller vouches for it.
    unsafe {
        if files::of_mode(mode).writes {
            found::before(sys::AT_FDCWD, path, true);
        }
        let stream = led_here(path, true, real);
        let fileno = FILENO.get().filter(|_| !stream.is_null());
        let fd = fileno.map_or(-1, |fileno| fileno(stream));
        files::opened(sys::AT_FDCWD, path, fd, files::of_mode(mode));
        stream
    }
}

hook! {
    fn fopen | fopen64[real by path](path: Text, mode: Text) -> *mut c_void {
        random(path, mode).unwrap_or_else(|| opens(path, mode, real))
    }

    fn freopen | freopen64[real by path](path: Text, mode: Text, stream: *mut c_void) -> *mut c_void {
        opens(path, mode, real)
    }
}
