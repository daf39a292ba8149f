//! What the bytes were: areas by how much of the wire they took.

use egui::{Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{Command, LedgerBy, LedgerRow, Model, bits_text, squarify, text};
use netreel_wire::KindId;

use super::{findings, head};
use crate::theme;

/// Draws the ledger. A click on a kind or an object filters by it.
pub fn show(ui: &mut Ui, model: &Model, by: &mut LedgerBy, commands: &mut Vec<Command>) {
    let waits = || model.why_waits().to_owned();
    let told = match *by {
        LedgerBy::Field => {
            let by_field = model.by_field();
            by_field.map(|it| (it.of_text(), it.rows()))
        }
        by => model.bandwidth().map(|stats| {
            let bytes = text::bytes(stats.all.bytes as f64);
            let packets = text::packets(stats.all.packets);
            let said = format!("{bytes} of payload in {packets}");
            (said, model.ledger_rows(&stats, by))
        }),
    };
    let (more, rows) = told.map_or_else(|| (waits(), None), |(said, rows)| (said, Some(rows)));
    head::show(ui, "ledger", &more);
    ui.add_space(3.0);
    ui.horizontal(|ui| {
        ui.add_space(8.0);
        for (name, of) in LedgerBy::ALL {
            let text = egui::RichText::new(name).font(theme::body());
            if ui.selectable_label(*by == of, text).clicked() {
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
    let painter = ui.painter().with_clip_rect(view.intersect(ui.clip_rect()));
    for (place, row) in rows.iter().enumerate() {
        let [left, top, width, height] = row.place;
        let rect = Rect::from_min_size(view.min + vec2(left, top), vec2(width, height));
        let rect = rect.shrink(0.5).intersect(view);
        if rect.width() < 1.0 || rect.height() < 1.0 {
            continue;
        }
        let id = ui.scope_id().with(("ledger", place));
        let response = ui.interact(rect, id, Sense::click());
        let filter = filter(model, row);
        let label = format!("{}: {}", row.name, words(row, *by));
        response.widget_info(|| WidgetInfo::labeled(Role::Button, filter.is_some(), &label));
        let color = color(model, row, place);
        painter.rect_filled(rect, 1.0, color);
        if response.hovered() {
            let edge = Stroke::new(2.0, theme::ink());
            painter.rect_stroke(rect, 1.0, edge, StrokeKind::Inside);
        }
        write(&painter, rect, row, theme::ink_on(color));
        if response.clicked()
            && let Some(filter) = filter
        {
            commands.push(Command::SetFilter(filter));
        }
        let said = words(row, *by).replace(", ", "\n");
        response.on_hover_text(format!("{}\n{said}", row.name));
    }
}

fn color(model: &Model, row: &LedgerRow, place: usize) -> egui::Color32 {
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
    let plain = |name: &str| {
        let mut letters = name.chars();
        letters.all(|it| it.is_alphanumeric() || it == '_')
    };
    match (row.kind, row.object) {
        (Some(kind), _) => {
            let name = model.kind_name(Some(KindId(kind)));
            plain(name).then(|| format!("kind == {name}"))
        }
        (None, Some(object)) => Some(format!("object == {object}")),
        (None, None) => None,
    }
}

fn words(row: &LedgerRow, by: LedgerBy) -> String {
    let mut words = vec![
        bits_text(row.bits),
        format!("{:.1} %", 100.0 * row.part),
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

fn write(painter: &egui::Painter, rect: Rect, row: &LedgerRow, color: egui::Color32) {
    if rect.width() < 34.0 || rect.height() < 15.0 {
        return;
    }
    let room = rect.width() - 8.0;
    let name = findings::elided(painter, &row.name, theme::body(), room, color);
    let below = rect.top() + 2.0 + name.size().y;
    painter.galley(pos2(rect.left() + 5.0, rect.top() + 1.0), name, color);
    if rect.height() < 34.0 {
        return;
    }
    // The bytes alone where there is no room for their part too.
    let bits = bits_text(row.bits);
    let both = format!("{bits}  {:.1} %", 100.0 * row.part);
    let said = painter.layout_no_wrap(both, theme::small(), color);
    let said = match said.size().x <= room {
        true => said,
        false => findings::elided(painter, &bits, theme::small(), room, color),
    };
    painter.galley(pos2(rect.left() + 5.0, below), said, color);
}
