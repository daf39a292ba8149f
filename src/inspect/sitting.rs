//! A replay that the window sits in: on a thread of its own, with a session of its own, because a
//! layer is played for as long as it takes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use netreel_inspector::{Answer, Wake};

use crate::arguments::{Inspect, Source};
use crate::open::{self, Story};
use crate::outcome::Failure;
use crate::replay::boxes::Changes;
use crate::replay::engine::Engine;
use crate::replay::sit::stepper;
use crate::replay::sitting::{Going, Sitting};

/// Somebody sits in a replay.
pub struct Seat {
    to: Sender<String>,
    from: Receiver<Answer>,
}

impl Seat {
    /// Sits down at a node of a session: of `story`, or what `source` names where there is none.
    /// `changes` are as on the command line: `--set mode=owner`.
    pub fn take(
        (source, story): (&Source, Option<Story>),
        node: String,
        changes: &str,
        wake: Arc<Mutex<Option<Wake>>>,
    ) -> Result<Seat, String> {
        let changes = Changed::parse(changes)?;
        let (to, commands) = channel();
        let (answers, from) = channel();
        let source = source.clone();
        let say = move |answer: Answer| {
            // Whoever no longer hears has sat down elsewhere.
            drop(answers.send(answer));
            let wake = wake.lock().ok().and_then(|wake| wake.clone());
            if let Some(wake) = wake {
                wake();
            }
        };
        let work = move || {
            if let Err(failure) = sit(&source, story, &node, &changes, &commands, &say) {
                say(Answer::Stood(failure.to_string()));
            }
        };
        let spawned = thread::Builder::new().name("replay".to_owned()).spawn(work);
        spawned.map_err(|error| format!("there can be no thread to replay it: {error}"))?;
        Ok(Seat { to, from })
    }

    /// Says a command, as it is typed at the prompt of `netreel replay --step`.
    pub fn say(&self, command: String) {
        // A thread that has ended has said why.
        drop(self.to.send(command));
    }

    /// What was answered since.
    pub fn answers(&self) -> Vec<Answer> {
        self.from.try_iter().collect()
    }
}

/// Where one stands after each of the commands of a command line.
pub fn stands(
    source: &Source,
    story: &Story,
    node: &str,
    arguments: &Inspect,
) -> Result<Vec<Answer>, Failure> {
    let changes = arguments.changed.as_deref().unwrap_or_default();
    let changes = Changed::parse(changes);
    let changes = changes.map_err(|why| Failure::new(format!("--changed: {why}")))?;
    let (to, commands) = channel();
    for command in &arguments.say {
        drop(to.send(command.clone()));
    }
    // Behind the last one the replay is left as it is.
    drop(to);
    let answers = Mutex::new(Vec::new());
    let say = |answer: Answer| {
        if let Ok(mut answers) = answers.lock() {
            answers.push(answer);
        }
    };
    sit(
        source,
        Some(story.beside()),
        node,
        &changes,
        &commands,
        &say,
    )?;
    Ok(answers.into_inner().unwrap_or_default())
}

/// What is to be another than recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub tune: Vec<String>,
    pub set: Vec<String>,
}

impl Changed {
    /// Reads `--set NAME=VALUE --tune NAME=VALUE`, in any order. The sentence says what is wrong.
    pub fn parse(text: &str) -> Result<Changed, String> {
        let mut changed = Changed::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let to = match word {
                "--tune" => &mut changed.tune,
                "--set" => &mut changed.set,
                other => {
                    return Err(format!(
                        "`{other}` is no change; write `--set NAME=VALUE` or `--tune NAME=VALUE`"
                    ));
                }
            };
            let change = words.next();
            to.push(
                change
                    .ok_or_else(|| format!("{word}: write NAME=VALUE behind it"))?
                    .to_owned(),
            );
        }
        Ok(changed)
    }
}

