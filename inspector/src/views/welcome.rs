//! What there is to see before anything is open.

use egui::{Button, RichText, Ui, vec2};

use super::bar::Asked;
use super::label;
use crate::settings::Settings;
use crate::theme;

/// How wide what can be chosen is, in points.
const WIDTH: f32 = 460.0;

/// Draws it; what was chosen is among `asked`.
pub fn show(ui: &mut Ui, settings: &Settings, asked: &mut Vec<Asked>) {
    ui.add_space((ui.available_height() * 0.18).max(12.0));
    ui.vertical_centered(|ui| {
        ui.set_max_width(WIDTH);
        let text = |text: &str, size: f32| RichText::new(text).size(size).color(theme::ink());
        ui.label(text("netreel", 28.0).strong());
        ui.add_space(4.0);
        let what = "What went over the wire at every node of a session, and what came of it.";
        ui.label(label::body(what).color(theme::weak()));
        ui.add_space(16.0);
        let size = vec2(WIDTH, 30.0);
        for (name, what) in [
            ("Open a recording or a capture…  Ctrl+O", Asked::Open),
            ("See the demonstration", Asked::Demonstration),
        ] {
            if ui.add(Button::new(name).min_size(size)).clicked() {
                asked.push(what);
            }
        }
        ui.label(label::body("or drop reels, a folder or a capture here").color(theme::dim()));
        if settings.recent.is_empty() {
            return;
        }
        ui.add_space(16.0);
        ui.label(label::body("opened before").color(theme::weak()));
        for paths in &settings.recent {
            let button = Button::new(label::mono(Settings::named(paths)))
                .min_size(size)
                .truncate();
            if ui.add(button.frame(false)).clicked() {
                asked.push(Asked::Recent(paths.clone()));
            }
        }
    });
}
