//! The workspace of state: values at the cursor, objects from above, a value over time.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::Window;
use egui::Key;
use egui_kittest::kittest::Queryable;
use netreel_inspector::Workspace;
use netreel_inspector_model::{Command, Model, RowsOf};
use netreel_protocol::export::{StateQuestion, state};
use netreel_protocol::history::state::States;
use netreel_protocol::session::SessionTime;

fn open(model: Model) -> Window {
    drive::open(model, Workspace::State)
}

fn cursor(harness: &mut Window, ms: i64) {
    let at = SessionTime(ms * 1_000_000);
    drive::apply(harness, Command::SetCursor(Some(at)));
}

fn labels(harness: &Window, part: &str) -> Vec<String> {
    let labels = drive::buttons(harness).into_iter();
    labels.filter(|label| label.contains(part)).collect()
}

#[test]
fn the_table_says_what_netreel_state_says_at_any_moment() {
    let mut harness = open(fixture::race_model());
    let (session, history) = fixture::race();
    let states = States::build(&session, &history);
    let mut lived_on = false;
    for ms in [100, 300, 640, 700, 990] {
        cursor(&mut harness, ms);
        let at = SessionTime(ms * 1_000_000);
        let question = StateQuestion {
            at,
            node: None,
            wanted: &|_| true,
        };
        let told = state(&session, &history, &states, &question);
        let mut values = 0;
        for object in &told.objects {
            for property in &object.properties {
                for value in property.nodes.iter().filter(|it| it.known == "value") {
                    let begin = format!(
                        "{} of {} at {}: {}",
                        property.property, object.object, value.node, value.words
                    );
                    let found = labels(&harness, &begin);
                    let [found] = found.as_slice() else {
                        panic!("at {ms} ms: {begin}: {found:?}");
                    };
                    let differs = found.contains(", differs from the owner's");
                    let mut existence = told.existence.iter();
                    let lives_on =
                        existence.any(|it| it.object == object.object && it.node == value.node);
                    lived_on |= lives_on;
                    assert_eq!(differs, value.differs.is_some() || lives_on, "{found}");
                    values += 1;
                }
            }
        }
        assert!(values > 0, "at {ms} ms");
    }
    assert!(lived_on, "the zombie differs from who saw it end");
}

#[test]
fn a_pinned_moment_is_held_against_the_cursor() {
    let mut harness = open(fixture::race_model());
    cursor(&mut harness, 30);
    harness.key_press(Key::M);
    harness.run();
    let pinned = Some(SessionTime(30_000_000));
    assert_eq!(harness.state().model().pinned(), pinned);
    cursor(&mut harness, 300);
    let changed = labels(&harness, ", before not known");
    assert!(!changed.is_empty());
    let model = harness.state().model();
    let believed = model.believed().expect("values");
    let rows = model.value_rows(&believed, RowsOf::Changed).rows;
    let objects: Vec<u64> = rows.iter().map(|row| row.object).collect();
    assert!(objects.contains(&fixture::BOX), "{objects:?}");
    // One layer at a time: the cursor, then the pin.
    harness.key_press(Key::Escape);
    harness.run();
    assert_eq!(harness.state().model().pinned(), pinned);
    harness.key_press(Key::Escape);
    harness.run();
    assert_eq!(harness.state().model().pinned(), None);
}

#[test]
fn a_click_on_a_value_selects_the_packet_that_told_it() {
    let mut harness = open(fixture::race_model());
    cursor(&mut harness, 500);
    let name = format!("position of {} at B: ", fixture::BOX);
    harness.get_by_label_contains(&name).click();
    harness.run();
    let model = harness.state().model();
    assert_eq!(model.selection().object, Some(fixture::BOX));
    let believed = model.believed().expect("values");
    let row = model.value_in_focus(&believed).expect("a value");
    let nodes = model.believers();
    let node = nodes.into_iter().find(|&it| model.node_name(it) == "B");
    let because = model.value_because(&believed, row, node.expect("B"));
    assert!(because.is_some());
    assert_eq!(model.selection().message, because);
}

#[test]
fn an_object_is_picked_from_above_and_its_course_is_shown() {
    let mut harness = open(fixture::race_model());
    cursor(&mut harness, 500);
    // All lie at one place here: whichever is on top.
    let name = format!("object {} from above", fixture::BOX);
    harness.get_by_label(&name).click();
    harness.run();
    let model = harness.state().model();
    let object = model.selection().object.expect("an object");
    let name = format!("position of {} over time", model.object_name(object));
    assert!(harness.query_by_label(&name).is_some(), "{name}");
}

