//! The RakNet wire beside two others who read the same packets: a reader written by hand below, and
//! tshark's dissector, whose fields of the small recording are kept beside it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use netreel_reel::Endpoint;
use netreel_wire::{Decoded, Name, PacketFacts, Value};

use crate::explained::{check_explained, small, wire};
use crate::recordings::{Recording, Story, capture, skipped};

const SMALL_FIELDS: &str = include_str!("../recordings/raknet.tsv");

/// What tshark is asked for, and what the same is called in the wire. Only messages that every
/// connection sends have a `raknet.system.message.id`.
const COLUMNS: [(&str, &str); 16] = [
    ("raknet.offline.message.id", "offline.id"),
    ("raknet.packet_number", "datagram.number"),
    ("raknet.packet.is_NAK", "datagram.is_nak"),
    ("raknet.range.packet_number.min", "datagram.ranges.first"),
    ("raknet.range.packet_number.max", "datagram.ranges.last"),
    (
        "raknet.message.reliability",
        "datagram.messages.reliability",
    ),
    (
        "raknet.message.has_split_packet",
        "datagram.messages.is_split",
    ),
    ("raknet.payload.length", "datagram.messages.length"),
    ("raknet.reliable.number", "datagram.messages.number"),
    (
        "raknet.sequencing.index",
        "datagram.messages.sequencing_index",
    ),
    ("raknet.ordering.index", "datagram.messages.ordering_index"),
    (
        "raknet.ordering.channel",
        "datagram.messages.ordering_channel",
    ),
    ("raknet.split.count", "datagram.messages.split_count"),
    ("raknet.split.id", "datagram.messages.split_id"),
    ("raknet.split.index", "datagram.messages.split_index"),
    ("raknet.system.message.id", "datagram.messages.id"),
];

const MAGIC: &[u8] = b"\0\xff\xff\0\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78";

const SYSTEM_IDS: [u64; 5] = [0, 3, 9, 16, 19];

/// The numbers of one packet, by tshark's names for them, in the order of the packet.
type Row = BTreeMap<&'static str, Vec<u64>>;

fn add(row: &mut Row, name: &'static str, value: u64) {
    row.entry(name).or_default().push(value);
}

#[test]
fn small_recording_has_the_fields_that_tshark_shows() {
    let recording = small("raknet.pcap");
    check_rows(&recording, &rows_of_tshark(SMALL_FIELDS));
}

#[test]
fn small_recording_reads_as_by_hand() {
    check_by_hand(&small("raknet.pcap"));
}

#[test]
fn every_frame_of_the_captures_has_the_fields_that_tshark_shows() {
    for name in ["raknet_c.pcap", "raknet.pcap"] {
        let Some(path) = capture(name) else {
            continue;
        };
        let Some(fields) = ask_tshark(&path) else {
            return;
        };
        check_rows(&Recording::open(&path), &rows_of_tshark(&fields));
    }
}

#[test]
fn every_datagram_of_the_captures_reads_as_by_hand() {
    for name in ["raknet_c.pcap", "raknet.pcap"] {
        if let Some(path) = capture(name) {
            check_by_hand(&Recording::open(&path));
        }
    }
}

#[test]
fn lacking_packets_are_told_as_ranges() {
    // A NAK of the packets 5, 7 to 9.
    let packet = b"\xa0\0\x02\x01\x05\0\0\0\x07\0\0\x09\0\0";
    let decoded = wire("raknet.wire").decode(packet);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(decoded.facts.nack_ranges, [(5, 5), (7, 9)]);
    assert_eq!(decoded.facts.ack_ranges, []);
    assert_eq!(row_of_wire(&decoded), row_by_hand(packet));
}

