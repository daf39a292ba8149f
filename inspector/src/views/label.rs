//! A line of text in a view, cut where there is no more room.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{Color32, FontId, Galley, Painter, Rect, pos2};

use crate::theme;

/// One line of text, cut with an ellipsis where it is too long.
pub fn elided(
    painter: &Painter,
    text: &str,
    font: FontId,
    room: f32,
    color: Color32,
) -> Arc<Galley> {
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, color);
    job.wrap = TextWrapping::truncate_at_width(room.max(0.0));
    painter.layout_job(job)
}

/// Writes text into a row, cut where there is no more room.
pub fn write(painter: &Painter, rect: Rect, left: f32, room: f32, text: &str, color: Color32) {
    let galley = elided(painter, text, theme::mono(), room, color);
    let at = pos2(rect.left() + left, rect.center().y - galley.size().y / 2.0);
    painter.galley(at, galley, color);
}
