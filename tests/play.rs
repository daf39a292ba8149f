//! The game by hand, from the command line: a script in place of the hands.

mod support;

use std::path::Path;

use support::netreel;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn the_zombie_is_found_replays_exactly_and_is_cured() {
    let folder = folder();
    let reels = folder.path().join("reels");
    let cured = folder.path().join("cured");
    netreel(&["play", "--script", "-", "--out", text(&reels)]).expect(0);
    let report = netreel(&["check", text(&reels), "--json"]).expect(1).json();
    let findings = report["findings"].as_array().expect("findings");
    let zombie = findings
        .iter()
        .find(|finding| finding["rule"] == "zombie-object")
        .expect("a zombie");
    assert_eq!(zombie["node"], "X");
    assert_eq!(zombie["object"], 41);
    for node in ["HOST", "A", "B", "X"] {
        let report = netreel(&["replay", text(&reels), "--node", node, "--json"])
            .expect(0)
            .json();
        assert_eq!(report["result"], "exact", "{report}");
    }
    let (reels, cured) = (text(&reels), text(&cured));
    let cure = [
        "replay",
        reels,
        "--together",
        "--set",
        "mode=owner",
        "--out",
        cured,
    ];
    netreel(&cure).expect(0);
    let report = netreel(&["check", cured, "--json"]).expect(0).json();
    assert_eq!(report["verdict"], "clean", "{report}");
}

#[test]
fn what_a_hand_did_to_a_link_is_a_note_of_its_receiver() {
    let folder = folder();
    let script = folder.path().join("slow.script");
    let reels = folder.path().join("reels");
    std::fs::write(
        &script,
        "wait all\nlink A X delay 250ms loss 5%\nrest 100ms\n",
    )
    .expect("a file");
    netreel(&["play", "--script", text(&script), "--out", text(&reels)]).expect(0);
    let ran = netreel(&["events", text(&reels), "--node", "X"]).expect(0);
    let note = "link A -> X: delay 250 ms, loss 5 %";
    assert!(ran.out.contains(note), "{}", ran.out);
}

#[test]
fn a_script_that_cannot_be_read_is_named_with_its_line() {
    let folder = folder();
    let script = folder.path().join("wrong.script");
    std::fs::write(&script, "wait all\nA dance\n").expect("a file");
    let ran = netreel(&["play", "--script", text(&script)]).expect(2);
    assert!(ran.err.contains("wrong.script, line 2"), "{}", ran.err);
}

#[test]
fn what_is_played_freely_is_recorded() {
    let folder = folder();
    let out = text(folder.path());
    netreel(&["play", "--free=1", "--seed", "3", "--out", out]).expect(0);
    let info = netreel(&["info", out]).expect(0).out;
    assert!(info.contains("4 nodes") || info.contains("HOST"), "{info}");
    let refused = netreel(&["play", "--free=1", "--script", "-"]).expect(2);
    assert!(refused.err.contains("--free"), "{}", refused.err);
}

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("mine.txt"), "precious").expect("a file");
    let ran = netreel(&["play", "--script", "-", "--out", text(folder.path())]).expect(2);
    assert!(ran.err.contains("is not empty"), "{}", ran.err);
}

#[cfg(feature = "gui")]
#[test]
fn the_picture_of_a_script_is_the_same_every_time() {
    let folder = folder();
    let picture = |name: &str| {
        let file = folder.path().join(name);
        let file = text(&file);
        netreel(&["play", "--screenshot", file, "--size", "1000x640"]).expect(0);
        std::fs::read(file).expect("a picture")
    };
    assert_eq!(picture("one.png"), picture("two.png"));
}

#[cfg(feature = "gui")]
#[test]
fn without_a_display_the_window_is_refused_and_nothing_is_left() {
    let folder = folder();
    let reels = folder.path().join("reels");
    let ran = netreel(&["play", "--out", text(&reels)]).expect(2);
    assert!(ran.err.contains("DISPLAY"), "{}", ran.err);
}
