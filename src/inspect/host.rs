//! Whoever runs the window: opens what it asks for, beside it.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use netreel_inspector::{Answer, Host, Request, Wake};
use netreel_system::{Cancel, locked};

use super::comparing::{self, Folder};
use super::opening::{Brings, Job, Said, Teller, followed, opened, reread};
use super::sitting::Seat;
use super::wires::{self, Watched};
use super::{bookmarks, cutting, kept, listing, settings};
use crate::arguments::Source;
use crate::open::Story;
use crate::outcome::{Failure, Result, fail};
use crate::rules::Tested;

/// The story that is shown, for whoever keeps its index when the window closes.
pub type Shown = Arc<Mutex<Option<Story>>>;

/// Opens what the window asks for, each time on a thread of its own.
pub struct Opener {
    source: Source,
    filter: String,
    /// A file of rules that are asked of the session that is opened first.
    pub rules: Option<Tested>,
    /// The shared library whose layer replays play into; `None`: the sample engine's.
    pub layer: Option<PathBuf>,
    shown: Shown,
    to: Sender<Said>,
    from: Receiver<Said>,
    wake: Arc<Mutex<Option<Wake>>>,
    /// How often something was begun, of both kinds: who was begun before is heard no more.
    opening: u64,
    comparing: u64,
    /// What stops whoever works on what was begun last of each kind.
    opens: Cancel,
    compares: Cancel,
    /// What is to be held against the first session that is shown.
    compare_first: Option<PathBuf>,
    /// Where the session lies that was played on to be held against what is shown.
    played: Option<Folder>,
    /// Where the window sits in a replay.
    seat: Option<Seat>,
    /// An answer that came while somebody waited for the first one.
    first: Option<Answer>,
    /// The wire that somebody may edit, and what is read with it; kept where that failed, so that a
    /// mistake can be mended.
    edited: Option<(Watched, Source)>,
    /// Whether what is shown is followed.
    follows: bool,
}

impl Opener {
    /// Of what a command line names.
    pub fn new(source: Source, filter: String) -> Opener {
        let (to, from) = channel();
        Opener {
            source,
            filter,
            rules: None,
            layer: None,
            shown: Shown::default(),
            to,
            from,
            wake: Arc::default(),
            opening: 0,
            comparing: 0,
            opens: Cancel::default(),
            compares: Cancel::default(),
            compare_first: None,
            played: None,
            seat: None,
            first: None,
            edited: None,
            follows: false,
        }
    }

    /// The story that is shown when the window has closed.
    pub fn shown(&self) -> Shown {
        self.shown.clone()
    }

    /// Begins to open what the command line names.
    pub fn open(&mut self) {
        // What opens later is another session: the command line's filter is not about it.
        let filter = std::mem::take(&mut self.filter);
        self.open_as(self.source.clone(), filter);
    }

    fn open_as(&mut self, source: Source, filter: String) {
        let rules = self.rules.take();
        self.follows = false;
        self.watch(&source);
        self.begin(move |told| {
            if let Some(run) = kept::run(&source.paths) {
                told.say(run);
                return Ok(());
            }
            let above = kept::above(&source.paths);
            let (answer, story) = opened(&source, (&filter, rules.as_ref()), told)?;
            told.bring(answer, Brings::Shown(Box::new((source, story))));
            above.into_iter().for_each(|run| told.say(run));
            Ok(())
        });
    }

    /// Begins to follow it.
    pub fn follow(&mut self) {
        self.follow_as(self.source.clone());
    }

    fn follow_as(&mut self, source: Source) {
        self.follows = true;
        self.watch(&source);
        self.source.clone_from(&source);
        self.begin(move |told| followed(&source, told));
    }

