//! What hands do to lanes: a name that is dragged moves its lane; a click on it opens a menu that has
//! the same without a mouse; a menu above the names has all lanes, those that are hidden too.

use std::collections::BTreeSet;

use egui::{
    Context, CursorIcon, Painter, Popup, PopupCloseBehavior, Rect, Response, Role, ScrollArea,
    Sense, Ui, pos2, vec2,
};
use netreel_inspector_model::{Command, Commands, LaneMove, LanePlan, LaneRow, Model};
use netreel_protocol::session::NodeId;

use super::lanes::Lanes;
use super::{control, label, memory};
use crate::theme;

/// Nobody takes hold of a lower lane.
const GRIP_MIN: f32 = 3.0;
/// Tab goes past lower lanes: there are many of them.
const FOCUS_MIN: f32 = 11.0;
/// How many nodes the pointer's note lists; it counts the others.
const TOLD_MAX: usize = 6;
/// How many hidden lanes stand in the menu of a lane; the menu above the names has all.
const HIDDEN_MAX: usize = 8;

/// What a key does to the lane that has the keyboard, else to the one under the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKey {
    Up,
    Down,
    Hide,
    Alone,
}

impl LaneKey {
    /// The same as a move of a lane.
    pub fn of(self, node: NodeId) -> LaneMove {
        match self {
            LaneKey::Up => LaneMove::Up(node),
            LaneKey::Down => LaneMove::Down(node),
            LaneKey::Hide => LaneMove::Toggle(node),
            LaneKey::Alone => LaneMove::Alone(node),
        }
    }
}

/// The lanes at hand, by the names of their first nodes: what has the keyboard, what is pointed at.
#[derive(Clone, Debug, Default)]
struct AtHand {
    focused: Option<String>,
    pointed: Option<String>,
}

const AT_HAND: &str = "lanes at hand";

/// Forgets which lanes were at hand in the last frame.
pub fn begin(ctx: &Context) {
    memory::keep(ctx, AT_HAND, AtHand::default());
}

/// A node of the lane that has the keyboard, else of the one that the pointer is at, by the last frame.
pub fn at_hand(ctx: &Context, model: &Model) -> Option<NodeId> {
    let at_hand: AtHand = memory::get(ctx, AT_HAND)?;
    let name = at_hand.focused.or(at_hand.pointed)?;
    model
        .lanes()
        .iter()
        .copied()
        .find(|node| model.node_name(*node) == name)
}

/// Draws nothing but menus and where a lane goes; `view` is all of the timeline, `ruler` its axis.
pub fn show(
    ui: &Ui,
    painter: &Painter,
    model: &Model,
    (view, ruler): (Rect, Rect),
    lanes: &Lanes,
    commands: &mut Commands,
) {
    let corner = Rect::from_min_max(
        pos2(view.left(), ruler.top()),
        pos2(ruler.left() - 2.0, ruler.bottom()),
    );
    all(ui, painter, model, corner, commands);
    if lanes.height < GRIP_MIN {
        return;
    }
    for (place, row) in lanes.rows().iter().enumerate() {
        let Some(&node) = row.nodes.first() else {
            continue;
        };
        let mut name = lanes.whole(view, place);
        name.max.x = lanes.time.rect.left() - 2.0;
        let sense = if lanes.height >= FOCUS_MIN {
            Sense::click_and_drag()
        } else {
            Sense::CLICK | Sense::DRAG
        };
        let id = ui.scope_id().with(("lane", node.0));
        let response = ui.interact(name.intersect(ui.clip_rect()), id, sense);
        let label = || format!("lane {}", model.lane_title(row));
        control::named(&response, Role::Button, &label());
        note(&response, model.node_name(node));
        if response.dragged() || response.drag_stopped() {
            drag(ui, painter, &response, (view, lanes), place, commands);
            continue;
        }
        response
            .clone()
            .on_hover_cursor(CursorIcon::Grab)
            .on_hover_ui_at_pointer(|ui| {
                for text in row
                    .nodes
                    .iter()
                    .take(TOLD_MAX)
                    .map(|node| model.node_text(*node))
                {
                    ui.label(label::mono(text));
                }
            });
        menu(&response, model, (place, lanes.rows()), commands);
    }
}

fn note(response: &Response, name: &str) {
    let (focused, pointed) = (response.has_focus(), response.contains_pointer());
    if !focused && !pointed {
        return;
    }
    memory::change(&response.ctx, AT_HAND, |at_hand: &mut AtHand| {
        if focused {
            at_hand.focused = Some(name.to_owned());
        }
        if pointed {
            at_hand.pointed = Some(name.to_owned());
        }
    });
}

