//! What a receiver does with an UPDATE that is older than one it took: a recording of an engine that
//! takes what comes last.

mod support;

use std::path::Path;

use serde_json::Value;
use support::netreel;

const FOLDER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/recordings/stale-update-applied"
);

/// What a command says of the recording, read with its wire, in which `before` became `after`.
fn asked(command: &str, (before, after): (&str, &str)) -> Value {
    let text = std::fs::read_to_string(Path::new(FOLDER).join("gw.wire")).unwrap();
    assert!(text.contains(before), "{before}");
    let folder = tempfile::tempdir().unwrap();
    let wire = folder.path().join("gw.wire");
    std::fs::write(&wire, text.replace(before, after)).unwrap();
    let wire = wire.to_str().unwrap();
    let all = [command, FOLDER, "--wire", wire, "--json", "--no-index"];
    netreel(&all).json()
}

/// What each node believes that x of the object is at the end.
fn values(state: &Value) -> Vec<(&str, f64)> {
    let nodes = state["objects"][0]["properties"][0]["nodes"].as_array();
    let nodes = nodes.unwrap().iter();
    let value = |it: &Value| it["value"].as_f64().unwrap();
    nodes
        .map(|it| (it["node"].as_str().unwrap(), value(it)))
        .collect()
}

#[test]
fn where_nothing_is_old_what_came_last_is_believed() {
    for said in ["", " older_update = take;"] {
        let anyone = "update_from = anyone;";
        let edit = (anyone, &*format!("{anyone}{said}"));
        let state = asked("state", edit);
        assert_eq!(values(&state), [("SERVER", 59.5), ("CLIENT", 59.0)]);
        let check = asked("check", edit);
        let finding = &check["findings"][0];
        assert_eq!(finding["rule"], "values-differ");
        let sentence = finding["sentence"].as_str().unwrap();
        let cause = "CLIENT took an UPDATE that had been sent before one that it had taken";
        assert!(sentence.contains(cause), "{sentence}");
    }
}

#[test]
fn where_an_older_update_is_dropped_both_have_what_was_sent_last() {
    let edit = (
        "update_from = anyone;",
        "update_from = anyone; older_update = drop;",
    );
    let state = asked("state", edit);
    assert_eq!(values(&state), [("SERVER", 59.5), ("CLIENT", 59.5)]);
    let check = asked("check", edit);
    assert_eq!(check["findings"], serde_json::json!([]));
}

#[test]
fn why_names_the_rule_by_which_it_was_taken() {
    let text = |said: &str, what: [&str; 2]| {
        let wire = Path::new(FOLDER).join("gw.wire");
        let wire = std::fs::read_to_string(wire).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gw.wire");
        std::fs::write(&path, wire.replace("anyone;", said)).unwrap();
        let read = ["--wire", path.to_str().unwrap(), "--no-index", FOLDER];
        netreel(&[&["why"][..], &what, &read].concat()).out
    };
    let taken = text("anyone;", ["--finding", "1"]);
    assert!(taken.contains("older_update = take"), "{taken}");
    let dropped = text("anyone; older_update = drop;", ["--packet", "235"]);
    assert!(dropped.contains("older_update = drop"), "{dropped}");
}
