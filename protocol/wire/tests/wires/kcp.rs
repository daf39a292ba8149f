//! KCP: a capture of the nDPI project's, and datagrams made here.

use netreel_wire::{MessageFacts, Wire};

use crate::explained::{check_explained, check_own_tests, wire};
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
fn own_tests_pass() {
    check_own_tests("kcp.wire", 4);
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
