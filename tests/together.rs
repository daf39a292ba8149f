//! Playing on: the recorded sessions of the repository, with and without the cure.

mod support;

use std::path::{Path, PathBuf};

use support::{Ran, netreel};

fn sample(mode: &str) -> String {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions");
    samples
        .join(mode)
        .to_str()
        .expect("a path in UTF-8")
        .to_owned()
}

/// A folder that does not exist yet; the temporary one around it has to be kept.
fn out() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("on");
    (folder, out)
}

fn play_on(session: &str, out: &Path, more: &[&str]) -> Ran {
    let out = out.to_str().expect("a path in UTF-8");
    netreel(&[&["replay", session, "--together", "--out", out], more].concat())
}

fn rules(findings: &serde_json::Value) -> Vec<String> {
    let findings = findings.as_array().expect("findings");
    let rule = |finding: &serde_json::Value| format!("{} {}", finding["level"], finding["rule"]);
    findings
        .iter()
        .map(rule)
        .map(|rule| rule.replace('"', ""))
        .collect()
}

#[test]
fn with_the_cure_the_recorded_race_has_no_zombie() {
    let (_kept, out) = out();
    let report = play_on(&sample("host"), &out, &["--set", "mode=owner", "--json"]);
    let report = report.expect(0).json();
    assert_eq!(report["unchanged"]["exact"], true);
    assert_eq!(report["played"]["exact"], false);
    assert_eq!(rules(&report["findings"]["gone"]), ["error zombie-object"]);
    assert_eq!(report["check"]["verdict"], "clean");
    let written = netreel(&["check", out.to_str().expect("UTF-8")]);
    assert!(written.expect(0).out.contains("clean"));
}

#[test]
fn with_nothing_changed_every_packet_is_equal() {
    for mode in ["host", "owner"] {
        let (_kept, out) = out();
        let report = play_on(&sample(mode), &out, &["--json"]).json();
        assert_eq!(report["played"]["exact"], true, "{mode}");
        for node in report["played"]["nodes"].as_array().expect("nodes") {
            assert_eq!(node["sent"]["equal"], node["sent"]["recorded"], "{mode}");
        }
        assert_eq!(report["findings"]["new"], serde_json::json!([]), "{mode}");
    }
}

#[test]
fn what_was_written_replays_exactly() {
    let (_kept, out) = out();
    play_on(&sample("host"), &out, &["--set", "mode=owner"]).expect(0);
    let replayed = netreel(&["replay", out.to_str().expect("UTF-8")]).expect(0);
    assert_eq!(
        replayed.out.matches(": exact:").count(),
        4,
        "{}",
        replayed.out
    );
}

#[test]
fn the_same_question_has_the_same_answer_to_the_byte() {
    let changes = ["--tune", "resend_delay_ns=20000000", "--seed", "9"];
    let reels = [out(), out()].map(|(kept, out)| {
        play_on(&sample("host"), &out, &changes).expect(1);
        let reel = std::fs::read(out.join("X.reel")).expect("X was played");
        drop(kept);
        reel
    });
    assert_eq!(reels[0], reels[1]);
}

#[test]
fn the_first_packet_that_differs_is_named_to_the_field() {
    let (_kept, out) = out();
    let ran = play_on(&sample("host"), &out, &["--set", "mode=owner"]).expect(0);
    assert!(
        ran.out.contains("mode is owner (1), was host (0)"),
        "{}",
        ran.out
    );
    let told = "\n        likely because changed setting mode = owner (recorded: host)\n";
    assert!(ran.out.contains(told), "{}", ran.out);
}

#[test]
fn a_changed_setting_is_named_where_a_node_leaves_its_recording_by_itself() {
    let (_kept, out) = out();
    let report = play_on(&sample("host"), &out, &["--set", "mode=owner", "--json"]).json();
    let changed = serde_json::json!([{ "name": "mode", "recorded": "host", "now": "owner" }]);
    let nodes = report["played"]["nodes"].as_array().expect("nodes");
    let (mut by_itself, mut by_another) = (0, 0);
    for node in nodes {
        let left = &node["left"];
        let why = left["why"].as_str().expect("words");
        match why.starts_with("got ") {
            true => by_another += 1,
            false => by_itself += 1,
        }
        let is_named = left["changed"] == changed;
        assert_eq!(is_named, !why.starts_with("got "), "{node}");
    }
    assert!(by_itself > 0 && by_another > 0, "{nodes:?}");
}

#[test]
fn a_node_without_a_reel_sends_what_it_sent() {
    let (_kept, out) = out();
    let reel = format!("{}/X.reel", sample("host"));
    let ran = play_on(&reel, &out, &["--json"]).expect(1);
    let report = ran.json();
    assert_eq!(report["played"]["exact"], true);
    assert_eq!(report["left_out"].as_array().map(Vec::len), Some(3));
    assert!(
        ran.err
            .contains("has no reel; what it sent arrives as it did"),
        "{}",
        ran.err
    );
}

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let (kept, _) = out();
    std::fs::write(kept.path().join("notes"), "mine").expect("a file");
    let ran = play_on(&sample("host"), kept.path(), &[]).expect(2);
    assert!(ran.err.contains("not empty"), "{}", ran.err);
}

#[test]
fn a_condition_that_the_engine_lacks_names_those_that_it_has() {
    let (_kept, out) = out();
    let ran = play_on(&sample("host"), &out, &["--set", "modo=owner"]).expect(2);
    assert!(ran.err.contains("`mode`"), "{}", ran.err);
    assert!(!out.exists(), "nothing was played");
}

#[test]
fn a_reel_that_was_cut_is_played_as_far_as_it_goes_and_stays_cut() {
    let (kept, out) = out();
    for node in ["HOST", "A", "B", "X"] {
        let name = format!("{node}.reel");
        let whole = std::fs::read(Path::new(&sample("host")).join(&name)).expect("a reel");
        // Behind its header, which has the text of the wire.
        let length = if node == "X" {
            whole.len() * 5 / 8
        } else {
            whole.len()
        };
        std::fs::write(kept.path().join(&name), &whole[..length]).expect("a file");
    }
    let cut = kept.path().to_str().expect("a path in UTF-8");
    let report = play_on(cut, &out, &["--json"]).expect(2).json();
    assert_eq!(report["played"]["exact"], true);
    let stay = rules(&report["findings"]["stay"]);
    assert_eq!(stay, ["warning incomplete-reel"]);
}
