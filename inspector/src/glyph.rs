//! Small shapes with a meaning: colour never stands alone.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, pos2, vec2};
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

/// The shape of a message kind at `centre`, about `size` wide.
pub fn kind(painter: &Painter, centre: Pos2, size: f32, role: Option<Role>, color: Color32) {
    let r = size / 2.0;
    let line = Stroke::new(1.2, color);
    let at = |x: f32, y: f32| centre + vec2(x * r, y * r);
    match role {
        // An object comes to be: a full circle.
        Some(Role::Create) => {
            painter.circle_filled(centre, r, color);
        }
        // It ends: a square.
        Some(Role::Destroy) => {
            painter.rect_filled(square(centre, r * 0.9), 0.0, color);
        }
        // It changes hands: a diamond; the order to do so: an open one.
        Some(Role::Migrate) => {
            let points = vec![at(0.0, -1.2), at(1.2, 0.0), at(0.0, 1.2), at(-1.2, 0.0)];
            painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
        }
        Some(Role::MigrateOrder) => {
            let points = vec![at(0.0, -1.2), at(1.2, 0.0), at(0.0, 1.2), at(-1.2, 0.0)];
            painter.add(Shape::closed_line(points, line));
        }
        Some(Role::Connect | Role::Disconnect) => {
            painter.circle_stroke(centre, r * 0.8, line);
        }
        Some(Role::Rpc) => {
            let points = vec![at(-0.9, -1.0), at(1.0, 0.0), at(-0.9, 1.0)];
            painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
        }
        Some(Role::Fragment) => {
            painter.rect_stroke(square(centre, r * 0.7), 0.0, line, egui::StrokeKind::Middle);
        }
        Some(Role::Other) => {
            let points = vec![at(0.0, -1.0), at(1.0, 0.9), at(-1.0, 0.9)];
            painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
        }
        Some(Role::Update | Role::Baseline) => {
            painter.circle_filled(centre, r * 0.5, color);
        }
        Some(Role::Ack | Role::Ping | Role::Pong) | None => {
            painter.circle_filled(centre, r * 0.35, color);
        }
    }
}

/// A cross: it did not arrive.
pub fn cross(painter: &Painter, centre: Pos2, size: f32, color: Color32) {
    let r = size / 2.0;
    let line = Stroke::new(1.8, color);
    painter.line_segment([centre - vec2(r, r), centre + vec2(r, r)], line);
    painter.line_segment([centre - vec2(r, -r), centre + vec2(r, -r)], line);
}

/// Two rings: received more than once.
pub fn twice(painter: &Painter, centre: Pos2, color: Color32) {
    let line = Stroke::new(1.2, color);
    painter.circle_stroke(centre - vec2(1.5, 0.0), 3.0, line);
    painter.circle_stroke(centre + vec2(1.5, 0.0), 3.0, line);
}

/// An open ring with a gap in the line: nobody can say.
pub fn unknown(painter: &Painter, centre: Pos2, color: Color32) {
    painter.circle(centre, 3.0, crate::theme::panel(), Stroke::new(1.2, color));
}

/// A level: a full octagon-like disc with a bar, a triangle, a ring.
pub fn level(painter: &Painter, centre: Pos2, size: f32, level: Level) {
    let color = crate::theme::level(level);
    let r = size / 2.0;
    let dark = crate::theme::ink_on(color);
    match level {
        Level::Error => {
            painter.circle_filled(centre, r, color);
            let line = Stroke::new(1.6, dark);
            let d = r * 0.42;
            painter.line_segment([centre - vec2(d, d), centre + vec2(d, d)], line);
            painter.line_segment([centre - vec2(d, -d), centre + vec2(d, -d)], line);
        }
        Level::Warning => {
            let points = vec![
                centre + vec2(0.0, -r),
                centre + vec2(r, r * 0.8),
                centre + vec2(-r, r * 0.8),
            ];
            painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
            let bar = Stroke::new(1.4, dark);
            painter.line_segment(
                [centre + vec2(0.0, -r * 0.35), centre + vec2(0.0, r * 0.3)],
                bar,
            );
            painter.circle_filled(centre + vec2(0.0, r * 0.55), 0.8, dark);
        }
        Level::Info => {
            painter.circle_stroke(centre, r * 0.85, Stroke::new(1.2, color));
            let bar = Stroke::new(1.2, color);
            painter.line_segment(
                [centre + vec2(0.0, -r * 0.1), centre + vec2(0.0, r * 0.45)],
                bar,
            );
            painter.circle_filled(centre - vec2(0.0, r * 0.42), 0.8, color);
        }
    }
}

