//! The head of a pane: what it is and one thing about it. It can have the keyboard, so that F6 goes
//! from pane to pane; whoever takes hold of it moves the pane, and its menu does the same without a
//! mouse.

use egui::{Context, CursorIcon, Id, Popup, Rect, Role, Sense, Ui, pos2, vec2};

use netreel_inspector_model::{Commands, Model};

use super::{control, copy, label, memory};
use crate::layout::{Edge, Move, Pane};
use crate::theme;

/// Height of a head.
pub const HEIGHT: f32 = 23.0;

/// Room for the menu.
const MENU: f32 = 24.0;

/// Which pane is being drawn.
#[derive(Clone, Copy)]
struct Within {
    pane: Pane,
    alone: bool,
    /// Whether there are others.
    others: bool,
}

/// Draws a head over the whole width: a title, and text that says more in a weaker colour.
pub fn show(ui: &mut Ui, title: &str, more: &str) {
    let room = bar(ui, title);
    let painter = ui.painter_at(room);
    label::cell(&painter, room, 0.0, room.width(), more, theme::weak());
}

/// Something that a head says, and the filter that takes the packets that it counts.
pub type Piece = (String, Option<String>);

/// The same with numbers from which a click leads to their packets.
pub fn with_numbers(
    ui: &mut Ui,
    title: &str,
    pieces: &[Piece],
    model: &Model,
    commands: &mut Commands,
) {
    let room = bar(ui, title);
    let painter = ui.painter_at(room);
    let mut x = room.left();
    for (said, filter) in pieces {
        let left = room.right() - x;
        if left < 24.0 {
            break;
        }
        let at = pos2(x, room.center().y);
        let rect = label::write(&painter, at, left, said, theme::mono(), theme::weak());
        if let Some(filter) = filter {
            let response = control::button(
                ui,
                rect,
                ("number of the head", said),
                &format!("{said}: show these alone"),
            );
            let y = rect.bottom() - 1.0;
            let strength = if response.hovered() { 1.0 } else { 0.5 };
            let color = theme::faded(theme::weak(), strength);
            painter.hline(rect.x_range(), y, (1.0, color));
            copy::narrows(response, model, filter, commands);
        }
        x = rect.right() + 22.0;
    }
}

/// Controls below a head, in as many lines as they need, all of them as far from the left edge.
pub fn wrapped(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    egui::Frame::NONE
        .inner_margin(egui::Margin::symmetric(8, 0))
        .show(ui, |ui| ui.horizontal_wrapped(add));
}

/// Draws a head and returns what room it leaves.
pub fn bar(ui: &mut Ui, title: &str) -> Rect {
    let (rect, _) = control::row(ui, HEIGHT, Sense::hover());
    let within: Option<Within> = memory::get(ui.ctx(), DRAWN);
    let mut holds = rect;
    if within.is_some() {
        holds.max.x -= MENU;
    }
    let id = ui.scope_id().with("head");
    let response = ui.interact(holds, id, Sense::click_and_drag());
    control::named(&response, Role::Heading, &format!("pane {title}"));
    if let Some(within) = within {
        memory::change(ui.ctx(), HEADS, |heads: &mut Heads| {
            heads.push((id, within.pane));
        });
    }
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme::head());
    painter.hline(rect.x_range(), rect.bottom() - 0.5, (1.0, theme::line()));
    let at = pos2(rect.left() + 10.0, rect.center().y);
    let end = label::text(&painter, at, title, theme::body(), theme::text());
    if let Some(within) = within {
        if response.double_clicked() {
            ask(ui.ctx(), Move::Alone(within.pane));
        }
        if within.others && !within.alone {
            let response = response.on_hover_cursor(CursorIcon::Grab);
            if response.dragged() || response.drag_stopped() {
                let held = Some((within.pane, response.drag_stopped()));
                memory::keep(ui.ctx(), HELD, held);
            }
        }
        menu(ui, rect, within);
    }
    control::close_up(ui);
    Rect::from_min_max(
        pos2(end.right() + 12.0, rect.top()),
        pos2((holds.right() - 6.0).max(end.right() + 12.0), rect.bottom()),
    )
}

