//! The window sits in the layer of a shared library, or says what it can sit in.
#![cfg(feature = "gui")]

mod support;

use std::path::Path;

use support::plugins::{folder, of_text, record, table, udp_layer};
use support::programs::text;
use support::{Ran, netreel};

/// Draws the replay of the recording's node behind `say`.
fn inspect(reel: &Path, picture: &Path, more: &[&str]) -> Ran {
    let words = ["inspect", "--no-index", text(reel), "--workspace", "replay"];
    let drawn = ["--screenshot", text(picture), "--sit", "walker"];
    netreel(&[&words[..], &drawn, more].concat())
}

#[test]
fn a_picture_shows_the_replay_in_a_shared_library() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let picture = folder.path().join("window.png");
    let layer = udp_layer(folder.path(), &["-DSTATES"]);
    let more = ["--layer", text(&layer), "--say", "goto 120"];
    inspect(&reel, &picture, &more).expect(0);
    assert!(picture.is_file());
}

#[test]
fn a_session_is_played_on_with_a_shared_library() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let layer = udp_layer(folder.path(), &["-DSTEP=7"]);
    let picture = folder.path().join("window.png");
    let words = [
        "inspect",
        "--no-index",
        text(&reel),
        "--workspace",
        "compare",
    ];
    let drawn = ["--screenshot", text(&picture), "--layer", text(&layer)];
    let asked = |changes| netreel(&[&words[..], &drawn, &["--played-on", changes]].concat());
    asked("").expect(0);
    assert!(picture.is_file());
    let ran = asked("--set mode=owner").expect(2);
    assert!(ran.err.contains("leave them out"), "{}", ran.err);
}

#[test]
fn a_shared_library_that_crashes_in_the_window_is_told() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let crash = "static int32_t crash(void *l, const netreel_world *w, uint64_t n, uint64_t t) \
                 { abort(); }";
    let layer = of_text(folder.path(), &table(crash, "create", "crash"));
    let picture = folder.path().join("window.png");
    let more = ["--layer", text(&layer), "--say", "continue"];
    let ran = inspect(&reel, &picture, &more).expect(2);
    for told in [
        "it died of signal 6",
        "at walker, in the tick of event 2",
        "netreel inspect",
    ] {
        assert!(ran.err.contains(told), "no `{told}` in {}", ran.err);
    }
}

#[test]
fn a_file_that_is_no_layer_is_told_before_there_is_a_window() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let ran = netreel(&["inspect", "--no-index", text(&reel), "--layer", text(&reel)]).expect(2);
    assert!(ran.err.contains("walker.reel"), "{}", ran.err);
    assert!(!ran.err.contains("display"), "{}", ran.err);
}

#[test]
fn without_a_shared_library_another_engines_recording_is_refused_with_the_way() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let ran = inspect(&reel, &folder.path().join("window.png"), &[]).expect(2);
    assert!(ran.err.contains("is given with --layer"), "{}", ran.err);
}
