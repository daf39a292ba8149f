//! The demonstration in a loop, over real UDP: outcomes are the same every time, packet numbers need
//! not be; and what was recorded is played on, unchanged and with the cure.
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

fn runs() -> u64 {
    std::env::var("NETREEL_DEMOS").map_or(2, |text| text.parse().expect("a number"))
}

fn check(migration: &str) {
    let runs = runs();
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

/// Records demonstrations of these seeds and plays each on, unchanged and with the cure.
fn check_played_on(migration: &str) {
    for seed in 0..runs() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        let what = format!("{migration}, seed {seed}");
        demo(migration, seed, folder.path().join("recorded").as_path()).expect(0);
        let played_on = |out: &str, more: &[&str]| {
            let (recorded, out) = (path("recorded"), path(out));
            let asked = ["replay", &recorded, "--together", "--out", &out, "--json"];
            netreel(&[&asked[..], more].concat()).json()
        };
        let report = played_on("same", &[]);
        assert_eq!(report["played"]["exact"], true, "{what}: {report}");
        for node in report["played"]["nodes"].as_array().expect("nodes") {
            assert_eq!(node["sent"]["equal"], node["sent"]["recorded"], "{what}");
        }
        let report = played_on("cured", &["--set", "mode=owner"]);
        assert_eq!(report["check"]["verdict"], "clean", "{what}: {report}");
        let gone = report["findings"]["gone"].to_string();
        let had_zombie = gone.contains("zombie-object");
        assert_eq!(had_zombie, migration == "host", "{what}: {gone}");
    }
}

#[test]
fn host_mode_is_played_on_the_same_and_the_cure_ends_its_zombie() {
    check_played_on("host");
}

#[test]
fn owner_mode_is_played_on_the_same_and_stays_clean() {
    check_played_on("owner");
}
