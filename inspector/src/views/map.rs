//! Objects from above, where the wire marks positions: each where its owner has it, and where another
//! node has it elsewhere, there too, with a line between them.

use std::collections::BTreeMap;

use egui::{Align2, Painter, Pos2, Rect, Role, Sense, Ui, Vec2, pos2, vec2};
use netreel_inspector_model::{Command, Commands, MARKS_MAX, Mark, Model, text};

use super::course::why_no_values;
use super::links::node_color;
use super::plot::round_up;
use super::{control, findings, head, label};
use crate::theme;

/// How near the pointer must be to a mark, in points.
const NEAR: f32 = 12.0;
/// Up to this many objects have their names beside them.
const NAMED_MAX: usize = 40;
/// Up to this many objects are controls of their own.
const CONTROLS_MAX: usize = 200;

/// What part of the ground is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// 1: all of it.
    zoom: f32,
    /// How far it was moved, in points at that zoom.
    moved: Vec2,
}

impl Default for Look {
    fn default() -> Look {
        Look {
            zoom: 1.0,
            moved: Vec2::ZERO,
        }
    }
}

/// From the ground to the screen.
struct Ground {
    view: Rect,
    /// Points a unit.
    scale: f64,
    /// What lies in the middle.
    middle: [f64; 2],
    moved: Vec2,
}

impl Ground {
    fn new(view: Rect, [left, top, right, bottom]: [f64; 4], look: Look) -> Ground {
        let room = view.shrink(28.0);
        // Where all is at one place it is seen from so far away.
        let least = if right > left || bottom > top {
            1e-9
        } else {
            1.0
        };
        let (width, height) = ((right - left).max(least), (bottom - top).max(least));
        let fit = (f64::from(room.width()) / width).min(f64::from(room.height()) / height);
        Ground {
            view,
            scale: fit.max(1e-12) * f64::from(look.zoom),
            middle: [(left + right) / 2.0, (top + bottom) / 2.0],
            moved: look.moved,
        }
    }

    /// The second direction runs upwards, as on a map.
    fn at(&self, [across, along]: [f64; 2]) -> Pos2 {
        let x = (across - self.middle[0]) * self.scale;
        let y = (along - self.middle[1]) * self.scale;
        self.view.center() + self.moved + vec2(x as f32, -y as f32)
    }
}

/// Draws the ground.
pub fn show(ui: &mut Ui, model: &Model, look: &mut Look, commands: &mut Commands) {
    let title = "from above";
    let Some(believed) = model.believed() else {
        let (waits, why) = why_no_values(model);
        return findings::nothing(ui, title, waits, &format!("Where objects are: {why}."));
    };
    let (Some(extent), Some(([across, along], unit))) =
        (believed.ground(), believed.ground_names())
    else {
        let sentence = "No field of the wire is a position: write `@property(position, \"m\", 0.01)` \
                        behind the one that says where an object is.";
        return findings::nothing(ui, title, "", sentence);
    };
    let marks = model.marks(&believed);
    let mut objects: BTreeMap<u64, Vec<&Mark>> = BTreeMap::new();
    for mark in marks.iter() {
        objects.entry(mark.object).or_default().push(mark);
    }
    let more = more(&objects, marks.len(), [&across, &along]);
    head::show(ui, title, &more);
    let view = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(view);
    let response = ui.interact(view, ui.scope_id().with("map"), Sense::click_and_drag());
    control::named(
        &response,
        Role::Canvas,
        &format!("objects from above: {more}"),
    );
    navigate(ui, &response, look);
    let ground = Ground::new(view, extent, *look);
    let painter = ui.painter_at(view);
    painter.rect_filled(view, 0.0, theme::panel());
    grid(&painter, &ground, extent, &unit);
    let selected = model.selection().object;
    for (node, way) in model.way(&believed) {
        let points: Vec<Pos2> = way.into_iter().map(|at| ground.at(at)).collect();
        let stroke = (1.0, theme::quiet(node_color(model, node), 0.7));
        painter.add(egui::Shape::line(points, stroke));
    }
    let pointer = response.hover_pos();
    let (near, named_at, mut written) = drawn(&painter, model, &ground, &objects, pointer);
    for (at, object) in named_at {
        name(
            &painter,
            model.object_name(object),
            at,
            (view, &mut written),
        );
    }
    if objects.len() <= CONTROLS_MAX {
        controls(ui, &ground, &objects, selected, commands);
    }
    if let Some(object) = near {
        if response.clicked() {
            commands.push(Command::SelectObject(Some(object)));
        }
        response.on_hover_text_at_pointer(label::mono(words(model, &objects, object)));
    }
}

