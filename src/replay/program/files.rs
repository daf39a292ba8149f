//! Which of the files that a program read, and of the descriptors that it was started with, are others than
//! they were, and what stands for these when it is started again.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use netreel_capture::preload::{Descriptor, Standard, Terminal, WrittenFile};
use netreel_reel::{FoundFile, Reel, is_terminal};
use netreel_replay::program::{Began, FileWas, Held, ReadFile, read_files, sum};
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

/// Linux's flags of descriptors, as reels have them: to read and write, and which bits say that.
const READ_WRITE: i32 = 2;
const ACCESS: u32 = 3;
/// How many threads are named.
const HELD_NAMED_MAX: usize = 8;

/// Those behind the first three, and a sentence for each that is another one than recorded. A file that
/// was only read is opened again, and read on from where it was.
pub fn held(began: &Began) -> (Vec<Descriptor>, Vec<String>) {
    let (mut all, mut told, mut more) = (Vec::new(), Vec::new(), 0);
    for (fd, target) in began.descriptors.iter().filter(|(fd, _)| *fd > 2) {
        let (file, how) = held_again(target, began.held.get(fd));
        if let Some(how) = how {
            if told.len() < HELD_NAMED_MAX {
                told.push(format!("descriptor {fd} led to {target}, {how}"))
            } else {
                more += 1
            }
        }
        let file = file.map(|position| (target.into(), position));
        all.push(Descriptor { fd: *fd, file });
    }
    if more > 0 {
        told.push(format!(
            "{more} more descriptors lead to nothing as well, and did not"
        ));
    }
    (all, told)
}

/// The first three, each of the kind that it was, and a sentence for each that is another one than
/// recorded.
pub fn standard(began: &Began) -> ([Option<Standard>; 3], Vec<String>) {
    let mut told = Vec::new();
    let each = [0, 1, 2].map(|fd| {
        let (_, target) = began.descriptors.iter().find(|(it, _)| *it == fd)?;
        let (kind, how) = of_kind(began, fd, target);
        let how = how.map(|how| format!("descriptor {fd} led to {target}, {how}"));
        told.extend(how);
        Some(kind)
    });
    (each, told)
}

/// How many rows and columns a terminal has of which nothing is known.
const USUAL_SIZE: (u16, u16) = (24, 80);

fn of_kind(began: &Began, fd: i32, target: &str) -> (Standard, Option<&'static str>) {
    let numbered = |kind: &str| {
        let number = target.strip_prefix(kind)?.strip_suffix(']')?;
        number.parse().ok()
    };
    let held = began.held.get(&fd);
    let nothing = Standard::Nothing(held.map_or(READ_WRITE, |it| it.flags as i32));
    if target == "/dev/null" {
        return (nothing, None);
    }
    if let Some(number) = numbered("pipe:[") {
        return (Standard::Pipe(number), None);
    }
    if let Some(number) = numbered("socket:[") {
        return (Standard::Socket(number), None);
    }
    if is_terminal(target) {
        let size = began.terminals.get(&fd).copied();
        let terminal = Terminal {
            path: target.to_owned(),
            size: size.unwrap_or(USUAL_SIZE),
        };
        return (Standard::Terminal(terminal), None);
    }
    let Some(held) = held else {
        return (nothing, Some(NOTHING));
    };
    if held.flags & ACCESS != 0 {
        let written = WrittenFile {
            path: target.into(),
            flags: held.flags as i32,
            position: held.position,
        };
        return (Standard::Written(written), None);
    }
    let (position, how) = held_again(target, Some(held));
    let read = Standard::Read {
        path: position.map(|_| target.into()),
        position: held.position,
    };
    (read, how)
}

const NOTHING: &str = "and leads to nothing now (/dev/null)";
const CHANGED: &str = "which was changed since";

/// From where a file is read again, where it can be, and how the descriptor is another one than it was.
fn held_again(target: &str, held: Option<&Held>) -> (Option<u64>, Option<&'static str>) {
    if target == "/dev/null" {
        return (None, None);
    }
    let Some(held) = held.filter(|held| held.flags & ACCESS == 0) else {
        return (None, Some(NOTHING));
    };
    // The path is a reel's, which may name anything: a device, a pipe.
    let Some(now) = Path::new(target).metadata().ok().filter(|it| it.is_file()) else {
        return (
            None,
            Some("which is gone: it leads to nothing now (/dev/null)"),
        );
    };
    let is_same = now.len() == held.size && changed_ns(&now) == held.changed;
    (Some(held.position), (!is_same).then_some(CHANGED))
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
