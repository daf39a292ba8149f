//! Names that this machine knows by itself, and addresses in numbers: a replay looks them up as well,
//! without asking anybody, so that the C library takes the memory for it that it took then.

use core::ffi::{CStr, c_char};
use core::net::IpAddr;

use crate::sys::{self, AT_FDCWD};

const HOSTS: &CStr = c"/etc/hosts";
const ORDER: &CStr = c"/etc/nsswitch.conf";
/// How many bytes of each are looked at.
const READ_MAX: usize = 16 << 10;

/// Whether the C library finds the name in a file of this machine before it asks anybody, or reads it as
/// the address that it is.
///
/// # Safety
/// `name` is null or a zero-ended string.
pub unsafe fn knows(name: *const c_char) -> bool {
    if name.is_null() {
        return true;
    }
    // SAFETY: the caller vouches for it.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let is_number = core::str::from_utf8(name).is_ok_and(|it| it.parse::<IpAddr>().is_ok());
    if is_number {
        return true;
    }
    let mut room = [0u8; READ_MAX];
    lines(read(HOSTS, &mut room)).any(|line| words(line).skip(1).any(|word| word == name))
        && lines(read(ORDER, &mut room)).any(|line| {
            let mut words = words(line);
            words.next() == Some(b"hosts:") && words.next() == Some(b"files")
        })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

/// The words of a line, up to a comment.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let line = line.split(|byte| *byte == b'#').next().unwrap_or(&[]);
    let words = line.split(|byte| byte.is_ascii_whitespace());
    words.filter(|word| !word.is_empty())
}

fn read<'a>(path: &CStr, room: &'a mut [u8]) -> &'a [u8] {
    // SAFETY: a path that ends in a zero byte.
    let Some(fd) = (unsafe { sys::open(AT_FDCWD, path.as_ptr(), 0, 0) }) else {
        return &[];
    };
    let text = sys::read(fd, room);
    sys::close(fd);
    text.unwrap_or(&[])
}
