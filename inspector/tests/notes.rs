//! Bookmarks and what nodes wrote: in the list, in the timeline, by keys.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::{Window, apply};
use egui::{Event, Key, Modifiers};
use egui_kittest::kittest::Queryable;
use netreel_inspector::{Bookmark, Request, Spot, Workspace};
use netreel_inspector_model::Command;
use netreel_protocol::session::{PacketId, SessionTime};

fn open() -> Window {
    drive::open(fixture::race_model(), Workspace::Packets)
}

/// Marks what is selected, by keys alone.
fn mark(window: &mut Window, note: &str) {
    window.event(Event::Text("b".to_owned()));
    window.run();
    window.event(Event::Text(note.to_owned()));
    window.run();
    window.key_press(Key::Enter);
    window.run();
}

fn kept(window: &mut Window) -> Option<Vec<Bookmark>> {
    let requests = window.state_mut().take_requests();
    let kept = requests.into_iter().filter_map(|request| match request {
        Request::KeepBookmarks(all) => Some(all.to_vec()),
        _ => None,
    });
    kept.last()
}

#[test]
fn a_packet_is_marked_by_keys_and_kept_by_reel_and_event() {
    let mut window = open();
    apply(&mut window, Command::SelectPacket(PacketId(30)));
    mark(&mut window, "late");
    let kept = kept(&mut window).expect("a request");
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].note, "late");
    assert!(matches!(&kept[0].at, Spot::Packet { reel, .. } if !reel.is_empty()));
    let rows = drive::buttons(&window);
    assert!(
        rows.iter()
            .any(|row| row.starts_with("bookmark packet 30") && row.ends_with(": late"))
    );
}

#[test]
fn keys_go_from_one_bookmark_to_the_next() {
    let mut window = open();
    for packet in [40, 10] {
        apply(&mut window, Command::SelectPacket(PacketId(packet)));
        mark(&mut window, "");
    }
    apply(&mut window, Command::Deselect);
    let mut went = Vec::new();
    for _ in 0..3 {
        window.key_press_modifiers(Modifiers::ALT, Key::ArrowDown);
        window.run();
        went.extend(window.state().model().selection().packet);
    }
    assert_eq!(went, [10, 40, 10].map(PacketId));
}

#[test]
fn a_stretch_of_time_is_marked_and_shown_again() {
    let mut window = open();
    let range = fixture::ms(200..400);
    apply(&mut window, Command::Show(range.clone()));
    window.event(Event::Text("B".to_owned()));
    window.run();
    window.key_press(Key::Enter);
    window.run();
    apply(&mut window, Command::ShowAll);
    let row = drive::buttons(&window);
    let row = row.iter().find(|row| row.starts_with("bookmark 0.2"));
    window.get_by_label(row.expect("a row")).click();
    window.run();
    let visible = window.state().model().visible();
    assert!(visible.start <= range.start && visible.end >= range.end);
    assert!(visible.end.0 - visible.start.0 < 400_000_000, "{visible:?}");
}

#[test]
fn what_was_marked_by_mistake_is_undone_and_what_is_removed_is_gone() {
    let mut window = open();
    apply(&mut window, Command::SelectPacket(PacketId(30)));
    mark(&mut window, "no");
    window.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    window.run();
    assert_eq!(kept(&mut window), Some(Vec::new()));
    mark(&mut window, "yes");
    window.get_by_label_contains("remove bookmark").click();
    window.run();
    assert_eq!(kept(&mut window), Some(Vec::new()));
}

#[test]
fn a_bookmark_stands_in_the_timeline_and_a_click_goes_there() {
    let mut window = drive::open(fixture::race_model(), Workspace::Why);
    let spot = {
        let model = window.state_mut().model_mut();
        model.apply(Command::SelectPacket(PacketId(30)));
        model.spot()
    };
    apply(&mut window, Command::Bookmark(spot, "here".to_owned()));
    apply(&mut window, Command::SelectPacket(PacketId(31)));
    window.get_by_label_contains("in the timeline").click();
    window.run();
    let selection = window.state().model().selection();
    assert_eq!(selection.packet, Some(PacketId(30)));
}

#[test]
fn what_nodes_wrote_is_found_by_its_words() {
    let mut window = open();
    let lines = window.state().model().log_lines(true).expect("lines");
    assert!(!lines.lines.is_empty(), "the race has notes");
    let line = lines.lines[lines.lines.len() / 2].clone();
    let word = line
        .text
        .split_whitespace()
        .last()
        .expect("a word")
        .to_owned();
    window.get_by_label("find").focus();
    window.run();
    window.event(Event::Text(word.clone()));
    window.run();
    let shown = drive::buttons(&window);
    let shown: Vec<&String> = shown
        .iter()
        .filter(|it| it.starts_with("line of "))
        .collect();
    assert!(!shown.is_empty());
    assert!(
        shown.iter().all(|it| it.contains(&word)),
        "{word}: {shown:?}"
    );
    let label = format!("line of {}: {}", line.who, line.text);
    window
        .get_all_by_label(&label)
        .next()
        .expect("its row")
        .click();
    window.run();
    let at = window.state().model().cursor();
    assert_eq!(at, Some(line.time));
}

#[test]
fn a_bookmark_of_another_recording_says_so_and_goes_nowhere() {
    let mut window = open();
    let strange = Bookmark {
        at: Spot::Packet {
            reel: "nobody".to_owned(),
            event: 7,
        },
        note: "?".to_owned(),
    };
    let moment = Bookmark {
        at: Spot::Time {
            from: SessionTime(i64::MAX),
            to: SessionTime(i64::MAX),
        },
        note: String::new(),
    };
    let model = window.state_mut().model_mut();
    model.set_bookmarks([strange, moment].into_iter().collect());
    window.run();
    let label = "bookmark event 7 of nobody, which is not in this session: ?";
    window.get_by_label(label).click();
    window.run();
    for _ in 0..3 {
        window.key_press_modifiers(Modifiers::ALT, Key::ArrowDown);
        window.run();
    }
    assert_eq!(window.state().model().bookmarks().len(), 2);
}
