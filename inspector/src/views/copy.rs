//! The menu of a row: what of it can be copied, and what it can be filtered by.

use egui::{Popup, Response};
use netreel_inspector_model::Command;

/// Something that can be done with a row.
pub enum What {
    /// Its text goes to the clipboard.
    Copy(String),
    /// A command.
    Do(Command),
}

/// Shows the menu of what was clicked with the right button. `offers` is asked while it is open: what
/// each line is called, and what it does.
pub fn menu(
    response: &Response,
    commands: &mut Vec<Command>,
    offers: impl FnOnce() -> Vec<(&'static str, What)>,
) {
    // Most rows have none open, and need not ask which.
    if !response.secondary_clicked() && !Popup::is_any_open(&response.ctx) {
        return;
    }
    response.context_menu(|ui| {
        for (name, what) in offers() {
            if !ui.button(name).clicked() {
                continue;
            }
            match what {
                What::Copy(text) => ui.ctx().copy_text(text),
                What::Do(command) => commands.push(command),
            }
        }
    });
}
