//! Files in a replay: what the program changed when it was recorded lies in a folder of the command's, as
//! the program found it then. No other file is changed.

use core::ffi::{CStr, c_char};

use crate::files;
use crate::files::{ENOENT, O_CREAT, O_TRUNC, O_WRONLY};
use crate::paths::{self, LONGEST, Look, Workspace, put};
use crate::replay::{self, KeptFiles};
use crate::stat::Stat;
use crate::sys::{self, AT_FDCWD, Text, errno, nr, quietly};

/// A path that leads elsewhere.
pub struct Elsewhere {
    path: [u8; 2 * LONGEST],
}

impl Look for KeptFiles {
    fn look(&self, path: &[u8], probe: &mut [u8]) -> Option<()> {
        if self.has(path) {
            put(probe, &[self.folder(), path])
        } else {
            put(probe, &[path])
        }
    }

    fn meant<'a>(&self, path: &'a [u8]) -> &'a [u8] {
        let rest = path.strip_prefix(self.folder());
        rest.filter(|rest| rest.first() == Some(&b'/'))
            .unwrap_or(path)
    }
}

/// Calls `go` with the directory and the path where what the program means lies now. Leaves `errno` as
/// `go` does.
///
/// # Safety
/// `path` is null or a zero-ended string.
#[inline]
pub unsafe fn led<R>(folder: i32, path: Text, follows: bool, go: impl FnOnce(i32, Text) -> R) -> R {
    let Some(kept) = replay::kept_files().filter(|_| !path.is_null()) else {
        return go(folder, path);
    };
    // SAFETY: the caller vouches for it.
    match unsafe { elsewhere(&kept, folder, path, follows) } {
        Some(there) => go(AT_FDCWD, there.path.as_ptr().cast()),
        None => go(folder, path),
    }
}

/// The same of a path in the folder that the program is in.
///
/// # Safety
/// As [`led`].
#[inline]
pub unsafe fn led_here<R>(path: Text, follows: bool, go: impl FnOnce(Text) -> R) -> R {
    // SAFETY: the caller vouches for it.
    unsafe { led(AT_FDCWD, path, follows, |_, path| go(path)) }
}

/// The same for two paths.
///
/// # Safety
/// As [`led`].
pub unsafe fn led_both<R>(
    old: i32,
    from: Text,
    new: i32,
    to: Text,
    go: impl FnOnce(i32, Text, i32, Text) -> R,
) -> R {
    // SAFETY: the caller vouches for it.
    unsafe {
        led(old, from, false, |old, from| {
            led(new, to, false, |new, to| go(old, from, new, to))
        })
    }
}

#[cold]
unsafe fn elsewhere(kept: &KeptFiles, folder: i32, path: Text, follows: bool) -> Option<Elsewhere> {
    // SAFETY: the caller vouches for it.
    if let Some(own) = unsafe { below_own(path) } {
        return Some(own);
    }
    let find = |work: &mut Workspace| {
        // SAFETY: the caller vouches for it.
        unsafe { work.find(folder, path, follows, kept)? };
        let mut place = [0u8; 2 * LONGEST];
        let is_kept = kept.has(work.path());
        // A folder that was there, and is gone by now.
        if !is_kept {
            put(&mut place, &[work.path()])?;
            is_gone(&place).then_some(())?;
        }
        put(&mut place, &[kept.folder(), work.path()])?;
        (is_kept || !is_gone(&place)).then_some(Elsewhere { path: place })
    };
    quietly(|| paths::with(find)).flatten()
}

fn is_gone(path: &[u8]) -> bool {
    matches!(Stat::at(path), Err(ENOENT))
}

/// What the program looks for below `/proc` under the number that it was told for its own.
unsafe fn below_own(path: Text) -> Option<Elsewhere> {
    let (process, _) = replay::processes()?;
    // SAFETY: the caller vouches for it.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    let (number, rest) = files::number(path.strip_prefix(b"/proc/")?);
    if number != Some(process) {
        return None;
    }
    let mut place = [0u8; 2 * LONGEST];
    put(&mut place, &[b"/proc/self", rest])?;
    Some(Elsewhere { path: place })
}

/// A path that the program is told, as it means it: in place.
///
/// # Safety
/// `path` is null or a zero-ended string that may be written to.
pub unsafe fn told(path: *mut c_char) -> *mut c_char {
    let Some(kept) = replay::kept_files().filter(|_| !path.is_null()) else {
        return path;
    };
    // SAFETY: the caller vouches for it; what is left is shorter, with the zero byte behind it.
    unsafe {
        let whole = CStr::from_ptr(path).to_bytes_with_nul();
        let left = kept.meant(whole).len();
        core::ptr::copy(path.add(whole.len() - left), path, left);
    }
    path
}

/// What a link says, as the program means it: so many bytes, or the result of a call that failed.
///
/// # Safety
/// `place` leads to as many bytes as `result` says.
pub unsafe fn meant(place: *mut c_char, result: isize) -> isize {
    let (Some(kept), Ok(length)) = (replay::kept_files(), usize::try_from(result)) else {
        return result;
    };
    // SAFETY: the caller vouches for it.
    unsafe {
        let whole = sys::slice(place.cast::<u8>(), length);
        let left = kept.meant(whole).len();
        core::ptr::copy(place.add(length - left), place, left);
        left as isize
    }
}

const EXDEV: i32 = 18;

/// In a replay, one of two paths may lie elsewhere: a file is moved there by copying it.
///
/// # Safety
/// Both are zero-ended strings.
#[cold]
pub unsafe fn is_moved_by_copying(old: i32, from: Text, new: i32, to: Text) -> bool {
    if replay::kept_files().is_none() || errno() != EXDEV {
        return false;
    }
    let open = |folder: i32, path: Text, flags: i32, mode: u32| {
        // SAFETY: the caller vouches for the path.
        unsafe { sys::open(folder, path, flags, mode) }
    };
    let source = open(old, from, 0, 0);
    let stat = source.and_then(Stat::of).filter(Stat::is_file);
    let target = stat.and_then(|stat| {
        let flags = O_WRONLY | O_CREAT | O_TRUNC;
        open(new, to, flags, stat.mode & 0o7777)
    });
    let both = source.zip(target);
    let copied = both.is_some_and(|(source, target)| copy(source, target));
    source.into_iter().chain(target).for_each(sys::close);
    if copied {
        // SAFETY: the caller vouches for the path.
        unsafe { sys::syscall(nr::UNLINKAT, [old as usize, from as usize]) };
    }
    copied
}

fn copy(source: i32, target: i32) -> bool {
    let mut chunk = [0u8; 4096];
    loop {
        match sys::read(source, &mut chunk) {
            Some([]) => return true,
            Some(bytes) if sys::write(target, bytes) => {}
            _ => return false,
        }
    }
}
