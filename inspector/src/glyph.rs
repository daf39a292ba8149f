//! Small shapes with a meaning: colour never stands alone.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, pos2, vec2};
use netreel_protocol::history::Level;
use netreel_wire::Role;

/// What moves the time cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Back,
    Play,
    Stop,
    Forward,
}

/// The sign of it, about `size` high.
pub fn transport(painter: &Painter, centre: Pos2, size: f32, what: Transport, color: Color32) {
    let r = size / 2.0;
    let arrow = |middle: f32, way: f32| {
        let at = |x: f32, y: f32| centre + vec2(middle + way * x * r, y * r);
        let points = vec![at(-0.8, -1.0), at(0.9, 0.0), at(-0.8, 1.0)];
        painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
    };
    let bar = |x: f32| {
        let rect = Rect::from_center_size(centre + vec2(x * r, 0.0), vec2(2.0, size));
        painter.rect_filled(rect, 0.0, color);
    };
    match what {
        Transport::Play => arrow(0.0, 1.0),
        Transport::Stop => [-0.5, 0.5].into_iter().for_each(bar),
        Transport::Forward => {
            arrow(-1.0, 1.0);
            bar(1.0);
        }
        Transport::Back => {
            arrow(1.0, -1.0);
            bar(-1.0);
        }
    }
}

/// A shape around `centre`: its corners, in lengths of `unit`.
pub fn polygon(painter: &Painter, centre: Pos2, unit: f32, corners: &[(f32, f32)], color: Color32) {
    painter.add(Shape::convex_polygon(
        around(centre, unit, corners),
        color,
        Stroke::NONE,
    ));
}

fn around(centre: Pos2, unit: f32, corners: &[(f32, f32)]) -> Vec<Pos2> {
    corners
        .iter()
        .map(|(x, y)| centre + vec2(x * unit, y * unit))
        .collect()
}

const DIAMOND: [(f32, f32); 4] = [(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)];

/// The shape of a message kind at `centre`, about `size` wide.
pub fn kind(painter: &Painter, centre: Pos2, size: f32, role: Option<Role>, color: Color32) {
    let r = size / 2.0;
    let line = (1.2, color);
    match role {
        // An object comes to be: a full circle.
        Some(Role::Create) => drop(painter.circle_filled(centre, r, color)),
        // It ends: a square.
        Some(Role::Destroy) => drop(painter.rect_filled(square(centre, r * 0.9), 0.0, color)),
        // It changes hands: a diamond; the order to do so: an open one.
        Some(Role::Migrate) => polygon(painter, centre, r, &DIAMOND, color),
        Some(Role::MigrateOrder) => {
            painter.add(Shape::closed_line(around(centre, r, &DIAMOND), line));
        }
        Some(Role::Connect | Role::Disconnect) => {
            painter.circle_stroke(centre, r * 0.8, line);
        }
        Some(Role::Rpc) => {
            polygon(
                painter,
                centre,
                r,
                &[(-0.9, -1.0), (1.0, 0.0), (-0.9, 1.0)],
                color,
            );
        }
        Some(Role::Fragment) => {
            painter.rect_stroke(square(centre, r * 0.7), 0.0, line, StrokeKind::Middle);
        }
        Some(Role::Other) => {
            polygon(
                painter,
                centre,
                r,
                &[(0.0, -1.0), (1.0, 0.9), (-1.0, 0.9)],
                color,
            );
        }
        Some(Role::Update | Role::Baseline) => drop(painter.circle_filled(centre, r * 0.5, color)),
        Some(Role::Ack | Role::Ping | Role::Pong) | None => {
            painter.circle_filled(centre, r * 0.35, color);
        }
    }
}

/// A cross: it did not arrive.
pub fn cross(painter: &Painter, centre: Pos2, size: f32, color: Color32) {
    crossed(painter, centre, size / 2.0, (1.8, color));
}

fn crossed(painter: &Painter, centre: Pos2, half: f32, line: (f32, Color32)) {
    for corner in [vec2(half, half), vec2(half, -half)] {
        painter.line_segment([centre - corner, centre + corner], line);
    }
}

/// Two rings: received more than once.
pub fn twice(painter: &Painter, centre: Pos2, color: Color32) {
    let line = (1.2, color);
    painter.circle_stroke(centre - vec2(1.5, 0.0), 3.0, line);
    painter.circle_stroke(centre + vec2(1.5, 0.0), 3.0, line);
}

/// An open ring with a gap in the line: nobody can say.
pub fn unknown(painter: &Painter, centre: Pos2, color: Color32) {
    painter.circle(centre, 3.0, crate::theme::panel(), (1.2, color));
}

