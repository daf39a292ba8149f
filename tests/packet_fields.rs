//! Each surface has the fields of packets that `protocol/src/packet_fields.rs` declares for it, and no
//! others.

mod support;

use std::collections::BTreeSet;

use netreel_protocol::packet_fields::{Declaration, PacketField, SHOWN};
use netreel_protocol::query::Query;
use support::netreel;

/// A recorded session.
const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions/host");

/// What is said of packets beside their fields.
const MESSAGES: &str = "messages";

fn declared(surface: fn(&Declaration) -> &'static str) -> Vec<&'static str> {
    PacketField::on(surface).map(|(name, _)| name).collect()
}

fn out(arguments: &[&str]) -> String {
    netreel(arguments).expect(0).out
}

/// Where a surface lacks what is declared for it, or has more, a sentence says what to do.
#[track_caller]
fn check(surface: &str, found: &[&str], declared: &[&str]) {
    let (found, declared): (BTreeSet<_>, BTreeSet<_>) =
        (found.iter().collect(), declared.iter().collect());
    for name in declared.difference(&found) {
        panic!(
            "{surface} lacks `{name}`, which packet_fields.rs declares for it: make it of the declaration"
        );
    }
    for name in found.difference(&declared) {
        panic!(
            "{surface} has `{name}`, which packet_fields.rs does not declare for it: declare it"
        );
    }
}

#[test]
fn a_line_of_json_has_the_declared_keys() {
    let lines = out(&["packets", SESSION, "--json", "--no-index"]);
    let line = lines.lines().next().expect("a packet");
    let keys: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(line).expect("an object");
    let mut found: Vec<&str> = keys.keys().map(String::as_str).collect();
    // Left out where they say nothing.
    found.extend(
        ["doubtful", "protocol"]
            .iter()
            .filter(|it| !keys.contains_key(**it)),
    );
    let mut declared = declared(|it| it.json);
    declared.push(MESSAGES);
    check("packets --json", &found, &declared);
}

#[test]
fn comma_separated_values_have_the_declared_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("packets.csv");
    let file = file.to_str().expect("UTF-8");
    netreel(&[
        "export",
        SESSION,
        "--format",
        "csv",
        "--out",
        file,
        "--no-index",
    ])
    .expect(0);
    let text = std::fs::read_to_string(file).expect("a file");
    let found: Vec<&str> = text.lines().next().expect("a head").split(',').collect();
    assert_eq!(found, declared(|it| it.csv));
}

#[test]
fn the_table_that_is_printed_has_the_declared_heads() {
    let text = out(&["packets", SESSION, "--no-index"]);
    let head = text.lines().next().expect("a head");
    let found: Vec<&str> = head
        .split("  ")
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    let printed = SHOWN.iter().map(|it| it.declared()).filter(|it| it.printed);
    // A wire of one protocol has no column for it.
    let printed = printed.map(|it| it.head).filter(|it| *it != "protocol");
    assert_eq!(found, printed.collect::<Vec<_>>());
}

#[cfg(feature = "parquet")]
#[test]
fn a_dataset_has_the_declared_columns() {
    let columns = netreel_fleet::Table::Packets.columns().iter();
    let found: Vec<&str> = columns.map(|column| column.name).collect();
    assert_eq!(found, declared(|it| it.parquet));
}

#[test]
fn a_filter_knows_the_declared_names() {
    for name in declared(|it| it.filter) {
        let read = Query::parse(name);
        assert!(read.is_ok(), "a filter does not know `{name}`: {read:?}");
    }
}

#[test]
fn the_pages_have_the_declared_names() {
    let pages = [
        ("docs/json.md", declared(|it| it.json)),
        ("docs/filter.md", declared(|it| it.filter)),
        ("docs/fleet.md", declared(|it| it.parquet)),
    ];
    for (page, names) in pages {
        let text = std::fs::read_to_string(page).expect("a page");
        for name in names {
            assert!(text.contains(&format!("`{name}`")), "{page} lacks `{name}`");
        }
    }
}

#[test]
fn each_field_is_somewhere_and_what_people_see_has_a_head_and_a_place() {
    for field in PacketField::ALL {
        let it = field.declared();
        let names = [it.json, it.csv, it.parquet, it.filter, it.window];
        let is_seen = it.printed || !it.window.is_empty();
        let is_somewhere = is_seen || names.iter().any(|name| !name.is_empty());
        assert!(is_somewhere, "{field:?} is declared and on no surface");
        assert!(!it.says.is_empty(), "{field:?} does not say what it means");
        assert_eq!(
            is_seen,
            !it.head.is_empty(),
            "{field:?}: a head, and where it stands"
        );
        assert_eq!(
            is_seen,
            SHOWN.contains(field),
            "{field:?} and its place in SHOWN"
        );
    }
}
