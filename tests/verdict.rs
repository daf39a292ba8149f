//! `netreel check` says clean, wrong or unknown, and exits with 0, 1 or 2.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Ran, netreel};
use tempfile::TempDir;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples");
const NODES: [&str; 4] = ["HOST", "A", "B", "X"];

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn sample(mode: &str) -> String {
    format!("{SAMPLES}/sessions/{mode}")
}

/// A copy of a recorded session without the reels of some nodes.
fn copy(mode: &str, without: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for node in NODES.iter().filter(|node| !without.contains(node)) {
        let name = format!("{node}.reel");
        let from = Path::new(&sample(mode)).join(&name);
        std::fs::copy(from, folder.path().join(name)).expect("a copy");
    }
    folder
}

fn check(path: &Path, more: &[&str]) -> Ran {
    netreel(&[&["check", text(path)][..], more].concat())
}

/// The ids of the reasons and the sentences of a report.
fn reasons(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let reasons = report["reasons"].as_array().expect("reasons").iter();
    let reasons = reasons.map(|reason| (text(&reason["id"]), text(&reason["sentence"])));
    reasons.collect()
}

fn ids(report: &Value) -> Vec<String> {
    reasons(report).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn the_whole_session_is_wrong() {
    let whole = copy("host", &[]);
    let ran = check(whole.path(), &[]).expect(1);
    assert!(ran.out.contains("\nwrong: 2 errors\n"), "{}", ran.out);
    let report = check(whole.path(), &["--json"]).expect(1).json();
    assert_eq!(report["verdict"], "wrong");
    assert_eq!(ids(&report), [""; 0]);
}

#[test]
fn without_the_reel_of_the_node_that_had_the_bug_it_is_unknown() {
    let folder = copy("host", &["X"]);
    let info = netreel(&["info", text(folder.path()), "--json"]).expect(0);
    let info = info.json();
    let nodes = info["nodes"].as_array().expect("nodes").iter();
    let x = nodes
        .clone()
        .find(|node| node["peer"] == 3)
        .expect("X is peer 3");
    let x = x["name"].as_str().expect("a name").to_owned();
    let ran = check(folder.path(), &[]).expect(2);
    let said = format!(
        "unknown: no errors, but not all could be judged:\n    {x} (peer 3) took part and has no \
         reel  (no-reel)\n"
    );
    assert!(ran.out.contains(&said), "{}", ran.out);
    let report = check(folder.path(), &["--json"]).expect(2).json();
    assert_eq!(report["verdict"], "unknown");
    assert_eq!(report["reasons"][0]["id"], "no-reel");
    assert_eq!(report["reasons"][0]["nodes"], serde_json::json!([x]));
}

#[test]
fn partial_says_the_same_and_exits_with_0_unless_something_is_wrong() {
    let folder = copy("host", &["X"]);
    for form in [&[][..], &["--json"]] {
        let strict = check(folder.path(), form).expect(2);
        let partial = check(folder.path(), &[form, &["--partial"]].concat()).expect(0);
        assert_eq!((partial.out, partial.err), (strict.out, strict.err));
    }
    let whole = copy("host", &[]);
    check(whole.path(), &["--partial"]).expect(1);
}

#[test]
fn a_session_that_went_well_is_clean() {
    let ran = check(Path::new(&sample("owner")), &[]).expect(0);
    let last = ran.out.lines().last().expect("a verdict");
    assert!(last.starts_with("clean"), "{}", ran.out);
    let report = check(Path::new(&sample("owner")), &["--json"]).expect(0);
    let report = report.json();
    assert_eq!(report["verdict"], "clean");
    assert_eq!(ids(&report), [""; 0]);
}

#[test]
fn the_level_decides_what_is_wrong() {
    let owner = sample("owner");
    let ran = check(Path::new(&owner), &["--fail-on", "info"]).expect(1);
    assert!(ran.out.contains("\nwrong: 3 info\n"), "{}", ran.out);
    let filter = ["--fail-on", "info", "--filter", "object == 1"];
    let ran = check(Path::new(&owner), &filter).expect(0);
    let last = ran.out.lines().last().expect("a verdict");
    assert!(
        last.starts_with("clean") && last.contains(": no findings"),
        "{last}"
    );
}

#[test]
fn a_reel_that_was_cut_in_the_middle_of_its_events_makes_it_unknown() {
    let folder = copy("owner", &[]);
    let reel = folder.path().join("X.reel");
    let bytes = std::fs::read(&reel).expect("a reel");
    std::fs::write(&reel, &bytes[..bytes.len() * 3 / 5]).expect("a file");
    let report = check(folder.path(), &["--json"]).expect(2).json();
    let sentence = "the reel of X was cut: what came after its end is unknown";
    let expected = ("cut-reel".to_owned(), sentence.to_owned());
    assert_eq!(reasons(&report), [expected]);
}

#[test]
fn what_is_found_is_wrong_though_a_reel_was_cut() {
    let folder = copy("host", &[]);
    let reel = folder.path().join("X.reel");
    let bytes = std::fs::read(&reel).expect("a reel");
    std::fs::write(&reel, &bytes[..bytes.len() - 9]).expect("a file");
    let ran = check(folder.path(), &[]).expect(1);
    let said = "wrong: 1 error, and not all could be judged:\n    the reel of X was cut";
    assert!(ran.out.contains(said), "{}", ran.out);
    let report = check(folder.path(), &["--json", "--partial"]).expect(1);
    assert_eq!(ids(&report.json()), ["cut-reel", "suspected"]);
}

/// The session as a capture, and a wire of it with or without rules.
fn capture(folder: &Path) -> PathBuf {
    let to = folder.join("host.pcapng");
    let arguments = ["export", &sample("host"), "--format", "pcapng", "--out"];
    netreel(&[&arguments[..], &[text(&to)]].concat()).expect(0);
    to
}

fn wire_without_rules(folder: &Path) -> PathBuf {
    let wire = std::fs::read_to_string(format!("{SAMPLES}/wires/boxes.wire")).expect("the wire");
    let mut kept = String::new();
    let mut in_rules = false;
    for line in wire.lines() {
        in_rules |= line.starts_with("rules ");
        if !in_rules {
            // `@rules(NAME)` behind a value, and `@rules` at the field.
            let mut parts = line.split(" @rules");
            kept.push_str(parts.next().unwrap_or_default());
            for part in parts {
                let behind = part.strip_prefix('(').and_then(|it| it.split_once(')'));
                kept.push_str(behind.map_or(part, |it| it.1));
            }
            kept.push('\n');
        }
        in_rules &= line != "}";
    }
    let path = folder.join("bare.wire");
    std::fs::write(&path, kept).expect("a file");
    path
}

#[test]
fn a_capture_cannot_tell_what_programs_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path());
    let wire = format!("{SAMPLES}/wires/boxes.wire");
    let report = check(&capture, &["--json", "--wire", &wire]).expect(2);
    let report = report.json();
    assert_eq!(ids(&report), ["no-reel", "observed"]);
    assert_eq!(
        report["reasons"][0]["nodes"].as_array().map(Vec::len),
        Some(4)
    );
    let sentence = &reasons(&report)[0].1;
    let begins = "4 nodes took part and have no reel: 127.0.0.1:";
    assert!(sentence.starts_with(begins), "{sentence}");
}

