//! Buttons with names.

use egui::{Button, Role, Ui, WidgetInfo};

/// A button with a name of its own for whoever cannot see in which pane it is.
pub fn button(ui: &mut Ui, text: &str, name: &str, can: bool) -> bool {
    let response = ui.add_enabled(can, Button::new(text));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, can, name));
    response.clicked()
}
