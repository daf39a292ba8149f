//! How a command ends.

use std::fmt;
use std::path::{Path, PathBuf};

use netreel_protocol::verdict::Verdict;

/// An answer, good or bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done, and nothing is wrong: exit code 0.
    Clean,
    /// Done, and the thing asked about is wrong: exit code 1.
    Wrong,
    /// Done, and what was asked cannot be told from what there is: exit code 2.
    Unknown,
    /// Done, and this is the exit code: that of a program that was run.
    Code(u8),
}

/// No answer: exit code 2.
#[derive(Debug)]
pub enum Failure {
    /// What was asked, what was found, and what to do.
    Told(String),
    /// The output could not be written.
    Output(std::io::Error),
}

/// What comes of a step of a command, where nothing fails.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl Answer {
    /// Done; and whether nothing is wrong.
    pub fn clean_if(is_clean: bool) -> Answer {
        if is_clean {
            Answer::Clean
        } else {
            Answer::Wrong
        }
    }
}

/// The program that runs, to be started once more.
pub fn own_program() -> Result<PathBuf> {
    let found = std::env::current_exe();
    found.map_err(|error| Failure::new(format!("cannot find the program itself: {error}")))
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Answer {
        match verdict {
            Verdict::Clean => Answer::Clean,
            Verdict::Wrong => Answer::Wrong,
            Verdict::Unknown => Answer::Unknown,
        }
    }
}

impl Failure {
    /// A failure that says `why`.
    pub fn new(why: impl fmt::Display) -> Failure {
        Failure::Told(why.to_string())
    }

    /// A failure at a file or a folder.
    pub fn at(path: &Path, why: impl fmt::Display) -> Failure {
        Failure::Told(format!("{}: {why}", path.display()))
    }
}

/// Fails with a sentence.
pub fn fail<T>(why: impl fmt::Display) -> Result<T> {
    Err(Failure::new(why))
}

/// Sentences, and errors of libraries that need no more words.
macro_rules! told_as_they_are {
    ($($(#[$when:meta])? $error:ty,)*) => { $(
        $(#[$when])?
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::new(error)
            }
        }
    )* };
}

told_as_they_are! {
    &str,
    String,
    netreel_capture::OpenError,
    netreel_capture::RecordError,
    netreel_capture::FollowError,
    #[cfg(any(feature = "pcap", windows))]
    netreel_capture::live::LiveError,
    netreel_capture::preload::PreloadError,
    netreel_capture::proxy::ProxyError,
    netreel_capture::ring_mode::PeersError,
    netreel_console::ListenError,
    #[cfg(feature = "gui")]
    netreel_inspector::PictureError,
    #[cfg(feature = "gui")]
    netreel_inspector::WindowError,
    netreel_play::LiveError,
    netreel_play::LobbyError,
    netreel_play::ScriptError,
    netreel_protocol::diff::DiffError,
    netreel_protocol::session::SessionError,
    netreel_reel::OpenError,
    netreel_replay::NotReplayable,
    netreel_replay::StepError,
    netreel_sample_engine::StartError,
    netreel_scenario::Mistake,
    netreel_scenario::PlayError,
    netreel_scenario::RecoverError,
    netreel_transport::BindError,
    netreel_wire::CompileError,
    quick_junit::SerializeError,
    rustyline::error::ReadlineError,
    serde_json::Error,
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Told(why) => f.write_str(why),
            Failure::Output(error) => write!(f, "the output could not be written: {error}"),
        }
    }
}

/// What is said of a mistake in the arguments, where the words of Rust's library for what is no number are
/// put plainly.
pub fn in_plain_words(text: &str) -> String {
    let texts = [
        ("invalid digit found in string", "it is not a whole number"),
        (
            "cannot parse integer from empty string",
            "it is not a whole number",
        ),
        ("invalid float literal", "it is not a number"),
    ];
    let plainly = |text: String, (theirs, ours): (&str, &str)| text.replace(theirs, ours);
    texts.into_iter().fold(text.to_owned(), plainly)
}

/// A mistake in the arguments, for who reads JSON: `error`, and `usage` and `tip`, which are `null` where
/// nothing is to be said. Each is one line.
pub fn mistake(error: &clap::Error) -> serde_json::Value {
    let text = in_plain_words(&error.render().to_string());
    let (mut why, mut usage, mut tips) = (Vec::new(), None, Vec::new());
    for paragraph in text.split("\n\n") {
        let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(line) = line.strip_prefix("Usage: ") {
            usage = Some(line.to_owned());
        } else if let Some(line) = line.strip_prefix("tip: ") {
            tips.extend(line.split(" tip: ").map(str::to_owned));
        } else if line.starts_with("For more information") {
            tips.push(line);
        } else {
            why.push(line.strip_prefix("error: ").unwrap_or(&line).to_owned());
        }
    }
    let tip = (!tips.is_empty()).then(|| tips.join("; "));
    serde_json::json!({ "error": why.join(" "), "usage": usage, "tip": tip })
}
