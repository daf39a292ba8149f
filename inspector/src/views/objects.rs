//! Who owned what: a row for each object, and below it one for each node where it matters.

use egui::{Mesh, Painter, Rect, Role, Sense, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Commands, Model, Row, Shown, Stretch, text};
use netreel_protocol::history::Belief;
use netreel_protocol::session::NodeId;

use super::axis::TimeRect;
use super::copy::{self, What};
use super::{axis, control, findings, head, label, scroll};
use crate::{glyph, theme};

/// Height of a row.
pub const ROW: f32 = 20.0;
/// Height of what stands above the rows.
pub const HEAD: f32 = head::HEIGHT;

/// A narrower stretch has neither round corners nor hatching nor a name.
const NARROW: f32 = 5.0;

/// From this height on the rows have an axis of their own.
const WITH_AXIS: f32 = 330.0;

/// Draws the rows, below an axis of their own where there is room for one. A click on a
/// stretch selects the object and the message that began it.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    // Room for more than a few rows: then it is what somebody looks at.
    let with_axis = ui.available_height() > WITH_AXIS;
    let rows = model.object_rows();
    let more = more(model);
    head::show(ui, "objects", &more);
    if with_axis && model.lacks_history() {
        let sentence = format!("Who owned what follows from all packets together: {more}.");
        return findings::empty(ui, &sentence);
    }
    if rows.is_empty() {
        if with_axis {
            findings::empty(ui, &format!("Nothing to show: {more}."));
        }
        return;
    }
    let full = ui.max_rect();
    let time = TimeRect::new(full, model);
    if with_axis {
        let (rect, response) = control::row(ui, axis::HEIGHT, Sense::click_and_drag());
        let ruler = TimeRect {
            rect: axis::time_rect(rect, model),
            ..time.clone()
        };
        axis::show(ui.painter(), &ruler, full.bottom());
        axis::navigate(ui, &response, &ruler, commands);
        if response.clicked() {
            commands.push(Command::SetCursor(axis::time_at(&response, &ruler)));
        }
        control::close_up(ui);
    }
    let moved = scroll::changed(ui.ctx(), "objects selection", model.selection().object);
    let object = model.selection().object.filter(|_| moved);
    let to = object.and_then(|object| rows.iter().position(|row| *row == Row::Object(object)));
    let to = to.map(|place| (place, 1.0));
    let mut area = scroll::area(ui, "objects", (rows.len(), ROW), to);
    // Over the names the wheel scrolls; over time it zooms, as in every view of time.
    let over_time = ui
        .input(|input| input.pointer.hover_pos())
        .is_some_and(|at| time.has(at.x));
    if over_time {
        area = area.wheel_scroll_multiplier(egui::Vec2::ZERO);
    }
    area.show_rows(ui, ROW, rows.len(), |ui, range| {
        for &row in rows.get(range).unwrap_or_default() {
            line(ui, model, row, &time, commands);
        }
    });
    let below = Rect::from_min_max(pos2(time.rect.left(), full.top() + HEAD), full.max);
    let painter = ui.painter_at(below);
    axis::gaps(&painter, &time, below.y_range());
    let below = TimeRect {
        rect: below,
        ..time
    };
    if let Some(range) = model.measured_time() {
        axis::measured_band(&painter, &below, &range);
    }
    axis::cursor(&painter, &below, model);
}

/// What the head says: what is believed of the object that is selected, or how many there are.
fn more(model: &Model) -> String {
    let objects = model.object_count();
    match (model.selection().object, model.cursor()) {
        _ if model.lacks_history() => model.why_not_yet().unwrap_or_default().to_owned(),
        (Some(object), cursor) if model.knows_object(object) => {
            let at = cursor.map_or("end", |_| "cursor");
            let (name, beliefs) = (
                model.object_name(object),
                model.beliefs_text(object, model.moment()),
            );
            format!("at the {at}, {name}:  {beliefs}")
        }
        _ if objects == 0 => model.why_no_objects().to_owned(),
        _ if model.filter().is_narrow() => {
            let shown = text::count(model.shown_object_count() as u64);
            format!("{shown} of {}", text::count(objects as u64))
        }
        _ => text::count(objects as u64),
    }
}

