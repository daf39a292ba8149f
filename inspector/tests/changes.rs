//! What changed since the packet before, marked among the fields of a packet.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::Path;

use drive::{Window, apply, open};
use egui_kittest::kittest::{NodeT, Queryable};
use netreel_inspector::{Inspector, Pane, Workspace, draw};
use netreel_inspector_model::{Change, Command, Model};
use netreel_protocol::session::PacketId;

/// A packet of the race of whose messages some field has another value than before.
fn changed(model: &mut Model) -> PacketId {
    let packets: Vec<PacketId> = model.packets_by_time().collect();
    let of_message = |model: &mut Model, id: PacketId| {
        model.apply(Command::SelectPacket(id));
        let changes = model.changes().expect("the wire describes it");
        let mut fields = changes.fields.iter();
        fields.any(|(field, change)| {
            let in_message = model.detail().path(*field).starts_with("messages");
            in_message && matches!(change, Change::Was(_))
        })
    };
    let mut packets = packets.into_iter().rev();
    packets.find(|id| of_message(model, *id)).expect("a packet")
}

fn window() -> Window {
    let mut model = fixture::race_model();
    let packet = changed(&mut model);
    let mut window = open(fixture::race_model(), Workspace::Packets);
    apply(&mut window, Command::SelectPacket(packet));
    window
}

#[test]
fn a_field_that_changed_says_what_it_was() {
    let mut window = window();
    window.state_mut().show_alone(Some(Pane::Fields));
    window.run();
    let model = window.state().model();
    let changes = model.changes().expect("changes").clone();
    for row in model.detail().rows() {
        let path = model.detail().path(row.id);
        let label = format!("field {path}");
        let node = window.get_by_label(&label);
        let said = node.accesskit_node().value();
        let expected = changes.fields.get(&row.id).map(Change::words);
        assert_eq!(said, expected, "{path}");
    }
}

#[test]
fn a_click_on_what_it_was_held_against_selects_that() {
    let mut window = window();
    let model = window.state().model();
    let before = model.changes().expect("changes").before[0];
    let sentence = model.changes_text().expect("a sentence");
    assert!(sentence.starts_with("against packet"), "{sentence}");
    window.get_by_label(&sentence).click();
    window.run();
    let selected = window.state().model().selection().packet;
    assert_eq!(selected, Some(before));
}

#[test]
fn changed_fields_are_drawn_in_every_size() {
    for (name, size) in [("small", (1000, 640)), ("large", (1600, 1000))] {
        let mut model = fixture::race_model();
        changed(&mut model);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = path.join(format!("changes-{name}.png"));
        let mut inspector = Inspector::new(model, Workspace::Packets);
        draw(&mut inspector, size, &path).expect("a picture");
        assert!(path.metadata().expect("a file").len() > 10_000);
    }
}
