//! Which recorders are at work in a folder: each has a file there that it holds a lock on, as long
//! as it lives.

use std::fs;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use netreel_system::file::lock;
use netreel_system::trigger::{self, Target};

use crate::anchor::utc_now_ns;
use crate::file::is_in_hand;

/// Beside a recorder's own file: what is said of the trigger that it is sent, and of which moment it is.
const TOLD: &str = "told";

/// What files of a recorder's own begin with; its process id follows.
pub const OWN: &str = ".netreel-";
/// What a folder of a recorder's own in the system's temporary folder begins with; its process id
/// follows.
pub const TEMPORARY: &str = "netreel-";
/// The same for the folder of a replay, whose path has to be as short as can be.
pub const TEMPORARY_REPLAY: &str = "nr";
/// In the folder of a replay: the library that is loaded into the program.
pub const REPLAY_LIBRARY: &str = "l.so";
/// In the folder of a replay: the socket that the program finds it by.
pub const REPLAY_SOCKET: &str = "s";
/// In the folder of a replay: the files that the program writes.
pub const REPLAY_FILES: &str = "f";
const RECORDER: &str = "recorder";

/// Shows that this process records in ring mode. The file goes when this is dropped.
#[derive(Debug)]
pub struct Presence {
    path: PathBuf,
    _locked: File,
}

impl Presence {
    /// Shows it in `folder`. `signal` is the one that is a trigger.
    pub fn show(folder: &Path, signal: Option<i32>) -> io::Result<Presence> {
        let path = folder.join(format!("{OWN}{}.{RECORDER}", std::process::id()));
        let mut file = File::create(&path)?;
        lock(&file)?;
        writeln!(file, "{}", signal.unwrap_or(0))?;
        Ok(Presence {
            path,
            _locked: file,
        })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A recorder in ring mode that is at work.
#[derive(Debug)]
pub struct PresentRecorder {
    /// Its process id.
    pub process: u32,
    signal: i32,
    shown: PathBuf,
}

impl PresentRecorder {
    /// Those that record into `folder`, in the order of their process ids.
    pub fn find(folder: &Path) -> io::Result<Vec<PresentRecorder>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(process) = owner(&path, RECORDER) else {
                continue;
            };
            let text = fs::read_to_string(&path).unwrap_or_default();
            if let (true, Ok(signal)) = (is_in_hand(&path), text.trim().parse()) {
                found.push(PresentRecorder {
                    process,
                    signal,
                    shown: path,
                });
            }
        }
        found.sort_by_key(|recorder| recorder.process);
        Ok(found)
    }

    /// Pulls the triggers of all these, which keep one window together; `text` says why, if it is not
    /// empty. `false` for one that was started without a signal for that, an error for one that is
    /// gone, or another user's.
    pub fn trigger(all: &[PresentRecorder], text: &str) -> Vec<io::Result<bool>> {
        let utc_ns = utc_now_ns();
        all.iter().map(|it| it.trigger_for(utc_ns, text)).collect()
    }

    /// Pulls its triggers for this moment.
    fn trigger_for(&self, utc_ns: i64, text: &str) -> io::Result<bool> {
        if !trigger::is_signal(self.signal) {
            return Ok(false);
        }
        let process = Target::of(self.process)?;
        // As long as the lock is held, the number is still that process's.
        if !is_in_hand(&self.shown) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if !text.is_empty() {
            fs::write(self.shown.with_extension(TOLD), format!("{utc_ns}\n{text}"))?;
        }
        process.send(self.signal, utc_ns)?;
        Ok(true)
    }
}

/// What was said to this process of the trigger of this moment, by whoever pulled the triggers of those
/// that record into `folder`.
pub(crate) fn told(folder: &Path, utc_ns: i64) -> Option<String> {
    let path = folder.join(format!("{OWN}{}.{TOLD}", std::process::id()));
    let text = fs::read_to_string(&path).ok()?;
    let (moment, text) = text.split_once('\n')?;
    let is_meant = moment.parse() == Ok(utc_ns);
    is_meant.then(|| {
        let _ = fs::remove_file(&path);
        text.to_owned()
    })
}

/// The process whose own file this is, if it is one of that kind: `.netreel-123.so`.
pub(crate) fn owner(path: &Path, kind: &str) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_prefix(OWN)?;
    let (process, found) = name.split_once('.')?;
    (found == kind).then(|| process.parse().ok())?
}