fn line(ui: &mut Ui, model: &Model, row: Row, time: &TimeRect, commands: &mut Commands) {
    let (rect, _) = control::row(ui, ROW, Sense::hover());
    let painter = ui.painter_at(rect);
    let (object, node) = match row {
        Row::Object(object) => (object, None),
        Row::Node(object, node) => (object, Some(node)),
    };
    let selected = model.selection().object == Some(object);
    if selected {
        let fill = if node.is_none() {
            theme::selected()
        } else {
            theme::related()
        };
        painter.rect_filled(rect, 0.0, fill);
    }
    painter.hline(rect.x_range(), rect.bottom() - 0.5, (1.0, theme::faint()));
    name(&painter, rect, model, object, node);
    let time = &time.over(rect.y_range());
    let stretches = model.stretches(row, &time.scale);
    let inside = painter.with_clip_rect(time.rect);
    // Narrow ones are one shape: a row may have one a pixel.
    let mut narrow = Mesh::default();
    for stretch in &stretches {
        draw(&inside, time, model, (stretch, node.is_some()), &mut narrow);
    }
    inside.add(narrow);
    let response = ui.interact(
        rect,
        ui.scope_id().with(("object", object, node)),
        Sense::click_and_drag(),
    );
    let label = match node {
        None => format!("object {object}"),
        Some(node) => format!("object {object} at {}", model.node_name(node)),
    };
    control::selectable(&response, Role::Row, selected, &label);
    let pointer = response.hover_pos();
    if response.dragged() || pointer.is_some_and(|at| time.has(at.x)) {
        axis::navigate(ui, &response, time, commands);
    }
    let under = response
        .hover_pos()
        .or(response.interact_pointer_pos())
        .filter(|at| time.has(at.x))
        .map(|at| time.at(at.x))
        .and_then(|at| stretches.iter().find(|stretch| stretch.time.contains(&at)));
    if response.clicked() {
        commands.extend(
            under
                .and_then(|stretch| model.began(stretch.because?))
                .map(Command::SelectMessage),
        );
        commands.push(Command::SelectObject(Some(object)));
    }
    copy::menu(&response, model, commands, || {
        let mut offers = vec![("filter by this object", copy::object(object))];
        offers.extend(under.map(|stretch| {
            (
                "copy what it says",
                What::Copy(words(model, object, node, stretch)),
            )
        }));
        offers
    });
    if let Some(stretch) = under {
        response.on_hover_text_at_pointer(words(model, object, node, stretch));
    }
}

fn name(painter: &Painter, rect: Rect, model: &Model, object: u64, node: Option<NodeId>) {
    let y = rect.center().y;
    match node {
        None => {
            let mut left = rect.left() + 10.0;
            if let Some(level) = model.object_level(object)
                && level > netreel_protocol::history::Level::Info
            {
                glyph::level(painter, pos2(left + 5.0, y), 11.0, level);
                left += 16.0;
            }
            let room = rect.left() + theme::gutter(model) - left - 6.0;
            let name = model.object_name(object);
            let at = pos2(left, y);
            label::write(painter, at, room, &name, theme::mono(), theme::text());
        }
        Some(node) => {
            let room = theme::gutter(model) - 52.0;
            let text = model.lane_name(node);
            let galley = label::elided(painter, text, theme::mono(), room, theme::weak());
            let left = rect.left() + theme::gutter(model) - 12.0 - galley.size().x;
            painter.galley(pos2(left, y - galley.size().y / 2.0), galley, theme::weak());
        }
    }
}

fn draw(
    painter: &Painter,
    time: &TimeRect,
    model: &Model,
    (stretch, of_node): (&Stretch, bool),
    narrow: &mut Mesh,
) {
    let x = |at| time.x(at).round();
    let (left, right) = (x(stretch.time.start), x(stretch.time.end));
    let time = time.rect;
    // At least a pixel; far outside the view there is nothing to see.
    let left = left.max(time.left() - 20.0);
    let right = right.min(time.right() + 20.0).max(left + 1.0);
    let inset = if of_node { 4.0 } else { 3.0 };
    let bar = Rect::from_min_max(
        pos2(left, time.top() + inset),
        pos2(right, time.bottom() - inset),
    );
    let shown = bar.intersect(time);
    if right - left < NARROW {
        let (rect, color) = narrowed(bar, stretch.shown);
        return narrow.add_colored_rect(rect, color);
    }
    let write = |text: &str, color| {
        let galley = painter.layout_no_wrap(text.to_owned(), theme::small(), color);
        if galley.size().x + 8.0 < shown.width() {
            let at = pos2(shown.left() + 5.0, shown.center().y - galley.size().y / 2.0);
            painter.galley(at, galley, color);
        }
    };
    match stretch.shown {
        Shown::Agreed(Belief::Owned(peer)) => {
            let color = theme::owner(peer);
            let fill = if of_node {
                theme::panel().lerp_to_gamma(color, 0.75)
            } else {
                color
            };
            painter.rect_filled(bar, 2.0, fill);
            let counter = match stretch.counter {
                Some(counter) => format!("{}  counter {counter}", model.peer_name(peer)),
                None => model.peer_name(peer),
            };
            write(&counter, theme::ink_on(fill));
        }
        Shown::Agreed(Belief::Orphaned(peer)) | Shown::Somewhere(Belief::Orphaned(peer)) => {
            orphan(painter, bar, shown, &model.peer_name(peer));
        }
        Shown::Agreed(Belief::Destroyed) => destroyed(painter, bar, shown),
        Shown::Agreed(Belief::Unknown) => {
            let line = (1.0, theme::dim());
            let y = bar.center().y;
            painter.extend(egui::Shape::dashed_line(
                &[pos2(shown.left(), y), pos2(shown.right(), y)],
                line,
                3.0,
                4.0,
            ));
            let at = pos2(shown.left() + 8.0, y);
            label::text(painter, at, "?", theme::small(), theme::weak());
        }
        Shown::Split | Shown::Somewhere(_) => {
            painter.rect_filled(bar, 2.0, theme::faded(theme::plain(), 0.22));
            let line = (1.0, theme::faded(theme::plain(), 0.9));
            glyph::hatch(painter, bar, 6.0, line);
        }
    }
}

