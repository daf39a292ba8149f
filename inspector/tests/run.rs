//! The matches that a run has kept, as a list in the window; what the runner did, on the timeline.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::PathBuf;
use std::sync::Arc;

use drive::{Window, buttons};
use egui::Key;
use egui_kittest::kittest::Queryable;
use netreel_inspector::{Answer, KeptMatch, KeptRun, Model, Request, Workspace};
use netreel_protocol::history::Level;

fn kept(number: u64, seed: u64, rule: &str, level: Option<Level>) -> KeptMatch {
    KeptMatch {
        number,
        seed,
        folder: PathBuf::from(format!("run/match-{number:05}")),
        why: if rule.is_empty() {
            ""
        } else {
            "a box that nobody owns"
        }
        .to_owned(),
        rule: rule.to_owned(),
        level,
        lasted_ns: 3_000_000_000 / number,
        packets: 1_000 * number,
    }
}

fn run() -> KeptRun {
    KeptRun {
        title: "run".to_owned(),
        sums: "500 of 500 matches were played, 3 kept".to_owned(),
        matches: vec![
            kept(3, 77, "update-before-create B", Some(Level::Warning)),
            kept(24, 11, "zombie-object X", Some(Level::Error)),
            kept(31, 42, "", None),
        ],
    }
}

/// A window that was opened on the folder of a run.
fn open() -> Window {
    let nothing = Model::of_session(Arc::default(), &[]);
    let mut window = drive::open(nothing, None);
    hear(&mut window, true);
    window
}

fn hear(window: &mut Window, is_asked: bool) {
    let answer = Answer::Run {
        run: run(),
        is_asked,
    };
    window.state_mut().hear(answer);
    window.run();
}

fn click(window: &mut Window, label: &str) {
    window.get_by_label(label).click();
    window.run();
}

/// The numbers of the matches from the top.
fn rows(window: &Window) -> Vec<String> {
    let buttons = buttons(window).into_iter();
    let rows = buttons.filter_map(|it| Some(it.strip_prefix("match ")?.to_owned()));
    rows.map(|it| it.split(':').next().unwrap_or_default().to_owned())
        .collect()
}

fn requests(window: &mut Window) -> Vec<Request> {
    let asked = window.state_mut().take_requests().into_iter();
    asked.filter(|it| !matches!(it, Request::Keep(_))).collect()
}

#[test]
fn a_match_is_chosen_by_what_went_wrong() {
    let mut window = open();
    assert_eq!(rows(&window), ["3", "24", "31"]);
    click(&mut window, "sort by what went wrong");
    assert_eq!(rows(&window), ["24", "3", "31"]);
    click(&mut window, "sort by lasts");
    assert_eq!(rows(&window), ["3", "24", "31"]);
    click(&mut window, "sort by packets");
    assert_eq!(rows(&window), ["31", "24", "3"]);
    click(&mut window, "sort by seed");
    assert_eq!(rows(&window), ["24", "31", "3"]);
    click(
        &mut window,
        "match 24: seed 11, zombie-object X: a box that nobody owns",
    );
    let opens = Request::Open(vec![PathBuf::from("run/match-00024")]);
    assert_eq!(requests(&mut window), [opens]);
    // The list has gone, and what can be opened stands there.
    assert!(rows(&window).is_empty());
}

#[test]
fn two_that_are_picked_are_compared_and_a_third_takes_the_place_of_the_first() {
    let mut window = open();
    click(&mut window, "pick match 3");
    click(&mut window, "compare the two that are picked");
    assert_eq!(requests(&mut window), []);
    click(&mut window, "pick match 24");
    click(&mut window, "pick match 31");
    click(&mut window, "compare the two that are picked");
    let both = ["run/match-00024", "run/match-00031"].map(PathBuf::from);
    let [one, other] = both;
    assert_eq!(requests(&mut window), [Request::OpenBoth(one, other)]);
    assert_eq!(window.state().workspace(), Workspace::Compare);
}

#[test]
fn the_list_is_left_with_escape_and_comes_back_from_the_menu_with_what_was_picked() {
    let mut window = open();
    click(&mut window, "pick match 3");
    window.key_press(Key::Escape);
    window.run();
    assert!(rows(&window).is_empty());
    // A match that was opened says once more of which run it is, and opens no list.
    hear(&mut window, false);
    assert!(rows(&window).is_empty());
    click(&mut window, "Open");
    click(&mut window, "Matches of the run…");
    click(&mut window, "pick match 24");
    click(&mut window, "compare the two that are picked");
    let both = ["run/match-00003", "run/match-00024"].map(PathBuf::from);
    let [one, other] = both;
    assert_eq!(requests(&mut window), [Request::OpenBoth(one, other)]);
}

#[test]
fn without_a_run_it_is_said_how_to_come_by_one() {
    let mut window = drive::open(fixture::race_model(), Workspace::Why);
    click(&mut window, "Open");
    click(&mut window, "Matches of the run…");
    let said = "No run is at hand: open the folder of one that `netreel run` wrote.";
    assert!(window.query_by_label(said).is_some());
}

#[test]
fn what_the_runner_did_has_a_lane() {
    let window = drive::open(fixture::race_with_runner([100, 200]), Workspace::Why);
    assert!(window.query_by_label("lane RUNNER").is_some());
}
