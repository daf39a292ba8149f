//! Columns of the packet table: fields of the wire, and the time since the row before.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::{Window, apply, open};
use egui::accesskit::Role;
use egui::{Key, Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use fixture::{BOX, CREATE};
use netreel_inspector::{Inspector, Request, Settings, Workspace, draw};
use netreel_inspector_model::{Command, Model};
use netreel_wire::KindId;

/// The workspace of the table, with a packet selected that creates the box; and the path of the field
/// that names it.
fn table() -> (Window, String) {
    let mut window = open(fixture::race_model(), Workspace::Packets);
    let session = window.state().model().shared_session();
    let creates = session.messages().find(|message| {
        message.kind() == Some(KindId(CREATE)) && message.facts.object == Some(BOX)
    });
    let packet = creates.expect("a packet that creates it").packet;
    apply(&mut window, Command::SelectPacket(packet));
    let detail = window.state().model().detail().clone();
    let rows = detail.rows();
    let names = |it: &&_| row_annotation(it) == Some("object");
    let row = rows.iter().find(names).expect("a field that names it");
    let path = detail.path(row.id);
    (window, path)
}

fn row_annotation(row: &netreel_inspector_model::FieldRow) -> Option<&str> {
    row.annotation.as_deref()
}

/// The names of the heads of columns.
fn heads(window: &Window) -> Vec<String> {
    let heads = window.query_all_by_role(Role::ColumnHeader);
    heads.filter_map(|it| it.accesskit_node().label()).collect()
}

fn model(window: &Window) -> &Model {
    window.state().model()
}

/// Chooses a line of the menu of what has this name.
fn choose(window: &mut Window, of: &str, line: &str) {
    window.get_by_label(of).click_secondary();
    window.run();
    window.get_by_label(line).click();
    window.run();
}

#[test]
fn a_field_of_the_packet_becomes_a_column_and_goes_by_the_menu_of_its_head() {
    let (mut window, path) = table();
    let before = heads(&window);
    choose(
        &mut window,
        &format!("field {path}"),
        "add it as a column of the table",
    );
    let own = model(&window).own_columns().fields.clone();
    let head = format!("column {}", own[0]);
    assert!(!before.contains(&head));
    assert!(heads(&window).contains(&head), "{:?}", heads(&window));
    choose(&mut window, &head, &format!("remove column: {}", own[0]));
    assert_eq!(heads(&window), before);
}

#[test]
fn any_head_offers_the_time_since_the_row_before() {
    let (mut window, _) = table();
    choose(
        &mut window,
        "column time s",
        "add column: time since the row before",
    );
    assert!(model(&window).own_columns().since);
    let second = model(&window).since(1);
    assert!(window.query_all_by_label(&second).next().is_some());
    let head = "column time since the row before";
    choose(
        &mut window,
        head,
        "remove column: time since the row before",
    );
    assert!(!heads(&window).iter().any(|it| it == head));
}

#[test]
fn columns_come_and_go_without_a_mouse() {
    let (mut window, _) = table();
    for is_there in [true, false] {
        window.key_press_modifiers(Modifiers::COMMAND, Key::P);
        window.run();
        let text = "column: time since";
        window.get_by_label("Do or go").type_text(text);
        window.run();
        window.key_press(Key::Enter);
        window.run();
        assert_eq!(model(&window).own_columns().since, is_there);
    }
    // And by the way back.
    window.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    window.run();
    assert!(model(&window).own_columns().since);
}

#[test]
fn another_window_and_another_session_have_the_same_columns() {
    let (mut window, path) = table();
    let menu = format!("field {path}");
    choose(&mut window, &menu, "add it as a column of the table");
    let kept = window.state_mut().take_requests().into_iter();
    let kept = kept.filter_map(|it| match it {
        Request::Keep(settings) => Some(settings),
        _ => None,
    });
    let kept = kept.last().expect("it is kept");
    let mut inspector = Inspector::new(fixture::race_model(), Workspace::Packets);
    inspector.set_settings(Settings::from_json(&kept.to_json()).expect("settings"));
    let mut again = Harness::builder()
        .with_size(vec2(1600.0, 1000.0))
        .build_ui_state(|ui, it: &mut Inspector| it.show(ui), inspector);
    again.run();
    assert_eq!(heads(&again), heads(&window));
    again.state_mut().hear(netreel_inspector::Answer::Opened {
        model: Box::new(fixture::race_model()),
        title: "another one".to_owned(),
        paths: Vec::new(),
    });
    again.run();
    assert_eq!(heads(&again), heads(&window));
}

#[test]
fn columns_of_fields_are_drawn_in_every_size() {
    for (name, size) in [("small", (480, 480)), ("large", (1600, 1000))] {
        let (window, _) = table();
        let mut model = fixture::race_model();
        model.apply(Command::SelectPacket(
            window.state().model().selection().packet.expect("a packet"),
        ));
        let adds = |(name, command): (String, Command)| {
            let is_it = name.starts_with("add column: messages");
            is_it.then_some(command)
        };
        for _ in 0..2 {
            let command = model.column_offers().into_iter().find_map(adds);
            model.apply(command.expect("a field that can be one"));
        }
        let since = netreel_inspector_model::OwnColumns {
            since: true,
            ..netreel_inspector_model::OwnColumns::clone(model.own_columns())
        };
        model.apply(Command::SetColumns(since));
        let columns = model.own_columns().fields.clone();
        assert_eq!(columns.len(), 2);
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = path.join(format!("columns-{name}.png"));
        let mut inspector = Inspector::new(model, Workspace::Packets);
        draw(&mut inspector, size, &path).expect("a picture");
        assert!(path.metadata().expect("a file").len() > 10_000);
        assert_eq!(inspector.model().own_columns().fields, columns);
        // What has no room is told of.
        let mut shown = Harness::builder()
            .with_size(vec2(size.0 as f32, size.1 as f32))
            .build_ui_state(|ui, it: &mut Inspector| it.show(ui), inspector);
        shown.run();
        let heads = heads(&shown);
        let has_room = name == "large";
        assert_eq!(heads.iter().any(|it| it == "column fate"), has_room);
    }
}
