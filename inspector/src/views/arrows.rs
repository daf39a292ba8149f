//! Packets as arrows from send to receive, and where their names fit.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};
use netreel_inspector_model::{Arrow, Model};
use netreel_protocol::session::Fate;
use netreel_wire::Role;

use crate::{glyph, theme};

/// An arrow on the screen.
#[derive(Clone, Copy)]
pub struct Line {
    /// Where it leaves.
    pub start: Pos2,
    /// Where it ends: at the receiver, or part-way where it did not arrive.
    pub end: Pos2,
}

/// Labels that were placed, so that no two overlap.
#[derive(Default)]
pub struct Labels {
    taken: Vec<Rect>,
}

/// How much an arrow stands out; drawn from the least to the most.
pub fn prominence(model: &Model, arrow: &Arrow) -> u8 {
    match (arrow.selected, arrow.evidence) {
        (true, _) => 5,
        (false, true) => 4,
        _ if !arrow.matches => 0,
        _ if matches!(arrow.fate, Fate::Lost | Fate::SendFailed) => 3,
        _ => match role(model, arrow) {
            None | Some(Role::Ack | Role::Ping | Role::Pong | Role::Update | Role::Baseline) => 1,
            Some(_) => 2,
        },
    }
}

/// What an arrow's most telling message does.
pub fn role(model: &Model, arrow: &Arrow) -> Option<Role> {
    let kind = arrow.kind?;
    Some(model.kinds().get(usize::from(kind.0))?.role)
}

/// Where an arrow lies between its two lanes.
pub fn line(arrow: &Arrow, start: Pos2, receiver: Pos2) -> Line {
    let part = match arrow.fate {
        Fate::Received => 1.0,
        Fate::Lost => 0.66,
        Fate::SendFailed => 0.12,
        Fate::Unread => 0.9,
        Fate::Unknown => 0.4,
    };
    Line {
        start,
        end: start + (receiver - start) * part,
    }
}

/// Draws one arrow. `quiet` is whether something else is being told, `crowd` how strong the less
/// telling ones are, from 0 to 1.
pub fn draw(
    painter: &Painter,
    model: &Model,
    arrow: &Arrow,
    line: Line,
    (quiet, crowd): (bool, f32),
) {
    let role = role(model, arrow);
    let color = theme::kind(model.kinds(), arrow.kind);
    let (width, strength) = match prominence(model, arrow) {
        5 => (2.4, 1.0),
        4 => (2.0, 1.0),
        3 => (1.2, if quiet { 0.45 } else { 0.9 }),
        2 => (1.3, crowd * if quiet { 0.5 } else { 0.95 }),
        1 if role == Some(Role::Update) => (1.0, crowd * if quiet { 0.22 } else { 0.45 }),
        1 => (1.0, crowd.max(0.5) * if quiet { 0.16 } else { 0.28 }),
        _ => (1.0, 0.08),
    };
    let shade = theme::faded(color, strength);
    if arrow.selected {
        let halo = Stroke::new(7.0, theme::faded(theme::ACCENT, 0.35));
        painter.line_segment([line.start, line.end], halo);
    }
    let stroke = Stroke::new(width, shade);
    let known = arrow.start_known && arrow.fate != Fate::Unknown;
    if known {
        painter.line_segment([line.start, line.end], stroke);
    } else {
        painter.extend(Shape::dashed_line(
            &[line.start, line.end],
            stroke,
            4.0,
            3.0,
        ));
    }
    let size = if strength > 0.6 { 8.0 } else { 6.0 };
    if arrow.start_known {
        glyph::kind(painter, line.start, size, role, shade);
    } else {
        glyph::unknown(painter, line.start, shade);
    }
    match arrow.fate {
        Fate::Received => head(painter, line, if strength > 0.6 { 7.0 } else { 5.0 }, shade),
        Fate::Lost | Fate::SendFailed | Fate::Unread => {
            let strength = match (arrow.matches, quiet) {
                (false, _) => 0.2,
                (true, true) if !arrow.evidence && !arrow.selected => 0.6,
                _ => 1.0,
            };
            glyph::cross(
                painter,
                line.end,
                8.0,
                theme::faded(theme::WARNING, strength),
            );
        }
        Fate::Unknown => glyph::unknown(painter, line.end, shade),
    }
}

fn head(painter: &Painter, line: Line, size: f32, color: Color32) {
    let along = line.end - line.start;
    if along.length() < 1.0 {
        return;
    }
    let along = along.normalized();
    let across = along.rot90() * (size * 0.42);
    let back = line.end - along * size;
    let points = vec![line.end, back + across, back - across];
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
}

/// How far a place is from an arrow, in points.
pub fn distance(line: Line, at: Pos2) -> f32 {
    let along = line.end - line.start;
    let length = along.length_sq();
    let part = if length > 0.0 {
        ((at - line.start).dot(along) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (at - (line.start + along * part)).length()
}

impl Labels {
    /// Keeps a place free of labels.
    pub fn block(&mut self, rect: Rect) {
        self.taken.push(rect);
    }

    /// Finds room for a text beside `at` within `bounds`, at the first of a few places that is free,
    /// and keeps it. For a text that is `wanted` there are more places.
    pub fn find(
        &mut self,
        bounds: Rect,
        at: Pos2,
        size: Vec2,
        gap: f32,
        wanted: bool,
    ) -> Option<Rect> {
        let (right, left) = (7.0, -7.0 - size.x);
        let (above, below) = (-gap - size.y, gap);
        let near = [(right, above), (right, below), (left, above), (left, below)];
        let far = [
            (right, above - size.y - 4.0),
            (left, above - size.y - 4.0),
            (right, below + size.y + 4.0),
            (left, below + size.y + 4.0),
        ];
        let far = if wanted { far.as_slice() } else { &[] };
        let mut rects = near
            .iter()
            .chain(far)
            .map(|&(x, y)| Rect::from_min_size(at + vec2(x, y), size))
            .filter(|rect| bounds.contains_rect(*rect));
        let is_free = |rect: &Rect| {
            let taken = self.taken.iter();
            !taken
                .into_iter()
                .any(|taken| taken.intersects(rect.expand2(vec2(4.0, 1.0))))
        };
        let rect = rects.find(is_free)?;
        self.taken.push(rect);
        Some(rect)
    }

    /// Writes a text beside `at` where there is room within `bounds`.
    pub fn place(&mut self, painter: &Painter, bounds: Rect, at: Pos2, text: &str, color: Color32) {
        let galley = painter.layout_no_wrap(text.to_owned(), theme::small(), color);
        if let Some(rect) = self.find(bounds, at, galley.size(), 5.0, false) {
            painter.galley(rect.min, galley, color);
        }
    }
}

/// The middle of a lane at a time.
pub fn point(time: Rect, x: f32, y: f32) -> Pos2 {
    // Lines to far outside the view lose nothing by being cut near it.
    pos2(time.left() + x.clamp(-20_000.0, 20_000.0), y)
}
