//! What each node believed of each property of each object, at the cursor: what differs from the
//! owner is marked, and so is what was another value at the pinned moment.

use std::ops::Range;

use egui::{Align2, Painter, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{
    Believed, Command, Commands, Model, RowsOf, ValueCell, ValueRow, ValueRows, text,
};
use netreel_protocol::session::NodeId;

use super::copy::{self, What};
use super::links::{chip, node_color};
use super::{control, findings, head, label, scroll};
use crate::theme;

const ROW: f32 = 19.0;
/// The columns of the object and of the property.
const OBJECT: f32 = 118.0;
const PROPERTY: f32 = 92.0;
/// A narrower column of a node says nothing.
const CELL_MIN: f32 = 92.0;
/// How wide a letter of a value is.
const LETTER: f32 = 7.25;
/// The same of the small face.
const SMALL_LETTER: f32 = 6.65;

/// Draws the values.
pub fn show(ui: &mut Ui, model: &Model, of: &mut RowsOf, commands: &mut Commands) {
    if let Some(why) = model.why_no_values() {
        return findings::nothing(ui, "values", "", &format!("No values: {why}."));
    }
    let Some(believed) = model.believed() else {
        let why = model.why_waits();
        let sentence = format!("What nodes believed: {why}.");
        return findings::nothing(ui, "values", why, &sentence);
    };
    let nodes = model.value_nodes();
    let ValueRows { rows, differing } = model.value_rows(&believed, *of);
    head::show(ui, "values", &more(model, &believed, differing));
    bar(ui, model, of, commands);
    against(ui, model, of, commands);
    if rows.is_empty() {
        let sentence = match of {
            _ if believed.row_count() == 0 => "No message told a property of an object.",
            RowsOf::Known => "No object lives at this moment, of those that the filter takes.",
            RowsOf::Differing if model.pair().is_some() => {
                "At this moment the two nodes believe the same of everything."
            }
            RowsOf::Differing => "No node differs from what the owners believe at this moment.",
            RowsOf::Changed if model.pinned().is_none() => {
                "Pin a moment, and put the cursor at another: what changed between them stands here."
            }
            RowsOf::Changed => "Nothing changed between the pinned moment and this one.",
        };
        return findings::empty(ui, sentence);
    }
    let room = ui.available_width() - OBJECT - PROPERTY - 14.0;
    let fit = ((room / CELL_MIN).floor().max(1.0) as usize).min(nodes.len());
    let cell = room / fit.max(1) as f32;
    let shown = nodes.get(..fit).unwrap_or_default();
    names(ui, model, shown, cell, nodes.len() - fit, of, commands);
    let focus = model.value_in_focus(&believed);
    let seen_key = ui.scope_id().with("seen");
    let seen: Option<Range<usize>> = ui.data(|data| data.get_temp(seen_key));
    // What is selected comes into view; what somebody clicked stays under the pointer.
    let object = model.selection().object;
    let at = object.map(|object| rows.partition_point(|row| row.object < object));
    let at = at.filter(|at| rows.get(*at).is_some_and(|row| Some(row.object) == object));
    let moved = scroll::changed(ui.ctx(), "values object", (object, at.is_some()));
    let to = at.filter(|at| moved && !seen.is_some_and(|seen| seen.contains(at)));
    let area = scroll::area(ui, "values", (rows.len(), ROW), to.map(|at| (at, 0.0)));
    area.show_rows(ui, ROW, rows.len(), |ui, range| {
        ui.data_mut(|data| data.insert_temp(seen_key, range.clone()));
        let first = range.start;
        for (place, &row) in rows.get(range).unwrap_or_default().iter().enumerate() {
            let before = (first + place).checked_sub(1).and_then(|it| rows.get(it));
            let is_new = place == 0 || before.is_none_or(|before| before.object != row.object);
            let drawn = Drawn {
                row,
                is_new,
                is_selected: focus == Some(row),
                cell,
            };
            line(ui, model, &believed, &drawn, shown, commands);
        }
    });
}

/// When, and how many values differ then.
fn more(model: &Model, believed: &Believed, differing: Option<usize>) -> String {
    let at = match model.cursor() {
        Some(at) => format!("at {} s", text::seconds(at)),
        None => format!("at {} s, the end", text::seconds(model.moment())),
    };
    let Some(differ) = differing else {
        return format!(
            "{at}   {}",
            text::many(believed.row_count() as u64, "value")
        );
    };
    if let Some((one, other)) = model.pair() {
        let (one, other) = (model.lane_name(one), model.lane_name(other));
        let differ = text::count(differ as u64);
        return format!("{at}   {differ} differ between {one} and {other}");
    }
    match differ {
        0 => format!("{at}   none differs from its owner's"),
        1 => format!("{at}   1 differs from its owner's"),
        _ => format!("{at}   {differ} differ from their owners'"),
    }
}

fn bar(ui: &mut Ui, model: &Model, of: &mut RowsOf, commands: &mut Commands) {
    ui.add_space(3.0);
    head::wrapped(ui, |ui| {
        for (name, rows) in RowsOf::ALL {
            if ui
                .selectable_label(*of == rows, label::body(name))
                .clicked()
            {
                *of = rows;
            }
        }
        ui.separator();
        around(ui, model, commands);
        match model.pinned() {
            None => {
                if ui
                    .button("pin this moment")
                    .on_hover_text("hold what comes against it (M)")
                    .clicked()
                {
                    commands.push(Command::Pin(Some(model.moment())));
                }
            }
            Some(pinned) => {
                let said = label::mono(format!("against {} s", text::seconds(pinned)));
                ui.label(said.color(theme::accent()));
                if ui.button("go there").clicked() {
                    commands.push(Command::Pin(Some(model.moment())));
                    commands.push(Command::SetCursor(Some(pinned)));
                }
                if ui.button("unpin").clicked() {
                    commands.push(Command::Pin(None));
                }
            }
        }
    });
}

/// Which nodes are held against each other, and the way back to all.
fn against(ui: &mut Ui, model: &Model, of: &mut RowsOf, commands: &mut Commands) {
    let Some((one, other)) = model.against() else {
        // The line is there all the same: the names below stay under the pointer.
        let said = label::body("click two nodes' names to hold them against each other");
        head::wrapped(ui, |ui| {
            ui.set_min_height(ui.spacing().interact_size.y);
            ui.label(said.color(theme::dim()));
        });
        return;
    };
    head::wrapped(ui, |ui| {
        let one = model.lane_name(one);
        let said = match other {
            Some(other) => format!("{one} against {}", model.lane_name(other)),
            None => format!("{one} against… click another node's name"),
        };
        ui.label(label::body(said).color(theme::accent()));
        if ui.button("all nodes").clicked() {
            *of = RowsOf::Known;
            commands.push(Command::Against(None));
        }
    });
}

/// What a click on a node's name does: the first one waits for another, and of two only what differs
/// is shown.
fn chosen(model: &Model, node: NodeId, of: &mut RowsOf) -> Command {
    Command::Against(match model.against() {
        Some((one, None)) if one != node => {
            *of = RowsOf::Differing;
            Some((one, Some(node)))
        }
        // One of the two waits for another in place of the one that was clicked.
        Some((one, Some(other))) if one == node => Some((other, None)),
        Some((one, Some(_))) => Some((one, None)),
        Some(_) => None,
        None => Some((node, None)),
    })
}

/// Just before the selected packet, and just after it, in one click.
fn around(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let (Some(packet), Some((before, after))) = (model.selection().packet, model.around_packet())
    else {
        return;
    };
    if model.pinned() == Some(before) && model.cursor() == Some(after) {
        return;
    }
    let button = ui.button(format!("around packet {}", packet.0));
    let what = "hold the moment at which it was received against the one before it";
    if button.on_hover_text(what).clicked() {
        commands.push(Command::Pin(Some(before)));
        commands.push(Command::SetCursor(Some(after)));
    }
}

fn names(
    ui: &mut Ui,
    model: &Model,
    nodes: &[NodeId],
    cell: f32,
    hidden: usize,
    of: &mut RowsOf,
    commands: &mut Commands,
) {
    let (rect, _) = control::row(ui, ROW, Sense::hover());
    let painter = ui.painter_at(rect);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, (1.0, theme::line()));
    let y = rect.center().y;
    for (left, text) in [(10.0, "object"), (OBJECT, "property")] {
        let at = pos2(rect.left() + left, y);
        label::text(&painter, at, text, theme::small(), theme::weak());
    }
    for (place, &node) in nodes.iter().enumerate() {
        let left = rect.left() + OBJECT + PROPERTY + place as f32 * cell;
        let name = model.lane_name(node);
        let area = Rect::from_min_size(pos2(left, rect.top()), vec2(cell - 2.0, ROW));
        let is_held = model
            .against()
            .is_some_and(|(one, other)| one == node || other == Some(node));
        let response = control::choice(
            ui,
            area,
            ("against", node),
            is_held,
            &format!("hold {name} against another node"),
        );
        control::shade(&painter, area, 2.0, is_held, &response);
        if response.clicked() {
            commands.push(chosen(model, node, of));
        }
        response.on_hover_text(format!(
            "{name}: click it, and another node, to see what differs"
        ));
        chip(&painter, pos2(left + 6.0, y), node_color(model, node));
        let at = pos2(left + 15.0, y);
        label::write(
            &painter,
            at,
            cell - 22.0,
            name,
            theme::body(),
            theme::text(),
        );
    }
    if hidden > 0 {
        let (at, align) = (pos2(rect.right() - 6.0, y), Align2::RIGHT_CENTER);
        let said = format!("and {hidden} nodes");
        painter.text(at, align, said, theme::small(), theme::warning());
    }
    control::close_up(ui);
}

