//! The head of a panel: what it is and one thing about it.

use egui::{Align2, Sense, Ui, pos2, vec2};

use crate::theme;

/// Height of a head.
pub const HEIGHT: f32 = 23.0;

/// Draws a head over the whole width: a title, and text that says more in a weaker colour.
pub fn show(ui: &mut Ui, title: &str, more: &str) {
    let width = ui.available_width();
    let (rect, _) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::hover());
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    painter.rect_filled(rect, 0.0, theme::HEAD);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, (1.0, theme::LINE));
    let end = painter.text(
        pos2(rect.left() + 10.0, rect.center().y),
        Align2::LEFT_CENTER,
        title,
        theme::body(),
        theme::TEXT,
    );
    painter.text(
        pos2(end.right() + 12.0, rect.center().y),
        Align2::LEFT_CENTER,
        more,
        theme::mono(),
        theme::WEAK,
    );
    ui.add_space(-ui.spacing().item_spacing.y);
}
