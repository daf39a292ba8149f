//! What people and nodes wrote, in the timeline: bookmarks on the ruler, lines on the lanes.

use egui::{Painter, Pos2, Rect, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Commands, Model};

use super::arrows::Labels;
use super::axis::TimeRect;
use super::lanes::Lanes;
use super::{control, label};
use crate::{glyph, theme};

/// Of more lines or bookmarks in the visible time only marks are drawn.
const WRITTEN_MAX: usize = 60;
/// Of more lines not even marks: the list has them.
const MARKED_MAX: usize = 2_000;
/// How near the pointer must be to a line's mark, in points.
const NEAR: f32 = 6.0;

/// Draws bookmarks: a ribbon on the ruler, a shade over the time that one is on.
pub fn bookmarks(
    ui: &Ui,
    painter: &Painter,
    model: &Model,
    (ruler, time): (Rect, &TimeRect),
    labels: &mut Labels,
    commands: &mut Commands,
) {
    let visible = model.visible();
    let rows = || {
        model
            .bookmark_rows()
            .iter()
            .filter_map(|row| Some((row, row.time.as_ref()?)))
            .filter(|(_, at)| at.end >= visible.start && at.start <= visible.end)
    };
    let has_notes = rows().nth(WRITTEN_MAX).is_none();
    let mut last = None;
    for (row, at) in rows() {
        let (left, right) = (time.x_inside(at.start), time.x_inside(at.end));
        // One sign a point, where many lie close together.
        if last.replace((left as i32, right as i32)) == Some((left as i32, right as i32)) {
            continue;
        }
        if right - left >= 1.0 {
            let band = Rect::from_x_y_ranges(left..=right, time.rect.y_range());
            painter.rect_filled(band, 0.0, theme::faded(theme::accent(), 0.07));
            painter.hline(left..=right, band.top() + 1.5, (3.0, theme::accent()));
        }
        let top = pos2(left, ruler.bottom() - 11.0);
        glyph::bookmark(painter, top, theme::accent());
        let area = Rect::from_center_size(top + vec2(0.0, 5.0), vec2(12.0, 14.0));

        let response = control::button(
            ui,
            area,
            ("bookmark", row.place),
            &format!("bookmark {} in the timeline", row.title),
        );
        if response.clicked() {
            commands.push(Command::GoToBookmark(row.place));
        }
        response.on_hover_text(label::mono(format!("{}\n{}", row.title, row.note)));
        if has_notes && !row.note.is_empty() {
            let at = pos2(left + 4.0, time.rect.top() + 9.0);
            labels.place(painter, time.rect, at, &row.note, theme::accent());
        }
    }
}

/// Draws what nodes wrote, on their lanes. Returns the text of the line that the pointer is at.
pub fn lines(
    painter: &Painter,
    model: &Model,
    lanes: &Lanes,
    pointer: Option<Pos2>,
    labels: &mut Labels,
) -> Option<String> {
    let lines = model.log_lines(false)?;
    let within = lines.within(&lanes.time.scale.range());
    if within.len() > MARKED_MAX {
        return None;
    }
    let names = within.len() <= WRITTEN_MAX;
    let mut near: Option<(f32, String)> = None;
    for line in lines.lines.get(within).unwrap_or_default() {
        let Some(node) = line.node.filter(|node| lanes.has(*node)) else {
            continue;
        };
        let foot = lanes.point(node, line.time);
        glyph::line_of_text(painter, foot, theme::plain());
        if names {
            let color = theme::weak();
            let at = foot + vec2(2.0, -4.0);
            let beginning: String = line.text.chars().take(28).collect();
            labels.place(painter, lanes.time.rect, at, &beginning, color);
        }
        let distance = pointer.map(|at| at.distance(foot - vec2(0.0, 6.0)));
        if let Some(distance) = distance.filter(|it| *it < NEAR)
            && near.as_ref().is_none_or(|(least, _)| distance < *least)
        {
            near = Some((distance, format!("{} wrote\n{}", line.who, line.text)));
        }
    }
    near.map(|(_, text)| text)
}
