//! `netreel packets --follow`: what it prints of reels that are recorded at the same time.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use netreel_capture::{Limits, Options, Pusher, Recorder};
use netreel_reel::{Endpoint, Event, Header, SendOutcome, SocketId, Time};
use serde_json::Value;
use support::netreel;

fn rows(lines: &str) -> Vec<Value> {
    let row = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    lines.lines().map(row).collect()
}

/// When packets were sent and received, as `packets` says it of the whole session.
fn crossings(session: &Path) -> Vec<(String, i64)> {
    let name = session.to_str().expect("UTF-8");
    let packets = rows(&netreel(&["packets", name, "--json"]).expect(0).out);
    let mut crossings = Vec::new();
    for packet in &packets {
        let again = packet["duplicates_ns"].as_array().expect("a list");
        let received = [&packet["received_ns"]].into_iter().chain(again);
        crossings.extend(
            packet["sent_ns"]
                .as_i64()
                .map(|time| ("sent".to_owned(), time)),
        );
        let times = received.filter_map(Value::as_i64);
        crossings.extend(times.map(|time| ("received".to_owned(), time)));
    }
    crossings.sort();
    crossings
}

/// The same of the lines that were printed live.
fn printed(lines: &str) -> Vec<(String, i64)> {
    let crossing = |row: Value| {
        let what = row["what"].as_str().expect("a word").to_owned();
        (what, row["time_ns"].as_i64().expect("a time"))
    };
    let mut printed: Vec<(String, i64)> = rows(lines).into_iter().map(crossing).collect();
    printed.sort();
    printed
}

fn start(arguments: &[&str]) -> Child {
    support::command()
        .args(arguments)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

#[test]
fn a_session_that_is_over_is_printed_whole_and_its_times_are_those_of_packets() {
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host");
    let name = session.to_str().expect("UTF-8");
    let ran = netreel(&["packets", "--follow", "--json", name]).expect(0);
    assert_eq!(ran.err, "");
    let (printed, expected) = (printed(&ran.out), crossings(&session));
    // The first event of the session may be no packet, from which the lines count.
    let shift = expected[0].1 - printed[0].1;
    let shift = |(what, time): &(String, i64)| (what.clone(), time + shift);
    assert_eq!(printed.len(), 1146);
    let mut shifted: Vec<(String, i64)> = printed.iter().map(shift).collect();
    shifted.sort();
    assert_eq!(shifted, expected);
    let rows = rows(&ran.out);
    let migrate = rows.iter().find(|row| {
        row["kinds"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|kind| kind == "migrate"))
    });
    assert_eq!(
        migrate.map(|row| (&row["node"], &row["what"])),
        Some((&"HOST".into(), &"sent".into()))
    );
    let is_ready = |row: &&Value| row["rpcs"].as_array().is_some_and(|it| it[0] == "ready");
    assert!(rows.iter().filter(is_ready).count() > 0);
    // The text has the calls that `packets` has.
    let calls = |arguments: &[&str]| -> usize {
        let ran = netreel(arguments).expect(0);
        ran.out.matches("rpc ready(count 0)").count()
    };
    let each = calls(&["packets", name]);
    assert!(each > 0);
    assert_eq!(calls(&["packets", "--follow", name]), 2 * each);
}

#[test]
fn the_demonstration_is_followed_while_it_is_played() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("session");
    std::fs::create_dir(&out).expect("a folder");
    let name = out.to_str().expect("UTF-8");
    let following = start(&["packets", "--follow", "--json", name]);
    netreel(&["demo", "--headless", "--migration", "owner", "--out", name]).expect(0);
    let output = following
        .wait_with_output()
        .expect("it ends with the recording");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let printed = printed(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(printed.len(), crossings(&out).len());
}

fn at(port: u16) -> Endpoint {
    ([127, 0, 0, 1], port).into()
}

fn recorder(folder: &Path) -> (Recorder, PathBuf) {
    let path = folder.join("A.reel");
    let header = Header {
        node: "A".to_owned(),
        ..Header::default()
    };
    let recorder = Recorder::create(&path, &header, Options::default()).expect("a recorder");
    (recorder, path)
}

