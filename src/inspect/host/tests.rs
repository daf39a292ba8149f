//! What the window is told when it asks.

use netreel_capture::{Options, Recorder, open as open_reel};
use netreel_reel::Reel;

use super::*;
use crate::arguments::Source;

/// Nothing takes this long.
const LONG: Duration = Duration::from_secs(120);

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host")
}

fn source(path: PathBuf) -> Source {
    Source::alone(&path)
}

#[track_caller]
fn first(opener: &mut Opener) -> Answer {
    opener.wait(LONG).expect("an answer")
}

#[test]
fn what_is_asked_for_is_opened_and_what_is_not_there_said() {
    let mut opener = Opener::new(source(sample()), String::new());
    opener.open();
    let Answer::Opened { model, .. } = first(&mut opener) else {
        panic!("not opened");
    };
    assert!(model.row_count() > 100);
    assert!(opener.shown().lock().expect("a lock").is_some());
    opener.ask(Request::Open(vec![PathBuf::from("no-such-reel")]));
    let Answer::Failed(why) = first(&mut opener) else {
        panic!("opened");
    };
    assert!(why.contains("no-such-reel"), "{why}");
}

#[test]
fn nobody_hears_what_was_given_up() {
    let mut opener = Opener::new(source(sample()), String::new());
    opener.open();
    let told = opener.told(Job::Opening(opener.opening));
    opener.ask(Request::Cancel);
    told.say(Answer::Working(String::new()));
    assert!(opener.answers().is_empty());
}

#[test]
fn what_is_to_be_compared_at_first_comes_behind_what_is_shown() {
    let mut opener = Opener::new(source(sample()), String::new());
    opener.compare_first(sample());
    opener.open();
    assert!(matches!(first(&mut opener), Answer::Opened { .. }));
    assert!(matches!(first(&mut opener), Answer::Compared { .. }));
}

#[test]
fn of_two_matches_one_is_shown_and_the_other_held_against_it() {
    let mut opener = Opener::new(source(PathBuf::from("no-such-reel")), String::new());
    opener.ask(Request::OpenBoth(sample(), sample()));
    assert!(matches!(first(&mut opener), Answer::Opened { .. }));
    assert!(matches!(first(&mut opener), Answer::Compared { .. }));
    assert_eq!(opener.source.paths, [sample()]);
}

#[test]
fn a_run_is_listed_and_one_of_its_matches_says_of_which_it_is_behind_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().canonicalize().expect("a folder");
    let of_run = run.join("match-00001");
    std::fs::create_dir(&of_run).expect("a folder");
    for file in std::fs::read_dir(sample()).expect("the sample").flatten() {
        std::fs::copy(file.path(), of_run.join(file.file_name())).expect("a copy");
    }
    let kept = r#"[{"number": 1, "seed": 2, "folder": "match-00001", "outcome": "played",
        "finding": null, "lasted_ns": 3, "packets": 4}]"#;
    std::fs::write(run.join("kept.json"), kept).expect("a file");
    let mut opener = Opener::new(source(run), String::new());
    opener.open();
    let listed = first(&mut opener);
    assert!(matches!(listed, Answer::Run { is_asked: true, .. }));
    opener.ask(Request::Open(vec![of_run]));
    assert!(matches!(first(&mut opener), Answer::Opened { .. }));
    let above = first(&mut opener);
    assert!(matches!(
        above,
        Answer::Run {
            is_asked: false,
            ..
        }
    ));
}

#[test]
fn a_comparison_outlives_a_change_of_following() {
    let mut opener = Opener::new(source(sample()), String::new());
    opener.open();
    assert!(matches!(first(&mut opener), Answer::Opened { .. }));
    opener.ask(Request::Compare(sample()));
    opener.ask(Request::Follow(false));
    assert!(matches!(first(&mut opener), Answer::Compared { .. }));
}

#[test]
fn nobody_hears_of_a_comparison_that_was_given_up() {
    let mut opener = Opener::new(source(sample()), String::new());
    opener.open();
    assert!(matches!(first(&mut opener), Answer::Opened { .. }));
    opener.ask(Request::PlayOn(String::new()));
    opener.ask(Request::CancelCompare);
    opener.ask(Request::Compare(PathBuf::from("no-such-reel")));
    let Answer::NotCompared(why) = first(&mut opener) else {
        panic!("what was given up came all the same");
    };
    assert!(why.contains("no-such-reel"), "{why}");
    assert!(opener.played.is_none());
}

#[test]
fn a_path_that_opens_nothing_changes_nothing() {
    let mut opener = Opener::new(source(sample()), String::new());
    opener.open();
    assert!(matches!(first(&mut opener), Answer::Opened { .. }));
    opener.ask(Request::Open(vec![PathBuf::from("no-such-reel")]));
    assert!(matches!(first(&mut opener), Answer::Failed(_)));
    assert_eq!(opener.source.paths, [sample()]);
}

#[test]
fn what_was_played_on_goes_with_the_window() {
    let mut opener = Opener::new(source(sample()), String::new());
    opener.open();
    assert!(matches!(first(&mut opener), Answer::Opened { .. }));
    opener.ask(Request::PlayOn(String::new()));
    assert!(matches!(first(&mut opener), Answer::Compared { .. }));
    let folder = opener.played.as_ref().expect("a folder").path().to_owned();
    assert!(folder.join("X.reel").is_file());
    drop(opener);
    assert!(!folder.exists());
}

#[test]
fn a_recording_is_followed_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let reel: Reel = open_reel(sample().join("HOST.reel")).expect("a sample");
    let mut opener = Opener::new(source(folder.path().to_owned()), String::new());
    opener.follow();
    let path = folder.path().join("HOST.reel");
    let recorder = Recorder::create(&path, reel.header(), Options::default()).expect("a recorder");
    let mut pusher = recorder.pusher().expect("a pusher");
    reel.for_each(|record| {
        pusher.push(record.time, record.event).expect("taken");
    });
    let Answer::Grown { live, .. } = first(&mut opener) else {
        panic!("not followed");
    };
    assert!(live);
    drop(pusher);
    recorder.finish().expect("an end");
    loop {
        let Answer::Grown { model, live } = first(&mut opener) else {
            panic!("not followed");
        };
        if !live {
            assert!(model.row_count() > 100);
            return;
        }
    }
}
