//! The columns of the packet table: how wide they are, what stands above them, and the menu there that
//! adds and removes columns.

use std::borrow::Cow;

use egui::{Rect, Role, Ui, pos2};
use netreel_inspector_model::{Column, Command, Commands, FIELDS_MAX, Model, Sorting, text};
use netreel_protocol::packet_fields::PacketField;
use netreel_wire::TreeId;

use super::control;
use crate::{glyph, theme};

/// Between two columns.
pub const GAP: f32 = 11.0;
/// A character of the table's face.
const CHARACTER: f32 = 7.3;

/// These columns are no narrower.
const LINK_MIN: f32 = 80.0;
const FATE_MIN: f32 = 82.0;
const FIELD_MIN: f32 = 48.0;
/// Messages have at least this much.
pub const MESSAGES_MIN: f32 = 70.0;

/// A column of a field is as wide as its head, but no less and no more than this many characters.
const FIELD_LENGTHS: (usize, usize) = (9, 18);

/// What a narrow table lacks, the first first: the packet pane has all of it.
const NARROW_LACKS: [Column; 3] = [
    Column::Of(PacketField::Sequence),
    Column::Of(PacketField::Length),
    Column::Of(PacketField::Objects),
];

/// What a narrow table lacks where somebody has added columns, the first first.
const ADDED_INSTEAD_OF: [Column; 2] = [LATENCY, FATE];

const LATENCY: Column = Column::Of(PacketField::Late);
const FATE: Column = Column::Of(PacketField::Fate);
const LINK: Column = Column::Of(PacketField::Link);
pub const MESSAGES: Column = Column::Of(PacketField::Messages);

/// How wide the table is with the columns that it always has. Those that somebody has added take room
/// from the others first.
pub fn width_min(model: &Model) -> f32 {
    let mut columns = model.columns();
    let added = |column: &Column| matches!(column, Column::Field(_));
    let fields = columns.iter().filter(|column| added(column)).count();
    columns.retain(|column| !added(column));
    if columns.contains(&MESSAGES) {
        columns.retain(|column| !NARROW_LACKS.contains(column));
    }
    width(&columns, model) + fields as f32 * (FIELD_MIN + GAP)
}

fn width(columns: &[Column], model: &Model) -> f32 {
    columns
        .iter()
        .map(|column| width_of(*column, model))
        .map(|width| width + GAP)
        .sum::<f32>()
        + 14.0
}

/// As wide as what stands in it; messages are as wide as there is room, this is the least.
fn width_of(column: Column, model: &Model) -> f32 {
    let characters = |count: usize| (count as f32 * CHARACTER).ceil();
    match column {
        Column::Of(field) => match field {
            PacketField::Packet | PacketField::Objects => 50.0,
            PacketField::Time => characters(text::seconds(model.span().end).len()).max(74.0),
            PacketField::Utc => characters("14:03:22.123456".len()),
            PacketField::Link => characters(model.short_link_length()).max(LINK_MIN),
            PacketField::Messages => 110.0,
            PacketField::Sequence | PacketField::Length => 38.0,
            PacketField::Late => 62.0,
            PacketField::Fate => characters(model.fate_length()).max(FATE_MIN),
            _ => characters(head(column, model).chars().count()).max(74.0),
        },
        Column::Since | Column::OnLink => characters("100.0 ms".len()),
        Column::Selected => characters("-100.0 ms".len()),
        Column::Field(_) => characters(
            head(column, model)
                .chars()
                .count()
                .clamp(FIELD_LENGTHS.0, FIELD_LENGTHS.1),
        ),
    }
}