#[test]
fn a_line_comes_before_the_recording_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recorder, path) = recorder(folder.path());
    let mut pusher = recorder.pusher().expect("a pusher");
    let socket = SocketId(0);
    let mut child = start(&["packets", "--follow", path.to_str().expect("UTF-8")]);
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("its output"));
    let mut line = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut lines, &mut line).expect("a line");
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .join(" ")
    };
    pusher.push(
        Time(0),
        Event::SocketOpened {
            socket,
            local: at(7),
        },
    );
    for (from, payload) in [(9, &b"one"[..]), (10, b"three")] {
        let from = at(from);
        pusher.push(
            Time(5_000),
            Event::Received {
                socket,
                from,
                payload,
            },
        );
    }
    assert!(line().starts_with("time s node link"));
    assert_eq!(line(), "0.000000 A received 127.0.0.1:9 -> A 3");
    assert_eq!(line(), "0.000000 A received 127.0.0.1:10 -> A 5");
    let (to, payload) = (at(9), &b"four"[..]);
    let of = pusher
        .push(
            Time(1_005_000),
            Event::Sent {
                socket,
                to,
                payload,
            },
        )
        .expect("taken");
    assert_eq!(line(), "0.001000 A sent A -> 127.0.0.1:9 4");
    let outcome = SendOutcome::Failed(111);
    pusher.push(Time(2_005_000), Event::SendResult { of, outcome });
    assert_eq!(
        line(),
        "0.002000 A the send of event 3 failed: Connection refused (os error 111)"
    );
    drop(pusher);
    recorder.finish().expect("an end");
    assert_eq!(line(), "");
    assert!(child.wait().expect("it ends").success());
}

/// Pushes that a packet came, and gives the recorder a moment to write it.
fn receive(pusher: &mut Pusher, time: u64, payload: &[u8]) {
    let (socket, from) = (SocketId(0), at(9));
    let received = Event::Received {
        socket,
        from,
        payload,
    };
    pusher.push(Time(time), received);
    std::thread::sleep(std::time::Duration::from_millis(1));
}

#[test]
fn a_recording_in_several_files_is_one_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        rotate: Limits {
            bytes: Some(4_000),
            time: None,
        },
        ..Options::default()
    };
    let path = folder.path().join("A.reel");
    let recorder = Recorder::create(&path, &Header::default(), options).expect("a recorder");
    let mut pusher = recorder.pusher().expect("a pusher");
    let name = folder.path().to_str().expect("UTF-8");
    let child = start(&["packets", "--follow", "--json", name]);
    let files = || {
        std::fs::read_dir(folder.path())
            .expect("the folder")
            .count()
    };
    let mut pushed = 0;
    // Blocks are written as time goes by.
    while files() < 5 {
        receive(&mut pusher, pushed, &[7; 1_000]);
        pushed += 1;
    }
    drop(pusher);
    recorder.finish().expect("an end");
    let output = child
        .wait_with_output()
        .expect("it ends with the recording");
    let rows = rows(&String::from_utf8_lossy(&output.stdout));
    assert!(rows.iter().all(|row| row["node"] == "A"));
    assert_eq!(rows.len() as u64, pushed);
}

/// A recorder that keeps the latest files alone. A file is as long as a block, up to 64 kB, and
/// several are kept.
fn keeps_little(path: &Path) -> Recorder {
    let bytes = |bytes| Limits {
        bytes: Some(bytes),
        time: None,
    };
    let options = Options {
        rotate: bytes(4_000),
        keep: bytes(300_000),
        ..Options::default()
    };
    let header = Header {
        node: "A".to_owned(),
        ..Header::default()
    };
    Recorder::create(path, &header, options).expect("a recorder")
}

#[test]
fn a_recording_is_followed_by_its_name_when_its_first_file_was_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("A.reel");
    let recorder = keeps_little(&path);
    let mut pusher = recorder.pusher().expect("a pusher");
    let mut pushed = 0;
    let mut push = |payload: &[u8]| {
        receive(&mut pusher, pushed, payload);
        pushed += 1;
    };
    push(&[1; 1_000]);
    let name = path.to_str().expect("UTF-8");
    let mut child = start(&["packets", "--follow", "--json", name]);
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("its output"));
    // Its first line: it follows.
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).expect("a line");
    for _ in 0..20_000 {
        if !path.exists() {
            break;
        }
        push(&[2; 1_000]);
    }
    assert!(!path.exists(), "the first file is kept");
    // Long enough for it to look for the file again.
    (0..200).for_each(|_| push(&[3; 1_000]));
    push(&[4; 77]);
    drop(pusher);
    recorder.finish().expect("an end");
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut lines, &mut rest).expect("lines");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let last = rows(&rest).pop().expect("a line");
    assert_eq!(last["length"], 77);
}

