//! The views, driven as somebody would: found by their accessible names, clicked, hovered, typed
//! into.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::sync::Arc;

use drive::{Window, apply};
use egui::accesskit::{Role, Toggled};
use egui::{Event, Key, Modifiers, MouseWheelUnit, Pos2, TouchPhase, Vec2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use fixture::{BOX, ways};
use netreel_inspector::{Inspector, Request, Settings, Workspace, theme};
use netreel_inspector_model::{Command, Hover, Model};
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::PacketId;

fn open(workspace: Workspace) -> Window {
    drive::open(fixture::race_model(), workspace)
}

/// The accessible names that hold a text.
fn names(harness: &Window, part: &str) -> Vec<String> {
    harness
        .query_all_by_label_contains(part)
        .filter_map(|node| node.accesskit_node().label())
        .collect()
}

/// The row of the packet table whose accessible name begins so.
fn row_of<'a>(harness: &'a Window, name: &'a str) -> egui_kittest::Node<'a> {
    harness
        .query_all_by_role(Role::Row)
        .find(|node| {
            node.accesskit_node()
                .label()
                .is_some_and(|label| label.starts_with(name))
        })
        .unwrap_or_else(|| panic!("no row {name}"))
}

fn click(harness: &mut Window, name: &str) {
    harness.get_by_label_contains(name).click();
    harness.run();
}

#[test]
fn nothing_moves_by_itself() {
    let mut harness = open(Workspace::Why);
    // It would not settle if something asked for a next frame.
    assert!(harness.try_run().is_ok());
}

#[test]
fn a_click_on_a_finding_selects_its_packet_in_all_views() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::Deselect);
    click(&mut harness, "finding zombie-object");
    let model = harness.state().model();
    let place = model.selection().finding.expect("a finding");
    let finding = &model.history().findings[place];
    assert_eq!(finding.rule, "zombie-object");
    let first = finding.evidence[0].packet;
    assert_eq!(model.selection().packet, Some(first));
    assert_eq!(model.selection().object, Some(BOX));
    // The tree, the objects and the table show it.
    assert!(!names(&harness, "field messages").is_empty());
    assert!(!names(&harness, "object 42 at X").is_empty());
    harness.key_press(Key::Num2);
    harness.run();
    let row = format!("packet {} ", first.0);
    assert_eq!(
        row_of(&harness, &row).accesskit_node().toggled(),
        Some(Toggled::True)
    );
}

#[test]
fn the_first_screen_is_why_where_something_was_found() {
    let harness = drive::open(fixture::race_model(), None);
    assert_eq!(harness.state().workspace(), Workspace::Why);
}

#[test]
fn the_first_screen_is_packets_where_nothing_was_found_and_the_first_is_open() {
    let (session, history) = fixture::observed_race();
    let harness = drive::open(Model::new(session, history), None);
    assert_eq!(harness.state().workspace(), Workspace::Packets);
    let selected = harness.state().model().selection().packet;
    assert_eq!(selected, Some(PacketId(0)));
    let table = harness.get_by_label("pane packets").rect();
    assert!(table.width() > 1_500.0, "{table:?}");
}

#[test]
fn whoever_chose_a_workspace_stays_there() {
    let (session, history) = fixture::observed_race();
    let mut harness = drive::open(Model::new(session, history), Workspace::Links);
    harness.run();
    assert_eq!(harness.state().workspace(), Workspace::Links);
}

#[test]
fn a_click_on_a_piece_of_proof_selects_its_packet() {
    let mut harness = open(Workspace::Why);
    let model = harness.state().model();
    let finding = model.selection().finding.expect("a finding");
    let last = model.evidence_rows(finding).pop().expect("proof");
    click(&mut harness, &format!("evidence packet {}", last.packet.0));
    assert_eq!(
        harness.state().model().selection().packet,
        Some(last.packet)
    );
    assert_eq!(harness.state().model().selection().finding, Some(finding));
}

#[test]
fn a_click_on_a_row_selects_its_packet() {
    let mut harness = open(Workspace::Packets);
    apply(&mut harness, Command::SelectPacket(PacketId(0)));
    row_of(&harness, "packet 5 ").click();
    harness.run();
    assert_eq!(
        harness.state().model().selection().packet,
        Some(PacketId(5))
    );
}

