//! Everything by its name: the box that Ctrl+P opens.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::Window;
use egui::accesskit::Role;
use egui::{Event, Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use netreel_inspector::{Pane, Workspace};
use netreel_protocol::session::{PacketId, SessionTime};

fn open() -> Window {
    drive::open(fixture::race_model(), Workspace::Why)
}

/// Opens the box, types, and presses Enter.
fn find(harness: &mut Window, text: &str) {
    harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    harness.run();
    harness.event(Event::Text(text.to_owned()));
    harness.run();
    harness.key_press(Key::Enter);
    harness.run();
}

#[test]
fn what_is_typed_is_done() {
    let mut harness = open();
    find(&mut harness, "workspace packets");
    assert_eq!(harness.state().workspace(), Workspace::Packets);
    find(&mut harness, "bytes alone");
    assert_eq!(harness.state().alone(), Some(Pane::Bytes));
    find(&mut harness, "packet 30");
    let selection = harness.state().model().selection();
    assert_eq!(selection.packet, Some(PacketId(30)));
    find(&mut harness, "640ms");
    let cursor = harness.state().model().cursor();
    assert_eq!(cursor, Some(SessionTime(640_000_000)));
    find(&mut harness, "object 101");
    assert_eq!(harness.state().model().selection().object, Some(101));
    find(&mut harness, "to == X");
    assert_eq!(harness.state().model().filter().text, "to == X");
}

#[test]
fn escape_closes_the_box_and_nothing_else() {
    let mut harness = open();
    let told = harness.state().model().selection();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    harness.run();
    let rows = |harness: &Window| {
        let rows = harness.query_all_by_role(Role::ListItem);
        let labels = rows.filter_map(|row| row.accesskit_node().label());
        labels.collect::<Vec<String>>()
    };
    assert!(rows(&harness).contains(&"workspace packets".to_owned()));
    harness.key_press(Key::Escape);
    harness.run();
    assert!(rows(&harness).is_empty());
    assert_eq!(harness.state().model().selection(), told);
}
