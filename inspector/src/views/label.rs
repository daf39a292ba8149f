//! Text in views: in the faces that there are, and cut where there is no more room.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Color32, FontId, Galley, Key, Painter, Pos2, Rect, Response, RichText, TextEdit, Ui,
    Vec2,
};

use crate::theme;

/// Text in the face of numbers.
pub fn mono(text: impl Into<String>) -> RichText {
    RichText::new(text).font(theme::mono())
}

/// Text in the face of sentences.
pub fn body(text: impl Into<String>) -> RichText {
    RichText::new(text).font(theme::body())
}

/// Text in the small face.
pub fn small(text: impl Into<String>) -> RichText {
    RichText::new(text).font(theme::small())
}

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

/// Writes text, the middle of its left edge at `at`. Where it stands.
pub fn text(painter: &Painter, at: Pos2, text: &str, font: FontId, color: Color32) -> Rect {
    painter.text(at, Align2::LEFT_CENTER, text, font, color)
}

/// The same, cut where there is no more room.
pub fn write(
    painter: &Painter,
    at: Pos2,
    room: f32,
    text: &str,
    font: FontId,
    color: Color32,
) -> Rect {
    let galley = elided(painter, text, font, room, color);
    let rect = Align2::LEFT_CENTER.anchor_size(at, galley.size());
    painter.galley(rect.min, galley, color);
    rect
}

/// The same, its upper left corner at `at`.
pub fn below(painter: &Painter, at: Pos2, room: f32, text: &str, font: FontId, color: Color32) {
    painter.galley(at, elided(painter, text, font, room, color), color);
}

/// How wide a text is.
pub fn width(painter: &Painter, text: &str, font: FontId) -> f32 {
    let galley = painter.layout_no_wrap(text.to_owned(), font, Color32::PLACEHOLDER);
    galley.size().x
}

/// Writes what was laid out over what is drawn at `at`: on a patch of a colour, which is larger by a
/// margin and has round corners.
pub fn over(
    painter: &Painter,
    at: Pos2,
    galley: Arc<Galley>,
    (margin, radius, fill): (Vec2, f32, Color32),
    color: Color32,
) {
    let behind = Rect::from_min_size(at, galley.size()).expand2(margin);
    painter.rect_filled(behind, radius, fill);
    painter.galley(at, galley, color);
}

/// Writes into a row, in the face of numbers.
pub fn cell(painter: &Painter, row: Rect, left: f32, room: f32, text: &str, color: Color32) {
    write(
        painter,
        Pos2::new(row.left() + left, row.center().y),
        room,
        text,
        theme::mono(),
        color,
    );
}

/// Text that explains.
pub fn weak(text: impl Into<String>) -> RichText {
    RichText::new(text).color(theme::weak())
}

/// A line to type in; its `hint` stands there while it is empty.
pub fn typed<'a>(text: &'a mut String, hint: &str) -> TextEdit<'a> {
    let hint = RichText::new(hint).color(theme::dim());
    TextEdit::singleline(text)
        .font(theme::mono())
        .hint_text(hint)
}

/// The same, behind what it is called; `width` says how wide it is where there is so much room.
pub fn edit(
    ui: &mut Ui,
    name: &str,
    text: &mut String,
    hint: &str,
    width: impl FnOnce(f32) -> f32,
) -> Response {
    let label = ui.label(weak(name));
    ui.add(
        typed(text, hint)
            .id_salt(name)
            .desired_width(width(ui.available_width())),
    )
    .labelled_by(label.id)
}

/// Whether Enter was pressed in a line to type in.
pub fn is_entered(ui: &Ui, line: &Response) -> bool {
    line.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
}
