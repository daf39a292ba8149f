//! `netreel redact`: copies that may leave the house.

mod support;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use netreel_capture::pcap::UdpPayloads;
use netreel_reel::{
    Ending, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId, ThreadId, Time,
    WireText,
};
use netreel_wire::{Connections, Value, Wire};
use serde_json::Value as Json;
use support::programs::{Bench, records, text};
use support::{Ran, ended, netreel};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Puts one event into a reel, by its number and its time in ns.
fn push(writer: &mut ReelWriter<Vec<u8>>, (number, time): (u64, u64), event: Event<'_>) {
    let record = Record {
        number: EventNumber(number),
        time: Time(time),
        thread: ThreadId(0),
        event,
    };
    writer.push(&record).expect("an event");
}

/// Redacts into a folder `out` of `folder`.
fn redact(from: &str, folder: &Path, options: &[&str]) -> (Ran, PathBuf) {
    let out = folder.join("out");
    let arguments = [&["redact", from, "--out", path(&out)], options].concat();
    (netreel(&arguments), out)
}

fn findings(of: &str) -> Json {
    let ran = netreel(&["check", of, "--json"]);
    let mut json = ran.json();
    json["findings"].take()
}

fn contains(folder: &Path, what: &[u8]) -> bool {
    let entries = std::fs::read_dir(folder).expect("the folder");
    entries.into_iter().any(|entry| {
        let bytes = std::fs::read(entry.expect("a file").path()).expect("its bytes");
        bytes.windows(what.len()).any(|window| window == what)
    })
}

/// All strings of a session's packets at fields that are called so.
fn texts(of: &str, name: &str) -> Vec<String> {
    let ran = netreel(&["show", of, "--filter", "length > 0", "--json"]).expect(0);
    let mut texts = Vec::new();
    for line in ran.out.lines() {
        let packet: Json = serde_json::from_str(line).expect("JSON");
        for field in packet["fields"].as_array().expect("fields") {
            let path = field["path"].as_str().expect("a path");
            if path.ends_with(name) {
                texts.extend(field["value"].as_str().map(str::to_owned));
            }
        }
    }
    texts
}

#[test]
fn a_session_with_blanked_names_has_the_same_findings() {
    for mode in ["host", "owner"] {
        let from = format!("{ROOT}/samples/sessions/{mode}");
        let folder = tempfile::tempdir().expect("a folder");
        let options = ["--blank", "name", "--blank", "string", "--json"];
        let (ran, out) = redact(&from, folder.path(), &options);
        let report = ran.expect(0).json();
        assert!(report["blanked"]["name"].as_u64() > Some(0), "{report}");
        assert_eq!(findings(path(&out)), findings(&from), "{mode}");
        let before = texts(&from, ".name");
        let after = texts(path(&out), ".name");
        assert!(
            before.iter().any(|text| text.contains(|c| c != 'x')),
            "{before:?}"
        );
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(*after, "x".repeat(before.len()));
        }
        for reel in report["reels"].as_array().expect("reels") {
            assert_eq!(reel["held_back"], Json::Array(Vec::new()), "{reel}");
        }
    }
}

#[test]
fn by_default_the_game_s_calls_go_and_a_replay_says_so() {
    let from = format!("{ROOT}/samples/sessions/host");
    let folder = tempfile::tempdir().expect("a folder");
    let (ran, out) = redact(&from, folder.path(), &[]);
    let ran = ran.expect(0);
    assert!(ran.out.contains("calls of the game"), "{}", ran.out);
    let replay = netreel(&["replay", path(&out)]).expect(2);
    assert!(
        replay.err.contains("it is a redacted copy"),
        "{}",
        replay.err
    );
}

#[test]
fn what_the_layer_was_given_can_be_kept_and_replays_exactly() {
    let from = format!("{ROOT}/samples/sessions/host");
    let folder = tempfile::tempdir().expect("a folder");
    let options = ["--inputs", "keep", "--start", "keep", "--random", "keep"];
    let (ran, out) = redact(&from, folder.path(), &options);
    ran.expect(0);
    let replay = netreel(&["replay", path(&out)]).expect(0);
    assert_eq!(replay.out.matches(": exact:").count(), 4, "{}", replay.out);
}

