//! The examples: compiled by the system's compiler, recorded, read, replayed.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use netreel_record::{open, open_session};
use netreel_reel::{Ending, Event, EventKind, Reel, SendOutcome, ThreadId};
use support::{C99, CPP11, CPP17, Compiler, checked, file, replay, session};

fn counts(reel: &Reel) -> BTreeMap<EventKind, u64> {
    reel.counts()
}

/// Each packet of `from` by its bytes, and of `to` what it received: all received were sent.
fn check_received_were_sent(from: &Reel, to: &Reel) {
    let mut sent = BTreeMap::new();
    from.for_each(|record| {
        if let Event::Sent { payload, .. } = record.event {
            *sent.entry(payload.to_vec()).or_insert(0i64) += 1;
        }
    });
    let local = from.endpoints()[0].1;
    to.for_each(|record| {
        if let Event::Received { payload, from, .. } = record.event {
            assert_eq!(from, local);
            let left = sent.entry(payload.to_vec()).or_insert(0);
            *left -= 1;
            assert!(*left >= 0, "a packet was received that was not sent");
        }
    });
}

fn check_results(reel: &Reel) {
    let mut open = None;
    reel.for_each(|record| {
        if let Some(of) = open.take() {
            let outcome = SendOutcome::Sent;
            assert_eq!(record.event, Event::SendResult { of, outcome });
        }
        if let Event::Sent { .. } = record.event {
            open = Some(record.number);
        }
        assert_eq!(record.thread, ThreadId(0));
    });
    assert_eq!(open, None);
}

fn open_both(folder: &Path) -> (Reel, Reel) {
    let server = open(folder.join("server.reel")).unwrap();
    let client = open(folder.join("client.reel")).unwrap();
    for reel in [&server, &client] {
        assert_eq!(*reel.ending(), Ending::Clean);
        check_results(reel);
    }
    check_received_were_sent(&server, &client);
    check_received_were_sent(&client, &server);
    assert_eq!(open_session(&[folder]).unwrap().reels.len(), 2);
    (server, client)
}

#[test]
fn a_hand_written_protocol_is_recorded_event_by_event() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = C99.build(&file("examples/udp.c"), folder.path(), &[]) else {
        return;
    };
    session(&program, folder.path());
    let (server, client) = open_both(folder.path());
    assert_eq!(
        (server.header().node.as_str(), client.header().node.as_str()),
        ("server", "client")
    );
    let counts = counts(&client);
    let count = |kind| counts.get(&kind).copied().unwrap_or(0);
    assert_eq!(count(EventKind::SocketOpened), 1);
    assert_eq!(count(EventKind::SocketClosed), 1);
    let ticks = count(EventKind::Tick);
    assert!(ticks >= 120);
    assert_eq!(count(EventKind::Clock), ticks);
    assert_eq!(count(EventKind::Random), ticks);
    assert_eq!(count(EventKind::Sent), ticks);
    assert_eq!(count(EventKind::SendResult), ticks);
    assert_eq!(count(EventKind::Input), ticks.div_ceil(3));
    assert!(count(EventKind::Received) > 0);
    assert_eq!(
        count(EventKind::PollEmpty) + count(EventKind::ReceiveFailed),
        ticks
    );
    let mut calls = Vec::new();
    client.for_each(|record| {
        if let Event::Input { call } = record.event {
            calls.push(call[0] as i8);
        }
    });
    assert_eq!(calls[..4], [-2, 1, -2, 1]);
}

fn check_replays(compiler: Compiler, source: &str, other: &str, libraries: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiler.build(&file(source), folder.path(), libraries) else {
        return;
    };
    session(&program, folder.path());
    open_both(folder.path());
    for node in ["server.reel", "client.reel"] {
        let (exact, said) = replay(&program, &folder.path().join(node), None);
        assert!(exact && said.starts_with("exact: "), "{node}: {said}");
        assert!(!said.contains(" 0 equal sends"), "{node}: {said}");
    }
    let (exact, said) = replay(&program, &folder.path().join("client.reel"), Some(other));
    assert!(!exact, "{said}");
    assert!(said.starts_with("diverged at event "), "{said}");
    assert!(said.contains("; byte "), "{said}");
}

#[test]
fn a_hand_written_protocol_is_replayed_and_another_constant_diverges() {
    check_replays(C99, "examples/udp.c", "6", &[]);
}

#[test]
fn the_c_example_is_the_same_in_cpp() {
    check_replays(CPP11, "examples/udp.c", "6", &[]);
}

#[test]
fn an_unchanged_libenet_is_replayed_and_another_constant_diverges() {
    if support::libenet_is_here() {
        check_replays(C99, "examples/enet.c", "3001", &["-lenet", "-ldl"]);
    }
}

#[test]
fn the_reel_has_as_many_packets_as_libenet_counted() {
    if !support::libenet_is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let libraries = ["-lenet", "-ldl"];
    let source = file("examples/enet.c");
    let program = C99.build(&source, folder.path(), &libraries).unwrap();
    let [server_said, client_said] = session(&program, folder.path());
    let (server, client) = open_both(folder.path());
    for (reel, said) in [(server, server_said), (client, client_said)] {
        let count = |kind| reel.counts().get(&kind).copied().unwrap_or(0);
        let (sent, received) = (count(EventKind::Sent), count(EventKind::Received));
        assert!(sent > 50 && received > 50, "{sent} {received}");
        assert_eq!(said.trim(), format!("{sent} sent, {received} received"));
    }
}

/// The code blocks of the guide, one behind the other.
fn guide() -> String {
    let guide = std::fs::read_to_string(file("../docs/c-api.md")).unwrap();
    let blocks = guide.split("```cpp\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

#[test]
fn the_program_of_the_guide_records_and_replays() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("guide.cpp");
    std::fs::write(&source, guide()).unwrap();
    let Some(program) = CPP17.build(&source, folder.path(), &[]) else {
        return;
    };
    let reel = folder.path().join("player.reel");
    checked(support::run(&program).arg("record").arg(&reel));
    let opened = open(&reel).unwrap();
    assert_eq!(*opened.ending(), Ending::Clean);
    assert_eq!(opened.counts()[&EventKind::Tick], 100);
    let (exact, said) = replay(&program, &reel, None);
    assert!(exact && said.starts_with("exact: "), "{said}");
    // A message that is sent again at once.
    let (exact, said) = replay(&program, &reel, Some("1"));
    assert!(!exact && said.starts_with("diverged at event "), "{said}");
}
