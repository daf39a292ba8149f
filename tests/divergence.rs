//! What a divergence is told with: the last events that agreed, and the build.

mod support;

use std::path::Path;

use netreel_capture::open;
use netreel_reel::{Event, OwnedRecord, Record, ReelWriter};
use support::netreel;

const SESSION: &str = "samples/sessions/host";

#[test]
fn the_last_events_that_agreed_are_told() {
    let arguments = ["replay", SESSION, "--node", "X"];
    let changed = ["--tune", "resend_delay_ns=20000000"];
    let asked = [&arguments[..], &changed].concat();
    let told = netreel(&[&asked[..], &["--json"]].concat())
        .expect(1)
        .json();
    let divergence = &told["divergence"];
    let agreed = divergence["agreed"].as_array().expect("events");
    let numbers: Vec<u64> = agreed
        .iter()
        .map(|it| it["event"].as_u64().expect("a number"))
        .collect();
    assert_eq!(numbers.len(), 3);
    assert!(numbers.is_sorted());
    assert!(numbers[2] < divergence["event"].as_u64().expect("a number"));
    let events = netreel(&["events", SESSION, "--node", "X"]).expect(0).out;
    let kinds = ["tick", "call", "clock", "packet", "receive", "draw"];
    for it in agreed {
        let what = it["what"].as_str().expect("words");
        assert!(kinds.iter().any(|kind| what.contains(kind)), "{what}");
        let number = format!("{} ", it["event"]);
        assert!(
            events
                .lines()
                .any(|it| it.trim_start().starts_with(&number))
        );
    }
    let shown = netreel(&asked).expect(1).out;
    let lines: Vec<String> = agreed
        .iter()
        .map(|it| {
            let what = it["what"].as_str().expect("words");
            format!("    agreed    event {}: {what}", it["event"])
        })
        .collect();
    assert!(shown.contains(&lines.join("\n")), "{shown}");
    // Whoever changes something knows why it is another one.
    assert!(!shown.contains("another build"), "{shown}");
}

/// What a replay of X says of what was changed, in words and as JSON.
fn of_changes(reel: &str, changes: &[&str]) -> (String, serde_json::Value) {
    let asked = [&["replay", reel, "--node", "X"], changes].concat();
    let shown = netreel(&asked).expect(1).out;
    let lines = shown
        .lines()
        .filter(|line| line.contains("because changed setting"));
    let json = netreel(&[&asked[..], &["--json"]].concat())
        .expect(1)
        .json();
    let lines: Vec<&str> = lines.map(str::trim).collect();
    (lines.join("\n"), json["divergence"].clone())
}

#[test]
fn a_changed_setting_is_the_likely_cause_of_a_divergence() {
    let (line, told) = of_changes(SESSION, &["--tune", "resend_delay_ns=20000000"]);
    let recorded = &told["changed"][0]["recorded"];
    let recorded = recorded.as_str().expect("a number in words");
    assert_eq!(
        line,
        format!(
            "likely because changed setting resend_delay_ns = 20000000 (recorded: {recorded}); with \
             nothing changed it is exact"
        )
    );
    let name = "resend_delay_ns";
    let changed = serde_json::json!([{ "name": name, "recorded": recorded, "now": "20000000" }]);
    assert_eq!(told["changed"], changed);
    assert_eq!(told["unchanged"], "exact");
    assert!(told["cause"].is_string(), "{told}");
    // Two of them, of which one is as recorded.
    let same = format!("resend_delay_ns={recorded}");
    let (line, _) = of_changes(SESSION, &["--tune", &same, "--set", "mode=owner"]);
    assert!(
        line.starts_with("likely because changed setting mode = owner (recorded: host); with"),
        "{line}"
    );
}

#[test]
fn a_changed_setting_is_not_blamed_where_it_is_the_same_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let reel = altered(folder.path(), "");
    // It shows nowhere before the packet that was altered.
    let (line, told) = of_changes(&reel, &["--set", "time_outs=true"]);
    assert_eq!(
        line,
        "not because changed setting time_outs = true (recorded: false): with nothing changed it \
         diverges as well"
    );
    assert_eq!(told["unchanged"], "diverges as well");
}

#[test]
fn who_steps_with_a_changed_setting_is_told_it_as_well() {
    let script = "continue\n";
    let asked = [
        "replay",
        SESSION,
        "--node",
        "X",
        "--step",
        "--no-index",
        "--set",
        "mode=owner",
    ];
    let mut child = support::command()
        .args(asked)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the command");
    let mut input = child.stdin.take().expect("its input");
    std::io::Write::write_all(&mut input, script.as_bytes()).expect("a pipe");
    drop(input);
    let said = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let told = "likely because changed setting mode = owner (recorded: host)\n";
    assert!(said.contains(told), "{said}");
}

/// A copy of X's reel in which a packet says something else, recorded with this build.
fn altered(folder: &Path, build: &str) -> String {
    let opened = open(Path::new(SESSION).join("X.reel")).expect("a reel");
    let mut header = opened.header().clone();
    header.build = build.to_owned();
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a small header");
    let mut sends = 0;
    opened.for_each(|record| {
        let mut copy = OwnedRecord::copy_of(record);
        if let Event::Sent {
            socket,
            to,
            payload,
        } = record.event
        {
            sends += 1;
            let mut other = payload.to_vec();
            other[0] ^= u8::from(sends == 9);
            let payload = other.as_slice();
            let event = Event::Sent {
                socket,
                to,
                payload,
            };
            copy = OwnedRecord::copy_of(&Record { event, ..*record });
        }
        writer.push(&copy.as_record()).expect("memory");
    });
    let path = folder.join("X.reel");
    std::fs::write(&path, writer.finish().expect("memory")).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn another_build_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = format!("netreel {}", env!("CARGO_PKG_VERSION"));
    for (build, is_told) in [("netreel 0.0.1", true), ("", false), (&own, false)] {
        let reel = altered(folder.path(), build);
        let shown = netreel(&["replay", &reel]).expect(1).out;
        let told = format!("recorded with another build: {build}, and this is {own}");
        assert_eq!(shown.contains(&told), is_told, "{shown}");
        assert!(shown.contains("likely because"), "{shown}");
        let json = netreel(&["replay", &reel, "--json"]).expect(1).json();
        let other = &json["divergence"]["other_build"]["recorded"];
        assert_eq!(other.as_str(), is_told.then_some(build), "{json}");
    }
}
