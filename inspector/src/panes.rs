//! The panes of a workspace: laid out, drawn, and moved by whoever takes hold of a head or a divider.

use std::collections::BTreeMap;
use std::sync::Arc;

use egui::{
    Align, Color32, Context, CursorIcon, Layout, Order, Rect, Role, Sense, StrokeKind, Ui,
    UiBuilder, Vec2, pos2, vec2,
};
use netreel_inspector_model::{LanePlan, Model, Row};

use crate::layout::{Axis, Divider, Edge, Move, Pane, Placed, Sizes, Tree, Workspace, place};
use crate::theme;
use crate::views::{bytes, columns, control, head, objects, written};

/// How far from a divider it can be taken.
const REACH: f32 = 4.0;

/// The layouts that a hand has changed, and which pane is alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrangement {
    /// By the workspace's name; those that are not in it lie as at first.
    pub trees: BTreeMap<String, Tree>,
    /// The one pane that is shown.
    pub alone: Option<Pane>,
}

impl Arrangement {
    /// The panes of a workspace.
    pub fn tree(&self, workspace: Workspace) -> Tree {
        self.trees
            .get(workspace.name())
            .cloned()
            .unwrap_or_else(|| workspace.usual())
    }

    fn keep(&mut self, workspace: Workspace, tree: Tree) {
        let name = workspace.name().to_owned();
        if tree == workspace.usual() {
            drop(self.trees.remove(&name))
        } else {
            drop(self.trees.insert(name, tree))
        }
    }

    /// Does what was asked for.
    pub fn perform(&mut self, workspace: Workspace, what: Move) {
        let tree = self.tree(workspace);
        let changed = match what {
            Move::Alone(pane) => {
                self.alone = (self.alone != Some(pane)).then_some(pane);
                return;
            }
            Move::Hide(pane) => tree.clone().without(pane).unwrap_or(tree),
            Move::Edge(pane, side) => tree.with(pane, side),
            Move::Dock(pane, at, side) => tree.dock(pane, at, side),
        };
        self.alone = None;
        self.keep(workspace, changed);
    }
}

/// How panes and lanes lie.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lie {
    /// The layouts that a hand has changed, by their workspaces' names.
    pub trees: BTreeMap<String, Tree>,
    /// The lanes of the session that is shown.
    pub lanes: Arc<LanePlan>,
}

/// How many moves can be taken back.
const MOVES_MAX: usize = 64;

/// How panes and lanes lay before each move of a hand.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    back: Vec<Lie>,
    forward: Vec<Lie>,
    now: Lie,
}

impl Moves {
    /// Of panes and lanes that lie so.
    pub fn from(now: Lie) -> Moves {
        Moves {
            now,
            ..Moves::default()
        }
    }

    /// Another session is shown: how the lanes of the one before lay is no way back.
    pub fn begin(&mut self, lanes: &Arc<LanePlan>) {
        let (back, forward) = (self.back.iter_mut(), self.forward.iter_mut());
        for lie in back.chain(forward).chain([&mut self.now]) {
            lie.lanes = Arc::clone(lanes);
        }
        let mut before = None;
        self.back
            .retain(|lie| before.replace(lie.clone()).as_ref() != Some(lie));
        self.back.pop_if(|lie| *lie == self.now);
    }

    /// A hand has let go: what changed since the last time is one move.
    pub fn settle(&mut self, trees: &BTreeMap<String, Tree>, lanes: &Arc<LanePlan>) {
        if *trees == self.now.trees && *lanes == self.now.lanes {
            return;
        }
        let now = Lie {
            trees: trees.clone(),
            lanes: Arc::clone(lanes),
        };
        self.forward.clear();
        self.back.push(std::mem::replace(&mut self.now, now));
        if self.back.len() > MOVES_MAX {
            self.back.remove(0);
        }
    }

    /// How they lay before the last move, or, forward, before that was taken back. `None` where there
    /// is no such move.
    pub fn step(&mut self, is_back: bool) -> Option<Lie> {
        let (from, to) = if is_back {
            (&mut self.back, &mut self.forward)
        } else {
            (&mut self.forward, &mut self.back)
        };
        to.push(std::mem::replace(&mut self.now, from.pop()?));
        Some(self.now.clone())
    }
}