/// The columns that fit, each with its width; and those that there is no room for.
pub fn fitting(model: &Model, room: f32) -> (Vec<(Column, f32)>, Vec<Column>) {
    let columns = model.columns();
    let mut over = width(&columns, model) - room;
    let messages = columns.contains(&MESSAGES);
    // What the table is sorted by stays.
    let sorted = model.sorting().map(|it| it.by);
    let mut widths: Vec<(Column, f32)> = columns
        .into_iter()
        .map(|column| (column, width_of(column, model)))
        .collect();
    let mut without = Vec::new();
    let mut leave_out = |these: &[Column], widths: &mut Vec<(Column, f32)>, over: &mut f32| {
        for &lacks in these.iter().filter(|it| Some(**it) != sorted) {
            if *over > 0.0 && widths.iter().any(|(column, _)| *column == lacks) {
                widths.retain(|(column, _)| *column != lacks);
                *over -= width_of(lacks, model) + GAP;
                without.push(lacks);
            }
        }
    };
    // Where no wire says what a packet carries, its length is what there is to say.
    if messages {
        leave_out(&NARROW_LACKS, &mut widths, &mut over);
    }
    // What a fate begins with says most of it; who sent a packet stands at both ends of the link.
    for (narrower, least) in [(FATE, FATE_MIN), (LINK, LINK_MIN)] {
        if let Some((_, width)) = widths
            .iter_mut()
            .find(|(column, _)| *column == narrower)
            .filter(|_| over > 0.0)
        {
            let narrow = (*width - over).max(least.min(*width));
            over -= *width - narrow;
            *width = narrow;
        }
    }
    let added = |(column, _): &&mut (Column, f32)| matches!(column, Column::Field(_));
    for (_, width) in widths.iter_mut().filter(added) {
        let narrow = (*width - over.max(0.0)).max(FIELD_MIN);
        over -= *width - narrow;
        *width = narrow;
    }
    // Where somebody adds more than there is room for, the others go, and that is told.
    if !model.own_columns().is_empty() {
        over -= width_of(MESSAGES, model) - MESSAGES_MIN;
        leave_out(&ADDED_INSTEAD_OF, &mut widths, &mut over);
    }
    (widths, without)
}

/// That columns have no room, and what helps; empty where all have some.
pub fn no_room(without: &[Column], model: &Model) -> String {
    let heads: Vec<Cow<'_, str>> = without.iter().map(|it| head(*it, model)).collect();
    if heads.is_empty() {
        String::new()
    } else {
        format!(
            "   no room for {}: widen the pane{}",
            heads.join(", "),
            if model.own_columns().is_empty() {
                ""
            } else {
                " or remove a column"
            }
        )
    }
}

/// What stands above a column.
pub fn head(column: Column, model: &Model) -> Cow<'_, str> {
    let head = match column {
        LATENCY => model.measured_alike().unwrap_or("latency"),
        Column::Of(field) => field.declared().head,
        Column::Since => "since",
        Column::OnLink => "on link",
        Column::Selected => "from here",
        Column::Field(_) => return Cow::Owned(short(column, model)),
    };
    Cow::Borrowed(head)
}

/// The last name of a field's path; where another column's field has the same, the last two.
fn short(column: Column, model: &Model) -> String {
    let path = model.column_path(column);
    let last = |path: &str| text::last_names(path, 1);
    let alike = model
        .own_columns()
        .fields
        .iter()
        .filter(|other| last(other) == last(path))
        .count();
    text::last_names(path, if alike > 1 { 2 } else { 1 })
}

/// What a column is called where somebody hears it: all of a path.
fn name(column: Column, model: &Model) -> Cow<'_, str> {
    match (column.time_name(), column) {
        (Some(name), _) => Cow::Borrowed(name),
        (None, Column::Field(_)) => Cow::Borrowed(model.column_path(column)),
        (None, _) => head(column, model),
    }
}

/// Which way a column is sorted, in words: `largest first`.
fn way(Sorting { by, down }: Sorting) -> &'static str {
    match (by, down) {
        (by, true) if by.is_of_time() => "the last first",
        (by, false) if by.is_of_time() => "the first first",
        (LINK | MESSAGES, false) => "from A to Z",
        (LINK | MESSAGES, true) => "from Z to A",
        (FATE, false) => "what went wrong first",
        (FATE, true) => "what arrived first",
        (by, false) if by.is_of_durations() => "the shortest first",
        (by, true) if by.is_of_durations() => "the longest first",
        (_, false) => "the smallest first",
        (_, true) => "the largest first",
    }
}

