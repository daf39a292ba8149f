//! What the window asks of whoever runs it, and what that answers.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use netreel_inspector_model::{Bookmark, Followed, Model};
use netreel_protocol::session::{PacketId, Session, SessionTime};

use crate::kept_run::KeptRun;
use crate::settings::Settings;

/// Something that the window cannot do itself: it knows no files.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Show what is recorded at these paths: reels, folders of reels, packet captures.
    Open(Vec<PathBuf>),
    /// Show what is recorded at the first path, and hold what is at the second against it.
    OpenBoth(PathBuf, PathBuf),
    /// Record the demonstration and show it.
    Demonstration,
    /// Show the same under this wire.
    Wire(PathBuf),
    /// Follow what is shown while it is recorded, or no longer.
    Follow(bool),
    /// What a path that is being typed can go on with.
    List(PathKind, String),
    /// Have somebody choose a path with the system's own dialog.
    Choose(PathKind, Picks),
    /// No longer work on what was asked for last.
    Cancel,
    /// Keep how the window is laid out.
    Keep(Settings),
    /// Keep these bookmarks beside what is shown.
    KeepBookmarks(Arc<[Bookmark]>),
    /// Sit down in the replay of a node of what is shown.
    Sit {
        /// The node's name.
        node: String,
        /// What is to be another than recorded, as on the command line: `--set mode=owner`.
        changes: String,
    },
    /// A command to the replay, in the words of `netreel replay --step`.
    Say(String),
    /// Leave the replay.
    Stand,
    /// Open what is recorded at this path, to be held against what is shown.
    Compare(PathBuf),
    /// No longer open or play on what was to be held against what is shown.
    CancelCompare,
    /// Write a part of what is shown as a session of its own.
    Cut(Cut),
    /// Try the wires that are known on what is shown.
    Candidates(Shown),
    /// Show the same under a wire that whoever runs the window has itself, by its name.
    KnownWire(String),
    /// Play all nodes of what is shown on at once, with these changes (`--set mode=owner`), and hold
    /// what comes against it.
    PlayOn(String),
}

/// What a path is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathKind {
    /// Reels, folders, captures.
    #[default]
    Recording,
    /// A wire.
    Wire,
    /// A file for a picture of the window.
    Picture,
    /// A folder for a part of what is shown.
    Cut,
}

/// What the system's dialog lets somebody choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picks {
    /// A file that is there.
    File,
    /// A folder.
    Folder,
    /// A file that is to be written.
    NewFile,
}

impl PathKind {
    /// What the system's dialog can be asked for, each with the words of its button.
    pub fn picks(self) -> &'static [(&'static str, Picks)] {
        match self {
            PathKind::Recording => &[
                ("choose a folder…", Picks::Folder),
                ("choose a file…", Picks::File),
            ],
            PathKind::Wire => &[("choose…", Picks::File)],
            PathKind::Picture => &[("choose…", Picks::NewFile)],
            PathKind::Cut => &[("choose…", Picks::Folder)],
        }
    }

    /// How the names of the files end that it may be; folders may be of any name.
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            PathKind::Recording => &["reel", "pcap", "pcapng", "cap"],
            PathKind::Wire => &["wire"],
            PathKind::Picture => &["png"],
            PathKind::Cut => &[],
        }
    }
}

/// The session that is shown, handed on.
#[derive(Clone)]
pub struct Shown(pub Arc<Session>);

impl PartialEq for Shown {
    fn eq(&self, other: &Shown) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shown({} packets)", self.0.packet_count())
    }
}

/// A part of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Of what.
    pub of: Shown,
    /// The packets that the filter takes, in order; `None`: all.
    pub packets: Option<Arc<[PacketId]>>,
    /// When.
    pub time: Range<SessionTime>,
    /// What it is, in words: the filter.
    pub filter: String,
    /// The folder of its reels: empty, or not there yet.
    pub folder: PathBuf,
}

/// A wire, and how many packets it decodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Its name: `enet.wire`.
    pub name: String,
    /// Where it lies; `None` where whoever runs the window has it itself.
    pub path: Option<PathBuf>,
    /// How many packets it was tried on.
    pub packets: usize,
    /// How many of them it decodes without a mistake.
    pub fit: usize,
    /// Why it could not be tried.
    pub why: Option<String>,
}

/// Where one stands in a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// The node whose layer is played.
    pub node: String,
    /// The number of the event that comes next.
    pub position: u64,
    /// When that is; `None` at the end.
    pub time: Option<SessionTime>,
    /// Its packet.
    pub packet: Option<PacketId>,
    /// The events around it.
    pub events: Vec<Event>,
    /// The last event that can be played.
    pub last: u64,
    /// The event before which the layer is.
    pub turn: u64,
    /// The layer's state there: names and values. Nothing where the engine offers none.
    pub layer: Vec<(String, String)>,
    /// Where the replay is to stop.
    pub breaks: Vec<String>,
    /// Where the layer parts from the recording, as far as that was found.
    pub parting: Option<Parting>,
    /// What the last command said.
    pub said: String,
}

