//! Files that the program is about to change: how each was before, with what was in it, so that a replay
//! finds it so.

use core::sync::atomic::{AtomicU64, Ordering};

use netreel_shared::call::CallId;

use crate::files::{ENOENT, O_NOFOLLOW, sum};
use crate::paths::{self, AsItSays, Look, Workspace};
use crate::plainly::{Plainly, zero};
use crate::push::pushing_unless_busy;
use crate::row::Row;
use crate::stat::{S_IFMT, Stat};
use crate::sys::{self, AT_FDCWD, Text, quietly};
use crate::{attach, replay};

/// A longer file is not kept, and the recorder says so.
const KEPT_MAX: u64 = 4 << 20;
/// How many bytes are kept of one process.
const KEPT_IN_ALL: u64 = 32 << 20;
static KEPT: AtomicU64 = zero();

/// The sums of paths that were told in this generation, each at the place that follows from it or behind.
const TOLD_MAX: usize = 4096;
static TOLD: [AtomicU64; TOLD_MAX] = zero();
const PROBES: usize = 64;

/// How a path was: the first byte of the details.
mod state {
    pub const MISSING: u8 = 0;
    pub const FILE: u8 = 1;
    pub const FOLDER: u8 = 2;
    pub const LINK: u8 = 3;
    pub const NOT_KEPT: u8 = 4;
}

const S_IFDIR: u32 = 0o040_000;
const S_IFLNK: u32 = 0o120_000;

/// What is below these is no file that anybody wrote.
const OF_THE_KERNEL: [&[u8]; 3] = [b"/proc", b"/sys", b"/dev"];

/// The program is about to change what lies at `path`, below the directory `folder` where it is relative,
/// or makes it. `follows`: what the link leads to, where it is one. Leaves `errno` as it is.
///
/// # Safety
/// `path` is null or a zero-ended string.
#[cold]
pub unsafe fn before(folder: i32, path: Text, follows: bool) {
    // SAFETY: the caller vouches for it.
    unsafe { tells(folder, path, follows, |_| true) };
}

/// The same where a folder is made: one that is there stays.
///
/// # Safety
/// As [`before`].
pub unsafe fn before_folder(folder: i32, path: Text) {
    // SAFETY: the caller vouches for it.
    unsafe { tells(folder, path, false, |found| found == Err(ENOENT)) };
}

/// The same where a folder is taken away: an empty one.
///
/// # Safety
/// As [`before`].
pub unsafe fn before_folder_goes(folder: i32, path: Text) {
    // SAFETY: the caller vouches for it.
    unsafe { tells(folder, path, false, |found| found == Ok(S_IFDIR)) };
}

unsafe fn tells(
    folder: i32,
    path: Text,
    follows: bool,
    is_meant: impl FnOnce(Result<u32, i32>) -> bool,
) {
    if path.is_null() || attach::generation().is_none() || replay::on() || attach::is_borrowed() {
        return;
    }
    let find = |work: &mut Workspace| {
        // SAFETY: the caller vouches for it.
        unsafe { work.find(folder, path, follows, &AsItSays)? };
        tell(work, is_meant)
    };
    quietly(|| paths::with(find));
}

fn tell(work: &mut Workspace, is_meant: impl FnOnce(Result<u32, i32>) -> bool) -> Option<()> {
    let path = work.path();
    let is_in = |folder: &&[u8]| paths::is_below(path, folder);
    if OF_THE_KERNEL.iter().any(is_in) || is_told(path) {
        return None;
    }
    let mut place = [0u8; paths::LONGEST];
    AsItSays.look(path, &mut place)?;
    let found = Stat::at(&place);
    if !is_meant(found.as_ref().map(|it| it.mode & S_IFMT).map_err(|it| *it)) {
        return None;
    }
    let stat = match found {
        Ok(stat) => stat,
        Err(ENOENT) => {
            remember(path);
            return push(&Head::new(state::MISSING, None), path, &[]);
        }
        Err(_) => return None,
    };
    let kind = match stat.mode & S_IFMT {
        S_IFDIR => state::FOLDER,
        S_IFLNK => state::LINK,
        _ if stat.is_file() => state::FILE,
        _ => return None,
    };
    remember(path);
    let mut head = Head::new(kind, Some(&stat));
    match kind {
        state::FILE => keep(work, &place, head),
        state::LINK => {
            let length = sys::read_link(&place, &mut work.chunk[..paths::LONGEST])?.len();
            head.size = length as u64;
            push(&head, work.path(), work.chunk.get(..length)?)
        }
        _ => push(&head, work.path(), &[]),
    }
}

