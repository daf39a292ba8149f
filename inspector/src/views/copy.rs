//! The menu of a row: what of it can be copied, and what it can be filtered by.

use egui::{Popup, Response, Ui};
use netreel_inspector_model::{Command, Commands, Join, Model};

/// Something that can be done with a row.
pub enum What {
    /// Its text goes to the clipboard.
    Copy(String),
    /// A command.
    Do(Command),
    /// It is the filter, alone or joined with the one in force.
    Filter(String),
}

/// What can be done with a row: what each line of its menu is called, and what it does.
pub type Offers = Vec<(&'static str, What)>;

/// Shows the menu of what was clicked with the right button. `offers` is asked while it is open.
pub fn menu(
    response: &Response,
    model: &Model,
    commands: &mut Commands,
    offers: impl FnOnce() -> Offers,
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

/// A number that a filter tells of: a click on it filters by that as well. Whether it was clicked.
pub fn narrows(response: Response, model: &Model, filter: &str, commands: &mut Commands) -> bool {
    let response = response.on_hover_text(format!("click: show these alone\n{filter}"));
    if response.clicked() {
        commands.push(model.narrowed(filter));
    }
    response.clicked()
}

/// What filters by an object.
pub fn object(object: u64) -> What {
    What::Filter(format!("object == {object}"))
}

/// A line for the filter alone, and one for what it does not take; where one is in force, a menu of the
/// ways in which the two can be joined.
fn filters(ui: &mut Ui, model: &Model, name: &str, filter: &str) -> Option<Command> {
    let mut asked = None;
    let mut way = |ui: &mut Ui, name: &str, how: Join| {
        let joined = model.joined(how, filter);
        if ui.button(name).on_hover_text(&joined).clicked() {
            asked = Some(Command::SetFilter(joined));
        }
    };
    if model.filter().text.trim().is_empty() {
        way(ui, name, Join::Alone);
        way(ui, &format!("not: {name}"), Join::Not);
    } else {
        drop(ui.menu_button(name, |ui| {
            for (name, how) in [
                ("and", Join::And),
                ("or", Join::Or),
                ("and not", Join::Not),
                ("alone", Join::Alone),
            ] {
                way(ui, name, how);
            }
        }))
    }
    asked
}
