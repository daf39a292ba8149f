//! Bytes that do not change any more, and are too many to stay in memory.
//!
//! A session of a hundred million packets has more bytes in its columns than many machines have memory. Once
//! more than [`IN_MEMORY`] bytes of full segments are held, what comes next is written into files without a
//! name and mapped: the system writes them out where memory is short, and reads them again where somebody
//! asks. Every [`READ`] bytes that are read from them, all of their pages are let go, so that a pass over
//! everything holds few at a time. A file is gone when nobody has a part of it any more.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use memmap2::Mmap;

/// How many bytes of full segments stay in memory.
const IN_MEMORY: usize = 256 << 20;

/// How many bytes a file takes.
const FILE: usize = 64 << 20;

/// After so many bytes were read from files or written to them, their pages are let go.
const READ: usize = 128 << 20;

/// How many bytes stay in memory now.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// How many bytes were read since pages were let go.
static TOUCHED: AtomicUsize = AtomicUsize::new(0);

static FILES: Mutex<Files> = Mutex::new(Files {
    open: None,
    all: Vec::new(),
});

/// The files that parts are in.
struct Files {
    /// The one that has room.
    open: Option<Open>,
    all: Vec<Weak<Mmap>>,
}

/// A file that has room.
struct Open {
    file: File,
    mapped: Bytes,
    used: usize,
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

/// A mapped file.
struct Mapped(Arc<Mmap>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The bytes, to be shared: in memory, or in a file where there are many already. Where no file can be
/// written they stay in memory.
pub(crate) fn share(bytes: Vec<u8>) -> Bytes {
    if HELD.load(Ordering::Relaxed) >= IN_MEMORY {
        let put = files().put(&bytes);
        if let Ok(aside) = put {
            touch(bytes.len());
            return aside;
        }
    }
    HELD.fetch_add(bytes.len(), Ordering::Relaxed);
    Bytes::from_owner(Held(bytes.into_boxed_slice()))
}

/// Notes that so many bytes are read that may be in files.
#[inline]
pub(crate) fn touch(bytes: usize) {
    if TOUCHED.fetch_add(bytes, Ordering::Relaxed) > READ {
        TOUCHED.store(0, Ordering::Relaxed);
        files().let_go();
    }
}

fn files() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    fn put(&mut self, bytes: &[u8]) -> io::Result<Bytes> {
        if bytes.len() > FILE / 4 {
            let (_, mapped) = self.create(bytes.len(), |file| write_at(file, bytes, 0))?;
            return Ok(mapped);
        }
        let has_room = |open: &Open| open.used + bytes.len() <= FILE;
        let mut open = match self.open.take().filter(has_room) {
            Some(open) => open,
            None => {
                let (file, mapped) = self.create(FILE, |_| Ok(()))?;
                let used = 0;
                Open { file, mapped, used }
            }
        };
        let start = open.used;
        write_at(&open.file, bytes, start as u64)?;
        open.used += bytes.len();
        let part = open.mapped.slice(start..open.used);
        self.open = Some(open);
        Ok(part)
    }

    /// A new file, which is filled before it is mapped.
    fn create(
        &mut self,
        length: usize,
        fill: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<(File, Bytes)> {
        let file = tempfile::tempfile_in(folder())?;
        file.set_len(length as u64)?;
        fill(&file)?;
        // SAFETY: nobody else has the file, which has no name. It is written where nobody has a part of it
        // yet, and never where somebody has.
        let mapped = Arc::new(unsafe { Mmap::map(&file)? });
        self.all.retain(|known| known.strong_count() > 0);
        self.all.push(Arc::downgrade(&mapped));
        Ok((file, Bytes::from_owner(Mapped(mapped))))
    }

    /// Lets go of the pages of all files. They stay in the files.
    fn let_go(&self) {
        for mapped in self.all.iter().filter_map(Weak::upgrade) {
            let_go(&mapped);
        }
    }
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

/// Where files without a name belong that may be large: not where they would be memory again.
fn folder() -> PathBuf {
    let large = PathBuf::from("/var/tmp");
    match std::env::var_os("TMPDIR") {
        None if cfg!(unix) && large.is_dir() => large,
        _ => std::env::temp_dir(),
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
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
        let parts: Vec<Bytes> = (0..40).map(|nth| files.put(&bytes(nth)).unwrap()).collect();
        let large = files.put(&vec![41; FILE / 2]).unwrap();
        assert!(
            files.all.len() > 2,
            "one file is full, and one part has its own"
        );
        files.let_go();
        for (nth, part) in (0..).zip(&parts) {
            assert_eq!(part, &bytes(nth));
        }
        assert!(large.iter().all(|&byte| byte == 41));
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
