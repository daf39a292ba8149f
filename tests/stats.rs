//! `netreel stats` against counts of what other commands print, and of the bytes themselves.

mod support;

use std::collections::BTreeMap;

use serde_json::Value;
use support::answers::Stage;

const HOST: &str = "samples/sessions/host";

fn run(arguments: &[&str]) -> Vec<u8> {
    let answer = Stage::new().run(arguments);
    let err = String::from_utf8_lossy(&answer.err);
    assert_eq!(answer.code, Some(0), "{arguments:?}: {err}");
    answer.out
}

fn stats(arguments: &[&str]) -> Value {
    let mut all = vec!["stats", "--json"];
    all.extend(arguments);
    serde_json::from_slice(&run(&all)).expect("JSON")
}

/// A JSON object a line.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let out = String::from_utf8(run(arguments)).expect("text");
    let lines = out.lines().map(serde_json::from_str);
    lines.map(|line| line.expect("JSON")).collect()
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("a number: {value}"))
}

const RECORDINGS: [&str; 6] = [
    "enet",
    "minetest",
    "quake3",
    "raknet",
    "renet",
    "teeworlds07",
];

#[test]
fn the_rows_of_each_table_sum_up_to_the_bytes() {
    let mut sessions = vec![
        vec![HOST.to_owned()],
        vec!["samples/sessions/owner".to_owned()],
    ];
    for name in RECORDINGS {
        let capture = format!("recordings/{name}.pcap");
        // With its wire, and without: all is then not decoded.
        sessions.push(vec![capture.clone()]);
        sessions.push(vec![
            capture,
            "--wire".into(),
            format!("samples/wires/{name}.wire"),
        ]);
    }
    for session in sessions {
        let arguments: Vec<&str> = session.iter().map(String::as_str).collect();
        let told = stats(&arguments);
        let bytes = number(&told["all"]["bytes"]);
        for table in ["kind", "type", "object", "rpc"] {
            let rows = told[table].as_array().expect("rows");
            let bits: u64 = rows.iter().map(|row| number(&row["bits"])).sum();
            assert_eq!(bits, bytes * 8, "{table} of {session:?}");
            let messages: u64 = rows.iter().map(|row| number(&row["messages"])).sum();
            assert_eq!(
                messages,
                number(&told["all"]["messages"]),
                "{table} of {session:?}"
            );
        }
        let links = told["links"].as_array().expect("links");
        let of_links: u64 = links.iter().map(|link| number(&link["bytes"])).sum();
        assert_eq!(of_links, bytes, "{session:?}");
    }
}

/// How many bytes of UDP payload a classic capture of IPv4 holds, by what its own headers say.
fn udp_bytes(capture: &[u8]) -> (u64, u64) {
    let word = |at: usize| {
        let bytes: [u8; 4] = capture[at..at + 4].try_into().expect("four bytes");
        match capture[0] {
            0xd4 | 0x4d => u32::from_le_bytes(bytes),
            _ => u32::from_be_bytes(bytes),
        }
    };
    let link_header = match word(20) {
        1 => 14,   // Ethernet
        113 => 16, // Linux cooked
        276 => 20, // Linux cooked, the second
        101 | 228 => 0,
        other => panic!("a link type that the test does not know: {other}"),
    };
    let (mut packets, mut bytes, mut at) = (0, 0, 24);
    while at + 16 <= capture.len() {
        let kept = word(at + 8) as usize;
        let ip = &capture[at + 16 + link_header..at + 16 + kept];
        at += 16 + kept;
        if ip[0] >> 4 != 4 || ip[9] != 17 {
            continue;
        }
        let udp = &ip[usize::from(ip[0] & 15) * 4..];
        packets += 1;
        bytes += u64::from(u16::from_be_bytes([udp[4], udp[5]])) - 8;
    }
    (packets, bytes)
}

#[test]
fn the_bytes_of_a_capture_are_those_that_its_headers_say() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/protocol/wire/tests/recordings"
    );
    for name in RECORDINGS {
        let capture = std::fs::read(format!("{folder}/{name}.pcap")).expect("a capture");
        let told = stats(&[&format!("recordings/{name}.pcap"), "--by", "link"]);
        let counted = (
            number(&told["all"]["packets"]),
            number(&told["all"]["bytes"]),
        );
        assert_eq!(counted, udp_bytes(&capture), "{name}");
    }
}

