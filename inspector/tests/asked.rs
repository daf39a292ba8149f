//! What is asked of whoever runs the window, and what comes of it: files that are dropped, paths that are
//! typed, sessions that are opened and that grow.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drive::{Window, apply};
use egui::{Event, Key, Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use netreel_inspector::{Answer, Inspector, PathKind, Picks, Request, Settings, Workspace};
use netreel_inspector_model::{Command, Model};
use netreel_protocol::session::PacketId;

/// A file that somebody lets go of over the window.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("nobody reads it".to_owned())
    }
}

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

#[test]
fn a_path_that_is_typed_is_completed() {
    let mut harness = open(Workspace::Why);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::O);
    harness.run();
    let asks = |harness: &mut Window| {
        let asked = harness.state_mut().take_requests().into_iter();
        asked
            .filter(|it| matches!(it, Request::List(..) | Request::Open(_)))
            .collect::<Vec<_>>()
    };
    let listed = |typed: &str| Request::List(PathKind::Recording, typed.to_owned());
    assert_eq!(asks(&mut harness), [listed("")]);
    harness.event(Event::Text("ra".to_owned()));
    harness.run();
    assert_eq!(asks(&mut harness), [listed("ra")]);
    // What comes late is of another text.
    let paths = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    let late = Answer::Listed("r".to_owned(), paths(&["r.pcap"]));
    harness.state_mut().hear(late);
    let answer = Answer::Listed("ra".to_owned(), paths(&["race.pcap", "races/"]));
    harness.state_mut().hear(answer);
    harness.run();
    assert!(harness.query_by_label("r.pcap").is_none());
    press(&mut harness, Key::ArrowDown);
    press(&mut harness, Key::Tab);
    assert_eq!(asks(&mut harness), [listed("races/")]);
    press(&mut harness, Key::Enter);
    let opens = Request::Open(vec![PathBuf::from("races/")]);
    assert_eq!(asks(&mut harness), [opens]);
}

#[test]
fn the_systems_dialog_is_asked_for_and_what_it_says_is_opened() {
    let mut harness = open(Workspace::Why);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::O);
    harness.run();
    harness.get_by_label("choose a folder…").click();
    harness.run();
    let asked = harness.state_mut().take_requests();
    assert!(asked.contains(&Request::Choose(PathKind::Recording, Picks::Folder)));
    harness
        .state_mut()
        .hear(Answer::Chosen(PathKind::Recording, None));
    harness.run();
    assert!(harness.query_by_label("choose a folder…").is_some());
    let path = PathBuf::from("/race");
    let answer = Answer::Chosen(PathKind::Recording, Some(path.clone()));
    harness.state_mut().hear(answer);
    harness.run();
    assert!(harness.query_by_label("choose a folder…").is_none());
    let asked = harness.state_mut().take_requests();
    assert!(asked.contains(&Request::Open(vec![path])), "{asked:?}");
}

#[test]
fn what_is_dropped_is_asked_for() {
    let mut inspector = Inspector::new(fixture::race_model(), Workspace::Why);
    inspector.set_settings(Settings::default());
    let mut harness = Harness::builder()
        .with_size(vec2(1000.0, 640.0))
        .build_ui_state(|ui, it: &mut Inspector| it.show(ui), inspector);
    harness.run();
    for path in ["race", "new.wire"] {
        let file = Dropped(PathBuf::from(path));
        harness.input_mut().dropped_files.push(Arc::new(file));
    }
    harness.run();
    let asked = harness.state_mut().take_requests();
    let expected = [
        Request::Open(vec![PathBuf::from("race")]),
        Request::Wire(PathBuf::from("new.wire")),
    ];
    assert_eq!(asked, expected);
}

#[test]
fn a_path_that_is_typed_is_asked_for_and_a_failure_is_said() {
    let mut harness = open(Workspace::Why);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::O);
    harness.run();
    harness.event(Event::Text("elsewhere".to_owned()));
    harness.run();
    press(&mut harness, Key::Enter);
    let asked = harness.state_mut().take_requests();
    let opens = Request::Open(vec![PathBuf::from("elsewhere")]);
    assert_eq!(asked.last(), Some(&opens), "{asked:?}");
    let sentence = "elsewhere: there is no such file; name a reel".to_owned();
    harness.state_mut().hear(Answer::Failed(sentence.clone()));
    harness.run();
    assert!(harness.query_by_label(&sentence).is_some());
    harness.get_by_label("close this message").click();
    harness.run();
    assert!(harness.query_by_label(&sentence).is_none());
}

#[test]
fn another_session_takes_the_place_of_the_first() {
    let mut harness = open(Workspace::Why);
    let (session, history) = fixture::long(2_000);
    let other = Model::new(session, history);
    let packets = other.row_count();
    harness.state_mut().hear(Answer::Opened {
        model: Box::new(other),
        title: "other".to_owned(),
        paths: vec!["other".into()],
    });
    harness.run();
    assert_eq!(model(&harness).row_count(), packets);
    assert_eq!(harness.state_mut().take_title().as_deref(), Some("other"));
}

/// Of a session of this many packets, before anybody knows what followed from them.
fn begun(packets: usize) -> Answer {
    Answer::Begun {
        model: Box::new(Model::beginning(Arc::new(fixture::fresh(packets)))),
        title: "match".to_owned(),
        paths: vec![PathBuf::from("match")],
    }
}

