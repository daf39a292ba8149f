//! Why messages were sent again, as people and programs read it: a capture of RakNet, written by hand,
//! of a server that says what it lacks.

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::netreel;

const WIRE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/wires/raknet.wire");

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 2], 5000);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 19132);

/// A datagram with a reliable message.
fn says(number: u8, message: u8) -> Vec<u8> {
    // One packet of a connection; reliable, of 16 bits; the game's first own message, and a byte.
    let datagram = [0x84, number, 0, 0];
    [&datagram[..], &[0x40, 0, 16, message, 0, 0, 134, 7]].concat()
}

/// An ack of one datagram, or the word that it is lacking.
fn answers(has_it: bool, number: u8) -> Vec<u8> {
    let kind = if has_it { 0xC0 } else { 0xA0 };
    vec![kind, 0, 1, 1, number, 0, 0]
}

/// A capture of the client (`true`) and the server, with when each packet passed, in ms.
fn capture(path: &Path, packets: &[(u32, bool, Vec<u8>)]) {
    let header = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 228];
    let mut bytes: Vec<u8> = header.iter().flat_map(|it| it.to_le_bytes()).collect();
    for (at_ms, is_client, payload) in packets {
        let (from, to) = match is_client {
            true => (CLIENT, SERVER),
            false => (SERVER, CLIENT),
        };
        let udp = 8 + payload.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend((20 + udp).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        packet.extend(from.0.iter().chain(&to.0));
        for half in [from.1, to.1, udp, 0] {
            packet.extend(half.to_be_bytes());
        }
        packet.extend(payload);
        let length = packet.len() as u32;
        for word in [at_ms / 1000, at_ms % 1000 * 1000, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(packet);
    }
    std::fs::write(path, bytes).expect("a capture");
}

/// Message 1 is lost, and the server says so; message 3 is lost, and nobody says anything.
fn lossy(path: &Path) {
    capture(
        path,
        &[
            (0, true, says(0, 0)),
            (10, false, answers(true, 0)),
            (100, true, says(1, 1)),
            (110, true, says(2, 2)),
            (130, false, answers(false, 1)),
            (131, false, answers(true, 2)),
            (135, true, says(3, 1)),
            (145, false, answers(true, 3)),
            (200, true, says(4, 3)),
            (700, true, says(5, 3)),
            (710, false, answers(true, 5)),
        ],
    );
}

fn asked(path: &Path, arguments: &[&str]) -> support::Ran {
    let path = path.to_str().expect("UTF-8");
    let (first, rest) = arguments.split_first().expect("a command");
    netreel(&[&[*first, path, "--wire", WIRE, "--no-index"], rest].concat()).expect(0)
}

fn lossy_capture() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("raknet.pcap");
    lossy(&path);
    (folder, path)
}

#[test]
fn a_resend_after_a_nack_is_told_as_one_and_one_after_silence_as_that() {
    let (_folder, path) = lossy_capture();
    let shown = asked(&path, &["show", "--packet", "6"]).out;
    let line = "resent    35.0 ms after packet 2: 10.0.0.1:19132 had said that it lacked packet 2 \
                (packet 4): 10.0.0.2:5000 received that at 0.130000 s";
    assert!(shown.contains(line), "{shown}");
    let shown = asked(&path, &["show", "--packet", "9"]).out;
    assert!(
        shown.contains("resent    500.0 ms after packet 8: "),
        "{shown}"
    );
    assert!(shown.contains("a time-out"), "{shown}");
    let shown = asked(&path, &["show", "--packet", "3"]).out;
    assert!(!shown.contains("resent"), "{shown}");
    let why = asked(&path, &["why", "--packet", "6"]).out;
    assert!(
        why.contains("had said that it lacked packet 2 (packet 4)"),
        "{why}"
    );
}

#[test]
fn programs_read_the_same_reasons() {
    let (_folder, path) = lossy_capture();
    let resends = |packet: &str| {
        asked(&path, &["show", "--json", "--packet", packet]).json()["resends"].clone()
    };
    let told = |packet: &str| -> Vec<Value> {
        let resends = resends(packet);
        let all = resends.as_array().expect("a list").iter();
        all.map(|it| json!([it["heard"], it["before"], it["after_ns"], it["packets"]]))
            .collect()
    };
    assert_eq!(told("6"), [json!(["nacked", 2, 35_000_000, [4, 2]])]);
    assert_eq!(told("9"), [json!(["silence", 8, 500_000_000, [8]])]);
    assert_eq!(told("3"), [Value::Null; 0]);
    let stats = asked(&path, &["stats", "--json", "--by", "link"]).json();
    let expected = json!({"nacked": 1, "silence": 1});
    assert_eq!(stats["all"]["resent_for"], expected);
    let links = stats["links"].as_array().expect("links");
    let of_client = links
        .iter()
        .find(|it| it["resent"] == 2)
        .expect("the client's");
    assert_eq!(of_client["resent_for"], expected);
}

#[test]
fn the_table_of_reasons_is_there_where_something_was_sent_again() {
    let (folder, path) = lossy_capture();
    let stats = asked(&path, &["stats", "--by", "link"]).out;
    let row = stats
        .lines()
        .find(|line| line.starts_with("resent, having heard"));
    let heads: Vec<&str> = row.unwrap_or_default().split_whitespace().skip(3).collect();
    assert_eq!(
        heads,
        ["nacked", "ack-gap", "silence", "eager", "acked", "unknown"]
    );
    let calm = folder.path().join("calm.pcap");
    capture(
        &calm,
        &[(0, true, says(0, 0)), (10, false, answers(true, 0))],
    );
    let stats = asked(&calm, &["stats", "--by", "link"]).out;
    assert!(!stats.contains("having heard"), "{stats}");
}

#[test]
fn a_word_that_names_another_packet_is_no_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("raknet.pcap");
    capture(
        &path,
        &[
            (0, true, says(0, 0)),
            (10, false, answers(true, 0)),
            (100, true, says(1, 1)),
            (130, false, answers(false, 9)),
            (135, true, says(2, 1)),
            // What is said after it was sent again is none either.
            (140, false, answers(false, 1)),
        ],
    );
    let resends = asked(&path, &["show", "--json", "--packet", "4"]).json();
    assert_eq!(resends["resends"][0]["heard"], "silence", "{resends:#}");
}
