//! What a hand does: keys, drags, the wheel, sizes, and what is asked of whoever runs the window.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::{Window, apply};
use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, MouseWheelUnit, Pos2, TouchPhase, Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use fixture::BOX;
use netreel_inspector::{Inspector, Pane, Request, Settings, Workspace, theme};
use netreel_inspector_model::{Command, Model};
use netreel_protocol::session::PacketId;

fn open(workspace: Workspace) -> Window {
    drive::open(fixture::race_model(), workspace)
}

fn press(harness: &mut Window, key: Key) {
    harness.key_press(key);
    harness.run();
}

fn model(harness: &Window) -> &Model {
    harness.state().model()
}

/// Takes hold of a place and lets go of it elsewhere.
fn drag(harness: &mut Window, from: Pos2, by: Vec2) {
    harness.drag_at(from);
    harness.run();
    harness.hover_at(from + by * 0.5);
    harness.run();
    harness.hover_at(from + by);
    harness.run();
    harness.drop_at(from + by);
    harness.run();
}

fn wheel(harness: &mut Window, at: Pos2, lines: f32) {
    harness.hover_at(at);
    harness.run();
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: vec2(0.0, lines),
        phase: TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
        modifiers: Modifiers::default(),
    });
    harness.run();
}

fn filter_focused(harness: &Window) -> bool {
    harness.get_by_role(Role::TextInput).is_focused()
}

#[test]
fn escape_in_the_filter_box_leaves_the_box_alone() {
    let mut harness = open(Workspace::Why);
    let told = model(&harness).selection();
    harness.get_by_role(Role::TextInput).focus();
    harness.run();
    press(&mut harness, Key::Escape);
    assert!(!filter_focused(&harness));
    assert_eq!(model(&harness).selection(), told);
    // The next one lets go of what is in focus, and the story stays.
    press(&mut harness, Key::Escape);
    assert_eq!(model(&harness).selection().packet, None);
    assert_eq!(model(&harness).selection().finding, told.finding);
    press(&mut harness, Key::Escape);
    assert_eq!(model(&harness).selection().finding, None);
}

#[test]
fn a_click_near_an_arrow_keeps_the_story() {
    let mut harness = open(Workspace::Why);
    let told = model(&harness).selection().finding;
    let lanes = harness.get_by_label("timeline").rect();
    for part in 1..20 {
        let x = lanes.left() + theme::GUTTER + part as f32 * 60.0;
        let at = Pos2::new(x, lanes.center().y);
        harness.drag_at(at);
        harness.run();
        harness.drop_at(at);
        harness.run();
    }
    assert_eq!(model(&harness).selection().finding, told);
}

#[test]
fn the_cross_ends_the_story_and_another_takes_the_cursor_away() {
    let mut harness = open(Workspace::Why);
    let cursor = Some(fixture::ms(300..301).start);
    apply(&mut harness, Command::SetCursor(cursor));
    harness.get_by_label("take the cursor away").click();
    harness.run();
    assert_eq!(model(&harness).cursor(), None);
    harness.get_by_label("end the story").click();
    harness.run();
    assert_eq!(model(&harness).selection().finding, None);
}

#[test]
fn a_right_click_takes_the_cursor_away() {
    let mut harness = open(Workspace::Why);
    let cursor = Some(fixture::ms(300..301).start);
    apply(&mut harness, Command::SetCursor(cursor));
    harness.get_by_label("timeline").click_secondary();
    harness.run();
    assert_eq!(model(&harness).cursor(), None);
}

#[test]
fn a_click_on_an_object_brings_packet_table_and_tree_along() {
    let mut harness = open(Workspace::Why);
    let object = fixture::PLAYERS + 1;
    harness.get_by_label(&format!("object {object}")).click();
    harness.run();
    let model = model(&harness);
    assert_eq!(model.selection().object, Some(object));
    let packet = model.selection().packet.expect("a packet about it");
    let mut messages = model.messages_of(packet);
    assert!(messages.any(|(_, facts)| facts.object == Some(object)));
    assert_ne!(object, BOX);
}

#[test]
fn keys_work_while_a_control_has_the_focus() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::SelectPacket(PacketId(30)));
    for _ in 0..4 {
        press(&mut harness, Key::Tab);
    }
    assert!(harness.ctx.memory(|memory| memory.focused()).is_some());
    press(&mut harness, Key::ArrowDown);
    assert_eq!(model(&harness).selection().packet, Some(PacketId(31)));
    assert!(harness.ctx.memory(|memory| memory.focused()).is_some());
    // Escape gives the focus back first.
    press(&mut harness, Key::Escape);
    assert_eq!(harness.ctx.memory(|memory| memory.focused()), None);
    assert_eq!(model(&harness).selection().packet, Some(PacketId(31)));
}

