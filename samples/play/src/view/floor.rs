//! The floor of one node, from above: its objects as it believes in them.

use egui::{
    Align2, Color32, FontId, Painter, Pos2, Rect, Role, Sense, Shape, Stroke, StrokeKind, Ui,
    WidgetInfo, pos2, vec2,
};
use netreel_inspector::theme;
use netreel_sample_engine::{ARENA, Deed};

use super::board::Board;
use crate::node::Order;
use crate::seen::{Seen, Thing, What};
use crate::words;

/// Half a box's side, in the game's units.
const BOX: f64 = 7.0;
/// A player's radius.
const BODY: f64 = 5.0;
/// Between two lines of the floor.
const GRID: f64 = 20.0;
/// Room round the floor.
const MARGIN: f64 = 8.0;

/// From the game's places to points.
#[derive(Clone, Copy)]
struct View {
    middle: Pos2,
    scale: f32,
}

impl View {
    fn fit(rect: Rect) -> View {
        let across = (ARENA[0] + MARGIN) as f32 * 2.0;
        let down = (ARENA[1] + MARGIN) as f32 * 2.0;
        View {
            middle: rect.center(),
            scale: (rect.width() / across).min(rect.height() / down),
        }
    }

    fn point(self, [x, y]: [f64; 2]) -> Pos2 {
        let (x, y) = (x as f32 * self.scale, y as f32 * self.scale);
        pos2(self.middle.x + x, self.middle.y - y)
    }

    fn length(self, length: f64) -> f32 {
        length as f32 * self.scale
    }

    fn place(self, at: Pos2) -> [f64; 2] {
        let from = at - self.middle;
        [
            f64::from(from.x / self.scale),
            f64::from(-from.y / self.scale),
        ]
    }
}

/// Draws the floor. A click on a box picks it up; one on the floor sends the player there.
pub fn show(board: &mut Board, ui: &Ui, rect: Rect, node: &Seen) {
    let view = View::fit(rect);
    let painter = ui.painter().with_clip_rect(rect);
    let id = ui.scope_id().with("floor");
    let response = ui.interact(rect, id, Sense::click());
    let label = format!("{}: floor", board.name(node.peer));
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &label));
    if response.clicked()
        && let Some(at) = response.interact_pointer_pos()
    {
        board.active = node.peer;
        board.order(node.peer, Order::Deed(Deed::Go(view.place(at))));
    }
    lines(&painter, view);
    for thing in &node.things {
        match &thing.what {
            What::Player { .. } => {}
            What::Box { color, held } => {
                cube(board, ui, &painter, view, node, thing, (*color, *held));
            }
        }
    }
    for thing in &node.things {
        if let What::Player { name } = &thing.what {
            let is_own = thing.owner == node.peer;
            player(&painter, view, thing, name, is_own);
        }
    }
}

fn lines(painter: &Painter, view: View) {
    let [right, up] = ARENA;
    let floor = Rect::from_two_pos(view.point([-right, up]), view.point([right, -up]));
    painter.rect_filled(floor, 3.0, theme::background());
    let stroke = Stroke::new(1.0, theme::faint());
    let steps = |half: f64| {
        let count = (half / GRID) as i32;
        (-count..=count).map(|step| f64::from(step) * GRID)
    };
    for x in steps(right) {
        painter.vline(view.point([x, 0.0]).x, floor.y_range(), stroke);
    }
    for y in steps(up) {
        painter.hline(floor.x_range(), view.point([0.0, y]).y, stroke);
    }
    let edge = Stroke::new(1.0, theme::line());
    painter.rect_stroke(floor, 3.0, edge, StrokeKind::Outside);
}

fn cube(
    board: &mut Board,
    ui: &Ui,
    painter: &Painter,
    view: View,
    node: &Seen,
    thing: &Thing,
    (paint, held): (u8, bool),
) {
    let lifted = if held { 1.2 } else { 0.0 };
    let center = view.point([thing.at[0], thing.at[1] + lifted]);
    let side = view.length(BOX) * 2.0;
    let square = Rect::from_center_size(center, vec2(side, side));
    let is_ghost = board.ghosts.has(node, thing.id);
    let owner = board.name(thing.owner).to_owned();
    let name = board.name(node.peer).to_owned();
    let label = format!("{name}: box {} of {owner}", thing.id.0);
    let response = ui.interact(
        square,
        ui.scope_id().with(("box", thing.id.0)),
        Sense::click(),
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    if response.clicked() {
        board.active = node.peer;
        let deed = if node.held == Some(thing.id) {
            Deed::PutDown
        } else {
            Deed::PickUp(Some(thing.id))
        };
        board.order(node.peer, Order::Deed(deed));
    }
    let [red, green, blue] = words::color(paint);
    let fill = theme::quiet(Color32::from_rgb(red, green, blue), 0.85);
    let edge = theme::owner(u64::from(thing.owner.0));
    if held {
        let shadow = square.translate(vec2(3.0, 5.0));
        painter.rect_filled(shadow, 3.0, theme::faded(Color32::BLACK, 0.35));
    }
    painter.rect_filled(square, 3.0, fill);
    painter.rect_stroke(square, 3.0, Stroke::new(3.0, edge), StrokeKind::Inside);
    number(painter, square, &thing.id.0.to_string(), fill);
    if response.hovered() {
        let ring = Stroke::new(2.0, theme::accent());
        painter.rect_stroke(square.expand(3.0), 5.0, ring, StrokeKind::Inside);
        response.on_hover_text(format!("box {}, owner {owner}", thing.id.0));
    }
    let is_target = board.active == node.peer && node.nearest == Some(thing.id);
    if is_target && node.held.is_none() {
        let ring = Stroke::new(1.0, theme::faded(theme::accent(), 0.8));
        painter.rect_stroke(square.expand(4.0), 6.0, ring, StrokeKind::Inside);
    }
    if is_ghost {
        dashed(painter, square.expand(7.0));
        painter.text(
            pos2(center.x, square.top() - 10.0),
            Align2::CENTER_BOTTOM,
            format!("only {name} has it"),
            theme::small(),
            theme::error(),
        );
    }
}

fn number(painter: &Painter, square: Rect, text: &str, fill: Color32) {
    let size = (square.height() * 0.42).clamp(8.0, 16.0);
    let font = FontId::new(size, egui::FontFamily::Monospace);
    let ink = theme::ink_on(fill);
    painter.text(square.center(), Align2::CENTER_CENTER, text, font, ink);
}

fn dashed(painter: &Painter, rect: Rect) {
    let corners = [
        rect.left_top(),
        rect.right_top(),
        rect.right_bottom(),
        rect.left_bottom(),
        rect.left_top(),
    ];
    let stroke = Stroke::new(2.0, theme::error());
    painter.extend(Shape::dashed_line(&corners, stroke, 6.0, 4.0));
}

fn player(painter: &Painter, view: View, thing: &Thing, name: &str, is_own: bool) {
    let center = view.point(thing.at);
    let radius = view.length(BODY);
    let color = theme::owner(u64::from(thing.owner.0));
    painter.circle_filled(center, radius, color);
    if is_own {
        painter.circle_stroke(center, radius + 1.5, Stroke::new(2.0, theme::ink()));
    }
    // HOST has room for a letter alone.
    let letter: String = name.chars().take(1).collect();
    let font = FontId::new((radius * 1.2).clamp(8.0, 14.0), egui::FontFamily::Monospace);
    let ink = theme::ink_on(color);
    painter.text(center, Align2::CENTER_CENTER, letter, font, ink);
}
