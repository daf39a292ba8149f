//! What the window asks of whoever runs it, and what that answers.

use std::path::PathBuf;
use std::sync::Arc;

use netreel_inspector_model::Model;

use crate::settings::Settings;

/// Something that the window cannot do itself: it knows no files.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Show what is recorded at these paths: reels, folders of reels, packet captures.
    Open(Vec<PathBuf>),
    /// Show the same under this wire.
    Wire(PathBuf),
    /// Follow what is shown while it is recorded, or no longer.
    Follow(bool),
    /// No longer work on what was asked for last.
    Cancel,
    /// Keep how the window is laid out.
    Keep(Settings),
}

/// What became of a request.
pub enum Answer {
    /// It is being worked on: what is done now.
    Working(String),
    /// Another session.
    Opened {
        /// What to show.
        model: Box<Model>,
        /// What stands in the title.
        title: String,
    },
    /// The same session, further on.
    Grown {
        /// As far as it has come, with its history.
        model: Box<Model>,
        /// Whether more may come.
        live: bool,
    },
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
        self.refused |= !matches!(request, Request::Keep(_) | Request::Cancel);
    }

    fn answers(&mut self) -> Vec<Answer> {
        let sentence = "This window shows one session; `netreel inspect PATH` opens another.";
        let refused = std::mem::take(&mut self.refused);
        let answers = refused.then(|| Answer::Failed(sentence.to_owned()));
        answers.into_iter().collect()
    }

    fn wake_with(&mut self, _wake: Wake) {}
}
