//! A replay that the window sits in: on a thread of its own, with a session of its own, because a
//! layer is played for as long as it takes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use netreel_inspector::{Answer, Wake};
use netreel_system::locked;

use crate::arguments::{Inspect, Source};
use crate::open::{self, Story};
use crate::outcome::Result;
use crate::replay::boxes::Changes;
use crate::replay::engine::{Engine, Tell};
use crate::replay::program;
use crate::replay::sitting::{Going, Played, Sitting};

/// Somebody sits in a replay.
pub struct Seat {
    to: Sender<String>,
    from: Receiver<Answer>,
}

impl Seat {
    /// Sits down at a node of a session: of `story`, or what `source` names where there is none. It is
    /// played into the layer of a shared library, or into the sample engine's where none is given.
    /// `changes` are as on the command line: `--set mode=owner`; a shared library takes none.
    pub fn take(
        (source, story): (&Source, Option<Story>),
        (node, layer): (String, Option<PathBuf>),
        changes: &str,
        wake: Arc<Mutex<Option<Wake>>>,
    ) -> Result<Seat, String> {
        let changes = Changed::of_layer(changes, layer.as_deref())?;
        let (to, commands) = channel();
        let (answers, from) = channel();
        let source = source.clone();
        let say = move |answer: Answer| {
            // Whoever no longer hears has sat down elsewhere.
            drop(answers.send(answer));
            let wake = locked(&wake).clone();
            if let Some(wake) = wake {
                wake();
            }
        };
        let work = move || {
            let layer = (layer.as_deref(), &changes);
            if let Err(failure) = sit((&source, story), &node, layer, &commands, &say) {
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
) -> Result<Vec<Answer>> {
    let changes = arguments.changed.as_deref().unwrap_or_default();
    let changes = Changed::parse(changes).map_err(|why| format!("--changed: {why}"))?;
    let (to, commands) = channel();
    for command in &arguments.say {
        drop(to.send(command.clone()));
    }
    // Behind the last one the replay is left as it is.
    drop(to);
    let answers = Mutex::new(Vec::new());
    let say = |answer: Answer| locked(&answers).push(answer);
    let story = Some(story.beside());
    let layer = (arguments.layer.as_deref(), &changes);
    sit((source, story), node, layer, &commands, &say)?;
    Ok(answers.into_inner().unwrap_or_default())
}

/// What is to be another than recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub tune: Vec<String>,
    pub set: Vec<String>,
}

impl Changed {
    /// Reads what is to be changed in a layer: in that of a shared library nothing can be. The
    /// sentence says what is wrong.
    pub fn of_layer(text: &str, layer: Option<&Path>) -> Result<Changed, String> {
        let changed = Changed::parse(text)?;
        match layer {
            Some(layer) if changed != Changed::default() => Err(format!(
                "`--tune` and `--set` change the sample engine's layer, not that of {}; leave them \
                 out",
                layer.display()
            )),
            _ => Ok(changed),
        }
    }

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
            let change = change.ok_or_else(|| format!("{word}: write NAME=VALUE behind it"))?;
            to.push(change.to_owned());
        }
        Ok(changed)
    }
}

fn sit(
    (source, story): (&Source, Option<Story>),
    node: &str,
    (layer, changes): (Option<&Path>, &Changed),
    commands: &Receiver<String>,
    say: &dyn Fn(Answer),
) -> Result {
    let story = match story {
        Some(story) => story,
        None => open::story(source)?,
    };
    let reels = story.session.session_reels();
    let reel = reels
        .iter()
        .find(|reel| reel.name == node)
        .ok_or_else(|| format!("{node} has no reel here"))?;
    program::asked::refuse(reel.reel, &source.paths)?;
    let path = source.paths.first().cloned().unwrap_or_default();
    let asked = Changes {
        tune: &changes.tune,
        set: &changes.set,
    };
    let engine = Engine::asked(layer, asked)?;
    let plays = engine.plays(reel.reel);
    // What fails in a plugin stands before what the command came to.
    let failed = Arc::new(Mutex::new(String::new()));
    let tell: Tell = {
        let failed = Arc::clone(&failed);
        Arc::new(move |why| {
            *locked(&failed) += &format!("{why}\n");
        })
    };
    let played: Played = (Box::new(engine.stepper(reel.reel, tell)?), Some(plays));
    let mut sitting = Sitting::new(&story, reel, played, &path, false);
    let begins = layer.map_or_else(String::new, |layer| {
        format!("plays into the layer of {}", layer.display())
    });
    say(Answer::Stands(Box::new(sitting.standing(begins))));
    while let Ok(command) = commands.recv() {
        let mut out = Vec::new();
        if sitting.command(&command, &mut out)? == Going::Away {
            say(Answer::Stood(String::new()));
            return Ok(());
        }
        let failed = std::mem::take(&mut *locked(&failed));
        let said = format!("{failed}{}", String::from_utf8_lossy(&out));
        let said = said.trim_end().to_owned();
        say(Answer::Stands(Box::new(sitting.standing(said))));
    }
    Ok(())
}