/// A session of a server and its clients, by their addresses.
fn addresses(count: u16) -> Model {
    let node = |number| ways::recorded(&format!("127.0.0.1:{}", 7_000 + number));
    ways::model(ways::talk((0..count).map(node).collect()))
}

#[test]
fn rows_of_nodes_that_have_no_names_have_their_ports() {
    let harness = drive::open(addresses(3), Workspace::Packets);
    for row in ["packet 0 :7001 → :7000", "packet 2 :7002 → :7000"] {
        row_of(&harness, row);
    }
}

#[test]
fn the_pointer_over_a_name_tells_what_is_known_of_the_node() {
    for (count, lane) in [(3_u16, 1_u16), (40, 21)] {
        let mut harness = drive::open(addresses(count), Workspace::Why);
        let lanes = harness.get_by_label("timeline").rect();
        let height = (lanes.height() - 22.0) / f32::from(count);
        let y = lanes.top() + 22.0 + (f32::from(lane) + 0.5) * height;
        harness.hover_at(Pos2::new(lanes.left() + 40.0, y));
        harness.run();
        let told = format!("127.0.0.1:{}\nrecorded at the node", 7_000 + lane);
        let shown = harness.query_by_label_contains(&told);
        assert!(shown.is_some(), "{told}");
    }
}

/// How many findings of a rule are listed.
fn listed(harness: &Window, rule: &str) -> usize {
    let found = names(harness, &format!("finding {rule}: "));
    found.len()
}

#[test]
fn a_rule_is_muted_from_a_findings_menu_and_a_line_brings_it_back() {
    let mut harness = open(Workspace::Why);
    // The list is short then.
    apply(&mut harness, Command::Deselect);
    let listed_at_first = listed(&harness, "zombie-object");
    assert!(listed_at_first > 0);
    let verdict = harness.state().model().verdict();
    let finding = harness.query_all_by_label_contains("finding zombie-object");
    finding
        .into_iter()
        .next()
        .expect("a finding")
        .click_secondary();
    harness.run();
    harness.get_by_label("mute its rule").click();
    harness.run();
    assert_eq!(listed(&harness, "zombie-object"), 0);
    let told = "of rule zombie-object are muted; the verdict counts them as before";
    let told_one = "1 finding of rule zombie-object is muted; the verdict counts it as before";
    let told = if listed_at_first == 1 { told_one } else { told };
    assert!(harness.query_by_label_contains(told).is_some());
    assert_eq!(harness.state().model().verdict(), verdict);
    harness
        .get_by_label("unmute the rule zombie-object")
        .click();
    harness.run();
    assert_eq!(listed(&harness, "zombie-object"), listed_at_first);
    assert!(harness.query_by_label_contains(told).is_none());
}

#[test]
fn a_rule_is_muted_by_a_key_kept_in_the_settings_and_undone() {
    let mut harness = open(Workspace::Why);
    drop(harness.state_mut().take_requests());
    let model = harness.state().model();
    let place = model.selection().finding.expect("a finding");
    let rule = model.history().findings[place].rule;
    harness.key_press_modifiers(Modifiers::SHIFT, Key::M);
    harness.run();
    let muted = std::sync::Arc::new([rule.to_owned()].into());
    assert_eq!(*harness.state().model().muted(), muted);
    let requests = harness.state_mut().take_requests();
    let kept = requests.into_iter().rev().find_map(|it| match it {
        Request::Keep(settings) => Some(settings),
        _ => None,
    });
    let kept = kept.expect("settings to keep");
    assert_eq!(kept.muted, muted);
    // Another session begins so.
    let again = Settings::from_json(&kept.to_json()).expect("settings");
    let mut another = Inspector::new(fixture::race_model(), Workspace::Why);
    another.set_settings(again);
    assert_eq!(*another.model().muted(), muted);
    assert!(
        another
            .model()
            .selection()
            .finding
            .is_some_and(|told| { another.model().history().findings[told].rule != rule })
    );

    harness.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    harness.run();
    assert!(harness.state().model().muted().is_empty());
    assert!(listed(&harness, rule) > 0);
    let requests = harness.state_mut().take_requests();
    let is_empty = |it: &Request| matches!(it, Request::Keep(kept) if kept.muted.is_empty());
    assert!(requests.iter().any(is_empty));
}

