//! Signs at the edge of a view of time: where the focus is while it is out of sight. A click goes there.

use egui::{Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Commands, LaneMove, Model, text};
use netreel_protocol::session::{NodeId, SessionTime};

use super::arrows::Labels;
use super::axis::TimeRect;
use super::lanes::Lanes;
use super::{control, label};
use crate::theme;

/// Height of a sign.
const HEIGHT: f32 = 18.0;
/// Width of its point.
const POINT: f32 = 8.0;

/// Where something is that is out of sight.
enum Way {
    Earlier,
    Later,
    /// Its time is in sight, and its lane is hidden.
    Hidden,
}

/// What is in focus, and where it is.
struct Focus {
    name: String,
    start: SessionTime,
    end: SessionTime,
    nodes: Vec<NodeId>,
}

impl Focus {
    fn way(&self, lanes: &Lanes) -> Option<(Way, Command)> {
        let TimeRect { rect, scale } = &lanes.time;
        if scale.x(self.end) < 0.0 {
            Some((Way::Earlier, Command::Reveal(self.start)))
        } else if scale.x(self.start) > rect.width() {
            Some((Way::Later, Command::Reveal(self.start)))
        } else if !self.nodes.iter().any(|node| lanes.has(*node)) {
            let hidden = self.nodes.first()?;
            Some((Way::Hidden, Command::Lanes(LaneMove::Toggle(*hidden))))
        } else {
            None
        }
    }
}

/// The selected packet and the pinned finding.
fn in_focus(model: &Model) -> Vec<Focus> {
    let mut all = Vec::new();
    if let Some(arrow) = model.selection().packet.and_then(|id| model.arrow(id)) {
        all.push(Focus {
            name: format!("packet {}", arrow.packet.0),
            start: arrow.start.min(arrow.end),
            end: arrow.end.max(arrow.start),
            nodes: vec![arrow.from, arrow.to],
        });
    }
    if let Some(finding) = model.pinned_finding() {
        all.push(Focus {
            name: finding.rule.to_owned(),
            start: finding.time,
            end: finding.time,
            nodes: vec![finding.node],
        });
    }
    all
}

/// Keeps room for the signs, before anything else takes it.
pub fn block(model: &Model, lanes: &Lanes, labels: &mut Labels) {
    let width = |name: &str| name.chars().count() as f32 * 6.8;
    for (rect, ..) in places(model, lanes, width) {
        labels.block(rect.expand(2.0));
    }
}

/// Where signs stand, and what of: as wide as `width` says that their words are.
fn places(
    model: &Model,
    lanes: &Lanes,
    width: impl Fn(&str) -> f32,
) -> Vec<(Rect, Way, Command, String)> {
    let time = lanes.time.rect;
    let mut placed: Vec<(Rect, Way, Command, String)> = Vec::new();
    for focus in in_focus(model) {
        let Some((way, command)) = focus.way(lanes) else {
            continue;
        };
        let visible = model.visible();
        let far = |ns: i64| text::duration(ns.saturating_abs());
        let said = match way {
            Way::Earlier => {
                let ns = visible.start.0.saturating_sub(focus.start.0);
                format!("{}, {} earlier", focus.name, far(ns))
            }
            Way::Later => {
                let ns = focus.start.0.saturating_sub(visible.end.0);
                format!("{}, {} later", focus.name, far(ns))
            }
            Way::Hidden => format!("{}, on a hidden lane", focus.name),
        };
        let size = vec2(width(&said) + POINT + 12.0, HEIGHT);
        let y = focus
            .nodes
            .iter()
            .find(|node| lanes.has(**node))
            .map_or(time.bottom() - HEIGHT, |node| lanes.y(*node) - HEIGHT / 2.0);
        let x = match way {
            Way::Earlier => time.left() + 2.0,
            Way::Later => time.right() - size.x - 2.0,
            Way::Hidden => lanes.time.x(focus.start) - size.x / 2.0,
        };
        let x = x.clamp(time.left(), (time.right() - size.x).max(time.left()));
        let y = y.clamp(time.top(), (time.bottom() - HEIGHT).max(time.top()));
        let mut rect = Rect::from_min_size(pos2(x, y), size);
        // Two of one place stand above each other.
        while placed.iter().any(|(other, ..)| other.intersects(rect)) {
            let step = HEIGHT + 2.0;
            let fits = rect.bottom() + step <= time.bottom();
            let step = if fits || y - step < time.top() {
                step
            } else {
                -step
            };
            rect = rect.translate(vec2(0.0, step));
            if rect.bottom() > time.bottom() + HEIGHT || rect.top() < time.top() - HEIGHT {
                break;
            }
        }
        placed.push((rect, way, command, said));
    }
    placed
}

/// Draws the signs. Returns whether the pointer is on one.
pub fn show(
    ui: &Ui,
    painter: &Painter,
    model: &Model,
    lanes: &Lanes,
    commands: &mut Commands,
) -> bool {
    let width = |said: &str| label::width(painter, said, theme::small());
    let mut is_on_one = false;
    for (place, (rect, way, command, said)) in places(model, lanes, width).into_iter().enumerate() {
        let label = format!("go to {said}");
        let response = control::button(
            ui,
            rect.intersect(ui.clip_rect()),
            ("sign at the edge", place),
            &label,
        );
        sign(painter, rect, &way, &said, response.hovered());
        is_on_one |= response.hovered();
        if response.on_hover_text(label.as_str()).clicked() {
            commands.push(command);
        }
    }
    is_on_one
}

/// A box with a point at the side to which it points.
fn sign(painter: &Painter, rect: Rect, way: &Way, said: &str, hovered: bool) {
    let color = theme::accent();
    let fill = if hovered {
        theme::selected()
    } else {
        theme::background()
    };
    painter.rect(rect, 3.0, fill, (1.0, color), StrokeKind::Inside);
    let middle = rect.center().y;
    let (at, toward, across) = match way {
        Way::Earlier => (rect.left() + 4.0, vec2(1.0, 0.0), vec2(0.0, 1.0)),
        Way::Later => (rect.right() - 4.0, vec2(-1.0, 0.0), vec2(0.0, 1.0)),
        Way::Hidden => (rect.left() + 8.0, vec2(0.0, -1.0), vec2(1.0, 0.0)),
    };
    let tip = match way {
        Way::Hidden => pos2(at, middle + POINT / 2.0),
        _ => pos2(at, middle),
    };
    let back: Pos2 = tip + toward * POINT;
    let points = vec![tip, back + across * 4.5, back - across * 4.5];
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
    let galley = painter.layout_no_wrap(said.to_owned(), theme::small(), theme::text());
    let left = match way {
        Way::Later => rect.left() + 5.0,
        _ => rect.right() - 5.0 - galley.size().x,
    };
    let top = middle - galley.size().y / 2.0;
    painter.galley(pos2(left, top), galley, theme::text());
}
