//! The packet table: only the rows on the screen are made.

use std::ops::Range;

use egui::{Align, Color32, Layout, Role, Sense, Ui, vec2};
use egui_extras::{Column as Width, TableBuilder, TableRow};
use netreel_inspector_model::{Column, Command, Commands, Hover, Model, PacketRow, text};
use netreel_protocol::packet_fields::PacketField;

use super::columns::{self, GAP, MESSAGES, MESSAGES_MIN, right};
use super::copy::{self, Offers, What};
use super::{control, findings, head, label, scroll};
use crate::{glyph, theme};

const ROW: f32 = 18.0;

/// Draws the table. A click selects a packet.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let rows = model.row_count();
    let (columns, without) = columns::fitting(model, ui.available_width());
    let more = more(model) + &columns::sorted(model) + &columns::no_room(&without, model);
    head::show(ui, "packets", &more);
    if rows == 0 {
        return findings::empty(ui, why_none(model));
    }
    ui.spacing_mut().item_spacing = vec2(GAP, 0.0);
    ui.add_space(2.0);
    let selected = model.selection().packet.map(|id| id.0);
    let moved = scroll::changed(ui.ctx(), "packets selection", selected);
    let visible = model.visible();
    let panned = scroll::changed(ui.ctx(), "packets time", (visible.start, visible.end));
    let sorts = scroll::changed(ui.ctx(), "packets sorting", model.sorting());
    let fills = if columns.iter().any(|(it, _)| *it == MESSAGES) {
        MESSAGES
    } else {
        Column::Of(PacketField::Link)
    };
    let key = ui.scope_id().with("scrolled");
    let offset: f32 = ui.ctx().data(|data| data.get_temp(key)).unwrap_or(0.0);
    let room = (ui.available_height() - ROW).max(ROW);
    let ctx = ui.ctx().clone();
    let mut table = TableBuilder::new(&mut *ui)
        .id_salt("packets")
        .striped(true)
        .sense(Sense::click())
        .animate_scrolling(false)
        .auto_shrink(false)
        .cell_layout(Layout::left_to_right(Align::Center));
    for &(column, width) in &columns {
        table = table.column(match column {
            _ if column == fills => Width::remainder().at_least(MESSAGES_MIN).clip(true),
            _ => Width::exact(width).clip(true),
        });
    }
    if let Some(offset) =
        target(model, (moved, panned, sorts)).and_then(|rows| scrolled(&rows, offset, room))
    {
        let before = scroll::length_before(&ctx, "packets").unwrap_or(rows);
        let most = (rows.min(before) as f32 * ROW - room).max(0.0);
        table = table.vertical_scroll_offset(offset.clamp(0.0, most));
        // Rows that were not there before learn with the next frame where they are.
        ctx.request_repaint();
    }
    scroll::note_length(&ctx, "packets", rows);
    let mut heads = Vec::new();
    let offset = table
        .header(ROW, |mut header| {
            for &(column, _) in &columns {
                let (rect, _) = header.col(|ui| {
                    let head = columns::head(column, model);
                    cell(ui, &head, theme::dim(), right(column));
                });
                heads.push((column, rect));
            }
        })
        .body(|body| {
            body.rows(ROW, rows, |mut row| {
                let at = row.index();
                let Some(packet) = model.packet_at(at).and_then(|id| model.packet_row(id)) else {
                    return;
                };
                let own = model.own_columns();
                let since = own.since.then(|| model.since(at));
                let on_link = own.on_link.then(|| model.since_on_link(packet.packet));
                let selected = own.selected.then(|| model.since_selected(packet.packet));
                let since = [since, on_link, selected].map(Option::unwrap_or_default);
                line(&mut row, model, (&packet, &since), &columns, commands);
            });
        })
        .state
        .clamped_offset()
        .y;
    ctx.data_mut(|data| data.insert_temp(key, offset));
    columns::menus(ui, model, &heads, commands);
}

/// How many packets there are, and how many of them the table has.
fn more(model: &Model) -> String {
    let total = model.session().packet_count();
    let rows = model.row_count();
    let looked_at = model.filter().looked_at();
    let count = |packets: usize| text::count(packets as u64);
    match looked_at {
        _ if model.filter().waits() => format!("? of {}", count(total)),
        Some(looked_at) => format!("{} of so far {}", count(rows), count(looked_at)),
        None if model.filter().is_narrow() => format!("{} of {}", count(rows), count(total)),
        None => count(total),
    }
}

/// Why there are no rows.
fn why_none(model: &Model) -> &'static str {
    match model.filter().looked_at() {
        _ if model.session().packet_count() == 0 => "The session has no packets.",
        _ if model.filter().waits() => {
            "The filter speaks of what followed from the packets. It waits until that is known."
        }
        Some(_) => "The filter has taken no packet so far.",
        None => "The filter takes no packet.",
    }
}

/// Which rows come into view, where the selection has `moved`, time was `panned`, or the table was sorted.
fn target(model: &Model, (moved, panned, sorts): (bool, bool, bool)) -> Option<Range<usize>> {
    let is_sorted = model.sorting().is_some();
    let row_of = |id| model.row_of(id).map(|row| row..row + 1);
    match model.selection().packet {
        // Whoever sorts looks for what comes first.
        _ if sorts && is_sorted => Some(0..1),
        // Only as far as needed: a row that somebody clicked stays under the pointer.
        Some(id) if moved || sorts => row_of(id),
        // What is in view lies scattered there.
        _ if is_sorted => None,
        // Where time is moved, the table goes along: to the selection where that is in view.
        Some(id) if panned && model.is_in_view(id) => row_of(id),
        _ if panned => Some(model.rows_in_view()),
        _ => None,
    }
}

