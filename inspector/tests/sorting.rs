//! The packet table, sorted by a click on the head of a column.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::Path;

use drive::{Window, apply, open};
use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use netreel_inspector::{Answer, Inspector, Request, Settings, Stage, Workspace, draw};
use netreel_inspector_model::{Column, Command, Model, OwnColumns, Sorting};
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::PacketId;

fn table() -> Window {
    open(fixture::race_model(), Workspace::Packets)
}

fn model(window: &Window) -> &Model {
    window.state().model()
}

fn click(window: &mut Window, label: &str) {
    window.get_by_label(label).click();
    window.run();
}

/// The packets of the rows that are on the screen, from the top.
fn shown(window: &Window) -> Vec<u32> {
    let rows = window.query_all_by_role(Role::Row);
    let rows = rows.filter_map(|row| {
        let label = row.accesskit_node().label()?;
        let number = label.strip_prefix("packet ")?.split(' ').next()?;
        Some((row.rect().top(), number.parse().ok()?))
    });
    let mut rows: Vec<(f32, u32)> = rows.collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    rows.into_iter().map(|(_, number)| number).collect()
}

fn bytes(window: &Window) -> Vec<u32> {
    let packet = |number| model(window).packet(PacketId(number)).expect("a packet");
    let lengths = shown(window).into_iter();
    lengths.map(|number| packet(number).length).collect()
}

#[test]
fn a_click_on_a_head_sorts_and_further_clicks_turn_it_round_and_end_it() {
    let mut window = table();
    click(&mut window, "column bytes");
    let lengths = bytes(&window);
    assert!(lengths.len() > 10 && lengths.is_sorted_by(|one, other| one >= other));
    assert!(lengths.first() > lengths.last());
    click(&mut window, "column bytes, sorted: the largest first");
    assert!(bytes(&window).is_sorted());
    click(&mut window, "column bytes, sorted: the smallest first");
    assert_eq!(model(&window).sorting(), None);
    assert!(shown(&window).is_sorted());
}

#[test]
fn arrow_keys_go_through_the_rows_as_they_are_shown() {
    let mut window = table();
    click(&mut window, "column bytes");
    let rows = shown(&window);
    window.key_press(Key::Home);
    window.run();
    for row in rows.iter().take(5) {
        assert_eq!(model(&window).selection().packet, Some(PacketId(*row)));
        window.key_press(Key::ArrowDown);
        window.run();
    }
    // And the last of them is brought into view.
    window.key_press(Key::End);
    window.run();
    let last = model(&window).selection().packet.expect("it is selected");
    assert!(shown(&window).contains(&last.0), "{last:?}");
}

#[test]
fn the_menu_of_a_head_and_the_finder_sort_too() {
    let mut window = table();
    window.get_by_label("column link").click_secondary();
    window.run();
    click(&mut window, "sort by link: from Z to A");
    let down = true;
    let by = Column::Of(PacketField::Link);
    assert_eq!(model(&window).sorting(), Some(Sorting { by, down }));
    window.key_press_modifiers(Modifiers::COMMAND, Key::P);
    window.run();
    let text = "sort by time, as";
    window.get_by_label("Do or go").type_text(text);
    window.run();
    window.key_press(Key::Enter);
    window.run();
    assert_eq!(model(&window).sorting(), None);
}

#[test]
fn what_moves_time_leaves_a_sorted_table_where_it_is() {
    let mut window = table();
    click(&mut window, "column bytes");
    let before = shown(&window);
    let span = model(&window).span();
    let quarter = (span.end.0 - span.start.0) / 4;
    let part = |from: i64| netreel_protocol::session::SessionTime(span.start.0 + from * quarter);
    apply(&mut window, Command::Show(part(2)..part(3)));
    assert_eq!(shown(&window), before);
}

#[test]
fn the_time_since_the_packet_before_of_the_link_is_a_column() {
    let mut window = table();
    window.get_by_label("column time s").click_secondary();
    window.run();
    click(
        &mut window,
        "add column: time since the packet before of the link",
    );
    assert!(model(&window).own_columns().on_link);
    let head = "column time since the packet before of the link";
    let rows = shown(&window).into_iter().map(PacketId);
    let mut since = rows.map(|id| model(&window).since_on_link(id));
    let since = since.find(|it| !it.is_empty());
    let since = since.expect("a link with two packets");
    assert!(window.query_all_by_label(&since).next().is_some());
    click(&mut window, head);
    let label = format!("{head}, sorted: the longest first");
    window.get_by_label(&label).click_secondary();
    window.run();
    click(
        &mut window,
        "remove column: time since the packet before of the link",
    );
    // What is not shown is not what the table is sorted by.
    assert_eq!(model(&window).sorting(), None);
}

