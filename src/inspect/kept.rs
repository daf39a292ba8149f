//! A folder that `netreel run` wrote: the matches that it kept, for whoever chooses one in the window.

use std::path::{Path, PathBuf};

use netreel_inspector::{Answer, KeptMatch, KeptRun};
use netreel_protocol::history::Level;
use netreel_scenario::{Kept, Outcome};

/// The run in a folder, where this is the one path that is named; `None` where none is there.
pub fn run(paths: &[PathBuf]) -> Option<Answer> {
    let [folder] = paths else {
        return None;
    };
    read(folder, true)
}

/// The run that a session is a match of, where this is the one path that is named.
pub fn above(paths: &[PathBuf]) -> Option<Answer> {
    let [folder] = paths else {
        return None;
    };
    // A folder that was named by a link or from inside has its parent all the same.
    let whole = folder.canonicalize().ok()?;
    let run = read(whole.parent()?, false)?;
    let Answer::Run { run: kept, .. } = &run else {
        return None;
    };
    let is_one = kept.matches.iter().any(|it| it.folder == whole);
    is_one.then_some(run)
}

fn read(folder: &Path, is_asked: bool) -> Option<Answer> {
    let failed = |error: std::io::Error| {
        let folder = folder.display();
        Answer::Failed(format!(
            "{folder}: the list of what the run has kept cannot be read: {error}; the same `netreel run` \
             writes it anew"
        ))
    };
    let kept = match netreel_scenario::listed(folder) {
        Ok(kept) => kept?,
        Err(error) => return Some(failed(error)),
    };
    let played = netreel_scenario::played(folder).map_or(0, |all| all.len());
    let planned = netreel_scenario::planned(folder).unwrap_or(played as u64);
    let run = KeptRun {
        title: folder.display().to_string(),
        sums: format!(
            "{played} of {planned} matches were played, {} kept",
            kept.len()
        ),
        matches: kept.into_iter().map(|it| shown(folder, it)).collect(),
    };
    Some(Answer::Run { run, is_asked })
}

fn shown(folder: &Path, kept: Kept) -> KeptMatch {
    let (rule, why, level) = match (kept.outcome, kept.finding) {
        (Outcome::Failed(why), _) => (String::new(), why, Some(Level::Error)),
        (Outcome::Unexpected(all), _) => (String::new(), all.join("; "), Some(Level::Error)),
        (Outcome::Played, Some(found)) => {
            let rule = format!("{} {}", found.rule, found.node);
            (rule.trim_end().to_owned(), found.text, level(&found.level))
        }
        (Outcome::Played, None) => (String::new(), String::new(), None),
    };
    KeptMatch {
        number: kept.number,
        seed: kept.seed,
        folder: folder.join(kept.folder),
        why,
        rule,
        level,
        lasted_ns: kept.lasted_ns,
        packets: kept.packets,
    }
}

fn level(name: &str) -> Option<Level> {
    let all = [Level::Info, Level::Warning, Level::Error];
    all.into_iter().find(|level| level.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = r#"[
        {"number": 3, "seed": 7, "folder": "match-00003", "outcome": "played", "lasted_ns": 4, "packets": 5,
         "finding": {"rule": "zombie-object", "level": "error", "node": "X", "text": "a zombie"}},
        {"number": 8, "seed": 9, "folder": "match-00008", "outcome": {"failed": "node A died"},
         "lasted_ns": 0, "packets": 0, "finding": null}
    ]"#;

    fn folder(kept: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("kept.json"), kept).expect("a file");
        for name in ["match-00003", "elsewhere"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        folder
    }

    fn path(folder: &tempfile::TempDir) -> PathBuf {
        folder.path().canonicalize().expect("a folder")
    }

    #[test]
    fn what_a_run_kept_is_listed_with_what_went_wrong() {
        let folder = folder(KEPT);
        let Some(Answer::Run { run, is_asked }) = run(&[path(&folder)]) else {
            panic!("no run");
        };
        assert!(is_asked);
        assert_eq!(run.sums, "0 of 0 matches were played, 2 kept");
        let told: Vec<_> = run
            .matches
            .iter()
            .map(|it| (it.rule.as_str(), it.why.as_str()))
            .collect();
        assert_eq!(told, [("zombie-object X", "a zombie"), ("", "node A died")]);
        assert_eq!(run.matches[0].folder, path(&folder).join("match-00003"));
        assert!(run.matches.iter().all(|it| it.level == Some(Level::Error)));
    }

    #[test]
    fn a_match_knows_its_run_and_nothing_else_does() {
        let folder = folder(KEPT);
        let of = |name: &str| above(&[path(&folder).join(name)]);
        assert!(matches!(
            of("match-00003"),
            Some(Answer::Run {
                is_asked: false,
                ..
            })
        ));
        assert!(of("elsewhere").is_none());
        assert!(run(&[path(&folder).join("match-00003")]).is_none());
    }

    #[test]
    fn a_list_that_is_broken_is_said() {
        let folder = folder("[");
        let Some(Answer::Failed(why)) = run(&[path(&folder)]) else {
            panic!("it was read");
        };
        assert!(why.contains("cannot be read"), "{why}");
    }
}
