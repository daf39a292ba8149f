//! Packets as arrows from send to receive, and where their names fit.

use egui::{Color32, Mesh, Painter, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};
use netreel_inspector_model::{Arrow, Model};
use netreel_protocol::session::Fate;
use netreel_wire::Role;

use super::label;
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
        _ if model.session().wire.is_none() => 2,
        _ => match role(model, arrow) {
            None | Some(Role::Ack | Role::Ping | Role::Pong | Role::Update | Role::Baseline) => 1,
            Some(_) => 2,
        },
    }
}

/// What an arrow's most telling message does.
pub fn role(model: &Model, arrow: &Arrow) -> Option<Role> {
    Some(model.kind(arrow.kind?)?.role)
}

/// How far a packet that did not arrive is drawn, of half a lane: never near a lane that it was not
/// sent to.
const LOST: f64 = 0.9;

/// Where an arrow lies: from `start` to `receiver`, both as they are however far outside the view,
/// cut to what is in sight of `bounds`. `lane` is how high a lane is.
pub fn line(
    arrow: &Arrow,
    start: (f64, f64),
    receiver: (f64, f64),
    bounds: Rect,
    lane: f32,
) -> Line {
    let (across, down) = (receiver.0 - start.0, receiver.1 - start.1);
    let lanes = (down.abs() / f64::from(lane.max(1.0))).max(1.0);
    let part = match arrow.fate {
        // Who cannot say what became of a packet knows where it was to go.
        Fate::Received | Fate::Unknown => 1.0,
        Fate::Lost => LOST / 2.0 / lanes,
        Fate::SendFailed => 0.24 / 2.0 / lanes,
        Fate::Unread => 0.96,
    };
    let end = (start.0 + across * part, start.1 + down * part);
    let (left, right) = (
        f64::from(bounds.left()) - OUTSIDE,
        f64::from(bounds.right()) + OUTSIDE,
    );
    // What is cut off takes its height along, so that the rest lies where it lay.
    let at = |x: f64| {
        if end.0 == start.0 {
            start.1
        } else {
            start.1 + (end.1 - start.1) * ((x - start.0) / (end.0 - start.0))
        }
    };
    let cut = |(x, y): (f64, f64)| match (x < left, x > right) {
        (true, _) => (left, at(left)),
        (_, true) => (right, at(right)),
        _ => (x, y),
    };
    let place = |(x, y): (f64, f64)| pos2(x as f32, y as f32);
    Line {
        start: place(cut(start)),
        end: place(cut(end)),
    }
}

/// How far outside the view nothing of an arrow is seen, in points.
const OUTSIDE: f64 = 60.0;