#[test]
fn all_five_reliabilities_are_in_the_small_recording() {
    let mut seen = Story::new(&wire("raknet.wire"), &small("raknet.pcap"))
        .flat_map(|(_, decoded)| row_of_wire(&decoded).remove("raknet.message.reliability"))
        .flatten()
        .collect::<Vec<_>>();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

fn check_rows(recording: &Recording, expected: &BTreeMap<u64, Row>) {
    let mut compared = 0;
    for (payload, decoded) in Story::new(&wire("raknet.wire"), recording) {
        // tshark leaves out what does not belong to a connection that it saw begin.
        let Some(row) = expected.get(&(payload.index + 1)) else {
            continue;
        };
        assert_eq!(
            &row_of_wire(&decoded),
            row,
            "frame {} of {}: {decoded:#?}",
            payload.index + 1,
            recording.name
        );
        compared += 1;
    }
    assert_eq!(compared, expected.len(), "every frame that tshark dissects");
}

fn check_by_hand(recording: &Recording) {
    let mut joiner = Joiner::default();
    let mut joined = 0;
    let wire = wire("raknet.wire");
    for (payload, decoded) in Story::new(&wire, recording) {
        let place = format!("frame {} of {}", payload.index + 1, recording.name);
        let by_hand = row_by_hand(&payload.payload);
        assert_eq!(row_of_wire(&decoded), by_hand, "{place}");
        check_facts(&decoded.facts, &by_hand, &place);
        if decoded.facts.protocol.is_some() {
            check_explained(&wire, &payload.payload, &decoded, &place);
        }
        let wholes = joiner.add(&(payload.source, payload.destination), &payload.payload);
        assert_eq!(joined_by_wire(&decoded), wholes, "{place}");
        joined += wholes.len();
    }
    println!("{joined} messages joined from their parts");
}

/// What other rooms see, beside what stands in the packet.
fn check_facts(facts: &PacketFacts, row: &Row, place: &str) {
    let column = |name| row.get(name).cloned().unwrap_or_default();
    let sequence: Vec<u64> = facts.sequence.iter().map(|number| number.value).collect();
    assert_eq!(sequence, column("raknet.packet_number"), "{place}");
    let ranges = [&facts.ack_ranges[..], &facts.nack_ranges[..]].concat();
    let firsts: Vec<u64> = ranges.iter().map(|range| range.0).collect();
    assert_eq!(firsts, column("raknet.range.packet_number.min"), "{place}");
    let lasts: Vec<u64> = ranges
        .iter()
        .filter(|range| range.0 != range.1)
        .map(|range| range.1)
        .collect();
    assert_eq!(lasts, column("raknet.range.packet_number.max"), "{place}");

    let messages = || facts.messages.iter();
    let reliable: Vec<u64> = messages()
        .filter_map(|message| Some(message.reliable_sequence?.value))
        .collect();
    assert_eq!(reliable, column("raknet.reliable.number"), "{place}");
    assert_eq!(
        messages().filter(|message| message.reliable).count(),
        reliable.len(),
        "{place}"
    );
    let ordered: Vec<u64> = messages()
        .filter_map(|message| Some(message.ordered_sequence?.value))
        .collect();
    assert_eq!(ordered, column("raknet.ordering.index"), "{place}");
    let channels: Vec<u64> = messages().filter_map(|message| message.channel).collect();
    assert_eq!(channels, column("raknet.ordering.channel"), "{place}");
    let ids: Vec<u64> = messages()
        .filter_map(|message| message.fragment_id)
        .collect();
    assert_eq!(ids, column("raknet.split.id"), "{place}");
    let (indices, counts): (Vec<u64>, Vec<u64>) =
        messages().filter_map(|message| message.fragment).unzip();
    assert_eq!(indices, column("raknet.split.index"), "{place}");
    assert_eq!(counts, column("raknet.split.count"), "{place}");
}

/// The row of a packet as the wire's tree has it.
fn row_of_wire(decoded: &Decoded) -> Row {
    let mut row = Row::new();
    for node in decoded.tree.iter() {
        let Some(value) = number(&node.value()) else {
            continue;
        };
        let mut path = decoded.tree.path(node.id());
        path.retain(|letter| !"[]0123456789".contains(letter));
        let path = path
            .replace(".acks.", ".ranges.")
            .replace(".naks.", ".ranges.");
        let column = COLUMNS.iter().find(|(_, in_wire)| *in_wire == path);
        if let Some(&(name, _)) = column
            && (name != "raknet.system.message.id" || SYSTEM_IDS.contains(&value))
        {
            add(&mut row, name, value);
        }
    }
    row
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Unsigned(number) | Value::Enum { raw: number, .. } => Some(*number),
        Value::Bool(yes) => Some(u64::from(*yes)),
        _ => None,
    }
}

/// The bytes of the messages that became whole in this packet.
fn joined_by_wire(decoded: &Decoded) -> Vec<Vec<u8>> {
    let wholes = decoded
        .tree
        .iter()
        .filter(|node| node.name() == Name::Field("whole"));
    let bytes = wholes.map(|node| {
        decoded
            .tree
            .stream(node.stream())
            .unwrap_or_default()
            .to_vec()
    });
    bytes.collect()
}

/// Reads a packet without the wire.
fn row_by_hand(packet: &[u8]) -> Row {
    let mut row = Row::new();
    let mut hand = Hand { packet, at: 0 };
    let head = hand.big(1);
    if head & 0x80 == 0 {
        // Somebody else's packet, on the same ports.
        if !packet.windows(MAGIC.len()).any(|bytes| bytes == MAGIC) {
            return row;
        }
        add(&mut row, "raknet.offline.message.id", head);
    } else if head & 0x40 != 0 {
        hand.at += if head & 0x20 != 0 { 4 } else { 0 };
        ranges_by_hand(&mut hand, &mut row);
    } else if head & 0x20 != 0 {
        add(&mut row, "raknet.packet.is_NAK", 1);
        ranges_by_hand(&mut hand, &mut row);
    } else {
        add(&mut row, "raknet.packet.is_NAK", 0);
        add(&mut row, "raknet.packet_number", hand.little24());
        while hand.at < packet.len() {
            message_by_hand(&mut hand, &mut row);
        }
    }
    row
}