fn sit(
    source: &Source,
    story: Option<Story>,
    node: &str,
    changes: &Changed,
    commands: &Receiver<String>,
    say: &dyn Fn(Answer),
) -> Result<(), Failure> {
    let story = match story {
        Some(story) => story,
        None => open::story(source)?,
    };
    let reels = story.session.session_reels();
    let reel = reels.iter().find(|reel| reel.name == node);
    let reel = reel.ok_or_else(|| Failure::new(format!("{node} has no reel here")))?;
    let stepper = stepper(reel.reel, &changes.tune, &changes.set)?;
    let path: PathBuf = source.paths.first().cloned().unwrap_or_default();
    let asked = Changes {
        tune: &changes.tune,
        set: &changes.set,
    };
    let stepper = (stepper, Engine::Boxes(asked).plays(reel.reel));
    let mut sitting = Sitting::new(&story, reel, stepper, Path::new(&path), false);
    say(Answer::Stands(Box::new(sitting.standing(String::new()))));
    while let Ok(command) = commands.recv() {
        let mut out = Vec::new();
        if sitting.command(&command, &mut out)? == Going::Away {
            say(Answer::Stood(String::new()));
            return Ok(());
        }
        let said = String::from_utf8_lossy(&out).trim_end().to_owned();
        say(Answer::Stands(Box::new(sitting.standing(said))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use netreel_inspector::Standing;

    use super::*;

    fn seat(node: &str, changes: &str) -> Seat {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host");
        // Breakpoints are kept beside a session: not beside the sample.
        let folder = tempfile::tempdir().expect("a folder").keep();
        for file in std::fs::read_dir(&sample).expect("the sample").flatten() {
            let to = folder.join(file.file_name());
            std::fs::copy(file.path(), to).expect("a copy");
        }
        let source = Source {
            paths: vec![folder],
            keys: None,
            wire: None,
            bounds: None,
            no_index: true,
        };
        let wake = Arc::default();
        Seat::take((&source, None), node.to_owned(), changes, wake).expect("a seat")
    }

    #[track_caller]
    fn next(seat: &Seat) -> Standing {
        match seat.from.recv_timeout(Duration::from_secs(120)) {
            Ok(Answer::Stands(standing)) => *standing,
            Ok(Answer::Stood(why)) => panic!("{why}"),
            _ => panic!("no answer"),
        }
    }

    #[test]
    fn a_seat_goes_forward_and_back_and_says_where_it_stands() {
        let seat = seat("X", "");
        let first = next(&seat);
        assert_eq!((first.node.as_str(), first.parting), ("X", None));
        seat.say("until kind == migrate".to_owned());
        let at = next(&seat);
        let packet = at.packet.expect("a packet");
        let line = at.events.iter().find(|it| it.number == at.position);
        let line = line.expect("the event that is here");
        assert_eq!(line.packet, Some(packet));
        assert!(line.words.contains("MIGRATE") || line.words.contains("migrate"));
        assert!(!at.layer.is_empty());
        seat.say("back packet".to_owned());
        let back = next(&seat);
        assert!(back.position < at.position);
        seat.say("packet".to_owned());
        assert_eq!(next(&seat).position, at.position);
        seat.say("break kind == destroy".to_owned());
        assert_eq!(next(&seat).breaks, ["kind == destroy"]);
        seat.say("nonsense".to_owned());
        assert!(next(&seat).said.contains("is no command"));
        seat.say("quit".to_owned());
        let gone = seat.from.recv_timeout(Duration::from_secs(120));
        assert!(matches!(gone, Ok(Answer::Stood(why)) if why.is_empty()));
    }

    #[test]
    fn a_changed_layer_parts_from_the_recording_with_both_packets() {
        let seat = seat("A", "--set mode=owner");
        next(&seat);
        seat.say("continue".to_owned());
        let parting = next(&seat).parting.expect("a divergence");
        let expected = parting.expected_bytes.expect("a packet");
        let came = parting.came_bytes.expect("a packet");
        assert_ne!(expected, came);
        assert!(parting.field.is_some(), "{}", parting.said);
        let likely = "likely because changed setting mode = owner (recorded: host)";
        assert_eq!(parting.likely.first().map(String::as_str), Some(likely));
    }

    #[test]
    fn what_is_no_change_is_said() {
        let seat = Changed::parse("mode=owner");
        assert!(seat.is_err_and(|why| why.contains("--set NAME=VALUE")));
        assert!(Changed::parse("--set").is_err());
        let changed = Changed::parse("--set mode=owner --tune a=1").expect("changes");
        assert_eq!(changed.set, ["mode=owner"]);
        assert_eq!(changed.tune, ["a=1"]);
    }
}
