//! The fields of the selected packet, as its wire names them.

use std::ops::Range;

use egui::{Color32, Painter, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{Change, Command, Commands, FieldRow, Hover, Model, text};

use netreel_protocol::session::PacketId;
use netreel_wire::StreamId;

use super::copy::{Offers, What};
use super::{candidates, columns, control, copy, envelope, findings, head, label, scroll};
use crate::{glyph, theme};

const ROW: f32 = 18.0;
const INDENT: f32 = 14.0;

/// Draws the tree. The pointer over a field lights up its bits; a click pins it.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some(id) = model.selection().packet else {
        head::show(ui, "packet", "none selected");
        if model.session().packet_count() == 0 {
            return findings::empty(ui, "The session has no packets.");
        }
        if model.session().wire.is_none() {
            ui.add_space(6.0);
            candidates::offer(ui);
        }
        return findings::empty(ui, "Select a packet on the timeline or in the table.");
    };
    let link = model.session().link(id);
    let link = link.map_or_else(String::new, |link| model.link_label(link));
    let kinds = model.kinds_text(id);
    head::show(
        ui,
        &format!("packet {}", id.0),
        &format!("{link}   {kinds}"),
    );
    envelope::show(ui, model, id, commands);
    if let Some(sentence) = model.detail().note() {
        note(ui, sentence, theme::warning());
    }
    problems(ui, model);
    outcomes(ui, model, id);
    changes(ui, model, commands);
    let rows = model.detail().rows();
    if model.detail().waits() {
        let sentence =
            "The fields of this packet depend on packets before it, which are being read.";
        return findings::empty(ui, sentence);
    }
    if rows.is_empty() && !model.detail().columns().is_empty() {
        return variety(ui, model, id, commands);
    }
    if rows.is_empty() {
        candidates::offer(ui);
        let sentence = "No wire describes this packet: its fields are unknown.";
        return findings::empty(ui, sentence);
    }
    let lit = model.lit_fields();
    let message = model.selected_message();
    let is_within = |row: &FieldRow| {
        message
            .as_ref()
            .is_some_and(|(bits, stream)| *stream == row.stream && within(bits, row))
    };
    let told = model.selection().message.map(|message| message.0);
    let to = scroll::changed(ui.ctx(), "fields selection", (id.0, told))
        .then(|| (rows.iter().position(is_within).unwrap_or(0), 2.0));
    let mut values = None;
    scroll::rows(ui, "fields", ROW, &rows, to, |ui, row| {
        let values = *values.get_or_insert_with(|| values_left(ui, &rows));
        let lights = (lit.contains(&row.id), is_within(row));
        line(ui, model, row, values, lights, commands);
    });
}

/// What can be told without a wire.
fn variety(ui: &mut Ui, model: &Model, id: PacketId, commands: &mut Commands) {
    let said = format!(
        "No wire says what these bytes are: open one in the menu, or drop it here. {}.",
        model.link_text(id)
    );
    egui::Frame::NONE
        .inner_margin(egui::Margin::symmetric(10, 6))
        .show(ui, |ui| {
            ui.add(egui::Label::new(label::body(said).color(theme::weak())).wrap());
        });
    candidates::offer(ui);
    ui.add_space(4.0);
    scroll::rows(
        ui,
        "variety",
        ROW,
        model.detail().columns(),
        None,
        |ui, column| {
            let (rect, response) = control::row(ui, ROW, Sense::hover());
            let label = format!("byte column {}: {}", column.offset, column.what);
            control::named(&response, Role::Row, &label);
            let painter = ui.painter_at(rect);
            if model.hover() == Some(Hover::Byte(column.offset)) {
                painter.rect_filled(rect, 0.0, theme::related());
            }
            let y = rect.center().y;
            let put = |x: f32, text: &str, color| {
                label::cell(&painter, rect, x, rect.width() - x - 8.0, text, color);
            };
            put(10.0, &format!("byte {}", column.offset), theme::weak());
            let bar = Rect::from_min_size(pos2(rect.left() + 74.0, y - 4.0), vec2(48.0, 8.0));
            painter.rect_filled(bar, 0.0, theme::faint());
            let part = vec2((48.0 * column.variety).max(1.0), 8.0);
            painter.rect_filled(Rect::from_min_size(bar.min, part), 0.0, theme::accent());
            put(132.0, &column.what, theme::text());
            if response.hovered() {
                commands.push(Command::Hover(Some(Hover::Byte(column.offset))));
            }
        },
    );
}

