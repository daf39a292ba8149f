//! Programs that have no place for a library: the recorder is asked to watch who becomes one.

use core::ffi::{CStr, c_char};

use crate::asking::tell;
use crate::attach;
use crate::files::AT_FDCWD;
use crate::hello::KIND_WATCH;
use crate::replay;
use crate::sys::{self, errno, nr, set_errno};

/// How much of a program is looked at: where its headers lie.
const HEAD: usize = 4096;
const PT_INTERP: u32 = 3;

/// This process is about to become the program at `path`. Leaves `errno` as it is. A name that is still
/// to be looked for is none of these.
///
/// # Safety
/// `path` is null or a zero-ended string.
pub unsafe fn runs(path: *const c_char) {
    if path.is_null() || attach::generation().is_none() || replay::on() || replay::is_muted() {
        return;
    }
    // SAFETY: the caller vouches for it.
    if !unsafe { CStr::from_ptr(path) }.to_bytes().contains(&b'/') {
        return;
    }
    let code = errno();
    let flags = sys::O_CLOEXEC as usize;
    let arguments = [AT_FDCWD as usize, path as usize, flags, 0, 0, 0];
    // SAFETY: the caller vouches for the path.
    let fd = unsafe { sys::syscall(nr::OPENAT, arguments) } as i32;
    if fd >= 0 {
        if is_static(fd) {
            let _ = tell(KIND_WATCH, 0, Some(fd));
        }
        sys::close(fd);
    }
    set_errno(code);
}

/// Whether a program names nobody who loads libraries into it.
fn is_static(fd: i32) -> bool {
    let mut place = [0u8; HEAD];
    let arguments = [fd as usize, place.as_mut_ptr() as usize, HEAD, 0, 0, 0];
    // SAFETY: a place of that length.
    let length = unsafe { sys::syscall(nr::PREAD, arguments) };
    let head = usize::try_from(length).ok();
    let head = head.and_then(|length| place.get(..length));
    head.and_then(names_nobody).unwrap_or(false)
}

/// The same of its head; `None` where its headers do not lie there.
fn names_nobody(head: &[u8]) -> Option<bool> {
    // Of 64 bits, little-endian.
    if head.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let offset = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?);
    let offset = usize::try_from(offset).ok()?;
    let u16_at = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let (size, count) = (usize::from(u16_at(54)?), usize::from(u16_at(56)?));
    let headers = head.get(offset..offset.checked_add(size.checked_mul(count)?)?)?;
    let mut kinds = headers.chunks_exact(size.max(4)).map(|header| {
        let kind = header.first_chunk::<4>().copied().unwrap_or_default();
        u32::from_le_bytes(kind)
    });
    Some(!kinds.any(|kind| kind == PT_INTERP))
}
