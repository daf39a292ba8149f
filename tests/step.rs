//! A replay that one sits in, driven by a script on the standard input.

mod support;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use netreel_reel::{Event, OwnedRecord};
use serde_json::Value;
use support::programs::{records, write};
use support::{Ran, demo, netreel};

/// A copy of the sample session, so that breakpoints have a place.
fn session() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for node in ["HOST", "A", "B", "X"] {
        let name = format!("{node}.reel");
        std::fs::copy(
            Path::new("samples/sessions/host").join(&name),
            folder.path().join(&name),
        )
        .unwrap();
    }
    folder
}

fn step(folder: &Path, more: &[&str], script: &str) -> Ran {
    let mut child = support::command()
        .args(["replay", "--no-index", "--node", "X", "--step"])
        .arg(folder)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(script.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The JSON answers to a script.
fn answers(folder: &Path, more: &[&str], script: &str) -> Vec<Value> {
    let more: Vec<&str> = more.iter().copied().chain(["--json"]).collect();
    let ran = step(folder, &more, script);
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect()
}

#[test]
fn the_layer_is_the_same_at_an_event_whichever_way_one_came() {
    let folder = session();
    let script = "goto 300\nstate\ngoto 600\nback tick 20\ngoto 300\nstate\ngoto 0\npacket 3\n\
                  goto 300\nstate\n";
    let answers = answers(folder.path(), &[], script);
    let states: Vec<&Value> = answers
        .iter()
        .filter(|it| it.get("state").is_some())
        .collect();
    assert_eq!(states.len(), 3);
    assert!(states.iter().all(|state| *state == states[0]));
    assert!(states[0]["state"].as_array().unwrap().len() > 50);
}

#[test]
fn the_words_of_other_debuggers_do_the_same() {
    let folder = session();
    let asked = |script: &str| answers(folder.path(), &[], script);
    assert_eq!(
        asked("step\nstep 3\nstep packet 2\nstep tick\ngoto 300\nprint\nprint object 42\n"),
        asked("event\nevent 3\npacket 2\ntick\ngoto 300\nshow\nobject 42\n")
    );
}

#[test]
fn one_goes_on_to_what_fits_and_back_to_it() {
    let folder = session();
    let script = "until kind == destroy\nback until kind == migrate\nback until kind == migrate\n";
    let answers = answers(folder.path(), &[], script);
    let shown = netreel(
        &[
            "events",
            "samples/sessions/host",
            "--node",
            "X",
            "--json",
            "--filter",
        ]
        .iter()
        .copied()
        .chain(["kind == destroy || kind == migrate"])
        .collect::<Vec<_>>(),
    );
    let events: Vec<Value> = shown
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers[1]["position"], events[1]["event"]);
    assert_eq!(answers[2]["position"], events[0]["event"]);
    assert_eq!(answers[3]["stop"], "begin");
}

#[test]
fn breakpoints_are_kept_beside_the_session() {
    let folder = session();
    step(
        folder.path(),
        &[],
        "break kind == destroy\nbreak event 218\n",
    );
    let again = step(
        folder.path(),
        &[],
        "breaks\ncontinue\ncontinue\nback continue\ndelete 1\n",
    );
    assert!(
        again.out.contains("breakpoint 2  event 218"),
        "{}",
        again.out
    );
    let stops: Vec<&str> = again
        .out
        .lines()
        .filter(|line| line.starts_with("event "))
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert_eq!(stops, ["0", "218", "437", "218"]);
    let kept = std::fs::read_to_string(folder.path().join("breakpoints.txt")).unwrap();
    assert_eq!(kept, "event 218\n");
}

#[test]
fn the_evidence_of_findings_can_be_gone_to() {
    let folder = session();
    let found = step(
        folder.path(),
        &[],
        "until finding migrate-before-create\nobject 42\n",
    );
    assert!(
        found.out.contains("packet 210: migrate 42"),
        "{}",
        found.out
    );
    assert!(found.out.contains("X does not know it"), "{}", found.out);
    let none = step(folder.path(), &[], "until finding two-owners\n");
    assert!(
        none.out.contains("? nothing was found by the rule"),
        "{}",
        none.out
    );
    assert_eq!(none.code, Some(2));
}

#[test]
fn messages_are_stepped_one_by_one_and_back() {
    let folder = session();
    let answers = answers(folder.path(), &[], &"m\n".repeat(12));
    let messages: Vec<u64> = answers[1..]
        .iter()
        .map(|it| it["message"].as_u64().unwrap())
        .collect();
    let script = "m\n".repeat(12) + &"back m\n".repeat(11);
    let back = self::answers(folder.path(), &[], &script);
    let walked: Vec<u64> = back[12..]
        .iter()
        .map(|it| it["message"].as_u64().unwrap())
        .collect();
    let expected: Vec<u64> = messages.iter().rev().copied().collect();
    assert_eq!(walked, expected);
}

/// The sample engine with snapshots, and a hole in X's reel: the first and the last number that is gone.
fn with_a_hole() -> (tempfile::TempDir, u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("race");
    demo("host", 3, &out).expect(0);
    let path = out.join("X.reel");
    let reel = netreel_capture::open(&path).unwrap();
    let all = records(&reel);
    let number = |it: &OwnedRecord| it.as_record().number.0;
    let is_snapshot = |it: &&OwnedRecord| matches!(it.as_record().event, Event::Snapshot { .. });
    let snapshot = all.iter().find(is_snapshot).map(number).unwrap();
    let (first, last) = (snapshot - 60, snapshot - 50);
    let kept = all
        .into_iter()
        .filter(|it| !(first..=last).contains(&number(it)));
    write(&path, &reel, &kept.collect::<Vec<_>>());
    (folder, first, last)
}

#[test]
fn one_goes_back_across_what_is_missing_and_is_told() {
    let (folder, first, last) = with_a_hole();
    let race = folder.path().join("race");
    let script = "goto 99999999\nback until event 1\ngoto 99999999\nback continue\nback event\nstate\n\
                  event\n";
    let answers = answers(&race, &[], script);
    let position = |place: usize| answers[place]["position"].as_u64().unwrap();
    assert_eq!(answers[1]["crossed"], true);
    assert_eq!((position(2), &answers[2]["crossed"]), (1, &true.into()));
    assert_eq!(answers[4]["stop"], "begin");
    assert_eq!(answers[4]["crossed"], false);
    assert!(position(4) > last);
    assert_eq!(answers[5]["stop"], "reached");
    assert_eq!(answers[5]["crossed"], true);
    assert_eq!(position(5), first - 1);
    assert!(answers[6]["state"].as_array().unwrap().len() > 20);
    assert_eq!(answers[7]["crossed"], true);
    assert_eq!(position(7), position(4));
    let said = step(&race, &[], "goto 99999999\nback continue\nback event\n").out;
    let told = format!(
        "what can be played here goes from the reel's beginning to event {}",
        first - 1
    );
    assert!(said.contains(&told), "{said}");
    assert!(
        said.contains("the beginning, a snapshot: what comes"),
        "{said}"
    );
}

#[test]
fn a_layer_with_other_constants_stops_where_it_parts() {
    let folder = session();
    let tune = ["--tune", "resend_delay_ns=20000000"];
    let parted = step(folder.path(), &tune, "continue\nback tick\ncontinue\n");
    assert_eq!(parted.code, Some(1));
    assert!(
        parted.out.contains("\n    agreed    event "),
        "{}",
        parted.out
    );
    // The state just before: that of the turn in which it parts.
    let before = answers(folder.path(), &tune, "continue\nstate\nobject 42\n");
    let turn = before[1]["turn"].as_u64().unwrap();
    assert!(turn <= before[1]["position"].as_u64().unwrap());
    assert_eq!(before[2]["before"], turn);
    assert!(before[2]["state"].as_array().unwrap().len() > 20);
    assert!(before[3]["layer"].is_array());
    assert_eq!(
        parted.out.matches("first difference: ").count(),
        2,
        "{}",
        parted.out
    );
    let whole = netreel(&[
        "replay",
        "samples/sessions/host",
        "--node",
        "X",
        "--tune",
        "resend_delay_ns=20000000",
    ]);
    let event = |text: &str| {
        text.split("diverged at event ")
            .nth(1)
            .map(|it| it[..3].to_owned())
    };
    assert_eq!(event(&parted.out), event(&whole.out));
}

#[test]
fn a_command_that_is_none_is_said_and_the_rest_goes_on() {
    let folder = session();
    let ran = step(
        folder.path(),
        &[],
        "jump\nback\n# a comment\n\ntick x\ntick\n",
    );
    assert_eq!(ran.out.matches("\n? ").count(), 3, "{}", ran.out);
    assert!(ran.out.contains("tick 0, 0.000000 s"), "{}", ran.out);
}

#[test]
fn what_is_not_understood_is_told_with_what_to_write() {
    let folder = session();
    let commands = "goto event 12\nwhere\ngoto there\ndelete\nuntil finding 2\ngoto 99999\nshow\n";
    let ran = step(folder.path(), &[], commands);
    let said = |words: &str| assert!(ran.out.contains(words), "{words}: {}", ran.out);
    said("12) where");
    said(
        "? `there` is neither the number of an event nor a time; write `goto 218` or `goto 1.25s`",
    );
    said("? say which: `delete 1`; `breaks` lists them");
    said("? nothing was found by the rule `2`; this session has: ");
    said("show\nthe end, behind event ");
}

#[test]
fn until_shows_the_first_packet_that_fits() {
    let arguments = [
        "replay",
        "samples/sessions/host",
        "--node",
        "X",
        "--until",
        "kind == migrate",
    ];
    let shown = netreel(&arguments).expect(0);
    assert!(shown.out.contains("new_owner"), "{}", shown.out);
    let unnamed = netreel(&[
        "replay",
        "samples/sessions/host",
        "--until",
        "kind == migrate",
    ]);
    assert!(unnamed.expect(2).err.contains("--node: HOST, A, B, X"));
}

#[test]
fn until_says_where_nothing_fits() {
    let node = ["replay", "samples/sessions/host", "--node", "X", "--until"];
    for until in ["event 99999", "kind == migrate && length > 5000"] {
        let told = netreel(&[&node[..], &[until]].concat()).expect(2);
        assert!(told.err.contains("nothing of X from event"), "{}", told.err);
    }
}

#[test]
fn a_replay_that_parts_before_the_time_it_starts_at_says_so_once() {
    let arguments = ["replay", "samples/sessions/host", "--node", "X"];
    let change = ["--set", "mode=owner", "--from", "0.8s"];
    let ran = netreel(&[arguments, change].concat()).expect(1);
    assert_eq!(
        ran.out.matches("diverged at event").count(),
        1,
        "{}",
        ran.out
    );
}

#[test]
fn a_recording_with_snapshots_is_entered_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("race");
    demo("host", 3, &out).expect(0);
    let path = out.to_str().unwrap();
    let snapshots = netreel(&["events", path, "--node", "X", "--kind", "snapshot"]).expect(0);
    assert!(
        snapshots.out.contains("the layer's state"),
        "{}",
        snapshots.out
    );
    let ran = netreel(&["replay", path, "--node", "X", "--from", "0.8s"]).expect(0);
    assert!(ran.out.starts_with("X: exact from event "), "{}", ran.out);
    let late = netreel(&["replay", path, "--node", "X", "--from", "80s"]).expect(2);
    assert!(late.err.contains("ends before it"), "{}", late.err);
}

