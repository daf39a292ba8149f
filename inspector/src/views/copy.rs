//! The menu of a row: what of it can be copied, and what it can be filtered by.

use egui::{Popup, Response, Ui};
use netreel_inspector_model::{Command, Join, Model};

/// Something that can be done with a row.
pub enum What {
    /// Its text goes to the clipboard.
    Copy(String),
    /// A command.
    Do(Command),
    /// It is the filter, alone or joined with the one in force.
    Filter(String),
}

/// Shows the menu of what was clicked with the right button. `offers` is asked while it is open: what
/// each line is called, and what it does.
pub fn menu(
    response: &Response,
    model: &Model,
    commands: &mut Vec<Command>,
    offers: impl FnOnce() -> Vec<(&'static str, What)>,
) {
    // Most rows have none open, and need not ask which.
    if !response.secondary_clicked() && !Popup::is_any_open(&response.ctx) {
        return;
    }
    response.context_menu(|ui| {
        for (name, what) in offers() {
            match what {
                What::Filter(filter) => commands.extend(filters(ui, model, name, &filter)),
                What::Copy(text) if ui.button(name).clicked() => ui.ctx().copy_text(text),
                What::Do(command) if ui.button(name).clicked() => commands.push(command),
                _ => {}
            }
        }
    });
}

/// A line for the filter alone, and one for each way in which it can be joined with the one in force.
fn filters(ui: &mut Ui, model: &Model, name: &str, filter: &str) -> Option<Command> {
    let is_narrow = !model.filter().text.trim().is_empty();
    let ways: &[(&str, Join)] = match is_narrow {
        true => &[
            ("", Join::Alone),
            ("and ", Join::And),
            ("or ", Join::Or),
            ("and not ", Join::Not),
        ],
        false => &[("", Join::Alone), ("not: ", Join::Not)],
    };
    let mut asked = None;
    for &(word, how) in ways {
        let joined = model.joined(how, filter);
        let button = ui.button(format!("{word}{name}"));
        if button.on_hover_text(&joined).clicked() {
            asked = Some(Command::SetFilter(joined));
        }
    }
    asked
}
