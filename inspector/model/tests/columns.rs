//! Columns that somebody adds to the packet table.

mod fixture;

use fixture::{BOX, CREATE};
use netreel_inspector_model::{Column, Command, FIELDS_MAX, Model, OwnColumns, Sorting};
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::PacketId;
use netreel_wire::{KindId, TreeId};

/// The race, with a packet selected that creates the box.
fn model() -> Model {
    let mut model = fixture::race_model();
    let mut messages = model.session().messages();
    let creates = messages.find(|message| {
        message.kind() == Some(KindId(CREATE)) && message.facts.object == Some(BOX)
    });
    let packet = creates.expect("a packet that creates it").packet;
    drop(messages);
    model.apply(Command::SelectPacket(packet));
    model
}

/// The path of the selected packet's field that names the object.
fn object_path(model: &Model) -> String {
    let rows = model.detail().rows();
    let row = rows
        .iter()
        .find(|row| row.annotation.as_deref() == Some("object"));
    let row = row.expect("a field that names it");
    model.path_for_column(row.id).expect("a path")
}

fn add(model: &mut Model, path: &str) {
    let columns = model.own_columns().with(path);
    model.apply(Command::SetColumns(columns));
}

#[test]
fn the_table_has_every_column_that_is_declared_for_it_and_can_be_sorted_by_it() {
    let mut model = model();
    model.apply(Command::SetColumns(OwnColumns {
        clock: true,
        ..OwnColumns::default()
    }));
    for (name, field) in PacketField::on(|it| it.window) {
        let by = Column::Of(field);
        assert!(
            model.columns().contains(&by),
            "the window lacks the column `{name}`, which packet_fields.rs declares for it"
        );
        let rows = model.packet_rows(0..model.row_count());
        let is_told = rows.iter().any(|row| !row.cell(field).is_empty());
        assert!(is_told, "nothing stands in the column `{name}`");
        model.apply(Command::Sort(Some(Sorting { by, down: true })));
        assert_eq!(model.why_not_sorted(), None, "by `{name}`");
    }
}

#[test]
fn a_column_of_a_field_has_what_each_packet_says_there() {
    let mut model = model();
    let path = object_path(&model);
    add(&mut model, &path);
    assert!(model.columns().contains(&Column::Field(0)));
    assert_eq!(model.column_path(Column::Field(0)), path);
    let mut with_one = 0;
    for row in model.packet_rows(0..model.row_count()) {
        let messages = model.messages_of(row.packet);
        let created = messages.filter(|(_, facts)| facts.kind == Some(KindId(CREATE)));
        let objects = created.filter_map(|(_, facts)| Some(facts.object?.to_string()));
        let objects: Vec<String> = objects.collect();
        let expected = match objects.len() {
            0..=4 => objects.join(" "),
            more => format!("{} +{}", objects[..4].join(" "), more - 4),
        };
        assert_eq!(row.own[..], [expected], "packet {}", row.packet.0);
        with_one += usize::from(!objects.is_empty());
    }
    assert!(with_one > 1, "{with_one}");
}

#[test]
fn times_are_told_from_the_selected_packet() {
    let mut model = model();
    model.apply(Command::SetColumns(OwnColumns {
        selected: true,
        ..OwnColumns::default()
    }));
    assert!(model.columns().contains(&Column::Selected));
    let here = model.selection().packet.expect("it is selected");
    assert_eq!(model.since_selected(here), "+0 ns");
    let time = |id: PacketId| Some(model.packet(id)?.first()?.time.0);
    let mut earlier = 0;
    for id in (0..model.session().packet_count() as u32).map(PacketId) {
        let since = time(id).expect("a time") - time(here).expect("a time");
        let sign = if since < 0 { "" } else { "+" };
        let expected = format!("{sign}{}", netreel_inspector_model::text::duration(since));
        assert_eq!(model.since_selected(id), expected, "{id:?}");
        earlier += usize::from(since < 0);
    }
    assert!(earlier > 10, "{earlier}");
    model.apply(Command::LetGo);
    assert_eq!(model.selection().packet, None);
    assert_eq!(model.since_selected(here), "");
}

