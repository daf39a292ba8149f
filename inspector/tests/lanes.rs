//! Lanes under a hand, and the signs at the edge of the timeline.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::PathBuf;

use drive::{Window, apply, buttons};
use egui::{Event, Key, Modifiers, Vec2, vec2};
use egui_kittest::kittest::Queryable;
use fixture::{A, HOST, X};
use netreel_inspector::{Answer, Request, Workspace};
use netreel_inspector_model::{Command, LaneMove, Model};
use netreel_protocol::session::{NodeId, PacketId, SessionTime};

fn open() -> Window {
    drive::open(fixture::race_model(), Workspace::Why)
}

fn model(window: &Window) -> &Model {
    window.state().model()
}

fn names(window: &Window) -> Vec<String> {
    let rows = model(window).lane_rows().iter();
    rows.map(|row| model(window).lane_title(row)).collect()
}

fn press(window: &mut Window, modifiers: Modifiers, key: Key) {
    window.key_press_modifiers(modifiers, key);
    window.run();
}

/// Takes hold of a control and lets go of it elsewhere.
fn drag(window: &mut Window, label: &str, by: Vec2) {
    let from = window.get_by_label(label).rect().center();
    for part in [0.0, 0.5, 1.0] {
        let at = from + by * part;
        match part {
            0.0 => window.drag_at(at),
            _ => window.hover_at(at),
        }
        window.run();
    }
    window.drop_at(from + by);
    window.run();
}

fn choose(window: &mut Window, menu: &str, line: &str) {
    window.get_by_label(menu).click();
    window.run();
    window.get_by_label(line).click();
    window.run();
}

#[test]
fn a_name_that_is_dragged_moves_its_lane() {
    let mut window = open();
    let height = window.get_by_label("lane X").rect().height();
    drag(&mut window, "lane X", vec2(0.0, -3.0 * height));
    assert_eq!(names(&window), ["X", "HOST", "A", "B"]);
    drag(&mut window, "lane X", vec2(0.0, height));
    assert_eq!(names(&window), ["HOST", "X", "A", "B"]);
    // A name that is let go of where it was stays.
    drag(&mut window, "lane X", vec2(0.0, 0.2 * height));
    assert_eq!(names(&window), ["HOST", "X", "A", "B"]);
    // No way through time was taken.
    assert_eq!(model(&window).cursor(), None);
}

#[test]
fn the_menu_of_a_lane_hides_it_and_that_of_all_shows_it_again() {
    let mut window = open();
    choose(&mut window, "lane A", "hide  Shift+H");
    assert_eq!(names(&window), ["HOST", "B", "X"]);
    assert!(buttons(&window).contains(&"menu of 3 of 4 lanes".to_owned()));
    choose(&mut window, "menu of 3 of 4 lanes", "show A");
    assert_eq!(names(&window), ["HOST", "A", "B", "X"]);
}

#[test]
fn the_menu_of_a_lane_shows_it_alone_and_with_the_others() {
    let mut window = open();
    choose(&mut window, "lane A", "alone  Shift+L");
    assert_eq!(names(&window), ["A"]);
    choose(&mut window, "lane A", "with the others again  Shift+L");
    assert_eq!(names(&window), ["HOST", "A", "B", "X"]);
}

#[test]
fn keys_move_the_lane_that_has_the_keyboard() {
    let mut window = open();
    window.get_by_label("lane X").focus();
    window.run();
    press(&mut window, Modifiers::SHIFT, Key::ArrowUp);
    press(&mut window, Modifiers::SHIFT, Key::ArrowUp);
    assert_eq!(names(&window), ["HOST", "X", "A", "B"]);
    assert!(window.get_by_label("lane X").is_focused());
    press(&mut window, Modifiers::SHIFT, Key::ArrowDown);
    assert_eq!(names(&window), ["HOST", "A", "X", "B"]);
    press(&mut window, Modifiers::SHIFT, Key::L);
    assert_eq!(names(&window), ["X"]);
    press(&mut window, Modifiers::SHIFT, Key::L);
    press(&mut window, Modifiers::SHIFT, Key::H);
    assert_eq!(names(&window), ["HOST", "A", "B"]);
}

#[test]
fn a_key_for_a_lane_says_where_none_is_at_hand() {
    let mut window = open();
    press(&mut window, Modifiers::SHIFT, Key::H);
    assert_eq!(names(&window), ["HOST", "A", "B", "X"]);
    let said = "No lane is at hand: point at its name, or go to it with Tab.";
    assert!(window.query_by_label(said).is_some());
}

#[test]
fn control_z_takes_back_what_a_hand_did_to_lanes() {
    let mut window = open();
    let height = window.get_by_label("lane X").rect().height();
    drag(&mut window, "lane X", vec2(0.0, -height));
    choose(&mut window, "lane A", "hide  Shift+H");
    assert_eq!(names(&window), ["HOST", "X", "B"]);
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(names(&window), ["HOST", "A", "X", "B"]);
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(names(&window), ["HOST", "A", "B", "X"]);
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(names(&window), ["HOST", "A", "X", "B"]);
}

#[test]
fn the_finder_has_all_lanes() {
    let mut window = open();
    press(&mut window, Modifiers::COMMAND, Key::P);
    window.event(Event::Text("lane x: up".to_owned()));
    window.run();
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert_eq!(names(&window), ["HOST", "A", "X", "B"]);
}