#[test]
fn a_click_on_a_flag_selects_its_finding() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::Deselect);
    let flags = names(&harness, "flag ");
    assert!(flags.iter().any(|name| name.ends_with("at X")), "{flags:?}");
    let flag = flags
        .iter()
        .find(|name| name.ends_with("at X"))
        .expect("a flag");
    click(&mut harness, flag);
    assert!(harness.state().model().selection().finding.is_some());
}

#[test]
fn the_pointer_over_a_field_lights_its_bytes() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::SelectPacket(PacketId(20)));
    assert!(names(&harness, " lit").is_empty());
    harness.get_by_label_contains("field sequence").hover();
    harness.run();
    assert_eq!(names(&harness, "byte "), {
        let bytes = harness
            .state()
            .model()
            .detail()
            .bytes()
            .expect("bytes")
            .len();
        (0..bytes)
            .map(|byte| match byte {
                2 | 3 => format!("byte {byte} lit"),
                _ => format!("byte {byte}"),
            })
            .collect::<Vec<_>>()
    });
    harness.remove_cursor();
    harness.run();
    assert_eq!(harness.state().model().hover(), None);
}

#[test]
fn the_pointer_over_a_byte_lights_its_field() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::SelectPacket(PacketId(20)));
    harness.get_by_label("byte 0").hover();
    harness.run();
    assert_eq!(names(&harness, "field magic"), ["field magic lit"]);
    assert_eq!(harness.state().model().hover(), Some(Hover::Byte(0)));
}

#[test]
fn a_stream_has_a_tab_and_its_fields_light_its_bytes() {
    let mut model = ways::model(ways::layered());
    model.apply(Command::SelectPacket(PacketId(0)));
    let mut harness = drive::open(model, Workspace::Packets);
    let tabs = |harness: &Window| harness.query_all_by_role(Role::Tab).count();
    let all = tabs(&harness);
    assert_eq!(names(&harness, "byte ").len(), 6);
    click(&mut harness, "field body.messages[1].kind");
    harness.remove_cursor();
    harness.run();
    assert_eq!(names(&harness, "byte ").len(), 5);
    assert_eq!(names(&harness, " lit"), ["byte 3 lit"]);
    click(&mut harness, "stream packet");
    harness.remove_cursor();
    harness.run();
    assert_eq!(names(&harness, " lit").len(), 5);
    assert_eq!(tabs(&harness), all);
    // A packet that is all there is has none.
    let mut harness = open(Workspace::Packets);
    apply(&mut harness, Command::SelectPacket(PacketId(20)));
    assert!(harness.query_by_label("stream packet").is_none());
}

#[test]
fn a_click_pins_a_field() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::SelectPacket(PacketId(20)));
    click(&mut harness, "field count");
    harness.remove_cursor();
    harness.run();
    assert_eq!(names(&harness, " lit"), ["byte 4 lit"]);
}

#[test]
fn the_filter_narrows_the_table() {
    let mut harness = open(Workspace::Packets);
    let all = harness.state().model().row_count();
    let filter = harness.get_by_role_and_label(Role::TextInput, "filter");
    filter.focus();
    harness.run();
    harness
        .get_by_role_and_label(Role::TextInput, "filter")
        .type_text("object == 42");
    harness.run();
    let model = harness.state().model();
    assert_eq!(model.filter().text, "object == 42");
    assert_eq!(model.filter().error, None);
    assert!(model.row_count() < all);
    for name in names(&harness, "packet ") {
        let Some(number) = name.strip_prefix("packet ") else {
            continue;
        };
        let number = number.split(' ').next().and_then(|n| n.parse().ok());
        let Some(id) = number.map(PacketId) else {
            continue;
        };
        let model = harness.state().model();
        let about = model
            .messages_of(id)
            .any(|(_, facts)| facts.object == Some(BOX));
        assert!(about, "{name} is in the table");
    }
    click(&mut harness, "clear");
    assert_eq!(harness.state().model().row_count(), all);
}

#[test]
fn a_filter_under_way_says_how_far_it_is() {
    let (session, history) = fixture::long(100_000);
    let mut harness = drive::open(Model::new(session, history), Workspace::Why);
    let filter = Command::SetFilter("from == A".to_owned());
    harness.state_mut().model_mut().apply(filter);
    // A frame takes in less than all.
    harness.step();
    while harness.state().model().filter().looked_at() == Some(0) {
        harness.step();
    }
    let so_far = |harness: &Window| {
        let labels = harness.query_all_by_label_contains(" of so far ");
        labels.count()
    };
    assert!(so_far(&harness) > 0);
    while harness.state().model().filter().looked_at().is_some() {
        harness.step();
    }
    harness.run();
    assert_eq!(so_far(&harness), 0);
    assert!(harness.query_by_label("25 000 packets").is_some());
}

