//! `netreel events` and `netreel show --event`, as somebody sees them who follows a number.

mod support;

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use netreel_reel::{
    Believed, CallId, ClockId, Event, EventKind, EventNumber, FaultVerdict, Header, Reel,
    ReelWriter, SendOutcome, SocketId, ThreadId, Time, Trigger, TriggerCause,
};
use serde_json::Value;
use support::netreel;

const HOST: &str = "samples/sessions/host";

fn lines(arguments: &[&str]) -> Vec<Value> {
    let ran = netreel(arguments).expect(0);
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("one object a line"))
        .collect()
}

#[test]
fn every_event_of_a_reel_has_a_line() {
    let bytes = std::fs::read("samples/sessions/host/X.reel").unwrap();
    let count = Reel::from_bytes(bytes).unwrap().len();
    let listed = lines(&["events", HOST, "--node", "X", "--json"]);
    let numbers: Vec<u64> = listed
        .iter()
        .map(|line| line["event"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..count).collect::<Vec<_>>());
}

#[test]
fn the_events_of_a_packet_are_the_same_wherever_they_are_told() {
    let packets = lines(&["packets", HOST, "--json"]);
    let mut checked = 0;
    for (node, way, end) in [("X", "received", "to"), ("A", "sent", "from")] {
        let events = lines(&["events", HOST, "--node", node, "--kind", way, "--json"]);
        for event in events {
            let packet = &packets[event["packet"].as_u64().expect("a packet") as usize];
            assert_eq!(packet[format!("{way}_event")], event["event"]);
            assert_eq!(packet[format!("{way}_ns")], event["time_ns"]);
            assert_eq!(packet[end], node);
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn evidence_of_a_finding_can_be_shown() {
    let check = netreel(&["check", HOST, "--json"]).expect(1).json();
    let evidence = &check["findings"][0]["evidence"][0];
    let (node, event) = (evidence["node"].as_str().unwrap(), &evidence["event"]);
    let shown = netreel(&[
        "show",
        HOST,
        "--node",
        node,
        "--event",
        &event.to_string(),
        "--json",
    ]);
    let shown = shown.expect(0).json();
    assert_eq!(shown["event"], *event);
}

#[test]
fn a_filter_takes_events_of_the_packets_that_fit() {
    let listed = lines(&[
        "events",
        HOST,
        "--node",
        "X",
        "--filter",
        "object == 42",
        "--json",
    ]);
    let fitting = lines(&["packets", HOST, "--filter", "object == 42", "--json"]);
    assert!(!listed.is_empty());
    for event in listed {
        assert!(
            fitting
                .iter()
                .any(|packet| packet["packet"] == event["packet"])
        );
    }
}

#[test]
fn a_call_of_the_sample_engine_has_its_name() {
    let calls = netreel(&["events", HOST, "--node", "A", "--kind", "input"]).expect(0);
    assert!(calls.out.contains("rpc ready() to all"), "{}", calls.out);
}

#[test]
fn one_event_is_shown_to_the_last_bit() {
    let shown = netreel(&["show", HOST, "--node", "X", "--event", "218"]).expect(0);
    assert!(shown.out.contains("@migration") || shown.out.contains("new_owner"));
    let json = netreel(&["show", HOST, "--node", "X", "--event", "218", "--json"]).expect(0);
    let json = json.json();
    assert_eq!(json["bytes"], json["decoded"]["payload"]);
}

#[test]
fn a_number_that_is_not_there_says_which_are() {
    let failed = netreel(&["show", HOST, "--node", "X", "--event", "99999"]).expect(2);
    assert!(
        failed.err.contains("numbered from 0 to 691"),
        "{}",
        failed.err
    );
    let unnamed = netreel(&["show", HOST, "--event", "1"]).expect(2);
    assert!(unnamed.err.contains("HOST, A, B, X"), "{}", unnamed.err);
}

#[test]
fn whoever_closes_the_pipe_has_seen_enough() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["events", HOST])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// One event of each kind.
fn every_kind() -> Vec<Event<'static>> {
    let socket = SocketId(0);
    let [here, there] = ["127.0.0.1:1", "127.0.0.1:2"].map(|end| end.parse().unwrap());
    let of = EventNumber(1);
    let trigger = Trigger {
        cause: TriggerCause::KEY,
        id: 7,
        utc_ns: 0,
        before_ms: 0,
        after_ms: 0,
        from_peer: false,
    };
    vec![
        Event::SocketOpened {
            socket,
            local: here,
        },
        Event::Received {
            socket,
            from: there,
            payload: b"in",
        },
        Event::Sent {
            socket,
            to: there,
            payload: b"out",
        },
        Event::SendResult {
            of: EventNumber(2),
            outcome: SendOutcome::Failed(111),
        },
        Event::PollEmpty { socket },
        Event::ReceiveFailed { socket, code: 11 },
        Event::Clock { value: Time(5) },
        Event::Random { value: u64::MAX },
        Event::Input { call: b"\xff\xff" },
        Event::Tick {
            tick: 1,
            time: Time(1),
        },
        Event::Note {
            text: b"a note\nof two lines",
        },
        Event::Snapshot { state: b"state" },
        Event::Switched { on: false },
        Event::Switched { on: true },
        Event::Dropped { count: 3 },
        Event::Stalled { nanos: 9 },
        Event::ClockRead {
            clock: ClockId::REALTIME,
            value: 3,
        },
        Event::Called {
            call: CallId::SLEEP,
            result: 0,
            details: b"12345678",
        },
        Event::Seen {
            from: here,
            to: there,
            payload: b"",
        },
        Event::Fault {
            of,
            verdict: FaultVerdict::Lost,
        },
        Event::CaptureDrops { count: 1 },
        Event::Triggered { trigger, text: b"" },
        Event::Interface {
            link_type: 1,
            name: b"eth0",
        },
        Event::Cut { of, length: 9 },
        Event::Relay {
            socket,
            listener: socket,
            client: there,
        },
        Event::Believed {
            object: 42,
            believed: Believed::Value {
                said: b"position 1.5 2 3",
            },
        },
        Event::SocketClosed { socket },
        Event::WriteFailed { code: 28 },
    ]
}

fn write_every_kind(path: &Path) {
    let header = Header {
        node: "all".to_owned(),
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
    // Numbers 5 to 9 are missing.
    let numbers = (0..5).chain(10..);
    for (number, event) in numbers.zip(every_kind()) {
        let (number, time) = (EventNumber(number), Time(number * 1000));
        let thread = ThreadId(0);
        writer
            .push(&netreel_reel::Record {
                number,
                time,
                thread,
                event,
            })
            .unwrap();
    }
    std::fs::write(path, writer.finish().unwrap()).unwrap();
}

#[test]
fn every_kind_of_event_is_one_line_and_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.reel");
    write_every_kind(&path);
    let path = path.to_str().unwrap();
    let listed = netreel(&["events", path, "--no-index"]).expect(0).out;
    for kind in EventKind::ALL {
        assert!(listed.contains(kind.name()), "{}: {listed}", kind.name());
    }
    assert!(listed.contains("5 events are not in the reel"), "{listed}");
    let lines = lines(&["events", path, "--no-index", "--json"]);
    assert_eq!(lines.len(), every_kind().len() + 1);
    for line in lines.iter().filter(|line| line["kind"] != "missing") {
        let event = line["event"].to_string();
        let shown = netreel(&["show", path, "--no-index", "--event", &event]).expect(0);
        let kind = line["kind"].as_str().unwrap();
        assert!(shown.out.contains(kind), "{}", shown.out);
    }
}