#[test]
fn a_field_that_no_wire_has_is_refused_before_anything_is_written() {
    let from = format!("{ROOT}/samples/sessions/host");
    let folder = tempfile::tempdir().expect("a folder");
    let (ran, out) = redact(&from, folder.path(), &["--blank", "chat.texd"]);
    let ran = ran.expect(2);
    assert!(
        ran.err.contains("the wire has no field `chat.texd`"),
        "{}",
        ran.err
    );
    assert!(!out.exists());
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let from = format!("{ROOT}/samples/sessions/host");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("out")).expect("a folder");
    std::fs::write(folder.path().join("out/mine"), "mine").expect("a file");
    let (ran, _) = redact(&from, folder.path(), &[]);
    assert!(ran.expect(2).err.contains("it is not empty"));
}

/// A reel of what passed an observer, as a capture has it, with the machine's own address made one
/// of a house.
fn observed(folder: &Path, recording: &str, wire: &str) -> PathBuf {
    let recording = format!("{ROOT}/protocol/wire/tests/recordings/{recording}");
    let file = File::open(&recording).expect("the recording");
    let text = std::fs::read_to_string(format!("{ROOT}/samples/wires/{wire}")).expect("the wire");
    let header = Header {
        node: "observer".to_owned(),
        engine: "observer".to_owned(),
        wires: vec![WireText {
            name: wire.to_owned(),
            text,
        }],
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    for (number, udp) in UdpPayloads::new(file).expect("a capture").enumerate() {
        let at = |mut end: netreel_reel::Endpoint| {
            end.set_ip([192, 168, 77, 5].into());
            end
        };
        let event = Event::Seen {
            from: at(udp.source),
            to: at(udp.destination),
            payload: &udp.payload,
        };
        push(&mut writer, (number as u64, udp.time), event);
    }
    let path = folder.join("observer.reel");
    std::fs::write(&path, writer.finish().expect("its bytes")).expect("a file");
    path
}

/// Every packet of an observer's reel as JSON, and the values of the fields that are called so.
fn packets(reel: &Path, name: &str) -> (Vec<Json>, Vec<Value>) {
    let reel = netreel_capture::open(reel).expect("the reel");
    let wire = &reel.header().wires[0];
    let wire = Wire::compile(&wire.name, &wire.text).expect("the wire");
    let mut connections = Connections::new(&wire);
    let (mut packets, mut values) = (Vec::new(), Vec::new());
    reel.for_each(|record| {
        let Event::Seen { from, to, payload } = record.event else {
            return;
        };
        let decoded = connections.decode(from, to, payload);
        let ends = |node: &netreel_wire::TreeNode<'_>| {
            let path = decoded.tree.path(node.id());
            let annotation = name.strip_prefix('@');
            path.rsplit('.').next() == Some(name)
                || annotation.is_some() && node.annotation() == annotation
        };
        let found = decoded.tree.iter().filter(ends);
        values.extend(found.map(|node| node.value()));
        packets.push(decoded.to_json());
    });
    (packets, values)
}

/// Maps the addresses of a recording: its packets stay what they are.
fn check_mapped(recording: &str, wire: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let reel = observed(folder.path(), recording, wire);
    let (ran, out) = redact(path(&reel), folder.path(), &["--json"]);
    let report = ran.expect(0).json();
    assert_eq!(report["addresses"], 1, "{report}");
    assert!(!contains(&out, &[192, 168, 77, 5]));
    let (before, _) = packets(&reel, "");
    let (after, _) = packets(&out.join("observer.reel"), "");
    assert_eq!(before, after);
}

#[test]
fn packets_of_other_engines_keep_what_they_say() {
    check_mapped("raknet.pcap", "raknet.wire");
    check_mapped("enet.pcap", "enet.wire");
    check_mapped("quake3.pcap", "quake3.wire");
    check_mapped("minetest.pcap", "minetest.wire");
}

