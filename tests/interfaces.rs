//! The interfaces of a capture: in the reel, in `info`, and in the capture that the reel becomes.

mod support;

use std::path::Path;
use std::process::Command;

use netreel_capture::pcap::UdpPayloads;
use support::netreel;

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, body, &length].concat()
}

/// An Ethernet interface with its name, the resolution of its times, and what is added to them, in s.
fn interface(name: &str, resolution: u8, offset_s: u64) -> Vec<u8> {
    let mut body = vec![1, 0, 0, 0, 0, 0, 4, 0];
    let options = [
        (2u16, name.as_bytes()),
        (9, &[resolution]),
        (14, &offset_s.to_le_bytes()),
        (0, &[]),
    ];
    for (code, value) in options {
        body.extend(code.to_le_bytes());
        body.extend((value.len() as u16).to_le_bytes());
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(1, &body)
}

/// A packet from 10.0.0.1:9 to 10.0.0.2:9.
fn packet(interface: u32, ticks: u64, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((28 + length).to_be_bytes());
    frame.extend([0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0, 9, 0, 9]);
    frame.extend((8 + length).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    let mut body = Vec::new();
    let (high, low) = ((ticks >> 32) as u32, ticks as u32);
    let kept = frame.len() as u32;
    for value in [interface, high, low, kept, kept] {
        body.extend(value.to_le_bytes());
    }
    body.extend(&frame);
    body.resize(body.len().next_multiple_of(4), 0);
    block(6, &body)
}

/// Two interfaces, one in nanoseconds, one in 2^-20 s after 1 700 000 000 s.
fn capture(folder: &Path, names: [&str; 2]) -> String {
    let section = [&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let binary = |ticks, payload: &[u8]| packet(1, ticks, payload);
    let decimal =
        |nanos: u64, payload: &[u8]| packet(0, 1_700_000_000_000_000_000 + nanos, payload);
    let bytes = [
        block(0x0a0d_0d0a, &section),
        interface(names[0], 9, 0),
        interface(names[1], 0x80 | 20, 1_700_000_000),
        decimal(123_456_789, b"first"),
        binary(1 << 19, b"second"),
        binary((1 << 19) + 1, b"third"),
        decimal(987_654_321, b"fourth"),
    ];
    let path = folder.join("tap.pcapng");
    std::fs::write(&path, bytes.concat()).expect("a file");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Interface, nanoseconds, payload.
fn read(path: &str) -> Vec<(String, u64, String)> {
    let mut reader = UdpPayloads::new(std::fs::File::open(path).expect("the file")).expect("one");
    let found: Vec<_> = reader.by_ref().collect();
    let name = |place: u16| reader.interfaces()[usize::from(place)].name.clone();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let row =
        |it: &netreel_capture::pcap::UdpPayload| (name(it.interface), it.time, text(&it.payload));
    found.iter().map(row).collect()
}

/// The capture as a reel, and the reel as a capture.
fn there_and_back(folder: &Path, capture: &str) -> String {
    let reels = folder.join("reels").to_str().expect("UTF-8").to_owned();
    let back = folder.join("back.pcapng");
    let back = back.to_str().expect("UTF-8").to_owned();
    netreel(&["import", capture, "--out", &reels]).expect(0);
    netreel(&["export", &reels, "--format", "pcapng", "--out", &back]).expect(0);
    back
}

#[test]
fn names_payloads_and_nanoseconds_come_back_from_a_reel() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path(), ["eth0", "wlan0"]);
    let back = there_and_back(folder.path(), &capture);
    let expected = [
        ("eth0", 1_700_000_000_123_456_789, "first"),
        ("wlan0", 1_700_000_000_500_000_000, "second"),
        ("wlan0", 1_700_000_000_500_000_953, "third"),
        ("eth0", 1_700_000_000_987_654_321, "fourth"),
    ];
    let expected = expected.map(|(name, time, text)| (name.to_owned(), time, text.to_owned()));
    assert_eq!(read(&back), expected);
    assert_eq!(read(&capture), expected);
}

#[test]
fn a_node_that_was_captured_at_two_interfaces_has_both_in_its_reel_and_in_the_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path(), ["eth0", "wlan0"]);
    let reels = folder
        .path()
        .join("reels")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    let back = folder.path().join("back.pcapng");
    let back = back.to_str().expect("UTF-8");
    netreel(&[
        "import",
        &capture,
        "--out",
        &reels,
        "--node",
        "HOST=10.0.0.1",
    ])
    .expect(0);
    let info = netreel(&["info", &reels]).expect(0).out;
    for line in [
        "HOST: at eth0: 2 packets, link type 1",
        "HOST: at wlan0: 2 packets, link type 1",
    ] {
        assert!(info.contains(line), "{info}");
    }
    let info = netreel(&["info", "--json", &reels]).expect(0).json();
    let second = serde_json::json!({"name": "wlan0", "link_type": 1, "packets": 2});
    let mut nodes = info["nodes"].as_array().expect("nodes").iter();
    let host = nodes.find(|node| node["name"] == "HOST").expect("the node");
    assert_eq!(host["interfaces"][1], second);
    netreel(&["export", &reels, "--format", "pcapng", "--out", back]).expect(0);
    let expected = [
        ("HOST eth0", "first"),
        ("HOST wlan0", "second"),
        ("HOST wlan0", "third"),
        ("HOST eth0", "fourth"),
    ];
    let found = read(back);
    let found: Vec<(&str, &str)> = found.iter().map(|(at, _, it)| (&at[..], &it[..])).collect();
    assert_eq!(found, expected);
}

