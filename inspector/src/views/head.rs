//! The head of a pane: what it is and one thing about it. It can have the keyboard, so that F6 goes
//! from pane to pane.

use egui::{Align2, Context, Id, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use super::findings::elided;
use crate::theme;

/// Height of a head.
pub const HEIGHT: f32 = 23.0;

/// Draws a head over the whole width: a title, and text that says more in a weaker colour.
pub fn show(ui: &mut Ui, title: &str, more: &str) {
    let width = ui.available_width();
    let (rect, _) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::hover());
    let id = ui.scope_id().with("head");
    let response = ui.interact(rect, id, Sense::focusable_noninteractive());
    let label = format!("pane {title}");
    response.widget_info(|| WidgetInfo::labeled(Role::Heading, true, &label));
    ui.ctx().data_mut(|data| {
        let heads: &mut Vec<Id> = data.get_temp_mut_or_default(key());
        heads.push(id);
    });
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    painter.rect_filled(rect, 0.0, theme::head());
    painter.hline(rect.x_range(), rect.bottom() - 0.5, (1.0, theme::line()));
    let end = painter.text(
        pos2(rect.left() + 10.0, rect.center().y),
        Align2::LEFT_CENTER,
        title,
        theme::body(),
        theme::text(),
    );
    let left = end.right() + 12.0;
    let galley = elided(
        &painter,
        more,
        theme::mono(),
        rect.right() - left - 8.0,
        theme::weak(),
    );
    let at = pos2(left, rect.center().y - galley.size().y / 2.0);
    painter.galley(at, galley, theme::weak());
    ui.add_space(-ui.spacing().item_spacing.y);
}

fn key() -> Id {
    Id::unique("heads")
}

/// Forgets the heads of the last frame.
pub fn begin(ctx: &Context) {
    ctx.data_mut(|data| data.insert_temp(key(), Vec::<Id>::new()));
}

/// Gives the keyboard to the pane behind the one that has it, by the heads of the last frame.
pub fn next(ctx: &Context) {
    let heads: Vec<Id> = ctx.data(|data| data.get_temp(key())).unwrap_or_default();
    let focused = ctx.memory(|memory| memory.focused());
    let at = focused.and_then(|id| heads.iter().position(|head| *head == id));
    let next = at.map_or(0, |at| (at + 1) % heads.len().max(1));
    if let Some(&id) = heads.get(next) {
        ctx.memory_mut(|memory| memory.request_focus(id));
    }
}
