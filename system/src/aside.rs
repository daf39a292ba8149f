//! Bytes that do not change any more, and are too many to stay in memory.
//!
//! A session of a hundred million packets has more bytes in its columns than many machines have memory. Once
//! more than [`IN_MEMORY`] bytes of full segments are held, what comes next is written into files without a
//! name and mapped: the system writes them out where memory is short, and reads them again where somebody
//! asks. Where more than a quarter of the files' bytes are in the process's memory ([`PAGES`]), all pages are
//! let go, so that a pass over everything holds few at a time. What nobody has any more takes no room in its
//! file, where the system can give that back, and a full file is gone with the last of its parts.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use memmap2::Mmap;

use crate::file::{within_limit, write_all_at};
use crate::locked::locked;

/// How many bytes of full segments stay in memory.
const IN_MEMORY: usize = 8 << 20;

/// How many bytes a file takes.
const FILE: usize = 64 << 20;

/// A part begins at a page of its file; smaller ones stay in memory.
const PAGE: usize = 4096;

/// How many bytes a row counts that is read alone: a page may come with it, but where the system does not say
/// how many bytes are in memory, most rows are taken to be beside others.
const ROW: usize = if cfg!(target_os = "linux") { PAGE } else { 64 };

/// How many bytes of files may be in memory: a quarter of them, in these bounds. A row that is read alone may
/// bring 64 KB with it.
const PAGES: [usize; 2] = [16 << 20, 128 << 20];

/// How many bytes are in files.
static ASIDE: AtomicUsize = AtomicUsize::new(0);

/// How many bytes stay in memory now.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// A thread looks how many bytes of files are in memory once it has read so many.
const LOOK: usize = 2 << 20;

/// How many bytes of files stayed when pages were let go: the program itself, and an index.
static OTHERS: AtomicUsize = AtomicUsize::new(usize::MAX);

thread_local! {
    /// How many bytes this thread has read since it looked.
    static READ: Cell<usize> = const { Cell::new(0) };
}

/// Whether there was ever a file.
static ANY: AtomicBool = AtomicBool::new(false);

static FILES: Mutex<Files> = Mutex::new(Files {
    open: None,
    all: Vec::new(),
});

/// The files that parts are in.
struct Files {
    /// The one that has room, and where that begins.
    open: Option<(Arc<Mapped>, usize)>,
    all: Vec<Weak<Mapped>>,
}

/// A file, mapped as a whole.
struct Mapped {
    file: File,
    map: Mmap,
}

/// A part of a file.
struct Part {
    of: Arc<Mapped>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.of.map[self.range.clone()]
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        ASIDE.fetch_sub(self.range.len(), Ordering::Relaxed);
        give_back(&self.of.file, &self.range);
    }
}

/// Bytes in memory, which are counted as long as they are.
struct Held(Box<[u8]>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0.len(), Ordering::Relaxed);
    }
}

/// The bytes, to be shared: in memory, or in a file where there are many already. Where no file can be
/// written they stay in memory.
pub fn share(bytes: Vec<u8>) -> Bytes {
    let held = HELD.load(Ordering::Relaxed);
    if bytes.len() >= PAGE && held + bytes.len() > IN_MEMORY {
        let put = locked(&FILES).put(&bytes);
        if let Ok(aside) = put {
            touch(bytes.len());
            return aside;
        }
    }
    HELD.fetch_add(bytes.len(), Ordering::Relaxed);
    Bytes::from_owner(Held(bytes.into_boxed_slice()))
}

/// Notes that a row is read alone: of 16 places one, for all of them.
#[inline]
pub fn touch_row(place: usize) {
    if place.is_multiple_of(16) {
        touch(16 * ROW);
    }
}

/// Notes that so many bytes of columns are read.
#[inline]
pub fn touch(bytes: usize) {
    if bytes > 0 && ANY.load(Ordering::Relaxed) {
        count(bytes);
    }
}

fn count(bytes: usize) {
    let read = READ.get() + bytes;
    if read < LOOK {
        return READ.set(read);
    }
    READ.set(0);
    let now = in_memory(read);
    let others = OTHERS.fetch_min(now, Ordering::Relaxed).min(now);
    let may = (ASIDE.load(Ordering::Relaxed) / 4).clamp(PAGES[0], PAGES[1]);
    if now - others > may {
        locked(&FILES).let_go();
        OTHERS.store(in_memory(0), Ordering::Relaxed);
    }
}

impl Files {
    fn put(&mut self, bytes: &[u8]) -> io::Result<Bytes> {
        let has_room = |(_, used): &(Arc<Mapped>, usize)| used + bytes.len() <= FILE;
        let (of, start) = match self.open.take().filter(has_room) {
            Some(open) => open,
            None => (self.create(FILE.max(bytes.len()))?, 0),
        };
        write_all_at(&of.file, bytes, start as u64)?;
        let end = start + bytes.len();
        let range = start..end;
        ASIDE.fetch_add(range.len(), Ordering::Relaxed);
        self.open = Some((of.clone(), end.next_multiple_of(PAGE)));
        Ok(Bytes::from_owner(Part { of, range }))
    }