/// Blanks a field of a recording: nothing that it said is left. Of this many packets no more than the
/// length is left, because what the field said stands in another one too.
fn check_blanked(recording: &str, wire: &str, field: &str, held_back: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let reel = observed(folder.path(), recording, wire);
    let (ran, out) = redact(path(&reel), folder.path(), &["--blank", field, "--json"]);
    let report = ran.expect(0).json();
    let held = report["reels"][0]["held_back"].as_array().expect("a list");
    assert_eq!(held.len(), held_back, "{report}");
    let wire = std::fs::read_to_string(format!("{ROOT}/samples/wires/{wire}")).expect("the wire");
    assert!(report["blanked"][field].as_u64() > Some(0), "{report}");
    let (before, said) = packets(&reel, field);
    let (after, left) = packets(&out.join("observer.reel"), field);
    assert_eq!(before.len(), after.len());
    for value in left {
        if let Value::Text(text) = value {
            assert!(text.bytes().all(|byte| matches!(byte, b'x' | 0)), "{text}");
        }
    }
    for value in said {
        if let Value::Text(text) = value
            && text.len() >= 6
            // The reel carries the wire, which has words of its own.
            && !wire.contains(&text)
        {
            assert!(!contains(&out, text.as_bytes()), "{text}");
        }
    }
}

#[test]
fn fields_of_other_engines_are_blanked_through_state_and_layers() {
    check_blanked("minetest.pcap", "minetest.wire", "name", 2);
    check_blanked("teeworlds07.pcap", "teeworlds07.wire", "name", 1);
    check_blanked("quake3.pcap", "quake3.wire", "@rpc_name", 0);
}

#[test]
fn what_a_blanked_field_said_may_be_kept_elsewhere_in_its_packet() {
    let folder = tempfile::tempdir().expect("a folder");
    let reel = observed(folder.path(), "teeworlds07.pcap", "teeworlds07.wire");
    let options = ["--blank", "name", "--doubtful", "keep", "--json"];
    let (ran, out) = redact(path(&reel), folder.path(), &options);
    let report = ran.expect(0).json();
    let held = report["reels"][0]["held_back"].as_array().expect("a list");
    assert_eq!(held.len(), 1, "{report}");
    assert_eq!(held[0]["kept"], true, "{report}");
    let (_, left) = packets(&out.join("observer.reel"), "name");
    for value in left {
        let Value::Text(text) = value else { continue };
        assert!(text.bytes().all(|byte| matches!(byte, b'x' | 0)), "{text}");
    }
}

#[test]
fn a_reel_with_a_secret_everywhere_has_it_nowhere_in_the_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = "Grandmother's recipe";
    let header = Header {
        node: "A".to_owned(),
        args: vec![secret.to_owned()],
        start: secret.as_bytes().to_vec(),
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    let to = "203.0.113.9:7000".parse().expect("an endpoint");
    let socket = SocketId(0);
    let payload = secret.as_bytes();
    let events = [
        Event::Sent {
            socket,
            to,
            payload,
        },
        Event::Note { text: payload },
        Event::Input { call: payload },
        Event::Snapshot { state: payload },
    ];
    for (number, event) in (0..).zip(events) {
        push(&mut writer, (number, number), event);
    }
    let reel = folder.path().join("A.reel");
    std::fs::write(&reel, writer.finish().expect("its bytes")).expect("a file");
    let options = ["--remove", secret, "--key", "k"];
    let (ran, out) = redact(path(&reel), folder.path(), &options);
    let ran = ran.expect(0);
    assert!(ran.out.contains("event 0 held back"), "{}", ran.out);
    for left in [payload, b"Grandmother", b"203.0.113.9", &[203, 0, 113, 9]] {
        assert!(!contains(&out, left), "{left:?}");
    }
    let copy = Reel::from_bytes(std::fs::read(out.join("A.reel")).expect("bytes")).expect("a reel");
    assert_eq!(copy.len(), 4);
    let redacted = copy.header().redacted.as_ref().expect("a word of it");
    assert!(!redacted.replayable);
}

