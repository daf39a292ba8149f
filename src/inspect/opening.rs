//! Opening and following, on threads beside the window, and what these say.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;

use netreel_inspector::{Answer, Follower, Model, Rhythm, Settings, Wake};
use netreel_protocol::session::{ReelInput, Session, SessionBuilder};
use netreel_system::{Cancel, locked};

use super::comparing::Folder;
use super::drawn::{filtered, ruled};
use crate::arguments::Source;
use crate::open::{self, Story};
use crate::outcome::Result;
use crate::rules::Tested;
use crate::text;
use crate::watch::Watch;

/// Of which reels the beginning is shown while all of them are read, and how much of them that is; in
/// bytes.
struct Sizes {
    /// Of reels that are larger together.
    large: u64,
    /// All beginnings.
    beginning: u64,
    /// Each of them at least: the head of a reel has the text of the wire.
    least: u64,
}

impl Sizes {
    /// How much of one that has `length` of `all` bytes: as much of the time of each, as far as that can
    /// be told.
    fn part(&self, length: u64, all: u64) -> Option<u64> {
        let part = u128::from(length) * u128::from(self.beginning) / u128::from(all.max(1));
        Some(u64::try_from(part).ok()?.max(self.least))
    }
}

const SIZES: Sizes = Sizes {
    large: 64 << 20,
    beginning: 6 << 20,
    least: 256 << 10,
};

/// What is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// The session to show.
    Opening(u64),
    /// The session to hold against it.
    Comparing(u64),
    /// What was asked for beside both, and is over.
    Done,
}

/// An answer, and what comes with it once it is heard.
pub(super) struct Said {
    pub job: Job,
    pub answer: Answer,
    pub brings: Brings,
}

/// What comes with an answer.
pub(super) enum Brings {
    Nothing,
    /// How what is shown from now on was opened: its beginning.
    Begun(Box<Source>),
    /// What is shown from now on, and how it was opened.
    Shown(Box<(Source, Story)>),
    /// What was played on lies there.
    Played(Folder),
    /// The wire of what is shown was edited: into one that compiles, or one that has a mistake.
    Edited(bool),
}

/// What a thread says, and whether anybody still wants to hear it.
#[derive(Clone)]
pub(super) struct Teller {
    pub job: Job,
    pub to: Sender<Said>,
    pub wake: Arc<Mutex<Option<Wake>>>,
    pub cancel: Cancel,
}

impl Teller {
    pub fn say(&self, answer: Answer) {
        self.bring(answer, Brings::Nothing);
    }

    pub fn bring(&self, answer: Answer, brings: Brings) {
        let job = self.job;
        // Whoever would hear it has closed the window.
        drop(self.to.send(Said {
            job,
            answer,
            brings,
        }));
        let wake = locked(&self.wake).clone();
        if let Some(wake) = wake {
            wake();
        }
    }

    pub fn working(&self, what: impl Into<String>) {
        self.say(Answer::Working(what.into()));
    }

    pub fn is_over(&self) -> bool {
        !self.cancel.goes_on()
    }
}

/// Opens what `source` names, and says how far it is.
pub(super) fn opened(
    source: &Source,
    (filter, rules): (&str, Option<&Tested>),
    told: &Teller,
) -> Result<(Answer, Story)> {
    let title = Settings::named(&source.paths);
    told.working(format!("reading {title}"));
    let show = |session: Session| {
        let mut model = Model::beginning(Arc::new(session));
        filtered(&mut model, filter);
        let answer = Answer::Begun {
            model: Box::new(model),
            title: title.clone(),
            paths: source.paths.clone(),
        };
        told.bring(answer, Brings::Begun(Box::new(source.clone())));
        told.working(format!("so far its beginning is shown: reading {title}"));
    };
    let of_captures = beginning_of_captures(source, &SIZES);
    let is_begun = of_captures.is_some();
    of_captures.into_iter().for_each(show);
    let begun = |reels: &[ReelInput], how: &SessionBuilder| {
        if !is_begun {
            beginning(reels, how, &SIZES).into_iter().for_each(show);
        }
    };
    let mut story = open::story_read(source, Session::builder().cancel(&told.cancel), begun)?;
    let packets = story.session.packet_count();
    told.working(format!("arranging {}", text::counted(packets, "packet")));
    let answer = Answer::Opened {
        model: Box::new(ruled(&mut story, filter, rules)?),
        title,
        paths: source.paths.clone(),
    };
    Ok((answer, story))
}