#[test]
fn a_capture_with_a_wire_without_rules_has_a_handful_of_reasons() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path());
    let wire = wire_without_rules(folder.path());
    let ran = check(&capture, &["--wire", text(&wire)]).expect(2);
    let (_, told) = ran.out.split_once("unknown: ").expect(&ran.out);
    let reasons = told.lines().filter(|line| line.starts_with("    "));
    assert_eq!(reasons.count(), 3, "{told}");
}

#[test]
fn a_wire_without_rules_makes_it_unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let wire = wire_without_rules(folder.path());
    let owner = sample("owner");
    let report = check(Path::new(&owner), &["--json", "--wire", text(&wire)]).expect(2);
    let sentence =
        "the wire boxes declares no rules: what nodes made of their messages is not judged";
    let expected = ("no-rules".to_owned(), sentence.to_owned());
    assert_eq!(reasons(&report.json()), [expected]);
}

#[test]
fn without_a_wire_it_is_unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path());
    let report = check(&capture, &["--json"]).expect(2).json();
    assert_eq!(ids(&report), ["no-wire", "observed"]);
}

#[test]
fn a_wire_of_another_protocol_makes_it_unknown() {
    let wire = format!("{SAMPLES}/wires/renet.wire");
    let owner = sample("owner");
    let report = check(Path::new(&owner), &["--json", "--wire", &wire]).expect(2);
    let ids = ids(&report.json());
    assert_eq!(ids, ["misfit", "no-rules"]);
}

