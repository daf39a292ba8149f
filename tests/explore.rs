//! `netreel explore` and `netreel shrink`: a race that is not in a recording, and the packets that it takes.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use support::netreel;

fn sample(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("samples").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A match over real UDP in which nothing goes wrong: no link is slow.
fn healthy(folder: &Path) -> PathBuf {
    let scenario = sample("scenarios/boxes.toml");
    let out = folder.join("run");
    let arguments = [
        "run",
        text(&scenario),
        "--set",
        "slow=0",
        "--keep-all",
        "--out",
        text(&out),
    ];
    netreel(&arguments).expect(0);
    let session = out.join("match-00001");
    netreel(&["check", text(&session)]).expect(0);
    session
}

fn number(of: &Value, name: &str) -> u64 {
    of[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {of}"))
}

/// The rules of all findings, in the order of their numbers.
fn rules(session: &Path) -> Vec<String> {
    let checked = netreel(&["check", "--json", text(session)]).json();
    let findings = checked["findings"].as_array().expect("findings");
    let rules = findings.iter().map(|it| it["rule"].as_str());
    rules.map(|it| it.expect("a rule").to_owned()).collect()
}

fn assert_exact(session: &Path) {
    netreel(&["replay", text(session)]).expect(0);
}

#[test]
fn the_zombie_of_a_healthy_match_is_found_written_and_shrunk() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = healthy(folder.path());
    let found = folder.path().join("found");
    let arguments = [
        "explore",
        text(&session),
        "--until",
        "8",
        "--json",
        "--out",
        text(&found),
    ];
    let explored = netreel(&arguments).expect(1).json();
    let all = explored["found"].as_array().expect("what was found");
    let is_zombie = |it: &&Value| {
        let findings = it["findings"].as_array().into_iter().flatten();
        findings
            .clone()
            .any(|finding| finding["rule"] == "zombie-object")
    };
    let zombie = all.iter().find(is_zombie).expect("a zombie");
    assert_eq!(zombie["confirmed"], true);
    assert_eq!(
        zombie["changes"].as_array().map(Vec::len),
        Some(1),
        "{zombie}"
    );
    let session = PathBuf::from(zombie["folder"].as_str().expect("a folder"));
    assert!(rules(&session).contains(&"zombie-object".to_owned()));
    assert_exact(&session);

    let place = rules(&session)
        .iter()
        .position(|it| it == "zombie-object")
        .expect("a zombie")
        + 1;
    let small = folder.path().join("small");
    let arguments = [
        "shrink",
        text(&session),
        "--finding",
        &place.to_string(),
        "--json",
        "--out",
        text(&small),
    ];
    let shrunk = netreel(&arguments).expect(1).json();
    assert_eq!(shrunk["minimal"], true);
    assert!(number(&shrunk, "packets") <= 24, "{shrunk}");
    assert!(number(&shrunk, "delivered") <= 12, "{shrunk}");
    assert!(rules(&small.join("failing")).contains(&"zombie-object".to_owned()));
    assert!(!rules(&small.join("healthy")).contains(&"zombie-object".to_owned()));
}

#[test]
fn with_the_cure_nothing_is_found_in_any_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = healthy(folder.path());
    let arguments = ["explore", text(&session), "--set", "mode=owner", "--json"];
    let explored = netreel(&arguments).expect(0).json();
    assert_eq!(explored["whole"], true);
    assert!(number(&explored, "orders") > 20, "{explored}");
}

#[test]
fn what_was_shrunk_becomes_a_test_of_the_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, test) = (folder.path().join("small"), folder.path().join("race.rs"));
    let session = sample("sessions/host");
    let arguments = [
        "shrink",
        text(&session),
        "--out",
        text(&out),
        "--as-test",
        text(&test),
    ];
    let shrunk = netreel(&arguments).expect(1);
    assert!(
        shrunk
            .out
            .contains("it is healthy where at X, CREATE of A comes before"),
        "{}",
        shrunk.out
    );
    let written = std::fs::read_to_string(&test).expect("a test");
    assert!(
        written.contains("include_bytes!(\"small/failing/X.reel\")"),
        "{written}"
    );
    assert!(
        !written.contains("{packets}") && !written.contains("{nodes}"),
        "{written}"
    );
}