/// Draws all objects: the one under the pointer, those to be named with their places, and where something
/// is drawn already.
fn drawn(
    painter: &Painter,
    model: &Model,
    ground: &Ground,
    objects: &BTreeMap<u64, Vec<&Mark>>,
    pointer: Option<Pos2>,
) -> (Option<u64>, Vec<(Pos2, u64)>, Vec<Rect>) {
    let selected = model.selection().object;
    let mut near: Option<(f32, u64)> = None;
    let mut named_at: Vec<(Pos2, u64)> = Vec::new();
    // No name lies over a mark or another name.
    let mut written: Vec<Rect> = Vec::new();
    for (&object, marks) in objects {
        let places = draw(painter, model, ground, marks, selected == Some(object));
        if let Some(pointer) = pointer {
            let distance = places
                .iter()
                .map(|at| at.distance(pointer))
                .fold(f32::MAX, f32::min);
            if distance < NEAR && near.is_none_or(|(least, _)| distance < least) {
                near = Some((distance, object));
            }
        }
        let named = objects.len() <= NAMED_MAX || selected == Some(object);
        if objects.len() <= NAMED_MAX {
            let discs = places
                .iter()
                .map(|at| Rect::from_center_size(*at, Vec2::splat(9.0)));
            written.extend(discs);
        }
        let at = places
            .first()
            .filter(|at| named && ground.view.contains(**at));
        named_at.extend(at.map(|at| (*at, object)));
    }
    (near.map(|(_, object)| object), named_at, written)
}

/// What the head says: how many objects there are, along which axes, and where nodes differ.
fn more(
    objects: &BTreeMap<u64, Vec<&Mark>>,
    marks: usize,
    [across, along]: [&dyn std::fmt::Display; 2],
) -> String {
    let differ = objects
        .values()
        .filter(|it| it.iter().any(|mark| mark.differs))
        .count();
    let count = text::count(objects.len() as u64);
    let mut more = format!("{count} objects   {across} →  {along} ↑");
    if differ > 0 {
        more = format!("{more}   {differ} where nodes differ");
    }
    if marks >= MARKS_MAX {
        more = format!("{more}   the first of them: a filter shows others");
    }
    more
}

/// Writes a name beside the mark at `at`, or where something else was written, below it or above it.
fn name(painter: &Painter, name: String, at: Pos2, (view, written): (Rect, &mut Vec<Rect>)) {
    let galley = painter.layout_no_wrap(name, theme::small(), theme::text());
    let (width, height) = (galley.size().x, galley.size().y);
    let (right, left) = (10.0, -10.0 - width);
    let places = [
        (right, 0.0),
        (left, 0.0),
        (right, height),
        (right, -height),
        (left, height),
        (left, -height),
    ]
    .map(|(aside, below)| {
        let at = at + vec2(aside, below - height / 2.0);
        Rect::from_min_size(at, galley.size())
    });
    let is_free = |place: &&Rect| {
        let is_other = |other: &Rect| other.intersects(**place);
        view.contains_rect(**place) && !written.iter().any(is_other)
    };
    if let Some(&place) = places.iter().find(is_free) {
        let patch = (vec2(2.0, 0.0), 2.0, theme::faded(theme::panel(), 0.8));
        label::over(painter, place.min, galley, patch, theme::text());
        written.push(place);
    }
}

/// The wheel zooms at the pointer, a drag moves, a double click shows all.
fn navigate(ui: &Ui, response: &egui::Response, look: &mut Look) {
    if response.dragged() {
        look.moved += response.drag_delta();
    }
    if response.double_clicked() {
        *look = Look::default();
    }
    let Some(pointer) = response.hover_pos() else {
        return;
    };
    let lines = super::axis::wheel_lines(ui);
    if lines != 0.0 {
        let before = look.zoom;
        look.zoom = (before * 1.2_f32.powf(lines)).clamp(0.2, 500.0);
        let from_middle = pointer - response.rect.center();
        look.moved = from_middle - (from_middle - look.moved) * (look.zoom / before);
        ui.ctx().request_repaint();
    }
}

