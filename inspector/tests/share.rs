//! What the window hands on: texts, a picture, a part of the session; wires that may fit; how large and
//! in what colours all of it is; and what a hand moved by mistake.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use drive::{Window, apply, open};
use egui::{Color32, ColorImage, Event, Key, Modifiers, MouseWheelUnit, OutputCommand, TouchPhase};
use egui::{Vec2, ViewportCommand, ViewportId};
use egui_kittest::kittest::{NodeT, Queryable};
use fixture::ways;
use netreel_inspector::{
    Answer, Candidate, Command, Inspector, Model, Request, Settings, Workspace, theme,
};
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::PacketId;

/// What was copied in the last frame.
fn copied(window: &Window) -> Option<String> {
    let commands = window.output().platform_output.commands.iter();
    commands.rev().find_map(|command| match command {
        OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    })
}

/// Presses a button and returns what that copied.
fn copied_by(window: &mut Window, button: &str) -> String {
    window.get_by_label(button).click();
    window.step();
    copied(window).unwrap_or_else(|| panic!("{button} copies nothing"))
}

fn asked(window: &mut Window) -> Vec<Request> {
    let all = window.state_mut().take_requests();
    let is_kept = |it: &Request| matches!(it, Request::Keep(_) | Request::KeepBookmarks(_));
    all.into_iter().filter(|it| !is_kept(it)).collect()
}

#[test]
fn what_is_selected_is_copied_with_its_fields_and_bytes() {
    let mut window = open(fixture::race_model(), Workspace::Packets);
    apply(&mut window, Command::SelectPacket(PacketId(30)));
    window.event(Event::Copy);
    window.step();
    let text = copied(&window).expect("a text");
    assert!(text.contains("packet 30  "), "{text}");
    let rows = window.state().model().detail().rows();
    assert!(rows.len() > 3);
    for row in rows {
        assert!(
            text.contains(&format!("{}  ", row.name)),
            "{}: {text}",
            row.name
        );
    }
    assert!(text.contains("\n0000  "), "{text}");
    // Of a pinned field its line.
    let field = window
        .state()
        .model()
        .detail()
        .rows()
        .pop()
        .expect("a field")
        .id;
    apply(&mut window, Command::PinField(Some(field)));
    window.event(Event::Copy);
    window.step();
    let line = window.state().model().detail().sentence(field);
    assert_eq!(copied(&window), Some(line));
}

#[test]
fn each_pane_is_copied_as_it_is_read() {
    let mut window = open(fixture::race_model(), Workspace::Packets);
    apply(&mut window, Command::SelectPacket(PacketId(0)));
    window.get_by_label("menu of packets").click();
    window.run();
    let text = copied_by(&mut window, "copy as text");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("packets\t"), "{}", lines[0]);
    assert!(lines[1].starts_with("#\ttime s\tlink\t"), "{}", lines[1]);
    let row = window
        .state()
        .model()
        .packet_row(PacketId(0))
        .expect("a row");
    let begin = format!(
        "0\t{}\t{}\t",
        row.cell(PacketField::Time),
        row.cell(PacketField::Link)
    );
    assert!(lines[2].starts_with(&begin), "{} {begin}", lines[2]);
}

#[test]
fn a_row_has_a_menu_of_what_can_be_copied_of_it() {
    let mut window = open(fixture::race_model(), Workspace::Packets);
    apply(&mut window, Command::SelectPacket(PacketId(0)));
    let row = window
        .state()
        .model()
        .packet_row(PacketId(3))
        .expect("a row");
    let label = format!(
        "packet 3 {} {}",
        row.cell(PacketField::Link),
        row.cell(PacketField::Messages)
    );
    window.get_by_label(&label).click_secondary();
    window.run();
    let text = copied_by(&mut window, "copy the row");
    assert!(text.starts_with("3\t"), "{text}");
    window.get_by_label(&label).click_secondary();
    window.run();
    window.get_by_label("filter by its link").click();
    window.run();
    let model = window.state().model();
    let way = |id: PacketId| model.packet(id).map(|it| (it.from, it.to));
    let all = (0..model.row_count()).filter_map(|row| model.packet_at(row));
    let ways: Vec<_> = all.map(way).collect();
    assert!(ways.len() > 2 && ways.iter().all(|it| *it == way(PacketId(3))));
}

#[test]
fn a_field_is_copied_by_its_value_its_path_and_its_bytes() {
    let mut window = open(fixture::race_model(), Workspace::Packets);
    apply(&mut window, Command::SelectPacket(PacketId(30)));
    let detail = window.state().model().detail().clone();
    let row = detail.rows().into_iter().find(|row| !row.value.is_empty());
    let row = row.expect("a field with a value");
    let path = detail.path(row.id);
    let bytes = detail.bytes_of(&row).expect("bytes");
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    for (button, expected) in [
        ("copy the value", row.value.clone()),
        ("copy the path", path.clone()),
        ("copy the bytes", bytes.join(" ")),
    ] {
        window
            .get_by_label(&format!("field {path}"))
            .click_secondary();
        window.run();
        assert_eq!(copied_by(&mut window, button), expected);
        window.run();
    }
}