/// A recording that has lost its first file, with the event that opened its socket; and how many
/// packets came.
fn without_its_start(path: &Path) -> (Recorder, Pusher, u64) {
    let recorder = keeps_little(path);
    let mut pusher = recorder.pusher().expect("a pusher");
    let (socket, local) = (SocketId(0), at(7));
    pusher.push(Time(0), Event::SocketOpened { socket, local });
    for pushed in 0..20_000 {
        let was_there = path.exists();
        // The file that is there may have nothing so far.
        receive(&mut pusher, pushed, &[2; 1_000]);
        if !was_there {
            return (recorder, pusher, pushed + 1);
        }
    }
    panic!("the first file is kept");
}

#[test]
fn following_begins_at_the_oldest_file_that_is_there_and_says_what_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("A.reel");
    let (recorder, mut pusher, pushed) = without_its_start(&path);
    let name = path.to_str().expect("UTF-8");
    let mut child = start(&["packets", "--follow", "--json", name]);
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("its output"));
    let (mut line, mut lines) = std::thread::scope(|scope| {
        let first = scope.spawn(move || {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut lines, &mut line).expect("a line");
            (line, lines)
        });
        // A packet may be in a file that is gone before it is looked at.
        let mut latest = pushed;
        while !first.is_finished() {
            receive(&mut pusher, latest, &[3; 50]);
            latest += 1;
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        receive(&mut pusher, latest, &[4; 77]);
        first.join().expect("a line")
    });
    drop(pusher);
    recorder.finish().expect("an end");
    std::io::Read::read_to_string(&mut lines, &mut line).expect("lines");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let rows = rows(&line);
    let first = rows[0]["event"].as_u64().expect("a number");
    assert!(first > 0 && rows[rows.len() - 1]["length"] == 77);
    let told = format!("begins with event {first}: part");
    assert!(said.contains(&told) && said.contains("not there"), "{said}");
    // The same when nobody records any more; nothing is said but that.
    let ran = netreel(&["packets", "--follow", "--json", name]).expect(0);
    assert!(ran.err.contains("begins with event"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn a_node_whose_socket_was_opened_in_a_file_that_is_gone_is_called_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("A.reel");
    let (recorder, pusher, pushed) = without_its_start(&path);
    drop(pusher);
    recorder.finish().expect("an end");
    let other = folder.path().join("B.reel");
    let header = Header {
        node: "B".to_owned(),
        ..Header::default()
    };
    let recorder = Recorder::create(&other, &header, Options::default()).expect("a recorder");
    let mut pusher = recorder.pusher().expect("a pusher");
    let received = Event::Received {
        socket: SocketId(0),
        from: at(7),
        payload: b"from A",
    };
    pusher.push(Time(pushed), received);
    drop(pusher);
    recorder.finish().expect("an end");
    let [name, other] = [&path, &other].map(|path| path.to_str().expect("UTF-8"));
    let ran = netreel(&["packets", "--follow", "--json", name, other]).expect(0);
    let of_b = rows(&ran.out).into_iter().find(|row| row["node"] == "B");
    assert_eq!(of_b.expect("a line")["from"], "A");
}

#[test]
fn a_reel_in_a_folder_that_cannot_be_opened_is_named_once_while_it_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("bad.reel"), "not a reel").expect("a file");
    let mut child = start(&[
        "packets",
        "--follow",
        folder.path().to_str().expect("UTF-8"),
    ]);
    let mut lines = std::io::BufReader::new(child.stderr.take().expect("its errors"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).expect("a line");
    assert!(line.contains("bad.reel: it is not a reel"), "{line}");
    let (recorder, _) = recorder(folder.path());
    recorder.finish().expect("an end");
    assert!(child.wait().expect("it ends").success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut lines, &mut rest).expect("what it said");
    assert_eq!(rest, "");
}

#[test]
fn a_file_that_is_no_reel_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("A.reel");
    std::fs::write(&path, "not a reel").expect("a file");
    let ran = netreel(&["packets", "--follow", path.to_str().expect("UTF-8")]).expect(2);
    assert!(ran.err.contains("it is not a reel"), "{}", ran.err);
}

#[test]
fn a_filter_is_for_a_whole_session() {
    let ran = netreel(&["packets", "--follow", "--filter", "lost", "."]).expect(2);
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
}
