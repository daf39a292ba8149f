//! Controls that views draw themselves: screen readers and tests know them by their roles and names.

use std::fmt::Debug;
use std::hash::Hash;

use egui::{
    Context, Id, LayerId, Order, Painter, Rect, Response, Role, Sense, Ui, WidgetInfo, vec2,
};

use crate::theme;

/// Says what a control is, and what it is called.
pub fn named(control: &Response, role: Role, name: &str) {
    control.widget_info(|| WidgetInfo::labeled(role, true, name));
}

/// The same of one that can be selected.
pub fn selectable(control: &Response, role: Role, is_selected: bool, name: &str) {
    control.widget_info(|| WidgetInfo::selected(role, true, is_selected, name));
}

/// What is drawn at a place can be clicked; `id` tells it from the others of its pane.
pub fn clickable(ui: &Ui, rect: Rect, id: impl Hash + Debug) -> Response {
    ui.interact(rect, ui.scope_id().with(id), Sense::click())
}

/// The same, as a button of this name.
pub fn button(ui: &Ui, rect: Rect, id: impl Hash + Debug, name: &str) -> Response {
    let response = clickable(ui, rect, id);
    named(&response, Role::Button, name);
    response
}

/// The same, as one that can be selected.
pub fn choice(
    ui: &Ui,
    rect: Rect,
    id: impl Hash + Debug,
    is_selected: bool,
    name: &str,
) -> Response {
    let response = clickable(ui, rect, id);
    selectable(&response, Role::Button, is_selected, name);
    response
}

/// The next row of a pane, over all of its width.
pub fn row(ui: &mut Ui, height: f32, sense: Sense) -> (Rect, Response) {
    ui.allocate_exact_size(vec2(ui.available_width(), height), sense)
}

/// Draws over the panes, on a layer of this name.
pub fn on_layer(ctx: &Context, order: Order, name: &'static str) -> Painter {
    ctx.layer_painter(LayerId::new(order, Id::unique(name)))
}

/// What comes next stands right below what stands here.
pub fn close_up(ui: &mut Ui) {
    ui.add_space(-ui.spacing().item_spacing.y);
}

/// Shades what is selected, and what the pointer is over.
pub fn shade(painter: &Painter, rect: Rect, radius: f32, is_selected: bool, control: &Response) {
    if is_selected {
        painter.rect_filled(rect, radius, theme::selected());
    } else if control.hovered() {
        painter.rect_filled(rect, radius, theme::related());
    }
}
