//! The matches that a run has kept, as a list for whoever shows them: `kept.json` in its folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::journal::MATCH;
use crate::judged::{Found, gravity};
use crate::played::{Match, Outcome};

/// The file of a run that lists what it has kept.
const KEPT: &str = "kept.json";

/// A match that was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Which of the run, from 1.
    pub number: u64,
    /// What all that was drawn in it came from.
    pub seed: u64,
    /// The folder with its session, beside the list.
    pub folder: PathBuf,
    /// How it ended.
    pub outcome: Outcome,
    /// The gravest of its findings, the first of these.
    pub finding: Option<Found>,
    /// How long its session lasts, in ns.
    pub lasted_ns: u64,
    /// How many packets were recorded.
    pub packets: u64,
}

/// What a match's folder is called.
pub(crate) fn folder_of(number: u64) -> String {
    format!("match-{number:05}")
}

/// The match whose session is in a folder; `None` where it is of no match that was kept.
pub fn match_in(folder: &Path) -> Option<Match> {
    let text = fs::read(folder.join(MATCH)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The folders of the matches that a run has kept, by number.
pub fn kept(folder: &Path, matches: &[Match]) -> BTreeMap<u64, PathBuf> {
    let folders = matches
        .iter()
        .map(|it| (it.number, folder.join(folder_of(it.number))));
    folders.filter(|(_, folder)| folder.is_dir()).collect()
}

/// What a run lists as kept, in the order of their numbers; `None` where there is no such list in the folder.
///
/// # Errors
/// There is one that cannot be read.
pub fn listed(folder: &Path) -> io::Result<Option<Vec<Kept>>> {
    match fs::read(folder.join(KEPT)) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if is_none(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an error says that there is no such file.
fn is_none(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Lists those that there are, in place of what was listed before.
pub(crate) fn list<'a>(folder: &Path, matches: impl Iterator<Item = &'a Match>) -> io::Result<()> {
    let kept: Vec<Kept> = matches
        .filter(|it| folder.join(folder_of(it.number)).is_dir())
        .map(Kept::of)
        .collect();
    let text = serde_json::to_vec_pretty(&kept)?;
    // Whoever reads it meanwhile reads all of the one or all of the other.
    let new = folder.join(format!("{KEPT}.new"));
    fs::write(&new, text)?;
    fs::rename(new, folder.join(KEPT))
}

impl Kept {
    fn of(it: &Match) -> Kept {
        let findings = it.judged.findings.iter().enumerate();
        let gravest =
            findings.max_by_key(|(place, it)| (gravity(&it.level), std::cmp::Reverse(*place)));
        Kept {
            number: it.number,
            seed: it.seed,
            folder: folder_of(it.number).into(),
            outcome: it.outcome.clone(),
            finding: gravest.map(|(_, found)| found.clone()),
            lasted_ns: it.judged.lasted_ns,
            packets: it.judged.packets,
        }
    }
}
