//! Whoever runs the window: opens what it asks for, beside it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use netreel_capture::{OpenError, OpenWhy};
use netreel_inspector::{Answer, Host, Model, Request, Wake};
use netreel_protocol::history::History;

use crate::arguments::Source;
use crate::inspect::sitting::Seat;
use crate::inspect::{comparing, model, settings};
use crate::open::{self, Story};
use crate::outcome::Failure;
use crate::watch::{Now, Pace, Watch};

/// How often a recording that is followed is looked at, at most.
const PAUSE: Duration = Duration::from_millis(200);

/// The story that is shown, for whoever keeps its index when the window closes.
pub type Shown = Arc<Mutex<Option<Story>>>;

/// Opens what the window asks for, each time on a thread of its own.
pub struct Opener {
    source: Source,
    filter: String,
    shown: Shown,
    to: Sender<(u64, Answer)>,
    from: Receiver<(u64, Answer)>,
    wake: Arc<Mutex<Option<Wake>>>,
    /// Which of the threads is heard; what those before it say is of no interest any more.
    job: u64,
    stop: Arc<AtomicBool>,
    /// Where the window sits in a replay.
    seat: Option<Seat>,
    /// An answer that came while somebody waited for the first one.
    first: Option<Answer>,
}

/// What a thread says, and whether anybody still wants to hear it.
#[derive(Clone)]
struct Told {
    job: u64,
    to: Sender<(u64, Answer)>,
    wake: Arc<Mutex<Option<Wake>>>,
    stop: Arc<AtomicBool>,
}

impl Told {
    fn say(&self, answer: Answer) {
        // Whoever would hear it has closed the window.
        drop(self.to.send((self.job, answer)));
        let wake = self.wake.lock().ok().and_then(|wake| wake.clone());
        if let Some(wake) = wake {
            wake();
        }
    }

