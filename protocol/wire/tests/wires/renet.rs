//! renet 2.0.1, plain: what the core of the crate sends.

use std::collections::BTreeMap;

use netreel_wire::{Decoded, PacketFacts, Wire};

use crate::explained::{check_explained, number, small, wire};
use crate::recordings::{Recording, Story, capture};

/// A packet, as a reader by hand sees it.
#[derive(Debug, Default, PartialEq)]
struct Packet {
    kind: u8,
    sequence: u64,
    acked: Vec<(u64, u64)>,
    messages: Vec<Message>,
}

/// The number (of a slice, that of its message), the slice's index and count, bytes of payload.
#[derive(Debug, PartialEq)]
struct Message {
    channel: u64,
    number: Option<u64>,
    slice: Option<(u64, u64)>,
    length: u64,
}

#[test]
fn every_byte_of_the_small_recording_is_explained() {
    let kinds = check(&small("renet.pcap"));
    assert_eq!(kinds.into_keys().collect::<Vec<u8>>(), [0, 1, 2, 4]);
}

/// The numbers were counted with another program, too.
#[test]
fn every_byte_of_the_capture_is_explained() {
    if let Some(path) = capture("renet.pcap") {
        let kinds = check(&Recording::open(&path).of_ports(&[5000]));
        assert_eq!(
            kinds,
            BTreeMap::from([(0, 504), (1, 1692), (2, 360), (4, 3489)])
        );
    }
}

#[test]
fn ranges_of_acks_are_told_from_each_other() {
    let wire = wire("renet.wire");
    // Counted down: 1000 to 1009, then 995, then 0 to 992.
    let packet = b"\x04\x00\x43\xf1\x09\x02\x03\x00\x01\x43\xe0";
    let expected = [(1000, 1009), (995, 995), (0, 992)];
    let decoded = wire.decode(packet);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(by_hand(packet).acked, expected);
    assert_eq!(decoded.facts.ack_ranges, expected);
}

/// Every packet of a recording, in both readings; how many there are of each kind.
fn check(recording: &Recording) -> BTreeMap<u8, u32> {
    let wire = wire("renet.wire");
    let mut kinds = BTreeMap::new();
    for (packet, decoded) in Story::new(&wire, recording) {
        let place = format!("frame {} of {}", packet.index + 1, recording.name);
        check_explained(&wire, &packet.payload, &decoded, &place);
        let by_hand = by_hand(&packet.payload);
        assert_eq!(of_facts(&decoded), by_hand, "{place}");
        check_kinds(&wire, &decoded.facts, by_hand.kind, &place);
        *kinds.entry(by_hand.kind).or_default() += 1;
    }
    kinds
}

fn check_kinds(wire: &Wire, facts: &PacketFacts, kind: u8, place: &str) {
    let names = [
        "reliable",
        "unreliable",
        "reliable_slice",
        "unreliable_slice",
    ];
    for message in &facts.messages {
        let found = &wire.kinds()[usize::from(message.kind.expect("a kind").0)];
        assert_eq!(
            Some(&found.name.as_str()),
            names.get(usize::from(kind)),
            "{place}"
        );
        assert_eq!(message.reliable, kind == 0 || kind == 2, "{place}");
    }
}

fn of_facts(decoded: &Decoded) -> Packet {
    let facts = &decoded.facts;
    let messages = facts.messages.iter().enumerate().map(|(index, message)| {
        let is_slice = message.fragment.is_some();
        let path = match is_slice {
            true => "slice".to_owned(),
            false => format!("messages[{index}]"),
        };
        let field = |name: &str| number(decoded, &format!("{path}.{name}"));
        let ordered = message.ordered_sequence.map(|order| order.value);
        if message.reliable && message.channel != Some(1) {
            assert_eq!(ordered, field("number"), "the order is that of the numbers");
        }
        assert_eq!(ordered.is_some(), message.reliable_sequence.is_some());
        Message {
            channel: message.channel.expect("a channel"),
            number: field("number"),
            slice: message.fragment,
            length: field("length").expect("a length"),
        }
    });
    Packet {
        kind: number(decoded, "kind").expect("a kind") as u8,
        sequence: facts.sequence.expect("a sequence").value,
        acked: facts.ack_ranges.clone(),
        messages: messages.collect(),
    }
}

/// Reads a packet without the wire.
fn by_hand(packet: &[u8]) -> Packet {
    let mut hand = Hand { packet, at: 0 };
    let kind = hand.take(1) as u8;
    let mut found = Packet {
        kind,
        sequence: hand.varint(),
        ..Packet::default()
    };
    if kind == 4 {
        let last = hand.varint();
        let mut first = last - hand.varint();
        found.acked.push((first, last));
        for _ in 0..hand.varint() {
            let last = first - hand.varint() - 2;
            first = last - hand.varint();
            found.acked.push((first, last));
        }
    } else {
        let channel = hand.take(1);
        let count = if kind < 2 { hand.take(2) } else { 1 };
        for _ in 0..count {
            let number = (kind != 1).then(|| hand.varint());
            let slice = (kind >= 2).then(|| (hand.varint(), hand.varint()));
            let length = hand.varint();
            hand.at += length as usize;
            found.messages.push(Message {
                channel,
                number,
                slice,
                length,
            });
        }
    }
    assert_eq!(hand.at, packet.len(), "by hand to the end");
    found
}

/// A place in a packet; panics past the end.
struct Hand<'a> {
    packet: &'a [u8],
    at: usize,
}

impl Hand<'_> {
    fn take(&mut self, bytes: usize) -> u64 {
        let taken = &self.packet[self.at..self.at + bytes];
        self.at += bytes;
        taken
            .iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    fn varint(&mut self) -> u64 {
        let bytes = 1 << (self.packet[self.at] >> 6);
        self.take(bytes) & ((1 << (8 * bytes - 2)) - 1)
    }
}