/// What can be done to the pane.
fn menu(ui: &mut Ui, rect: Rect, within: Within) {
    let Within {
        pane,
        alone,
        others,
    } = within;
    let button = Rect::from_min_max(pos2(rect.right() - MENU, rect.top()), rect.max);

    let response = control::button(
        ui,
        button,
        "menu of the head",
        &format!("menu of {}", pane.name()),
    );
    let color = if response.hovered() {
        theme::text()
    } else {
        theme::dim()
    };
    for step in -1..=1 {
        let at = button.center() + vec2(step as f32 * 5.0, 0.0);
        ui.painter().circle_filled(at, 1.4, color);
    }
    Popup::menu(&response).show(|ui| {
        let said = if alone {
            "with the others  Z"
        } else {
            "alone  Z"
        };
        if ui.button(said).clicked() {
            ask(ui.ctx(), Move::Alone(pane));
        }
        let what = "all that is written in the pane now, a line each";
        if ui.button("copy as text").on_hover_text(what).clicked() {
            memory::keep(ui.ctx(), TEXT, Some(pane));
        }
        if !others {
            return;
        }
        if ui.button("hide").clicked() {
            ask(ui.ctx(), Move::Hide(pane));
        }
        ui.separator();
        for (name, side) in Edge::EDGES {
            if ui.button(format!("to the {name}")).clicked() {
                ask(ui.ctx(), Move::Edge(pane, side));
            }
        }
    });
}

/// The heads that were drawn, and of which panes they are.
type Heads = Vec<(Id, Pane)>;
const HEADS: &str = "heads";
const DRAWN: &str = "pane that is drawn";
const HELD: &str = "pane that is held";
const TEXT: &str = "pane whose text is wanted";
const MOVES: &str = "moves of panes";

/// Whether what is written in this pane is to be copied; once it is asked, no longer.
pub fn wants_text(ctx: &Context, pane: Pane) -> bool {
    memory::change(ctx, TEXT, |wanted: &mut Option<Pane>| {
        wanted.take_if(|it| *it == pane).is_some()
    })
}

/// The heads that follow are of this pane.
pub fn within(ctx: &Context, pane: Pane, alone: bool, others: bool) {
    let within = Within {
        pane,
        alone,
        others,
    };
    memory::keep(ctx, DRAWN, within);
}

/// Asks for a move.
pub fn ask(ctx: &Context, what: Move) {
    memory::change(ctx, MOVES, |asked: &mut Vec<Move>| asked.push(what));
}

/// What was asked for since.
pub fn asked(ctx: &Context) -> Vec<Move> {
    memory::take(ctx, MOVES)
}

/// The pane whose head is held, and whether it was let go of in this frame.
pub fn held(ctx: &Context) -> Option<(Pane, bool)> {
    memory::take(ctx, HELD)
}

/// Forgets the heads of the last frame.
pub fn begin(ctx: &Context) {
    memory::keep(ctx, HEADS, Heads::new());
}

fn heads(ctx: &Context) -> Heads {
    memory::get(ctx, HEADS).unwrap_or_default()
}

/// The pane that has the keyboard, by the heads of the last frame.
pub fn focused(ctx: &Context) -> Option<Pane> {
    let focused = ctx.memory(|memory| memory.focused())?;
    heads(ctx)
        .iter()
        .find(|(head, _)| *head == focused)
        .map(|(_, pane)| *pane)
}

/// Gives the keyboard to the pane behind the one that has it, by the heads of the last frame.
pub fn next(ctx: &Context) {
    let heads = heads(ctx);
    let at = ctx
        .memory(|memory| memory.focused())
        .and_then(|id| heads.iter().position(|(head, _)| *head == id));
    if let Some(&(id, _)) = heads.get(at.map_or(0, |at| (at + 1) % heads.len().max(1))) {
        ctx.memory_mut(|memory| memory.request_focus(id));
    }
}