/// A level: a full octagon-like disc with a bar, a triangle, a ring.
pub fn level(painter: &Painter, centre: Pos2, size: f32, level: Level) {
    let color = crate::theme::level(level);
    let r = size / 2.0;
    let dark = crate::theme::ink_on(color);
    match level {
        Level::Error => {
            painter.circle_filled(centre, r, color);
            crossed(painter, centre, r * 0.42, (1.6, dark));
        }
        Level::Warning => {
            polygon(
                painter,
                centre,
                r,
                &[(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)],
                color,
            );
            let bar = [-r * 0.35, r * 0.3].map(|y| centre + vec2(0.0, y));
            painter.line_segment(bar, (1.4, dark));
            painter.circle_filled(centre + vec2(0.0, r * 0.55), 0.8, dark);
        }
        Level::Info => {
            let line = (1.2, color);
            painter.circle_stroke(centre, r * 0.85, line);
            painter.line_segment([-r * 0.1, r * 0.45].map(|y| centre + vec2(0.0, y)), line);
            painter.circle_filled(centre - vec2(0.0, r * 0.42), 0.8, color);
        }
    }
}

/// A flag whose pole stands at `foot`.
pub fn flag(painter: &Painter, foot: Pos2, level: Level, strong: bool) {
    let color = crate::theme::level(level);
    let top = foot - vec2(0.0, 22.0);
    painter.line_segment([foot, top], (if strong { 1.8 } else { 1.2 }, color));
    match level {
        Level::Error => {
            let corners = [(0.0, 0.0), (13.0, 0.0), (13.0, 9.0), (0.0, 9.0)];
            polygon(painter, top, 1.0, &corners, color);
            let line = (1.4, crate::theme::ink_on(color));
            crossed(painter, top + vec2(6.5, 4.5), 2.5, line);
        }
        Level::Warning => {
            polygon(
                painter,
                top,
                1.0,
                &[(0.0, 0.0), (12.0, 4.5), (0.0, 9.0)],
                color,
            );
        }
        Level::Info => {
            let points = around(top, 1.0, &[(0.0, 0.0), (8.0, 3.0), (0.0, 6.0)]);
            painter.add(Shape::closed_line(points, (1.0, color)));
        }
    }
}

/// A trigger: a line across a lane between two points that look at it.
pub fn trigger(painter: &Painter, centre: Pos2, height: f32) {
    let color = crate::theme::accent();
    let half = height / 2.0;
    let y = centre.y - half..=centre.y + half;
    painter.vline(centre.x, y, (1.5, color));
    let size = (half * 0.6).min(5.0);
    for (end, inwards) in [(-half, size), (half, -size)] {
        let tip = centre + vec2(0.0, end + inwards);
        let side = size * 0.8;
        polygon(
            painter,
            tip,
            1.0,
            &[(0.0, 0.0), (side, -inwards), (-side, -inwards)],
            color,
        );
    }
}

/// A bookmark's ribbon, below `top`.
pub fn bookmark(painter: &Painter, top: Pos2, color: Color32) {
    let body = Rect::from_min_max(top + vec2(-4.0, 0.0), top + vec2(4.0, 6.5));
    painter.rect_filled(body, 0.0, color);
    for side in [-1.0, 1.0] {
        polygon(
            painter,
            top,
            1.0,
            &[(4.0 * side, 6.0), (4.0 * side, 11.0), (0.0, 6.0)],
            color,
        );
    }
}

/// A line that a node wrote, on its lane above `foot`.
pub fn line_of_text(painter: &Painter, foot: Pos2, color: Color32) {
    let edge = (1.0, color);
    painter.line_segment([foot, foot - vec2(0.0, 4.0)], edge);
    for (row, length) in [(4.0, 6.0), (6.5, 6.0), (9.0, 4.0)] {
        let left = foot - vec2(3.0, row);
        painter.line_segment([left, left + vec2(length, 0.0)], edge);
    }
}

/// Slanted lines over a rectangle.
pub fn hatch(painter: &Painter, rect: Rect, step: f32, stroke: (f32, Color32)) {
    let painter = painter.with_clip_rect(rect);
    let visible = painter.clip_rect();
    if !visible.is_positive() {
        return;
    }
    let height = rect.height();
    // The pattern is fixed to the screen, so that it does not run while panning past an edge.
    let mut x = ((visible.left() - height) / step).floor() * step;
    while x < visible.right() {
        painter.line_segment(
            [pos2(x, rect.bottom()), pos2(x + height, rect.top())],
            stroke,
        );
        x += step;
    }
}

/// The way in which a column is sorted: down where the largest comes first.
pub fn sorted(painter: &Painter, centre: Pos2, down: bool, color: Color32) {
    let y = if down { 1.0 } else { -1.0 };
    polygon(
        painter,
        centre,
        1.0,
        &[(-4.0, -2.0 * y), (4.0, -2.0 * y), (0.0, 3.0 * y)],
        color,
    );
}

/// A triangle that says open or closed.
pub fn triangle(painter: &Painter, centre: Pos2, open: bool, color: Color32) {
    if open {
        sorted(painter, centre, true, color);
    } else {
        polygon(
            painter,
            centre,
            1.0,
            &[(-2.0, -4.0), (3.0, 0.0), (-2.0, 4.0)],
            color,
        );
    }
}

fn square(centre: Pos2, half: f32) -> Rect {
    Rect::from_center_size(centre, vec2(half * 2.0, half * 2.0))
}
