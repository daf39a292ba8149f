//! Reels in files: the operating system's side of `ReadAt` and `Append`.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use netreel_reel::{Append, AppendError, ReadAt, ReadError};
pub(crate) use netreel_system::codes::of_file as os_code;
pub(crate) use netreel_system::file::is_locked as is_being_written;
use netreel_system::file::{self, lock, within_limit};
use netreel_system::forked::KeptFromChildren;

/// A file to read a reel from.
#[derive(Debug)]
pub struct FileSource(File);

impl FileSource {
    /// Reads from `file`, which must be a regular one.
    pub fn new(file: File) -> FileSource {
        FileSource(file)
    }

    /// Opens the file at `path`; `None` where it is not a regular one: a pipe would keep the opening
    /// waiting for its other end.
    pub(crate) fn open(path: &Path) -> io::Result<Option<FileSource>> {
        if !std::fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        Ok(Some(FileSource(File::open(path)?)))
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}

/// Whether a recorder has the file in hand.
pub(crate) fn is_in_hand(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| is_being_written(&file))
}

impl ReadAt for FileSource {
    fn length(&self) -> Result<u64, ReadError> {
        match self.0.metadata() {
            Ok(metadata) => Ok(metadata.len()),
            Err(error) => Err(failed_at(0, &error)),
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(filled as u64);
            match file::read_at(&self.0, rest, at) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed_at(at, &error)),
            }
        }
        Ok(filled)
    }
}

pub(crate) fn failed_at(offset: u64, error: &io::Error) -> ReadError {
    let code = os_code(error);
    ReadError { offset, code }
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
    /// Appends to `file`, which is empty, and locks it for as long as this lives: whoever
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
