//! Reels in files: the operating system's side of `ReadAt` and `Append`.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use netreel_reel::{Append, AppendError, ReadAt, ReadError};

use crate::forked::KeptFromChildren;

/// A file to read a reel from.
#[derive(Debug)]
pub struct FileSource(File);

impl FileSource {
    /// Reads from `file`, which must be a regular one.
    pub fn new(file: File) -> FileSource {
        FileSource(file)
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}

impl ReadAt for FileSource {
    fn length(&self) -> Result<u64, ReadError> {
        let metadata = self.0.metadata();
        Ok(metadata
            .map_err(|error| ReadError {
                offset: 0,
                code: os_code(&error),
            })?
            .len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(filled as u64);
            match self.0.read_at(rest, at) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(ReadError {
                        offset: at,
                        code: os_code(&error),
                    });
                }
            }
        }
        Ok(filled)
    }
}

/// A file that a reel is written to.
#[derive(Debug)]
pub struct FileAppend {
    // Before the file, which is closed after it.
    _kept: KeptFromChildren,
    file: File,
    length: u64,
}

impl FileAppend {
    /// Appends to `file`, which is empty, and locks it (`flock`) for as long as this lives: whoever
    /// follows the reel sees by it that there is a recorder, and loses it with the process, however
    /// that ends; a forked child has no part in it.
    pub fn new(file: File) -> FileAppend {
        let kept = KeptFromChildren::new(&file);
        // Where the file system has no locks, a follower takes a recorder that is alive for dead.
        let _ = lock(&file);
        FileAppend {
            _kept: kept,
            file,
            length: 0,
        }
    }

    /// How many bytes were appended by calls that succeeded.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl Append for FileAppend {
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        let end = self.length.saturating_add(bytes.len() as u64);
        match within_limit(end).and_then(|()| self.file.write_all(bytes)) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Takes away what a full disk took of the block, so that the reel ends whole.
                // Should this fail as well, a reader meets a torn block and copes.
                let _ = self.file.set_len(self.length);
                // It may be tried again.
                let _ = self.file.seek(SeekFrom::Start(self.length));
                Err(AppendError(os_code(&error)))
            }
        }
    }
}

/// Locks a file of this process's own, for as long as it is open. Whoever looks whether it is locked
/// has a lock of it for a moment: then it is tried again, for a tenth of a second at most.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    let mut left = 100;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if left > 0 => left -= 1,
            done => return Ok(done?),
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Whether somebody writes a reel into `file`, which was opened for reading.
pub(crate) fn is_being_written(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _ = flock(file, FlockOperation::Unlock);
            false
        }
        Err(error) => error == rustix::io::Errno::WOULDBLOCK,
    }
}

/// Refuses to let a file grow to `end` bytes where the process's limit forbids it: the attempt
/// would end the recorded program with SIGXFSZ.
pub(crate) fn within_limit(end: u64) -> io::Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    match limit {
        Some(limit) if end > limit => Err(rustix::io::Errno::FBIG.into()),
        _ => Ok(()),
    }
}

/// The operating system's code of an error; `EIO` where there is none.
pub(crate) fn os_code(error: &io::Error) -> i32 {
    let code = if error.kind() == io::ErrorKind::WriteZero {
        rustix::io::Errno::NOSPC.raw_os_error()
    } else {
        rustix::io::Errno::IO.raw_os_error()
    };
    error.raw_os_error().unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_file_is_locked_although_somebody_looks_whether_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.reel");
        File::create(&path).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let file = File::open(&path).unwrap();
                while !done.load(Ordering::Relaxed) {
                    is_being_written(&file);
                }
            });
            let locked = (0..2000).all(|_| lock(&File::open(&path).unwrap()).is_ok());
            done.store(true, Ordering::Relaxed);
            assert!(locked);
        });
    }
}