/// All of such a session.
fn opened(packets: usize) -> Answer {
    let session = Arc::new(fixture::fresh(packets));
    Answer::Opened {
        model: Box::new(Model::open(session, &[])),
        title: "match".to_owned(),
        paths: vec![PathBuf::from("match")],
    }
}

fn hear(harness: &mut Window, answer: Answer) {
    harness.state_mut().hear(answer);
    harness.run();
}

#[test]
fn a_beginning_is_shown_until_all_of_it_is_read_and_nobody_is_moved() {
    let mut harness = open(Workspace::Packets);
    hear(&mut harness, begun(1_000));
    assert_eq!(model(&harness).row_count(), 1_000);
    assert!(model(&harness).lacks_history());
    let visible = fixture::ms(20..30);
    apply(&mut harness, Command::Show(visible.clone()));
    apply(&mut harness, Command::SelectPacket(PacketId(200)));
    apply(&mut harness, Command::SetFilter("from == A".to_owned()));
    let looked_at = model(&harness).selection().packet;
    hear(&mut harness, opened(2_000));
    assert_eq!(model(&harness).session().packet_count(), 2_000);
    assert!(!model(&harness).lacks_history());
    assert_eq!(model(&harness).selection().packet, looked_at);
    assert_eq!(model(&harness).visible(), visible);
    assert_eq!(model(&harness).filter().text, "from == A");
    // Who has not looked around is shown what is told of the whole; so is who opens something else.
    hear(&mut harness, begun(1_000));
    hear(&mut harness, opened(2_000));
    let told = model(&harness).selection();
    let shown = model(&harness).visible();
    hear(&mut harness, opened(2_000));
    assert_eq!(
        (model(&harness).selection(), model(&harness).visible()),
        (told, shown)
    );
}

#[test]
fn whoever_gives_up_the_rest_is_told_that_the_beginning_is_shown() {
    let mut harness = open(Workspace::Packets);
    hear(&mut harness, begun(1_000));
    // It asks for further frames as long as it works.
    harness
        .state_mut()
        .hear(Answer::Working("reading match".to_owned()));
    harness.step();
    harness.get_by_label("no longer work on it").click();
    harness.run();
    assert!(
        harness
            .state_mut()
            .take_requests()
            .contains(&Request::Cancel)
    );
    assert!(model(&harness).given_up().is_some());
    let said = harness.query_by_label_contains("Only its beginning was read");
    assert!(said.is_some());
    // Another session is opened as ever.
    hear(&mut harness, opened(2_000));
    assert_eq!(model(&harness).session().packet_count(), 2_000);
}

#[test]
fn a_session_that_grows_keeps_what_is_looked_at() {
    let mut harness = open(Workspace::Why);
    apply(&mut harness, Command::SelectPacket(PacketId(30)));
    let before = (model(&harness).selection(), model(&harness).visible());
    harness.state_mut().hear(Answer::Grown {
        model: Box::new(fixture::race_model()),
        live: true,
    });
    harness.run();
    let after = (model(&harness).selection(), model(&harness).visible());
    assert_eq!(after, before);
    assert!(harness.query_by_label("live").is_some());
}

#[test]
fn whoever_watches_a_recording_is_not_moved_when_it_ends() {
    let grown = |packets: usize, live: bool| Answer::Grown {
        model: Box::new(Model::open(Arc::new(fixture::fresh(packets)), &[])),
        live,
    };
    let nothing = || Model::of_session(Arc::default(), &[]);
    let mut watched = drive::open(nothing(), None);
    hear(&mut watched, grown(500, true));
    let before = watched.state().workspace();
    hear(&mut watched, grown(1_000, false));
    assert_eq!(watched.state().workspace(), before);
    // Of one that is over already the first screen is chosen.
    let mut over = drive::open(nothing(), None);
    hear(&mut over, grown(1_000, false));
    assert_eq!(over.state().workspace(), Workspace::Packets);
}

#[test]
fn where_nothing_is_open_the_window_says_what_can_be() {
    let mut window = drive::open(Model::of_session(Arc::default(), &[]), None);
    let mut settings = Settings::default();
    settings.opened(&[PathBuf::from("/race")]);
    window.state_mut().set_settings(settings);
    window.state_mut().welcome();
    window.run();
    drop(window.state_mut().take_requests());
    for (name, expected) in [
        ("See the demonstration", Request::Demonstration),
        ("/race", Request::Open(vec![PathBuf::from("/race")])),
    ] {
        window.get_by_label(name).click();
        window.run();
        assert_eq!(window.state_mut().take_requests(), [expected]);
    }
    // There is nothing to go through yet.
    let through = ["Packets", "show the whole session (A)", "filter"];
    let is_there = |window: &Window| through.map(|it| window.query_by_label(it).is_some());
    assert_eq!(is_there(&window), [false; 3]);
    hear(&mut window, opened(1_000));
    assert!(window.query_by_label("See the demonstration").is_none());
    assert!(is_there(&window)[0]);
}

#[test]
fn whoever_opened_the_window_is_shown_why() {
    let mut window = open(Workspace::Links);
    hear(&mut window, Answer::Why("object == 42".to_owned()));
    assert_eq!(window.state().workspace(), Workspace::Why);
    assert_eq!(model(&window).filter().text, "object == 42");
}
