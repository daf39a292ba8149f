//! Every workspace as a picture: two recorded sessions and three captures, dark and light, in three
//! sizes, compared with small ones that are kept in `tests/workspaces` (how: `inspector/tests/sheet`).
#![cfg(feature = "gui")]

#[path = "../inspector/tests/sheet/mod.rs"]
mod sheet;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use netreel_inspector::{Command, Model, Workspace, draw};
use netreel_protocol::history::History;
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_wire::{StreamId, Wire};
use sheet::{BLOCKS_MAX, Sheet, apart, folder, inspector, read, small};

const SIZES: [(u32, u32); 3] = [(1000, 640), (1600, 1000), (3840, 2160)];

type Known = (Arc<Session>, Arc<History>);

fn open(path: &str, wire: Option<&str>) -> Known {
    let opened = netreel_capture::open_session(&[path]).expect("a session");
    let reels = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    let wire = wire.map(|path| {
        let text = fs::read_to_string(path).expect("a wire");
        Arc::new(Wire::compile(path, &text).expect("it compiles"))
    });
    let session = Arc::new(
        Session::builder()
            .wire(wire)
            .build(reels.collect())
            .expect("a session"),
    );
    let history = Arc::new(History::build(&session));
    (session, history)
}

fn model((session, history): &Known) -> Model {
    let mut model = Model::new(session.clone(), history.clone());
    model.finish();
    model
}

#[track_caller]
fn check(name: &str, theme: &str, of: &Known, other: &Known) {
    let kept = Path::new("tests/workspaces").join(format!("{name}.png"));
    let mut sheet = Sheet::open(&kept, SIZES.len());
    for (row, (workspace_name, workspace)) in Workspace::ALL.into_iter().enumerate() {
        for (column, size) in SIZES.into_iter().enumerate() {
            let other = (workspace == Workspace::Compare).then(|| model(other));
            let mut inspector = inspector(model(of), other, workspace, theme);
            let name = format!("{name}-{workspace_name}-{}", size.0);
            sheet.check(&mut inspector, size, (row, column), &name);
        }
    }
    sheet.finish();
}

fn sample(name: &str) -> Known {
    open(
        &format!("samples/sessions/{name}"),
        Some("samples/wires/boxes.wire"),
    )
}

fn capture(name: &str, wire: &str) -> Known {
    let path = format!("protocol/wire/tests/recordings/{name}.pcap");
    open(&path, Some(&format!("samples/wires/{wire}.wire")))
}

#[test]
fn the_race_looks_as_it_did() {
    check("host", "dark", &sample("host"), &sample("owner"));
}

#[test]
fn the_race_in_owner_mode_looks_as_it_did_in_light_colours() {
    check("owner", "light", &sample("owner"), &sample("host"));
}

#[test]
fn a_capture_of_raknet_looks_as_it_did() {
    let known = capture("raknet", "raknet");
    check("raknet", "dark", &known, &known);
}

#[test]
fn a_capture_of_quake_3_looks_as_it_did_in_light_colours() {
    let known = capture("quake3", "quake3");
    check("quake3", "light", &known, &known);
}

#[test]
fn a_capture_of_minetest_looks_as_it_did() {
    let known = capture("minetest", "minetest");
    check("minetest", "dark", &known, &known);
}

#[test]
fn what_proves_something_of_a_packet_lights_no_bits_of_another() {
    let mut without_messages = 0;
    for (name, wire) in [("raknet", "kcp"), ("minetest", "raknet"), ("enet", "renet")] {
        let mut model = model(&capture(name, wire));
        let findings = model.history().findings.len();
        assert!(findings > 0, "{name}");
        for finding in 0..findings {
            model.apply(Command::SelectFinding(finding));
            let proof = model.evidence_rows(finding);
            let packets: Vec<PacketId> = proof.iter().map(|piece| piece.packet).collect();
            for (place, &packet) in packets.iter().enumerate().take(20) {
                model.apply(Command::SelectEvidence(finding, place));
                check_lit(&model, packet);
                without_messages += usize::from(model.selection().message.is_none());
            }
            model.apply(Command::SelectFinding(finding));
            let first = model.history().findings[finding].evidence[0].packet;
            check_lit(&model, first);
        }
    }
    assert!(without_messages > 3, "{without_messages}");
}