fn ranges_by_hand(hand: &mut Hand<'_>, row: &mut Row) {
    for _ in 0..hand.big(2) {
        let single = hand.big(1) != 0;
        add(row, "raknet.range.packet_number.min", hand.little24());
        if !single {
            add(row, "raknet.range.packet_number.max", hand.little24());
        }
    }
}

/// A part of a split message: id, count, index, bytes.
type Part = (u64, u64, u64, Vec<u8>);

fn message_by_hand(hand: &mut Hand<'_>, row: &mut Row) -> Option<Part> {
    let flags = hand.big(1);
    let reliability = flags >> 5;
    let is_split = flags & 0x10 != 0;
    let bits = hand.big(2);
    add(row, "raknet.message.reliability", reliability);
    add(row, "raknet.message.has_split_packet", u64::from(is_split));
    add(row, "raknet.payload.length", bits);
    if matches!(reliability, 2..=4) {
        add(row, "raknet.reliable.number", hand.little24());
    }
    if matches!(reliability, 1 | 4) {
        add(row, "raknet.sequencing.index", hand.little24());
    }
    if matches!(reliability, 1 | 3 | 4) {
        add(row, "raknet.ordering.index", hand.little24());
        add(row, "raknet.ordering.channel", hand.big(1));
    }
    let split = is_split.then(|| (hand.big(4), hand.big(2), hand.big(4)));
    let end = hand.at + bits.div_ceil(8) as usize;
    let data = hand.packet[hand.at..end].to_vec();
    hand.at = end;
    if let Some((count, id, index)) = split {
        add(row, "raknet.split.count", count);
        add(row, "raknet.split.id", id);
        add(row, "raknet.split.index", index);
        return Some((id, count, index, data));
    }
    let id = u64::from(data[0]);
    if SYSTEM_IDS.contains(&id) {
        add(row, "raknet.system.message.id", id);
    }
    None
}

/// A place in a packet; panics past the end.
struct Hand<'a> {
    packet: &'a [u8],
    at: usize,
}

impl Hand<'_> {
    fn big(&mut self, bytes: usize) -> u64 {
        let taken = &self.packet[self.at..self.at + bytes];
        self.at += bytes;
        taken
            .iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    fn little24(&mut self) -> u64 {
        let swapped = self.big(3) as u32;
        u64::from(swapped.swap_bytes() >> 8)
    }
}

/// The direction that a split message goes in, and its id.
type SplitKey = ((Endpoint, Endpoint), u64);

/// Puts split messages together without the wire.
#[derive(Default)]
struct Joiner {
    /// The parts by index.
    open: BTreeMap<SplitKey, BTreeMap<u64, Vec<u8>>>,
}

impl Joiner {
    /// The messages that this packet makes whole.
    fn add(&mut self, direction: &(Endpoint, Endpoint), packet: &[u8]) -> Vec<Vec<u8>> {
        let mut wholes = Vec::new();
        if packet.first().is_none_or(|head| head & 0xe0 != 0x80) {
            return wholes;
        }
        let mut hand = Hand { packet, at: 4 };
        while hand.at < packet.len() {
            let part = message_by_hand(&mut hand, &mut Row::new());
            let Some((id, count, index, data)) = part else {
                continue;
            };
            let parts = self.open.entry((*direction, id)).or_default();
            parts.insert(index, data);
            if parts.len() as u64 == count {
                wholes.push(parts.values().flatten().copied().collect());
                self.open.remove(&(*direction, id));
            }
        }
        wholes
    }
}

/// The rows that tshark printed: the frame's number, then a column each. Frames that its dissector
/// did not take have none.
fn rows_of_tshark(printed: &str) -> BTreeMap<u64, Row> {
    let mut rows = BTreeMap::new();
    for line in printed.lines() {
        let mut fields = line.split('\t');
        let frame = fields.next().and_then(|frame| frame.parse().ok());
        let mut row = Row::new();
        for ((name, _), values) in COLUMNS.iter().zip(fields) {
            for value in values.split(',').filter(|value| !value.is_empty()) {
                add(&mut row, name, tshark_number(value));
            }
        }
        if !row.is_empty() {
            rows.insert(frame.expect("a frame's number"), row);
        }
    }
    rows
}

fn tshark_number(text: &str) -> u64 {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    number.unwrap_or_else(|_| panic!("a number: {text}"))
}

/// Asks tshark for a capture's fields; says so where it is not installed.
fn ask_tshark(path: &Path) -> Option<String> {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(path)
        .args(["-T", "fields", "-e", "frame.number"]);
    for (name, _) in COLUMNS {
        command.args(["-e", name]);
    }
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{command:?}: {output:?}");
            Some(String::from_utf8(output.stdout).expect("tshark prints text"))
        }
        Err(error) => {
            skipped(format_args!("tshark cannot be run ({error})"));
            None
        }
    }
}
