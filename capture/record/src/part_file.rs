//! The files of recordings in many parts, of which only some are open at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use netreel_reel::{ReadAt, ReadError};
use netreel_system::file::{FileIdentity, open_files_max};
use netreel_system::locked;

use crate::file::{FileSource, failed_at};

/// A file to read a part from. It is closed when too many others are open, and opened again when
/// it is read; should it be gone by then, or another file have its name, it cannot be read.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    identity: FileIdentity,
    open: Mutex<Option<Arc<FileSource>>>,
}

/// Those that are open, in the order in which they were opened.
static OPEN: Mutex<VecDeque<Weak<PartFile>>> = Mutex::new(VecDeque::new());
/// How many are open at most, whatever the system allows.
const OPEN_MAX: u64 = 512;
/// And this many at least.
const OPEN_MIN: u64 = 8;

impl PartFile {
    pub fn open(path: &Path) -> io::Result<Arc<PartFile>> {
        let file = File::open(path)?;
        let part = Arc::new(PartFile {
            path: path.to_owned(),
            identity: FileIdentity::of(&file)?,
            open: Mutex::new(Some(Arc::new(FileSource::new(file)))),
        });
        make_room(&part);
        Ok(part)
    }

    /// The file, open.
    fn source(self: &Arc<PartFile>) -> Result<Arc<FileSource>, ReadError> {
        if let Some(open) = locked(&self.open).as_ref() {
            return Ok(open.clone());
        }
        let same = || {
            let file = File::open(&self.path)?;
            if FileIdentity::of(&file)? == self.identity {
                Ok(file)
            } else {
                Err(io::ErrorKind::StaleNetworkFileHandle.into())
            }
        };
        let file = same().map_err(|error| failed_at(0, &error))?;
        let source = Arc::new(FileSource::new(file));
        *locked(&self.open) = Some(source.clone());
        make_room(self);
        Ok(source)
    }
}

/// What a reel reads a part from.
pub(crate) struct PartSource(pub(crate) Arc<PartFile>);

impl ReadAt for PartSource {
    fn length(&self) -> Result<u64, ReadError> {
        self.0.source()?.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        self.0.source()?.read_at(offset, buffer)
    }
}

/// Closes those that were opened first, where there are too many beside `part`.
fn make_room(part: &Arc<PartFile>) {
    let half = open_files_max().map_or(OPEN_MAX, |limit| limit / 2);
    let max = half.clamp(OPEN_MIN, OPEN_MAX) as usize;
    let mut open = locked(&OPEN);
    open.push_back(Arc::downgrade(part));
    if open.len() > max {
        open.retain(|part| part.strong_count() > 0);
    }
    while open.len() > max {
        // Whoever reads it right now has it open until then.
        if let Some(first) = open.pop_front().and_then(|first| first.upgrade()) {
            *locked(&first.open) = None;
        }
    }
}
