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
        let room = ui.ctx().content_rect().size() - vec2(80.0, 140.0);
        let columns = ((room.x / COLUMN) as usize).clamp(1, 3);
        let width = (room.x / columns as f32).min(COLUMN * 1.25);
        let groups = keys::groups();
        let rows: usize = groups.iter().map(|(_, acts)| acts.len() + 2).sum();
        let area = egui::ScrollArea::vertical()
            .max_height(room.y)
            .min_scrolled_height(room.y);
        area.show(ui, |ui| {
            ui.set_width(width * columns as f32);
            ui.horizontal_top(|ui| {
                let mut rest = &groups[..];
                for column in 0..columns {
                    // A group stands whole in one column.
                    let mut taken = 0;
                    let end = rest.iter().position(|(_, acts)| {
                        let is_full = taken >= rows.div_ceil(columns);
                        taken += acts.len() + 2;
                        is_full && column + 1 < columns
                    });
                    let (here, later) = rest.split_at(end.unwrap_or(rest.len()));
                    rest = later;
                    ui.vertical(|ui| {
                        ui.set_width(width);
                        here.iter().for_each(|group| key_group(ui, group, width));
                    });
                }
            });
        });
        ui.add_space(6.0);
        ui.button("close").clicked()
    });
    shown.should_close() || shown.inner
}

/// How wide a column of keys is at the least.
const COLUMN: f32 = 400.0;

fn key_group(ui: &mut Ui, (name, acts): &(&str, Vec<(String, &str)>), width: f32) {
    ui.label(RichText::new(*name).font(theme::body()).strong());
    let grid = egui::Grid::new(("keys list", *name))
        .num_columns(2)
        .spacing(vec2(12.0, 3.0));
    grid.show(ui, |ui| {
        for (keys, what) in acts {
            let cell = |ui: &mut Ui, text: RichText, share: f32| {
                ui.scope(|ui| {
                    ui.set_max_width(width * share);
                    ui.add(egui::Label::new(text).wrap());
                });
            };
            let keys = RichText::new(keys).font(theme::mono());
            cell(ui, keys.color(theme::accent()), 0.36);
            cell(ui, RichText::new(*what).font(theme::body()), 0.56);
            ui.end_row();
        }
    });
    ui.add_space(8.0);
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