#[test]
fn the_kinds_have_the_bits_that_show_gives_their_messages() {
    let mut bits: BTreeMap<String, u64> = BTreeMap::new();
    for packet in lines(&["show", HOST, "--json", "--filter", "length > 0"]) {
        let fields = packet["fields"].as_array().expect("fields");
        let width = |field: &Value| number(&field["bits"][1]) - number(&field["bits"][0]);
        for message in fields.iter().filter(|field| field["type"] == "Message") {
            let path = format!("{}.kind", message["path"].as_str().expect("a path"));
            let kind = fields.iter().find(|field| field["path"] == path.as_str());
            let kind = kind.expect("its kind")["value"].as_str().expect("a name");
            *bits.entry(kind.to_owned()).or_default() += width(message);
        }
    }
    let told = stats(&[HOST, "--by", "kind"]);
    let rows = told["kind"].as_array().expect("rows").iter();
    let found: BTreeMap<String, u64> = rows
        .filter(|row| row["row"] == "named")
        .map(|row| {
            (
                row["name"].as_str().expect("a name").to_owned(),
                number(&row["bits"]),
            )
        })
        .collect();
    assert_eq!(found, bits);
}

#[test]
fn a_link_has_the_delays_and_round_trips_of_its_packets() {
    let packets = lines(&["packets", HOST, "--json", "--filter", "link == A->X"]);
    let told = stats(&[HOST, "--by", "link"]);
    let links = told["links"].as_array().expect("links");
    let link = links
        .iter()
        .find(|link| link["from"] == "A" && link["to"] == "X");
    let link = link.expect("the link");
    let mut delays: Vec<i64> = packets
        .iter()
        .filter_map(|it| it["late_ns"].as_i64())
        .collect();
    let pairs = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let jitter = pairs.sum::<i64>() / (delays.len() as i64 - 1);
    assert_eq!(link["jitter_ns"].as_i64(), Some(jitter));
    delays.sort_unstable();
    assert_eq!(
        link["delay_ns"]["median"].as_i64(),
        Some(delays[delays.len() / 2])
    );
    assert_eq!(link["delay_ns"]["max"].as_i64(), delays.last().copied());
    let resends = packets
        .iter()
        .flat_map(|it| it["messages"].as_array().expect("messages"));
    let resends = resends
        .filter(|message| !message["resend_of"].is_null())
        .count();
    assert_eq!(number(&link["resent"]), resends as u64);
    assert_eq!(link["clock_error_ns"].as_u64(), Some(0));
}

#[test]
fn stretches_of_time_hold_all_packets_once() {
    let told = stats(&[HOST, "--over", "0.25"]);
    let buckets = told["over"].as_array().expect("stretches");
    let bytes: u64 = buckets.iter().map(|it| number(&it["all"]["bytes"])).sum();
    assert_eq!(bytes, number(&told["all"]["bytes"]));
    for bucket in buckets {
        let from = bucket["from_ns"].as_i64().expect("a time");
        let until = bucket["until_ns"].as_i64().expect("a time");
        assert_eq!(until - from, 250_000_000);
        let filter = format!("time >= {from}ns && time < {until}ns");
        let packets = lines(&["packets", HOST, "--json", "--filter", &filter]);
        assert_eq!(
            packets.len() as u64,
            number(&bucket["all"]["packets"]),
            "{filter}"
        );
    }
}

#[test]
fn rpcs_are_counted_by_their_names() {
    let told = stats(&[HOST, "--by", "rpc"]);
    let rows = told["rpc"].as_array().expect("rows");
    let ready = rows
        .iter()
        .find(|row| row["name"] == "ready")
        .expect("its row");
    let named = lines(&["packets", HOST, "--json", "--filter", "kind == rpc"]);
    let messages = named
        .iter()
        .flat_map(|it| it["messages"].as_array().expect("messages"));
    let count = messages.filter(|message| message["rpc"] == "ready").count();
    assert!(count > 0);
    assert_eq!(number(&ready["messages"]), count as u64);
}

#[test]
fn a_filter_leaves_out_what_does_not_fit() {
    let told = stats(&[
        HOST,
        "--filter",
        "from == A && kind == create",
        "--by",
        "kind",
    ]);
    let packets = lines(&[
        "packets",
        HOST,
        "--json",
        "--filter",
        "from == A && kind == create",
    ]);
    let bytes: u64 = packets.iter().map(|packet| number(&packet["length"])).sum();
    assert_eq!(number(&told["all"]["bytes"]), bytes);
    assert!(told["all"]["reordered"].is_null());
}