const WIRE: [&str; 2] = ["--wire", "samples/wires/boxes.wire"];

/// Where a node's replay stops, and what it says; with its exit code.
fn until(node: &str, condition: &str) -> (Option<i32>, Value, String) {
    let first = ["replay", "samples/sessions/host", "--node", node, "--json"];
    let ran = netreel(&[&first[..], &WIRE, &["--until", condition]].concat());
    let line = ran.out.lines().next().unwrap_or("null");
    (ran.code, serde_json::from_str(line).unwrap(), ran.err)
}

#[test]
fn a_replay_goes_on_to_what_the_node_believes() {
    // A is told of the new owner, and X never is: it hears of the box when it is destroyed.
    for (condition, kind, time_ns) in [
        ("objects[42].owner == B", "received", 486_717_000),
        ("objects[42].owner == 2", "received", 486_717_000),
        (
            "objects[42].owner == B || objects[42].owner == 77",
            "received",
            486_717_000,
        ),
        (
            "objects[42].owner == B && objects[42].counter != 7",
            "none",
            0,
        ),
        // A makes object 40 before 42.
        ("!objects[42] && objects[40]", "input", 3_364_057),
    ] {
        let (code, moved, err) = until("A", condition);
        if kind == "none" {
            assert_eq!(code, Some(2), "{condition}: {moved}");
            assert!(err.contains("fits") || err.contains("never"), "{err}");
            continue;
        }
        assert_eq!(code, Some(0), "{condition}: {err}");
        assert_eq!(moved["at"]["kind"], kind, "{moved}");
        let at: u64 = moved["at"]["time_ns"].as_u64().unwrap();
        assert!(at.abs_diff(time_ns) < 1000, "{moved}");
    }
}