/// A row, and how it is drawn.
struct Drawn {
    row: ValueRow,
    /// Whether the object is named.
    is_new: bool,
    is_selected: bool,
    cell: f32,
}

fn line(
    ui: &mut Ui,
    model: &Model,
    believed: &Believed,
    drawn: &Drawn,
    nodes: &[NodeId],
    commands: &mut Commands,
) {
    let (rect, _) = control::row(ui, ROW, Sense::hover());
    let painter = ui.painter_at(rect);
    let row = drawn.row;
    let property = believed.property_name(row.property);
    of_what(&painter, model, rect, drawn, property);
    for (place, (cell, &node)) in model
        .value_cells(believed, row, nodes)
        .iter()
        .zip(nodes)
        .enumerate()
    {
        let left = rect.left() + OBJECT + PROPERTY + place as f32 * drawn.cell;
        let area = Rect::from_min_size(pos2(left, rect.top()), vec2(drawn.cell - 2.0, ROW));
        let response = control::clickable(ui, area, (row.object, row.property.0, node));
        let who = model.lane_name(node);
        let is_selected = drawn.is_selected;
        response.widget_info(|| {
            let differs = match model.pair() {
                Some(_) => ", differs from the other's",
                None => ", differs from the owner's",
            };
            let label = label_of(property, row.object, who, cell, differs);
            WidgetInfo::selected(Role::Button, true, is_selected, &label)
        });
        let color = node_color(model, node);
        paint(&painter, area, cell, response.hovered(), color);
        if response.clicked() {
            if let Some(message) = model.value_because(believed, row, node) {
                commands.push(Command::SelectMessage(message));
            }
            commands.push(Command::SelectValue(row));
        }
        let words = || {
            let since = model.value_since(believed, row, node).unwrap_or_default();
            let object = model.object_name(row.object);
            format!("{object} at {who}\n{}\n{since}", cell.text)
        };
        copy::menu(&response, model, commands, || {
            vec![
                ("copy the value", What::Copy(cell.text.clone())),
                ("copy what is known of it", What::Copy(words())),
                ("filter by this object", copy::object(row.object)),
            ]
        });
        if response.hovered() {
            response.on_hover_text(words());
        }
    }
}

