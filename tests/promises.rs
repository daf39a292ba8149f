//! What a stream promises: a recording of an engine whose client does not keep the order of the
//! reliable stream.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use support::netreel;

const FOLDER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/recordings/reliable-unordered"
);

/// The nodes and objects of which `check` says that they live on, where the reliable stream promises this.
fn zombies(promise: &str) -> BTreeSet<(String, u64)> {
    let text = std::fs::read_to_string(Path::new(FOLDER).join("skirmish.wire")).unwrap();
    let plain = "reliable_sequence: u16 @reliable_sequence;";
    assert!(text.contains(plain));
    let said = format!("reliable_sequence: u16 @reliable_sequence{promise};");
    let folder = tempfile::tempdir().unwrap();
    let wire = folder.path().join("skirmish.wire");
    std::fs::write(&wire, text.replace(plain, &said)).unwrap();
    let read = ["--wire", wire.to_str().unwrap(), "--json", "--no-index"];
    let json = netreel(&[&["check", FOLDER][..], &read].concat()).json();
    let findings = json["findings"].as_array().unwrap().iter();
    let zombies = findings.filter(|it| it["rule"] == "zombie-object");
    let of_one = |it: &serde_json::Value| {
        let node = it["node"].as_str().unwrap().to_owned();
        let several = it["objects"].as_array().cloned().unwrap_or_default();
        let objects = several.into_iter().chain([it["object"].clone()]);
        let numbers = objects.filter_map(|it| it.as_u64());
        numbers.map(|it| (node.clone(), it)).collect::<Vec<_>>()
    };
    zombies.flat_map(of_one).collect()
}

#[test]
fn where_the_stream_is_unordered_what_lives_on_is_found() {
    let found = zombies("(unordered)");
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn where_it_promises_the_order_nothing_of_that_follows_from_the_packets() {
    for ordered in ["", "(ordered)"] {
        assert_eq!(zombies(ordered), BTreeSet::new());
    }
}