/// A flag whose pole stands at `foot`.
pub fn flag(painter: &Painter, foot: Pos2, level: Level, strong: bool) {
    let color = crate::theme::level(level);
    let top = foot - vec2(0.0, 22.0);
    painter.line_segment(
        [foot, top],
        Stroke::new(if strong { 1.8 } else { 1.2 }, color),
    );
    let points = match level {
        Level::Error => vec![
            top,
            top + vec2(13.0, 0.0),
            top + vec2(13.0, 9.0),
            top + vec2(0.0, 9.0),
        ],
        Level::Warning => vec![top, top + vec2(12.0, 4.5), top + vec2(0.0, 9.0)],
        Level::Info => vec![top, top + vec2(8.0, 3.0), top + vec2(0.0, 6.0)],
    };
    if level == Level::Info {
        painter.add(Shape::closed_line(points, Stroke::new(1.0, color)));
        return;
    }
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
    if level == Level::Error {
        let line = Stroke::new(1.4, crate::theme::ink_on(color));
        let centre = top + vec2(6.5, 4.5);
        painter.line_segment([centre - vec2(2.5, 2.5), centre + vec2(2.5, 2.5)], line);
        painter.line_segment([centre - vec2(2.5, -2.5), centre + vec2(2.5, -2.5)], line);
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
        let side = vec2(size * 0.8, -inwards);
        let points = vec![tip, tip + side, tip + vec2(-side.x, side.y)];
        painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
    }
}

/// A bookmark's ribbon, below `top`.
pub fn bookmark(painter: &Painter, top: Pos2, color: Color32) {
    let body = Rect::from_min_max(top + vec2(-4.0, 0.0), top + vec2(4.0, 6.5));
    painter.rect_filled(body, 0.0, color);
    for side in [-1.0, 1.0] {
        let points = vec![
            top + vec2(4.0 * side, 6.0),
            top + vec2(4.0 * side, 11.0),
            top + vec2(0.0, 6.0),
        ];
        painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
    }
}

/// A line that a node wrote, on its lane above `foot`.
pub fn line_of_text(painter: &Painter, foot: Pos2, color: Color32) {
    let edge = Stroke::new(1.0, color);
    painter.line_segment([foot, foot - vec2(0.0, 4.0)], edge);
    for (row, length) in [(4.0, 6.0), (6.5, 6.0), (9.0, 4.0)] {
        let left = foot - vec2(3.0, row);
        painter.line_segment([left, left + vec2(length, 0.0)], edge);
    }
}

/// Slanted lines over a rectangle.
pub fn hatch(painter: &Painter, rect: Rect, step: f32, stroke: Stroke) {
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
    let points = vec![
        centre + vec2(-4.0, -2.0 * y),
        centre + vec2(4.0, -2.0 * y),
        centre + vec2(0.0, 3.0 * y),
    ];
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
}

/// A triangle that says open or closed.
pub fn triangle(painter: &Painter, centre: Pos2, open: bool, color: Color32) {
    let points = if open {
        vec![
            centre + vec2(-4.0, -2.0),
            centre + vec2(4.0, -2.0),
            centre + vec2(0.0, 3.0),
        ]
    } else {
        vec![
            centre + vec2(-2.0, -4.0),
            centre + vec2(3.0, 0.0),
            centre + vec2(-2.0, 4.0),
        ]
    };
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
}

fn square(centre: Pos2, half: f32) -> Rect {
    Rect::from_center_size(centre, vec2(half * 2.0, half * 2.0))
}