/// The packet is selected, and what is called its message is its own.
#[track_caller]
fn check_lit(model: &Model, packet: PacketId) {
    let selection = model.selection();
    assert_eq!(selection.packet, Some(packet));
    let Some(message) = selection.message else {
        return;
    };
    let message = model.session().message(message).expect("a message");
    assert_eq!(message.packet, packet);
    let length = model.packet(packet).expect("a packet").length;
    if let Some((bits, StreamId(0))) = model.selected_message() {
        assert!(bits.end <= length * 8, "{bits:?} of {length} bytes");
    }
}

#[test]
fn the_window_says_of_a_fate_what_the_command_says() {
    let known = capture("minetest", "minetest");
    let (model, (session, history)) = (model(&known), &known);
    let mut acked = 0;
    for id in (0..session.packet_count() as u32).map(PacketId) {
        let row = model.packet_row(id).expect("a row");
        let fate = row.cell(PacketField::Fate);
        let when = history.acked(session, id);
        let is_said = fate.starts_with("seen, acked +");
        assert_eq!(when.is_some(), is_said, "{id:?}: {fate}");
        acked += usize::from(is_said);
    }
    assert!(acked > 3, "{acked}");
}

#[test]
fn another_renderer_is_not_seen_and_a_broken_pane_is() {
    let of = sample("host");
    let path = folder().join("tolerance.png");
    draw(
        &mut inspector(model(&of), None, Workspace::Why, "dark"),
        SIZES[1],
        &path,
    )
    .expect("a picture");
    let whole = read(&path);
    let kept = small(&whole);
    // All of it a little aside, and a little lighter: as letters of another renderer are.
    let mut shifted = whole.clone();
    shifted.pixels.rotate_right(1);
    for pixel in &mut shifted.pixels {
        *pixel = pixel.map(|part| part.saturating_add(3));
    }
    let little = apart(&small(&shifted), &kept);
    assert!(little <= BLOCKS_MAX / 2.0, "{little} %");
    // Each of the panes left empty: timeline, objects, findings, fields.
    for (x, y, width, height) in [
        (0, 130, 1600, 300),
        (0, 450, 1600, 170),
        (0, 650, 660, 310),
        (680, 650, 400, 310),
    ] {
        let mut broken = whole.clone();
        for row in y..y + height {
            let from = row * whole.width + x;
            let empty = broken.pixels[from];
            broken.pixels[from..from + width].fill(empty);
        }
        let much = apart(&small(&broken), &kept);
        assert!(much > BLOCKS_MAX, "{much} % at {x}, {y}");
    }
}

#[test]
fn the_table_has_the_calls_that_the_command_prints() {
    let model = model(&sample("host"));
    let rows = model.packet_rows(0..model.row_count());
    let of = |packet: usize| rows[packet].cell(PacketField::Messages);
    assert_eq!(of(33), "rpc ready(count 0), update");
    assert_eq!(of(36), "rpc ready(count 0)");
    assert_eq!(model.lead_text(PacketId(36)), "rpc ready");
}

#[test]
fn a_link_says_why_messages_were_sent_again_as_the_command_counts_it() {
    let model = model(&sample("host"));
    let stats = model.bandwidth().expect("stats");
    let said = stats.links.iter().filter_map(|(&link, stats)| {
        let causes = model.resent_text(stats)?;
        Some(format!("{}: {causes}", model.link_label(link)))
    });
    let said: Vec<String> = said.collect();
    assert_eq!(said, ["A → X: 5 silence", "X → A: 5 silence"]);
}
