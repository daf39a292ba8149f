//! `netreel state`: what nodes believed of the values of objects, as people and programs read it.

mod support;

use serde_json::Value;

use support::{Ran, netreel};

const WIRE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/wires/boxes.wire");

fn session(name: &str) -> String {
    format!("{}/samples/sessions/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Asks about a recorded session, with the wire that declares properties.
fn state(name: &str, arguments: &[&str]) -> Ran {
    let session = session(name);
    let mut all = vec!["state", &session, "--wire", WIRE];
    all.extend(arguments);
    netreel(&all)
}

fn refused(ran: Ran, says: &[&str]) {
    let ran = ran.expect(2);
    for part in says {
        assert!(ran.err.contains(part), "`{part}` is not in {}", ran.err);
    }
}

#[test]
fn an_object_that_lives_at_one_node_alone_is_shown_there() {
    let ran = state("host", &["--object", "42", "--at", "1.2s"]).expect(0);
    assert!(
        ran.out.contains("object 42 (box), without an owner"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("it does not live at HOST, A, B"),
        "{}",
        ran.out
    );
    let color = ran.out.lines().find(|line| line.contains("color"));
    let words: Vec<&str> = color.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words, ["color", "200", "X"], "{}", ran.out);
}

/// That an object exists is a value, and a zombie differs in it.
#[test]
fn a_zombie_is_no_agreement() {
    let ran = state("host", &[]).expect(0);
    let said = "object 42 lives on at X, and";
    assert!(ran.out.contains(said), "{}", ran.out);
    let told = state("host", &["--json"]).expect(0).json();
    let zombie = &told["existence"][0];
    assert_eq!(zombie["object"], 42, "{zombie}");
    assert_eq!(zombie["node"], "X");
    assert_eq!(zombie["lives"], true);
    let diff = state("host", &["--diff", "X,B"]).expect(0);
    let said = "object 42 (box) lives at X, and B took it for destroyed";
    assert!(diff.out.contains(said), "{}", diff.out);
    let cured = state("owner", &["--json"]).expect(0).json();
    assert_eq!(cured["existence"], serde_json::json!([]));
}

#[test]
fn one_node_alone_says_since_when_and_by_which_packet() {
    let ran = state("host", &["--object", "41", "--node", "X", "--json"]).expect(0);
    let object = &ran.json()["objects"][0];
    assert_eq!(object["owners"], serde_json::json!(["A"]));
    for property in object["properties"].as_array().expect("properties") {
        let nodes = property["nodes"].as_array().expect("nodes");
        let [only] = &nodes[..] else {
            panic!("{property}");
        };
        assert_eq!(only["node"], "X");
        assert!(only["packet"].is_u64(), "{only}");
    }
}

#[test]
fn two_nodes_that_are_held_apart_differ_for_as_long() {
    let ran = state("host", &["--diff", "A,X", "--json"]).expect(0);
    let diff = ran.json();
    let values = diff["values"].as_array().expect("values");
    let held = values
        .iter()
        .find(|it| it["object"] == 41 && it["property"] == "position")
        .expect("A's packets to X were held back");
    assert!(held["longest_ns"].as_i64() > Some(500_000_000), "{held}");
    let first = values.iter().map(|it| it["first_ns"].as_i64()).min();
    assert_eq!(diff["first"]["time_ns"].as_i64(), first.flatten());
    assert_eq!(diff["nodes"], serde_json::json!(["A", "X"]));
    let swapped = state("host", &["--diff", "X,A", "--json"]).expect(0).json();
    let total = |diff: &Value| diff["values"].as_array().map(Vec::len);
    assert_eq!(total(&diff), total(&swapped), "order does not matter");
}

#[test]
fn a_filter_keeps_the_objects_one_of_whose_messages_fits() {
    let ran = state(
        "host",
        &["--filter", "kind == migrate", "--at", "0.8s", "--json"],
    )
    .expect(0);
    let objects = ran.json()["objects"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let ids: Vec<_> = objects.iter().map(|it| it["object"].clone()).collect();
    assert_eq!(ids, [42], "{}", ran.out);
}

#[test]
fn what_cannot_be_asked_is_refused_with_what_to_do() {
    let host = session("host");
    let mut wire = std::fs::read_to_string(WIRE).expect("the wire");
    // The same without a word about properties.
    while let Some(at) = wire.find(" @property(") {
        let length = wire[at..].find(')').expect("it ends") + 1;
        wire.replace_range(at..at + length, "");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let plain = folder.path().join("plain.wire");
    std::fs::write(&plain, wire).expect("a wire");
    refused(
        netreel(&["state", &host, "--wire", plain.to_str().expect("UTF-8")]),
        &["declares no properties", "@property", "--wire FILE"],
    );
    refused(state("host", &["--node", "Q"]), &["Q", "HOST, A, B, X"]);
    refused(state("host", &["--diff", "A"]), &["--diff A,B"]);
    refused(state("host", &["--diff", "A,A"]), &["differ from itself"]);
    refused(
        state("host", &["--object", "999"]),
        &["no message is about"],
    );
    refused(state("host", &["--at", "99s"]), &["lasts from"]);
}
