//! A property of an object over time: a strip for each number of it, a line in the colour of each
//! node; what is no number stands as words in a row for each node.

use egui::{Align2, Painter, Rect, Stroke, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Course, Courses, Model, Scale};
use netreel_protocol::session::{NodeId, SessionTime};

use super::axis::TimeView;
use super::links::node_color;
use super::plot::{self, Head};
use super::{findings, head};
use crate::theme;

/// A lower strip shows nothing.
const STRIP_MIN: f32 = 34.0;
/// The numbers of a value that has several.
const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// Draws the value in focus.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    let Some(believed) = model.believed() else {
        let why = model.why_no_values();
        let more = why.is_none().then(|| model.why_waits());
        head::show(ui, "value over time", more.unwrap_or_default());
        let why = why.unwrap_or_else(|| model.why_waits().to_owned());
        findings::empty(ui, &format!("Values over time: {why}."));
        return;
    };
    let Some(row) = model.value_in_focus(&believed) else {
        head::show(ui, "value over time", "");
        findings::empty(ui, "No message told a property of an object.");
        return;
    };
    let property = believed.property_name(row.property);
    let title = format!("{property} of {}", model.object_name(row.object));
    let signs = head::bar(ui, &title);
    let shown = TimeView::new(ui, model, "course", &format!("{title} over time"));
    let TimeView {
        view,
        time,
        scale,
        painter,
        ..
    } = &shown;
    let (view, time) = (*view, *time);
    if let Some(courses) = model.courses(&believed, row, scale) {
        let nodes: Vec<NodeId> = courses.nodes.iter().map(|(node, _)| *node).collect();
        legend(ui, signs, model, &nodes);
        match courses.parts {
            0 => ribbons(painter, view, time, model, scale, &courses),
            _ => strips(painter, view, time, model, scale, &courses),
        }
    }
    pinned(painter, time, scale, model);
    shown.finish(ui, model, commands);
}

/// The moment that values are held against.
fn pinned(painter: &Painter, time: Rect, scale: &Scale, model: &Model) {
    let Some(at) = model.pinned() else { return };
    let x = (time.left() + scale.x(at)).round() + 0.5;
    if time.x_range().contains(x) {
        let points = [pos2(x, time.top()), pos2(x, time.bottom())];
        let line = Stroke::new(1.0, theme::warning());
        painter.extend(egui::Shape::dashed_line(&points, line, 2.0, 3.0));
    }
}

fn legend(ui: &Ui, room: Rect, model: &Model, nodes: &[NodeId]) {
    let painter = ui.painter().with_clip_rect(room.intersect(ui.clip_rect()));
    let mut x = room.left();
    for &node in nodes {
        let y = room.center().y;
        let chip = Rect::from_center_size(pos2(x + 5.0, y), vec2(9.0, 4.0));
        painter.rect_filled(chip, 1.0, theme::quiet(node_color(model, node), 1.0));
        let at = pos2(x + 13.0, y);
        let name = model.lane_name(node);
        let end = painter.text(at, Align2::LEFT_CENTER, name, theme::small(), theme::weak());
        x = end.right() + 14.0;
    }
}

fn strips(
    painter: &Painter,
    view: Rect,
    time: Rect,
    model: &Model,
    scale: &Scale,
    courses: &Courses,
) {
    let fit = (time.height() / STRIP_MIN).floor().max(1.0) as usize;
    let count = courses.parts.min(fit);
    let height = time.height() / count as f32;
    for place in 0..count {
        let top = time.top() + place as f32 * height;
        let row = Rect::from_x_y_ranges(view.x_range(), top..=top + height);
        let (least, most) = courses.ranges.get(place).copied().unwrap_or((0.0, 1.0));
        // A line that never moves lies in the middle.
        let (least, most) = match most - least > 0.0 {
            true => (least, most),
            false => (least - 1.0, most + 1.0),
        };
        let name = match courses.parts {
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
        let x = |at: i64| strip.time.left() + scale.x(SessionTime(at));
        for (order, (node, pieces)) in courses.nodes.iter().enumerate() {
            let color = theme::quiet(node_color(model, *node), 1.0);
            // Lines that lie on each other are all seen: the first is the widest.
            let width = 1.2 + 1.3 * (courses.nodes.len() - 1 - order) as f32;
            let stroke = Stroke::new(width.min(6.0), color);
            let mut points = Vec::new();
            let mut bands = plot::Bands::default();
            for piece in pieces {
                let Some(span) = piece.parts.get(place).copied().flatten() else {
                    points.push(None);
                    continue;
                };
                let (start, end) = (x(piece.time.start), x(piece.time.end));
                if span.min < span.max {
                    let high = (strip.y(span.max), strip.y(span.min));
                    bands.add((start, end), high, theme::faded(color, 0.5));
                }
                let y = strip.y(span.mean);
                // Of several values together the line goes through the middle.
                match span.count {
                    1 => points.extend([start, end].map(|x| Some(pos2(x, y)))),
                    _ => points.push(Some(pos2((start + end) / 2.0, y))),
                }
            }
            bands.draw(&inside);
            plot::line(&inside, points.into_iter(), stroke);
        }
        plot::ends(painter, &strip, &head);
    }
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

/// A row for each node, and in it what it believed in words.
fn ribbons(
    painter: &Painter,
    view: Rect,
    time: Rect,
    model: &Model,
    scale: &Scale,
    courses: &Courses,
) {
    let height = (time.height() / courses.nodes.len().max(1) as f32).min(30.0);
    for (place, (node, pieces)) in courses.nodes.iter().enumerate() {
        let top = time.top() + place as f32 * height;
        let row = Rect::from_x_y_ranges(view.x_range(), top..=top + height);
        painter.hline(row.x_range(), row.bottom() - 0.5, (1.0, theme::faint()));
        let name = model.lane_name(*node);
        let room = time.left() - view.left() - 20.0;
        let name = findings::elided(painter, name, theme::body(), room, theme::text());
        let at = pos2(view.left() + 10.0, row.center().y - name.size().y / 2.0);
        painter.galley(at, name, theme::text());
        let inside = painter.with_clip_rect(time.intersect(painter.clip_rect()));
        for piece in pieces {
            ribbon(&inside, time, row, scale, piece, node_color(model, *node));
        }
    }
}

fn ribbon(
    painter: &Painter,
    time: Rect,
    row: Rect,
    scale: &Scale,
    piece: &Course,
    color: egui::Color32,
) {
    let x = |at: i64| time.left() + scale.x(SessionTime(at));
    let left = x(piece.time.start).max(time.left() - 4.0);
    let right = x(piece.time.end).min(time.right() + 4.0).max(left + 1.0);
    let bar = Rect::from_x_y_ranges(left..=right - 1.0, row.top() + 3.0..=row.bottom() - 3.0);
    let fill = theme::panel().lerp_to_gamma(color, 0.6);
    painter.rect_filled(bar, 2.0, fill);
    let shown = bar.intersect(time);
    let Some(words) = piece.words.as_ref().filter(|_| shown.width() > 24.0) else {
        return;
    };
    let ink = theme::ink_on(fill);
    let galley = findings::elided(painter, words, theme::small(), shown.width() - 8.0, ink);
    let at = pos2(shown.left() + 4.0, shown.center().y - galley.size().y / 2.0);
    painter.galley(at, galley, ink);
}
