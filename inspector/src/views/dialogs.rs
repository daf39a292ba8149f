//! What lies over the window until it is answered: all keys, a path to open, a note to write.

use std::path::PathBuf;

use egui::{Id, Key, Modal, RichText, TextEdit, Ui, vec2};
use netreel_inspector_model::{Model, Spot};

use crate::keys;
use crate::settings::Settings;
use crate::theme;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Reels, folders, captures.
    Recording,
    /// A wire.
    Wire,
    /// A file for a picture of the window.
    Picture,
    /// A folder for a part of what is shown.
    Cut,
}

/// A path that is being typed.
#[derive(Clone, Debug)]
pub struct PathBox {
    pub wanted: Wanted,
    pub text: String,
    /// Whether it has had the keyboard.
    pub begun: bool,
}

impl PathBox {
    pub fn new(wanted: Wanted) -> PathBox {
        PathBox {
            wanted,
            text: String::new(),
            begun: false,
        }
    }
}

/// Shows all keys. Returns whether to close that.
pub fn keys(ui: &Ui) -> bool {
    let shown = Modal::new(Id::unique("keys")).show(ui.ctx(), |ui| {
        ui.label(
            RichText::new("Keys and gestures")
                .font(theme::body())
                .strong(),
        );
        ui.add_space(6.0);
        let acts = keys::ACTS.iter().map(|act| (act.keys(), act.name));
        let gestures = keys::GESTURES.iter();
        let gestures = gestures.map(|&(keys, what)| (keys.to_owned(), what));
        let rows: Vec<(String, &str)> = acts.chain(gestures).collect();
        // Two columns of them, as high as there is room.
        let half = rows.len().div_ceil(2);
        let room = ui.ctx().content_rect().size() - vec2(80.0, 140.0);
        let area = egui::ScrollArea::both()
            .max_height(room.y)
            .max_width(room.x);
        area.show(ui, |ui| {
            ui.horizontal_top(|ui| {
                for (side, rows) in rows.chunks(half).enumerate() {
                    egui::Grid::new(("keys list", side))
                        .num_columns(2)
                        .spacing(vec2(18.0, 3.0))
                        .show(ui, |ui| {
                            for (keys, what) in rows {
                                let keys = RichText::new(keys).font(theme::mono());
                                ui.label(keys.color(theme::accent()));
                                ui.label(RichText::new(*what).font(theme::body()));
                                ui.end_row();
                            }
                        });
                    ui.add_space(18.0);
                }
            });
        });
        ui.add_space(6.0);
        ui.button("close").clicked()
    });
    shown.should_close() || shown.inner
}

/// What became of a question.
pub enum Said {
    Nothing,
    Close,
    Text(String),
    Recent(Vec<PathBuf>),
}

/// A line to type in, which has the keyboard at first; whether Enter ended it.
fn line(ui: &mut Ui, title: RichText, hint: &str, (text, begun): (&mut String, &mut bool)) -> bool {
    let label = ui.label(title);
    let edit = TextEdit::singleline(text)
        .font(theme::mono())
        .hint_text(RichText::new(hint).color(theme::dim()))
        .desired_width(f32::INFINITY);
    let response = ui.add(edit).labelled_by(label.id);
    if !*begun {
        *begun = true;
        response.request_focus();
    }
    response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
}

/// Asks for a path.
pub fn path(ui: &Ui, asked: &mut PathBox, settings: &Settings) -> Said {
    let mut said = Said::Nothing;
    let shown = Modal::new(Id::unique("path")).show(ui.ctx(), |ui| {
        ui.set_width(560.0_f32.min(ui.ctx().content_rect().width() - 60.0));
        let (title, hint) = match asked.wanted {
            Wanted::Recording => (
                "Open a recording",
                "a reel, a folder of reels, a .pcap or .pcapng",
            ),
            Wanted::Wire => ("Open a wire", "a .wire file"),
            Wanted::Picture => ("Write a picture of the window", "a .png file"),
            Wanted::Cut => (
                "Write what the filter takes of the visible time as a session",
                "a folder: empty, or not there yet",
            ),
        };
        let verb = match asked.wanted {
            Wanted::Recording | Wanted::Wire => "open",
            Wanted::Picture | Wanted::Cut => "write",
        };
        let title = RichText::new(title).font(theme::body()).strong();
        let entered = line(ui, title, hint, (&mut asked.text, &mut asked.begun));
        ui.horizontal(|ui| {
            let is_there = !asked.text.trim().is_empty();
            let open = ui.add_enabled(is_there, egui::Button::new(verb)).clicked();
            if (open || entered) && is_there {
                said = Said::Text(asked.text.trim().to_owned());
            }
            if ui.button("cancel").clicked() {
                said = Said::Close;
            }
        });
        if asked.wanted == Wanted::Recording && !settings.recent.is_empty() {
            ui.add_space(4.0);
            ui.label(RichText::new("opened before").color(theme::weak()));
            for paths in &settings.recent {
                let text = RichText::new(Settings::named(paths)).font(theme::mono());
                if ui
                    .add(egui::Button::new(text).frame(false).truncate())
                    .clicked()
                {
                    said = Said::Recent(paths.clone());
                }
            }
        }
    });
    match said {
        Said::Nothing if shown.should_close() => Said::Close,
        said => said,
    }
}

/// A note that is being written.
#[derive(Clone, Debug)]
pub struct NoteBox {
    pub at: Spot,
    title: String,
    text: String,
    /// Whether it has had the keyboard.
    begun: bool,
}

impl NoteBox {
    /// With the note that the spot has already.
    pub fn new(model: &Model, at: Spot) -> NoteBox {
        let known = model.bookmarks().iter().find(|it| it.at == at);
        NoteBox {
            title: format!("Mark {}", model.spot_text(&at)),
            text: known.map_or_else(String::new, |it| it.note.clone()),
            begun: false,
            at,
        }
    }
}

/// Asks for a note.
pub fn note(ui: &Ui, asked: &mut NoteBox) -> Said {
    let mut said = Said::Nothing;
    let shown = Modal::new(Id::unique("note")).show(ui.ctx(), |ui| {
        ui.set_width(460.0_f32.min(ui.ctx().content_rect().width() - 60.0));
        let title = RichText::new(&asked.title).font(theme::mono()).strong();
        let typed = (&mut asked.text, &mut asked.begun);
        let entered = line(ui, title, "a note; may be empty", typed);
        ui.horizontal(|ui| {
            if ui.button("mark").clicked() || entered {
                said = Said::Text(asked.text.trim().to_owned());
            }
            if ui.button("cancel").clicked() {
                said = Said::Close;
            }
        });
    });
    match said {
        Said::Nothing if shown.should_close() => Said::Close,
        said => said,
    }
}
