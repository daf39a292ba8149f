//! Recordings of games that every node works out for itself, and what `netreel check` says of them.

mod support;

use serde_json::Value;
use support::netreel;

const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings/");

/// The findings of a recording, judged by the wire in its folder.
fn findings(recording: &str, wire: &str) -> Vec<Value> {
    let path = format!("{RECORDINGS}{recording}");
    let wire = format!("{path}/{wire}");
    let ran = netreel(&["check", &path, "--wire", &wire, "--no-index", "--json"]);
    let told = ran.json();
    told["findings"].as_array().expect("findings").clone()
}

/// Two nodes tell a checksum of every tick; from tick 60 on they differ.
#[test]
fn nodes_whose_checksums_part_are_found_at_the_first_tick() {
    let found = findings("checksums-part-at-60", "gw.wire");
    let own = found.iter().filter(|it| it["rule"] == "checksums-differ");
    let own: Vec<&Value> = own.collect();
    let [finding] = &own[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(finding["level"], "error");
    let said = finding["sentence"].as_str().expect("a sentence");
    assert!(said.contains("checksum of tick 60 than"), "{said}");
    assert!(said.contains("until tick 59 they told the same"), "{said}");
}

/// Without the words of the wire that say what a checksum is, nothing is said of them.
#[test]
fn a_wire_that_declares_no_checksums_has_none() {
    let path = format!("{RECORDINGS}checksums-part-at-60");
    let text = std::fs::read_to_string(format!("{path}/gw.wire")).expect("the wire");
    let folder = tempfile::tempdir().expect("a folder");
    let wire = folder.path().join("plain.wire");
    std::fs::write(&wire, text.replace(" @checksum", "")).expect("a wire");
    let wire = wire.to_str().expect("UTF-8");
    let ran = netreel(&["check", &path, "--wire", wire, "--no-index"]);
    assert!(!ran.out.contains("checksums-differ"), "{}", ran.out);
}