fn grid(painter: &Painter, ground: &Ground, extent: [f64; 4], unit: &str) {
    let step = round_up(90.0 / ground.scale);
    let line = (1.0, theme::faint());
    let view = ground.view;
    let half = [
        f64::from(view.width()) / ground.scale,
        f64::from(view.height()) / ground.scale,
    ];
    let moved = [
        f64::from(-ground.moved.x) / ground.scale,
        f64::from(ground.moved.y) / ground.scale,
    ];
    let (least, most) = (
        ground.at([extent[0], extent[1]]),
        ground.at([extent[2], extent[3]]),
    );
    let all = Rect::from_two_pos(least, most).expand(6.0);
    painter.rect_stroke(all, 2.0, (1.0, theme::line()), egui::StrokeKind::Outside);
    // No line strikes a number out.
    let write = |at: Pos2, number: String| {
        let galley = painter.layout_no_wrap(number, theme::small(), theme::dim());
        let at = Align2::LEFT_BOTTOM.anchor_size(at, galley.size()).min;
        let patch = (Vec2::ZERO, 0.0, theme::panel());
        label::over(painter, at, galley, patch, theme::dim());
    };
    for axis in 0..2 {
        let middle = ground.middle[axis] + moved[axis];
        let first = ((middle - half[axis]) / step).floor() as i64;
        let last = ((middle + half[axis]) / step).ceil() as i64;
        for place in first..=last.min(first + 400) {
            let value = place as f64 * step;
            let at = match axis {
                0 => ground.at([value, ground.middle[1]]),
                _ => ground.at([ground.middle[0], value]),
            };
            let number = number(value, step, unit);
            match axis {
                0 => {
                    painter.vline(at.x.round() + 0.5, view.y_range(), line);
                    write(pos2(at.x + 3.0, view.bottom() - 2.0), number);
                }
                _ => {
                    painter.hline(view.x_range(), at.y.round() + 0.5, line);
                    let at = pos2(view.left() + 4.0, at.y - 1.0);
                    // The corner belongs to the other direction.
                    if at.y < view.bottom() - 16.0 {
                        write(at, number);
                    }
                }
            }
        }
    }
}

fn number(value: f64, step: f64, unit: &str) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    let value = if value == 0.0 { 0.0 } else { value };
    match unit {
        "" => format!("{value:.decimals$}"),
        unit => format!("{value:.decimals$} {unit}"),
    }
}

/// Draws an object; where its marks lie, the owner's first.
fn draw(
    painter: &Painter,
    model: &Model,
    ground: &Ground,
    marks: &[&Mark],
    is_selected: bool,
) -> Vec<Pos2> {
    let size = if is_selected { 6.0 } else { 4.5 };
    let owner = marks.iter().find(|mark| mark.is_owner);
    let mut places: Vec<Pos2> = owner.iter().map(|mark| ground.at(mark.at)).collect();
    for mark in marks.iter().filter(|mark| !mark.is_owner) {
        let at = ground.at(mark.at);
        let color = theme::quiet(node_color(model, mark.node), 1.0);
        match owner {
            // It is where the owner has it.
            Some(_) if !mark.differs => continue,
            Some(owner) => {
                painter.line_segment([ground.at(owner.at), at], (1.5, theme::error()));
            }
            None => {}
        }
        painter.circle(at, size, theme::panel(), (2.0, color));
        places.push(at);
    }
    if let Some(mark) = owner {
        let at = ground.at(mark.at);
        painter.circle_filled(at, size, theme::quiet(node_color(model, mark.node), 1.0));
    }
    if is_selected && let Some(&at) = places.first() {
        painter.circle_stroke(at, size + 4.0, (1.5, theme::accent()));
    }
    places
}

/// Each object by its name, for whoever uses no mouse.
fn controls(
    ui: &Ui,
    ground: &Ground,
    objects: &BTreeMap<u64, Vec<&Mark>>,
    selected: Option<u64>,
    commands: &mut Commands,
) {
    for (&object, marks) in objects {
        let owner = marks.iter().find(|mark| mark.is_owner).or(marks.first());
        let Some(mark) = owner else { continue };
        let at = ground.at(mark.at);
        if !ground.view.contains(at) {
            continue;
        }
        let rect = Rect::from_center_size(at, Vec2::splat(14.0));
        let label = format!("object {object} from above");
        let is_selected = selected == Some(object);
        if control::choice(ui, rect, ("on the map", object), is_selected, &label).clicked() {
            commands.push(Command::SelectObject(Some(object)));
        }
    }
}

fn words(model: &Model, objects: &BTreeMap<u64, Vec<&Mark>>, object: u64) -> String {
    let mut words = model.object_name(object);
    for mark in objects.get(&object).into_iter().flatten() {
        let [across, along] = mark.at;
        let what = match (mark.is_owner, mark.differs) {
            (true, _) => "  owns it",
            (false, true) => "  differs",
            (false, false) => "",
        };
        let who = model.lane_name(mark.node);
        words.push_str(&format!("\n{who}: ({across:.2}, {along:.2}){what}"));
    }
    words
}
