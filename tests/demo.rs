//! The demonstration, from the command line: four processes, real UDP.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use support::{demo, netreel};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// The findings of a checked folder as `rule node`, at error level or all.
fn findings(report: &Value, level: Option<&str>) -> BTreeSet<String> {
    let findings = report["findings"].as_array().expect("findings");
    findings
        .iter()
        .filter(|finding| level.is_none_or(|level| finding["level"] == level))
        .map(|finding| {
            let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", word("rule"), word("node"))
        })
        .collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(ToString::to_string).collect()
}

#[test]
fn host_mode_shows_the_historic_race_at_x() {
    let folder = folder();
    demo("host", 7, folder.path()).expect(0);
    let report = netreel(&["check", text(folder.path()), "--json"])
        .expect(1)
        .json();
    let errors = findings(&report, Some("error"));
    assert_eq!(errors, set(&["migrate-before-create X", "zombie-object X"]));
}

/// What is played differs from run to run, as clocks do; that it replays is told by the exit code.
#[test]
fn free_play_in_every_mode_is_recorded_and_replays_exactly() {
    for mode in ["host", "counter", "owner", "queue", "handshake", "order"] {
        let folder = folder();
        let out = text(folder.path());
        let free = ["demo", "--headless", "--free=1", "--seed", "2"];
        let told = netreel(&[&free[..], &["--migration", mode, "--out", out]].concat()).expect(0);
        assert_eq!(
            told.out.matches(": exact: ").count(),
            4,
            "{mode}: {}",
            told.out
        );
        let shown = netreel(&["show", out, "--packet", "0"]).expect(0).out;
        assert!(shown.contains(&format!("{mode} (")), "{mode}: {shown}");
    }
}

#[test]
fn every_finding_names_packets_that_can_be_shown() {
    let folder = folder();
    demo("host", 7, folder.path()).expect(0);
    let report = netreel(&["check", text(folder.path()), "--json"])
        .expect(1)
        .json();
    for finding in report["findings"].as_array().expect("findings") {
        let evidence = finding["evidence"].as_array().expect("evidence");
        assert!(!evidence.is_empty(), "no evidence: {finding}");
        for piece in evidence {
            let packet = piece["packet"]
                .as_u64()
                .expect("a packet number")
                .to_string();
            netreel(&["show", text(folder.path()), "--packet", &packet]).expect(0);
        }
    }
}

#[test]
fn owner_mode_ignores_the_late_create_by_its_counter() {
    let folder = folder();
    demo("owner", 7, folder.path()).expect(0);
    let report = netreel(&["check", text(folder.path()), "--json"])
        .expect(0)
        .json();
    assert_eq!(findings(&report, Some("error")), set(&[]));
    let stale = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .any(|finding| {
            let sentence = finding["sentence"].as_str().unwrap_or_default();
            finding["rule"] == "stale-message-ignored"
                && finding["node"] == "X"
                && finding["object"] == 42
                && sentence.contains("CREATE")
                && sentence.contains("counter 0")
                && sentence.contains("DESTROY")
                && sentence.contains("at counter 1")
        });
    assert!(stale, "the race did not happen: {report}");
}

#[test]
fn every_node_replays_exactly() {
    let folder = folder();
    demo("host", 3, folder.path()).expect(0);
    for node in ["HOST", "A", "B", "X"] {
        let report = netreel(&["replay", text(folder.path()), "--node", node, "--json"])
            .expect(0)
            .json();
        assert_eq!(report["result"], "exact", "{report}");
        assert!(report["sends"].as_u64() > Some(50), "{report}");
    }
}

#[test]
fn the_client_server_demonstration_has_no_race() {
    let folder = folder();
    netreel(&[
        "demo",
        "--headless",
        "--topology",
        "client-server",
        "--migration",
        "host",
        "--out",
        text(folder.path()),
    ])
    .expect(0);
    let report = netreel(&["check", text(folder.path()), "--json"])
        .expect(0)
        .json();
    assert_eq!(findings(&report, Some("error")), set(&[]));
}

#[test]
fn it_leaves_one_reel_a_node_and_a_picture() {
    let folder = folder();
    demo("host", 7, folder.path()).expect(0);
    let names = std::fs::read_dir(folder.path()).expect("the folder");
    let names = names.map(|entry| entry.expect("an entry").file_name().into_string().unwrap());
    let expected = ["A.reel", "B.reel", "HOST.reel", "X.reel", "timeline.png"];
    assert_eq!(names.collect::<BTreeSet<_>>(), set(&expected));
}

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("mine.txt"), "precious").expect("a file");
    let ran = demo("host", 1, folder.path()).expect(2);
    assert!(ran.err.contains("is not empty"), "{}", ran.err);
}

#[test]
fn a_port_in_use_is_named() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let folder = folder();
    let out = folder.path().join("reels");
    let ran = netreel(&["demo", "--headless", "--port", &port, "--out", text(&out)]).expect(2);
    assert!(
        ran.err.contains(&port) && ran.err.contains("in use"),
        "{}",
        ran.err
    );
}

#[test]
fn a_port_in_use_leaves_no_folder_behind() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let folder = folder();
    let out = folder.path().join("reels");
    netreel(&["demo", "--headless", "--port", &port, "--out", text(&out)]).expect(2);
    assert!(!out.exists());
}

#[test]
fn with_json_one_object_says_it_all() {
    let folder = folder();
    let ran = netreel(&[
        "demo",
        "--json",
        "--migration",
        "owner",
        "--out",
        text(folder.path()),
    ]);
    let report = ran.expect(0).json();
    assert_eq!(report["check"]["verdict"], "clean", "{report}");
    let replays = report["replays"].as_array().expect("replays");
    assert!(
        replays.iter().all(|replay| replay["result"] == "exact"),
        "{report}"
    );
    assert_eq!(replays.len(), 4);
}