#[test]
fn a_sorted_table_is_drawn_in_every_size_and_says_so() {
    for (name, size) in [("small", (1000, 640)), ("large", (1600, 1000))] {
        let mut model = fixture::race_model();
        model.apply(Command::SetColumns(OwnColumns {
            on_link: true,
            ..OwnColumns::default()
        }));
        let sorting = Sorting {
            by: Column::Of(PacketField::Late),
            down: true,
        };
        model.apply(Command::Sort(Some(sorting)));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = path.join(format!("sorted-{name}.png"));
        let mut inspector = Inspector::new(model, Workspace::Packets);
        draw(&mut inspector, size, &path).expect("a picture");
        assert!(path.metadata().expect("a file").len() > 10_000);
        // There is room for what it is sorted by.
        let mut shown = Harness::builder()
            .with_size(vec2(size.0 as f32, size.1 as f32))
            .build_ui_state(|ui, it: &mut Inspector| it.show(ui), inspector);
        shown.run();
        shown.get_by_label("column latency, sorted: the longest first");
    }
}

#[test]
fn a_sorted_table_of_many_packets_draws_no_further_frame() {
    let (session, history) = fixture::long(60_000);
    let mut model = Model::new(session, history);
    model.finish();
    let mut inspector = Inspector::new(model, Workspace::Packets);
    let sorting = Sorting {
        by: Column::Of(PacketField::Late),
        down: true,
    };
    inspector.model_mut().apply(Command::Sort(Some(sorting)));
    let mut stage = Stage::new(1600, 1000);
    let mut frame = || {
        let mut staged = stage.frame(Vec::new(), &mut |ui| inspector.show(ui));
        staged.textures.clear();
        inspector.model_mut().finish_beside();
        staged.again
    };
    for _ in 0..6 {
        frame();
    }
    assert_eq!(frame(), None);
    assert!(inspector.model().is_in_order());
}

#[test]
fn what_is_written_of_a_sorted_table_is_in_the_order_of_time() {
    let mut window = table();
    click(&mut window, "column bytes");
    apply(&mut window, Command::SetFilter("object == 42".to_owned()));
    assert!(!shown(&window).is_sorted());
    click(&mut window, "Share");
    click(&mut window, "What the filter takes, as a session…");
    window.event(Event::Text("part".to_owned()));
    window.run();
    window.key_press(Key::Enter);
    window.run();
    let requests = window.state_mut().take_requests().into_iter();
    let cut = requests.filter_map(|request| match request {
        Request::Cut(part) => part.packets,
        _ => None,
    });
    let packets = { cut }.next().expect("it is asked for");
    assert_eq!(packets.len(), model(&window).row_count());
    assert!(packets.is_sorted());
}

/// What is kept of a window, as another one reads it.
fn kept(window: &mut Window) -> Settings {
    let asked = window.state_mut().take_requests().into_iter();
    let kept = asked.filter_map(|it| match it {
        Request::Keep(settings) => Some(settings),
        _ => None,
    });
    let kept = kept.last().expect("it is kept");
    Settings::from_json(&kept.to_json()).expect("settings")
}

/// Shows another session in a window.
fn show(window: &mut Window, model: Model) {
    window.state_mut().hear(Answer::Opened {
        model: Box::new(model),
        title: "another one".to_owned(),
        paths: Vec::new(),
    });
    window.run();
}

#[test]
fn another_window_is_sorted_by_the_same_field() {
    let mut window = table();
    let fields = ["messages.update.object", "sequence"].map(str::to_owned);
    let columns = OwnColumns {
        fields: fields.into(),
        ..OwnColumns::default()
    };
    apply(&mut window, Command::SetColumns(columns));
    let (by, down) = (Column::Field(1), true);
    apply(&mut window, Command::Sort(Some(Sorting { by, down })));
    let mut again = Inspector::new(fixture::race_model(), Workspace::Packets);
    again.set_settings(kept(&mut window));
    assert_eq!(again.model().sorting(), Some(Sorting { by, down }));
}

#[test]
fn a_session_without_the_column_is_in_the_order_of_time_and_the_next_one_is_sorted_again() {
    let mut window = table();
    click(&mut window, "column messages");
    let sorted = model(&window).sorting();
    assert!(sorted.is_some());
    show(&mut window, Model::of_session(Default::default(), &[]));
    assert_eq!(model(&window).sorting(), None);
    show(&mut window, fixture::race_model());
    assert_eq!(model(&window).sorting(), sorted);
}

#[test]
fn a_recording_that_is_followed_begins_in_the_order_of_time_and_the_next_one_is_sorted_again() {
    let mut window = table();
    click(&mut window, "column messages");
    let sorted = model(&window).sorting();
    show(&mut window, Model::of_session(Default::default(), &[]));
    window.state_mut().hear(Answer::Grown {
        model: Box::new(fixture::race_model()),
        live: true,
    });
    window.run();
    assert_eq!(model(&window).sorting(), None);
    show(&mut window, fixture::race_model());
    assert_eq!(model(&window).sorting(), sorted);
}
