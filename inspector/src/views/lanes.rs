//! A lane for each node: its name, from when to when it was recorded, what is missing, and triggers.

use std::collections::BTreeSet;

use egui::{
    Align2, FontFamily, FontId, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, pos2, vec2,
};
use netreel_inspector_model::{Arrow, Model, Scale, text};
use netreel_protocol::session::{Node, NodeId, SessionTime};

use super::arrows::{self, Labels, Line};
use super::findings::elided;
use crate::{glyph, theme};

/// Lower lanes have nothing above the name, and what is below it lifts it.
const ROOM_FOR_NOTES: f32 = 46.0;
/// Lower lanes have nothing but the name.
const ROOM_FOR_NOTE: f32 = 32.0;

/// Lower lanes have their names in several columns.
const TEXT_MIN: f32 = 11.0;
/// Nearer lanes have no dotted lines.
const LINE_MIN: f32 = 5.0;

/// How long a window's lane is hatched where its recording went on outside it.
const OUTSIDE: f32 = 22.0;

/// Most gaps that one lane shows.
const HOLES_MAX: usize = 200;

/// Where the lanes are.
pub struct Lanes {
    /// Where time runs from left to right.
    pub time: Rect,
    /// Of one lane.
    pub height: f32,
    nodes: Vec<NodeId>,
}

impl Lanes {
    /// Lanes for all nodes that have one, below each other in `time`.
    pub fn new(model: &Model, time: Rect) -> Lanes {
        let nodes = model.lanes().to_vec();
        let height = time.height() / nodes.len().max(1) as f32;
        Lanes {
            time,
            height,
            nodes,
        }
    }

    /// Whether a node has a lane.
    pub fn has(&self, node: NodeId) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// The middle of a node's lane; out of sight for a node that has none.
    pub fn y(&self, node: NodeId) -> f32 {
        match self.nodes.binary_search(&node) {
            Ok(place) => (self.time.top() + (place as f32 + 0.5) * self.height).round() + 0.5,
            Err(_) => self.time.top() - 10_000.0,
        }
    }

    /// From lane to lane.
    pub fn line(&self, scale: &Scale, arrow: &Arrow) -> Line {
        let left = f64::from(self.time.left());
        let x = |time| left + scale.exact_x(time);
        let start = (x(arrow.start), f64::from(self.y(arrow.from)));
        let end = (x(arrow.end), f64::from(self.y(arrow.to)));
        arrows::line(arrow, start, end, self.time, self.height)
    }

    /// The node whose name is at a place.
    pub fn named_at(&self, at: Option<Pos2>) -> Option<NodeId> {
        let at = at.filter(|at| at.x < self.time.left() && at.y > self.time.top())?;
        let lane = (at.y - self.time.top()) / self.height.max(0.1);
        self.nodes.get(lane as usize).copied()
    }
}

/// Draws the lanes of all nodes, without what passed between them.
pub fn show(painter: &Painter, model: &Model, view: Rect, lanes: &Lanes, scale: &Scale) {
    let time = lanes.time;
    let nodes = &model.session().nodes;
    for (place, &id) in lanes.nodes.iter().enumerate() {
        let Some(node) = nodes.get(usize::from(id.0)) else {
            continue;
        };
        if place > 0 && lanes.height >= TEXT_MIN {
            let top = time.top() + place as f32 * lanes.height;
            painter.hline(view.x_range(), top.round() + 0.5, (1.0, theme::faint()));
        }
        name(painter, model, view, lanes, (place, id), node);
        recorded(painter, lanes, scale, lanes.y(id), node);
        holes(painter, model, lanes, scale, id);
    }
}

/// A node's line while it was recorded; dotted where it was not.
fn recorded(painter: &Painter, lanes: &Lanes, scale: &Scale, y: f32, node: &Node) {
    let time = lanes.time;
    let x = |at| (time.left() + scale.x(at)).clamp(time.left(), time.right());
    if !node.recorded {
        // Dots of lanes that are so near are a wall.
        if lanes.height < LINE_MIN {
            return;
        }
        painter.extend(Shape::dashed_line(
            &[pos2(time.left(), y), pos2(time.right(), y)],
            Stroke::new(1.0, theme::dim()),
            2.0,
            5.0,
        ));
        return;
    }
    let (left, right) = (x(node.span.start), x(node.span.end));
    painter.hline(left..=right, y, (1.0, theme::dim()));
    let half = (lanes.height * 0.3).min(6.0);
    let ends = [
        (left, node.span.start, -OUTSIDE),
        (right, node.span.end, OUTSIDE),
    ];
    for (at, shown, outside) in ends {
        if (at - time.left() - scale.x(shown)).abs() >= 1.0 {
            continue;
        }
        painter.vline(
            at,
            y - half.min(4.0)..=y + half.min(4.0),
            (1.0, theme::dim()),
        );
        if node.window {
            let rect = Rect::from_two_pos(pos2(at, y - half), pos2(at + outside, y + half));
            let line = Stroke::new(1.0, theme::faded(theme::dim(), 0.8));
            glyph::hatch(painter, rect.intersect(time), 5.0, line);
        }
    }
}