/// A stretch that has no room for more than a colour.
fn narrowed(bar: Rect, shown: Shown) -> (Rect, egui::Color32) {
    let color = match shown {
        Shown::Agreed(Belief::Owned(peer)) => theme::owner(peer),
        Shown::Agreed(Belief::Orphaned(_)) | Shown::Somewhere(Belief::Orphaned(_)) => {
            theme::error()
        }
        Shown::Split | Shown::Somewhere(_) => theme::faded(theme::plain(), 0.6),
        Shown::Agreed(Belief::Destroyed | Belief::Unknown) => theme::dim(),
    };
    let rect = match shown {
        Shown::Agreed(Belief::Destroyed | Belief::Unknown) => {
            Rect::from_center_size(bar.center(), vec2(bar.width(), 1.0))
        }
        _ => bar,
    };
    (rect, color)
}

/// Who is said to own it does not.
fn orphan(painter: &Painter, bar: Rect, shown: Rect, owner: &str) {
    painter.rect_filled(bar, 2.0, theme::faded(theme::error(), 0.22));
    let line = (2.0, theme::faded(theme::error(), 0.55));
    glyph::hatch(painter, bar, 7.0, line);
    let edge = (1.0, theme::error());
    painter.rect_stroke(bar, 2.0, edge, egui::StrokeKind::Inside);
    let galley = [
        format!("orphan: {owner} is said to own it, nobody does"),
        "orphan".to_owned(),
    ]
    .map(|text| painter.layout_no_wrap(text, theme::small(), theme::ink()))
    .into_iter()
    .find(|galley| galley.size().x + 16.0 < shown.width());
    if let Some(galley) = galley {
        let at = pos2(shown.left() + 8.0, shown.center().y - galley.size().y / 2.0);
        let patch = (vec2(4.0, 0.0), 2.0, theme::background());
        label::over(painter, at, galley, patch, theme::ink());
    }
}

fn destroyed(painter: &Painter, bar: Rect, shown: Rect) {
    let y = bar.center().y;
    painter.vline(bar.left() + 0.5, bar.y_range(), (1.0, theme::dim()));
    painter.hline(shown.x_range(), y, (1.0, theme::faded(theme::dim(), 0.7)));
    let galley = painter.layout_no_wrap("destroyed".to_owned(), theme::small(), theme::dim());
    if galley.size().x + 20.0 < shown.width() {
        let at = pos2(shown.left() + 8.0, y - galley.size().y / 2.0);
        let patch = (vec2(3.0, -1.0), 0.0, theme::panel());
        label::over(painter, at, galley, patch, theme::dim());
    }
}

/// What a stretch says, in words.
fn words(model: &Model, object: u64, node: Option<NodeId>, stretch: &Stretch) -> String {
    let who = node.map_or_else(
        || "the nodes that know it".to_owned(),
        |node| model.node_name(node).to_owned(),
    );
    let belief = match stretch.shown {
        Shown::Agreed(belief) => model.belief_text(belief),
        Shown::Split | Shown::Somewhere(_) => model.beliefs_text(object, stretch.time.start),
    };
    let counter = stretch.counter.map_or_else(String::new, |counter| {
        format!(", migration counter {counter}")
    });
    format!("{} at {who}\n{belief}{counter}", model.object_name(object))
}