    fn working(&self, what: impl Into<String>) {
        self.say(Answer::Working(what.into()));
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Opener {
    /// Of what a command line names.
    pub fn new(source: Source, filter: String) -> Opener {
        let (to, from) = channel();
        Opener {
            source,
            filter,
            shown: Shown::default(),
            to,
            from,
            wake: Arc::default(),
            job: 0,
            stop: Arc::default(),
            seat: None,
            first: None,
        }
    }

    /// The story that is shown when the window has closed.
    pub fn shown(&self) -> Shown {
        self.shown.clone()
    }

    /// Begins to open what the command line names.
    pub fn open(&mut self) {
        // What opens later is another session: the command line's filter is not about it.
        let (source, filter) = (self.source.clone(), std::mem::take(&mut self.filter));
        let shown = self.shown.clone();
        self.begin(move |told| match opened(&source, &filter, &shown, told) {
            Ok(answer) => told.say(answer),
            Err(failure) => told.say(Answer::Failed(failure.to_string())),
        });
    }

    /// Begins to follow it.
    pub fn follow(&mut self) {
        let source = self.source.clone();
        self.begin(move |told| {
            if let Err(failure) = followed(&source, told) {
                told.say(Answer::Failed(failure.to_string()));
            }
        });
    }

    /// Waits so long for the first answer that is one.
    pub fn wait(&mut self, most: Duration) -> Option<Answer> {
        let until = Instant::now() + most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.from.recv_timeout(left) {
                Ok((_, working @ Answer::Working(_))) => self.first = Some(working),
                Ok((_, answer)) => {
                    self.first = None;
                    return Some(answer);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Gives an answer back that the window is to hear.
    pub fn unheard(&mut self, answer: Answer) {
        self.first = Some(answer);
    }

    /// Opens another session, to be held against what is shown.
    pub fn compare(&mut self, path: PathBuf) {
        self.beside(move |source| comparing::opened(source, &path));
    }

    /// Works on another session, beside whatever is worked on.
    fn beside(&self, work: impl FnOnce(&Source) -> Result<Answer, Failure> + Send + 'static) {
        let (source, told) = (self.source.clone(), self.told());
        let spawned = thread::Builder::new()
            .name("comparing".to_owned())
            .spawn(move || {
                let answer = work(&source);
                told.say(answer.unwrap_or_else(|why| Answer::NotCompared(why.to_string())));
            });
        if let Err(error) = spawned {
            let why = format!("there can be no thread for it: {error}; close something");
            drop(self.to.send((self.job, Answer::NotCompared(why))));
        }
    }

    fn told(&self) -> Told {
        Told {
            job: self.job,
            to: self.to.clone(),
            wake: self.wake.clone(),
            stop: self.stop.clone(),
        }
    }

    /// Sits down at a node of what is shown.
    fn sit(&mut self, node: String, changes: &str) {
        let story = self.shown.lock().ok();
        let story = story.and_then(|story| story.as_ref().map(Story::beside));
        match Seat::take((&self.source, story), node, changes, self.wake.clone()) {
            Ok(seat) => self.seat = Some(seat),
            Err(why) => drop(self.to.send((self.job, Answer::Stood(why)))),
        }
    }

    fn begin(&mut self, work: impl FnOnce(&Told) + Send + 'static) {
        self.stop.store(true, Ordering::Relaxed);
        self.stop = Arc::default();
        self.job += 1;
        let told = self.told();
        let spawned = thread::Builder::new()
            .name("opening".to_owned())
            .spawn(move || work(&told));
        if let Err(error) = spawned {
            let sentence = format!("there can be no thread to open it: {error}; close something");
            drop(self.to.send((self.job, Answer::Failed(sentence))));
        }
    }
}

impl Host for Opener {
    fn ask(&mut self, request: Request) {
        match request {
            Request::Open(paths) => {
                self.seat = None;
                self.source.paths = paths;
                self.source.keys = None;
                self.open();
            }
            Request::Wire(wire) => {
                self.seat = None;
                self.source.wire = Some(wire);
                self.open();
            }
            Request::Follow(true) => self.follow(),
            Request::Follow(false) | Request::Cancel => {
                self.stop.store(true, Ordering::Relaxed);
                self.job += 1;
            }
            Request::Sit { node, changes } => self.sit(node, &changes),
            Request::Say(command) => {
                if let Some(seat) = &self.seat {
                    seat.say(command);
                }
            }
            Request::Stand => self.seat = None,
            Request::Compare(path) => self.compare(path),
            Request::PlayOn(changes) => {
                self.beside(move |source| comparing::played_on(source, &changes));
            }
            Request::Keep(kept) => {
                if let Err(why) = settings::keep(&kept) {
                    let said = Answer::Failed(why);
                    drop(self.to.send((self.job, said)));
                }
            }
        }
    }

    fn answers(&mut self) -> Vec<Answer> {
        let mut answers: Vec<Answer> = self.first.take().into_iter().collect();
        while let Ok((job, answer)) = self.from.try_recv() {
            if job == self.job {
                answers.push(answer);
            }
        }
        answers.extend(self.seat.iter().flat_map(Seat::answers));
        answers
    }

    fn wake_with(&mut self, wake: Wake) {
        if let Ok(mut known) = self.wake.lock() {
            *known = Some(wake);
        }
    }
}

/// Opens what `source` names, and says how far it is.
fn opened(source: &Source, filter: &str, shown: &Shown, told: &Told) -> Result<Answer, Failure> {
    let title = titled(&source.paths);
    told.working(format!("reading {title}"));
    let mut story = open::story(source)?;
    let packets = story.session.packet_count();
    told.working(format!("arranging {packets} packets"));
    let model = Box::new(model(&mut story, filter));
    if let Ok(mut shown) = shown.lock()
        && !told.is_over()
    {
        *shown = Some(story);
    }
    Ok(Answer::Opened { model, title })
}

/// The paths as a title has them.
pub fn titled(paths: &[PathBuf]) -> String {
    let paths = paths.iter().map(|path| path.display().to_string());
    paths.collect::<Vec<_>>().join(" ")
}

/// Looks at what `source` names again and again while it is recorded.
fn followed(source: &Source, told: &Told) -> Result<(), Failure> {
    let keys = open::keys(source.keys.as_deref(), &source.paths)?;
    let wire = source.wire.as_deref().map(open::wire).transpose()?;
    let mut watch = Watch::new(source.paths.clone(), wire, keys);
    let bounds = open::bounds(source.bounds.as_deref(), &source.paths)?;
    watch.growing().judge_by(bounds);
    let mut pace = Pace::new(PAUSE);
    told.working(format!("waiting for {}", titled(&source.paths)));
    let mut is_new = false;
    while !told.is_over() {
        if let Some(now) = there(&source.paths, watch.open())? {
            is_new |= now.is_new;
            let live = !now.all_over();
            if (is_new && pace.is_due()) || !live {
                is_new = false;
                let begun = Instant::now();
                // Two that have not met yet may meet.
                if let Ok(session) = watch.look(&now) {
                    let history = History::build(&session);
                    let (session, history) = (Arc::new(session), Arc::new(history));
                    let model = Model::without(session, history, &now.reels.unread);
                    told.say(Answer::Grown {
                        model: Box::new(model),
                        live,
                    });
                }
                pace.looked(begun);
            }
            if !live {
                return Ok(());
            }
        }
        thread::sleep(PAUSE / 4);
    }
    Ok(())
}

/// What is there; nothing yet where a recorder may be about to begin.
fn there(paths: &[PathBuf], opened: Result<Now, OpenError>) -> Result<Option<Now>, Failure> {
    use netreel_reel::OpenError::{Empty, HeaderCut};
    let error = match opened {
        Ok(now) => return Ok(Some(now)),
        Err(error) => error,
    };
    let in_time = match &error.why {
        OpenWhy::NoReels | OpenWhy::Reel(Empty | HeaderCut { .. }) => true,
        OpenWhy::Io(_) => false,
        _ => paths.iter().map(PathBuf::as_path).any(Path::is_dir),
    };
    match in_time {
        true => Ok(None),
        false => Err(Failure::new(error)),
    }
}

#[cfg(test)]
mod tests {
    use netreel_capture::{Options, Recorder, open as open_reel};
    use netreel_reel::Reel;

    use super::*;

    /// Nothing takes this long.
    const LONG: Duration = Duration::from_secs(120);

    fn sample() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host")
    }

    fn source(path: PathBuf) -> Source {
        Source {
            paths: vec![path],
            keys: None,
            wire: None,
            bounds: None,
            no_index: true,
        }
    }

    #[track_caller]
    fn first(opener: &mut Opener) -> Answer {
        opener.wait(LONG).expect("an answer")
    }

    #[test]
    fn what_is_asked_for_is_opened_and_what_is_not_there_said() {
        let mut opener = Opener::new(source(sample()), String::new());
        opener.open();
        let Answer::Opened { model, .. } = first(&mut opener) else {
            panic!("not opened");
        };
        assert!(model.row_count() > 100);
        assert!(opener.shown().lock().expect("a lock").is_some());
        opener.ask(Request::Open(vec![PathBuf::from("no-such-reel")]));
        let Answer::Failed(why) = first(&mut opener) else {
            panic!("opened");
        };
        assert!(why.contains("no-such-reel"), "{why}");
    }

    #[test]
    fn nobody_hears_what_was_given_up() {
        let mut opener = Opener::new(source(sample()), String::new());
        opener.open();
        opener.ask(Request::Cancel);
        // Whatever it says comes before the thread lets go of the other end.
        let late = opener.wait(LONG);
        assert!(late.is_some());
        opener
            .to
            .send((1, Answer::Working(String::new())))
            .expect("heard");
        assert!(opener.answers().is_empty());
    }

    #[test]
    fn a_recording_is_followed_to_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let reel: Reel = open_reel(sample().join("HOST.reel")).expect("a sample");
        let mut opener = Opener::new(source(folder.path().to_owned()), String::new());
        opener.follow();
        let path = folder.path().join("HOST.reel");
        let recorder =
            Recorder::create(&path, reel.header(), Options::default()).expect("a recorder");
        let mut pusher = recorder.pusher().expect("a pusher");
        reel.for_each(|record| {
            pusher.push(record.time, record.event).expect("taken");
        });
        let Answer::Grown { live, .. } = first(&mut opener) else {
            panic!("not followed");
        };
        assert!(live);
        drop(pusher);
        recorder.finish().expect("an end");
        loop {
            let Answer::Grown { model, live } = first(&mut opener) else {
                panic!("not followed");
            };
            if !live {
                assert!(model.row_count() > 100);
                return;
            }
        }
    }
}
