//! A scenario that is being written: played once more whenever it is saved.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::sums::Played;
use crate::arguments::Run;
use crate::outcome::{Answer, Failure, Result};

/// Between two looks at whether something was saved.
const LOOK: Duration = Duration::from_millis(200);

/// Plays a loop once.
type Play = fn(&Run, &str, &mut dyn Write) -> Result<Played>;

/// Plays until somebody ends it. A mistake in the file, or a match that went wrong, is told and waits for the
/// next time that something is saved.
///
/// # Errors
/// Somebody ended a match, or reads no more.
pub fn watch(arguments: &Run, (level, play): (&str, Play), out: &mut dyn Write) -> Result<Answer> {
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let default = || PathBuf::from(format!("netreel-run-{stem}"));
    let folder = arguments.out.clone().unwrap_or_else(default);
    loop {
        let seen = saved(file);
        let once = Run {
            out: Some(fresh(&folder)),
            ..arguments.clone()
        };
        match play(&once, level, out) {
            Ok(Played::Whole(_)) => {}
            Ok(Played::Ended(_)) => return Err(Failure::new("ended")),
            Err(Failure::Told(why)) => anstream::eprintln!("netreel: {why}"),
            Err(other) => return Err(other),
        }
        writeln!(out, "plays once more when {} is saved", file.display())?;
        out.flush()?;
        wait_for_another(file, &seen);
    }
}

/// Waits until something was saved, and whole: what is being written changes from look to look.
fn wait_for_another(file: &Path, seen: &Saved) {
    let mut latest = seen.clone();
    loop {
        std::thread::sleep(LOOK);
        let now = saved(file);
        if now == latest && now != *seen {
            return;
        }
        latest = now;
    }
}

/// A folder of its own for each time: what was saved meanwhile is another scenario.
fn fresh(folder: &Path) -> PathBuf {
    let numbers = (1..).map(|number: u64| folder.join(format!("saved-{number}")));
    let mut free = numbers.filter(|it| !it.exists());
    free.next().unwrap_or_else(|| folder.to_owned())
}

/// When files were saved, and how many bytes they have.
type Saved = BTreeMap<PathBuf, (SystemTime, u64)>;

/// When the file, and scripts beside it, were saved last.
fn saved(file: &Path) -> Saved {
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new(".")));
    let paths = entries.into_iter().flatten().flatten().map(|it| it.path());
    let scripts = paths.filter(|it| it.extension().is_some_and(|it| it == "lua"));
    let all = scripts.chain([file.to_owned()]);
    all.filter_map(|path| {
        let known = path.metadata().ok()?;
        Some((path, (known.modified().ok()?, known.len())))
    })
    .collect()
}