/// Draws the panes of a workspace; `show` draws one of them.
pub fn show(
    ui: &mut Ui,
    model: &Model,
    workspace: Workspace,
    arrangement: &mut Arrangement,
    show: &mut dyn FnMut(&mut Ui, Pane),
) {
    let rect = ui.available_rect_before_wrap();
    let tree = arrangement.tree(workspace);
    let placed = match arrangement.alone {
        Some(pane) => Placed {
            panes: vec![(pane, rect)],
            dividers: Vec::new(),
        },
        None => place(&tree, rect, &Natural(model)),
    };
    for &(pane, rect) in &placed.panes {
        let builder = UiBuilder::new()
            .id_salt(pane.name())
            .max_rect(rect)
            .layout(Layout::top_down(Align::Min));
        head::within(
            ui.ctx(),
            pane,
            arrangement.alone == Some(pane),
            placed.panes.len() > 1,
        );
        ui.scope_builder(builder, |ui| {
            ui.shrink_clip_rect(rect);
            let drawn = written::count(ui);
            show(ui, pane);
            if head::wants_text(ui.ctx(), pane) {
                ui.ctx().copy_text(written::since(ui, drawn));
            }
        });
    }
    ui.advance_cursor_after_rect(rect);
    if let Some(what) = dragged(ui.ctx(), &placed) {
        head::ask(ui.ctx(), what);
    }
    let moves = head::asked(ui.ctx());
    for divider in &placed.dividers {
        if let Some(share) = drag(ui, divider) {
            let mut tree = tree.clone();
            tree.set_share(&divider.path, share);
            arrangement.keep(workspace, tree);
            ui.ctx().request_repaint();
        }
    }
    for what in moves {
        arrangement.perform(workspace, what);
        ui.ctx().request_repaint();
    }
}

/// Draws a divider. A drag moves it; a double click puts it where it was at first. The new share of the
/// first part, if it moved.
fn drag(ui: &Ui, divider: &Divider) -> Option<Option<f32>> {
    let Divider { axis, rect, at, .. } = divider;
    let (ends, cursor) = match axis {
        Axis::Above => {
            let y = rect.top() + at;
            (
                [pos2(rect.left(), y), pos2(rect.right(), y)],
                CursorIcon::ResizeRow,
            )
        }
        Axis::Beside => {
            let x = rect.left() + at;
            (
                [pos2(x, rect.top()), pos2(x, rect.bottom())],
                CursorIcon::ResizeColumn,
            )
        }
    };
    let line = |stroke: (f32, Color32)| ui.painter().line_segment(ends, stroke);
    line((1.0, theme::line()));
    let length = axis.along(rect.size());
    let around = if *axis == Axis::Above {
        vec2(0.0, REACH)
    } else {
        vec2(REACH, 0.0)
    };
    let strip = Rect::from_points(&ends).expand2(around);
    let (before, behind) = divider.between;
    let name = format!("divider between {} and {}", before.name(), behind.name());
    let id = ui.scope_id().with(&name);
    let response = ui
        .interact(strip, id, Sense::click_and_drag())
        .on_hover_cursor(cursor);
    control::named(&response, Role::Splitter, &name);
    if response.hovered() || response.dragged() {
        line((2.0, theme::accent()));
    }
    if response.double_clicked() {
        return Some(None);
    }
    let pointer = response
        .dragged()
        .then(|| response.interact_pointer_pos())??;
    let share = (axis.along(pointer - rect.min) / length.max(1.0)).clamp(0.02, 0.98);
    let moves = (share - at / length.max(1.0)).abs() * length >= 0.5;
    moves.then_some(Some(share))
}

