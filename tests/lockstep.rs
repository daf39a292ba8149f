//! Recordings of games that every node works out for itself, and what `netreel check` says of them.

mod support;

use serde_json::Value;
use support::netreel;

const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings/");

/// The findings of a recording by one rule; judged by the wire in its folder, where that is not in the reels.
fn findings(recording: &str, wire: Option<&str>, rule: &str) -> Vec<Value> {
    let path = format!("{RECORDINGS}{recording}");
    let wire = wire.map(|wire| format!("{path}/{wire}"));
    let mut arguments = vec!["check", &path, "--no-index", "--json"];
    arguments.extend(wire.iter().flat_map(|wire| ["--wire", wire]));
    let told = netreel(&arguments).json();
    let all = told["findings"].as_array().expect("findings").clone();
    all.into_iter().filter(|it| it["rule"] == rule).collect()
}

fn sentence(finding: &Value) -> &str {
    finding["sentence"].as_str().expect("a sentence")
}

/// Two nodes tell a checksum of every tick; from tick 60 on they differ.
#[test]
fn nodes_whose_checksums_part_are_found_at_the_first_tick() {
    let found = findings("checksums-part-at-60", Some("gw.wire"), "checksums-differ");
    let [finding] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(finding["level"], "error");
    let said = sentence(finding);
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

/// Three players who go on without inputs that lack; those of c take 100 ms, and are told as far ahead.
#[test]
fn inputs_that_come_late_are_told_with_who_drops_them() {
    let found = findings("input-late", None, "input-late");
    let at: Vec<&str> = found.iter().filter_map(|it| it["node"].as_str()).collect();
    assert!(at.contains(&"a") && at.contains(&"b"), "{found:#?}");
    for finding in &found {
        assert_eq!(finding["level"], "warning");
        let said = sentence(finding);
        assert!(
            said.contains("inputs of c came too late for their tick"),
            "{said}"
        );
    }
    // Who went on without an input has another game than who had it.
    let parted = findings("input-late", None, "checksums-differ");
    let said = sentence(&parted[0]);
    assert!(
        said.contains("had not been given the input of c of tick"),
        "{said}"
    );
}

/// GGRS over a link of 150 to 225 ms, with no guess that is right.
#[test]
fn rollbacks_beyond_the_bound_are_told_and_all_are_counted() {
    let found = findings("rollback-deep", None, "rollback-deep");
    assert_eq!(found.len(), 2, "{found:#?}");
    let path = format!("{RECORDINGS}rollback-deep");
    let told = netreel(&["stats", &path, "--by", "input", "--no-index", "--json"]).json();
    let rows = told["input"].as_array().expect("a table of inputs");
    assert_eq!(rows.len(), 2, "{told:#}");
    for row in rows {
        assert!(row["latest"].as_u64() > Some(12), "{row:#}");
        assert!(row["rollbacks"].as_u64() > Some(50), "{row:#}");
    }
    let printed = netreel(&["stats", &path, "--no-index"]);
    assert!(printed.out.contains("b at a"), "{}", printed.out);
    assert_eq!(
        findings("rollback-deep", None, "input-late"),
        [] as [Value; 0]
    );
}

/// The ticks of c are shorter than those of the others by one in 31.
#[test]
fn ticks_that_are_too_short_are_told_with_their_speed() {
    let found = findings("tick-drift", None, "tick-drift");
    let [finding] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(finding["node"], "c");
    assert!(
        sentence(finding).contains("1 in 30 too many"),
        "{finding:#}"
    );
}
