//! Programs that have no place for a library.

use core::ffi::CStr;

use netreel_shared::hello::KIND_WATCH;

use crate::asking::tell;
use crate::environment::variable;
use crate::paths::put;
use crate::stat::Stat;
use crate::sys::{self, AT_FDCWD, Text, quietly};

/// No path is longer, with its zero byte.
pub const LONGEST: usize = 4096;

/// Where a program lies that `execvp` looks for: its path, which may stand in `place`, or the name again,
/// where it is a path or leads nowhere. Leaves `errno` as it is.
///
/// # Safety
/// `name` is null or a zero-ended string.
pub unsafe fn found(name: Text, place: &mut [u8; LONGEST]) -> Text {
    if name.is_null() {
        return name;
    }
    // SAFETY: the caller vouches for it.
    let words = unsafe { CStr::from_ptr(name) }.to_bytes();
    let folders = variable(b"PATH=").unwrap_or(b"/bin:/usr/bin");
    let mut folders = folders.split(|byte| *byte == b':');
    let mut has = |folder: &[u8]| {
        let folder = if folder.is_empty() { b"." } else { folder };
        is_program(&[folder, b"/", words], place)
    };
    if !words.contains(&b'/') && quietly(|| folders.any(&mut has)) {
        place.as_ptr().cast()
    } else {
        name
    }
}

/// Whether there is a program at a path of these parts, which it puts into its place.
fn is_program(parts: &[&[u8]], place: &mut [u8; LONGEST]) -> bool {
    const O_PATH: i32 = 0o10_000_000;
    put(place, parts).is_some()
        && open(place.as_ptr().cast(), O_PATH).is_some_and(|fd| {
            let stat = Stat::of(fd);
            sys::close(fd);
            stat.is_some_and(|stat| stat.is_file() && stat.mode & 0o111 != 0)
        })
}

fn open(path: Text, flags: i32) -> Option<i32> {
    // SAFETY: who calls has a zero-ended path.
    unsafe { sys::open(AT_FDCWD, path, flags, 0) }
}

/// A program is about to run: the recorder is asked to watch it where no library can be loaded into it.
/// `starter` is the thread that starts it as a child; 0: this process becomes it. Leaves `errno` as it is.
///
/// # Safety
/// `path` is null or a zero-ended string.
pub unsafe fn ask_to_watch(path: Text, starter: u32) {
    if path.is_null() {
        return;
    }
    // A pipe, which is no program, would have it wait.
    if let Some(program) = open(path, sys::O_NONBLOCK) {
        if is_static(program) {
            let _ = tell(KIND_WATCH, starter, Some(program));
        }
        sys::close(program);
    }
}

/// How much of a program is looked at: where its headers lie.
const HEAD: usize = 4096;
const PT_INTERP: u32 = 3;

/// Whether a program names nobody who loads libraries into it.
fn is_static(fd: i32) -> bool {
    let mut place = [0u8; HEAD];
    let head = sys::read_at(fd, &mut place, 0);
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