/// What a test in C says and returns, with the sample engine's plugin as it is or cured.
fn tried(test: &Path, cured: bool) -> (Option<i32>, String) {
    let command = Path::new(env!("CARGO_BIN_EXE_netreel"));
    let beside = command.parent().expect("a folder");
    let layer = beside.join("examples/libboxes_layer.so");
    assert!(
        layer.exists(),
        "cargo build -p netreel-plugin --example boxes_layer makes it"
    );
    let mut run = Command::new(test);
    run.arg(layer);
    if cured {
        run.env("BOXES_CURED", "1");
    }
    let ran = run.output().expect("it runs");
    (
        ran.status.code(),
        String::from_utf8_lossy(&ran.stdout).into_owned(),
    )
}

#[test]
fn what_was_shrunk_becomes_a_test_in_c_that_the_cured_engine_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, source) = (folder.path().join("small"), folder.path().join("race.c"));
    let session = sample("sessions/host");
    let arguments = [
        "shrink",
        text(&session),
        "--finding",
        "2",
        "--out",
        text(&out),
    ];
    let told = netreel(&[&arguments[..], &["--json", "--as-test", text(&source)]].concat());
    assert_eq!(told.expect(1).json()["test_fails"], true);
    let test = folder.path().join("race");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("capi/include");
    let compiled = Command::new("cc")
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-I",
            text(&include),
        ])
        .args([text(&source), "-ldl", "-o", text(&test)])
        .status();
    assert!(compiled.expect("a C compiler").success());
    let (code, said) = tried(&test, false);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("X believes that object 42 lives, and HOST does not"),
        "{said}"
    );
    assert_eq!(
        tried(&test, true),
        (Some(0), "all nodes agree\n".to_owned())
    );
}

#[test]
fn every_order_of_three_packets_is_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = healthy(folder.path());
    let filter =
        "to == X and kind != update and (kind == create or kind == migrate or kind == destroy)";
    let packets = netreel(&["packets", text(&session), "--json", "--filter", filter]).expect(0);
    let mut numbers: Vec<(String, u64)> = Vec::new();
    for line in packets.out.lines() {
        let packet: Value = serde_json::from_str(line).expect("an object a line");
        for message in packet["messages"].as_array().into_iter().flatten() {
            let kind = message["kind"].as_str().unwrap_or_default().to_owned();
            let is_box = message["object"] == 41;
            if is_box && !numbers.iter().any(|it| it.0 == kind) {
                numbers.push((kind, number(&packet, "packet")));
            }
        }
    }
    assert_eq!(numbers.len(), 3, "{numbers:?}");
    let orders: Vec<String> = numbers.iter().map(|it| it.1.to_string()).collect();
    let orders = orders.join(",");
    let arguments = [
        "explore",
        text(&session),
        "--node",
        "X",
        "--orders",
        &orders,
        "--json",
    ];
    let table = netreel(&arguments).expect(1).json();
    let rows = table["orders"].as_array().expect("rows");
    // CREATE of A, MIGRATE of HOST, DESTROY of B: six orders, and the box stays in three of them.
    assert_eq!(rows.len(), 6);
    let lives = |row: &&Value| row["believes"].as_array().is_some_and(|it| !it.is_empty());
    assert_eq!(rows.iter().filter(lives).count(), 3, "{table}");

    let arguments = [
        "explore",
        text(&session),
        "--node",
        "X",
        "--orders",
        &orders,
        "--json",
        "--set",
        "mode=owner",
    ];
    let told = netreel(&arguments);
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
}

#[test]
fn what_cannot_be_explored_says_what_is_missing() {
    let session = sample("sessions/host");
    let told = netreel(&["explore", text(&session), "--node", "Q"]).expect(2);
    assert!(
        told.err
            .contains("no node of this name can be played; the session has"),
        "{}",
        told.err
    );
    let told = netreel(&[
        "explore",
        text(&session),
        "--node",
        "X",
        "--orders",
        "99999",
    ])
    .expect(2);
    assert!(
        told.err.contains("packet 99999 is not in the session"),
        "{}",
        told.err
    );
    let folder = tempfile::tempdir().expect("a folder");
    let owner = sample("sessions/owner");
    let told = netreel(&["shrink", text(&owner), "--out", text(folder.path())]).expect(2);
    assert!(
        told.err.contains("the session has no error"),
        "{}",
        told.err
    );
}
