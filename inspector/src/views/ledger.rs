//! What the bytes were: areas by how much of the wire they took.

use egui::{Align2, Color32, Rect, Role, Sense, StrokeKind, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{Commands, LedgerBy, LedgerRow, Model, bits_text, squarify, text};
use netreel_wire::KindId;

use super::copy::{self, What};
use super::links;
use super::{control, findings, head, label};
use crate::theme;

/// Draws the ledger. A click on a kind or an object shows the packets that it counts.
pub fn show(ui: &mut Ui, model: &Model, by: &mut LedgerBy, commands: &mut Commands) {
    let waits = || model.why_waits().to_owned();
    let told = match *by {
        LedgerBy::Field => model.by_field().map(|it| (it.of_text(), it.rows())),
        by => model.bandwidth().map(|stats| {
            let bytes = text::bytes(stats.all.bytes);
            let packets = text::packets(stats.all.packets);
            (
                format!("{bytes} of payload in {packets}"),
                model.ledger_rows(&stats, by),
            )
        }),
    };
    let (more, rows) = told.map_or_else(|| (waits(), None), |(said, rows)| (said, Some(rows)));
    head::show(ui, "ledger", &more);
    ui.add_space(3.0);
    ui.horizontal(|ui| {
        ui.add_space(8.0);
        for (name, of) in LedgerBy::ALL {
            if ui.selectable_label(*by == of, label::body(name)).clicked() {
                *by = of;
            }
        }
    });
    let Some(mut rows) = rows else { return };
    if rows.is_empty() {
        findings::empty(ui, "No bytes: nothing was sent that the filter takes.");
        return;
    }
    let view = ui.available_rect_before_wrap().shrink2(vec2(8.0, 4.0));
    ui.advance_cursor_after_rect(view);
    squarify(&mut rows, view.width(), view.height());
    // What is too small for its name is named below, if that leaves room for the areas.
    let mut map = view;
    let is_small = |row: &&LedgerRow| row.place[2] < NAMED.x || row.place[3] < NAMED.y;
    let small = rows.iter().filter(is_small).count();
    if small > 0 && view.height() > 4.0 * LINE {
        let lines = small
            .div_ceil(columns(view))
            .min(LINES_MAX)
            .min((view.height() / 4.0 / LINE) as usize);
        map.max.y -= lines as f32 * LINE + 2.0;
        squarify(&mut rows, map.width(), map.height());
    }
    let painter = ui.painter_at(view);
    let mut unnamed: Vec<(&LedgerRow, Color32)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let [left, top, width, height] = row.place;
        let rect = Rect::from_min_size(map.min + vec2(left, top), vec2(width, height))
            .shrink(0.5)
            .intersect(map);
        let color = color(model, row, place);
        if is_small(&row) {
            unnamed.push((row, color));
        }
        if rect.width() < 1.0 || rect.height() < 1.0 {
            continue;
        }
        let response = part(ui, model, (row, *by), rect, ("ledger", place), commands);
        painter.rect_filled(rect, 1.0, color);
        if response.hovered() {
            painter.rect_stroke(rect, 1.0, (2.0, theme::ink()), StrokeKind::Inside);
        }
        write(&painter, rect, row, theme::ink_on(color));
    }
    let below = Rect::from_min_max(pos2(view.left(), map.bottom() + 2.0), view.max);
    names(ui, model, &unnamed, *by, below, commands);
}

/// A smaller area has no name in it.
const NAMED: egui::Vec2 = vec2(34.0, 16.0);
/// Height of a line of names below the areas; as many of them at most.
const LINE: f32 = 16.0;
const LINES_MAX: usize = 4;
/// How wide a name and its size are there.
const COLUMN: f32 = 168.0;

fn columns(view: Rect) -> usize {
    (view.width() / COLUMN).floor().max(1.0) as usize
}

/// What of the ledger a click filters by, and what is said of it where the pointer is.
fn part(
    ui: &Ui,
    model: &Model,
    (row, by): (&LedgerRow, LedgerBy),
    rect: Rect,
    id: (&str, usize),
    commands: &mut Commands,
) -> egui::Response {
    let response = control::clickable(ui, rect, id);
    let filter = filter(model, row);
    let said = words(row, by);
    let label = match id.0 {
        "ledger" => format!("{}: {said}", row.name),
        _ => format!("{} in the list: {said}", row.name),
    };
    response.widget_info(|| WidgetInfo::labeled(Role::Button, filter.is_some(), &label));
    if response.clicked()
        && let Some(filter) = &filter
    {
        commands.push(model.narrowed(filter));
    }
    let text = format!("{}\n{}", row.name, said.replace(", ", "\n"));
    copy::menu(&response, model, commands, || {
        let mut offers = vec![("copy what is known of it", What::Copy(text.clone()))];
        offers.extend(filter.map(|filter| ("filter by it", What::Filter(filter))));
        offers
    });
    response.on_hover_text(text)
}

