//! The path of a file without links and dots in it, found without opening anything.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::plainly::{Plainly, Zero, zero};
use crate::sys::{self, AT_FDCWD, Text, nr, pause};

/// A longer path is none that is looked after.
pub const LONGEST: usize = 1024;
/// How much of a file is in memory at a time.
pub const CHUNK: usize = 32 << 10;
/// How many links may lead on from one path, as the kernel has it.
const LINKS_MAX: u32 = 40;

/// What a path is found with. It is no thread's stack, which may be short: a handler of a signal may open
/// a file.
pub struct Workspace {
    /// The path so far.
    pub found: [u8; LONGEST],
    pub length: usize,
    /// What is still to be walked.
    rest: [u8; LONGEST],
    link: [u8; LONGEST],
    /// Where the path is looked for, with a zero byte behind it.
    probe: [u8; 2 * LONGEST],
    /// A part of a file.
    pub chunk: [u8; CHUNK],
}

struct Shared(UnsafeCell<Workspace>);

// SAFETY: `USER` lets one thread in.
unsafe impl Sync for Shared {}

// SAFETY: numbers.
unsafe impl Zero for Workspace {}

static WORKSPACE: Shared = Shared(UnsafeCell::new(zero()));
/// The thread that is in it; 0: none.
static USER: AtomicU32 = zero();
/// So often a thread waits for it: the one that has it may be one of this process's parent.
const WAITS_MAX: u32 = 20_000;

/// Runs `work` with the workspace. `None`: this thread, in whose handler of a signal this is, or a thread
/// that is not there, is in it.
pub fn with<R>(work: impl FnOnce(&mut Workspace) -> R) -> Option<R> {
    let this = sys::thread();
    let mut waits = 0;
    while let Err(user) = USER.exchange(0, this, Ordering::Acquire) {
        if user == this || waits == WAITS_MAX {
            return None;
        }
        waits += 1;
        pause();
    }
    // SAFETY: this thread is alone in it.
    let done = work(unsafe { &mut *WORKSPACE.0.get() });
    USER.store(0, Ordering::Release);
    Some(done)
}

/// In a forked child, of whose threads this one is left.
pub fn forks() {
    USER.set(0);
}

/// Where a path is looked for; in a replay that may be elsewhere. Both are zero-ended where there is
/// something behind them.
pub trait Look {
    /// Puts the place of `path` into `probe`, with a zero byte behind it.
    fn look(&self, path: &[u8], probe: &mut [u8]) -> Option<()>;
    /// A path as the program means it, where it was told one that is elsewhere.
    fn meant<'a>(&self, path: &'a [u8]) -> &'a [u8];
}

