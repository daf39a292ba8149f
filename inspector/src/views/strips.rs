//! Lines over time: a strip for each number of a value, or a row of words for each line.

use egui::{Align2, Color32, Painter, Rect, Stroke, Ui, pos2, vec2};
use netreel_inspector_model::Course;
use netreel_protocol::session::SessionTime;

use super::axis::TimeRect;
use super::label;
use super::plot::{self, Head, Strip};
use crate::theme;

/// In a lower strip the numbers at its ends would lie on each other: they stand beside its name.
const ENDS_MIN: f32 = 36.0;
/// A lower strip shows nothing.
const STRIP_MIN: f32 = 18.0;
/// The numbers of a value that has several.
const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// What is drawn in one colour.
pub struct Line {
    pub name: String,
    pub color: Color32,
    pub pieces: Vec<Course>,
}

/// Names what is drawn, as much of it as there is room for.
pub fn legend(ui: &Ui, room: Rect, lines: &[Line]) {
    let painter = ui.painter_at(room);
    let mut x = room.left();
    for line in lines {
        let y = room.center().y;
        let name = painter.layout_no_wrap(line.name.clone(), theme::small(), theme::weak());
        if x + 13.0 + name.size().x > room.right() {
            label::text(&painter, pos2(x, y), "…", theme::small(), theme::weak());
            return;
        }
        let chip = Rect::from_center_size(pos2(x + 5.0, y), vec2(9.0, 4.0));
        painter.rect_filled(chip, 1.0, theme::quiet(line.color, 1.0));
        let at = pos2(x + 13.0, y - name.size().y / 2.0);
        x = at.x + name.size().x + 14.0;
        painter.galley(at, name, theme::weak());
    }
}

/// A strip for each of `parts` numbers, and in it a line for each of `lines`.
pub fn strips(
    painter: &Painter,
    view: Rect,
    time: &TimeRect,
    (parts, ranges): (usize, &[(f64, f64)]),
    lines: &[Line],
) {
    let fit = (time.rect.height() / STRIP_MIN).floor().max(1.0) as usize;
    let count = parts.min(fit);
    let height = time.rect.height() / count.max(1) as f32;
    let is_low = height < ENDS_MIN;
    for (row, place) in most_telling((parts, ranges), count).into_iter().enumerate() {
        let row = plot::row(view, time, row, height);
        let (least, most) = ranges.get(place).copied().unwrap_or((0.0, 1.0));
        // A line that never moves lies in the middle.
        let (least, most) = if most - least > 0.0 {
            (least, most)
        } else {
            (least - 1.0, most + 1.0)
        };
        let name = match parts {
            1 => "",
            _ => PARTS.get(place).copied().unwrap_or(""),
        };
        let head = Head {
            name,
            note: "",
            ends: (number(most, most - least), number(least, most - least)),
        };
        let strip = plot::strip(painter, row, time, &head, (least, most));
        let inside = painter.with_clip_rect(
            strip
                .time
                .expand2(vec2(0.0, 2.0))
                .intersect(painter.clip_rect()),
        );
        for (order, line) in lines.iter().enumerate() {
            let color = theme::quiet(line.color, 1.0);
            // Lines that lie on each other are all seen: the first is the widest.
            let step = 1.3_f32.min(4.0 / lines.len() as f32);
            let width = 1.2 + step * (lines.len() - 1 - order) as f32;
            let stroke = Stroke::new(width.min(if is_low { 3.0 } else { 6.0 }), color);
            draw(&inside, &strip, time, (line, place), stroke);
        }
        if is_low {
            let at = pos2(time.rect.left() - 6.0, row.center().y);
            let said = match ranges.get(place) {
                // It never changes.
                Some(&(only, most)) if only == most => number(only, 0.5),
                _ => format!("{}..{}", head.ends.1, head.ends.0),
            };
            painter.text(
                at,
                Align2::RIGHT_CENTER,
                said,
                theme::small(),
                theme::weak(),
            );
        } else {
            plot::ends(painter, &strip, &head);
        }
    }
}

/// The line of one number of `line`, and bands where several values lie in one place.
fn draw(
    painter: &Painter,
    strip: &Strip,
    time: &TimeRect,
    (line, place): (&Line, usize),
    stroke: Stroke,
) {
    let x = |at: i64| time.x(SessionTime(at));
    let mut points = Vec::new();
    let mut bands = plot::Bands::default();
    for piece in &line.pieces {
        let Some(span) = piece.parts.get(place).copied().flatten() else {
            points.push(None);
            continue;
        };
        let (start, end) = (x(piece.time.start), x(piece.time.end));
        if span.min < span.max {
            let high = (strip.y(span.max), strip.y(span.min));
            bands.add((start, end), high, theme::faded(stroke.color, 0.5));
        }
        let y = strip.y(span.mean);
        // Of several values together the line goes through the middle.
        match span.count {
            1 => points.extend([start, end].map(|x| Some(pos2(x, y)))),
            _ => points.push(Some(pos2((start + end) / 2.0, y))),
        }
    }
    bands.draw(painter);
    plot::line(painter, points.into_iter(), stroke);
}

/// How many numbers of a value, in their order: where not all have room, those that change most.
fn most_telling((parts, ranges): (usize, &[(f64, f64)]), count: usize) -> Vec<usize> {
    let length = |place: &usize| ranges.get(*place).map_or(0.0, |(least, most)| most - least);
    let mut places: Vec<usize> = (0..parts).collect();
    places.sort_by(|one, other| length(other).total_cmp(&length(one)));
    places.truncate(count);
    places.sort_unstable();
    places
}

fn number(value: f64, length: f64) -> String {
    let decimals = match length {
        it if it >= 20.0 => 0,
        it if it >= 2.0 => 1,
        it if it >= 0.2 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// A row for each line, and in it what it says in words.
pub fn ribbons(painter: &Painter, view: Rect, time: &TimeRect, lines: &[Line]) {
    let height = (time.rect.height() / lines.len().max(1) as f32).min(30.0);
    for (place, line) in lines.iter().enumerate() {
        let row = plot::row(view, time, place, height);
        painter.hline(row.x_range(), row.bottom() - 0.5, (1.0, theme::faint()));
        let room = time.rect.left() - view.left() - 20.0;
        // The face of plain text has no arrows.
        let font = if line.name.contains('→') {
            theme::mono()
        } else {
            theme::body()
        };
        let at = pos2(view.left() + 10.0, row.center().y);
        label::write(painter, at, room, &line.name, font, theme::text());
        let inside = painter.with_clip_rect(time.rect);
        for piece in &line.pieces {
            ribbon(&inside, time, row, piece, line.color);
        }
    }
}

fn ribbon(painter: &Painter, time: &TimeRect, row: Rect, piece: &Course, color: Color32) {
    let x = |at: i64| time.x(SessionTime(at));
    let left = x(piece.time.start).max(time.rect.left() - 4.0);
    let right = x(piece.time.end)
        .min(time.rect.right() + 4.0)
        .max(left + 1.0);
    let bar = Rect::from_x_y_ranges(left..=right - 1.0, row.top() + 3.0..=row.bottom() - 3.0);
    let fill = theme::panel().lerp_to_gamma(color, 0.6);
    painter.rect_filled(bar, 2.0, fill);
    let shown = bar.intersect(time.rect);
    let Some(words) = piece.words.as_ref().filter(|_| shown.width() > 24.0) else {
        return;
    };
    let ink = theme::ink_on(fill);
    let at = shown.left_center() + vec2(4.0, 0.0);
    label::write(painter, at, shown.width() - 8.0, words, theme::small(), ink);
}