/// Draws one arrow. `quiet` is whether something else is being told, `crowd` how strong the less
/// telling ones are, from 0 to 1. Of very many, those go into one shape: `together`.
pub fn draw(
    painter: &Painter,
    model: &Model,
    arrow: &Arrow,
    line: Line,
    (quiet, crowd): (bool, f32),
    together: &mut Mesh,
) {
    let role = role(model, arrow);
    let color = color(model, arrow);
    let (width, strength) = match prominence(model, arrow) {
        5 => (2.4, 1.0),
        4 => (2.0, 1.0),
        3 => (1.2, if quiet { 0.6 } else { 0.9 }),
        2 => (1.3, crowd * if quiet { 0.6 } else { 0.95 }),
        1 if role == Some(Role::Update) => (1.0, crowd * 0.4),
        1 => (1.0, crowd * 0.3),
        _ => (1.0, 0.0),
    };
    let shade = match arrow.matches || arrow.selected || arrow.evidence {
        // Each can be seen alone; very many are seen together.
        true if crowd < 1.0 && strength < 1.0 => theme::faded(color, strength.max(0.12)),
        true => theme::quiet(color, strength),
        false => theme::faded(color, 0.14),
    };
    if arrow.selected {
        let halo = (7.0, theme::faded(theme::accent(), 0.35));
        painter.line_segment([line.start, line.end], halo);
    }
    let stroke = (width, shade);
    if crowd < TOGETHER && strength < 1.0 && prominence(model, arrow) < 3 {
        return thin(together, line, width, shade, arrow.fate == Fate::Received);
    }
    let known = arrow.start_known && arrow.fate != Fate::Unknown;
    // Among very many, dashes say nothing.
    if known || (crowd < 0.5 && strength < 1.0) {
        painter.line_segment([line.start, line.end], stroke);
    } else {
        // Dashes of neighbours begin at different heights, so that they make no wall.
        let shift = (arrow.packet.0 % 7) as f32;
        painter.extend(Shape::dashed_line_with_offset(
            &[line.start, line.end],
            stroke,
            &[4.0],
            &[3.0],
            shift,
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
            let color = match arrow.matches {
                true if quiet && !arrow.evidence && !arrow.selected => {
                    theme::quiet(theme::warning(), 0.7)
                }
                true => theme::warning(),
                false => theme::faded(theme::warning(), 0.2),
            };
            glyph::cross(painter, line.end, 8.0, color);
        }
        Fate::Unknown => glyph::unknown(painter, line.end, shade),
    }
}

/// The colour of an arrow: that of its most telling message; of its sender where no wire says what
/// packets carry.
pub fn color(model: &Model, arrow: &Arrow) -> Color32 {
    match model.session().wire {
        Some(_) => theme::kind(model.kinds(), arrow.kind),
        None => theme::owner(u64::from(arrow.from.0)),
    }
}

/// With a weaker crowd than this its arrows are one shape.
const TOGETHER: f32 = 0.6;

/// A line whose edges fade, with a foot and a head: what many arrows are that are seen together.
fn thin(mesh: &mut Mesh, line: Line, width: f32, color: Color32, arrives: bool) {
    let along = line.end - line.start;
    if along.length() < 1.0 {
        return;
    }
    let across = along.normalized().rot90() * (0.5 + width / 2.0);
    let first = mesh.vertices.len() as u32;
    for at in [line.start, line.end] {
        mesh.colored_vertex(at + across, Color32::TRANSPARENT);
        mesh.colored_vertex(at, color);
        mesh.colored_vertex(at - across, Color32::TRANSPARENT);
    }
    for [a, b, c] in [[0, 1, 3], [1, 3, 4], [1, 2, 4], [2, 4, 5]] {
        mesh.add_triangle(first + a, first + b, first + c);
    }
    mesh.add_colored_rect(Rect::from_center_size(line.start, vec2(2.0, 2.0)), color);
    if arrives {
        let along = along.normalized();
        let (back, across) = (line.end - along * 5.0, along.rot90() * 2.1);
        let first = mesh.vertices.len() as u32;
        for at in [line.end, back + across, back - across] {
            mesh.colored_vertex(at, color);
        }
        mesh.add_triangle(first, first + 1, first + 2);
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
            // Arrows that pass below a text make it hard to read.
            let patch = (vec2(2.0, 0.0), 2.0, theme::faded(theme::panel(), 0.82));
            label::over(painter, rect.min, galley, patch, color);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netreel_protocol::session::{NodeId, PacketId, SessionTime};

    fn arrow(fate: Fate) -> Arrow {
        Arrow {
            packet: PacketId(0),
            from: NodeId(0),
            to: NodeId(1),
            start: SessionTime(0),
            end: SessionTime(1),
            start_known: true,
            fate,
            kind: None,
            matches: true,
            selected: false,
            evidence: false,
            level: None,
        }
    }

    fn bounds() -> Rect {
        Rect::from_min_max(pos2(100.0, 0.0), pos2(1100.0, 400.0))
    }

    #[test]
    fn a_line_that_is_cut_lies_where_the_whole_one_lies() {
        // In the view it is half-way between the lanes.
        let (start, end) = ((-1e7 + 600.0, 50.0), (1e7 + 600.0, 350.0));
        let line = line(&arrow(Fate::Received), start, end, bounds(), 100.0);
        for at in [line.start, line.end] {
            assert!((at.y - 200.0).abs() < 0.1, "{at:?}");
            assert!(at.x >= 0.0 && at.x <= 1200.0, "{at:?}");
        }
    }

    #[test]
    fn what_is_lost_ends_near_its_sender_and_what_is_unknown_at_its_receiver() {
        let (start, end) = ((200.0, 50.0), (300.0, 550.0));
        let ends = |fate| line(&arrow(fate), start, end, bounds(), 100.0).end;
        assert!(ends(Fate::Lost).y < 100.0);
        assert_eq!(ends(Fate::Unknown), pos2(300.0, 550.0));
    }
}