/// Names what has no name in its area, as far as there is room for it.
fn names(
    ui: &Ui,
    model: &Model,
    rows: &[(&LedgerRow, Color32)],
    by: LedgerBy,
    view: Rect,
    commands: &mut Commands,
) {
    let across = columns(view);
    let room = across * (view.height() / LINE).floor().max(0.0) as usize;
    if room == 0 {
        return;
    }
    let shown = if rows.len() <= room {
        rows.len()
    } else {
        room - 1
    };
    let painter = ui.painter_at(view);
    let cell = |place: usize| {
        let at = vec2(
            (place % across) as f32 * COLUMN,
            (place / across) as f32 * LINE,
        );
        Rect::from_min_size(view.min + at, vec2(COLUMN - 6.0, LINE))
    };
    let (named, left) = rows.split_at(shown);
    for (place, (row, color)) in named.iter().enumerate() {
        let rect = cell(place);
        if part(ui, model, (row, by), rect, ("ledger name", place), commands).hovered() {
            painter.rect_filled(rect, 2.0, theme::related());
        }
        links::chip(&painter, rect.left_center() + vec2(7.0, 0.0), *color);
        let bits = painter.layout_no_wrap(bits_text(row.bits), theme::small(), theme::weak());
        let room = rect.width() - 26.0 - bits.size().x;
        let right = rect.right_center() - vec2(4.0, 0.0);
        let place = Align2::RIGHT_CENTER.anchor_size(right, bits.size());
        painter.galley(place.min, bits, theme::text());
        let at = rect.left_center() + vec2(15.0, 0.0);
        label::write(&painter, at, room, &row.name, theme::small(), theme::text());
    }
    if let Some(first) = left.first() {
        let rect = cell(shown);
        let bits: u64 = left.iter().map(|(row, _)| row.bits).sum();
        let said = format!("and {} more, {}", left.len(), bits_text(bits));
        let at = rect.left_center() + vec2(3.0, 0.0);
        label::text(&painter, at, &said, theme::small(), theme::weak());
        let id = ui.scope_id().with(("ledger rest", first.0.bits));
        let response = ui.interact(rect, id, Sense::hover());
        control::named(&response, Role::Label, &said);
        let lines = left
            .iter()
            .take(40)
            .map(|(row, _)| format!("{}  {}", row.name, bits_text(row.bits)));
        response.on_hover_text(lines.collect::<Vec<_>>().join("\n"));
    }
}

fn color(model: &Model, row: &LedgerRow, place: usize) -> Color32 {
    let mixed = |color| theme::panel().lerp_to_gamma(color, 0.72);
    match (row.kind, row.object) {
        (Some(kind), _) => mixed(theme::kind(model.kinds(), Some(KindId(kind)))),
        (None, Some(object)) => mixed(theme::owner(object)),
        // What is no message is quiet.
        (None, None) if row.messages == 0 => mixed(theme::plain()),
        (None, None) => mixed(theme::owner(place as u64)),
    }
}

/// The filter that takes what a row counts.
fn filter(model: &Model, row: &LedgerRow) -> Option<String> {
    match (row.kind, row.object) {
        (Some(kind), _) => model.filter_of_kind(KindId(kind)),
        (None, Some(object)) => Some(format!("object == {object}")),
        (None, None) => None,
    }
}

fn words(row: &LedgerRow, by: LedgerBy) -> String {
    let mut words = vec![
        bits_text(row.bits),
        text::percent(row.part),
        format!("in {}", text::packets(row.packets)),
    ];
    if row.messages > 0 {
        let of = if by == LedgerBy::Field {
            "times"
        } else {
            "messages"
        };
        words.push(format!("{} {of}", text::count(row.messages)));
    }
    if row.resent_bits > 0 {
        words.push(format!("{} of it again", bits_text(row.resent_bits)));
    }
    words.join(", ")
}

fn write(painter: &egui::Painter, rect: Rect, row: &LedgerRow, color: Color32) {
    // Half a point at each side is the edge.
    if rect.width() < NAMED.x - 1.0 || rect.height() < NAMED.y - 1.0 {
        return;
    }
    let room = rect.width() - 8.0;
    let name = label::elided(painter, &row.name, theme::body(), room, color);
    let below = rect.top() + 2.0 + name.size().y;
    painter.galley(pos2(rect.left() + 5.0, rect.top() + 1.0), name, color);
    if rect.height() < 34.0 {
        return;
    }
    // The bytes alone where there is no room for their part too.
    let bits = bits_text(row.bits);
    let both = format!("{bits}  {}", text::percent(row.part));
    let said = painter.layout_no_wrap(both, theme::small(), color);
    let said = if said.size().x <= room {
        said
    } else {
        label::elided(painter, &bits, theme::small(), room, color)
    };
    painter.galley(pos2(rect.left() + 5.0, below), said, color);
}