/// Whether a field is a part of these bits.
fn within(bits: &Range<u32>, row: &FieldRow) -> bool {
    bits.start <= row.bits.start && row.bits.end <= bits.end && row.bits.start < row.bits.end
}

/// What the nodes did with the packet's messages.
fn outcomes(ui: &mut Ui, model: &Model, id: PacketId) {
    for outcome in model.outcomes(id, 3) {
        let (rect, response) = control::row(ui, ROW, Sense::hover());
        let painter = ui.painter();
        painter.rect_filled(rect, 0.0, theme::related());
        let color = if outcome.ignored {
            theme::warning()
        } else {
            theme::weak()
        };
        let sentence = outcome.sentence();
        let room = rect.width() - 20.0;
        let at = rect.min + vec2(10.0, 2.0);
        label::below(painter, at, room, &sentence, theme::small(), color);
        response.on_hover_text(format!("{sentence}, {} s", outcome.time));
        control::close_up(ui);
    }
}

/// What changed since the packets before; a click selects the last of them.
fn changes(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some((changes, sentence)) = model.changes().zip(model.changes_text()) else {
        return;
    };
    let (rect, _) = control::row(ui, ROW, Sense::hover());
    let response = control::button(ui, rect, "changes", &sentence);
    let painter = ui.painter_at(rect);
    control::shade(&painter, rect, 0.0, false, &response);
    changed(&painter, pos2(rect.left() + 10.0, rect.center().y), true);
    let at = rect.left_center() + vec2(20.0, 0.0);
    let room = rect.width() - 30.0;
    label::write(&painter, at, room, &sentence, theme::small(), theme::weak());
    if response.clicked()
        && let Some(before) = changes.before.first()
    {
        commands.push(Command::SelectPacket(*before));
    }
    response.on_hover_text(format!(
        "{sentence}\nclick: select the last of these packets"
    ));
    control::close_up(ui);
}

/// The sign of what changed, or of what has something below it that did.
fn changed(painter: &Painter, at: egui::Pos2, is_own: bool) {
    if is_own {
        painter.circle_filled(at, 2.5, theme::accent())
    } else {
        painter.circle_stroke(at, 2.5, (1.0, theme::accent()))
    };
}

fn problems(ui: &mut Ui, model: &Model) {
    let problems = model.detail().problems();
    for problem in problems.iter().take(3) {
        note(ui, problem, theme::error());
    }
    if !problems.is_empty() {
        candidates::offer(ui);
    }
}

/// A sentence over what it is about.
pub fn note(ui: &mut Ui, sentence: &str, color: Color32) {
    let (rect, response) = control::row(ui, 20.0, Sense::hover());
    let painter = ui.painter();
    painter.rect_filled(rect, 0.0, theme::faded(color, 0.15));
    let (at, room) = (rect.min + vec2(10.0, 3.0), rect.width() - 20.0);
    label::below(painter, at, room, sentence, theme::mono(), color);
    response.on_hover_text(sentence);
    control::close_up(ui);
}

/// Where the values begin: behind the longest name.
fn values_left(ui: &Ui, rows: &[FieldRow]) -> f32 {
    let widest = rows
        .iter()
        .take(400)
        .map(|row| row.depth as f32 * INDENT + row.name.chars().count() as f32 * 7.3)
        .fold(0.0, f32::max);
    (30.0 + widest + 12.0).min(ui.available_width() * 0.5)
}

/// What can be done with a field.
fn offers(model: &Model, row: &FieldRow, path: String) -> Offers {
    let detail = model.detail();
    let mut offers = vec![
        ("copy the value", What::Copy(row.value.clone())),
        ("copy the path", What::Copy(path)),
        ("copy the line", What::Copy(detail.sentence(row.id))),
    ];
    if let Some(bytes) = detail.bytes_of(row) {
        offers.push(("copy the bytes", What::Copy(text::hex(bytes))));
    }
    if let Some((name, command)) = columns::offer(model, row.id) {
        offers.push((name, What::Do(command)));
    }
    if let Some(plotted) = model.plot_of(row.id) {
        offers.push(("draw it over time", What::Do(Command::Plot(Some(plotted)))));
    }
    if let Some(filter) = model.field_filter(row) {
        offers.push(("filter by this value", What::Filter(filter)));
    }
    offers
}