#[test]
fn what_is_still_being_worked_out_is_said_until_it_is_there() {
    let session = Arc::new(fixture::fresh(100_001));
    let model = Model::of_session(session.clone(), &[]);
    let mut harness = drive::open(model, Workspace::Packets);
    let said = |harness: &Window| {
        let waits = harness.query_all_by_label_contains("findings: being worked out");
        waits.count()
    };
    assert_eq!(said(&harness), 1);
    row_of(&harness, "packet 3 ").click();
    harness.run();
    apply(&mut harness, Command::SetFilter("acked".to_owned()));
    assert!(
        harness
            .query_by_label("waits for acks and findings")
            .is_some()
    );
    assert!(!session.has_facts());

    harness.state_mut().model_mut().finish();
    harness.run();
    assert_eq!(said(&harness), 0);
    assert!(
        harness
            .query_by_label("waits for acks and findings")
            .is_none()
    );
    let selected = harness.state().model().selection().packet;
    assert_eq!(selected, Some(PacketId(3)));
}

/// Types into the filter.
fn types(harness: &mut Window, text: &str) {
    harness.get_by_role(Role::TextInput).focus();
    harness.run();
    harness.get_by_role(Role::TextInput).type_text(text);
    harness.run();
}

#[test]
fn a_filter_that_is_typed_can_be_finished_from_what_is_known() {
    let mut harness = open(Workspace::Why);
    for (typed, finished) in [
        ("kin", "kind "),
        ("== mi", "kind == migrate "),
        ("&& to == H", "kind == migrate && to == HOST "),
    ] {
        types(&mut harness, typed);
        harness.key_press(Key::Tab);
        harness.run();
        assert_eq!(harness.state().model().filter().text, finished);
    }
}

#[test]
fn a_click_on_a_word_takes_it() {
    let mut harness = open(Workspace::Why);
    types(&mut harness, "from == ");
    harness.get_by_role_and_label(Role::Button, "X").click();
    harness.run();
    assert_eq!(harness.state().model().filter().text, "from == X ");
    types(&mut harness, "&& to == A");
    assert_eq!(
        harness.state().model().filter().text,
        "from == X && to == A"
    );
}