/// By what the table is sorted, or why it is not yet; empty where it is in the order of time.
pub fn sorted(model: &Model) -> String {
    let Some(sorting) = model.sorting() else {
        return String::new();
    };
    let name = name(sorting.by, model);
    match model.why_not_sorted() {
        Some(why) => format!("   not sorted by {name}: {why}"),
        None => format!("   sorted by {name}, {}", way(sorting)),
    }
}

/// What can be done about the order of the table, each with its name: by the columns that it has.
pub fn sort_offers(model: &Model, of: &[Column]) -> Vec<(String, Command)> {
    let mut offers = Vec::new();
    for &by in of {
        let of_time = by.is_of_time();
        let name = name(by, model);
        for down in [false, true].into_iter().filter(|down| *down || !of_time) {
            let sorting = Sorting { by, down };
            if model.sorting() != Some(sorting) {
                let words = format!("sort by {name}: {}", way(sorting));
                offers.push((words, Command::Sort(Some(sorting))));
            }
        }
    }
    if model.sorting().is_some() {
        let words = "sort by time, as it was".to_owned();
        offers.push((words, Command::Sort(None)));
    }
    offers
}

/// What a click on each head does, its menu, and under the pointer all of its name.
pub fn menus(ui: &Ui, model: &Model, heads: &[(Column, Rect)], commands: &mut Commands) {
    for &(column, rect) in heads {
        let rect = rect.intersect(ui.clip_rect());
        let name = name(column, model);
        let response = control::clickable(ui, rect, ("head of a column", &name));
        let sorted = model.sorting().filter(|it| it.by == column);
        let label = match sorted {
            Some(sorting) => format!("column {name}, sorted: {}", way(sorting)),
            None => format!("column {name}"),
        };
        control::named(&response, Role::ColumnHeader, &label);
        if let Some(Sorting { down, .. }) = sorted {
            let at = pos2(rect.right() + GAP / 2.0, rect.center().y);
            glyph::sorted(ui.painter(), at, down, theme::accent());
        }
        if response.clicked() {
            commands.push(Command::Sort(model.sorting_after(column)));
        }
        response.context_menu(|ui| {
            let mut offer = |ui: &mut Ui, offers: Vec<(String, Command)>| {
                for (name, command) in offers {
                    if ui.button(name).clicked() {
                        commands.push(command);
                    }
                }
            };
            offer(ui, sort_offers(model, &[column]));
            ui.separator();
            offer(ui, model.column_offers());
            if model.selection().packet.is_none() && model.session().wire.is_some() {
                ui.weak("The fields of the selected packet can be columns: select one.");
            }
        });
        response.on_hover_text(format!("{name}\nclick: sort by it"));
    }
}

/// What the menu of a field of the selected packet offers; `None` where nothing would stand in its
/// column, or there are as many columns of fields as there can be.
pub fn offer(model: &Model, field: TreeId) -> Option<(&'static str, Command)> {
    let path = model.path_for_column(field)?;
    let own = model.own_columns();
    match own.has(&path) {
        true => Some((
            "remove its column from the table",
            Command::SetColumns(own.without(&path)),
        )),
        false if own.fields.len() < FIELDS_MAX => Some((
            "add it as a column of the table",
            Command::SetColumns(own.with(&path)),
        )),
        false => None,
    }
}

/// Whether what stands in a column ends at its right edge.
pub fn right(column: Column) -> bool {
    match column {
        Column::Of(field) => field.declared().of.is_number(),
        Column::Since | Column::OnLink | Column::Selected => true,
        Column::Field(_) => false,
    }
}
