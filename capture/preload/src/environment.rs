//! Where the recorder's socket is, as the environment says.

use core::ffi::CStr;

use crate::sys::{self, AT_FDCWD, Texts};

const NAME: &[u8] = b"NETREEL_RECORD=";

/// Copies the path of the recorder's socket out of the environment; its length. `None` where there
/// is none, or no room for it and a zero byte.
pub fn recorder_path(into: &mut [u8]) -> Option<usize> {
    // SAFETY: C keeps the address of its list there.
    if unsafe { sys::environ }.is_null() {
        return path_at_start(into);
    }
    let path = variable(NAME)?;
    let short = !path.is_empty() && path.len() < into.len();
    into.get_mut(..path.len())?.copy_from_slice(path);
    short.then_some(path.len())
}

/// The strings of an environment.
///
/// # Safety
/// `list` is null or a list of zero-ended strings, ended by a null pointer, which stay for a while.
pub unsafe fn strings(mut list: Texts) -> impl Iterator<Item = &'static [u8]> {
    core::iter::from_fn(move || {
        // SAFETY: the caller vouches for it.
        unsafe {
            let entry = list.as_ref().filter(|entry| !entry.is_null())?;
            list = list.add(1);
            Some(CStr::from_ptr(*entry).to_bytes())
        }
    })
}

/// The value of a variable, which is named with its `=`, while the program does not change it.
pub fn variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: C keeps the address of its list there.
    let mut all = unsafe { strings(sys::environ) };
    all.find_map(|text| text.strip_prefix(name))
}

/// The same out of the environment that the process began with: functions in a program's
/// `.preinit_array` run before the C library has a list of its own.
#[cold]
fn path_at_start(into: &mut [u8]) -> Option<usize> {
    // SAFETY: a zero-ended path.
    let fd = unsafe { sys::open(AT_FDCWD, c"/proc/self/environ".as_ptr(), 0, 0) }?;
    let found = path_in_list(into, fd);
    sys::close(fd);
    found
}

/// Looks through a list of strings that a zero byte each ends.
fn path_in_list(into: &mut [u8], fd: i32) -> Option<usize> {
    let mut chunk = [0u8; 1024];
    // How many bytes of this string are as wanted; `None`: it is another one.
    let mut wanted = Some(0);
    loop {
        let read = sys::read(fd, &mut chunk);
        for &byte in read.filter(|read| !read.is_empty())? {
            wanted = match wanted {
                Some(at) if byte == 0 && at > NAME.len() => return Some(at - NAME.len()),
                _ if byte == 0 => Some(0),
                Some(at) if at < NAME.len() => (NAME.get(at) == Some(&byte)).then_some(at + 1),
                Some(at) => {
                    let at_path = at - NAME.len();
                    // The last place is for a zero byte.
                    let room = into.len().saturating_sub(1);
                    *into.get_mut(..room)?.get_mut(at_path)? = byte;
                    Some(at + 1)
                }
                None => None,
            };
        }
    }
}