/// Shows where the lane goes that is held, and puts it there when it is let go of.
fn drag(
    ui: &Ui,
    painter: &Painter,
    response: &Response,
    (view, lanes): (Rect, &Lanes),
    place: usize,
    commands: &mut Commands,
) {
    let rows = lanes.rows();
    let Some(at) = response.interact_pointer_pos() else {
        return;
    };
    let below = ((at.y - lanes.time.rect.top()) / lanes.height).max(0.0) as usize;
    let target = below.min(rows.len().saturating_sub(1));
    if response.drag_stopped() {
        let first = |place: usize| rows.get(place)?.nodes.first().copied();
        if let (Some(node), Some(to)) = (first(place), first(target))
            && node != to
        {
            commands.push(Command::Lanes(LaneMove::To(node, to)));
        }
        return;
    }
    ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
    let held = lanes.whole(view, place);
    painter.rect_filled(held, 0.0, theme::faded(theme::accent(), 0.1));
    let there = lanes.whole(view, target);
    let y = match target.cmp(&place) {
        std::cmp::Ordering::Less => there.top(),
        std::cmp::Ordering::Equal => return,
        std::cmp::Ordering::Greater => there.bottom(),
    };
    let y = y.clamp(view.top() + 1.5, view.bottom() - 1.5);
    painter.hline(view.x_range(), y, (3.0, theme::accent()));
}

/// What can be done to a lane.
fn menu(
    response: &Response,
    model: &Model,
    (place, rows): (usize, &[LaneRow]),
    commands: &mut Commands,
) {
    let opens = response.clicked() || response.secondary_clicked();
    let Some((row, node)) = rows
        .get(place)
        .and_then(|row| Some((row, *row.nodes.first()?)))
    else {
        return;
    };
    // Most lanes have none open, and need not ask which.
    if !opens && !Popup::is_any_open(&response.ctx) {
        return;
    }
    if response.secondary_clicked() {
        Popup::open_id(&response.ctx, Popup::default_response_id(response));
    }
    let plan = model.lane_plan();
    Popup::menu(response).show(|ui| {
        let mut offer = |ui: &mut Ui, name: &str, change: LaneMove| {
            if ui.button(name).clicked() {
                commands.push(Command::Lanes(change));
            }
        };
        let is_alone = !plan.alone.is_empty() && rows.len() == 1;
        let said = if is_alone {
            "with the others again  Shift+L"
        } else {
            "alone  Shift+L"
        };
        offer(ui, said, LaneMove::Alone(node));
        if rows.len() > 1 {
            offer(ui, "hide  Shift+H", LaneMove::Toggle(node));
        }
        if place > 0 {
            offer(ui, "up  Shift+up", LaneMove::Up(node));
        }
        if place + 1 < rows.len() {
            offer(ui, "down  Shift+down", LaneMove::Down(node));
        }
        ui.separator();
        let host = model.host_of(node);
        let said = if row.folded {
            format!("a lane for each node of {host}")
        } else {
            format!("one lane for all nodes of {host}")
        };
        offer(ui, &said, LaneMove::Fold(node));
        by_host(ui, plan, commands);
        let hidden = model.hidden_lanes();
        if !hidden.is_empty() {
            ui.separator();
        }
        for &node in hidden.iter().take(HIDDEN_MAX) {
            if ui
                .button(format!("show {}", model.lane_name(node)))
                .clicked()
            {
                commands.push(Command::Lanes(LaneMove::Toggle(node)));
            }
        }
        as_at_first(ui, plan, commands);
    });
}

fn by_host(ui: &mut Ui, plan: &LanePlan, commands: &mut Commands) {
    let mut by_host = plan.by_host;
    if ui.checkbox(&mut by_host, "lanes by their hosts").clicked() {
        commands.push(Command::Lanes(LaneMove::ByHost(by_host)));
    }
}

fn as_at_first(ui: &mut Ui, plan: &LanePlan, commands: &mut Commands) {
    if *plan != LanePlan::default() && ui.button("all lanes as at first").clicked() {
        commands.push(Command::Lanes(LaneMove::AsAtFirst));
    }
}

/// The menu of all lanes, above their names: it says how many of them are shown.
fn all(ui: &Ui, painter: &Painter, model: &Model, corner: Rect, commands: &mut Commands) {
    let (total, hidden) = (model.lane_order().len(), model.hidden_lanes().len());
    let (said, color) = match hidden {
        0 => ("lanes".to_owned(), theme::weak()),
        hidden => (
            format!("{} of {total} lanes", total - hidden),
            theme::warning(),
        ),
    };
    let response = control::button(
        ui,
        corner.intersect(ui.clip_rect()),
        "menu of all lanes",
        &format!("menu of {said}"),
    );
    let color = if response.hovered() {
        theme::text()
    } else {
        color
    };
    let at = corner.left_center() + vec2(10.0, 0.0);
    let room = corner.width() - 26.0;
    let name = label::write(painter, at, room, &said, theme::small(), color);
    let at = pos2(name.right() + 5.0, corner.center().y);
    label::text(painter, at, "▾", theme::small(), color);
    Popup::menu(&response)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .show(|ui| {
            by_host(ui, model.lane_plan(), commands);
            as_at_first(ui, model.lane_plan(), commands);
            ui.separator();
            let hidden: BTreeSet<NodeId> = model.hidden_lanes().into_iter().collect();
            ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
                for &node in model.lane_order() {
                    let mut is_shown = !hidden.contains(&node);
                    let name = format!("show {}", model.lane_name(node));
                    if ui.checkbox(&mut is_shown, name).clicked() {
                        commands.push(Command::Lanes(LaneMove::Toggle(node)));
                    }
                }
            });
        });
}
