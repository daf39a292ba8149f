//! What recorders that were killed have left, and nobody uses any more.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use netreel_reel::ring::{RING_MAGIC, RING_PAGE, read_record, record_length};
use netreel_system::file::MappedFiles;
use netreel_system::process::is_gone;

use crate::file::{is_being_written, is_in_hand};
use crate::presence::{
    REPLAY_FILES, REPLAY_LIBRARY, REPLAY_SOCKET, TEMPORARY, TEMPORARY_REPLAY, owner,
};
use crate::recorder::ring_path;
use crate::rings::RINGS_MAX;
use crate::series::named_like_parts;

/// Removes from `folder` what recorders that were killed have left, and makes the ring files of
/// their reels as short as what they hold, and removes what they left in the system's temporary
/// folder. What a living process uses stays, and so does every event. Does what it may, and no more: a
/// folder that cannot be written to stays as it is.
pub fn tidy(folder: &Path) {
    tidy_one(folder);
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten();
    for folder in entries.flatten() {
        if is_left_by(recorder, &folder) {
            tidy_one(&folder.path());
        } else if is_left_by(replay, &folder) {
            tidy_replay(&folder.path());
        } else {
            continue;
        }
        // Where something is left in it, it stays.
        let _ = fs::remove_dir(folder.path());
    }
}

/// Whether a process that has ended made this folder; `process` has its number of the folder's name.
fn is_left_by(process: fn(&str) -> Option<u32>, folder: &fs::DirEntry) -> bool {
    let process = folder.file_name().to_str().and_then(process);
    let is_folder = folder.file_type().is_ok_and(|kind| kind.is_dir());
    is_folder && process.is_some_and(is_gone)
}

/// The recorder that made a folder because others could not use the folder of its reels.
fn recorder(name: &str) -> Option<u32> {
    name.strip_prefix(TEMPORARY)?.parse().ok()
}

fn replay(name: &str) -> Option<u32> {
    let (process, again) = name.strip_prefix(TEMPORARY_REPLAY)?.split_once('.')?;
    let _: u32 = again.parse().ok()?;
    process.parse().ok()
}

/// The program that was played again may have outlived its replay.
fn tidy_replay(folder: &Path) {
    let library = folder.join(REPLAY_LIBRARY);
    let is_used = |library: &Path| {
        !is_free(library) || MappedFiles::look().is_none_or(|used| used.has(library))
    };
    if library.exists() && is_used(&library) {
        return;
    }
    for left in [library, folder.join(REPLAY_SOCKET)] {
        let _ = fs::remove_file(left);
    }
    let _ = fs::remove_dir_all(folder.join(REPLAY_FILES));
}

/// Whether nobody holds it locked.
fn is_free(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| !is_being_written(&file))
}

fn tidy_one(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let mut leftovers: Vec<&PathBuf> = Vec::new();
    let mut rings: Vec<&PathBuf> = Vec::new();
    for path in &paths {
        if let Some(process) = ["so", "recorder", "told"]
            .iter()
            .find_map(|kind| owner(path, kind))
        {
            // Who lives may be about to lock the file.
            leftovers.extend((is_gone(process) && is_free(path)).then_some(path));
        } else if let Some(process) = owner(path, "socket") {
            // It has no lock of its own; its library was there before it.
            let library = path.with_extension("so");
            let alive = library.exists() && !is_free(&library);
            if !alive && is_gone(process) {
                leftovers.push(path);
            }
        } else if path.extension().is_some_and(|it| it == "ring") {
            rings
                .extend((is_large(path) && !is_recorded(&path.with_extension(""))).then_some(path));
        }
    }
    if leftovers.is_empty() && rings.is_empty() {
        return;
    }
    let Some(used) = MappedFiles::look() else {
        return;
    };
    let unused = |path: &&&PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        let named = name.is_some_and(|name| used.has_name(&name));
        !named && !used.has(path)
    };
    for path in leftovers.iter().filter(unused) {
        let _ = fs::remove_file(path);
    }
    for path in rings.iter().filter(unused) {
        let _ = shorten(path);
    }
}

/// Whether somebody records the reel at `base` now.
pub fn is_recorded(base: &Path) -> bool {
    let parts = named_like_parts(base);
    let mut files = parts.iter().map(PathBuf::as_path).chain([base]);
    files.any(is_in_hand)
}

/// One that was shortened holds what was in half a second.
fn is_large(ring: &Path) -> bool {
    ring.metadata().is_ok_and(|file| file.len() > 256 << 10)
}

/// Writes the ring file anew, with no more room than its events take.
fn shorten(path: &Path) -> io::Result<()> {
    let length = path.metadata()?.len();
    if length > RINGS_MAX || ring_path(&path.with_extension("")) != path {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let bytes = fs::read(path)?;
    let short = shortened(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    if short.len() as u64 >= length {
        return Ok(());
    }
    let made = path.with_extension("ring-short");
    let written = fs::write(&made, short).and_then(|()| fs::rename(&made, path));
    if written.is_err() {
        let _ = fs::remove_file(&made);
    }
    written
}

/// `None` for bytes that are no ring file.
fn shortened(bytes: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let capacity = u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?) as usize;
    if !bytes.starts_with(&RING_MAGIC) || capacity == 0 || !capacity.is_multiple_of(RING_PAGE) {
        return None;
    }
    let mut rings = Vec::new();
    let mut at = RING_PAGE;
    while let Some(data) = bytes.get(at + RING_PAGE..at + RING_PAGE + capacity) {
        let (tail, head) = (number(at + 64)?, number(at + 128)?);
        let (mut events, mut place) = (Vec::new(), head);
        while let Some((record, after)) = read_record(data, place, tail) {
            let length = record_length(record.body.len());
            let start = ((after - length as u64) % capacity as u64) as usize;
            events.extend_from_slice(data.get(start..start + length)?);
            place = after;
        }
        let dropped = number(at + 192)? > 0;
        if !events.is_empty() || dropped {
            rings.push((at, events));
        }
        at += RING_PAGE + capacity;
    }
    if rings.is_empty() {
        rings.push((RING_PAGE, Vec::new()));
    }
    let longest = rings.iter().map(|(_, events)| events.len()).max()?;
    let room = longest.next_multiple_of(RING_PAGE).max(RING_PAGE);
    let mut short = bytes.get(..RING_PAGE)?.to_vec();
    short
        .get_mut(12..16)?
        .copy_from_slice(&(room as u32).to_le_bytes());
    for (at, mut events) in rings {
        let mut head = bytes.get(at..at + RING_PAGE)?.to_vec();
        head.get_mut(64..72)?
            .copy_from_slice(&(events.len() as u64).to_le_bytes());
        head.get_mut(128..136)?.copy_from_slice(&0u64.to_le_bytes());
        short.extend(head);
        events.resize(room, 0);
        short.extend(events);
    }
    Some(short)
}

#[cfg(test)]
mod tests {
    use netreel_system::file::lock;

    use super::*;

    fn left_by_a_replay() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in [REPLAY_LIBRARY, REPLAY_SOCKET] {
            fs::write(folder.path().join(name), [0]).expect("a file in it");
        }
        folder
    }

    #[test]
    fn what_a_killed_replay_left_is_removed() {
        let folder = left_by_a_replay();
        tidy_replay(folder.path());
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
    }

    #[test]
    fn a_replay_whose_library_is_locked_keeps_it() {
        let folder = left_by_a_replay();
        let library = File::open(folder.path().join(REPLAY_LIBRARY)).expect("the library");
        lock(&library).expect("a lock");
        tidy_replay(folder.path());
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
    }
}