/// Reads what `source` names once more, for whoever looks at it already.
pub(super) fn reread(source: &Source, told: &Teller) -> Result<(Answer, Story)> {
    let mut story = open::story_while(source, &told.cancel)?;
    let answer = Answer::Reread {
        model: Box::new(ruled(&mut story, "", None)?),
        title: Settings::named(&source.paths),
        paths: source.paths.clone(),
    };
    Ok((answer, story))
}

/// The beginnings of what takes so long to read that somebody would wait for it: `begin` opens so many
/// bytes of each.
fn beginnings<T>(
    all: &[T],
    length: impl Fn(&T) -> Option<u64>,
    sizes: &Sizes,
    begin: impl Fn(&T, u64) -> Option<ReelInput>,
) -> Option<Vec<ReelInput>> {
    let lengths: Vec<u64> = all.iter().map(length).collect::<Option<_>>()?;
    let whole: u64 = lengths.iter().sum();
    if whole < sizes.large {
        return None;
    }
    let each = all.iter().zip(lengths);
    each.map(|(it, length)| begin(it, sizes.part(length, whole)?))
        .collect()
}

/// The beginning of packet captures that are large; what is wrong with them is said by whoever reads them
/// whole.
fn beginning_of_captures(source: &Source, sizes: &Sizes) -> Option<Session> {
    let length = |path: &PathBuf| {
        let found = std::fs::metadata(path).ok().filter(|it| it.is_file())?;
        Some(found.len())
    };
    let begun = beginnings(&source.paths, length, sizes, |path, bytes| {
        let reel = netreel_capture::open_capture_beginning(path, bytes).ok()??;
        Some(ReelInput {
            name: path.display().to_string(),
            reel: Arc::new(reel),
        })
    })?;
    open::how(source).ok()?.build(begun).ok()
}

/// The beginning of a large session. What follows from its packets is not for the beginning to say.
fn beginning(reels: &[ReelInput], how: &SessionBuilder, sizes: &Sizes) -> Option<Session> {
    let length = |input: &ReelInput| input.reel.length().ok();
    let begun = beginnings(reels, length, sizes, |input, bytes| {
        Some(ReelInput {
            name: input.name.clone(),
            reel: Arc::new(input.reel.beginning(bytes).ok()?),
        })
    })?;
    how.clone().build(begun).ok()
}

