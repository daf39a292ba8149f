//! A lane for each node: its name, from when to when it was recorded, what is missing, and triggers.

use std::collections::BTreeSet;

use egui::{Align2, FontFamily, FontId, Painter, Pos2, Rect, Shape, StrokeKind, pos2, vec2};
use netreel_inspector_model::{Arrow, LaneRow, Model, text};
use netreel_protocol::session::{Node, NodeId, SessionTime};

use super::arrows::{self, Labels, Line};
use super::axis::TimeRect;
use super::label::{self, elided};
use super::plot;
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

/// Lower lanes have nothing of their host beside the name.
const ROOM_FOR_HOST: f32 = 60.0;

/// Where the lanes are.
pub struct Lanes {
    /// Where time runs from left to right.
    pub time: TimeRect,
    /// Of one lane.
    pub height: f32,
    rows: Vec<LaneRow>,
    /// The lane of each node, by its number; for one that has none where its lane would be.
    places: Vec<Place>,
}

/// Where a node is.
#[derive(Clone, Copy)]
enum Place {
    /// In this lane.
    Lane(usize),
    /// In none: before this one.
    Before(usize),
    /// It never had one.
    Nowhere,
}

impl Lanes {
    /// Lanes for all nodes that have one, below each other in `time`.
    pub fn new(model: &Model, time: &TimeRect) -> Lanes {
        let rows = model.lane_rows().to_vec();
        let height = time.rect.height() / rows.len().max(1) as f32;
        let mut places = vec![Place::Nowhere; model.session().nodes.len()];
        let mut put = |node: NodeId, place| {
            if let Some(it) = places.get_mut(usize::from(node.0)) {
                *it = place;
            }
        };
        let lanes = rows.iter().enumerate();
        for (lane, row) in lanes {
            row.nodes.iter().for_each(|&it| put(it, Place::Lane(lane)));
        }
        let mut before = 0;
        let shown: Vec<NodeId> = rows.iter().flat_map(|row| row.nodes.clone()).collect();
        let mut shown = shown.into_iter().peekable();
        for &node in model.lane_order() {
            if shown.next_if_eq(&node).is_some() {
                if let Some(Place::Lane(lane)) = places.get(usize::from(node.0)) {
                    before = lane + 1;
                }
            } else if let Some(it) = places.get_mut(usize::from(node.0)) {
                *it = Place::Before(before);
            }
        }
        Lanes {
            time: time.clone(),
            height,
            rows,
            places,
        }
    }

    /// The lanes from the top.
    pub fn rows(&self) -> &[LaneRow] {
        &self.rows
    }

    fn place(&self, node: NodeId) -> Place {
        self.places
            .get(usize::from(node.0))
            .copied()
            .unwrap_or(Place::Nowhere)
    }

    /// Whether a node has a lane.
    pub fn has(&self, node: NodeId) -> bool {
        matches!(self.place(node), Place::Lane(_))
    }

    /// The middle of a node's lane; out of sight for a node that has none.
    pub fn y(&self, node: NodeId) -> f32 {
        match self.place(node) {
            Place::Lane(place) => self.middle(place),
            Place::Before(_) | Place::Nowhere => self.time.rect.top() - 10_000.0,
        }
    }

    /// The middle of a lane.
    pub fn middle(&self, place: usize) -> f32 {
        (self.time.rect.top() + (place as f32 + 0.5) * self.height).round() + 0.5
    }

    /// All that a lane and its name take of a view.
    pub fn whole(&self, view: Rect, place: usize) -> Rect {
        plot::row(view, &self.time, place, self.height)
    }

    /// Where a moment of a node lies, kept near the view.
    pub fn point(&self, node: NodeId, at: SessionTime) -> Pos2 {
        let x = self.time.scale.x(at).clamp(-20_000.0, 20_000.0);
        pos2(self.time.rect.left() + x, self.y(node))
    }

