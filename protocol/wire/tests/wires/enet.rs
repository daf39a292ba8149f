//! ENet: C programs and Godot 3, with and without range coder and checksum.

use std::collections::BTreeMap;

use netreel_wire::{Decoded, PacketFacts, Role, Wire};
use rusty_enet::{Compressor, RangeCoder};

use crate::explained::{check_explained, number, small, wire};
use crate::recordings::{Recording, Story, capture};

/// A capture, the ports of ENet in it, and how many there are of each command.
type Counted = (&'static str, &'static [u16], &'static [(u8, u32)]);

/// One command, as both readers see it: number, flags, channel, sequence, bytes of payload.
type Command = (u8, u8, u8, u16, usize);

/// How many there are of each command.
type Counts = BTreeMap<u8, u32>;

#[test]
fn every_byte_of_the_small_recordings_is_explained() {
    let counts = check(&small("enet.pcap"));
    let all: Vec<u8> = (1..=12).filter(|&command| command != 11).collect();
    assert_eq!(
        counts.into_keys().collect::<Vec<u8>>(),
        all,
        "each kind of command is there"
    );
    check(&small("enet_godot3.pcap"));
}

/// The numbers were counted with another program, too.
#[test]
fn every_byte_of_the_captures_is_explained() {
    let expected: [Counted; 3] = [
        (
            "enet_c.pcap",
            &[7777, 7778],
            &[
                (1, 3283),
                (2, 4),
                (3, 4),
                (4, 4),
                (5, 4),
                (6, 3035),
                (7, 2840),
                (8, 228),
                (9, 289),
                (10, 8),
                (12, 138),
            ],
        ),
        (
            "godot3_enet.pcap",
            &[30303],
            &[
                (1, 245),
                (2, 3),
                (3, 3),
                (4, 3),
                (5, 3),
                (6, 235),
                (9, 10772),
                (10, 6),
            ],
        ),
        (
            "gaijin_warthunder.pcap",
            &[20021],
            &[(1, 3), (2, 1), (3, 1), (6, 1)],
        ),
    ];
    for (name, ports, counts) in expected {
        if let Some(path) = capture(name) {
            let counted = check(&Recording::open(&path).of_ports(ports));
            assert_eq!(counted, counts.iter().copied().collect(), "{name}");
        }
    }
}

/// Every packet of a recording, in both readings.
fn check(recording: &Recording) -> Counts {
    let wire = wire("enet.wire");
    let mut counts = Counts::new();
    for (packet, decoded) in Story::new(&wire, recording) {
        let place = format!("frame {} of {}", packet.index + 1, recording.name);
        check_explained(&wire, &packet.payload, &decoded, &place);
        let ports = [packet.source.port(), packet.destination.port()];
        let by_hand = by_hand(&packet.payload, ports.contains(&7778));
        assert_eq!(of_wire(&decoded), by_hand, "{place}");
        check_facts(&wire, &decoded, &by_hand, &place);
        for (command, ..) in by_hand {
            *counts.entry(command).or_default() += 1;
        }
    }
    counts
}

/// The commands of the tree: every `Message` of it.
fn of_wire(decoded: &Decoded) -> Vec<Command> {
    let tree = &decoded.tree;
    let messages = tree.iter().filter(|node| node.type_name() == "Message");
    let command = |message: netreel_wire::TreeNode<'_>| {
        let path = tree.path(message.id());
        let field = |name: &str| number(decoded, &format!("{path}.{name}"));
        let flag = |name: &str| field(name).expect("a flag") as u8;
        let length = field("length").or_else(|| field("fragment.length"));
        (
            field("command").expect("a command") as u8,
            flag("is_reliable") << 1 | flag("is_unsequenced"),
            field("channel").expect("a channel") as u8,
            field("sequence")
                .or_else(|| field("after"))
                .expect("a sequence") as u16,
            length.unwrap_or_default() as usize,
        )
    };
    messages.map(command).collect()
}

/// What other rooms see of the commands.
fn check_facts(wire: &Wire, decoded: &Decoded, by_hand: &[Command], place: &str) {
    let messages = &decoded.facts.messages;
    assert_eq!(messages.len(), by_hand.len(), "{place}");
    for (message, &(command, flags, channel, sequence, length)) in messages.iter().zip(by_hand) {
        let is_reliable = flags & 2 != 0;
        assert_eq!(message.reliable, is_reliable, "{place}");
        assert_eq!(message.channel, Some(u64::from(channel)), "{place}");
        let numbered = message
            .reliable_sequence
            .map(|found| (found.value, found.bits));
        assert_eq!(
            numbered,
            is_reliable.then_some((u64::from(sequence), 16)),
            "{place}"
        );
        let kind = &wire.kinds()[usize::from(message.kind.expect("a kind").0)];
        assert_eq!(kind.role == Role::Ack, command == 1, "{place}");
        // An ack repeats the number that it acks where other commands have their own.
        let acked = message.acknowledges.map(|found| found.value);
        assert_eq!(
            acked,
            (command == 1).then_some(u64::from(sequence)),
            "{place}"
        );
        let is_fragment = matches!(command, 8 | 12);
        assert_eq!(message.fragment.is_some(), is_fragment, "{place}");
        let data = message
            .fragment_data
            .as_ref()
            .map(|place| place.bits.len() / 8);
        assert_eq!(data, is_fragment.then_some(length), "{place}");
    }
}

/// Reads a datagram without the wire.
fn by_hand(datagram: &[u8], has_checksum: bool) -> Vec<Command> {
    let is_compressed = datagram[0] & 0x40 != 0;
    let has_time = datagram[0] & 0x80 != 0;
    let head = 2 + if has_time { 2 } else { 0 } + if has_checksum { 4 } else { 0 };
    let mut unpacked = vec![0; 4096];
    let mut commands = &datagram[head..];
    if is_compressed {
        let length = RangeCoder::new().decompress(commands, &mut unpacked);
        commands = &unpacked[..length];
    }
    let mut found = Vec::new();
    while !commands.is_empty() {
        let u16_at = |at: usize| u16::from_be_bytes([commands[at], commands[at + 1]]);
        let command = commands[0] & 0xf;
        let fixed = [0, 8, 48, 44, 8, 4, 6, 8, 24, 8, 12, 16, 24][usize::from(command)];
        let length = match command {
            6 => u16_at(4),
            7 | 8 | 9 | 12 => u16_at(6),
            _ => 0,
        };
        let length = usize::from(length);
        found.push((command, commands[0] >> 6, commands[1], u16_at(2), length));
        commands = &commands[fixed + length..];
    }
    found
}

#[test]
fn random_datagrams_take_a_bounded_work() {
    let wire = wire("enet.wire");
    let mut seed = 7_u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    };
    let (mut steps, mut bytes) = (0, 0);
    let mut facts = PacketFacts::default();
    for length in (1..400).map(|nth| nth * 7 % 1400) {
        let packet: Vec<u8> = (0..length).map(|_| random()).collect();
        wire.facts(&packet, &mut facts);
        assert!(facts.steps <= 1_000_000 + 2_500 * length as u64 + 20_000);
        steps += facts.steps;
        bytes += length as u64;
    }
    assert!(steps < 1_000 * bytes, "{} a byte", steps / bytes);
}
