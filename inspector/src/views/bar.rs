//! What the bars at the top and at the bottom remember, and what clicks in them ask for.

use std::path::PathBuf;

use egui::{Button, Color32, Response, Role, Ui, Vec2, WidgetText, vec2};
use netreel_inspector_model::Spot;

use super::lane_hands::LaneKey;
use super::{control, label};
use crate::layout::{Move, Workspace};
use crate::theme::{self, Theme};

/// What the bars remember from frame to frame.
#[derive(Debug, Default)]
pub struct Bar {
    /// The filter as it is being typed.
    pub filter: String,
    /// Whether the filter gets the keyboard with the next frame.
    pub wants_filter: bool,
    /// What the filter can go on with, while it is being typed.
    pub completion: Completion,
    /// Whether nothing is open: there is nothing to go through.
    pub welcomes: bool,
    /// Whether the cursor goes on by itself.
    pub plays: bool,
    /// Whether more may come of what is shown.
    pub live: bool,
    /// What is being worked on.
    pub working: Option<String>,
    /// What panes have worked out.
    pub beside: Option<&'static str>,
    /// What somebody gave up of that.
    pub given_up: Option<&'static str>,
    /// Since when something is worked on, in the time of the frames.
    pub since: Option<f64>,
    /// Why something could not be done.
    pub news: Option<String>,
    /// That something was done.
    pub done: Option<String>,
    /// What clicks asked for in this frame.
    pub asked: Vec<Asked>,
}

impl Bar {
    /// Says that something was done, or why nothing was.
    pub fn say(&mut self, said: &str) {
        self.done = Some(said.to_owned());
    }

    /// What a menu offers, each with its name.
    pub fn items<T: Into<WidgetText>>(
        &mut self,
        ui: &mut Ui,
        items: impl IntoIterator<Item = (T, Asked)>,
    ) {
        for (name, asked) in items {
            if ui.button(name.into()).clicked() {
                self.asked.push(asked);
            }
        }
    }
}

/// What a key, or a click in the bars, asks of the window itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Type a filter.
    Filter,
    /// Do or go to something by its name.
    Find,
    NextPane,
    /// The pane at hand has the workspace, or no longer.
    Alone,
    /// Have the cursor go on by itself, or stop it.
    Play,
    /// Write a note for what is selected, or for the cursor.
    Mark,
    /// Write one for the visible time.
    MarkTime,
    /// Move the lane at hand.
    Lane(LaneKey),
    /// Take a move of panes or lanes back.
    Undo,
    /// Do it again.
    Redo,
    /// Write a note for a spot.
    Bookmark(Spot),
    Workspace(Workspace),
    Pane(Move),
    Theme(Theme),
    Layout,
    Keys,
    Open,
    Demonstration,
    Wire,
    Recent(Vec<PathBuf>),
    /// Copy what is selected.
    Copy,
    /// Copy a text for a bug report.
    Report,
    /// Write a picture of the window.
    Picture,
    /// Write what the filter takes as a session.
    Cut,
    /// Try the wires that are known.
    Candidates,
    /// List the matches of the run.
    Run,
    Follow(bool),
    Cancel,
    /// Sit in the replay of this node.
    Sit(String),
    /// Say this to the replay.
    Say(&'static str),
}

/// What the filter can go on with.
#[derive(Debug, Default)]
pub struct Completion {
    /// Whether somebody types.
    pub types: bool,
    /// Which of the words is picked.
    pub picked: usize,
}

/// A small button; `what` says what it does.
pub(super) fn small(ui: &mut Ui, name: &str, what: &str) -> bool {
    let response = flat(ui, name, vec2(24.0, 20.0));
    if !name.starts_with(char::is_alphabetic) {
        // A sign is no name.
        control::named(&response, Role::Button, what);
    }
    response.on_hover_text(what).clicked()
}

/// A button that looks like text, at least so large.
pub(super) fn flat(ui: &mut Ui, name: &str, size: Vec2) -> Response {
    let button = Button::new(label::mono(name).color(theme::text())).min_size(size);
    ui.add(button.fill(Color32::TRANSPARENT))
}