#[test]
fn f6_goes_from_pane_to_pane() {
    let mut harness = open(Workspace::Why);
    let mut seen = Vec::new();
    for _ in 0..5 {
        press(&mut harness, Key::F6);
        let heads = harness.query_all_by_role(Role::Heading);
        let focused = heads.into_iter().find(|head| head.is_focused());
        let label = focused.and_then(|head| head.accesskit_node().label());
        seen.push(label.expect("a pane has the focus"));
    }
    assert_eq!(seen[0], "pane timeline");
    let all: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!(all.len(), 5, "{seen:?}");
}

#[test]
fn slash_and_control_f_go_to_the_filter() {
    let mut harness = open(Workspace::Why);
    harness.event(Event::Text("/".to_owned()));
    harness.run();
    assert!(filter_focused(&harness));
    assert_eq!(model(&harness).filter().text, "");
    press(&mut harness, Key::Escape);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::F);
    harness.run();
    assert!(filter_focused(&harness));
}

#[test]
fn a_question_mark_shows_all_keys_and_escape_closes_them() {
    let mut harness = open(Workspace::Why);
    let told = model(&harness).selection();
    harness.event(Event::Text("?".to_owned()));
    harness.run();
    let shown = |harness: &Window| harness.query_by_label("Keys and gestures").is_some();
    assert!(shown(&harness));
    press(&mut harness, Key::Escape);
    assert!(!shown(&harness));
    assert_eq!(model(&harness).selection(), told);
}

/// All that the help says stands inside the window, at the sizes that people have.
#[test]
fn the_help_fits_the_window() {
    for (width, height) in [(1600.0, 1000.0), (1280.0, 800.0), (1920.0, 1080.0)] {
        let mut harness = open(Workspace::Why);
        harness.set_size(vec2(width, height));
        harness.event(Event::Text("?".to_owned()));
        harness.run();
        let last = "move the lane; a click opens its menu";
        for text in ["workspace why", "take that back", "Mouse", last] {
            let rect = harness.get_by_label(text).rect();
            let is_inside = rect.left() > 0.0 && rect.right() < width && rect.bottom() < height;
            assert!(is_inside, "{text} at {rect:?} of {width} x {height}");
        }
    }
}

#[test]
fn alt_left_goes_back() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::SelectPacket(PacketId(30)));
    apply(&mut harness, Command::SelectPacket(PacketId(40)));
    harness.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    harness.run();
    assert_eq!(model(&harness).selection().packet, Some(PacketId(30)));
    harness.key_press_modifiers(Modifiers::ALT, Key::ArrowRight);
    harness.run();
    assert_eq!(model(&harness).selection().packet, Some(PacketId(40)));
}

#[test]
fn the_edges_of_the_frame_can_be_dragged() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::Show(fixture::ms(300..500)));
    let edge = harness.get_by_label("right edge of the frame").rect();
    drag(&mut harness, edge.center(), vec2(200.0, 0.0));
    let visible = model(&harness).visible();
    assert_eq!(visible.start, fixture::ms(300..500).start);
    assert!(visible.end > fixture::ms(550..600).start, "{visible:?}");
    let edge = harness.get_by_label("left edge of the frame").rect();
    drag(&mut harness, edge.center(), vec2(-200.0, 0.0));
    let again = model(&harness).visible();
    assert!(again.start < visible.start);
    assert_eq!(again.end, visible.end);
}

#[test]
fn dividers_can_be_dragged_and_are_kept() {
    let mut harness = open(Workspace::Packets);
    drop(harness.state_mut().take_requests());
    let left = |harness: &Window| {
        harness
            .get_by_label("divider between packet and bytes")
            .rect()
            .center()
            .x
    };
    let before = left(&harness);
    let at = harness
        .get_by_label("divider between packet and bytes")
        .rect()
        .center();
    drag(&mut harness, at, vec2(120.0, 0.0));
    assert!((left(&harness) - before - 120.0).abs() < 2.0);
    let kept = harness.state_mut().take_requests().pop();
    let Some(Request::Keep(settings)) = kept else {
        panic!("not kept: {kept:?}");
    };
    assert!(settings.layouts.contains_key("packets"));
}

