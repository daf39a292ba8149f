//! Minetest 5.6.1: a server and a client with random input.

use std::collections::BTreeMap;

use netreel_wire::{Decoded, Name, Value, Wire};

use crate::explained::{check_explained, small, wire};
use crate::recordings::{Recording, Story, capture};

/// A message, as both readers see it.
#[derive(Debug, PartialEq)]
struct Message {
    sender: u64,
    channel: u64,
    reliable: Option<u64>,
    kind: u64,
    acked: Option<u64>,
    /// Sequence, count, index, bytes.
    split: Option<(u64, u64, u64, usize)>,
}

#[test]
fn every_byte_of_the_small_recording_is_explained() {
    let joined = check(&small("minetest.pcap"));
    assert_eq!(joined, BTreeMap::from([(0x40020, 2)]), "pieces of the map");
}

/// The commands of the split messages were counted with another program, too.
#[test]
fn every_byte_of_the_capture_is_explained() {
    if let Some(path) = capture("minetest.pcap") {
        let joined = check(&Recording::open(&path));
        let expected = [
            (0x30040, 1),
            (0x40020, 172),
            (0x40038, 129),
            (0x4003a, 1),
            (0x4003c, 1),
            (0x4003d, 1),
            (0x40042, 1),
            (0x40043, 1),
        ];
        assert_eq!(joined, BTreeMap::from(expected));
    }
}

/// Every packet of a recording, in both readings; how many split messages became whole, by command.
fn check(recording: &Recording) -> BTreeMap<u64, u32> {
    let wire = wire("minetest.wire");
    let mut by_command = BTreeMap::new();
    let mut open = BTreeMap::new();
    for (packet, decoded) in Story::new(&wire, recording) {
        let place = format!("frame {} of {}", packet.index + 1, recording.name);
        check_explained(&wire, &packet.payload, &decoded, &place);
        let by_hand = by_hand(&packet.payload);
        assert_eq!(of_facts(&wire, &decoded), by_hand, "{place}");
        let whole = join_by_hand(&mut open, &by_hand, &packet.payload);
        let joined = decoded
            .tree
            .iter()
            .find(|node| node.name() == Name::Field("whole"));
        let joined = joined.and_then(|node| decoded.tree.stream(node.stream()));
        assert!(joined == whole.as_deref(), "{place}: another whole");
        if let Some(whole) = whole {
            let from = if by_hand.sender == 1 {
                0x40000
            } else {
                0x30000
            };
            let command = from + u64::from(whole[0]) * 256 + u64::from(whole[1]);
            *by_command.entry(command).or_default() += 1;
        }
    }
    by_command
}

fn of_facts(wire: &Wire, decoded: &Decoded) -> Message {
    let [message] = decoded.facts.messages.as_slice() else {
        panic!("one message: {:?}", decoded.facts.messages)
    };
    let kind = decoded
        .tree
        .iter()
        .find(|node| node.annotation() == Some("message_kind"));
    let Some(Value::Enum { raw: kind, name }) = kind.map(|node| node.value()) else {
        panic!("a kind: {kind:?}")
    };
    let in_facts = message
        .kind
        .map(|kind| wire.kinds()[usize::from(kind.0)].name.clone());
    assert_eq!(in_facts.as_deref(), name.as_deref());
    let split = message.fragment.map(|(index, count)| {
        let bytes = message.fragment_data.as_ref().expect("data").bits.len() / 8;
        (message.fragment_id.expect("an id"), count, index, bytes)
    });
    Message {
        sender: decoded.facts.sender.expect("a sender"),
        channel: message.channel.expect("a channel"),
        reliable: message.reliable_sequence.map(|number| number.value),
        kind,
        acked: message.acknowledges.map(|number| number.value),
        split,
    }
}

/// Reads a packet without the wire.
fn by_hand(packet: &[u8]) -> Message {
    let number = |at: usize| u64::from(packet[at]) << 8 | u64::from(packet[at + 1]);
    let sender = number(4);
    let is_reliable = packet[7] == 3;
    let at = if is_reliable { 10 } else { 7 };
    let mut acked = None;
    let mut split = None;
    let kind = match packet[at] {
        0 => {
            acked = (packet[at + 1] == 0).then(|| number(at + 2));
            0x10000 + u64::from(packet[at + 1])
        }
        1 if packet.len() == at + 1 => 0x20001,
        1 => number(at + 1) + if sender == 1 { 0x40000 } else { 0x30000 },
        2 => {
            let bytes = packet.len() - at - 7;
            split = Some((number(at + 1), number(at + 3), number(at + 5), bytes));
            0x20000
        }
        other => panic!("type {other}"),
    };
    Message {
        sender,
        channel: u64::from(packet[6]),
        reliable: is_reliable.then(|| number(8)),
        kind,
        acked,
        split,
    }
}

/// By sender, channel and sequence, the parts by index.
type Open = BTreeMap<(u64, u64, u64), BTreeMap<u64, Vec<u8>>>;

/// The message that this packet makes whole.
fn join_by_hand(open: &mut Open, message: &Message, packet: &[u8]) -> Option<Vec<u8>> {
    let (sequence, count, index, length) = message.split?;
    let key = (message.sender, message.channel, sequence);
    let parts = open.entry(key).or_default();
    parts.insert(index, packet[packet.len() - length..].to_vec());
    if parts.len() as u64 != count {
        return None;
    }
    let parts = open.remove(&key)?;
    Some(parts.into_values().flatten().collect())
}