#[test]
fn a_report_has_what_somebody_else_needs_to_see_the_same() {
    let mut window = open(fixture::race_model(), Workspace::Why);
    window.state_mut().set_name("race");
    let filter = "object == 42".to_owned();
    apply(&mut window, Command::SetFilter(filter));
    window.get_by_label("Share").click();
    window.run();
    let text = copied_by(&mut window, "Copy a text for a bug report");
    let model = window.state().model();
    let finding = model.selection().finding.expect("a finding");
    let sentence = &model.history().findings[finding].sentence;
    let packet = model.selection().packet.expect("a packet").0;
    for part in [
        "race\n".to_owned(),
        model.status(),
        "wire boxes".to_owned(),
        sentence.clone(),
        "because ".to_owned(),
        format!("packet {packet}  "),
        "filter: object == 42".to_owned(),
        format!("netreel inspect race --filter 'object == 42' --select {packet} --from="),
    ] {
        assert!(text.contains(&part), "{part:?} is not in {text}");
    }
    // It is said that there is something to paste now.
    window.run_ok();
    assert!(
        window
            .query_by_label_contains("copied: the report, ")
            .is_some()
    );
}

#[test]
fn what_the_filter_takes_is_asked_for_as_a_session() {
    let mut window = open(fixture::race_model(), Workspace::Why);
    apply(&mut window, Command::SetFilter("object == 42".to_owned()));
    window.get_by_label("Share").click();
    window.run();
    window
        .get_by_label("What the filter takes, as a session…")
        .click();
    window.run();
    window.event(Event::Text("part".to_owned()));
    window.run();
    window.key_press(Key::Enter);
    window.run();
    let mut requests = asked(&mut window);
    requests.retain(|request| !matches!(request, Request::List(..)));
    let [Request::Cut(part)] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    let model = window.state().model();
    assert_eq!(part.folder, PathBuf::from("part"));
    assert_eq!(part.time, model.visible());
    let packets = part.packets.as_ref().expect("some packets");
    assert_eq!(packets.len(), model.row_count());
    // What became of it is said.
    window
        .state_mut()
        .hear(Answer::Done("part: 12 packets".to_owned()));
    window.run_ok();
    assert!(window.query_by_label("part: 12 packets").is_some());
}

#[test]
fn a_picture_of_the_window_is_taken_without_what_asked_for_it() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("share-picture.png");
    drop(std::fs::remove_file(&path));
    let mut window = open(fixture::race_model(), Workspace::Why);
    window.get_by_label("Share").click();
    window.run();
    window.get_by_label("Picture of the window…").click();
    window.run();
    window.event(Event::Text(path.display().to_string()));
    window.run();
    window.key_press(Key::Enter);
    // Whoever draws the window is asked for its pixels once nothing lies over it.
    let mut taken = None;
    for _ in 0..6 {
        window.step();
        let commands = &window.output().viewport_output[&ViewportId::ROOT].commands;
        taken = commands.iter().find_map(|command| match command {
            ViewportCommand::Screenshot(taken) => Some(taken.clone()),
            _ => None,
        });
        if taken.is_some() {
            break;
        }
    }
    assert!(
        window
            .query_by_label("Write a picture of the window")
            .is_none()
    );
    let image = ColorImage::filled([4, 3], Color32::from_rgb(9, 8, 7));
    taken
        .expect("nobody was asked for pixels")
        .complete(Arc::new(image));
    let begun = Instant::now();
    while window
        .query_by_label_contains("the picture was written")
        .is_none()
    {
        assert!(begun.elapsed() < Duration::from_secs(120), "it never came");
        window.step();
    }
    let file = std::io::BufReader::new(std::fs::File::open(&path).expect("a file"));
    let reader = png::Decoder::new(file).read_info().expect("a PNG file");
    assert_eq!((reader.info().width, reader.info().height), (4, 3));
}

#[test]
fn wires_that_may_fit_are_tried_and_the_one_that_is_picked_is_read_with() {
    let nodes = vec![ways::recorded("A"), ways::recorded("B")];
    let model = ways::model(ways::talk(nodes));
    let mut window = open(model, Workspace::Packets);
    apply(&mut window, Command::SelectPacket(PacketId(0)));
    window.get_by_label("wires that may fit…").click();
    window.run();
    let requests = asked(&mut window);
    assert!(
        matches!(requests.as_slice(), [Request::Candidates(_)]),
        "{requests:?}"
    );
    assert!(window.query_by_label_contains("being tried").is_some());
    let candidate = |name: &str, fit| Candidate {
        name: name.to_owned(),
        packets: 10,
        fit,
        ..Candidate::default()
    };
    let found = vec![candidate("enet.wire", 9), candidate("kcp.wire", 2)];
    window.state_mut().hear(Answer::Candidates(found));
    window.run();
    window
        .get_by_label("wire enet.wire: 9 of 10 packets")
        .click();
    window.run();
    assert_eq!(
        asked(&mut window),
        [Request::KnownWire("enet.wire".to_owned())]
    );
    assert!(window.query_by_label_contains("kcp.wire").is_none());
}

