//! The bytes of the selected packet: offset, hex, text, and exactly which bits are lit.

use std::ops::Range;

use egui::{Align2, Color32, Painter, Rect, Role, ScrollArea, Sense, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Commands, HEX_COLUMNS, Hover, Model, text};
use netreel_wire::StreamId;

use super::copy::{self, Offers, What};
use super::{control, fields, findings, head, label};
use crate::theme;

const ROW: f32 = 21.0;
const LEFT: f32 = 48.0;
/// Height of the sentence below the bytes.
const FOOT: f32 = 22.0;
const TEXT_CELL: f32 = 7.3;
/// Between the two halves of a line, and before the text.
const GAP: f32 = 8.0;

/// Height of the streams' names.
const STREAMS: f32 = 24.0;

/// How high the view is with all its rows.
pub fn height(model: &Model) -> f32 {
    let detail = model.detail();
    let note = if detail.note().is_some() { 20.0 } else { 0.0 };
    let streams = match detail.streams().len() {
        0 | 1 => 0.0,
        _ => STREAMS,
    };
    let rows = detail.hex_row_count(model.selection().stream).max(2);
    head::HEIGHT + note + streams + (rows as f32) * ROW + 52.0
}

/// Draws the bytes. The pointer over a byte lights up its fields in the tree.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let detail = model.detail();
    let lit = model.lit_bits();
    let shown = model.selection().stream;
    let more = match detail.stream_bytes(shown) {
        Some(bytes) => text::counted(bytes.len() as u64, "byte"),
        None => String::new(),
    };
    head::show(ui, "bytes", &more);
    if model.selection().packet.is_none() {
        let sentence = match model.session().packet_count() {
            0 => "The session has no packets.",
            _ => "Select a packet to see its bytes.",
        };
        return findings::empty(ui, sentence);
    }
    if detail.bytes().is_none_or(<[u8]>::is_empty) {
        let why = match (detail.bytes(), detail.note()) {
            (_, Some(note)) => note,
            (None, None) => "The recording does not hold this packet's bytes.",
            (Some(_), None) => "The packet is empty.",
        };
        findings::empty(ui, why);
        return;
    }
    if let Some(note) = detail.note() {
        fields::note(ui, note, theme::warning());
    }
    streams(ui, model, commands);
    // Where there is little room, it is for the bytes.
    let with_sentence = ui.available_height() >= 2.0 * ROW + FOOT;
    let foot = if with_sentence { FOOT } else { 0.0 };
    let scroll_height = (ui.available_height() - foot).max(ROW);
    let pinned = model.pinned_bits();
    ui.spacing_mut().item_spacing.y = 0.0;
    ScrollArea::vertical()
        .id_salt("bytes")
        .auto_shrink(false)
        .max_height(scroll_height)
        .show_rows(ui, ROW, detail.hex_row_count(shown), |ui, rows| {
            for row in rows {
                line(ui, model, row, lit.as_ref(), pinned.as_ref(), commands);
            }
        });
    if with_sentence {
        sentence(ui, model);
    }
}

/// The streams of the packet, where it has more than itself.
fn streams(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let all = model.detail().streams();
    if all.len() < 2 {
        return;
    }
    let shown = model.selection().stream;
    ui.add_space(3.0);
    let row = ScrollArea::horizontal().id_salt("streams");
    row.max_height(STREAMS - 3.0).show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.add_space(8.0);
            for row in all {
                let response = ui.selectable_label(row.stream == shown, label::body(&row.name));
                let label = format!("stream {}", row.name);
                control::selectable(&response, Role::Tab, row.stream == shown, &label);
                if response.clicked() {
                    commands.push(Command::ShowStream(row.stream));
                }
                let said = match row.stream {
                    StreamId(0) => format!("the packet itself, {} bytes", row.length),
                    _ => format!("{}, {} bytes", row.path, row.length),
                };
                response.on_hover_text(said);
            }
        });
    });
}