    /// Looks after the wire of what is read, if there is one beside it.
    fn watch(&mut self, source: &Source) {
        let wire = source.wire.as_deref();
        let known = self
            .edited
            .as_ref()
            .and_then(|(_, known)| known.wire.as_deref());
        if wire.is_some() && wire == known {
            if let Some((_, known)) = &mut self.edited {
                *known = source.clone();
            }
            return;
        }
        let told = self.told(Job::Done);
        let watched = wire.and_then(|wire| {
            Watched::new(wire, move |changed| match changed {
                Ok(()) => {
                    let said = Answer::Working("reading under the wire that was edited".to_owned());
                    told.bring(said, Brings::Edited(true));
                }
                Err(why) => told.bring(Answer::Mistake(why), Brings::Edited(false)),
            })
        });
        self.edited = watched.map(|watched| (watched, source.clone()));
    }

    /// Reads what is shown once more, under the wire that was edited.
    fn read_again(&mut self) {
        let Some((_, source)) = &self.edited else {
            return;
        };
        let source = source.clone();
        if self.follows {
            return self.follow_as(source);
        }
        self.begin(move |told| {
            let (answer, story) = reread(&source, told)?;
            told.bring(answer, Brings::Shown(Box::new((source, story))));
            Ok(())
        });
    }

    /// Does something beside the window whose answer is about what is shown.
    fn do_beside(&self, name: &str, work: impl FnOnce() -> Answer + Send + 'static) {
        let work = move |told: &Teller| told.say(work());
        spawn((name, "for it"), self.told(Job::Done), Answer::Failed, work);
    }

