//! Opening reels by path.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_reel::ring::RING_PAGE;
use netreel_reel::{Ending, ReadAt, ReadError, Reel};

use crate::file::FileSource;
use crate::recorder::ring_path;
use crate::rings::RINGS_MAX;

/// A reel with the path that it came from.
#[derive(Clone, Debug)]
pub struct OpenedReel {
    /// The file.
    pub path: PathBuf,
    /// The reel.
    pub reel: Arc<Reel>,
}

/// The reels of a session, sorted by file name, and those that could not be opened.
#[derive(Debug)]
pub struct OpenedSession {
    /// The reels; at least one.
    pub reels: Vec<OpenedReel>,
    /// What could not be opened.
    pub failed: Vec<OpenError>,
}

/// A path that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", .path.display())]
pub struct OpenError {
    /// The path.
    pub path: PathBuf,
    /// Why.
    pub why: OpenWhy,
}

/// Why a path could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenWhy {
    /// The operating system refused.
    #[error("cannot open it: {0}")]
    Io(#[from] io::Error),
    /// It is neither a file nor a folder.
    #[error("it is neither a file nor a folder; a reel is read from a file")]
    NotAFile,
    /// The file is not a reel that can be read.
    #[error(transparent)]
    Reel(#[from] netreel_reel::OpenError),
    /// A folder without reels.
    #[error("there is no file *.reel in this folder")]
    NoReels,
    /// No path was given.
    #[error("name a reel, or a folder of reels")]
    NoPath,
}

/// Opens a reel with what its ring file (`NAME.reel.ring` beside it) still holds.
pub fn open(path: impl AsRef<Path>) -> Result<Reel, OpenError> {
    let path = path.as_ref();
    open_file(path).map_err(|why| OpenError {
        path: path.to_owned(),
        why,
    })
}

/// Opens every path: a reel, or a folder whose files `*.reel` are opened in the order of their
/// names. Fails where not one reel could be opened.
pub fn open_session<P: AsRef<Path>>(paths: &[P]) -> Result<OpenedSession, OpenError> {
    let mut session = OpenedSession {
        reels: Vec::new(),
        failed: Vec::new(),
    };
    for path in paths {
        let path = path.as_ref();
        match files(path) {
            Ok(files) => files.into_iter().for_each(|path| session.open(path)),
            Err(why) => session.failed.push(OpenError {
                path: path.to_owned(),
                why,
            }),
        }
    }
    if session.reels.is_empty() {
        let nothing = || OpenError {
            path: PathBuf::new(),
            why: OpenWhy::NoPath,
        };
        return Err(session.failed.into_iter().next().unwrap_or_else(nothing));
    }
    session
        .reels
        .sort_by(|a, b| (a.path.file_name(), &a.path).cmp(&(b.path.file_name(), &b.path)));
    session.reels.dedup_by(|a, b| a.path == b.path);
    Ok(session)
}

impl OpenedSession {
    fn open(&mut self, path: PathBuf) {
        match open(&path) {
            Ok(reel) => self.reels.push(OpenedReel {
                path,
                reel: Arc::new(reel),
            }),
            Err(error) => self.failed.push(error),
        }
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, OpenWhy> {
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let file = entry?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "reel")
        {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        Err(OpenWhy::NoReels)
    } else {
        Ok(files)
    }
}

fn open_file(path: &Path) -> Result<Reel, OpenWhy> {
    // A pipe would keep the opening waiting for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(OpenWhy::NotAFile);
    }
    let source: Arc<dyn ReadAt> = Arc::new(FileSource::new(File::open(path)?));
    let reel = Reel::open(source.clone())?;
    if *reel.ending() == Ending::Clean || reel.identity() == 0 {
        return Ok(reel);
    }
    let Some(rings) = read_rings(&ring_path(path)) else {
        return Ok(reel);
    };
    Ok(Reel::open_with_rings(source, &rings)?)
}

/// The bytes of a ring file, if there is one.
///
/// A recorder may be at work on it: what was given back while this read may be overwritten, so
/// the heads are read again at the end. What lies before them is in the reel by then.
fn read_rings(path: &Path) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let source = FileSource::new(File::open(path).ok()?);
    let length = source.length().ok().filter(|length| *length <= RINGS_MAX)?;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    let read = |offset: u64, part: &mut [u8]| -> Result<(), ReadError> {
        source.read_at(offset, part).map(|_| ())
    };
    read(0, &mut bytes).ok()?;
    let capacity = u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?) as usize;
    let mut at = RING_PAGE;
    while let Some(head) = bytes.get_mut(at + 128..at + 136) {
        read(at as u64 + 128, head).ok()?;
        at = at.checked_add(RING_PAGE)?.checked_add(capacity)?;
    }
    Some(bytes)
}