fn line(
    ui: &mut Ui,
    model: &Model,
    row: usize,
    lit: Option<&Range<u32>>,
    pinned: Option<&Range<u32>>,
    commands: &mut Commands,
) {
    let shown = model.selection().stream;
    let Some(hex) = model.detail().hex_row(row, shown) else {
        return;
    };
    let (rect, _) = control::row(ui, ROW, Sense::hover());
    let painter = ui.painter().clone();
    let y = rect.center().y;
    let place = format!("{:04x}", hex.offset);
    let at = pos2(rect.left() + 10.0, y);
    label::text(&painter, at, &place, theme::mono(), theme::dim());
    let (width, text_left) = columns(rect);
    for (column, &byte) in hex.bytes.iter().enumerate() {
        let offset = hex.offset + column as u32;
        let left = rect.left() + LEFT + column as f32 * width + if column >= 8 { GAP } else { 0.0 };
        let cell = Rect::from_min_size(pos2(left, rect.top()), vec2(width, ROW));
        let mask = lit.map_or(0, |bits| model.detail().mask(bits, offset, shown));
        let held = pinned.map_or(0, |bits| model.detail().mask(bits, offset, shown));
        let response = control::choice(
            ui,
            cell,
            ("byte", offset),
            mask != 0,
            &format!("byte {offset}{}", if mask != 0 { " lit" } else { "" }),
        );
        let pinned = theme::faded(theme::accent(), 0.5);
        bits(&painter, cell, held, pinned, theme::related());
        bits(&painter, cell, mask, theme::accent(), theme::selected());
        let color = match (mask, byte) {
            (0, 0) => theme::dim(),
            (0, _) => theme::text(),
            _ => theme::ink(),
        };
        let (align, number) = (Align2::CENTER_CENTER, format!("{byte:02x}"));
        painter.text(cell.center(), align, number, theme::mono(), color);
        if let Some(left) = text_left {
            let at = pos2(left + column as f32 * TEXT_CELL, y);
            character(&painter, at, byte, mask != 0);
        }
        if response.hovered() {
            commands.push(Command::Hover(Some(Hover::Byte(offset))));
        }
        if response.clicked() {
            let fields = model.detail().fields_at(offset, shown);
            commands.push(Command::PinField(fields.first().copied()));
        }
        copy::menu(&response, model, commands, || offers(model, &hex.bytes));
    }
}

/// How wide the number of a byte is, and where the text of a line begins, if there is room for it.
fn columns(rect: Rect) -> (f32, Option<f32>) {
    let columns = HEX_COLUMNS as f32;
    // Numbers that can be told apart come before their text.
    let with_text = rect.width() >= LEFT + 2.0 * GAP + (17.0 + TEXT_CELL) * columns + 10.0;
    let text = if with_text {
        GAP + TEXT_CELL * columns
    } else {
        0.0
    };
    let room = rect.width() - LEFT - GAP - text - 10.0;
    let width = (room / columns).clamp(16.0, 24.0).floor();
    let text_left = rect.left() + LEFT + width * columns + 2.0 * GAP + TEXT_CELL / 2.0;
    (width, with_text.then_some(text_left))
}

/// A byte as a letter.
fn character(painter: &Painter, at: egui::Pos2, byte: u8, is_lit: bool) {
    let character = match byte {
        0x20..0x7f => char::from(byte),
        _ => '·',
    };
    let color = match (is_lit, character == '·') {
        (true, _) => theme::ink(),
        (false, true) => theme::dim(),
        (false, false) => theme::text(),
    };
    painter.text(at, Align2::CENTER_CENTER, character, theme::mono(), color);
}

/// What can be done with a line of bytes.
fn offers(model: &Model, line: &[u8]) -> Offers {
    let hex = |bytes: &[u8]| What::Copy(text::hex(bytes));
    let shown = model.detail().stream_bytes(model.selection().stream);
    let mut offers = vec![("copy the line", hex(line))];
    offers.extend(model.lit_bytes().map(|lit| ("copy what is lit", hex(lit))));
    offers.push(("copy all bytes", hex(shown.unwrap_or_default())));
    offers.push(("copy with places", What::Copy(model.bytes_text())));
    offers
}

/// Eight marks below a byte, its highest bit at the left as it is written.
fn bits(painter: &Painter, cell: Rect, mask: u8, color: Color32, fill: Color32) {
    if mask == 0 {
        return;
    }
    painter.rect_filled(cell.shrink2(vec2(0.5, 1.0)), 2.0, fill);
    let width = (cell.width() - 3.0) / 8.0;
    for bit in 0..8 {
        if mask & (0x80 >> bit) != 0 {
            let left = cell.left() + 1.5 + bit as f32 * width;
            let mark = Rect::from_min_size(pos2(left, cell.bottom() - 4.0), vec2(width, 2.5));
            painter.rect_filled(mark, 0.0, color);
        }
    }
}

/// What is lit, in words.
fn sentence(ui: &mut Ui, model: &Model) {
    let detail = model.detail();
    let shown = model.selection().stream;
    let field = match model.hover() {
        Some(Hover::Field(field)) => Some(field),
        Some(Hover::Byte(byte)) => detail.fields_at(byte, shown).first().copied(),
        _ => model.selection().field,
    };
    let text = match (field, model.selected_message()) {
        (Some(field), _) => detail.sentence(field),
        (None, Some((bits, stream))) if model.hover().is_none() => {
            let of = match stream {
                StreamId(0) => String::new(),
                stream => format!(" of stream {}", detail.stream_name(stream)),
            };
            format!("message, bits {}..{}{of}", bits.start, bits.end)
        }
        _ => "hover a field or a byte".to_owned(),
    };
    let (rect, _) = control::row(ui, 20.0, Sense::hover());
    let painter = ui.painter();
    let (at, room) = (rect.min + vec2(10.0, 3.0), rect.width() - 20.0);
    label::below(painter, at, room, &text, theme::small(), theme::weak());
}