fn line(
    ui: &mut Ui,
    model: &Model,
    row: &FieldRow,
    values: f32,
    (lit, within): (bool, bool),
    commands: &mut Commands,
) {
    let (rect, _) = control::row(ui, ROW, Sense::hover());
    let response = control::clickable(ui, rect, ("field", row.id.0));
    let path = model.detail().path(row.id);
    let pinned = model.selection().field == Some(row.id);
    let change = model.changes().and_then(|it| it.fields.get(&row.id));
    let was = change.map_or_else(String::new, Change::words);
    let label = format!("field {path}{}", if lit { " lit" } else { "" });
    response.widget_info(|| WidgetInfo {
        current_text_value: change.map(|_| was.clone()),
        ..WidgetInfo::selected(Role::Button, true, pinned, &label)
    });
    let painter = ui.painter_at(rect);
    if pinned {
        painter.rect_filled(rect, 0.0, theme::selected());
    } else if lit || response.hovered() {
        painter.rect_filled(rect, 0.0, theme::related());
    }
    if within {
        let bar = Rect::from_min_size(rect.min, vec2(2.0, rect.height()));
        painter.rect_filled(bar, 0.0, theme::faded(theme::accent(), 0.7));
    }
    let y = rect.center().y;
    let is_around = |id| model.changes().is_some_and(|it| it.around.contains(&id));
    if change.is_some() || (row.open == Some(false) && is_around(row.id)) {
        changed(&painter, pos2(rect.left() + 10.0, y), change.is_some());
    }
    let left = rect.left() + 20.0 + row.depth as f32 * INDENT;
    if let Some(open) = row.open {
        glyph::triangle(&painter, pos2(left - 7.0, y), open, theme::weak());
    }
    written(&painter, model, row, (rect, left, values), &was);
    if response.hovered() {
        commands.push(Command::Hover(Some(Hover::Field(row.id))));
    }
    copy::menu(&response, model, commands, || offers(model, row, path));
    if response.clicked() {
        let on_triangle = response
            .interact_pointer_pos()
            .is_some_and(|at| row.open.is_some() && at.x < left);
        if on_triangle {
            commands.push(Command::ToggleField(row.id));
        } else {
            commands.push(Command::PinField((!pinned).then_some(row.id)));
        }
    }
    if response.double_clicked() && row.open.is_some() {
        commands.push(Command::ToggleField(row.id));
    }
}

/// Writes the name of a field from `left` on, its value from `values` on, and as far as there is room what
/// it `was`, its annotation, and its bits.
fn written(
    painter: &Painter,
    model: &Model,
    row: &FieldRow,
    (rect, left, values): (Rect, f32, f32),
    was: &str,
) {
    let y = rect.center().y;
    let name = match (&row.problem, row.open) {
        (Some(_), _) => theme::error(),
        (None, Some(_)) => theme::text(),
        (None, None) => theme::weak(),
    };
    let end = label::text(painter, pos2(left, y), &row.name, theme::mono(), name).right();
    let value_left = (rect.left() + values).max(end + 10.0);
    let bits = match row.stream {
        StreamId(0) => format!("{}..{}", row.bits.start, row.bits.end),
        stream => {
            let stream = model.detail().stream_name(stream);
            format!("{stream}  {}..{}", row.bits.start, row.bits.end)
        }
    };
    let bits = painter.layout_no_wrap(bits, theme::small(), theme::dim());
    let mut bits_left = rect.right() - 10.0 - bits.size().x;
    // Where there is little room, it is for the value.
    if bits_left - value_left < 40.0 {
        bits_left = rect.right();
    } else {
        painter.galley(pos2(bits_left, y - bits.size().y / 2.0), bits, theme::dim());
    }
    let (text, color) = match &row.problem {
        Some(problem) => (problem, theme::error()),
        None if row.value.is_empty() => (&row.type_name, theme::dim()),
        None => (&row.value, theme::text()),
    };
    let room = bits_left - value_left - 8.0;
    let at = pos2(value_left, y);
    let mut used = label::write(painter, at, room, text, theme::mono(), color).right();
    if !was.is_empty() && bits_left - used > 60.0 {
        let room = bits_left - used - 20.0;
        let at = pos2(used + 12.0, y);
        used = label::write(painter, at, room, was, theme::small(), theme::accent()).right();
    }
    if let Some(annotation) = &row.annotation
        && !row.value.is_empty()
    {
        let text = format!("@{annotation}");
        let room = bits_left - used - 20.0;
        if text.chars().count() as f32 * 6.7 < room {
            let at = pos2(used + 12.0, y);
            label::text(painter, at, &text, theme::small(), theme::dim());
        }
    }
}