/// Looks at what `source` names again and again while it is recorded.
pub(super) fn followed(source: &Source, told: &Teller) -> Result {
    let mut watch = Watch::new(source.paths.clone(), open::how(source)?);
    let mut rhythm = Rhythm::default();
    told.working(format!("waiting for {}", Settings::named(&source.paths)));
    let say = told.clone();
    let mut follower = Follower::new(move |answer| say.say(answer));
    while !told.is_over() {
        thread::sleep(rhythm.pause());
        rhythm.begin();
        let Some(now) = watch.open_in_time()? else {
            rhythm.end();
            continue;
        };
        let live = !now.all_over();
        if now.is_new || !live {
            watch.growing().work_on(rhythm.workers(live));
            // Two that have not met yet may meet.
            if let Ok(session) = watch.session(&now) {
                follower.look(now.look(session, live));
            }
        }
        rhythm.end();
        if !live {
            follower.finish();
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::channel;

    use netreel_capture::{Options, Recorder};
    use netreel_protocol::session::NodeId;
    use netreel_reel::{Endpoint, Event, Header, SocketId, Time};

    use super::*;
    use crate::inspect::sample;

    #[test]
    fn what_nobody_wants_any_more_is_not_opened() {
        let (to, from) = channel();
        let told = Teller {
            job: Job::Opening(0),
            to,
            wake: Arc::default(),
            cancel: Cancel::after(0),
        };
        let failure = opened(&sample(), ("", None), &told).err();
        let why = failure.expect("it was given up").to_string();
        assert!(why.contains("given up"), "{why}");
        // It was given up before its packets were arranged.
        assert_eq!(from.try_iter().count(), 1);
    }

    #[test]
    fn the_beginning_of_a_capture_is_shown_as_though_it_ended_there() {
        let recordings =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/wire/tests/recordings");
        let capture = recordings.join("minetest.pcap");
        let length = std::fs::metadata(&capture).expect("a capture").len();
        let source = |path: PathBuf| Source {
            paths: vec![path],
            ..sample()
        };
        let sizes = |large| Sizes {
            large,
            beginning: length / 4,
            least: 1_000,
        };
        assert!(beginning_of_captures(&source(capture.clone()), &sizes(u64::MAX)).is_none());
        let begun =
            beginning_of_captures(&source(capture.clone()), &sizes(0)).expect("a beginning");
        let whole = open::story(&source(capture)).expect("a capture").session;
        let (some, all) = (begun.packet_count(), whole.packet_count());
        assert!(some > 0 && some < all / 2, "{some} of {all}");
        // Reels have a beginning of their own.
        let reel = sample().paths[0].join("A.reel");
        assert!(beginning_of_captures(&source(reel), &sizes(0)).is_none());
    }

    #[test]
    fn the_beginning_of_a_session_is_what_all_of_its_reels_begin_with() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, port) in [("A", 7_000), ("B", 7_001)] {
            record(&folder.path().join(format!("{name}.reel")), name, port);
        }
        let reels = open::reels(&[folder.path()]).expect("reels").inputs;
        let begun = |large| {
            let sizes = Sizes {
                large,
                beginning: 400_000,
                least: 1_000,
            };
            beginning(&reels, &Session::builder(), &sizes)
        };
        assert!(begun(u64::MAX).is_none());
        let session = begun(0).expect("a beginning");
        let sent = |name: &str| {
            let node = session.nodes.iter().position(|node| node.name == name);
            let node = NodeId(node.expect("a node") as u16);
            session.packets().filter(|it| it.from == node).count()
        };
        for name in ["A", "B"] {
            assert!((200..1_500).contains(&sent(name)), "{name}: {}", sent(name));
        }
    }

    /// Records a node that sends 3000 packets to nobody, of 200 bytes in which nothing is alike.
    fn record(path: &Path, name: &str, port: u16) {
        let header = Header {
            node: name.to_owned(),
            session: [1; 16],
            ..Header::default()
        };
        let recorder = Recorder::create(path, &header, Options::default()).expect("a recorder");
        let mut pusher = recorder.pusher().expect("a pusher");
        let (socket, local) = (SocketId(0), Endpoint::from(([127, 0, 0, 1], port)));
        let to = Endpoint::from(([127, 0, 0, 1], 9_000));
        let opened = Event::SocketOpened { socket, local };
        pusher.push(Time(0), opened).expect("taken");
        let mut state = u64::from(port);
        for packet in 1..=3_000 {
            let bytes = std::iter::repeat_with(|| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            });
            let payload: Vec<u8> = bytes.take(200).collect();
            let sent = Event::Sent {
                socket,
                to,
                payload: &payload,
            };
            pusher.push(Time(packet * 1_000_000), sent).expect("taken");
        }
        drop(pusher);
        recorder.finish().expect("an end");
    }
}