/// What a row is of: its object, where that is new, and its property.
fn of_what(painter: &Painter, model: &Model, rect: Rect, drawn: &Drawn, property: &str) {
    let row = drawn.row;
    if drawn.is_selected {
        painter.rect_filled(rect, 0.0, theme::selected());
    } else if model.selection().object == Some(row.object) {
        painter.rect_filled(rect, 0.0, theme::related());
    }
    if drawn.is_new {
        painter.hline(rect.x_range(), rect.top() + 0.5, (1.0, theme::faint()));
        let name = model.object_name(row.object);
        label::cell(painter, rect, 10.0, OBJECT - 16.0, &name, theme::text());
    }
    let room = PROPERTY - 6.0;
    label::cell(painter, rect, OBJECT, room, property, theme::weak());
}

fn label_of(property: &str, object: u64, who: &str, cell: &ValueCell, differs: &str) -> String {
    let mut label = format!("{property} of {object} at {who}: ");
    label.push_str(if cell.text.is_empty() {
        "not known"
    } else {
        &cell.text
    });
    if cell.differs {
        label.push_str(differs);
    }
    if let Some(before) = &cell.before {
        let before = if before.is_empty() {
            "not known"
        } else {
            before
        };
        label.push_str(&format!(", before {before}"));
    }
    label
}

fn paint(painter: &Painter, area: Rect, cell: &ValueCell, is_hovered: bool, node: egui::Color32) {
    if cell.differs {
        painter.rect_filled(area.shrink(1.0), 2.0, theme::faded(theme::error(), 0.3));
    }
    if is_hovered {
        let edge = (1.0, theme::accent());
        painter.rect_stroke(area, 2.0, edge, egui::StrokeKind::Inside);
    }
    if cell.is_owner {
        painter.circle_filled(pos2(area.left() + 6.0, area.center().y), 3.0, node);
    }
    let color = match &cell.before {
        Some(_) => theme::accent(),
        None if cell.is_value => theme::text(),
        None => theme::dim(),
    };
    // What does not fit is said whole where the pointer is.
    let room = area.width() - 18.0;
    let characters = |letter: f32| (room / letter).max(0.0) as usize;
    let or_none = |text: &str, characters: usize| match text {
        "" => "–".to_owned(),
        text => text::narrow(text, characters),
    };
    let shown = |characters: usize| match &cell.before {
        Some(before) => {
            let half = characters.saturating_sub(3) / 2;
            format!("{} → {}", or_none(before, half), or_none(&cell.text, half))
        }
        None => or_none(&cell.text, characters),
    };
    let (mut font, mut text) = (theme::mono(), shown(characters(LETTER)));
    if text.chars().count() > characters(LETTER) {
        (font, text) = (theme::small(), shown(characters(SMALL_LETTER)));
    }
    let at = area.left_center() + vec2(14.0, 0.0);
    label::write(painter, at, room, &text, font, color);
}