    /// The folders in which wires may lie that fit what is shown.
    fn folders(&self) -> Vec<PathBuf> {
        let beside = self.source.paths.iter().filter_map(|path| {
            if path.is_dir() {
                Some(path.as_path())
            } else {
                path.parent()
            }
        });
        let wires = self.source.wire.as_deref().and_then(Path::parent);
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in beside.chain(wires) {
            let folder = if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder.to_owned()
            };
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    /// Plays the script that makes a zombie, beside the window, and opens what that recorded.
    fn demonstrate(&mut self) {
        self.begin(|told| {
            told.working("playing the demonstration, 4 s");
            let source = Source::alone(&demonstrated()?);
            let (answer, story) = opened(&source, ("", None), told)?;
            told.bring(answer, Brings::Shown(Box::new((source, story))));
            Ok(())
        });
    }

    /// Shows why, of what each filter takes that comes as a line of the standard input.
    pub fn hear_filters(&self) {
        let told = self.told(Job::Done);
        let hear = move || {
            let lines = std::io::stdin().lines().map_while(Result::ok);
            lines.for_each(|filter| told.say(Answer::Why(filter)));
        };
        // Where there can be no thread, whoever sends filters is not heard.
        drop(
            thread::Builder::new()
                .name("filters".to_owned())
                .spawn(hear),
        );
    }

    /// Has what is recorded at a path held against the first session that is shown.
    pub fn compare_first(&mut self, path: PathBuf) {
        self.compare_first = Some(path);
    }

    /// Waits so long for the first answer that is one.
    pub fn wait(&mut self, most: Duration) -> Option<Answer> {
        let until = Instant::now() + most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.from.recv_timeout(left) {
                Ok(said) => match self.hear(said) {
                    Some(working @ Answer::Working(_)) => self.first = Some(working),
                    Some(answer) => {
                        self.first = None;
                        return Some(answer);
                    }
                    None => {}
                },
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Gives an answer back that the window is to hear.
    pub fn unheard(&mut self, answer: Answer) {
        self.first = Some(answer);
    }

    /// Takes in what comes with an answer; `None` where nobody wants to hear it any more.
    fn hear(&mut self, said: Said) -> Option<Answer> {
        let is_wanted = match said.job {
            Job::Opening(number) => number == self.opening,
            Job::Comparing(number) => number == self.comparing,
            Job::Done => true,
        };
        if !is_wanted {
            return None;
        }
        match said.brings {
            Brings::Nothing => {}
            Brings::Begun(source) => {
                self.source = *source;
                self.shows(None);
            }
            Brings::Shown(shown) => {
                let (source, story) = *shown;
                self.source = source;
                self.shows(Some(story));
            }
            Brings::Played(folder) => self.played = Some(folder),
            Brings::Edited(true) => self.read_again(),
            Brings::Edited(false) => {}
        }
        let shows = matches!(said.answer, Answer::Opened { .. } | Answer::Grown { .. });
        if shows && let Some(path) = self.compare_first.take() {
            self.compare(path);
        }
        Some(said.answer)
    }

    /// Another session is shown: all else was about the one before.
    fn shows(&mut self, story: Option<Story>) {
        *locked(&self.shown) = story;
        self.seat = None;
        self.played = None;
        self.give_up_comparing();
    }

    /// Opens another session, to be held against what is shown.
    fn compare(&mut self, path: PathBuf) {
        self.beside(move |source, cancel| {
            Ok((comparing::opened(source, &path, cancel)?, Brings::Nothing))
        });
    }

    /// Plays all nodes of what is shown on, to be held against it.
    fn play_on(&mut self, changes: String) {
        let layer = self.layer.clone();
        self.beside(move |source, cancel| {
            let with = (changes.as_str(), layer.as_deref());
            let (answer, folder) = comparing::played_on(source, with, cancel)?;
            Ok((answer, Brings::Played(folder)))
        });
    }

    /// Works on another session, beside whatever is worked on.
    fn beside(
        &mut self,
        work: impl FnOnce(&Source, &Cancel) -> Result<(Answer, Brings)> + Send + 'static,
    ) {
        self.give_up_comparing();
        let (source, told) = (
            self.source.clone(),
            self.told(Job::Comparing(self.comparing)),
        );
        let work = move |told: &Teller| match work(&source, &told.cancel) {
            Ok((answer, brings)) => told.bring(answer, brings),
            Err(why) => told.say(Answer::NotCompared(why.to_string())),
        };
        spawn(("comparing", "for it"), told, Answer::NotCompared, work);
    }

    fn told(&self, job: Job) -> Teller {
        Teller {
            job,
            to: self.to.clone(),
            wake: self.wake.clone(),
            cancel: match job {
                Job::Comparing(_) => self.compares.clone(),
                Job::Opening(_) | Job::Done => self.opens.clone(),
            },
        }
    }

    /// Sits down at a node of what is shown.
    fn sit(&mut self, node: String, changes: &str) {
        let story = locked(&self.shown).as_ref().map(Story::beside);
        let seat = Seat::take(
            (&self.source, story),
            (node, self.layer.clone()),
            changes,
            self.wake.clone(),
        );
        match seat {
            Ok(seat) => self.seat = Some(seat),
            Err(why) => self.told(Job::Done).say(Answer::Stood(why)),
        }
    }

    /// Reads what is shown with a wire.
    fn read_with(&mut self, wire: PathBuf) {
        let source = Source {
            wire: Some(wire),
            ..self.source.clone()
        };
        if self.follows {
            self.follow_as(source)
        } else {
            self.open_as(source, String::new())
        }
    }

    fn begin(&mut self, work: impl FnOnce(&Teller) -> Result + Send + 'static) {
        self.give_up();
        self.opens = Cancel::default();
        let work = move |told: &Teller| {
            if let Err(failure) = work(told) {
                told.say(Answer::Failed(failure.to_string()));
            }
        };
        spawn(
            ("opening", "to open it"),
            self.told(Job::Opening(self.opening)),
            Answer::Failed,
            work,
        );
    }

    /// Has nothing opened or followed any more.
    fn give_up(&mut self) {
        self.opens.cancel();
        self.opening += 1;
    }

    /// Has nothing opened or played on any more to be held against what is shown.
    fn give_up_comparing(&mut self) {
        self.compares.cancel();
        self.compares = Cancel::default();
        self.comparing += 1;
    }
}

/// Works on a thread of its own; where there can be none, says so, and for what (`aim`).
fn spawn(
    (name, aim): (&str, &str),
    told: Teller,
    failed: fn(String) -> Answer,
    work: impl FnOnce(&Teller) + Send + 'static,
) {
    let still = told.clone();
    let spawned = thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || work(&told));
    if let Err(error) = spawned {
        let why = format!("there can be no thread {aim}: {error}; close something");
        still.say(failed(why));
    }
}

/// Records the demonstration; the folder of its reels, below the system's temporary folder.
fn demonstrated() -> Result<PathBuf> {
    let failed = |error| Failure::new(format!("the demonstration cannot be played: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let folder = std::env::temp_dir().join(format!("netreel-demonstration-{}", std::process::id()));
    if folder.is_dir() {
        return Ok(folder);
    }
    let mut program = std::process::Command::new(program);
    program
        .args(["play", "--script", "-", "--out"])
        .arg(&folder);
    let played = program.output().map_err(failed)?;
    if played.status.success() {
        Ok(folder)
    } else {
        fail(String::from_utf8_lossy(&played.stderr).trim())
    }
}

impl Host for Opener {
    fn ask(&mut self, request: Request) {
        match request {
            // What a command line says of one recording is not about another.
            Request::Open(paths) => {
                let source = Source {
                    paths,
                    no_index: self.source.no_index,
                    ..Source::default()
                };
                self.open_as(source, String::new());
            }
            Request::OpenBoth(one, other) => {
                self.compare_first(other);
                self.ask(Request::Open(vec![one]));
            }
            Request::Demonstration => self.demonstrate(),
            Request::Wire(wire) => self.read_with(wire),
            Request::KnownWire(name) => match wires::own(&name) {
                Ok(wire) => self.read_with(wire),
                Err(why) => self.told(Job::Done).say(Answer::Failed(why)),
            },
            Request::Candidates(shown) => {
                let folders = self.folders();
                self.do_beside("candidates", move || {
                    Answer::Candidates(wires::candidates(&shown.0, &folders))
                });
            }
            Request::Cut(part) => self.do_beside("cut", move || match cutting::write(&part) {
                Ok(said) => Answer::Done(said),
                Err(why) => Answer::Failed(why),
            }),
            Request::List(wanted, typed) => self.do_beside("list", move || {
                let paths = listing::matching(wanted, &typed);
                Answer::Listed(typed, paths)
            }),
            Request::Choose(wanted, picks) => self.do_beside("choose", move || {
                Answer::Chosen(wanted, listing::chosen(wanted, picks))
            }),
            Request::Follow(true) => self.follow(),
            Request::Follow(false) | Request::Cancel => {
                self.follows = false;
                self.give_up();
            }
            Request::Sit { node, changes } => self.sit(node, &changes),
            Request::Say(command) => {
                if let Some(seat) = &self.seat {
                    seat.say(command);
                }
            }
            Request::Stand => self.seat = None,
            Request::Compare(path) => self.compare(path),
            Request::PlayOn(changes) => self.play_on(changes),
            Request::CancelCompare => self.give_up_comparing(),
            Request::KeepBookmarks(all) => {
                if let Err(why) = bookmarks::keep(&self.source.paths, &all) {
                    self.told(Job::Done).say(Answer::Failed(why));
                }
            }
            Request::Keep(kept) => {
                if let Err(why) = settings::keep(&kept) {
                    self.told(Job::Done).say(Answer::Failed(why));
                }
            }
        }
    }

    fn answers(&mut self) -> Vec<Answer> {
        let mut answers: Vec<Answer> = self.first.take().into_iter().collect();
        while let Ok(said) = self.from.try_recv() {
            answers.extend(self.hear(said));
        }
        answers.extend(self.seat.iter().flat_map(Seat::answers));
        bookmarks::with_answers(&self.source.paths, &mut answers);
        answers
    }

    fn wake_with(&mut self, wake: Wake) {
        *locked(&self.wake) = Some(wake);
    }
}