/// A folder with the sample sessions, one of them a folder deeper, and one without a reel.
fn many() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = [
        ("1", "owner", &[][..]),
        ("2/deep", "host", &[]),
        ("3", "host", &["X"]),
    ];
    for (name, mode, without) in sessions {
        let to = folder.path().join(name);
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("a folder");
        // The copy is removed with its guard: its folder is moved out of it.
        let copied = copy(mode, without);
        std::fs::rename(copied.keep(), to).expect("a folder");
    }
    folder
}

#[test]
fn each_session_of_a_folder_has_a_line_in_the_order_of_their_names() {
    let folder = many();
    let ran = check(folder.path(), &["--each"]).expect(1);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (one, two, three) = (at("1"), at("2/deep"), at("3"));
    let expected = [
        format!("clean    {one}  3 info"),
        format!("wrong    {two}  migrate-before-create, zombie-object"),
        format!("unknown  {three}  no-reel"),
        "3 sessions: 1 clean, 1 wrong, 1 unknown".to_owned(),
        format!("    error    migrate-before-create  1 in 1 session, first in {two}"),
    ];
    let lines: Vec<&str> = ran.out.lines().take(expected.len()).collect();
    assert_eq!(lines, expected);
}

#[test]
fn each_session_as_json_is_what_check_says_of_it_and_where_it_is() {
    let folder = many();
    let ran = check(folder.path(), &["--each", "--json"]).expect(1);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for (name, line) in ["1", "2/deep", "3"].iter().zip(&lines) {
        let path = folder.path().join(name);
        let mut alone: Value = serde_json::from_str(&check(&path, &["--json"]).out).expect("JSON");
        alone["session"] = text(&path).into();
        assert_eq!(*line, alone);
    }
    let total = lines.last().expect("a total");
    assert_eq!(
        (&total["sessions"], &total["wrong"]),
        (&3.into(), &1.into())
    );
}

#[test]
fn a_session_that_cannot_be_read_does_not_keep_the_others_from_being_checked() {
    let folder = many();
    std::fs::remove_dir_all(folder.path().join("2")).expect("it was there");
    let bad = folder.path().join("0");
    std::fs::create_dir(&bad).expect("a folder");
    std::fs::write(bad.join("A.reel"), "no reel").expect("a file");
    // Even where half an answer is accepted: of this session there is none.
    let ran = check(folder.path(), &["--each", "--partial"]).expect(2);
    assert!(ran.out.contains("A.reel: it is not a reel"), "{}", ran.out);
    assert!(ran.out.contains("3 sessions: 1 clean, 0 wrong, 2 unknown"));
}

#[test]
fn a_folder_without_sessions_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = check(folder.path(), &["--each"]).expect(2);
    assert!(
        ran.err.contains("no folder in it holds a .reel file"),
        "{}",
        ran.err
    );
}

#[test]
fn a_filter_that_one_session_cannot_be_asked_does_not_end_the_others() {
    let folder = many();
    // Only the whole sessions have a node X.
    let ran = check(folder.path(), &["--each", "--filter", "node == X"]).expect(1);
    assert!(ran.out.contains("no node is called X"), "{}", ran.out);
    assert!(ran.out.contains("3 sessions: 1 clean, 1 wrong, 1 unknown"));
}
