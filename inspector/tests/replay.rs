//! The workspace of replay: what it asks of whoever runs the window, and what it shows of the answers.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::Window;
use egui::accesskit::Role;
use egui::{Event as Input, Key};
use egui_kittest::kittest::Queryable;
use netreel_inspector::{Answer, Event, Parting, Request, Standing, Workspace};
use netreel_protocol::session::{PacketId, SessionTime};

fn open() -> Window {
    drive::open(fixture::race_model(), Workspace::Replay)
}

fn asked(harness: &mut Window) -> Vec<Request> {
    harness.state_mut().take_requests()
}

fn stands(harness: &mut Window, standing: Standing) {
    harness.state_mut().hear(Answer::Stands(Box::new(standing)));
    harness.run();
}

/// A place in X's recording.
fn at(position: u64) -> Standing {
    let event = |number: u64| Event {
        number,
        time: SessionTime(number as i64 * 1_000_000),
        kind: "received".to_owned(),
        words: format!("from HOST, 2{number} bytes"),
        packet: Some(PacketId(number as u32)),
    };
    Standing {
        node: "X".to_owned(),
        position,
        time: Some(SessionTime(position as i64 * 1_000_000)),
        packet: Some(PacketId(position as u32)),
        events: (0..60).map(event).collect(),
        last: 900,
        turn: position,
        layer: vec![
            ("objects[42].owner".to_owned(), format!("peer {position}")),
            ("told".to_owned(), "7".to_owned()),
        ],
        ..Standing::default()
    }
}

#[test]
fn a_click_on_a_node_sits_down_and_its_answer_moves_cursor_and_packet() {
    let mut harness = open();
    harness.get_by_label("replay X").click();
    harness.run();
    let sit = Request::Sit {
        node: "X".to_owned(),
        changes: String::new(),
    };
    assert_eq!(asked(&mut harness), [sit]);
    stands(&mut harness, at(30));
    let model = harness.state().model();
    assert_eq!(model.cursor(), Some(SessionTime(30_000_000)));
    assert_eq!(model.selection().packet, Some(PacketId(30)));
    let here = harness.query_by_label("event 30 received from HOST, 230 bytes");
    assert!(here.is_some());
}

#[test]
fn buttons_lines_and_words_say_what_the_prompt_understands() {
    let mut harness = open();
    stands(&mut harness, at(30));
    for (name, command) in [
        ("back to the packet before", "back packet"),
        (
            "run to the next breakpoint, or to where it parts from the recording",
            "continue",
        ),
        ("event 33 received from HOST, 233 bytes", "goto 33"),
    ] {
        harness.get_by_label(name).click();
        harness.run();
        assert_eq!(asked(&mut harness), [Request::Say(command.to_owned())]);
        // Nothing more is said until it is answered.
        harness
            .get_by_label("event 32 received from HOST, 232 bytes")
            .click();
        harness.run();
        assert_eq!(asked(&mut harness), []);
        stands(&mut harness, at(30));
    }
    let boxes = harness.query_all_by_role(Role::TextInput);
    let say = boxes
        .into_iter()
        .find(|it| it.rect().top() > 150.0)
        .expect("a prompt");
    say.focus();
    harness.run();
    harness.event(Input::Text("until finding".to_owned()));
    harness.run();
    harness.key_press(Key::Enter);
    harness.run();
    let said = Request::Say("until finding".to_owned());
    assert_eq!(asked(&mut harness), [said]);
}

#[test]
fn what_a_command_changed_in_the_layer_stands_out() {
    let mut harness = open();
    stands(&mut harness, at(30));
    stands(&mut harness, at(31));
    let changed = harness.query_by_label("objects[42].owner: peer 31, changed");
    assert!(changed.is_some());
    assert!(harness.query_by_label("told: 7").is_some());
}

#[test]
fn a_divergence_stands_side_by_side_to_the_first_byte_that_differs() {
    let mut harness = open();
    let likely = "likely because changed setting mode = owner (recorded: host)";
    let parting = Parting {
        event: 31,
        field: Some(("mode".to_owned(), "host".to_owned(), "owner".to_owned())),
        expected_bytes: Some(vec![0xb0, 1, 2, 3]),
        came_bytes: Some(vec![0xb0, 1, 7, 3, 4]),
        likely: vec![likely.to_owned()],
        said: "A: diverged at event 31".to_owned(),
        ..Parting::default()
    };
    let standing = Standing {
        parting: Some(parting),
        breaks: vec!["kind == destroy".to_owned()],
        ..at(31)
    };
    stands(&mut harness, standing);
    for name in [
        "first difference: mode",
        "expected: host",
        "came: owner",
        "expected: 4 bytes, byte 2 differs first",
        "came: 5 bytes, byte 2 differs first",
        likely,
        "A: diverged at event 31",
    ] {
        assert!(harness.query_by_label(name).is_some(), "{name}");
    }
    harness.get_by_label("remove breakpoint 1").click();
    harness.run();
    assert_eq!(asked(&mut harness), [Request::Say("delete 1".to_owned())]);
}

#[test]
fn a_replay_that_cannot_be_says_why_where_it_was_asked_for() {
    let mut harness = open();
    harness.get_by_label("replay A").click();
    harness.run();
    let why = "the reel of A was recorded at the engine `other`".to_owned();
    harness.state_mut().hear(Answer::Stood(why));
    harness.run();
    drop(asked(&mut harness));
    // One can try again.
    harness.get_by_label("replay A").click();
    harness.run();
    assert_eq!(asked(&mut harness).len(), 1);
}
