//! `netreel check --follow`: what it prints of reels that are recorded at the same time.

mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use netreel_capture::{Options, Pusher, Recorder, open};
use netreel_reel::{Event, OwnedRecord, Reel, Time};
use serde_json::Value;
use support::netreel;

const NODES: [&str; 4] = ["HOST", "A", "B", "X"];

fn sample(mode: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("samples/sessions/{mode}"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn start(arguments: &[&str]) -> Child {
    support::command()
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// The reels of a sample, recorded once more.
struct Again {
    nodes: Vec<(Recorder, Pusher)>,
    /// The place of the node among them, and the event.
    records: Vec<(usize, OwnedRecord)>,
    end: Time,
}

impl Again {
    fn new(mode: &str, folder: &Path) -> Again {
        let (mut nodes, mut records) = (Vec::new(), Vec::new());
        for (place, node) in NODES.into_iter().enumerate() {
            let name = format!("{node}.reel");
            let reel: Reel = open(sample(mode).join(&name)).expect("a sample");
            let path = folder.join(name);
            let options = Options::default();
            let recorder = Recorder::create(&path, reel.header(), options).expect("a recorder");
            let pusher = recorder.pusher().expect("a pusher");
            nodes.push((recorder, pusher));
            reel.for_each(|record| records.push((place, OwnedRecord::copy_of(record))));
        }
        records.sort_by_key(|(node, record)| (record.as_record().time, *node));
        // In each node's own order.
        let mut own: Vec<Vec<OwnedRecord>> = NODES.map(|_| Vec::new()).into();
        for (node, record) in &records {
            own[*node].push(record.clone());
        }
        for own in &mut own {
            own.sort_by_key(|record| std::cmp::Reverse(record.as_record().number));
        }
        for (node, record) in &mut records {
            *record = own[*node].pop().expect("as many");
        }
        let times = records.iter().map(|(_, record)| record.as_record().time);
        let end = times.max().expect("events");
        Again {
            nodes,
            records,
            end,
        }
    }

    /// Records all events.
    fn push(&mut self) {
        for (node, record) in &self.records {
            let record = record.as_record();
            let (_, pusher) = &mut self.nodes[*node];
            let number = pusher.push(record.time, record.event).expect("taken");
            assert_eq!(number, record.number);
        }
        // Until nothing of that is under way any more.
        for (_, pusher) in &mut self.nodes {
            let text = b"it goes on";
            pusher.push(Time(self.end.0 + 3_000_000_000), Event::Note { text });
        }
    }

    fn finish(self) {
        for (recorder, pusher) in self.nodes {
            drop(pusher);
            recorder.finish().expect("an end");
        }
    }
}

/// The findings of a report without their numbers, which are known once all findings are.
fn findings(report: &Value) -> Vec<Value> {
    let findings = report["findings"].as_array().expect("findings");
    let mut findings = findings.clone();
    for finding in &mut findings {
        let finding = finding.as_object_mut().expect("a finding");
        assert!(finding.remove("finding").is_some());
    }
    findings
}

#[test]
fn a_session_that_is_over_is_checked_as_ever() {
    for (mode, code) in [("host", 1), ("owner", 0)] {
        let path = sample(mode);
        let expected = netreel(&["check", text(&path)]).expect(code);
        let followed = netreel(&["check", "--follow", text(&path)]).expect(code);
        let unnumbered = expected
            .out
            .lines()
            .map(|line| match line.split_once("  finding ") {
                Some((line, _)) => format!("{line}\n"),
                None => format!("{line}\n"),
            });
        let unnumbered: String = unnumbered.collect();
        assert_eq!((followed.out, followed.err), (unnumbered, expected.err));
        let expected = netreel(&["check", "--json", text(&path)])
            .expect(code)
            .json();
        let followed = netreel(&["check", "--follow", "--json", text(&path)]).expect(code);
        let lines = followed.out.lines();
        let mut lines: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let last = lines.pop().expect("a conclusion");
        assert_eq!(lines, findings(&expected));
        for field in ["verdict", "reasons", "fail_on", "counts", "warnings"] {
            assert_eq!(last[field], expected[field], "{field}");
        }
    }
}

#[test]
fn a_finding_is_printed_before_the_recording_ends_and_is_there_in_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = start(&["check", "--follow", "--json", text(folder.path())]);
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut lines = lines.map_while(Result::ok);
        lines.try_for_each(|line| sender.send(line))
    });
    let line = || -> Option<Value> {
        let line = receiver.recv_timeout(Duration::from_secs(60)).ok()?;
        Some(serde_json::from_str(&line).expect("JSON"))
    };
    let mut again = Again::new("host", folder.path());
    again.push();
    let Some(first) = line() else {
        child.kill().expect("it runs");
        panic!("no finding");
    };
    assert!(first["rule"].is_string(), "{first}");
    again.finish();
    let mut told = vec![first];
    told.extend(std::iter::from_fn(line));
    let last = told.pop().expect("a conclusion");
    assert_eq!(last["verdict"], "wrong");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let report = netreel(&["check", "--json", text(folder.path())])
        .expect(1)
        .json();
    let findings = findings(&report);
    assert_eq!(told.len(), findings.len());
    assert!(told.iter().all(|finding| findings.contains(finding)));
}

#[test]
fn a_recorder_that_was_killed_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for node in NODES {
        let name = format!("{node}.reel");
        let mut bytes = std::fs::read(sample("host").join(&name)).expect("a sample");
        if node == "X" {
            bytes.truncate(bytes.len() - 9);
        }
        std::fs::write(folder.path().join(name), bytes).expect("a copy");
    }
    let expected = netreel(&["check", text(folder.path())]).expect(1);
    let followed = netreel(&["check", "--follow", text(folder.path())]).expect(1);
    assert!(followed.out.contains("X was cut"), "{}", followed.out);
    let last = |out: &str| out.lines().last().map(str::to_owned);
    assert_eq!(last(&followed.out), last(&expected.out));
}

#[test]
fn what_is_no_reel_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("A.reel");
    std::fs::write(&file, b"nothing of the kind").expect("a file");
    let ran = netreel(&["check", "--follow", text(&file)]).expect(2);
    assert!(ran.err.contains("it is not a reel"), "{}", ran.err);
    let nowhere = folder.path().join("nowhere");
    netreel(&["check", "--follow", text(&nowhere)]).expect(2);
}