#[test]
fn the_last_lines_agree_with_what_was_held_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).expect("a reel");
    let (from, to) = (
        "10.0.0.1:9".parse().expect("an address"),
        "10.0.0.2:9".parse().expect("an address"),
    );
    for (number, payload) in [(0, &b"hello"[..]), (1, b"a secret")] {
        let event = Event::Seen { from, to, payload };
        push(&mut writer, (number, number), event);
    }
    let reel = folder.path().join("seen.reel");
    std::fs::write(&reel, writer.finish().expect("a reel")).expect("a file");
    let (ran, _) = redact(path(&reel), folder.path(), &["--remove", "secret"]);
    let out = ran.expect(0).out;
    assert!(out.contains("event 1 held back"), "{out}");
    assert!(
        out.contains("kept with all that they say but for 1 packet held back"),
        "{out}"
    );
    assert!(
        out.contains("searched for as text and in binary form"),
        "{out}"
    );
    assert!(
        out.contains("bytes inside packets that nobody named were kept"),
        "{out}"
    );
}

/// Redacts what lacks its beginning: the copies lack the same, and have nothing else than the rest.
fn check_lacking(from: &Path, folder: &Path) {
    let options = ["--loopback", "--ports", "--json"];
    let (ran, out) = redact(path(from), folder, &options);
    let report = ran.expect(0).json();
    let (old, new) = (opened(from), opened(&out));
    assert_eq!(old.len(), new.len());
    for ((old, new), told) in old
        .iter()
        .zip(&new)
        .zip(report["reels"].as_array().unwrap())
    {
        assert!(old.first_number() > EventNumber(0), "its beginning is gone");
        assert_eq!(old.first_number(), new.first_number());
        let parts = |reel: &Reel| {
            let parts = reel.parts().iter().map(|it| &it.part);
            parts
                .map(|part| (part.number, part.first, part.on))
                .collect::<Vec<_>>()
        };
        assert_eq!(parts(old), parts(new));
        assert_eq!(
            told["files"].as_array().map(Vec::len),
            Some(new.parts().len())
        );
        assert_eq!(old.missing_parts(), new.missing_parts());
        assert_eq!(old.gaps(), new.gaps());
        assert_eq!(
            old.ending() == &Ending::Clean,
            new.ending() == &Ending::Clean
        );
        let (before, after) = (records(old), records(new));
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            let (before, after) = (before.as_record(), after.as_record());
            assert_eq!(
                (
                    before.number,
                    before.time,
                    before.thread,
                    before.event.kind()
                ),
                (after.number, after.time, after.thread, after.event.kind())
            );
        }
        let (old, new) = (old.endpoints(), new.endpoints());
        assert!(!old.is_empty() && old.len() == new.len());
        assert!(
            new.iter().all(|(_, local)| !local.ip().is_loopback()),
            "{new:?}"
        );
    }
    let info = |of: &str| {
        let mut info = netreel(&["info", of, "--json"]).expect(0).json();
        info["warnings"].take();
        for node in info["nodes"].as_array_mut().expect("nodes") {
            node["endpoints"].take();
        }
        info
    };
    assert_eq!(info(path(from)), info(path(&out)));
}

fn opened(folder: &Path) -> Vec<std::sync::Arc<Reel>> {
    let session = netreel_capture::open_session(&[folder]).expect("a session");
    assert!(session.failed.is_empty(), "{:?}", session.failed);
    session
        .reels
        .into_iter()
        .map(|opened| opened.reel)
        .collect()
}