#[test]
fn lanes_are_kept_by_name_with_their_session() {
    let mut window = open();
    let opened = |paths: &str| Answer::Opened {
        model: Box::new(fixture::race_model()),
        title: paths.to_owned(),
        paths: vec![PathBuf::from(paths)],
    };
    window.state_mut().hear(opened("/race"));
    window.run();
    apply(&mut window, Command::Lanes(LaneMove::Up(NodeId(X))));
    window.run();
    let requests = window.state_mut().take_requests();
    let kept = requests.iter().rev().find_map(|it| match it {
        Request::Keep(settings) => Some(settings.clone()),
        _ => None,
    });
    let kept = kept.expect("settings to keep");
    let mut lanes = kept.lanes.iter();
    let of_race = lanes.find(|it| it.of == [PathBuf::from("/race")]);
    assert_eq!(
        of_race.expect("its lanes").plan.order,
        ["HOST", "A", "X", "B"]
    );
    window.state_mut().hear(opened("/other"));
    window.run();
    assert_eq!(names(&window), ["HOST", "A", "B", "X"]);
    // That the lanes of another session lay otherwise is no step that can be taken back.
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(names(&window), ["HOST", "A", "B", "X"]);
    window.state_mut().hear(opened("/race"));
    window.run();
    assert_eq!(names(&window), ["HOST", "A", "X", "B"]);
}

#[test]
fn the_other_session_has_the_same_lanes() {
    let mut window = drive::open(fixture::race_model(), Workspace::Compare);
    window.state_mut().hear(Answer::Compared {
        model: Box::new(fixture::race_model()),
        title: "the other".to_owned(),
    });
    window.run();
    apply(&mut window, Command::Lanes(LaneMove::Up(NodeId(X))));
    window.run();
    let orders: Vec<Vec<String>> = window
        .state_mut()
        .models_mut()
        .map(|model| model.lane_plan().order.clone())
        .collect();
    assert_eq!(orders, [["HOST", "A", "X", "B"], ["HOST", "A", "X", "B"]]);
}

fn go_to(window: &Window) -> Vec<String> {
    let all = buttons(window).into_iter();
    all.filter(|label| label.starts_with("go to ")).collect()
}

/// A window on the first tenth of the time, with a packet of the end selected.
fn far_away() -> Window {
    let mut window = open();
    apply(&mut window, Command::Deselect);
    let last = model(&window).session().packet_count() as u32 - 1;
    apply(&mut window, Command::SelectPacket(PacketId(last)));
    let whole = model(&window).whole();
    let tenth = (whole.end.0 - whole.start.0) / 10;
    let first = whole.start..SessionTime(whole.start.0 + tenth);
    apply(&mut window, Command::Show(first));
    window
}

#[test]
fn a_focus_in_sight_has_no_sign() {
    let mut window = open();
    apply(&mut window, Command::FrameSelection);
    assert_eq!(go_to(&window), [""; 0]);
}

#[test]
fn a_sign_at_the_edge_goes_to_the_packet_that_is_out_of_sight() {
    let mut window = far_away();
    let packet = model(&window).selection().packet.expect("a packet");
    let signs = go_to(&window);
    let [sign] = signs.as_slice() else {
        panic!("{signs:?}");
    };
    assert!(
        sign.starts_with(&format!("go to packet {}, ", packet.0)),
        "{sign}"
    );
    assert!(sign.ends_with(" later"), "{sign}");
    let time = window.get_by_label("timeline").rect();
    let at = window.get_by_label(sign).rect();
    assert!((time.right() - at.right()) < 40.0, "{at:?} in {time:?}");
    window.get_by_label(sign).click();
    window.run();
    let arrow = model(&window).arrow(packet).expect("its arrow");
    assert!(model(&window).visible().contains(&arrow.start));
    assert_eq!(model(&window).selection().packet, Some(packet));
    assert_eq!(go_to(&window), [""; 0]);
}

#[test]
fn a_finding_that_is_out_of_sight_has_a_sign() {
    let mut window = open();
    let finding = model(&window).selection().finding.expect("a story");
    let at = model(&window).history().findings[finding].time;
    let whole = model(&window).whole();
    let tenth = (whole.end.0 - whole.start.0) / 10;
    let last = SessionTime(whole.end.0 - tenth)..whole.end;
    assert!(at < last.start);
    apply(&mut window, Command::Show(last));
    let rule = model(&window).history().findings[finding].rule;
    let signs = go_to(&window);
    let of_finding = signs
        .iter()
        .find(|it| it.starts_with(&format!("go to {rule}, ")));
    let sign = of_finding.unwrap_or_else(|| panic!("{signs:?}")).clone();
    assert!(sign.ends_with(" earlier"), "{sign}");
    window.get_by_label(&sign).click();
    window.run();
    assert!(model(&window).visible().contains(&at));
}

#[test]
fn a_focus_on_a_hidden_lane_has_a_sign_that_shows_the_lane() {
    let mut window = open();
    apply(&mut window, Command::Deselect);
    let session = model(&window).shared_session();
    let between = |id: &PacketId| session.link(*id) == Some((NodeId(HOST), NodeId(A)));
    let all = (0..session.packet_count() as u32).map(PacketId);
    let packet = all.clone().find(between).expect("a packet");
    apply(&mut window, Command::SelectPacket(packet));
    apply(&mut window, Command::Lanes(LaneMove::Toggle(NodeId(A))));
    // One end can still be seen.
    assert_eq!(go_to(&window), [""; 0]);
    apply(&mut window, Command::Lanes(LaneMove::Toggle(NodeId(HOST))));
    let sign = format!("go to packet {}, on a hidden lane", packet.0);
    assert_eq!(go_to(&window), [sign.as_str()]);
    window.get_by_label(&sign).click();
    window.run();
    assert_eq!(names(&window), ["HOST", "B", "X"]);
}
