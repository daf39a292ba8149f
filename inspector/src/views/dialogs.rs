//! What lies over the window until it is answered: all keys, a path to open, a note to write.

use std::path::PathBuf;

use egui::{
    Align2, Button, FontId, Id, Modal, Order, Rect, RichText, Role, Sense, Stroke, StrokeKind, Ui,
    pos2, vec2,
};
use netreel_inspector_model::{Model, Spot};

use super::{control, filter_box, label};
use crate::ask::{PathKind, Request};
use crate::keys;
use crate::settings::Settings;
use crate::theme;

/// A path that is being typed.
#[derive(Clone, Debug, Default)]
pub struct PathBox {
    pub wanted: PathKind,
    typed: Typed,
    /// For which text it was asked what that can go on with.
    listed_for: Option<String>,
    /// What that can go on with.
    listed: Vec<String>,
    /// Which of these is picked.
    picked: usize,
}

impl PathBox {
    pub fn new(wanted: PathKind) -> PathBox {
        PathBox {
            wanted,
            ..PathBox::default()
        }
    }

    /// Takes in what a text can go on with.
    pub fn hear(&mut self, typed: &str, paths: Vec<String>) {
        if self.typed.text == typed {
            self.listed = paths;
            self.picked = 0;
        }
    }

    /// Asks what the text can go on with, once.
    fn ask(&mut self, requests: &mut Vec<Request>) {
        let text = &self.typed.text;
        if self.listed_for.as_ref() != Some(text) {
            self.listed_for = Some(text.clone());
            requests.push(Request::List(self.wanted, text.clone()));
        }
    }
}

/// How many paths are listed.
const LISTED: usize = 8;
/// Height of one.
const LISTED_ROW: f32 = 19.0;