#[test]
fn a_window_of_ring_mode_is_redacted_as_it_is() {
    let bench = Bench::new();
    let program = bench.compile("ticks");
    let out = bench.out();
    let arguments = [
        "record",
        "--out",
        text(&out),
        "--ring",
        "0.5",
        "--",
        text(&program),
    ];
    let mut child = support::command()
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the command starts");
    let names = |is: &dyn Fn(&str) -> bool| {
        let entries = std::fs::read_dir(&out).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| is(name)).collect::<Vec<_>>()
    };
    let wait_until = |what: &str, done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            let limit = Duration::from_secs(180);
            assert!(begun.elapsed() < limit, "waited too long for {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    // `ticks.PID.NUMBER.reel` is a later file, `ticks.PID.reel` the first.
    let reels = || names(&|name| name.ends_with(".reel"));
    wait_until("the window to move on", &|| {
        let reels = reels();
        !reels.is_empty() && reels.iter().all(|name| name.split('.').count() == 4)
    });
    let pid = i32::try_from(child.id()).expect("a process id");
    let windows = || names(&|name| name.starts_with("window-"));
    // SAFETY: sends a signal to the child, which has not been waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGUSR1) }, 0);
    wait_until("the window", &|| !windows().is_empty());
    // SAFETY: as above.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    ended(&mut child);
    let window = out.join(&windows()[0]);
    check_lacking(&window, &bench.at("redacted"));
    // A file of it alone.
    let mut files: Vec<_> = std::fs::read_dir(&window)
        .expect("the window")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let one = bench.at("one");
    std::fs::create_dir(&one).expect("a folder");
    std::fs::copy(&files[1], one.join(files[1].file_name().expect("a name"))).expect("a copy");
    check_lacking(&one, &bench.at("one-redacted"));
}

#[test]
fn a_recording_that_deleted_its_oldest_files_is_redacted_as_it_is() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let flags = ["--keep-size", "128k"];
    bench.record(&flags, &[text(&program), "5000"]).expect(0);
    check_lacking(&bench.out(), &bench.at("redacted"));
}