    /// From lane to lane. Of a packet from or to a node without a lane it is the half at the other
    /// node, on the side where the lane would be; `None` where neither has one.
    pub fn line(&self, arrow: &Arrow) -> Option<Line> {
        let TimeRect { rect, scale } = &self.time;
        let x = |time| f64::from(rect.left()) + scale.exact_x(time);
        let beside = |lane: usize, place| match place {
            Place::Before(other) if other <= lane => Some(-1.0),
            Place::Before(_) => Some(1.0),
            Place::Lane(_) | Place::Nowhere => None,
        };
        let stub = |lane: usize, place| {
            let half = f64::from(self.height) * 0.45;
            Some(f64::from(self.middle(lane)) + half * beside(lane, place)?)
        };
        let (from, to) = match (self.place(arrow.from), self.place(arrow.to)) {
            (Place::Lane(from), Place::Lane(to)) => {
                (f64::from(self.middle(from)), f64::from(self.middle(to)))
            }
            (Place::Lane(from), place) => (f64::from(self.middle(from)), stub(from, place)?),
            (place, Place::Lane(to)) => (stub(to, place)?, f64::from(self.middle(to))),
            _ => return None,
        };
        let (start, end) = ((x(arrow.start), from), (x(arrow.end), to));
        Some(arrows::line(arrow, start, end, *rect, self.height))
    }
}

/// Draws the lanes, without what passed between them.
pub fn show(painter: &Painter, model: &Model, view: Rect, lanes: &Lanes) {
    let nodes = &model.session().nodes;
    for (place, row) in lanes.rows.iter().enumerate() {
        let whole = lanes.whole(view, place);
        if place > 0 && lanes.height >= TEXT_MIN {
            let top = whole.top().round() + 0.5;
            painter.hline(view.x_range(), top, (1.0, theme::faint()));
        }
        let Some(&first) = row.nodes.first() else {
            continue;
        };
        name(painter, model, view, lanes, (place, first), row);
        let y = lanes.middle(place);
        let known = |id: &NodeId| nodes.get(usize::from(id.0)).map(|node| (*id, node));
        for (id, node) in row.nodes.iter().filter_map(known) {
            recorded(painter, lanes, y, node);
            holes(painter, model, lanes, id);
        }
    }
    hosts(painter, view, lanes);
}

/// A bracket for the lanes of each host, at the left edge, and what the host is called.
fn hosts(painter: &Painter, view: Rect, lanes: &Lanes) {
    let mut place = 0;
    while let Some(row) = lanes.rows.get(place) {
        let of_host = |it: &&LaneRow| it.host == row.host;
        let count = lanes.rows.iter().skip(place).take_while(of_host).count();
        let (first, last) = (
            lanes.whole(view, place),
            lanes.whole(view, place + count - 1),
        );
        if let Some(host) = &row.host {
            let room = if lanes.height >= TEXT_MIN { 3.0 } else { 0.5 };
            let (top, bottom) = (first.top() + room, last.bottom() - room);
            let x = view.left() + 3.5;
            painter.vline(x, top..=bottom, (2.0, theme::dim()));
            for y in [top, bottom] {
                painter.hline(x..=x + 4.0, y, (1.0, theme::dim()));
            }
            if lanes.height >= ROOM_FOR_HOST && !row.folded {
                let room = lanes.time.rect.left() - view.left() - 14.0;
                let at = pos2(view.left() + 9.0, first.top() + 4.0);
                label::below(painter, at, room, host, theme::small(), theme::weak());
            }
        }
        place += count;
    }
}

/// A node's line while it was recorded; dotted where it was not.
fn recorded(painter: &Painter, lanes: &Lanes, y: f32, node: &Node) {
    let time = &lanes.time;
    if !node.recorded {
        // Dots of lanes that are so near are a wall.
        if lanes.height < LINE_MIN {
            return;
        }
        painter.extend(Shape::dashed_line(
            &[pos2(time.rect.left(), y), pos2(time.rect.right(), y)],
            (1.0, theme::dim()),
            2.0,
            5.0,
        ));
        return;
    }
    let (left, right) = (time.x_inside(node.span.start), time.x_inside(node.span.end));
    painter.hline(left..=right, y, (1.0, theme::dim()));
    let half = (lanes.height * 0.3).min(6.0);
    let ends = [
        (left, node.span.start, -OUTSIDE),
        (right, node.span.end, OUTSIDE),
    ];
    for (at, shown, outside) in ends {
        if (at - time.x(shown)).abs() >= 1.0 {
            continue;
        }
        painter.vline(
            at,
            y - half.min(4.0)..=y + half.min(4.0),
            (1.0, theme::dim()),
        );
        if node.window {
            let rect = Rect::from_two_pos(pos2(at, y - half), pos2(at + outside, y + half));
            let line = (1.0, theme::faded(theme::dim(), 0.8));
            glyph::hatch(painter, rect.intersect(time.rect), 5.0, line);
        }
    }
}

