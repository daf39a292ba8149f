//! The index that the command keeps beside the reels of a large session.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netreel_reel::{
    Event, EventNumber, Header, Record, ReelWriter, SocketId, ThreadId, Time, WireText,
};

const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
struct P { number: u32 @sequence; messages: M[until end]; }
enum K : u1 { a, b }
struct M @message { kind: K @message_kind; object: u7 @object; }";

/// Sessions of this many packets have an index.
const PACKETS: u32 = 100_000;

/// A folder with the reel of a node that sent this many packets, the last of them with this byte.
fn recording(packets: u32, last: u8) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), packets, last);
    folder
}

fn write(folder: &Path, packets: u32, last: u8) {
    let header = Header {
        node: "A".to_owned(),
        wires: vec![WireText {
            name: "w".to_owned(),
            text: WIRE.to_owned(),
        }],
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
    let socket = SocketId(0);
    let mut push = |number: u32, event: Event<'_>| {
        let record = Record {
            number: EventNumber(u64::from(number)),
            time: Time(u64::from(number) * 10_000),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).unwrap();
    };
    let (local, to) = (([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into());
    push(0, Event::SocketOpened { socket, local });
    for number in 1..=packets {
        let object = if number == packets { last } else { 6 };
        let payload = [&number.to_le_bytes()[..], &[2, object]].concat();
        let payload = payload.as_slice();
        push(
            number,
            Event::Sent {
                socket,
                to,
                payload,
            },
        );
    }
    let bytes = writer.finish().unwrap();
    std::fs::write(folder.join("A.reel"), bytes).unwrap();
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = support::command();
    let (name, options) = arguments.split_first().unwrap();
    command.arg(name).arg(folder).args(options);
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

/// What the command prints.
#[track_caller]
fn ask(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("index"), "{told}");
    String::from_utf8(output.stdout).unwrap()
}

/// The files of indexes in a folder.
fn indexes(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| path.to_string_lossy().contains(".netreel-");
    paths.filter(named).collect()
}

#[track_caller]
fn the_index(folder: &Path) -> PathBuf {
    let mut found = indexes(folder);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_session_has_one_index_however_its_path_is_spelt() {
    let folder = recording(PACKETS, 14);
    let folder = folder.path();
    let told = ask(folder, &["objects"]);
    let kept = std::fs::metadata(the_index(folder)).unwrap();
    for spelt in [".", "./A.reel"] {
        let mut command = command(Path::new(spelt), &["objects"]);
        let output = command.current_dir(folder).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), told);
        let now = std::fs::metadata(the_index(folder)).unwrap();
        assert_eq!(now.modified().unwrap(), kept.modified().unwrap());
    }
}

const LAST: [&str; 4] = ["packets", "--filter", "object == 7", "--json"];

#[test]
fn a_session_with_an_index_gives_the_same_answers() {
    let folder = recording(PACKETS, 14);
    let folder = folder.path();
    let questions: [&[&str]; 7] = [
        &["info"],
        &["info", "--all", "--json"],
        &["check", "--json"],
        &LAST,
        &["show", "--packet", "77777"],
        &["show", "--packet", "77777", "--json"],
        &["objects", "--json"],
    ];
    let without = questions.map(|question| ask(folder, &[question, &["--no-index"]].concat()));
    assert!(indexes(folder).is_empty(), "--no-index keeps none");
    for round in 0..2 {
        let with = questions.map(|question| ask(folder, question));
        assert_eq!(with, without, "round {round}");
        the_index(folder);
    }
}

#[test]
fn few_packets_have_no_index() {
    let folder = recording(PACKETS - 1, 14);
    ask(folder.path(), &["info", "--all"]);
    assert!(indexes(folder.path()).is_empty());
}

#[test]
fn a_stale_index_is_written_anew() {
    let folder = recording(PACKETS, 14);
    let folder = folder.path();
    assert_eq!(ask(folder, &LAST).lines().count(), 1);
    // As long as before, and nothing is different but one byte of a packet.
    write(folder, PACKETS, 16);
    assert_eq!(ask(folder, &LAST).lines().count(), 0);
    the_index(folder);
}

#[test]
fn a_damaged_index_is_written_anew() {
    let folder = recording(PACKETS, 14);
    let folder = folder.path();
    let expected = ask(folder, &["info"]);
    let index = the_index(folder);
    let whole = std::fs::read(&index).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let damaged = [
        Vec::new(),
        b"no index at all".to_vec(),
        whole[..whole.len() / 2].to_vec(),
        flipped(20),
        flipped(whole.len() / 2),
        flipped(whole.len() - 1),
    ];
    for bytes in damaged {
        std::fs::write(&index, bytes).unwrap();
        assert_eq!(ask(folder, &["info"]), expected);
        assert_eq!(std::fs::read(&index).unwrap().len(), whole.len());
    }
}

#[test]
fn several_readers_at_once_get_the_same_answer() {
    let folder = recording(PACKETS, 14);
    let expected = ask(folder.path(), &["info", "--no-index"]);
    let readers: Vec<_> = (0..6)
        .map(|_| {
            let mut command = command(folder.path(), &["info"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for reader in readers {
        let output = reader.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        assert_eq!(
            String::from_utf8_lossy(&output.stderr)
                .matches("index")
                .count(),
            0
        );
    }
    the_index(folder.path());
}

#[test]
fn what_is_read_with_keys_is_not_kept() {
    let folder = recording(PACKETS, 14);
    std::fs::write(folder.path().join("keys.log"), "label 00 0011\n").unwrap();
    ask(folder.path(), &["info"]);
    assert!(indexes(folder.path()).is_empty());
}

#[test]
fn a_packet_of_a_large_session_is_shown_without_its_history() {
    let folder = recording(PACKETS + 1, 14);
    let folder = folder.path();
    let shown = || ask(folder, &["show", "--packet", "77777"]);
    let before = shown();
    assert!(before.contains("acked     not worked out"), "{before}");
    assert!(before.contains("number"), "{before}");
    ask(folder, &["check"]);
    let after = shown();
    assert!(!after.contains("not worked out"), "{after}");
}

#[test]
fn a_capture_has_an_index_as_well() {
    let recorded = recording(PACKETS, 14);
    let folder = tempfile::tempdir().unwrap();
    let (folder, capture) = (folder.path(), folder.path().join("all.pcapng"));
    let wire = folder.join("w.wire");
    std::fs::write(&wire, WIRE).unwrap();
    let capture_text = capture.to_str().unwrap();
    let export = ["export", "--format", "pcapng", "--out", capture_text];
    ask(recorded.path(), &[&export[..], &["--no-index"]].concat());
    let wire = wire.to_str().unwrap();
    let questions = [["info", "--wire", wire], ["check", "--wire", wire]];
    let asked = |question: &[&str]| {
        let mut command = command(&capture, question);
        command.env("XDG_CACHE_HOME", folder.join("cache"));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let without = questions.map(|question| asked(&[&question[..], &["--no-index"]].concat()));
    assert!(without[0].contains("100000"), "{}", without[0]);
    assert!(indexes(folder).is_empty(), "--no-index keeps none");
    for round in 0..2 {
        assert_eq!(
            questions.map(|question| asked(&question)),
            without,
            "round {round}"
        );
        the_index(folder);
    }
    let index = the_index(folder);
    let before = std::fs::metadata(&index).unwrap().modified().unwrap();
    asked(&questions[1]);
    let after = std::fs::metadata(&index).unwrap().modified().unwrap();
    assert_eq!(before, after, "all that is asked stands in it");
}

#[cfg(feature = "gui")]
#[test]
fn a_picture_keeps_what_followed_from_the_packets() {
    let folder = recording(PACKETS + 1, 14);
    let folder = folder.path();
    let picture = folder.join("picture.png");
    ask(
        folder,
        &["inspect", "--screenshot", picture.to_str().unwrap()],
    );
    let kept = std::fs::read(the_index(folder)).unwrap();
    let shown = ask(folder, &["show", "--packet", "77777"]);
    assert!(!shown.contains("not worked out"), "{shown}");
    assert_eq!(std::fs::read(the_index(folder)).unwrap(), kept);
}
