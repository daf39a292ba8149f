//! KCP: a capture of the nDPI project's, and datagrams made here.

use netreel_wire::{MessageFacts, Wire};

use crate::explained::{check_explained, wire};
use crate::recordings::{Recording, Story, capture};

/// One segment, as a reader by hand sees it.
#[derive(Debug, PartialEq)]
struct Segment {
    conversation: u64,
    command: u8,
    number: u64,
    length: usize,
}

#[test]
fn every_segment_of_the_capture_is_found() {
    let Some(path) = capture("kcp.pcap") else {
        return;
    };
    let recording = Recording::open(&path);
    let wire = wire("kcp.wire");
    let (mut segments, mut clocks) = (0, 0);
    for (packet, decoded) in Story::new(&wire, &recording) {
        let place = format!("frame {}", packet.index + 1);
        check_explained(&wire, &packet.payload, &decoded, &place);
        if packet.payload.starts_with(b"\xf0\x0f\xf0\x0f") {
            clocks += 1;
            continue;
        }
        let by_hand = by_hand(&packet.payload);
        assert_eq!(of_facts(&wire, &decoded.facts.messages), by_hand, "{place}");
        segments += by_hand.len();
    }
    assert_eq!((segments, clocks), (28, 24));
}

/// Segments as a program would make them, one after the other in a datagram.
#[test]
fn every_segment_of_a_made_datagram_is_found() {
    let segment = |command: u8, fragments_left: u8, number: u32, data: &[u8]| {
        let mut bytes = 7u32.to_le_bytes().to_vec();
        bytes.extend([command, fragments_left, 128, 0]);
        let length = u32::try_from(data.len()).expect("fits");
        for value in [10_000, number, 3, length] {
            bytes.extend(value.to_le_bytes());
        }
        [&bytes, data].concat()
    };
    let datagram = [
        segment(82, 0, 9, b""),
        segment(81, 1, 3, b"the first half"),
        segment(81, 0, 4, b""),
        segment(82, 0, u32::MAX, b""),
    ];
    let datagram = datagram.concat();
    let wire = wire("kcp.wire");
    let decoded = wire.decode(&datagram);
    check_explained(&wire, &datagram, &decoded, "made");
    let by_hand = by_hand(&datagram);
    let numbers: Vec<u64> = by_hand.iter().map(|segment| segment.number).collect();
    assert_eq!(numbers, [9, 3, 4, u64::from(u32::MAX)]);
    assert_eq!(of_facts(&wire, &decoded.facts.messages), by_hand);

    let asks = [segment(83, 0, 0, b""), segment(84, 0, 0, b"")].concat();
    let decoded = wire.decode(&asks);
    check_explained(&wire, &asks, &decoded, "windows");
    let numbered = |message: &&MessageFacts| message.reliable_sequence.is_some();
    assert_eq!(decoded.facts.messages.iter().filter(numbered).count(), 0);
}

fn of_facts(wire: &Wire, messages: &[MessageFacts]) -> Vec<Segment> {
    let segment = |message: &MessageFacts| {
        let kind = &wire.kinds()[usize::from(message.kind.expect("a kind").0)];
        let number = message.reliable_sequence.or(message.acknowledges);
        Segment {
            conversation: message.channel.expect("a channel"),
            command: match kind.name.as_str() {
                "push" => 81,
                "ack" => 82,
                other => panic!("{other}"),
            },
            number: number.expect("a number").value,
            length: (message.bits.len() / 8).saturating_sub(24),
        }
    };
    messages.iter().map(segment).collect()
}

fn by_hand(mut datagram: &[u8]) -> Vec<Segment> {
    let mut segments = Vec::new();
    while !datagram.is_empty() {
        let u32_at = |at: usize| u32::from_le_bytes(datagram[at..at + 4].try_into().expect("four"));
        let length = u32_at(20) as usize;
        segments.push(Segment {
            conversation: u64::from(u32_at(0)),
            command: datagram[4],
            number: u64::from(u32_at(12)),
            length,
        });
        datagram = &datagram[24 + length..];
    }
    segments
}
