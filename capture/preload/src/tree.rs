//! What a program does with files by their paths: told before it changes one, and in a replay done where
//! the files are that it changes.

use core::ffi::{c_char, c_void};

use crate::elsewhere::{is_moved_by_copying, led, led_both, meant, told};
use crate::files::{O_CREAT, O_TRUNC, O_WRONLY};
use crate::found::{before, before_folder, before_folder_goes};
use crate::hook::hook;
use crate::randomness::opens;
use crate::sys::AT_FDCWD;

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
    from: (i32, *const c_char),
    to: (i32, *const c_char),
    real: impl FnOnce((i32, *const c_char), (i32, *const c_char)) -> i32,
) -> i32 {
    // SAFETY: the caller vouches for it.
    unsafe {
        before(from.0, from.1, false);
        before(to.0, to.1, false);
        led_both(from, to, |from, to| match real(from, to) {
            result if result < 0 && is_moved_by_copying(from, to) => 0,
            result => result,
        })
    }
}

hook! {
    fn stat | stat64[real](path: *const c_char, place: *mut c_void) -> i32 {
        led(AT_FDCWD, path, true, |_, path| real(path, place))
    }

    fn lstat | lstat64[real](path: *const c_char, place: *mut c_void) -> i32 {
        led(AT_FDCWD, path, false, |_, path| real(path, place))
    }

    fn __xstat | __xstat64[real](version: i32, path: *const c_char, place: *mut c_void) -> i32 {
        led(AT_FDCWD, path, true, |_, path| real(version, path, place))
    }

    fn __lxstat | __lxstat64[real](version: i32, path: *const c_char, place: *mut c_void) -> i32 {
        led(AT_FDCWD, path, false, |_, path| real(version, path, place))
    }

    fn fstatat | fstatat64[real](folder: i32, path: *const c_char, place: *mut c_void, flags: i32) -> i32 {
        led(folder, path, follows(flags), |folder, path| real(folder, path, place, flags))
    }

    fn __fxstatat | __fxstatat64[real](version: i32, folder: i32, path: *const c_char, place: *mut c_void, flags: i32) -> i32 {
        led(folder, path, follows(flags), |folder, path| real(version, folder, path, place, flags))
    }

    fn statx[real](folder: i32, path: *const c_char, flags: i32, mask: u32, place: *mut c_void) -> i32 {
        led(folder, path, follows(flags), |folder, path| real(folder, path, flags, mask, place))
    }

    fn access | eaccess | euidaccess[real](path: *const c_char, mode: i32) -> i32 {
        led(AT_FDCWD, path, true, |_, path| real(path, mode))
    }

    fn faccessat[real](folder: i32, path: *const c_char, mode: i32, flags: i32) -> i32 {
        led(folder, path, follows(flags), |folder, path| real(folder, path, mode, flags))
    }

    fn creat | creat64[real](path: *const c_char, mode: u32) -> i32 {
        opens(AT_FDCWD, path, MADE, |_, path| real(path, mode))
    }

    fn unlink | remove[real](path: *const c_char) -> i32 {
        before(AT_FDCWD, path, false);
        led(AT_FDCWD, path, false, |_, path| real(path))
    }

    fn unlinkat[real](folder: i32, path: *const c_char, flags: i32) -> i32 {
        match flags & AT_REMOVEDIR {
            0 => before(folder, path, false),
            _ => before_folder_goes(folder, path),
        }
        led(folder, path, false, |folder, path| real(folder, path, flags))
    }

    fn rename[real](from: *const c_char, to: *const c_char) -> i32 {
        moves((AT_FDCWD, from), (AT_FDCWD, to), |from, to| real(from.1, to.1))
    }

    fn renameat[real](old: i32, from: *const c_char, new: i32, to: *const c_char) -> i32 {
        moves((old, from), (new, to), |from, to| real(from.0, from.1, to.0, to.1))
    }

    fn renameat2[real](old: i32, from: *const c_char, new: i32, to: *const c_char, flags: u32) -> i32 {
        moves((old, from), (new, to), |from, to| real(from.0, from.1, to.0, to.1, flags))
    }

    fn link[real](from: *const c_char, to: *const c_char) -> i32 {
        before(AT_FDCWD, from, false);
        before(AT_FDCWD, to, false);
        led_both((AT_FDCWD, from), (AT_FDCWD, to), |from, to| real(from.1, to.1))
    }

    fn linkat[real](old: i32, from: *const c_char, new: i32, to: *const c_char, flags: i32) -> i32 {
        before(old, from, flags & AT_SYMLINK_FOLLOW != 0);
        before(new, to, false);
        led_both((old, from), (new, to), |from, to| real(from.0, from.1, to.0, to.1, flags))
    }

    fn symlink[real](target: *const c_char, path: *const c_char) -> i32 {
        before(AT_FDCWD, path, false);
        led(AT_FDCWD, path, false, |_, path| real(target, path))
    }

    fn symlinkat[real](target: *const c_char, folder: i32, path: *const c_char) -> i32 {
        before(folder, path, false);
        led(folder, path, false, |folder, path| real(target, folder, path))
    }

    fn mkdir[real](path: *const c_char, mode: u32) -> i32 {
        before_folder(AT_FDCWD, path);
        led(AT_FDCWD, path, false, |_, path| real(path, mode))
    }

    fn mkdirat[real](folder: i32, path: *const c_char, mode: u32) -> i32 {
        before_folder(folder, path);
        led(folder, path, false, |folder, path| real(folder, path, mode))
    }

    fn rmdir[real](path: *const c_char) -> i32 {
        before_folder_goes(AT_FDCWD, path);
        led(AT_FDCWD, path, false, |_, path| real(path))
    }

    fn truncate | truncate64[real](path: *const c_char, length: i64) -> i32 {
        before(AT_FDCWD, path, true);
        led(AT_FDCWD, path, true, |_, path| real(path, length))
    }

    fn chmod[real](path: *const c_char, mode: u32) -> i32 {
        led(AT_FDCWD, path, true, |_, path| real(path, mode))
    }

    fn fchmodat[real](folder: i32, path: *const c_char, mode: u32, flags: i32) -> i32 {
        led(folder, path, follows(flags), |folder, path| real(folder, path, mode, flags))
    }

    fn chown[real](path: *const c_char, user: u32, group: u32) -> i32 {
        led(AT_FDCWD, path, true, |_, path| real(path, user, group))
    }

    fn utime | utimes[real](path: *const c_char, times: *const c_void) -> i32 {
        led(AT_FDCWD, path, true, |_, path| real(path, times))
    }

    fn utimensat[real](folder: i32, path: *const c_char, times: *const c_void, flags: i32) -> i32 {
        led(folder, path, follows(flags), |folder, path| real(folder, path, times, flags))
    }

    fn opendir[real](path: *const c_char) -> *mut c_void {
        led(AT_FDCWD, path, true, |_, path| real(path))
    }

    fn scandir | scandir64[real](path: *const c_char, list: *mut c_void, filter: *const c_void, order: *const c_void) -> i32 {
        led(AT_FDCWD, path, true, |_, path| real(path, list, filter, order))
    }

    fn chdir[real](path: *const c_char) -> i32 {
        led(AT_FDCWD, path, true, |_, path| real(path))
    }

    fn getcwd[goes_on](place: *mut c_char, length: usize) -> *mut c_char {
        told(goes_on())
    }

    fn realpath[real](path: *const c_char, place: *mut c_char) -> *mut c_char {
        told(led(AT_FDCWD, path, true, |_, path| real(path, place)))
    }

    fn __realpath_chk[real](path: *const c_char, place: *mut c_char, room: usize) -> *mut c_char {
        told(led(AT_FDCWD, path, true, |_, path| real(path, place, room)))
    }

    fn canonicalize_file_name[real](path: *const c_char) -> *mut c_char {
        told(led(AT_FDCWD, path, true, |_, path| real(path)))
    }

    fn readlink[real](path: *const c_char, place: *mut c_char, room: usize) -> isize {
        meant(place, led(AT_FDCWD, path, false, |_, path| real(path, place, room)))
    }

    fn readlinkat[real](folder: i32, path: *const c_char, place: *mut c_char, room: usize) -> isize {
        meant(place, led(folder, path, false, |folder, path| real(folder, path, place, room)))
    }
}