#[test]
fn a_property_is_compared_with_what_the_node_has_of_it() {
    let (code, moved, err) = until("X", "objects[1].position[0] < 14");
    assert_eq!(code, Some(0), "{err}");
    let at = moved["at"]["time_ns"].as_f64().unwrap();
    let value = |at: f64| -> f64 {
        let at = format!("{:.9}s", at / 1e9);
        let arguments = [
            "state",
            "samples/sessions/host",
            "--node",
            "X",
            "--object",
            "1",
        ];
        let more = ["--at", &at, "--json"];
        let ran = netreel(&[&arguments[..], &WIRE, &more].concat()).expect(0);
        let answer: Value = serde_json::from_str(&ran.out).unwrap();
        let properties = answer["objects"][0]["properties"]
            .as_array()
            .unwrap()
            .clone();
        let position = properties
            .into_iter()
            .find(|it| it["property"] == "position");
        position.unwrap()["nodes"][0]["value"][0].as_f64().unwrap()
    };
    assert!(value(at) < 14.0 && value(at - 1000.0) >= 14.0);
}

#[test]
fn a_belief_stops_where_it_begins_and_beside_a_filter_at_each_packet() {
    let folder = session();
    let script = "break objects[42]\ncontinue\ncontinue\n";
    let alone = answers(folder.path(), &WIRE, script);
    assert_eq!(alone[2]["stop"], "reached");
    assert_eq!(alone[2]["at"]["kind"], "received");
    assert_eq!(alone[3]["stop"], "end");
    let script = "delete 1\nbreak objects[42] && kind == update\ncontinue\ncontinue\n";
    let beside = answers(folder.path(), &WIRE, script);
    let position = |it: &Value| it["position"].as_u64().unwrap();
    assert!(position(&alone[2]) < position(&beside[3]));
    assert!(position(&beside[3]) < position(&beside[4]));
    assert_eq!(beside[4]["stop"], "reached");
}

