//! The one switch of a layer's time-outs, from the command line.

mod support;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use netreel_reel::{Event, Header};
use netreel_sample_engine::{Call, Mode, Peer, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};
use serde_json::Value;
use support::netreel;
use support::programs::{records, text};
use tempfile::TempDir;

/// A session of ten seconds; `heard`: whether HOST ever hears A. If not, HOST gives A up after a
/// second.
fn session(heard: bool) -> TempDir {
    let script = Script::Boxes { ticks: 100 };
    let mut start = SimWorldStart::new(3, Mode::Owner, Topology::PeerToPeer, script);
    start.tuning.first_word_ns = 1_000_000_000;
    if !heard {
        let deaf = LinkFaults {
            loss: 1.0,
            ..LinkFaults::default()
        };
        start.link_faults.insert((Peer(1), Peer::HOST), deaf);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorders: Vec<(String, MemoryRecorder)> = Vec::new();
    let mut world = SimWorld::wrapped(&start, |node, faults| {
        let header = Header {
            node: node.name.clone(),
            engine: "boxes".to_owned(),
            start: node.start.clone(),
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        recorders.push((node.name.clone(), recorder.clone()));
        Box::new(Recorded::new(faults, recorder.pusher(), node.local))
    })
    .expect("good conditions");
    world.run(600);
    for (node, recorder) in recorders {
        let path = folder.path().join(format!("{node}.reel"));
        std::fs::write(path, recorder.finish()).expect("room on the disk");
    }
    folder
}

fn replay(folder: &Path, more: &[&str]) -> Value {
    let first = ["replay", text(folder), "--node", "HOST", "--json"];
    let ran = netreel(&[&first, more].concat()).expect(0);
    serde_json::from_str(&ran.out).expect("an object")
}

fn step(folder: &Path, script: &str) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["replay", "--no-index", "--node", "HOST", "--step", "--json"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(script.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let lines = String::from_utf8(output.stdout).expect("text");
    let objects = lines.lines().map(serde_json::from_str);
    objects.collect::<Result<_, _>>().expect("objects")
}

#[test]
fn a_replay_without_time_outs_is_exact_and_says_that_they_are_off() {
    let folder = session(true);
    let replayed = replay(folder.path(), &["--time-outs", "off"]);
    assert_eq!(replayed["result"], "exact");
    assert_eq!(replayed["time_outs"], "off");
    assert!(replay(folder.path(), &[]).get("time_outs").is_none());
}

#[test]
fn a_recording_in_which_something_timed_out_is_replayed_with_time_outs() {
    let folder = session(false);
    let replayed = replay(folder.path(), &["--time-outs", "off"]);
    assert_eq!(replayed["result"], "exact");
    assert_eq!(replayed["time_outs"], "on");
    assert!(
        replayed["parts_without_time_outs"]
            .as_u64()
            .expect("an event")
            > 100
    );
}

#[test]
fn who_steps_past_a_time_out_of_the_recording_is_told_and_goes_on_with_time_outs() {
    let folder = session(false);
    let parts = replay(folder.path(), &["--time-outs", "off"])["parts_without_time_outs"].clone();
    let answers = step(folder.path(), "continue\ncontinue\n");
    assert_eq!(answers[0]["time_outs"], "off");
    assert_eq!(
        (&answers[1]["stop"], &answers[1]["position"]),
        (&"reached".into(), &parts)
    );
    let why = answers[1]["time_outs_again"].as_str().expect("a sentence");
    assert!(
        why.contains("something timed out when it was recorded"),
        "{why}"
    );
    assert_eq!(answers[2]["stop"], "end");
    assert_eq!(answers[2]["time_outs"], "on");
}

/// What the prompt prints.
fn said(folder: &Path, script: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["replay", "--no-index", "--node", "HOST", "--step"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(script.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn who_asks_how_the_switch_stands_is_told_in_a_sentence() {
    let folder = session(true);
    let told = said(folder.path(), "time-outs\ntime-outs on\ntime-outs\n");
    for (word, times) in [("off", 1), ("on", 2)] {
        let sentence = format!("the layer's time-outs are {word}, in all of the replay\n");
        assert_eq!(told.matches(&sentence).count(), times, "{told}");
    }
}

#[test]
fn a_switch_that_cannot_stay_off_is_not_said_to_be_off() {
    let folder = session(false);
    let told = said(folder.path(), "time-outs on\ncontinue\ntime-outs off\n");
    let behind = told.rsplit("time-outs off\n").next().expect("an answer");
    assert!(!behind.contains("are off"), "{told}");
    assert!(
        behind.contains("They are on again, in all of the replay"),
        "{told}"
    );
}

#[test]
fn a_switch_that_is_thrown_while_the_nodes_play_is_in_the_reel_and_replayed() {
    let out = tempfile::tempdir().expect("a folder");
    let mut game = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args([
            "demo",
            "--headless",
            "--ring",
            "600",
            "--out",
            text(out.path()),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut keys = game.stdin.take().expect("a pipe");
    keys.write_all(b"ooq").expect("it reads");
    drop(keys);
    let output = game.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.contains("time-outs are on at all nodes"), "{said}");
    assert!(said.contains("time-outs are off at all nodes"), "{said}");
    let session = netreel_capture::open_session(&[out.path()]).expect("reels");
    assert_eq!(session.reels.len(), 4);
    let thrown = [true, false].map(|on| Call::TimeOuts { on }.encode());
    for opened in &session.reels {
        let calls = records(&opened.reel).into_iter().filter(|it| {
            let event = it.as_record().event;
            matches!(event, Event::Input { call } if thrown.iter().any(|it| it == call))
        });
        assert_eq!(calls.count(), 2, "{}", opened.reel.header().node);
    }
    netreel(&["replay", text(out.path())]).expect(0);
}