#[test]
fn tshark_shows_each_packet_at_its_interface() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path(), ["eth0", "wlan0"]);
    let back = there_and_back(folder.path(), &capture);
    let arguments = ["-T", "fields", "-e", "frame.interface_name", "-r", &back];
    let output = match Command::new("tshark").args(arguments).output() {
        Ok(output) => output,
        Err(error) => return support::skipped(format_args!("tshark: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let mut said = said.lines().filter(|line| !line.trim().is_empty());
    let warning = said.find(|line| !line.starts_with("Running as user"));
    assert_eq!(warning, None);
    let names = String::from_utf8_lossy(&output.stdout);
    let names: Vec<&str> = names.lines().collect();
    assert_eq!(names, ["eth0", "wlan0", "wlan0", "eth0"]);
}

#[test]
fn interfaces_without_names_stay_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path(), ["", ""]);
    let back = there_and_back(folder.path(), &capture);
    let names: Vec<String> = read(&back).into_iter().map(|(name, ..)| name).collect();
    let (one, other) = ("tap interface 0", "tap interface 1");
    assert_eq!(names, [one, other, other, one]);
}

#[test]
fn info_tells_how_much_passed_each_interface() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path(), ["eth0", "wlan0"]);
    let info = netreel(&["info", &capture]).expect(0).out;
    for line in [
        "at eth0: 2 packets, link type 1",
        "at wlan0: 2 packets, link type 1",
    ] {
        assert!(info.contains(line), "{info}");
    }
    let info = netreel(&["info", "--json", &capture]).expect(0).out;
    let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
    let second = &info["observers"][0]["interfaces"][1];
    assert_eq!(
        *second,
        serde_json::json!({"name": "wlan0", "link_type": 1, "packets": 2})
    );
}

#[test]
fn redacting_notes_takes_the_names_of_interfaces_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = capture(folder.path(), ["eth0", "to-secret-customer"]);
    let reels = folder.path().join("reels");
    let copy = folder.path().join("copy");
    let (reels, copy) = (
        reels.to_str().expect("UTF-8"),
        copy.to_str().expect("UTF-8"),
    );
    netreel(&["import", &capture, "--out", reels]).expect(0);
    netreel(&["redact", reels, "--out", copy, "--notes", "drop"]).expect(0);
    let info = netreel(&["info", copy]).expect(0).out;
    assert!(!info.contains("secret") && !info.contains("eth0"), "{info}");
    assert!(info.contains("4 packets"), "{info}");
}