/// How far to scroll so that rows are in view, as many as there is room for; `None` where enough of
/// them are.
fn scrolled(rows: &Range<usize>, offset: f32, room: f32) -> Option<f32> {
    let (top, bottom) = (rows.start as f32 * ROW, rows.end as f32 * ROW);
    let fits = bottom - top <= room;
    match fits {
        true if top < offset => Some(top),
        true if bottom > offset + room => Some(bottom - room),
        true => None,
        // More rows than there is room for: any of them will do.
        false if offset < top || offset + room > bottom => Some(top),
        false => None,
    }
}

fn line(
    row: &mut TableRow<'_, '_>,
    model: &Model,
    (packet, since): (&PacketRow, &[String; 3]),
    columns: &[(Column, f32)],
    commands: &mut Commands,
) {
    row.set_selected(packet.selected);
    row.set_hovered(model.hover() == Some(Hover::Packet(packet.packet)));
    let quiet = packet.lead.is_none() && packet.described;
    let text = if quiet || !packet.in_view {
        theme::weak()
    } else {
        theme::text()
    };
    for &(column, _) in columns {
        row.col(|ui| match column {
            Column::Of(PacketField::Messages) => messages(ui, model, packet),
            Column::Of(PacketField::Fate) => fate(ui, packet),
            Column::Of(field) => {
                let color = match field {
                    PacketField::Packet if packet.evidence => theme::accent(),
                    PacketField::Late if packet.is_late => theme::warning(),
                    _ if right(column) && !field.declared().of.is_moment() => theme::weak(),
                    _ => text,
                };
                cell(ui, packet.cell(field), color, right(column));
            }
            Column::Since => cell(ui, &since[0], theme::weak(), true),
            Column::OnLink => cell(ui, &since[1], theme::weak(), true),
            Column::Selected => cell(ui, &since[2], theme::weak(), true),
            Column::Field(place) => match packet.own.get(usize::from(place)) {
                Some(said) => cell(ui, said, text, false),
                None => cell(ui, "not known yet", theme::dim(), false),
            },
        });
    }
    let response = row.response();
    let label = format!(
        "packet {} {} {}",
        packet.packet.0,
        packet.cell(PacketField::Link),
        packet.cell(PacketField::Messages)
    );
    control::selectable(&response, Role::Row, packet.selected, &label);
    if response.clicked() {
        commands.push(Command::SelectPacket(packet.packet));
    }
    if response.hovered() {
        commands.push(Command::Hover(Some(Hover::Packet(packet.packet))));
    }
    copy::menu(&response, model, commands, || offers(model, packet, since));
}

/// What can be done with a packet.
fn offers(model: &Model, packet: &PacketRow, since: &[String; 3]) -> Offers {
    let mut row: Vec<String> = Column::fields()
        .map(|(_, field)| field)
        .filter(|it| *it != PacketField::Utc)
        .map(|it| packet.cell(it).to_owned())
        .collect();
    let own = model.own_columns();
    row.extend(own.clock.then(|| packet.cell(PacketField::Utc).to_owned()));
    row.extend(own.since.then(|| since[0].clone()));
    row.extend(own.on_link.then(|| since[1].clone()));
    row.extend(own.selected.then(|| since[2].clone()));
    row.extend(packet.own.iter().cloned());
    let mut offers = vec![
        ("copy the row", What::Copy(row.join("\t"))),
        (
            "copy what is known of it",
            What::Copy(model.whole_packet_text(packet.packet)),
        ),
    ];
    let id = packet.packet;
    let kind = packet.lead.and_then(|kind| model.filter_of_kind(kind));
    let fate = model.filter_of_fate(id).map(str::to_owned);
    for (name, filter) in [
        ("filter by its link", model.link_filter(id)),
        ("filter by its kind", kind),
        ("filter by its objects", model.filter_of_objects(id)),
        ("filter by its fate", fate),
    ] {
        offers.extend(filter.map(|filter| (name, What::Filter(filter))));
    }
    offers
}

fn messages(ui: &mut Ui, model: &Model, packet: &PacketRow) {
    let kinds = packet.cell(PacketField::Messages);
    let color = theme::kind(model.kinds(), packet.lead);
    let role = packet.lead.and_then(|kind| Some(model.kind(kind)?.role));
    let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
    glyph::kind(ui.painter(), rect.center(), 8.0, role, color);
    match packet.lead {
        _ if !packet.is_told => cell(ui, "not known yet", theme::dim(), false),
        Some(_) => cell(ui, kinds, theme::text(), false),
        // Messages of kinds that the wire does not name.
        None if !kinds.is_empty() => cell(ui, kinds, theme::weak(), false),
        None if packet.described => cell(ui, "acks only", theme::dim(), false),
        None => cell(ui, "not in the wire", theme::dim(), false),
    }
}

fn fate(ui: &mut Ui, packet: &PacketRow) {
    let fate = packet.cell(PacketField::Fate);
    let color = match (packet.missing, fate) {
        (true, _) => theme::warning(),
        (false, "received") => theme::dim(),
        _ => theme::weak(),
    };
    cell(ui, fate, color, false);
    if let Some(level) = packet.level {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(11.0, 11.0), Sense::hover());
            glyph::level(ui.painter(), rect.center(), 10.0, level);
        });
    }
}

fn cell(ui: &mut Ui, text: &str, color: Color32, right: bool) {
    let label = egui::Label::new(label::mono(text).color(color)).truncate();
    if right {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.add(label));
    } else {
        ui.add(label);
    }
}