/// What stands before the path.
struct Head {
    state: u8,
    mode: u32,
    size: u64,
    changed: i64,
    /// Where in the file the bytes lie that follow.
    at: u64,
}

impl Head {
    fn new(state: u8, stat: Option<&Stat>) -> Head {
        Head {
            state,
            mode: stat.map_or(0, |stat| stat.mode),
            size: stat.map_or(0, |stat| stat.size as u64),
            changed: stat.map_or(0, Stat::changed_ns),
            at: 0,
        }
    }
}

fn push(head: &Head, path: &[u8], bytes: &[u8]) -> Option<()> {
    let numbers = Row::<31>::of(&[
        &[head.state],
        &head.mode.to_le_bytes(),
        &head.size.to_le_bytes(),
        &head.changed.to_le_bytes(),
        &head.at.to_le_bytes(),
        &(path.len() as u16).to_le_bytes(),
    ]);
    let result = if head.state == state::MISSING {
        -ENOENT
    } else {
        0
    };
    let mut pushing = pushing_unless_busy()?;
    pushing.called(CallId::FOUND, result, &[numbers.bytes(), path, bytes]);
    Some(())
}

/// Pushes what is in a small file.
fn keep(work: &mut Workspace, place: &[u8], mut head: Head) -> Option<()> {
    let kept = || KEPT.fetch_add(head.size, Ordering::Relaxed);
    let fits = head.size <= KEPT_MAX && kept() <= KEPT_IN_ALL;
    let flags = O_NOFOLLOW | sys::O_NONBLOCK;
    // SAFETY: a zero-ended string.
    let open = || unsafe { sys::open(AT_FDCWD, place.as_ptr().cast(), flags, 0) };
    let Some(file) = fits.then(open).flatten() else {
        head.state = state::NOT_KEPT;
        return push(&head, work.path(), &[]);
    };
    loop {
        let room = (head.size - head.at).min(work.chunk.len() as u64) as usize;
        let got = sys::read_at(file, &mut work.chunk[..room], head.at);
        let got = got.map_or(0, <[u8]>::len);
        push(&head, work.path(), work.chunk.get(..got).unwrap_or(&[]));
        head.at += got as u64;
        if got == 0 || head.at >= head.size {
            break;
        }
    }
    sys::close(file);
    Some(())
}

/// The sum of a path in this generation; never 0.
fn mixed(path: &[u8]) -> u64 {
    let generation = u64::from(attach::generation().unwrap_or(0));
    (sum(path) ^ generation.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1
}

fn places(mixed: u64) -> impl Iterator<Item = &'static AtomicU64> {
    let first = (mixed >> 1) as usize;
    (0..PROBES).map(move |probe| &TOLD[(first + probe) % TOLD_MAX])
}

/// Whether it was told of a path, or of a folder above it: that was not there, or is empty.
fn is_told(path: &[u8]) -> bool {
    let mut end = path.len();
    while let Some(above) = path.get(..end).filter(|above| !above.is_empty()) {
        let mixed = mixed(above);
        if places(mixed).any(|place| place.get() == mixed) {
            return true;
        }
        end = above.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    }
    false
}

fn remember(path: &[u8]) {
    let mixed = mixed(path);
    if let Some(place) = places(mixed).find(|place| place.get() == 0) {
        place.set(mixed);
    }
}