#[test]
fn the_cursor_steps_from_moment_to_moment_and_goes_on_by_itself() {
    let mut harness = open(fixture::race_model());
    cursor(&mut harness, 300);
    let at = |harness: &Window| harness.state().model().cursor().expect("a cursor");
    let first = at(&harness);
    harness.key_press(Key::Period);
    harness.run();
    let next = at(&harness);
    assert!(next > first);
    harness.key_press(Key::Comma);
    harness.run();
    assert!(at(&harness) <= first);
    harness.key_press(Key::Space);
    harness.step();
    for _ in 0..3 {
        harness.step();
    }
    let later = at(&harness);
    assert!(later > first);
    harness.key_press(Key::Space);
    harness.step();
    harness.run();
    let stopped = at(&harness);
    harness.run();
    assert_eq!(at(&harness), stopped);
}

#[test]
fn without_values_the_panes_say_why() {
    let harness = open(Model::new(Default::default(), Default::default()));
    let said = harness.query_all_by_label_contains("pane values");
    assert_eq!(said.count(), 1);
    assert!(harness.state().model().believed().is_none());
    let why = harness.state().model().why_no_values();
    assert!(why.is_some_and(|why| why.contains("no wire")));
}

#[test]
fn a_recorded_race_is_two_clicks_from_the_state_before_and_after_a_packet() {
    // It opens with its story, and a packet of that selected.
    let mut harness = drive::open(fixture::race_model(), Workspace::Why);
    let packet = harness.state().model().selection().packet;
    let packet = packet.expect("a packet of the story");
    let mut clicks = 0;
    for label in ["State".to_owned(), format!("around packet {}", packet.0)] {
        harness.get_by_label(&label).click();
        harness.run();
        clicks += 1;
    }
    assert_eq!(clicks, 2);
    let model = harness.state().model();
    let received = model.packet(packet).and_then(|it| it.received);
    let at = received.expect("it was received").time;
    assert_eq!(model.cursor(), Some(at));
    assert_eq!(model.pinned(), Some(SessionTime(at.0 - 1)));
    assert!(!labels(&harness, " at X: ").is_empty());
    // Once it stands there, there is nothing more to ask for.
    let label = format!("around packet {}", packet.0);
    assert!(harness.query_by_label(&label).is_none());
}

#[test]
fn the_values_of_what_is_selected_come_into_view() {
    let mut harness = open(fixture::many_objects(10_000));
    assert!(labels(&harness, "position of 5000 at X").is_empty());
    drive::apply(&mut harness, Command::SelectObject(Some(5_000)));
    assert_eq!(labels(&harness, "position of 5000 at X").len(), 1);
    // What is in view already is left where it is.
    let first = labels(&harness, "position of 5001 at X").len();
    drive::apply(&mut harness, Command::SelectObject(Some(5_001)));
    assert_eq!(labels(&harness, "position of 5000 at X").len(), first);
}

#[test]
fn two_nodes_are_held_against_each_other_by_a_click_on_each() {
    let mut harness = open(fixture::race_model());
    cursor(&mut harness, 640);
    for name in ["A", "X"] {
        let label = format!("hold {name} against another node");
        harness.get_by_label(&label).click();
        harness.run();
    }
    let model = harness.state().model();
    let names = model.value_nodes().into_iter();
    let names: Vec<&str> = names.map(|node| model.node_name(node)).collect();
    assert_eq!(names, ["A", "X"]);
    // Only what differs is there, and all of it is marked: X has not heard of the box.
    let shown = labels(&harness, &format!(" of {} at ", fixture::BOX));
    assert!(!shown.is_empty());
    let all = labels(&harness, " at A: ");
    assert!(!all.is_empty());
    for label in shown.iter().chain(&all) {
        assert!(label.contains(", differs from the other's"), "{label}");
    }
    assert!(labels(&harness, " at HOST: ").is_empty());
    // Back to all nodes.
    harness.get_by_label("all nodes").click();
    harness.run();
    assert_eq!(harness.state().model().against(), None);
    assert!(!labels(&harness, " at HOST: ").is_empty());
}

/// All that is written.
fn texts(harness: &Window) -> Vec<String> {
    let shapes = harness.output().shapes.iter();
    let text = shapes.filter_map(|clipped| match &clipped.shape {
        egui::Shape::Text(text) => Some(text.galley.text().to_owned()),
        _ => None,
    });
    text.collect()
}

#[test]
fn each_number_of_a_value_has_a_strip_and_its_range_in_the_smallest_window() {
    let mut harness = open(fixture::race_model());
    harness.set_size(egui::vec2(1000.0, 640.0));
    harness.run();
    let model = harness.state().model();
    let believed = model.believed().expect("values");
    let row = model.value_in_focus(&believed).expect("a value");
    let scale = model.scale(800.0);
    let courses = model.courses(&believed, row, &scale).expect("its course");
    assert!(courses.parts > 1, "{}", courses.parts);
    let texts = texts(&harness);
    for name in &["x", "y", "z"][..courses.parts] {
        assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
    }
    // Beside its name stands from where to where it goes, or the one value that it always has.
    let changes = courses.ranges.iter().filter(|(least, most)| least < most);
    let ranges = texts.iter().filter(|text| text.contains(".."));
    assert_eq!(ranges.count(), changes.count(), "{texts:?}");
}
