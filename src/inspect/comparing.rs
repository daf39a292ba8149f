//! Another session, to be held against what is shown: opened, or played on from it.

use std::path::{Path, PathBuf};

use netreel_inspector::Answer;
use netreel_system::Cancel;

use super::drawn::model;
use super::sitting::Changed;
use crate::arguments::{Read, Replay, Source, Together};
use crate::open;
use crate::outcome::{Failure, Result};
use crate::replay::together;

/// Opens what is recorded at a path.
pub fn opened(source: &Source, path: &Path, cancel: &Cancel) -> Result<Answer> {
    let source = Source {
        paths: vec![path.to_owned()],
        keys: None,
        ..source.clone()
    };
    let mut story = open::story_while(&source, cancel)?;
    let model = Box::new(model(&mut story, ""));
    let title = path.display().to_string();
    Ok(Answer::Compared { model, title })
}

/// A folder among the system's temporary ones, which goes with whoever holds it.
pub struct Folder(PathBuf);

impl Folder {
    fn fresh() -> Result<Folder> {
        let all = std::env::temp_dir();
        let names = (1..1000).map(|number| {
            let own = std::process::id();
            all.join(format!("netreel-played-on-{own}-{number}"))
        });
        // Whoever makes it has it: others may look for one as well.
        let mut free = names.filter(|path| std::fs::create_dir(path).is_ok());
        free.next().map(Folder).ok_or_else(|| {
            let all = all.display();
            Failure::new(format!(
                "{all}: too many sessions that were played on lie there; remove some"
            ))
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It lies among what the system removes as well.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Plays all nodes on, into a folder that is there as long as it is held: with the layer of a shared
/// library, or with the sample engine's where none is given.
pub fn played_on(
    source: &Source,
    (changes, layer): (&str, Option<&Path>),
    cancel: &Cancel,
) -> Result<(Answer, Folder)> {
    let changed = Changed::of_layer(changes, layer)?;
    let folder = Folder::fresh()?;
    let arguments = Replay {
        read: Read {
            source: source.clone(),
            json: false,
        },
        tune: changed.tune,
        set: changed.set,
        together: Together {
            layer: layer.map(Path::to_owned),
            together: true,
            out: Some(folder.path().to_owned()),
            seed: 1,
        },
        ..Replay::default()
    };
    together::run_while(&arguments, &mut Vec::new(), cancel)?;
    let mut answer = opened(source, folder.path(), cancel)?;
    // The folder has another name each time.
    if let Answer::Compared { title, .. } = &mut answer {
        *title = match (layer, changes.trim()) {
            (Some(layer), _) => format!("played on with {}", layer.display()),
            (None, "") => "played on, nothing changed".to_owned(),
            (None, changes) => format!("played on with {changes}"),
        };
    }
    Ok((answer, folder))
}

#[cfg(test)]
mod tests {
    use netreel_inspector::{Command, Model};
    use netreel_protocol::diff::{ComparedSession, Diff};
    use netreel_protocol::history::Level;

    use super::*;
    use crate::inspect::sample;

    #[track_caller]
    fn both(answer: Result<Answer>) -> (Box<Model>, Box<Model>) {
        let Ok(Answer::Compared { model: other, .. }) = answer else {
            panic!("no other session");
        };
        let source = sample();
        let Ok(Answer::Compared { model, .. }) =
            opened(&source, &source.paths[0], &Cancel::default())
        else {
            panic!("no session");
        };
        (model, other)
    }

    #[test]
    fn a_session_that_is_played_on_unchanged_has_the_same_packets() {
        let (model, other) =
            both(played_on(&sample(), ("", None), &Cancel::default()).map(|(answer, _)| answer));
        let compared = model.compared(&other).expect("a comparison");
        assert_eq!(compared.bytes.first, None);
        assert!(compared.bytes.links.iter().all(|link| link.is_same()));
        assert_eq!(compared.rows, []);
        assert_eq!(compared.offset_ns, 0);
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_played_to_its_end() {
        // It is wanted until a few turns were played.
        let cancel = Cancel::after(40);
        let failure = played_on(&sample(), ("--set mode=owner", None), &cancel).err();
        let why = failure.expect("it was given up").to_string();
        assert!(why.contains("given up"), "{why}");
        // Nobody asks again and again whether to go on with what is over.
        assert!(cancel.left() > -5);
    }

    #[test]
    fn a_cure_shows_as_findings_of_the_one_session_alone() {
        let (model, other) = both(
            played_on(&sample(), ("--set mode=owner", None), &Cancel::default())
                .map(|(answer, _)| answer),
        );
        let compared = model.compared(&other).expect("a comparison");
        assert!(compared.bytes.first.is_some());
        assert_eq!(compared.rows[0].mark, "first");
        let only_here = compared.rows.iter().filter(|it| it.mark == "only here");
        let cured: Vec<_> = only_here.filter_map(|it| it.level).collect();
        let sides = [&model, &other].map(|model| ComparedSession {
            session: model.session(),
            history: model.history(),
        });
        let diff = Diff::new(sides).expect("two sessions of one wire");
        assert_eq!(cured.len(), diff.findings.only[0].len());
        assert!(cured.contains(&Level::Error));
        let of_42 = Some(Command::SelectObject(Some(42)));
        assert!(compared.rows.iter().any(|it| it.shown_by[0] == of_42));
    }
}