#[test]
fn a_menu_joins_its_filter_with_the_one_in_force() {
    for (name, joined) in [
        ("alone", r#"from == "A" && to == "X""#),
        ("and", r#"late && from == "A" && to == "X""#),
        ("or", r#"late || from == "A" && to == "X""#),
        ("and not", r#"late && !(from == "A" && to == "X")"#),
    ] {
        let mut harness = open(Workspace::Links);
        apply(&mut harness, Command::SetFilter("late".to_owned()));
        let cell = harness.get_by_label_contains("link A → X:");
        cell.click_secondary();
        harness.run();
        click(&mut harness, "filter by this link");
        harness.get_by_label(name).click();
        harness.run();
        assert_eq!(harness.state().model().filter().text, joined);
    }
}

#[test]
fn what_a_menu_filters_by_takes_what_it_was_opened_on() {
    let of = |workspace: Workspace, row: &str, offer: &str| {
        let mut harness = open(workspace);
        let found = harness.query_all_by_label_contains(row).next();
        found.expect("a row").click_secondary();
        harness.run();
        harness.get_by_label(offer).click();
        harness.run();
        let filter = harness.state().model().filter();
        assert_eq!(filter.error, None);
        (filter.text.clone(), harness.state().model().row_count())
    };
    let model = fixture::race_model();
    let told = model.selection().packet.expect("the story's packet");
    let told = model.packet_row(told).expect("a packet");
    let row = format!("packet {} {}", told.packet.0, told.cell(PacketField::Link));
    let kind = model.kind_name(told.lead);
    let cells = names(&open(Workspace::State), " at A: ");
    let cell = cells.first().expect("a value");
    let (_, object) = cell.split_once(" of ").expect("its object");
    let (object, _) = object.split_once(' ').expect("its object alone");
    for (workspace, row, offer, expected) in [
        (
            Workspace::Packets,
            row.as_str(),
            "filter by its kind",
            format!("kind == {kind}"),
        ),
        (
            Workspace::Packets,
            row.as_str(),
            "filter by its fate",
            "received".to_owned(),
        ),
        (
            Workspace::Why,
            "object 42 at X",
            "filter by this object",
            format!("object == {BOX}"),
        ),
        (
            Workspace::State,
            cell.as_str(),
            "filter by this object",
            format!("object == {object}"),
        ),
    ] {
        let (filter, packets) = of(workspace, row, offer);
        assert_eq!(filter, expected);
        assert!(packets > 0 && packets < model.row_count(), "{filter}");
    }
}

#[test]
fn enter_right_behind_a_word_that_was_taken_ends_the_line() {
    let mut harness = open(Workspace::Why);
    types(&mut harness, "from == ");
    // A slow frame gets both keys.
    for key in [Key::Tab, Key::Enter] {
        harness.input_mut().events.push(Event::Key {
            key,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: Modifiers::NONE,
        });
    }
    harness.run();
    assert_eq!(harness.state().model().filter().text, "from == A ");
    harness.key_press(Key::Num2);
    harness.run();
    assert_eq!(harness.state().workspace(), Workspace::Packets);
}

#[test]
fn numbers_of_heads_and_of_the_status_lead_to_what_they_count() {
    let lost = fixture::race_model().status_pieces();
    let lost = lost.into_iter().find(|(_, filter)| filter.is_some());
    let (said, filter) = lost.expect("lost packets");
    let mut harness = open(Workspace::Why);
    harness.get_by_label(&said).click();
    harness.run();
    let model = harness.state().model();
    assert_eq!(Some(model.filter().text.as_str()), filter);
    assert_eq!(format!("{} lost", model.row_count()), said);

    let mut harness = open(Workspace::Why);
    harness.get_by_label("2 errors: show these alone").click();
    harness.run();
    let model = harness.state().model();
    assert_eq!(model.filter().text, "level == error");
    assert!(model.finding_rows_count() == 2 && model.row_count() > 0);
}

#[test]
fn a_mistake_in_the_filter_is_said_when_it_is_typed_and_nothing_moves() {
    let mut harness = open(Workspace::Why);
    let below = |harness: &Window| harness.get_by_label("pane timeline").rect();
    let before = below(&harness);
    types(&mut harness, "object ==");
    // Somebody may go on.
    assert!(names(&harness, "column 10").is_empty());
    harness.key_press(Key::Enter);
    harness.run();
    assert_eq!(below(&harness), before);
    let error = harness
        .state()
        .model()
        .filter()
        .error
        .clone()
        .expect("an error");
    let first = error.lines().next().expect("a line").to_owned();
    assert!(harness.query_by_label_contains(&first).is_some(), "{first}");
}

fn wheel(harness: &mut Window, at: Pos2, delta: Vec2) {
    harness.hover_at(at);
    harness.run();
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta,
        phase: TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
        modifiers: Default::default(),
    });
    harness.run();
}

#[test]
fn the_wheel_zooms_at_the_pointer() {
    let mut harness = open(Workspace::Why);
    let lanes = harness.get_by_label("timeline").rect();
    // The wheel's time is where the lanes' time begins: behind the names.
    let left = lanes.left() + theme::GUTTER;
    let width = lanes.width() - theme::GUTTER - 14.0;
    let at = Pos2::new(left + 400.0, lanes.center().y);
    let before = harness.state().model().visible();
    let under = harness.state().model().scale(width).time(400.0);
    wheel(&mut harness, at, vec2(0.0, 2.0));
    let model = harness.state().model();
    let after = model.visible();
    assert!(after.end.0 - after.start.0 < before.end.0 - before.start.0);
    let x = model.scale(width).x(under);
    assert!((x - 400.0).abs() < 1.0, "400 went to {x}");
}

#[test]
fn a_drag_pans_and_a_click_sets_the_cursor() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::Show(fixture::ms(300..500)));
    let lanes = harness.get_by_label("timeline").rect();
    let at = Pos2::new(lanes.left() + 700.0, lanes.top() + 30.0);
    harness.drag_at(at);
    harness.run();
    harness.hover_at(at + vec2(120.0, 0.0));
    harness.run();
    harness.drop_at(at + vec2(120.0, 0.0));
    harness.run();
    let visible = harness.state().model().visible();
    assert!(visible.start < fixture::ms(300..500).start, "{visible:?}");
    let length = visible.end.0 - visible.start.0;
    assert_eq!(length, 200_000_000);
    assert_eq!(harness.state().model().cursor(), None);
    // Above the first lane there is no arrow.
    let width = lanes.width() - theme::GUTTER - 14.0;
    let at = Pos2::new(lanes.left() + theme::GUTTER + 500.0, lanes.top() + 26.0);
    let expected = harness.state().model().scale(width).time(500.0);
    harness.drag_at(at);
    harness.run();
    harness.drop_at(at);
    harness.run();
    let cursor = harness.state().model().cursor().expect("a cursor");
    assert!(
        (cursor.0 - expected.0).abs() < 200_000,
        "{cursor:?}, not {expected:?}"
    );
}

