//! `netreel diff`: what differs between two sessions.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Ran, netreel};

const WIRE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/wires/boxes.wire");

fn sample(mode: &str) -> String {
    format!("{}/samples/sessions/{mode}", env!("CARGO_MANIFEST_DIR"))
}

fn diff(first: &str, second: &str, more: &[&str]) -> Ran {
    netreel(&[&["diff", first, second, "--no-index"], more].concat())
}

/// A session that was played on, in a folder that goes away with what is returned.
fn played_on(mode: &str, changes: &[&str]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("on");
    let out = out.to_str().expect("UTF-8").to_owned();
    let session = sample(mode);
    let arguments = ["replay", &session, "--together", "--out", &out];
    let ran = netreel(&[&arguments[..], changes].concat());
    assert!(Path::new(&out).is_dir(), "{}{}", ran.out, ran.err);
    (folder, out)
}

/// How often each message was said, without what was sent again, as `packets --json` has it.
fn said(session: &str) -> BTreeMap<String, i64> {
    let ran = netreel(&["packets", session, "--json", "--no-index", "--wire", WIRE]);
    let mut said = BTreeMap::new();
    for line in ran.out.lines() {
        let packet: Value = serde_json::from_str(line).expect("JSON");
        for message in packet["messages"].as_array().expect("messages") {
            if message["resend_of"].is_null() && message["fragment"].is_null() {
                *said.entry(about(&packet, message)).or_default() += 1;
            }
        }
    }
    said
}

/// What makes two messages of *boxes* the same.
fn about(ends: &Value, message: &Value) -> String {
    // Mode `host` has no counters, so that none are compared.
    let parts = ["kind", "object", "owner", "origin", "rpc"];
    let parts = parts.map(|part| message[part].to_string());
    format!("{} {} {}", ends["from"], ends["to"], parts.join(" "))
}

#[test]
fn a_session_is_the_same_as_itself() {
    let ran = diff(&sample("host"), &sample("host"), &["--wire", WIRE]).expect(0);
    assert!(ran.out.starts_with("the same: 4 nodes, "), "{}", ran.out);
}

#[test]
fn a_session_that_was_played_on_unchanged_is_the_same() {
    for mode in ["host", "owner"] {
        let (_kept, on) = played_on(mode, &[]);
        let told = diff(&sample(mode), &on, &["--json"]).expect(0).json();
        assert_eq!(told["same"], true, "{mode}");
        assert_eq!(told["first"], Value::Null, "{mode}");
        let all: i64 = said(&sample(mode)).values().sum();
        assert!(told["messages"].as_i64() >= Some(all), "{mode}: {all}");
    }
}

#[test]
fn the_cure_takes_the_zombie_away_and_the_diff_says_what_else_it_changed() {
    let (_kept, cured) = played_on("host", &["--set", "mode=owner"]);
    let ran = diff(&sample("host"), &cured, &["--json", "--wire", WIRE]).expect(1);
    let told = ran.json();
    let rules = |findings: &Value| {
        let findings = findings.as_array().expect("findings").iter();
        let named = findings.map(|it| format!("{} at {}", it["rule"], it["node"]));
        named.collect::<Vec<_>>()
    };
    let gone = rules(&told["findings_only"]["first"]);
    assert!(
        gone.contains(&"\"zombie-object\" at \"X\"".to_owned()),
        "{gone:?}"
    );
    let new = rules(&told["findings_only"]["second"]);
    assert!(!new.iter().any(|it| it.contains("zombie")), "{new:?}");
    assert_eq!(told["counters"], false);
    // Field by field, by their paths in the message.
    let changed = told["changed"].as_array().expect("messages").iter();
    let fields = changed.flat_map(|it| it["fields"].as_array().expect("fields").clone());
    let paths: Vec<String> = fields.map(|it| it["path"].to_string()).collect();
    assert!(
        paths.contains(&"\"create.has_counter\"".to_owned()),
        "{paths:?}"
    );
    assert!(!paths.iter().any(|path| path.contains('[')), "{paths:?}");
    // X kept the box for ever; with the cure it is destroyed there.
    let believed = told["believed"].as_array().expect("beliefs");
    let mut of_x = believed
        .iter()
        .filter(|it| it["object"] == 42 && it["node"] == "X");
    let of_x = of_x.next().expect("X believes something else of the box");
    let last = |side: &str| {
        of_x["beliefs"][side]
            .as_array()
            .expect("beliefs")
            .last()
            .cloned()
    };
    let words = |belief: Option<Value>| belief.expect("a belief").to_string();
    assert!(words(last("first")).contains("orphaned by A"), "{of_x}");
    assert!(words(last("second")).contains("destroyed"), "{of_x}");
    // The first thing that is another is what the cure changes: who says MIGRATE, or its counter.
    let print = diff(&sample("host"), &cured, &["--wire", WIRE]).expect(1);
    assert!(print.out.starts_with("they part at "), "{}", print.out);
    assert!(
        print.out.contains("finding in the first alone")
            || print.out.contains("findings in the first alone"),
        "{}",
        print.out
    );
}

#[test]
fn what_each_has_alone_is_what_is_left_of_a_count_by_hand() {
    let (_kept, cured) = played_on("host", &["--set", "mode=owner"]);
    let told = diff(&sample("host"), &cured, &["--json", "--wire", WIRE])
        .expect(1)
        .json();
    let [before, after] = [said(&sample("host")), said(&cured)];
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let mut compared = 0;
    for (side, sign) in [("first", 1), ("second", -1)] {
        let mut only: BTreeMap<String, i64> = BTreeMap::new();
        for message in told["only"][side].as_array().expect("messages") {
            *only.entry(about(message, message)).or_default() += 1;
        }
        for &key in &keys {
            let count = |said: &BTreeMap<String, i64>| said.get(key).copied().unwrap_or(0);
            let more = (count(&before) - count(&after)) * sign;
            assert_eq!(count(&only), more.max(0), "{side}: {key}");
            compared += more.max(0);
        }
    }
    assert!(compared > 0, "the cure changes what is said");
}

#[test]
fn the_other_way_round_it_says_the_same_of_the_other_one() {
    let one = diff(&sample("host"), &sample("owner"), &["--json"])
        .expect(1)
        .json();
    let other = diff(&sample("owner"), &sample("host"), &["--json"])
        .expect(1)
        .json();
    let count = |it: &Value| it.as_array().expect("a list").len();
    for list in ["only", "findings_only"] {
        assert_eq!(
            count(&one[list]["first"]),
            count(&other[list]["second"]),
            "{list}"
        );
        assert_eq!(
            count(&one[list]["second"]),
            count(&other[list]["first"]),
            "{list}"
        );
    }
    for list in ["changed", "differently", "believed", "valued"] {
        assert_eq!(count(&one[list]), count(&other[list]), "{list}");
    }
    assert_eq!(one["messages"], other["messages"]);
}

#[test]
fn what_cannot_be_compared_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.pcapng");
    let file = file.to_str().expect("UTF-8");
    netreel(&[
        "export",
        &sample("host"),
        "--format",
        "pcapng",
        "--out",
        file,
    ])
    .expect(0);
    let ran = diff(&sample("host"), file, &[]).expect(2);
    assert!(
        ran.err.contains("the second session has no wire"),
        "{}",
        ran.err
    );
    let ran = diff(&sample("host"), file, &["--wire", WIRE]).expect(2);
    assert!(
        ran.err.contains("no node of the first session"),
        "{}",
        ran.err
    );
    let nowhere: PathBuf = folder.path().join("nowhere");
    diff(&sample("host"), nowhere.to_str().expect("UTF-8"), &[]).expect(2);
}