#[test]
fn panes_keep_their_proportions_through_sizes() {
    let mut harness = open(Workspace::Why);
    let timeline = |harness: &Window| harness.get_by_label("timeline").rect();
    let before = timeline(&harness);
    for size in [vec2(1280.0, 700.0), vec2(1000.0, 640.0), vec2(800.0, 500.0)] {
        harness.set_size(size);
        harness.run();
        let height = timeline(&harness).height();
        assert!(height > 90.0, "{height} at {size:?}");
    }
    harness.set_size(vec2(1600.0, 1000.0));
    harness.run();
    assert_eq!(timeline(&harness), before);
}

#[test]
fn the_wheel_zooms_over_the_objects_time_and_scrolls_over_their_names() {
    let mut harness = open(Workspace::Why);
    let before = model(&harness).visible();
    let row = harness.get_by_label("object 42").rect();
    wheel(
        &mut harness,
        Pos2::new(row.left() + 30.0, row.center().y),
        2.0,
    );
    assert_eq!(model(&harness).visible(), before);
    wheel(
        &mut harness,
        Pos2::new(row.left() + 700.0, row.center().y),
        2.0,
    );
    let after = model(&harness).visible();
    assert!(after.end.0 - after.start.0 < before.end.0 - before.start.0);
}

#[test]
fn every_workspace_is_a_click_or_a_key_away() {
    let mut harness = open(Workspace::Why);
    let keys: [Key; Workspace::ALL.len()] = [
        Key::Num1,
        Key::Num2,
        Key::Num3,
        Key::Num4,
        Key::Num5,
        Key::Num6,
    ];
    for ((name, workspace), key) in Workspace::ALL.into_iter().zip(keys).rev() {
        let mut title = name.to_owned();
        title[..1].make_ascii_uppercase();
        harness.get_by_label(&title).click();
        harness.run();
        assert_eq!(harness.state().workspace(), workspace);
        press(&mut harness, Key::Num2);
        assert_eq!(harness.state().workspace(), Workspace::Packets);
        press(&mut harness, key);
        assert_eq!(harness.state().workspace(), workspace);
    }
}

/// The panes that are shown, from the left and from the top.
fn panes(harness: &Window) -> Vec<String> {
    let heads = harness.query_all_by_role(Role::Heading);
    let labels = heads.filter_map(|head| head.accesskit_node().label());
    labels.collect()
}

#[test]
fn a_pane_is_alone_and_again_with_the_others_by_a_key() {
    let mut harness = open(Workspace::Packets);
    let all = panes(&harness);
    assert_eq!(all.len(), 4, "{all:?}");
    let bytes = harness.get_by_label("pane bytes").rect();
    harness.hover_at(bytes.center());
    harness.run();
    press(&mut harness, Key::Z);
    assert_eq!(panes(&harness), ["pane bytes"]);
    press(&mut harness, Key::Z);
    assert_eq!(panes(&harness), all);
}

#[test]
fn a_pane_is_hidden_shown_and_put_back_by_menus() {
    let mut harness = open(Workspace::Packets);
    let all = panes(&harness);
    harness.get_by_label("menu of bytes").click();
    harness.run();
    harness.get_by_label("hide").click();
    harness.run();
    assert!(!panes(&harness).contains(&"pane bytes".to_owned()));
    let kept = harness.state_mut().take_requests().pop();
    let Some(Request::Keep(settings)) = kept else {
        panic!("not kept: {kept:?}");
    };
    let tree = settings.layouts.get("packets").expect("a layout");
    assert!(!tree.panes().contains(&Pane::Bytes));
    // Another window opens so.
    let mut inspector = Inspector::new(fixture::race_model(), Workspace::Packets);
    inspector.set_settings(Settings::from_json(&settings.to_json()).expect("settings"));
    let mut again = Harness::builder()
        .with_size(vec2(1600.0, 1000.0))
        .build_ui_state(|ui, it: &mut Inspector| it.show(ui), inspector);
    again.run();
    assert_eq!(panes(&again), panes(&harness));
    again.get_by_label("Look").click();
    again.run();
    again.get_by_label("Panes as they were at first").click();
    again.run();
    assert_eq!(panes(&again), all);
}

#[test]
fn a_head_that_is_dragged_takes_its_pane_along() {
    let mut harness = open(Workspace::Packets);
    let bytes = harness.get_by_label("pane bytes").rect();
    let packets = harness.get_by_label("pane packets").rect();
    assert!(bytes.top() > packets.bottom() && bytes.left() > packets.left());
    // To the left edge of the table.
    let to = Pos2::new(packets.left() + 20.0, 500.0);
    drag(&mut harness, bytes.center(), to - bytes.center());
    let after = harness.get_by_label("pane bytes").rect();
    assert_eq!(after.left(), packets.left());
    let before = panes(&harness);
    // Into the middle of another: they change places.
    let fields = harness
        .query_all_by_role(Role::Heading)
        .map(|head| head.rect())
        .max_by(|one, other| one.left().total_cmp(&other.left()))
        .expect("a pane");
    let to = Pos2::new(fields.center().x, fields.bottom() + 120.0);
    drag(&mut harness, after.center(), to - after.center());
    let changed = panes(&harness);
    assert_ne!(changed, before);
    assert_eq!(
        harness.get_by_label("pane bytes").rect().left(),
        fields.left()
    );
}

