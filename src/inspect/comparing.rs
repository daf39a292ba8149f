//! Another session, to be held against what is shown: opened, or played on from it.

use std::path::{Path, PathBuf};

use netreel_inspector::Answer;

use super::model;
use super::sitting::Changed;
use crate::arguments::{Gdb, Onto, Program, Read, Replay, Sit, Source, Together};
use crate::open;
use crate::outcome::Failure;
use crate::replay::together;

/// Opens what is recorded at a path.
pub fn opened(source: &Source, path: &Path) -> Result<Answer, Failure> {
    let source = Source {
        paths: vec![path.to_owned()],
        keys: None,
        ..source.clone()
    };
    let mut story = open::story(&source)?;
    let model = Box::new(model(&mut story, ""));
    let title = path.display().to_string();
    Ok(Answer::Compared { model, title })
}

/// Plays all nodes on, into a new folder among the system's temporary ones, which stays: it is a session
/// like any other.
pub fn played_on(source: &Source, changes: &str) -> Result<Answer, Failure> {
    let changed = Changed::parse(changes).map_err(Failure::new)?;
    let folder = fresh()?;
    let arguments = Replay {
        read: Read {
            source: source.clone(),
            json: false,
        },
        node: None,
        tune: changed.tune,
        sit: Sit {
            until: None,
            from: None,
            step: false,
        },
        set: changed.set,
        together: Together {
            layer: None,
            together: true,
            out: Some(folder.clone()),
            seed: 1,
        },
        program: Program {
            command: Vec::new(),
        },
        onto: Onto {
            to: None,
            peer: None,
            speed: 1.0,
            as_answered: false,
        },
        patience: None,
        gdb: Gdb {
            gdb: None,
            vscode: None,
        },
    };
    let played = together::run(&arguments, &mut Vec::new());
    if let Err(failure) = played {
        // Empty, or it stays.
        drop(std::fs::remove_dir(&folder));
        return Err(failure);
    }
    let mut answer = opened(source, &folder)?;
    // The folder has another name each time.
    if let Answer::Compared { title, .. } = &mut answer {
        *title = match changes.trim() {
            "" => "played on, nothing changed".to_owned(),
            changes => format!("played on with {changes}"),
        };
    }
    Ok(answer)
}

fn fresh() -> Result<PathBuf, Failure> {
    let all = std::env::temp_dir();
    let names = (1..1000).map(|number| {
        let own = std::process::id();
        all.join(format!("netreel-played-on-{own}-{number}"))
    });
    // Whoever makes it has it: others may look for one as well.
    let mut free = names.filter(|path| std::fs::create_dir(path).is_ok());
    free.next().ok_or_else(|| {
        let all = all.display();
        Failure::new(format!(
            "{all}: too many sessions that were played on lie there; remove some"
        ))
    })
}

#[cfg(test)]
mod tests {
    use netreel_inspector::Model;

    use super::*;

    fn source() -> Source {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host");
        Source {
            paths: vec![sample],
            keys: None,
            wire: None,
            bounds: None,
            no_index: true,
        }
    }

    #[track_caller]
    fn both(answer: Result<Answer, Failure>) -> (Box<Model>, Box<Model>) {
        let Ok(Answer::Compared { model: other, .. }) = answer else {
            panic!("no other session");
        };
        let source = source();
        let Ok(Answer::Compared { model, .. }) = opened(&source, &source.paths[0]) else {
            panic!("no session");
        };
        (model, other)
    }

    #[test]
    fn a_session_that_is_played_on_unchanged_has_the_same_packets() {
        let (model, other) = both(played_on(&source(), ""));
        let compared = model.compared(&other).expect("a comparison");
        assert_eq!(compared.first, None);
        assert!(compared.links.iter().all(|link| link.is_same()));
        assert!(compared.objects.is_empty());
        assert_eq!(compared.offset_ns, 0);
    }

    #[test]
    fn a_cure_shows_as_findings_of_the_one_session_alone() {
        let (model, other) = both(played_on(&source(), "--set mode=owner"));
        let compared = model.compared(&other).expect("a comparison");
        assert!(compared.first.is_some());
        let cured = compared.findings.iter().filter(|it| it.at[1].is_none());
        let found = model.history().findings.len();
        assert_eq!(cured.count(), found);
        assert!(compared.objects.iter().any(|it| it.object == 42));
    }
}
