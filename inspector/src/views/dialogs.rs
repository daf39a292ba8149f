//! What lies over the window until it is answered: all keys, and a path to open.

use egui::{Id, Key, Modal, RichText, TextEdit, Ui, vec2};

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
        egui::Grid::new("keys list")
            .num_columns(2)
            .spacing(vec2(18.0, 3.0))
            .show(ui, |ui| {
                for (key, what) in keys::LIST {
                    ui.label(
                        RichText::new(*key)
                            .font(theme::mono())
                            .color(theme::accent()),
                    );
                    ui.label(RichText::new(*what).font(theme::body()));
                    ui.end_row();
                }
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
    Path(String),
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
        };
        let label = ui.label(RichText::new(title).font(theme::body()).strong());
        let edit = TextEdit::singleline(&mut asked.text)
            .id_salt("path text")
            .font(theme::mono())
            .hint_text(RichText::new(hint).color(theme::dim()))
            .desired_width(f32::INFINITY);
        let response = ui.add(edit).labelled_by(label.id);
        if !asked.begun {
            asked.begun = true;
            response.request_focus();
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        ui.horizontal(|ui| {
            let is_there = !asked.text.trim().is_empty();
            let open = ui
                .add_enabled(is_there, egui::Button::new("open"))
                .clicked();
            if (open || entered) && is_there {
                said = Said::Path(asked.text.trim().to_owned());
            }
            if ui.button("cancel").clicked() {
                said = Said::Close;
            }
        });
        if asked.wanted == Wanted::Recording && !settings.recent.is_empty() {
            ui.add_space(4.0);
            ui.label(RichText::new("opened before").color(theme::weak()));
            for path in &settings.recent {
                let text = RichText::new(path).font(theme::mono());
                if ui
                    .add(egui::Button::new(text).frame(false).truncate())
                    .clicked()
                {
                    said = Said::Path(path.clone());
                }
            }
        }
    });
    match said {
        Said::Nothing if shown.should_close() => Said::Close,
        said => said,
    }
}
