//! What a program does with files by their paths: told before it changes one, and in a replay done where
//! the files are that it changes.

use core::ffi::c_char;

use crate::elsewhere::{is_moved_by_copying, led, led_both, led_here, meant, told};
use crate::files::{O_CREAT, O_TRUNC, O_WRONLY};
use crate::found::{before, before_folder, before_folder_goes};
use crate::hook::hook;
use crate::randomness::opens;
use crate::sys::{AT_FDCWD, Opaque, Text};

const AT_SYMLINK_NOFOLLOW: i32 = 0x100;
const AT_REMOVEDIR: i32 = 0x200;
const AT_SYMLINK_FOLLOW: i32 = 0x400;
const MADE: i32 = O_CREAT | O_WRONLY | O_TRUNC;

fn follows(flags: i32) -> bool {
    flags & AT_SYMLINK_NOFOLLOW == 0
}

/// One path is moved to another by `real`.
///
/// # Safety
/// Both are null or zero-ended strings.
unsafe fn moves(
    old: i32,
    from: Text,
    new: i32,
    to: Text,
    real: impl FnOnce(i32, Text, i32, Text) -> i32,
) -> i32 {
    // SAFETY: the caller vouches for it.
    unsafe {
        before(old, from, false);
        before(new, to, false);
        led_both(old, from, new, to, |old, from, new, to| {
            match real(old, from, new, to) {
                result if result < 0 && is_moved_by_copying(old, from, new, to) => 0,
                result => result,
            }
        })
    }
}

hook! {
    fn stat | stat64[real by path](path: Text, place: Opaque),
    fn __xstat | __xstat64[real by path](version: i32, path: Text, place: Opaque),
    fn access | eaccess | euidaccess[real by path](path: Text, mode: i32),
    fn chmod[real by path](path: Text, mode: u32),
    fn chown[real by path](path: Text, user: u32, group: u32),
    fn utime | utimes[real by path](path: Text, times: Opaque),
    fn scandir | scandir64[real by path](path: Text, list: Opaque, filter: Opaque, order: Opaque),
    fn chdir[real](path: Text) -> i32 {
        led_here(path, true, real)
    }

    fn lstat | lstat64[real by path](path: Text, place: Opaque),
    fn __lxstat | __lxstat64[real by path](version: i32, path: Text, place: Opaque) -> i32 {
        led_here(path, false, real)
    }

    fn fstatat | fstatat64[real by folder, path](folder: i32, path: Text, place: Opaque, flags: i32),
    fn __fxstatat | __fxstatat64[real by folder, path](version: i32, folder: i32, path: Text, place: Opaque, flags: i32),
    fn statx[real by folder, path](folder: i32, path: Text, flags: i32, mask: u32, place: Opaque),
    fn faccessat[real by folder, path](folder: i32, path: Text, mode: i32, flags: i32),
    fn fchmodat[real by folder, path](folder: i32, path: Text, mode: u32, flags: i32),
    fn utimensat[real by folder, path](folder: i32, path: Text, times: Opaque, flags: i32) -> i32 {
        led(folder, path, follows(flags), real)
    }

    fn creat | creat64[real by path](path: Text, mode: u32) -> i32 {
        opens(AT_FDCWD, path, MADE, |_, path| real(path))
    }

    fn unlink | remove[real](path: Text),
    fn symlink[real by path](target: Text, path: Text) -> i32 {
        before(AT_FDCWD, path, false);
        led_here(path, false, real)
    }

    fn symlinkat[real by folder, path](target: Text, folder: i32, path: Text) -> i32 {
        before(folder, path, false);
        led(folder, path, false, real)
    }

    fn unlinkat[real by folder, path](folder: i32, path: Text, flags: i32) -> i32 {
        match flags & AT_REMOVEDIR {
            0 => before(folder, path, false),
            _ => before_folder_goes(folder, path),
        }
        led(folder, path, false, real)
    }

    fn rename[real](from: Text, to: Text) -> i32 {
        moves(AT_FDCWD, from, AT_FDCWD, to, |_, from, _, to| real(from, to))
    }

    fn renameat[real](old: i32, from: Text, new: i32, to: Text),
    fn renameat2[real by old, from, new, to](old: i32, from: Text, new: i32, to: Text, flags: u32) -> i32 {
        moves(old, from, new, to, real)
    }

    fn link[real](from: Text, to: Text) -> i32 {
        before(AT_FDCWD, from, false);
        before(AT_FDCWD, to, false);
        led_both(AT_FDCWD, from, AT_FDCWD, to, |_, from, _, to| real(from, to))
    }

    fn linkat[real by old, from, new, to](old: i32, from: Text, new: i32, to: Text, flags: i32) -> i32 {
        before(old, from, flags & AT_SYMLINK_FOLLOW != 0);
        before(new, to, false);
        led_both(old, from, new, to, real)
    }

    fn mkdir[real by path](path: Text, mode: u32) -> i32 {
        before_folder(AT_FDCWD, path);
        led_here(path, false, real)
    }

    fn mkdirat[real by folder, path](folder: i32, path: Text, mode: u32) -> i32 {
        before_folder(folder, path);
        led(folder, path, false, real)
    }

    fn rmdir[real](path: Text) -> i32 {
        before_folder_goes(AT_FDCWD, path);
        led_here(path, false, real)
    }

    fn truncate | truncate64[real by path](path: Text, length: i64) -> i32 {
        before(AT_FDCWD, path, true);
        led_here(path, true, real)
    }

    fn opendir[real](path: Text) -> Opaque {
        led_here(path, true, real)
    }

    fn getcwd[goes_on](place: *mut c_char, length: usize) -> *mut c_char {
        told(goes_on())
    }

    fn realpath[real by path](path: Text, place: *mut c_char),
    fn __realpath_chk[real by path](path: Text, place: *mut c_char, room: usize),
    fn canonicalize_file_name[real](path: Text) -> *mut c_char {
        told(led_here(path, true, real))
    }

    fn readlink[real by path](path: Text, place: *mut c_char, room: usize) -> isize {
        meant(place, led_here(path, false, real))
    }

    fn readlinkat[real by folder, path](folder: i32, path: Text, place: *mut c_char, room: usize) -> isize {
        meant(place, led(folder, path, false, real))
    }
}