#[test]
fn what_a_node_can_never_believe_is_refused_and_said() {
    for (condition, said) in [
        (
            "objects[4242]",
            "no message of this session is about object 4242",
        ),
        (
            "objects[42].owner == Q",
            "neither a peer's number nor one of the nodes: HOST, A, B, X",
        ),
        (
            "objects[42].speed > 3",
            "an object has no `speed`; there are owner, counter, position",
        ),
        ("objects[1].health > 3", "never knew a `health` of object 1"),
        (
            "objects[1].position > 3",
            "`position` has 3 parts; write `objects[1].position[0]`",
        ),
        (
            "objects[1].position[3] > 3",
            "`position` has 3 parts, from 0 on",
        ),
        ("objects[0].name > 3", "`name` is no number"),
        (
            "objects[1].color == red",
            "`color` is a number, and `red` is none",
        ),
    ] {
        let (code, _, err) = until("X", condition);
        assert_eq!(code, Some(2), "{condition}");
        assert!(err.contains(said), "{condition}: {err}");
    }
}

#[test]
fn what_stands_behind_a_command_that_takes_nothing_is_said() {
    let folder = session();
    let script = "c x\nshow 5\nback continue 3\nwhere now\nquit now\nobjects 4\nbreaks 1\n";
    let answers = answers(folder.path(), &[], script);
    assert_eq!(answers.len(), 8, "nothing was done: {answers:?}");
    for (answer, said) in answers[1..]
        .iter()
        .zip(["x", "5", "3", "now", "now", "4", "1"])
    {
        let error = answer["error"].as_str().unwrap();
        assert!(
            error.contains(&format!("what to do with `{said}`")),
            "{error}"
        );
    }
}