/// An event of the reel that is played.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// Its number.
    pub number: u64,
    /// When it was.
    pub time: SessionTime,
    /// `sent`, `received`, `tick`, ...
    pub kind: String,
    /// What it was.
    pub words: String,
    /// Its packet.
    pub packet: Option<PacketId>,
}

/// Where a layer parts from its recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parting {
    /// The event that it does not do.
    pub event: u64,
    /// How far the layer was exact and where it parts, as the command prints it.
    pub said: String,
    /// What it likely comes from, a sentence each, the most likely first.
    pub likely: Vec<String>,
    /// What the recording has.
    pub expected: String,
    /// What the layer did.
    pub came: String,
    /// The first field in which they differ: its path, what the recording has, what came.
    pub field: Option<(String, String, String)>,
    /// The recorded packet, where it is one.
    pub expected_bytes: Option<Vec<u8>>,
    /// The layer's.
    pub came_bytes: Option<Vec<u8>>,
}

/// What became of a request.
pub enum Answer {
    /// It is being worked on: what is done now.
    Working(String),
    /// The beginning of another session, the rest of which is being read.
    Begun {
        /// What to show.
        model: Box<Model>,
        /// What stands in the title.
        title: String,
        /// Where it lies.
        paths: Vec<PathBuf>,
    },
    /// Another session, or all of the one whose beginning is shown.
    Opened {
        /// What to show.
        model: Box<Model>,
        /// What stands in the title.
        title: String,
        /// Where it lies.
        paths: Vec<PathBuf>,
    },
    /// The same, read under another wire: whoever looks at something goes on looking at it.
    Reread {
        /// What to show.
        model: Box<Model>,
        /// What stands in the title.
        title: String,
        /// Where it lies.
        paths: Vec<PathBuf>,
    },
    /// The matches of a run that were kept: to be chosen from now, or whenever somebody asks.
    Run {
        /// Which.
        run: KeptRun,
        /// Whether somebody asked for it.
        is_asked: bool,
    },
    /// The wire that is edited has a mistake: a sentence with its line. What is shown stays.
    Mistake(String),
    /// The wires that are known, those that decode most first.
    Candidates(Vec<Candidate>),
    /// What a path that is being typed, and was so then, can go on with: whole paths, folders with a
    /// slash behind them.
    Listed(String, Vec<String>),
    /// What somebody chose with the system's dialog; `None`: nothing.
    Chosen(PathKind, Option<PathBuf>),
    /// It was done: a sentence.
    Done(String),
    /// Whoever opened the window wants to know why, of what this filter takes.
    Why(String),
    /// The same session, further on.
    Grown {
        /// As far as it has come; where it has no history, that is [still to come](Answer::Followed).
        model: Box<Model>,
        /// Whether more may come.
        live: bool,
    },
    /// What followed in the session that is shown, or as it was a little before.
    Followed(Box<Followed>),
    /// Where one stands in the replay now.
    Stands(Box<Standing>),
    /// The replay is over: why, where it was not left.
    Stood(String),
    /// The session to hold against what is shown.
    Compared {
        /// What to show of it.
        model: Box<Model>,
        /// What it is called.
        title: String,
    },
    /// There is none to hold against it: why.
    NotCompared(String),
    /// It cannot be done: a sentence that says why and what to do.
    Failed(String),
}

/// Called from any thread when there is an answer.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Whoever runs the window.
pub trait Host {
    /// Begins what was asked for; takes no longer than a frame has time.
    fn ask(&mut self, request: Request);
    /// What has been answered since.
    fn answers(&mut self) -> Vec<Answer>;
    /// Has somebody called when there is an answer.
    fn wake_with(&mut self, wake: Wake);
}

/// Nobody: requests are refused.
#[derive(Debug, Default)]
pub struct Alone {
    refused: bool,
}

impl Host for Alone {
    fn ask(&mut self, request: Request) {
        let is_done = matches!(
            request,
            Request::Keep(_) | Request::Cancel | Request::CancelCompare
        );
        self.refused |= !is_done;
    }

    fn answers(&mut self) -> Vec<Answer> {
        let sentence = "This window shows one session; `netreel inspect PATH` opens another.";
        std::mem::take(&mut self.refused)
            .then(|| Answer::Failed(sentence.to_owned()))
            .into_iter()
            .collect()
    }

    fn wake_with(&mut self, _wake: Wake) {}
}