#[test]
fn a_wire_that_is_edited_leaves_everybody_where_they_are_and_says_its_mistake() {
    let mut window = open(fixture::race_model(), Workspace::Packets);
    apply(&mut window, Command::Show(fixture::ms(300..500)));
    apply(&mut window, Command::SelectPacket(PacketId(30)));
    let before = (
        window.state().model().selection().packet,
        window.state().model().visible(),
    );
    let mistake = "error: a field is missing\n --> own.wire:2:9";
    window.state_mut().hear(Answer::Mistake(mistake.to_owned()));
    window.run();
    assert!(window.query_by_label(mistake).is_some());
    let reread = || Answer::Reread {
        model: Box::new(fixture::race_model()),
        title: "race".to_owned(),
        paths: vec!["race".into()],
    };
    window.state_mut().hear(reread());
    window.run();
    assert!(window.query_by_label(mistake).is_none());
    let model = window.state().model();
    assert_eq!((model.selection().packet, model.visible()), before);
    assert_eq!(window.state().workspace(), Workspace::Packets);
}

/// The panes' places.
fn places(window: &Window) -> Vec<(String, egui::Rect)> {
    let heads = window.query_all_by_role(egui::accesskit::Role::Heading);
    let named = heads.filter_map(|head| Some((head.accesskit_node().label()?, head.rect())));
    named.collect()
}

#[test]
fn a_move_of_panes_is_taken_back_and_done_again() {
    let mut window = open(fixture::race_model(), Workspace::Packets);
    let first = places(&window);
    window.get_by_label("menu of bytes").click();
    window.run();
    window.get_by_label("hide").click();
    window.run();
    let hidden = places(&window);
    window.get_by_label("menu of notes").click();
    window.run();
    window.get_by_label("to the top").click();
    window.run();
    let moved = places(&window);
    assert!(first != hidden && hidden != moved);
    for expected in [&hidden, &first, &first] {
        window.key_press_modifiers(Modifiers::COMMAND, Key::Z);
        window.run();
        assert_eq!(&places(&window), expected);
    }
    for expected in [&hidden, &moved, &moved] {
        window.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
        window.run();
        assert_eq!(&places(&window), expected);
    }
}

#[test]
fn everything_is_larger_with_control_and_the_wheel_and_stays_so() {
    let mut window = open(fixture::race_model(), Workspace::Why);
    let visible = window.state().model().visible();
    drop(window.state_mut().take_requests());
    let at = window.get_by_label("timeline").rect().center();
    window.hover_at(at);
    window.run();
    window.event_modifiers(
        Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            delta: Vec2::new(0.0, 3.0),
            phase: TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
            modifiers: Modifiers::COMMAND,
        },
        Modifiers::COMMAND,
    );
    window.run();
    let scale = window.ctx.zoom_factor();
    assert!(scale > 1.25, "{scale}");
    assert_eq!(
        window.state().model().visible(),
        visible,
        "time stays as it is"
    );
    let kept = window.state_mut().take_requests().pop();
    let Some(Request::Keep(settings)) = kept else {
        panic!("not kept: {kept:?}");
    };
    assert_eq!(settings.scale, scale);
    // Another window opens so.
    let mut inspector = Inspector::new(fixture::race_model(), Workspace::Why);
    inspector.set_settings(Settings::from_json(&settings.to_json()).expect("settings"));
    let mut again = egui_kittest::Harness::builder()
        .with_size(Vec2::new(1600.0, 1000.0))
        .build_ui_state(|ui, it: &mut Inspector| it.show(ui), inspector);
    again.run();
    assert_eq!(again.ctx.zoom_factor(), scale);
}

#[test]
fn colours_of_high_contrast_are_chosen_like_any_other() {
    for (name, dark) in [("Contrast", true), ("Contrast, light", false)] {
        let mut window = open(fixture::race_model(), Workspace::Why);
        let before = theme::panel();
        window.get_by_label("Look").click();
        window.run();
        window.get_by_label(name).click();
        window.run();
        let (panel, text) = (theme::panel(), theme::text());
        assert_ne!(panel, before);
        let ends = [Color32::BLACK, Color32::WHITE];
        let [background, letters] = if dark { ends } else { [ends[1], ends[0]] };
        assert_eq!((panel, text), (background, letters), "{name}");
        let visuals = window.ctx.global_style().visuals.clone();
        assert_eq!(visuals.override_text_color, Some(letters));
    }
}

#[test]
fn without_a_wire_somebody_is_told_where_to_begin_before_anything_is_selected() {
    let nodes = vec![ways::recorded("A"), ways::recorded("B")];
    let model: Model = ways::model(ways::talk(nodes));
    let window = open(model, Workspace::Packets);
    assert!(window.query_by_label("wires that may fit…").is_some());
}
