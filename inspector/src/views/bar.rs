//! What the bars at the top and at the bottom remember, and what clicks in them ask for.

use std::path::PathBuf;

use egui::{Button, Color32, RichText, Ui, vec2};
use netreel_inspector_model::Spot;

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

/// What a click in the bars asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
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
    let text = RichText::new(name).font(theme::mono()).color(theme::text());
    let button = Button::new(text).min_size(vec2(24.0, 20.0));
    let response = ui.add(button.fill(Color32::TRANSPARENT));
    if !name.starts_with(char::is_alphabetic) {
        // A sign is no name.
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, what));
    }
    response.on_hover_text(what).clicked()
}