/// What is missing inside a recording.
fn holes(painter: &Painter, model: &Model, lanes: &Lanes, node: NodeId) {
    let time = &lanes.time;
    let y = lanes.y(node);
    let half = (lanes.height * 0.4).min(6.0);
    let visible = time.scale.range();
    let visible = SessionTime(visible.start)..SessionTime(visible.end);
    let mut drawn = 0;
    let mut behind = f32::MIN;
    for hole in model.holes(node, &visible).take(HOLES_MAX * 100) {
        let from = time.x_inside(hole.time.start);
        let to = time.x_inside(hole.time.end).max(from + 2.0);
        if to <= behind + 0.5 {
            continue;
        }
        behind = to;
        let rect = Rect::from_min_max(pos2(from, y - half), pos2(to, y + half));
        painter.rect_filled(rect, 0.0, theme::background());
        glyph::hatch(
            painter,
            rect,
            5.0,
            (1.0, theme::faded(theme::warning(), 0.6)),
        );
        drawn += 1;
        if drawn == HOLES_MAX {
            break;
        }
    }
}

/// When somebody asked that the recording be kept, and why.
pub fn triggers(painter: &Painter, model: &Model, lanes: &Lanes, labels: &mut Labels) {
    let mut said = BTreeSet::new();
    for id in lanes.rows.iter().flat_map(|row| row.nodes.iter().copied()) {
        let y = lanes.y(id);
        for it in model.triggers(id) {
            let Some(x) = lanes.time.line_x(it.time) else {
                continue;
            };
            glyph::trigger(painter, pos2(x, y), lanes.height * 0.8);
            // Many nodes keep a window for one trigger.
            if model.is_told_at(id, &it.trigger) && said.insert(it.trigger.id) {
                let said = format!("trigger: {}", it.text);
                let at = pos2(x, y - lanes.height * 0.2);
                labels.place(painter, lanes.time.rect, at, &said, theme::accent());
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
    row: &LaneRow,
) {
    let y = lanes.middle(place);
    let Some(node) = model.session().node(id) else {
        return;
    };
    if lanes.height < TEXT_MIN {
        let at = pos2(view.left() + 10.0, y);
        return small_name(painter, model, at, lanes, (place, id));
    }
    let size = (lanes.height - 2.0).clamp(9.0, 14.0);
    let chip = (size - 6.0).max(4.0);
    let chip = Rect::from_center_size(pos2(view.left() + 15.0, y), vec2(chip, chip));
    match node.peer.filter(|_| !row.folded) {
        Some(peer) => painter.rect_filled(chip, 2.0, theme::owner(peer)),
        None => painter.rect_stroke(chip, 2.0, (1.0, theme::dim()), StrokeKind::Inside),
    };
    let left = view.left() + 26.0;
    let room = theme::gutter(model) - 34.0;
    let font = FontId::new(size, FontFamily::Proportional);
    let name = elided(painter, &model.lane_title(row), font, room, theme::text());
    let half = name.size().y / 2.0;
    let note = model
        .lane_note(id)
        .filter(|_| !row.folded && lanes.height >= ROOM_FOR_NOTE);
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
        _ if !node.recorded || row.folded || lanes.height < ROOM_FOR_NOTES => return,
        u64::MAX => "clock unknown".to_owned(),
        error => format!("clock ± {}", text::duration(error as i64)),
    };
    let at = pos2(left, y - half - 1.0);
    let align = Align2::LEFT_BOTTOM;
    painter.text(at, align, unsure, theme::small(), theme::dim());
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
    label::text(painter, at, model.short_name(id), font, theme::text());
}