#[test]
fn a_field_that_the_wire_does_not_have_is_no_column_but_is_kept() {
    let mut model = model();
    add(&mut model, "messages.of_another_wire");
    let path = object_path(&model);
    add(&mut model, &path);
    let fields = model.columns().into_iter();
    let fields = fields.filter(|column| matches!(column, Column::Field(_)));
    assert_eq!(fields.collect::<Vec<_>>(), [Column::Field(1)]);
    assert_eq!(model.own_columns().fields.len(), 2);
}

#[test]
fn columns_are_taken_back_and_added_again() {
    let mut model = model();
    let path = object_path(&model);
    add(&mut model, &path);
    let packet = model.selection().packet.expect("it is selected");
    let before = model.packet_row(packet).expect("a row").own;
    model.apply(Command::Back);
    assert_eq!(**model.own_columns(), OwnColumns::default());
    assert!(model.packet_row(packet).expect("a row").own.is_empty());
    model.apply(Command::Forward);
    assert_eq!(model.packet_row(packet).expect("a row").own, before);
}

#[test]
fn there_are_no_more_columns_than_have_room_and_none_twice() {
    let mut columns = OwnColumns::default();
    for number in 0..FIELDS_MAX + 2 {
        columns = columns
            .with(&format!("field_{number}"))
            .with(&format!("field_{number}"));
    }
    assert_eq!(columns.fields.len(), FIELDS_MAX);
    assert!(!columns.without("field_0").has("field_0"));
}

#[test]
fn what_has_no_value_of_its_own_is_no_column() {
    let model = model();
    let rows = model.detail().rows();
    let around = rows.iter().find(|row| row.open.is_some());
    let around = around.expect("a field around others");
    assert_eq!(around.value, "");
    assert_eq!(model.path_for_column(around.id), None);
    assert_eq!(model.path_for_column(TreeId(u32::MAX)), None);
}

#[test]
fn what_is_offered_adds_a_field_of_the_selected_packet_and_removes_it() {
    let mut model = model();
    let path = object_path(&model);
    let offered = |model: &Model, name: &str| {
        let mut offers = model.column_offers().into_iter();
        offers
            .find(|(it, _)| it == name)
            .map(|(_, command)| command)
    };
    let (add, remove) = (
        format!("add column: {path}"),
        format!("remove column: {path}"),
    );
    assert_eq!(offered(&model, &remove), None);
    let command = offered(&model, &add).expect("it is offered");
    model.apply(command);
    assert!(model.own_columns().has(&path));
    assert_eq!(offered(&model, &add), None);
    let command = offered(&model, &remove).expect("it is offered");
    model.apply(command);
    assert!(!model.own_columns().has(&path));
}

#[test]
fn the_time_since_the_row_before_is_that_of_the_rows_that_are_shown() {
    let mut model = model();
    assert_eq!(model.since(0), "");
    let time = |id: PacketId| {
        let packet = model.packet(id).expect("a packet");
        packet.first().expect("a time").time.0
    };
    let all: Vec<i64> = (0..model.row_count() as u32)
        .map(|id| time(PacketId(id)))
        .collect();
    let text = netreel_inspector_model::text::duration;
    for row in 1..all.len() {
        assert_eq!(model.since(row), text(all[row] - all[row - 1]), "row {row}");
    }
    // Of a filtered table it is since the row before, not since the packet before.
    model.apply(Command::SetFilter("object == 42".to_owned()));
    let shown: Vec<PacketId> = (0..model.row_count())
        .filter_map(|row| model.packet_at(row))
        .collect();
    let skips = (1..shown.len()).find(|&row| shown[row].0 > shown[row - 1].0 + 1);
    let row = skips.expect("a packet that is left out");
    let [before, now] = [shown[row - 1], shown[row]].map(|id| all[id.0 as usize]);
    assert_eq!(model.since(row), text(now - before));
}
