//! The demonstration in a loop: outcomes are the same every time, packet numbers need not be.
//!
//! `NETREEL_DEMOS` says how many runs of each mode, 2 if it says nothing; `./dev campaign` runs 20.

mod support;

use std::collections::BTreeSet;

use support::{demo, netreel};

/// What a checked run says, without the packet numbers and times that differ from run to run.
fn outcome(migration: &str, seed: u64) -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    demo(migration, seed, folder.path()).expect(0);
    let path = folder.path().to_str().expect("a path in UTF-8");
    let report = netreel(&["check", path, "--json"]);
    assert_eq!(
        report.code,
        Some(if migration == "host" { 1 } else { 0 }),
        "{}",
        report.out
    );
    let report = report.json();
    let findings = report["findings"].as_array().expect("findings");
    let mut said: BTreeSet<String> = findings
        .iter()
        .map(|finding| {
            format!(
                "{} {} at {} about {}",
                finding["level"], finding["rule"], finding["node"], finding["object"]
            )
        })
        .collect();
    for node in ["HOST", "A", "B", "X"] {
        let replayed = netreel(&["replay", path, "--node", node, "--json"])
            .expect(0)
            .json();
        said.insert(format!("replay of {node}: {}", replayed["result"]));
    }
    said
}

fn check(migration: &str) {
    let runs = std::env::var("NETREEL_DEMOS").map_or(2, |text| text.parse().expect("a number"));
    let first = outcome(migration, 7);
    for run in 1..runs {
        assert_eq!(
            outcome(migration, 7),
            first,
            "run {run} differs from the first"
        );
    }
    println!("{migration}: {runs} runs agree: {first:#?}");
}

#[test]
fn host_mode_ends_the_same_every_time() {
    check("host");
}

#[test]
fn owner_mode_ends_the_same_every_time() {
    check("owner");
}