    /// A new file.
    fn create(&mut self, length: usize) -> io::Result<Arc<Mapped>> {
        within_limit(length as u64)?;
        let file = without_name()?;
        file.set_len(length as u64)?;
        // SAFETY: nobody else has the file, which has no name. It is written where nobody has a part of it
        // yet, and never where somebody has.
        let map = unsafe { Mmap::map(&file)? };
        let mapped = Arc::new(Mapped { file, map });
        self.all.retain(|known| known.strong_count() > 0);
        self.all.push(Arc::downgrade(&mapped));
        ANY.store(true, Ordering::Relaxed);
        Ok(mapped)
    }

    /// Lets go of the pages of all files. They stay in the files.
    fn let_go(&self) {
        for mapped in self.all.iter().filter_map(Weak::upgrade) {
            let_go(&mapped.map);
        }
    }
}

/// Gives back the room that a part has in its file.
#[cfg(target_os = "linux")]
fn give_back(file: &File, range: &Range<usize>) {
    use rustix::fs::{FallocateFlags, fallocate};
    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let length = range.len().next_multiple_of(PAGE);
    // Where the file's system cannot, the room stays taken as long as the file.
    let _ = fallocate(file, how, range.start as u64, length as u64);
}

#[cfg(not(target_os = "linux"))]
fn give_back(_: &File, _: &Range<usize>) {}

/// How many bytes of files are in the process's memory; 0 where nobody says.
#[cfg(target_os = "linux")]
fn in_memory(_: usize) -> usize {
    use std::os::unix::fs::FileExt;
    use std::sync::OnceLock;
    static STATM: OnceLock<Option<File>> = OnceLock::new();
    let statm = STATM.get_or_init(|| File::open("/proc/self/statm").ok());
    let mut told = [0; 128];
    let length = statm.as_ref().map(|statm| statm.read_at(&mut told, 0));
    let length = length.and_then(Result::ok).unwrap_or_default();
    let told = std::str::from_utf8(&told[..length]).unwrap_or_default();
    let pages = told.split(' ').nth(2).and_then(|pages| pages.parse().ok());
    // SAFETY: it asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.map_or(0, |pages: usize| pages.saturating_mul(page as usize))
}

/// As if all that was read stayed.
#[cfg(not(target_os = "linux"))]
fn in_memory(read: usize) -> usize {
    static ALL: AtomicUsize = AtomicUsize::new(0);
    ALL.fetch_add(read, Ordering::Relaxed).saturating_add(read)
}

#[cfg(unix)]
fn let_go(mapped: &Mmap) {
    // SAFETY: the pages are those of a file that is mapped to be read: whoever reads them again gets them
    // from there. Where the system cannot let go of them, they stay.
    let _ = unsafe { mapped.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
}

/// The system lets go of them when others need the memory.
#[cfg(not(unix))]
fn let_go(_: &Mmap) {}

/// A file that is gone with the process: where temporary files that are large belong, which is not where they
/// would be memory again, or else in the folder of all.
///
/// # Errors
/// Neither folder takes one.
pub fn without_name() -> io::Result<File> {
    let named = std::env::var_os("TMPDIR").filter(|it| !it.is_empty());
    let large = cfg!(unix) && named.is_none();
    let in_large = large.then(|| tempfile::tempfile_in("/var/tmp").ok());
    in_large.flatten().map_or_else(tempfile::tempfile, Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_as_they_were_while_others_are_written_and_pages_let_go() {
        let mut files = Files {
            open: None,
            all: Vec::new(),
        };
        let bytes = |nth: u8| vec![nth; 1 + usize::from(nth) * 90_000];
        let mut parts: Vec<(u8, Bytes)> = (0..60)
            .map(|nth| (nth, files.put(&bytes(nth)).unwrap()))
            .collect();
        let large = files.put(&vec![61; FILE + 1]).unwrap();
        assert!(
            files.all.len() > 2,
            "two are full, and one part has its own"
        );
        // What others give back was not theirs.
        parts.retain(|(nth, _)| nth % 3 != 0);
        files.let_go();
        for (nth, part) in &parts {
            assert_eq!(part, &bytes(*nth));
        }
        assert!(large.iter().all(|&byte| byte == 61));
    }

    #[test]
    fn a_file_is_gone_with_the_last_of_its_parts() {
        let mut files = Files {
            open: None,
            all: Vec::new(),
        };
        let part = files.put(b"part").unwrap();
        files.open = None;
        assert_eq!(files.all[0].strong_count(), 1);
        drop(part);
        assert_eq!(files.all[0].strong_count(), 0);
    }
}