/// What is missing inside a recording.
fn holes(painter: &Painter, model: &Model, lanes: &Lanes, scale: &Scale, node: NodeId) {
    let time = lanes.time;
    let y = lanes.y(node);
    let x = |at| (time.left() + scale.x(at)).clamp(time.left(), time.right());
    let half = (lanes.height * 0.4).min(6.0);
    let visible = scale.range();
    let visible = SessionTime(visible.start)..SessionTime(visible.end);
    let mut drawn = 0;
    let mut behind = f32::MIN;
    for hole in model.holes(node, &visible).take(HOLES_MAX * 100) {
        let (from, to) = (x(hole.time.start), x(hole.time.end));
        let to = to.max(from + 2.0);
        if to <= behind + 0.5 {
            continue;
        }
        behind = to;
        let rect = Rect::from_min_max(pos2(from, y - half), pos2(to, y + half));
        painter.rect_filled(rect, 0.0, theme::background());
        let line = Stroke::new(1.0, theme::faded(theme::warning(), 0.6));
        glyph::hatch(painter, rect, 5.0, line);
        drawn += 1;
        if drawn == HOLES_MAX {
            break;
        }
    }
}

/// When somebody asked that the recording be kept, and why.
pub fn triggers(
    painter: &Painter,
    model: &Model,
    lanes: &Lanes,
    scale: &Scale,
    labels: &mut Labels,
) {
    let time = lanes.time;
    let mut said = BTreeSet::new();
    for &id in &lanes.nodes {
        let y = lanes.y(id);
        for it in model.triggers(id) {
            let x = (time.left() + scale.x(it.time)).round() + 0.5;
            if !time.x_range().contains(x) {
                continue;
            }
            glyph::trigger(painter, pos2(x, y), lanes.height * 0.8);
            // Many nodes keep a window for one trigger.
            if model.is_told_at(id, &it.trigger) && said.insert(it.trigger.id) {
                let said = format!("trigger: {}", it.text);
                let at = pos2(x, y - lanes.height * 0.2);
                labels.place(painter, time, at, &said, theme::accent());
            }
        }
    }
}

/// A node's name, and what is to be known of its recording where there is room.
fn name(
    painter: &Painter,
    model: &Model,
    view: Rect,
    lanes: &Lanes,
    (place, id): (usize, NodeId),
    node: &Node,
) {
    let y = lanes.y(id);
    if lanes.height < TEXT_MIN {
        small_name(
            painter,
            model,
            pos2(view.left() + 10.0, y),
            lanes,
            (place, id),
        );
        return;
    }
    let size = (lanes.height - 2.0).clamp(9.0, 14.0);
    let chip = (size - 6.0).max(4.0);
    let chip = Rect::from_center_size(pos2(view.left() + 15.0, y), vec2(chip, chip));
    match node.peer {
        Some(peer) => painter.rect_filled(chip, 2.0, theme::owner(peer)),
        None => painter.rect_stroke(
            chip,
            2.0,
            Stroke::new(1.0, theme::dim()),
            StrokeKind::Inside,
        ),
    };
    let left = view.left() + 26.0;
    let room = theme::gutter(model) - 34.0;
    let font = FontId::new(size, FontFamily::Proportional);
    let name = elided(painter, model.lane_name(id), font, room, theme::text());
    let half = name.size().y / 2.0;
    let note = model
        .lane_note(id)
        .filter(|_| lanes.height >= ROOM_FOR_NOTE);
    let lifted = note.is_some() && lanes.height < ROOM_FOR_NOTES;
    let y = if lifted { y - 7.0 } else { y };
    painter.galley(pos2(left, y - half), name, theme::text());
    if let Some(note) = note {
        let color = if note.lacks {
            theme::warning()
        } else {
            theme::weak()
        };
        let at = pos2(left, y + half + 1.0);
        painter.text(at, Align2::LEFT_TOP, note.text, theme::small(), color);
    }
    let unsure = match node.clock_error_ns {
        0 => return,
        _ if !node.recorded || lanes.height < ROOM_FOR_NOTES => return,
        u64::MAX => "clock unknown".to_owned(),
        error => format!("clock ± {}", text::duration(error as i64)),
    };
    let at = pos2(left, y - half - 1.0);
    painter.text(
        at,
        Align2::LEFT_BOTTOM,
        unsure,
        theme::small(),
        theme::dim(),
    );
}

/// The names of lanes that are lower than a line of text: short ones, each beside the one above it. As
/// many as fit.
fn small_name(
    painter: &Painter,
    model: &Model,
    at: Pos2,
    lanes: &Lanes,
    (place, id): (usize, NodeId),
) {
    let every = (TEXT_MIN / lanes.height.max(0.1)).ceil().max(1.0) as usize;
    let width = model.short_name_length() as f32 * 5.5 + 8.0;
    let fit = ((theme::gutter(model) - 14.0) / width).floor().max(1.0) as usize;
    let column = place % every;
    if column >= fit {
        return;
    }
    let at = at + vec2(column as f32 * width, 0.0);
    let font = FontId::new(9.0, FontFamily::Monospace);
    painter.text(
        at,
        Align2::LEFT_CENTER,
        model.short_name(id),
        font,
        theme::text(),
    );
}