#[test]
fn who_goes_behind_the_end_is_told() {
    let folder = session();
    let ran = step(folder.path(), &[], "goto 99999\n").expect(0);
    let said = "there is no event 99999: the last one is 691";
    assert!(ran.out.contains(said), "{}", ran.out);
    let answers = answers(folder.path(), &[], "goto 99999\ngoto 100\n");
    assert_eq!(answers[1]["beyond"], said);
    assert_eq!(answers[2].get("beyond"), None);
}

#[test]
fn a_packet_of_which_nothing_is_known_has_no_colon_behind_it() {
    let folder = session();
    let ran = step(folder.path(), &[], "packet 40\npacket 40\n").expect(0);
    let all: Vec<&str> = ran
        .out
        .lines()
        .filter(|it| it.contains("  packet "))
        .collect();
    assert!(!all.is_empty(), "{}", ran.out);
    assert!(all.iter().all(|it| !it.ends_with(':')), "{}", ran.out);
}

#[test]
fn a_replay_from_a_time_is_exact_from_the_snapshot_before_it() {
    let folder = tempfile::tempdir().unwrap();
    demo("host", 7, folder.path()).expect(0);
    let path = folder.path().to_str().unwrap();
    let shown = netreel(&["events", path, "--node", "X", "--json"]).expect(0);
    let lines = shown
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let snapshots: Vec<Value> = lines.filter(|it| it["kind"] == "snapshot").collect();
    let at = |it: &Value| it["time_ns"].as_f64().unwrap();
    let from = format!("{:.6}s", at(&snapshots[0]) / 1e9 + 0.1);
    let first = ["replay", path, "--node", "X", "--from", &from];
    let ran = netreel(&[&first[..], &["--json"]].concat()).expect(0);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&object["result"], &object["node"]),
        (&"exact".into(), &"X".into())
    );
    assert_eq!(object["from"], snapshots[0]["event"]);
    assert_eq!(object["divergence"], Value::Null);
    let told = netreel(&first).expect(0).out;
    let said = format!("X: exact from event {} to event ", snapshots[0]["event"]);
    let both = format!(
        "; --from is event {}, and the last state before it is a snapshot\n",
        object["asked"]
    );
    assert!(object["asked"].as_u64() > object["from"].as_u64());
    assert!(told.contains(&said) && told.ends_with(&both), "{told}");
}