/// Two nodes, and packets from the first to the second.
fn sent_and_received(folder: &Path, wire: &str, packets: &[Vec<u8>]) {
    let text = std::fs::read_to_string(format!("{ROOT}/samples/wires/{wire}")).expect("the wire");
    let ends = ["127.0.0.1:7000", "127.0.0.1:7001"].map(|end| end.parse().expect("an endpoint"));
    for (place, node) in ["HOST", "A"].into_iter().enumerate() {
        let header = Header {
            node: node.to_owned(),
            session: [1; 16],
            wires: vec![WireText {
                name: wire.to_owned(),
                text: text.clone(),
            }],
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
        let socket = SocketId(0);
        let mut push = |number: u64, event| {
            let time = 1_000_000 * (2 * number + place as u64);
            push(&mut writer, (number, time), event);
        };
        let local = ends[place];
        push(0, Event::SocketOpened { socket, local });
        for (number, payload) in (1..).zip(packets) {
            let (from, to) = (ends[0], ends[1]);
            push(
                number,
                match place {
                    0 => Event::Sent {
                        socket,
                        to,
                        payload,
                    },
                    _ => Event::Received {
                        socket,
                        from,
                        payload,
                    },
                },
            );
        }
        let bytes = writer.finish().expect("its bytes");
        std::fs::write(folder.join(format!("{node}.reel")), bytes).expect("a file");
    }
}

/// A packet of boxes for each piece of a message.
fn boxes_fragments(wire: &Wire, message: &[u8], pieces: usize, first: u64) -> Vec<Vec<u8>> {
    let chunks = message.chunks(message.len().div_ceil(pieces));
    let packet = |(index, data): (u64, &[u8])| {
        let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
        let json = serde_json::json!({ "packet": {
            "mode": "host", "has_ack": 0, "cure": 0, "sender": 0, "sequence": first + index,
            "count": 1, "messages": [{
                "kind": "fragment", "reliable": 1, "origin": 0, "reliable_sequence": first + index,
                "fragment": { "index": index, "total": pieces, "length": data.len(), "data": hex },
            }],
        } });
        wire.encode(&json).expect("a packet").bytes
    };
    (0..).zip(chunks).map(packet).collect()
}

/// The strings inside messages that came in fragments.
fn joined_strings(of: &Path) -> Vec<String> {
    let ran = netreel(&["show", path(of), "--filter", "length > 0", "--json"]).expect(0);
    let mut strings = Vec::new();
    for line in ran.out.lines() {
        let packet: Json = serde_json::from_str(line).expect("JSON");
        for message in packet["joined"].as_array().into_iter().flatten() {
            for field in message.as_array().expect("fields") {
                if field["path"]
                    .as_str()
                    .is_some_and(|it| it.ends_with(".string"))
                {
                    strings.extend(field["value"].as_str().map(str::to_owned));
                }
            }
        }
    }
    strings.dedup();
    strings
}

#[test]
fn a_field_of_a_message_in_fragments_is_blanked_in_all_of_them() {
    let file = format!("{ROOT}/samples/wires/boxes.wire");
    let text = std::fs::read_to_string(&file).expect("the wire");
    let wire = Wire::compile("boxes.wire", &text).expect("the wire");
    let said = |text: &str, sequence: u64| {
        let json = serde_json::json!({ "packet": {
            "kind": "rpc", "reliable": 1, "origin": 0, "reliable_sequence": sequence,
            "rpc": { "name": "say", "count": 2, "arguments": [
                { "type": "string", "string": text }, { "type": "int", "int": 7 },
            ] },
        } });
        wire.encode_message(&json).expect("a message").bytes
    };
    let secret = "Grandmother's recipe, which nobody else may know";
    let whole = boxes_fragments(&wire, &said(secret, 3), 3, 1);
    // Of the second message the last part never comes.
    let other = "Grandfather's recipe, which is not to be known either";
    let mut cut = boxes_fragments(&wire, &said(other, 6), 3, 4);
    cut.pop();
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("in");
    std::fs::create_dir(&from).expect("a folder");
    sent_and_received(&from, "boxes.wire", &[whole, cut].concat());
    assert_eq!(joined_strings(&from), [secret]);
    let (ran, out) = redact(path(&from), folder.path(), &["--blank", "string", "--json"]);
    let report = ran.expect(0).json();
    let left = joined_strings(&out);
    assert_eq!(left, ["x".repeat(secret.len())], "{report}");
    assert_eq!(report["blanked"]["string"], 1, "{report}");
    for reel in report["reels"].as_array().expect("reels") {
        let held = reel["held_back"].as_array().expect("a list");
        let events: Vec<_> = held.iter().map(|held| held["event"].clone()).collect();
        assert_eq!(events, [4, 5], "{report}");
        let why = held[0]["why"].as_str().expect("a reason");
        assert!(why.contains("other parts are missing"), "{why}");
    }
    // It stands between bits, so it is looked for shifted by each number of them.
    let window = &secret.as_bytes()[12..21];
    let shifted = |shift: u32| {
        let number = window
            .iter()
            .rev()
            .fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        (number << shift).to_le_bytes()[1..9].to_vec()
    };
    assert!((0..8).any(|shift| contains(&from, &shifted(shift))));
    assert!(!(0..8).any(|shift| contains(&out, &shifted(shift))));
}

#[test]
fn fragments_of_what_the_wire_does_not_explain_are_held_back_or_kept_as_asked() {
    let file = format!("{ROOT}/samples/wires/boxes.wire");
    let text = std::fs::read_to_string(&file).expect("the wire");
    let wire = Wire::compile("boxes.wire", &text).expect("the wire");
    let json = serde_json::json!({ "packet": {
        "kind": "rpc", "reliable": 1, "origin": 0, "reliable_sequence": 3,
        "rpc": { "name": "a secret of somebody", "count": 0, "arguments": [] },
    } });
    let mut message = wire.encode_message(&json).expect("a message").bytes;
    message.extend([0xff; 3]);
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("in");
    std::fs::create_dir(&from).expect("a folder");
    sent_and_received(&from, "boxes.wire", &boxes_fragments(&wire, &message, 3, 1));
    for (doubtful, kept) in [("lengths", false), ("keep", true)] {
        let options = ["--blank", "@rpc_name", "--doubtful", doubtful, "--json"];
        let (ran, _) = redact(path(&from), &folder.path().join(doubtful), &options);
        let report = ran.expect(0).json();
        for reel in report["reels"].as_array().expect("reels") {
            let held = reel["held_back"].as_array().expect("a list");
            assert_eq!(held.len(), 3, "{report}");
            for held in held {
                assert_eq!(held["kept"], kept, "{report}");
                let why = held["why"].as_str().expect("a reason");
                assert!(why.contains("does not explain all of it"), "{why}");
            }
        }
    }
}
