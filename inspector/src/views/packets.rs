//! The packet table: only the rows on the screen are made.

use egui::{Align, Color32, Layout, RichText, Role, Sense, Ui, WidgetInfo};
use egui_extras::{Column, TableBuilder, TableRow};
use netreel_inspector_model::{Command, Hover, Model, PacketRow, text};

use super::{findings, head, scroll};
use crate::{glyph, theme};

const ROW: f32 = 18.0;

/// From so many points on the table shows all its columns.
const WIDE: f32 = 640.0;
/// The columns that a narrower table lacks: the field tree has both.
const NARROW_LACKS: [&str; 2] = ["seq", "bytes"];

/// Draws the table. A click selects a packet.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    let total = model.session().packets.len();
    let rows = model.row_count();
    let more = if model.filter().is_narrow() {
        format!(
            "{} of {}",
            text::count(rows as u64),
            text::count(total as u64)
        )
    } else {
        text::count(total as u64)
    };
    head::show(ui, "packets", &more);
    if rows == 0 {
        let sentence = if total == 0 {
            "The session has no packets."
        } else {
            "The filter takes no packet."
        };
        findings::empty(ui, sentence);
        return;
    }
    ui.spacing_mut().item_spacing = egui::vec2(11.0, 0.0);
    ui.add_space(2.0);
    let selected = model.selection().packet;
    let moved = scroll::changed(ui.ctx(), "packets selection", selected.map(|id| id.0));
    let wide = ui.available_width() >= WIDE;
    let mut table = TableBuilder::new(ui)
        .id_salt("packets")
        .striped(true)
        .sense(Sense::click())
        .animate_scrolling(false)
        .auto_shrink(false)
        .cell_layout(Layout::left_to_right(Align::Center))
        .column(Column::exact(50.0))
        .column(Column::exact(74.0))
        .column(Column::exact(80.0).clip(true))
        .column(Column::remainder().at_least(70.0).clip(true))
        .column(Column::exact(50.0).clip(true));
    if wide {
        table = table.columns(Column::exact(38.0), 2);
    }
    table = table
        .column(Column::exact(58.0))
        .column(Column::exact(78.0));
    if moved && let Some(row) = selected.and_then(|id| model.row_of(id)) {
        // Only as far as needed: a row that somebody clicked stays under the pointer.
        table = table.scroll_to_row(row, None);
    }
    let heads = [
        "#", "time s", "link", "messages", "object", "seq", "bytes", "latency", "fate",
    ];
    table
        .header(ROW, |mut header| {
            for (column, head) in heads.iter().enumerate() {
                if !wide && NARROW_LACKS.contains(head) {
                    continue;
                }
                header.col(|ui| cell(ui, head, theme::DIM, right(column)));
            }
        })
        .body(|body| {
            body.rows(ROW, rows, |mut row| {
                let Some(packet) = model
                    .packet_at(row.index())
                    .and_then(|id| model.packet_row(id))
                else {
                    return;
                };
                line(&mut row, model, &packet, wide, commands);
            });
        });
}

fn right(column: usize) -> bool {
    matches!(column, 0 | 1 | 5 | 6 | 7)
}

fn line(
    row: &mut TableRow<'_, '_>,
    model: &Model,
    packet: &PacketRow,
    wide: bool,
    commands: &mut Vec<Command>,
) {
    row.set_selected(packet.selected);
    row.set_hovered(model.hover() == Some(Hover::Packet(packet.packet)));
    let quiet = packet.lead.is_none();
    let text = if quiet { theme::WEAK } else { theme::TEXT };
    let color = theme::kind(model.kinds(), packet.lead);
    let role = packet
        .lead
        .and_then(|kind| model.kinds().get(usize::from(kind.0)))
        .map(|kind| kind.role);
    row.col(|ui| {
        let number = if packet.evidence {
            theme::ACCENT
        } else {
            theme::WEAK
        };
        cell(ui, &packet.packet.0.to_string(), number, true);
    });
    row.col(|ui| cell(ui, &packet.time, text, true));
    row.col(|ui| cell(ui, &packet.link, text, false));
    row.col(|ui| {
        let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), Sense::hover());
        glyph::kind(ui.painter(), rect.center(), 8.0, role, color);
        let kinds = if quiet { "acks only" } else { &packet.kinds };
        cell(ui, kinds, if quiet { theme::DIM } else { text }, false);
    });
    row.col(|ui| cell(ui, &packet.objects, text, false));
    if wide {
        row.col(|ui| cell(ui, &packet.sequence, theme::WEAK, true));
        row.col(|ui| cell(ui, &packet.bytes, theme::WEAK, true));
    }
    let late = if packet.is_late {
        theme::WARNING
    } else {
        theme::WEAK
    };
    row.col(|ui| cell(ui, &packet.late, late, true));
    row.col(|ui| {
        let color = match (packet.missing, packet.fate.as_str()) {
            (true, _) => theme::WARNING,
            (false, "received") => theme::DIM,
            _ => theme::WEAK,
        };
        cell(ui, &packet.fate, color, false);
        if let Some(level) = packet.level {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let (rect, _) = ui.allocate_exact_size(egui::vec2(11.0, 11.0), Sense::hover());
                glyph::level(ui.painter(), rect.center(), 10.0, level);
            });
        }
    });
    let response = row.response();
    let label = format!(
        "packet {} {} {}",
        packet.packet.0, packet.link, packet.kinds
    );
    response.widget_info(|| WidgetInfo::selected(Role::Row, true, packet.selected, &label));
    if response.clicked() {
        commands.push(Command::SelectPacket(packet.packet));
    }
    if response.hovered() {
        commands.push(Command::Hover(Some(Hover::Packet(packet.packet))));
    }
}

fn cell(ui: &mut Ui, text: &str, color: Color32, right: bool) {
    let text = RichText::new(text).font(theme::mono()).color(color);
    let label = egui::Label::new(text).truncate();
    if right {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.add(label));
    } else {
        ui.add(label);
    }
}
