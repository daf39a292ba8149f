//! Many sessions below a folder, several at once, answered in the order of their folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::outcome::{Failure, Result, fail};
use crate::progress::Progress;
use crate::text;

/// The folders in and below `paths` that hold reels, in the order of their names. Each is a session.
pub fn folders(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for path in paths {
        find(path, &mut folders)?;
    }
    folders.sort();
    folders.dedup();
    if folders.is_empty() {
        let paths = text::joined(paths.iter().map(|it| it.display().to_string()), ", ");
        return fail(format!("{paths}: no folder in it holds a .reel file"));
    }
    Ok(folders)
}

/// Adds the folders that hold reels, in the order of their names. Links to folders are not followed.
fn find(path: &Path, folders: &mut Vec<PathBuf>) -> Result {
    let failed = |error: std::io::Error| Failure::at(path, error);
    let mut inside = Vec::new();
    let mut holds_reels = false;
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            inside.push(entry.path())
        } else {
            holds_reels |= entry.path().extension().is_some_and(|it| it == "reel")
        }
    }
    if holds_reels {
        folders.push(path.to_owned());
    }
    inside.sort();
    inside.iter().try_for_each(|inside| find(inside, folders))
}

/// How many processors this program may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Has `work` done for each folder, with this many processors, on all processors together. `tell` is
/// handed what comes of it in the order of the folders. The first failure ends it.
pub fn each<T: Send>(
    folders: &[PathBuf],
    work: impl Fn(&Path, usize) -> Result<T> + Sync,
    mut tell: impl FnMut(&Path, T) -> Result,
) -> Result {
    let processors = processors();
    let threads = processors.min(folders.len()).max(1);
    let next = AtomicUsize::new(0);
    let all = folders.len();
    let progress = Progress::new(format!("0 of {all} sessions"));
    std::thread::scope(|scope| {
        let (done, results) = mpsc::sync_channel(threads);
        for _ in 0..threads {
            let (done, next, work) = (done.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(folder) = folders.get(place) else {
                        return;
                    };
                    let worked = work(folder, processors / threads);
                    if done.send((place, worked)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        // Each waits for those before it.
        let mut waiting = BTreeMap::new();
        let mut places = 0..folders.len();
        let mut place = places.next();
        for (at, worked) in results {
            waiting.insert(at, worked);
            while let Some((folder, worked)) =
                place.and_then(|at| Some((folders.get(at)?, waiting.remove(&at)?)))
            {
                progress.hide();
                tell(folder, worked?)?;
                place = places.next();
                progress.say(format!("{} of {all} sessions", place.unwrap_or(all)));
            }
        }
        Ok(())
    })
}