#[cfg(test)]
#[allow(dead_code)]
#[path = "../../tests/support/plugins.rs"]
mod plugins;

#[cfg(test)]
#[allow(dead_code)]
#[path = "../../tests/support/windows.rs"]
mod windows;

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
        taken(folder, (node.to_owned(), None), changes).expect("a seat")
    }

    fn taken(path: PathBuf, at: (String, Option<PathBuf>), changes: &str) -> Result<Seat, String> {
        let source = Source {
            paths: vec![path],
            keys: None,
            wire: None,
            bounds: None,
            no_index: true,
        };
        Seat::take((&source, None), at, changes, Arc::default())
    }

    /// A seat at the node of a recording of the example in C, in a layer that is built with `flags`.
    fn in_c(folder: &Path, flags: &[&str]) -> Seat {
        let reel = plugins::record(folder, 1, 0);
        let layer = plugins::udp_layer(folder, flags);
        taken(reel, ("walker".to_owned(), Some(layer)), "").expect("a seat")
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
    fn a_seat_in_the_layer_of_a_shared_library_goes_forward_and_back() {
        let folder = plugins::folder();
        let seat = in_c(folder.path(), &["-DSTATES"]);
        let first = next(&seat);
        assert!(first.said.starts_with("plays into the layer of /"));
        assert!(first.said.ends_with("layer.so"), "{}", first.said);
        seat.say("goto 120".to_owned());
        assert_eq!(next(&seat).position, 120);
        seat.say("back tick".to_owned());
        assert!(next(&seat).position < 120);
        seat.say("continue".to_owned());
        let end = next(&seat);
        assert!(end.said.contains("was the last; exact"), "{}", end.said);
        assert_eq!(end.parting, None);
    }

    #[test]
    fn a_changed_shared_library_parts_from_the_recording() {
        let folder = plugins::folder();
        let seat = in_c(folder.path(), &["-DSTEP=7"]);
        next(&seat);
        seat.say("continue".to_owned());
        let parting = next(&seat).parting.expect("a divergence");
        assert_ne!(parting.expected_bytes, parting.came_bytes);
    }

    #[test]
    fn a_tick_of_a_shared_library_that_fails_says_why() {
        let folder = plugins::folder();
        let reel = plugins::record(folder.path(), 1, 0);
        let fails = "static int32_t fails(void *l, const netreel_world *w, uint64_t n, uint64_t t) \
                     { return -3; }";
        let text = plugins::table(fails, "create", "fails");
        let layer = plugins::of_text(folder.path(), &text);
        let seat = taken(reel, ("walker".to_owned(), Some(layer)), "").expect("a seat");
        next(&seat);
        seat.say("continue".to_owned());
        let said = next(&seat).said;
        let why = "at walker, in the tick of event 2: code -3";
        assert!(
            said.lines().next().is_some_and(|it| it.ends_with(why)),
            "{said}"
        );
    }

    #[test]
    fn another_engines_recording_is_refused_with_the_way_to_sit_in_it() {
        let folder = plugins::folder();
        let reel = plugins::record(folder.path(), 1, 0);
        let seat = taken(reel, ("walker".to_owned(), None), "").expect("a seat");
        let Ok(Answer::Stood(why)) = seat.from.recv_timeout(Duration::from_secs(120)) else {
            panic!("it sits");
        };
        assert!(why.contains("`udp example`"), "{why}");
        assert!(why.contains("--layer"), "{why}");
    }

    #[test]
    fn a_recorded_program_is_refused_with_the_command_that_starts_it_again() {
        let folder = plugins::folder();
        let header = netreel_reel::Header {
            node: "server".to_owned(),
            engine: netreel_reel::Header::UNMODIFIED.to_owned(),
            args: vec!["./server".to_owned()],
            ..netreel_reel::Header::default()
        };
        let reel = netreel_reel::ReelWriter::create(Vec::new(), &header).expect("memory");
        let path = folder.path().join("server.reel");
        std::fs::write(&path, reel.finish().expect("memory")).expect("a file");
        let seat = taken(path.clone(), ("server".to_owned(), None), "").expect("a seat");
        let Ok(Answer::Stood(why)) = seat.from.recv_timeout(Duration::from_secs(120)) else {
            panic!("it sits");
        };
        let again = format!("netreel replay {} --node server --", path.display());
        assert!(why.contains(&again), "{why}");
    }

    #[test]
    fn a_shared_library_takes_no_changes() {
        let at = ("A".to_owned(), Some(PathBuf::from("layer.so")));
        let seat = taken(PathBuf::from("nowhere"), at, "--set mode=owner");
        assert!(seat.is_err_and(|why| why.contains("leave them out")));
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
