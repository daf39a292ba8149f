//! Which of the files that a program read are others than they were.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use netreel_reel::{FoundFile, Reel};
use netreel_replay::program::{FileWas, ReadFile, read_files, sum};
use netreel_system::file::{changed_ns, open_at_once};
use netreel_system::os_text;

/// How many are named.
const NAMED_MAX: usize = 3;

/// The files that a program read, as they are before it is started again: it may change them itself.
pub struct Files(Vec<(ReadFile, io::Result<Metadata>)>);

impl Files {
    /// Looks at each that the program does not find as it found it; opens none.
    pub fn look(reel: &Reel, kept: &[FoundFile]) -> Files {
        let is_kept = |file: &ReadFile| {
            kept.iter()
                .any(|it| path(file).starts_with(os_text(&it.path)))
        };
        let files = read_files(reel).into_iter().filter(|it| !is_kept(it));
        let looked = files.map(|file| {
            let now = path(&file).metadata();
            (file, now)
        });
        Files(looked.collect())
    }

    /// A sentence for each file that is another than when the recorded program first read it.
    pub fn changed(&self) -> Vec<String> {
        let (mut told, mut more) = (Vec::new(), 0);
        for (file, now) in &self.0 {
            let Some(how) = how(&path(file), now, file.was) else {
                continue;
            };
            let written = if file.written {
                ", and the program writes it itself: it is too long to be kept; give it the one that it found then"
            } else {
                ""
            };
            if told.len() < NAMED_MAX {
                told.push(format!("the file {} {how}{written}", path(file).display()))
            } else {
                more += 1
            }
        }
        if more > 0 {
            told.push(format!("{more} more files that it read differ as well"));
        }
        told
    }
}

fn path(file: &ReadFile) -> PathBuf {
    os_text(&file.path).into()
}

fn how(path: &Path, now: &io::Result<Metadata>, was: FileWas) -> Option<&'static str> {
    const ANOTHER: &str = "has another content than when it read it";
    let (now, was_size) = match (now, was) {
        (Err(_), FileWas::Missing) => return None,
        // The kernel's, of a process that is gone: older recorders took it for a file.
        (Err(_), FileWas::Summed { size: 0, .. }) if path.starts_with("/proc") => return None,
        (Ok(_), FileWas::Missing) => return Some("is there, and was not when it looked for it"),
        (Err(_), _) => return Some("that it read is gone"),
        (Ok(now), FileWas::Summed { size, .. } | FileWas::Dated { size, .. }) => (now, size),
    };
    // The path is a reel's, which may name anything: a device, a pipe.
    if !now.is_file() || now.len() != was_size {
        return Some(ANOTHER);
    }
    match was {
        FileWas::Summed { size: 0, .. } | FileWas::Missing => None,
        FileWas::Summed { sum: then, .. } => {
            let sum = summed(path, now);
            sum.is_some_and(|sum| sum != then).then_some(ANOTHER)
        }
        FileWas::Dated { changed: then, .. } => {
            (changed_ns(now) != then).then_some("that it read was changed since")
        }
    }
}

/// The checksum of a file; `None` where it is not the one any more that it was before.
fn summed(path: &Path, before: &Metadata) -> Option<u64> {
    let is_same = |now: &Metadata| now.is_file() && changed_ns(now) == changed_ns(before);
    let file = open_at_once(path)
        .ok()
        .filter(|it| it.metadata().is_ok_and(|it| is_same(&it)))?;
    let mut bytes = Vec::new();
    let size = before.len();
    file.take(size.saturating_add(1))
        .read_to_end(&mut bytes)
        .ok()?;
    (bytes.len() as u64 == size).then(|| sum(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn how_is(path: &Path, was: FileWas) -> Option<&'static str> {
        how(path, &path.metadata(), was)
    }

    #[test]
    fn what_is_no_file_is_never_read() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        for size in [0, 5] {
            let was = FileWas::Summed { size, sum: 1 };
            for path in [Path::new("/dev/zero"), &fifo] {
                assert!(how_is(path, was).is_some(), "{}", path.display());
            }
        }
    }

    #[test]
    fn a_file_that_was_changed_before_any_calendar_is_another() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let long_ago = std::time::UNIX_EPOCH - std::time::Duration::from_secs(20_000_000_000);
        // Not every file system knows of such times.
        let _ = file.as_file().set_modified(long_ago);
        let was = FileWas::Dated {
            size: 0,
            changed: 5,
        };
        let told = how_is(file.path(), was);
        assert_eq!(told, Some("that it read was changed since"));
    }
}