#[test]
fn keys_walk_over_packets_and_findings() {
    let mut harness = open(Workspace::Why);
    let told = harness.state().model().selection().finding;
    harness.key_press(Key::N);
    harness.run();
    assert_ne!(harness.state().model().selection().finding, told);
    harness.key_press(Key::P);
    harness.run();
    assert_eq!(harness.state().model().selection().finding, told);
    apply(&mut harness, Command::SelectPacket(PacketId(30)));
    harness.key_press(Key::ArrowDown);
    harness.run();
    assert_eq!(
        harness.state().model().selection().packet,
        Some(PacketId(31))
    );
    harness.key_press(Key::A);
    harness.run();
    let model = harness.state().model();
    assert_eq!(model.visible(), model.whole());
    harness.key_press(Key::F);
    harness.run();
    assert_ne!(
        harness.state().model().visible(),
        harness.state().model().whole()
    );
}

#[test]
fn keys_belong_to_the_filter_while_it_is_typed_into() {
    let mut harness = open(Workspace::Why);
    let told = harness.state().model().selection().finding;
    harness.get_by_role(Role::TextInput).focus();
    harness.run();
    harness.key_press(Key::N);
    harness.run();
    assert_eq!(harness.state().model().selection().finding, told);
}

#[test]
fn every_workspace_can_be_opened_by_its_name() {
    for (name, workspace) in Workspace::ALL {
        assert_eq!(name.parse(), Ok(workspace));
        open(workspace);
    }
    let error = "lanes".parse::<Workspace>().expect_err("no such workspace");
    assert!(error.contains("why, packets, "), "{error}");
}

#[test]
fn where_a_race_began_can_be_read_in_a_small_window() {
    for size in [[1000.0, 640.0], [1600.0, 1000.0]] {
        let mut window = open(Workspace::Why);
        window.set_size(size.into());
        window.run();
        let cause = window.state().model().why_cause().expect("a cause");
        let label = format!("because {}", cause.sentence);
        let rects = window.query_all_by_label(&label).map(|node| node.rect());
        let top = rects.map(|rect| rect.bottom()).fold(f32::MAX, f32::min);
        // Above the bottom line.
        assert!(top < size[1] - 30.0, "{top} of {size:?}");
        // Whole rows: the nodes of the box down to X are in the pane of objects.
        let name = format!("object {} at X", fixture::BOX);
        let row = window.get_by_label(&name).rect();
        let findings = window.get_by_label_contains("pane findings").rect();
        assert!(row.bottom() <= findings.top(), "{row:?} {findings:?}");
    }
}

#[test]
fn the_value_of_a_field_can_be_filtered_by() {
    let mut model = fixture::race_model();
    let packet = model.selection().packet.expect("a packet");
    let rows = model.detail().rows();
    let row = rows
        .iter()
        .find(|row| row.name == "sequence")
        .expect("a field");
    let filter = model.field_filter(row).expect("a filter");
    assert_eq!(filter, format!("sequence == {}", row.value));
    let object = rows
        .iter()
        .find(|row| row.name == "object")
        .expect("a field");
    let about = model.field_filter(object).expect("a filter");
    for filter in [filter, about] {
        model.apply(Command::SetFilter(filter.clone()));
        model.finish_filter();
        assert_eq!(model.filter().error, None, "{filter}");
        assert!(model.row_of(packet).is_some(), "{filter}");
        assert!(
            model.row_count() < model.session().packet_count(),
            "{filter}"
        );
    }
}