/// Shows all keys. Returns whether to close that.
pub fn keys(ui: &Ui) -> bool {
    let shown = Modal::new(Id::unique("keys")).show(ui.ctx(), |ui| {
        ui.label(label::body("Keys and gestures").strong());
        ui.add_space(6.0);
        let room = ui.ctx().content_rect().size() - vec2(80.0, 140.0);
        let columns = ((room.x / COLUMN) as usize).clamp(1, 3);
        let width = (room.x / columns as f32).min(COLUMN * 1.25);
        let groups = keys::groups();
        let rows: usize = groups.iter().map(|(_, acts)| acts.len() + 2).sum();
        egui::ScrollArea::vertical()
            .max_height(room.y)
            .min_scrolled_height(room.y)
            .show(ui, |ui| {
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
    ui.label(label::body(*name).strong());
    egui::Grid::new(("keys list", *name))
        .num_columns(2)
        .spacing(vec2(12.0, 3.0))
        .show(ui, |ui| {
            for (keys, what) in acts {
                let cell = |ui: &mut Ui, text: RichText, share: f32| {
                    ui.scope(|ui| {
                        ui.set_max_width(width * share);
                        ui.add(egui::Label::new(text).wrap());
                    });
                };
                cell(ui, label::mono(keys).color(theme::accent()), 0.36);
                cell(ui, label::body(*what), 0.56);
                ui.end_row();
            }
        });
    ui.add_space(8.0);
}

/// Says over the window what becomes of the files that are held over it.
pub fn held(ui: &Ui, are_wires: bool) {
    let said = if are_wires {
        "let go: read the recording with this wire"
    } else {
        "let go: open it"
    };
    let painter = control::on_layer(ui.ctx(), Order::Tooltip, "files are held");
    let all = ui.ctx().content_rect();
    painter.rect_filled(all, 0.0, theme::faded(theme::background(), 0.7));
    let edge = Stroke::new(2.0, theme::accent());
    painter.rect_stroke(all.shrink(8.0), 6.0, edge, StrokeKind::Inside);
    let font = FontId::new(18.0, theme::body().family);
    let align = Align2::CENTER_CENTER;
    painter.text(all.center(), align, said, font, theme::ink());
}

/// Where a picture is written: whoever names a file without an ending means a `.png`.
pub fn picture(path: PathBuf) -> PathBuf {
    match path.extension() {
        Some(_) => path,
        None => path.with_extension("png"),
    }
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Said<T> {
    Nothing,
    Close,
    Answer(T),
}

/// Draws a box over the window until somebody answers what it asks, or closes it; of this width, where
/// there is room.
pub fn over<T>(ui: &Ui, id: &str, width: f32, show: impl FnOnce(&mut Ui, &mut Said<T>)) -> Said<T> {
    let mut said = Said::Nothing;
    let shown = Modal::new(Id::unique(id)).show(ui.ctx(), |ui| {
        ui.set_width(width.min(ui.ctx().content_rect().width() - 60.0));
        show(ui, &mut said);
    });
    match said {
        Said::Nothing if shown.should_close() => Said::Close,
        said => said,
    }
}

/// What is typed into a box.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    pub text: String,
    /// Whether it has had the keyboard.
    begun: bool,
}

/// A line to type in, which has the keyboard at first; its id, and whether Enter ended it. Where it
/// `keeps_tab`, that does not lead to the next control.
pub fn line(
    ui: &mut Ui,
    (title, hint): (RichText, &str),
    typed: &mut Typed,
    keeps_tab: bool,
) -> (Id, bool) {
    let label = ui.label(title.strong());
    let edit = label::typed(&mut typed.text, hint).lock_focus(keeps_tab);
    let response = ui
        .add(edit.desired_width(f32::INFINITY))
        .labelled_by(label.id);
    if !std::mem::replace(&mut typed.begun, true) {
        response.request_focus();
    }
    (response.id, label::is_entered(ui, &response))
}

/// Asks for a path.
pub fn path(
    ui: &Ui,
    asked: &mut PathBox,
    settings: &Settings,
    requests: &mut Vec<Request>,
) -> Said<String> {
    let (title, hint, verb) = match asked.wanted {
        PathKind::Recording => (
            "Open a recording",
            "a reel, a folder of reels, a .pcap or .pcapng",
            "open",
        ),
        PathKind::Wire => ("Open a wire", "a .wire file", "open"),
        PathKind::Picture => ("Write a picture of the window", "a .png file", "write"),
        PathKind::Cut => (
            "Write what the filter takes of the visible time as a session",
            "a folder: empty, or not there yet",
            "write",
        ),
    };
    over(ui, "path", 560.0, |ui, said| {
        let chosen = list_keys(ui, asked);
        let keeps_tab = !asked.listed.is_empty();
        let (id, entered) = line(ui, (label::body(title), hint), &mut asked.typed, keeps_tab);
        if let Some(path) = chosen
            .or(list(ui, asked))
            .and_then(|at| asked.listed.get(at))
        {
            asked.typed.text.clone_from(path);
            filter_box::to_end(ui, id, path.chars().count());
            ui.memory_mut(|memory| memory.request_focus(id));
        }
        asked.ask(requests);
        ui.horizontal(|ui| {
            let text = asked.typed.text.trim();
            let open = ui
                .add_enabled(!text.is_empty(), Button::new(verb))
                .clicked();
            if (open || entered) && !text.is_empty() {
                *said = Said::Answer(text.to_owned());
            }
            for &(words, picks) in asked.wanted.picks() {
                if ui
                    .button(words)
                    .on_hover_text("with the system's own dialog")
                    .clicked()
                {
                    requests.push(Request::Choose(asked.wanted, picks));
                }
            }
            if ui.button("cancel").clicked() {
                *said = Said::Close;
            }
        });
        if asked.wanted == PathKind::Recording && !settings.recent.is_empty() {
            ui.add_space(4.0);
            ui.label(label::weak("opened before"));
            for paths in &settings.recent {
                let text = label::mono(Settings::named(paths));
                if ui.add(Button::new(text).frame(false).truncate()).clicked() {
                    requests.push(Request::Open(paths.clone()));
                    *said = Said::Close;
                }
            }
        }
    })
}

/// Moves through the paths; the place of the one that a key chose.
fn list_keys(ui: &Ui, asked: &mut PathBox) -> Option<usize> {
    let last = asked.listed.len().min(LISTED).checked_sub(1)?;
    filter_box::picked_by_keys(ui, &mut asked.picked, last)
}

/// Draws what the path can go on with, always as high; the place of the one that was clicked.
fn list(ui: &mut Ui, asked: &PathBox) -> Option<usize> {
    let size = vec2(ui.available_width(), LISTED_ROW * (LISTED + 1) as f32);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let mut clicked = None;
    let row = |place: usize| {
        let top = rect.top() + place as f32 * LISTED_ROW;
        Rect::from_min_size(pos2(rect.left(), top), vec2(rect.width(), LISTED_ROW))
    };
    for (place, path) in asked.listed.iter().take(LISTED).enumerate() {
        let rect = row(place);
        let response = control::clickable(ui, rect, ("path that fits", place));
        let is_picked = place == asked.picked;
        control::selectable(&response, Role::ListItem, is_picked, path);
        control::shade(ui.painter(), rect, 2.0, is_picked, &response);
        // The end of a long path tells it apart.
        let fit = (rect.width() / 7.5) as usize;
        let skipped = path.chars().count().saturating_sub(fit.max(1));
        let mut shown: String = path.chars().skip(skipped).collect();
        if skipped > 0 {
            shown.replace_range(..shown.chars().next().map_or(0, char::len_utf8), "…");
        }
        let at = rect.left_center() + vec2(6.0, 0.0);
        let (font, color) = (theme::mono(), theme::text());
        label::text(ui.painter(), at, &shown, font, color);
        if response.clicked() {
            clicked = Some(place);
        }
    }
    let said = match asked.listed.len() {
        0 => return None,
        count if count > LISTED => format!("Tab takes it; and {} more", count - LISTED),
        _ => "Tab takes it".to_owned(),
    };
    let at = row(asked.listed.len().min(LISTED)).left_center() + vec2(6.0, 0.0);
    let (font, color) = (theme::small(), theme::dim());
    label::text(ui.painter(), at, &said, font, color);
    clicked
}

/// A note that is being written.
#[derive(Clone, Debug)]
pub struct NoteBox {
    pub at: Spot,
    title: String,
    typed: Typed,
}

impl NoteBox {
    /// With the note that the spot has already.
    pub fn new(model: &Model, at: Spot) -> NoteBox {
        let text = model
            .bookmarks()
            .iter()
            .find(|it| it.at == at)
            .map_or_else(String::new, |it| it.note.clone());
        NoteBox {
            title: format!("Mark {}", model.spot_text(&at)),
            typed: Typed { text, begun: false },
            at,
        }
    }
}

/// Asks for a note.
pub fn note(ui: &Ui, asked: &mut NoteBox) -> Said<String> {
    over(ui, "note", 460.0, |ui, said| {
        let title = label::mono(&asked.title);
        let (_, entered) = line(ui, (title, "a note; may be empty"), &mut asked.typed, false);
        ui.horizontal(|ui| {
            if ui.button("mark").clicked() || entered {
                *said = Said::Answer(asked.typed.text.trim().to_owned());
            }
            if ui.button("cancel").clicked() {
                *said = Said::Close;
            }
        });
    })
}