#[test]
fn a_mistake_in_the_filter_is_shown_whole_with_what_to_write_instead() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::SetFilter("object ==".to_owned()));
    let error = model(&harness).filter().error.clone().expect("an error");
    assert!(harness.query_by_label(&error).is_some(), "{error}");
    apply(&mut harness, Command::SetFilter("late > 100".to_owned()));
    let what_to_write = harness.query_by_label_contains("as `100s` or `100ms`");
    assert!(what_to_write.is_some());
}

#[test]
fn the_table_follows_the_visible_time() {
    let mut harness = open(Workspace::Packets);
    apply(&mut harness, Command::Deselect);
    apply(&mut harness, Command::Show(fixture::ms(600..700)));
    let first = model(&harness).rows_in_view().start;
    let row = format!("packet {first} ");
    let rows: Vec<String> = harness
        .query_all_by_role(Role::Row)
        .filter_map(|node| node.accesskit_node().label())
        .collect();
    assert!(
        rows.iter().any(|label| label.starts_with(&row)),
        "{row}: {rows:?}"
    );
}

#[test]
fn a_row_far_down_is_there_in_the_frame_that_selects_it() {
    let mut harness = open(Workspace::Packets);
    apply(&mut harness, Command::SelectPacket(PacketId(0)));
    let last = model(&harness).row_count() as u32 - 1;
    harness
        .state_mut()
        .model_mut()
        .apply(Command::SelectPacket(PacketId(last)));
    harness.step();
    let row = format!("packet {last} ");
    let mut rows = harness.query_all_by_role(Role::Row);
    let is_it = |label: String| label.starts_with(&row);
    assert!(rows.any(|node| node.accesskit_node().label().is_some_and(is_it)));
}

#[test]
fn below_a_findings_proof_stands_what_led_to_it_and_a_click_shows_the_packet() {
    let mut harness = open(Workspace::Why);
    let why = |harness: &Window| {
        let nodes = harness.query_all_by_role(Role::Button);
        let labels = nodes.filter_map(|node| node.accesskit_node().label());
        let because = labels.filter(|label| label.starts_with("because "));
        because.collect::<Vec<String>>()
    };
    let told = why(&harness);
    assert!(told.len() > 3, "{told:?}");
    let before = model(&harness).selection().packet;
    let rows = model(&harness).why_rows();
    let mut other = rows
        .iter()
        .filter(|row| row.packet.is_some() && row.packet != before);
    let row = other.next().expect("another packet");
    let label = format!("because {}", row.sentence);
    harness.get_by_label(&label).click();
    harness.run();
    assert_eq!(model(&harness).selection().packet, row.packet);
    // The finding stays in view, with all that led to it.
    assert_eq!(why(&harness), told);
}

#[test]
fn a_drag_over_time_with_alt_shows_it_and_with_shift_measures_it() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::ShowAll);
    let before = model(&harness).visible();
    let lanes = harness.get_by_label("timeline").rect();
    let from = lanes.center() - vec2(200.0, 0.0);
    let lengths = |harness: &Window| {
        let shapes = harness.output().shapes.iter();
        let lengths = shapes.filter(|clipped| {
            matches!(&clipped.shape, egui::Shape::Text(text) if text.galley.text().ends_with(" ms"))
        });
        lengths.count()
    };
    let written = lengths(&harness);
    let drag = |harness: &mut Window, modifiers: Modifiers| {
        harness.event(Event::ModifiersChanged(modifiers));
        harness.hover_at(from);
        harness.run();
        harness.drag_at(from);
        harness.run();
        harness.hover_at(from + vec2(300.0, 0.0));
        harness.run();
        let now = lengths(harness);
        harness.drop_at(from + vec2(300.0, 0.0));
        harness.run();
        harness.event(Event::ModifiersChanged(Modifiers::NONE));
        harness.run();
        now
    };
    let measured = drag(&mut harness, Modifiers::SHIFT);
    assert!(measured > written, "its length is written");
    assert_eq!(model(&harness).visible(), before);
    drag(&mut harness, Modifiers::ALT);
    let shown = model(&harness).visible();
    assert!(
        shown.start > before.start && shown.end < before.end,
        "{shown:?}"
    );
}