impl Workspace {
    /// Finds the path of `path`, which is below the directory `folder` where it is relative. `follows`:
    /// the last part of it is followed where it is a link. `None`: it is too long, or nobody can tell.
    ///
    /// # Safety
    /// `path` is a zero-ended string.
    pub unsafe fn find(
        &mut self,
        folder: i32,
        path: Text,
        follows: bool,
        at: &impl Look,
    ) -> Option<()> {
        // SAFETY: the caller vouches for it.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        if path.is_empty() {
            return None;
        }
        self.length = 0;
        let path = at.meant(path);
        if path.first() != Some(&b'/') {
            let length = match folder {
                AT_FDCWD => here(&mut self.link).len(),
                folder => path_of(folder, &mut self.link)?.len(),
            };
            let start = at.meant(self.link.get(..length)?);
            if start.first() != Some(&b'/') {
                return None;
            }
            let start = start.strip_suffix(b"/").unwrap_or(start);
            self.found.get_mut(..start.len())?.copy_from_slice(start);
            self.length = start.len();
        }
        self.rest.get_mut(..path.len())?.copy_from_slice(path);
        self.walk(path.len(), follows, at)?;
        if self.length == 0 {
            self.found[0] = b'/';
            self.length = 1;
        }
        Some(())
    }

    /// The path that was found.
    pub fn path(&self) -> &[u8] {
        self.found.get(..self.length).unwrap_or(&[])
    }

    fn walk(&mut self, mut length: usize, follows: bool, at: &impl Look) -> Option<()> {
        let (mut from, mut links) = (0, 0);
        loop {
            let rest = self.rest.get(from..length)?;
            let Some(start) = rest.iter().position(|byte| *byte != b'/') else {
                return Some(());
            };
            let part = rest.get(start..)?;
            let end = part.iter().position(|byte| *byte == b'/');
            let is_last = part.get(end.unwrap_or(part.len())..)?.is_empty();
            let name = part.get(..end.unwrap_or(part.len()))?;
            from += start + name.len();
            match name {
                b"." => continue,
                b".." => {
                    let path = self.found.get(..self.length)?;
                    self.length = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                    continue;
                }
                _ => {}
            }
            let before = self.length;
            let behind = before + 1 + name.len();
            let [slash, place @ ..] = self.found.get_mut(before..behind)? else {
                return None;
            };
            *slash = b'/';
            place.copy_from_slice(name);
            self.length = behind;
            if is_last && !follows {
                continue;
            }
            let Some(target) = self.target(at)? else {
                continue;
            };
            links += 1;
            if links > LINKS_MAX {
                return None;
            }
            let meant = at.meant(self.link.get(..target)?);
            let gone = target - meant.len();
            self.length = if meant.first() == Some(&b'/') {
                0
            } else {
                before
            };
            // What the link says, and behind it what was still to come.
            let left = length - from;
            let whole = meant.len() + left;
            if whole > LONGEST {
                return None;
            }
            self.rest.copy_within(from..length, meant.len());
            let link = self.link.get(gone..target)?;
            self.rest.get_mut(..link.len())?.copy_from_slice(link);
            (from, length) = (0, whole);
        }
    }

    /// Where the path so far leads to, if it is a link: this many bytes of `link`.
    fn target(&mut self, at: &impl Look) -> Option<Option<usize>> {
        at.look(self.found.get(..self.length)?, &mut self.probe)?;
        let target = sys::read_link(&self.probe, &mut self.link);
        Some(target.map(<[u8]>::len).filter(|it| *it > 0))
    }
}

/// Every path is where it says.
pub struct AsItSays;

impl Look for AsItSays {
    fn look(&self, path: &[u8], probe: &mut [u8]) -> Option<()> {
        put(probe, &[path])
    }

    fn meant<'a>(&self, path: &'a [u8]) -> &'a [u8] {
        path
    }
}

/// Puts the parts behind each other, with a zero byte behind them.
pub fn put(place: &mut [u8], parts: &[&[u8]]) -> Option<()> {
    let mut at = 0;
    for part in parts {
        place.get_mut(at..at + part.len())?.copy_from_slice(part);
        at += part.len();
    }
    *place.get_mut(at)? = 0;
    Some(())
}

/// Whether a path is this one, or lies below it.
pub fn is_below(path: &[u8], folder: &[u8]) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}

/// A path from the root on, in three parts: the folder in which a relative one lies, a slash and the path;
/// `None`: nobody knows the folder.
pub fn from_root<'a>(
    folder: i32,
    path: &'a [u8],
    place: &'a mut [u8; LONGEST],
) -> Option<[&'a [u8]; 3]> {
    let folder: &[u8] = match (path.first(), folder) {
        (Some(b'/'), _) => return Some([&[], &[], path]),
        (_, AT_FDCWD) => here(place),
        (_, folder) => path_of(folder, place)?,
    };
    Some([folder, b"/", path])
}

/// The folder that the process is in.
pub fn here(place: &mut [u8]) -> &[u8] {
    let arguments = [place.as_mut_ptr() as usize, place.len()];
    // SAFETY: a place of that length.
    let length = unsafe { sys::syscall(nr::GETCWD, arguments) };
    let length = usize::try_from(length).unwrap_or(0).saturating_sub(1);
    place.get(..length).unwrap_or(&[])
}

/// Where an open file lies.
pub fn path_of(fd: i32, place: &mut [u8; 1024]) -> Option<&[u8]> {
    let (mut link, mut digits) = ([0u8; 32], [0; 10]);
    let number = decimal(fd.unsigned_abs(), &mut digits);
    put(&mut link, &[b"/proc/self/fd/", number])?;
    sys::read_link(&link, place)
}

/// A number in digits.
pub fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut first = digits.len();
    while first == digits.len() || number > 0 {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    &digits[first..]
}
