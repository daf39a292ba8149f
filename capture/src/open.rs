//! Opening reels and packet captures by path.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use netreel_record::{OpenError, OpenWhy, OpenedSession, Openings, OtherFile, open_session_with};
use netreel_reel::Reel;
use netreel_system::Cancel;

use crate::import::{ImportError, Origin, observe};
use crate::pcap::{is_capture, is_compressed};

/// Opens a reel, as [`netreel_record::open`] does. A pcap or pcapng file is imported into memory.
///
/// # Errors
/// There is no such file, or it is neither.
pub fn open(path: impl AsRef<Path>) -> Result<Reel, OpenError> {
    let path = path.as_ref();
    match capture(path, &Cancel::default()) {
        Ok(Some((reel, _))) => Ok(reel),
        Ok(None) => netreel_record::open(path),
        Err(why) => Err(why.at(path)),
    }
}

/// Opens every path: a reel, a packet capture, or a folder whose files `*.reel` are opened in the
/// order of their names; the files of one recording as one reel. Fails where not one reel could be opened.
pub fn open_session<P: AsRef<Path>>(paths: &[P]) -> Result<OpenedSession, OpenError> {
    open_session_while(paths, &Cancel::default())
}

/// The same as long as somebody wants it: that is asked while captures are imported, which takes
/// long.
///
/// # Errors
/// As for [`open_session`]; [`OpenWhy::GivenUp`] where nobody wants it any more.
pub fn open_session_while<P: AsRef<Path>>(
    paths: &[P],
    cancel: &Cancel,
) -> Result<OpenedSession, OpenError> {
    open_session_with(paths, None, &|path| capture(path, cancel))
}

/// The same of recordings that are opened again and again.
///
/// # Errors
/// As for [`open_session`].
pub fn open_session_again<P: AsRef<Path>>(
    paths: &[P],
    openings: &mut Openings,
) -> Result<OpenedSession, OpenError> {
    open_session_with(paths, Some(openings), &|path| {
        capture(path, &Cancel::default())
    })
}

/// The observer's reel of the first `bytes` of a packet capture, as though it had been cut there;
/// `None` where the file is no capture.
///
/// # Errors
/// It cannot be read so far.
pub fn open_capture_beginning(
    path: impl AsRef<Path>,
    bytes: u64,
) -> Result<Option<Reel>, OpenError> {
    let path = path.as_ref();
    let opened = || -> Result<Option<Reel>, OpenWhy> {
        let Some(mut file) = capture_file(path)? else {
            return Ok(None);
        };
        let origin = Origin::of(path, &mut file).map_err(unreadable)?;
        let (reel, _) = observe(file.take(bytes), &origin).map_err(unreadable)?;
        Ok(Some(reel))
    };
    opened().map_err(|why| why.at(path))
}

/// The files of the reel at `path`, as [`netreel_record::reel_files`] finds them. A packet capture is
/// one file.
///
/// # Errors
/// As for [`open`].
pub fn reel_files(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, OpenError> {
    let path = path.as_ref();
    match capture_file(path) {
        Ok(Some(_)) => Ok(vec![path.to_owned()]),
        Ok(None) => netreel_record::reel_files(path),
        Err(why) => Err(why.at(path)),
    }
}

fn unreadable(error: impl Into<ImportError>) -> OpenWhy {
    OpenWhy::Other(Box::new(error.into()))
}

/// The observer's reel of a packet capture, and what is not in it; `None` where the file is none.
fn capture(path: &Path, cancel: &Cancel) -> Result<Option<OtherFile>, OpenWhy> {
    let Some(mut file) = capture_file(path)? else {
        return Ok(None);
    };
    let origin = Origin::of(path, &mut file).map_err(unreadable)?;
    let imported = observe(WhileWanted { file, cancel }, &origin);
    if cancel.goes_on() {
        Ok(Some(imported.map_err(unreadable)?))
    } else {
        Err(OpenWhy::GivenUp)
    }
}

/// A file that ends where nobody wants more of it. It is read in large pieces.
struct WhileWanted<'a> {
    file: File,
    cancel: &'a Cancel,
}

impl Read for WhileWanted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.goes_on() {
            self.file.read(buffer)
        } else {
            Ok(0)
        }
    }
}

/// A packet capture, opened; `None` where the file is none.
fn capture_file(path: &Path) -> Result<Option<File>, OpenWhy> {
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let file = File::open(path)?;
    let mut start = [0; 4];
    let read = netreel_system::file::read_at(&file, &mut start, 0)?;
    let start = start.get(..read).unwrap_or_default();
    // What is compressed is refused as a capture would be, and not as something that is no reel.
    Ok((is_capture(start) || is_compressed(start)).then_some(file))
}