/// Shows where a pane goes whose head is being dragged. What that asks for, once it is let go of.
fn dragged(ctx: &Context, placed: &Placed) -> Option<Move> {
    let (pane, is_over) = head::held(ctx)?;
    let pointer = ctx.input(|input| input.pointer.latest_pos())?;
    let &(target, rect) = placed
        .panes
        .iter()
        .find(|(_, rect)| rect.contains(pointer))
        .filter(|(target, _)| *target != pane)?;
    let part = (pointer - rect.min) / rect.size().max(Vec2::splat(1.0));
    let (left, right) = rect.split_left_right_at_fraction(0.5);
    let (top, bottom) = rect.split_top_bottom_at_fraction(0.5);
    let edges = [
        (part.x, Edge::Left, left),
        (1.0 - part.x, Edge::Right, right),
        (part.y, Edge::Top, top),
        (1.0 - part.y, Edge::Bottom, bottom),
    ];
    let nearest = edges
        .into_iter()
        .min_by(|one, other| one.0.total_cmp(&other.0));
    let (side, shown) = match nearest {
        Some((near, side, half)) if near < 0.28 => (side, half),
        _ => (Edge::Swap, rect),
    };
    if is_over {
        return Some(Move::Dock(pane, target, side));
    }
    let painter = control::on_layer(ctx, Order::Foreground, "where a pane goes");
    painter.rect_filled(shown, 2.0, theme::faded(theme::accent(), 0.18));
    let edge = (2.0, theme::accent());
    painter.rect_stroke(shown, 2.0, edge, StrokeKind::Inside);
    None
}

/// The sizes that panes have of themselves.
struct Natural<'a>(&'a Model);

/// The least heights and widths of panes, in points.
const PANE_MIN: Vec2 = vec2(180.0, 110.0);
const TIMELINE_MIN: f32 = 160.0;
const FINDINGS_MIN: f32 = head::HEIGHT * 2.0;
const COURSE_MIN: f32 = 96.0;
/// A line of bytes, without their text.
const BYTES_MIN: f32 = 360.0;

/// Of the room that it shares, the pane of objects takes this much: for the rows of the selected object,
/// and else.
const OWN_PART: f32 = 0.55;
const OTHERS_PART: f32 = 0.38;

impl Sizes for Natural<'_> {
    fn wanted(&self, pane: Pane, axis: Axis, room: f32) -> Option<f32> {
        let Natural(model) = self;
        match (pane, axis) {
            (Pane::Objects, Axis::Above) => Some(objects_height(model, room).unwrap_or(0.0)),
            // The table needs its columns.
            (Pane::Packets, Axis::Beside) => Some(
                (room * 0.42)
                    .clamp(420.0, 1200.0)
                    .max(columns::width_min(model).min(room * 0.5))
                    .min(room * 0.6),
            ),
            (Pane::Bytes, Axis::Above) => Some(bytes::height(model).min(room * 0.5)),
            _ => None,
        }
    }

    fn least(&self, pane: Pane) -> Vec2 {
        match pane {
            Pane::Timeline | Pane::Other => vec2(PANE_MIN.x, TIMELINE_MIN),
            Pane::Objects => vec2(PANE_MIN.x, objects::HEAD),
            Pane::Course => vec2(PANE_MIN.x, COURSE_MIN),
            Pane::Findings => vec2(PANE_MIN.x, FINDINGS_MIN),
            Pane::Bytes => vec2(BYTES_MIN, FINDINGS_MIN),
            Pane::Notes => vec2(PANE_MIN.x, FINDINGS_MIN),
            _ => PANE_MIN,
        }
    }
}

/// Room for whole rows: for those of the selected object as long as half of the room is enough, of the
/// others in a third of it; `None` where there cannot be objects.
fn objects_height(model: &Model, height: f32) -> Option<f32> {
    let rows = model.object_rows().len();
    if rows == 0 {
        return model.session().wire.is_some().then_some(objects::HEAD);
    }
    let fit = |part: f32| ((height * part - objects::HEAD) / objects::ROW).max(0.0) as usize;
    let selected = model.selection().object;
    let is_own = |row: &&Row| match row {
        Row::Object(object) | Row::Node(object, _) => Some(*object) == selected,
    };
    let own = model
        .object_rows()
        .iter()
        .filter(is_own)
        .count()
        .min(fit(OWN_PART));
    Some(objects::HEAD + fit(OTHERS_PART).max(own).max(2).min(rows) as f32 * objects::ROW)
}
