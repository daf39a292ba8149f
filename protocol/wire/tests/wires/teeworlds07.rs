//! The Teeworlds 0.7 wire on a recording of a server with two clients, beside a reader written by
//! hand below, whose Huffman code is made from the documented frequencies.

use std::collections::BTreeMap;

use netreel_wire::{Context, Decoded, Name, Value};

use crate::explained::{check_explained, small, wire};
use crate::recordings::Story;

const NAME: &str = "teeworlds07.wire";
const RECORDING: &str = "teeworlds07.pcap";

/// How often each byte is thought to stand in a packet; the end of a packet stands once.
#[rustfmt::skip]
const FREQUENCIES: [u32; 256] = [
    1073741824, 4545, 2657, 431, 1950, 919, 444, 482, 2244, 617, 838, 542, 715, 1814, 304, 240, 754,
    212, 647, 186, 283, 131, 146, 166, 543, 164, 167, 136, 179, 859, 363, 113, 157, 154, 204, 108,
    137, 180, 202, 176, 872, 404, 168, 134, 151, 111, 113, 109, 120, 126, 129, 100, 41, 20, 16, 22,
    18, 18, 17, 19, 16, 37, 13, 21, 362, 166, 99, 78, 95, 88, 81, 70, 83, 284, 91, 187, 77, 68, 52,
    68, 59, 66, 61, 638, 71, 157, 50, 46, 69, 43, 11, 24, 13, 19, 10, 12, 12, 20, 14, 9, 20, 20, 10,
    10, 15, 15, 12, 12, 7, 19, 15, 14, 13, 18, 35, 19, 17, 14, 8, 5, 15, 17, 9, 15, 14, 18, 8, 10,
    2173, 134, 157, 68, 188, 60, 170, 60, 194, 62, 175, 71, 148, 67, 167, 78, 211, 67, 156, 69,
    1674, 90, 174, 53, 147, 89, 181, 51, 174, 63, 163, 80, 167, 94, 128, 122, 223, 153, 218, 77,
    200, 110, 190, 73, 174, 69, 145, 66, 277, 143, 141, 60, 136, 53, 180, 57, 142, 57, 158, 61, 166,
    112, 152, 92, 26, 22, 21, 28, 20, 26, 30, 21, 32, 27, 20, 17, 23, 21, 30, 22, 22, 21, 27, 25,
    17, 27, 23, 18, 39, 26, 15, 21, 12, 18, 18, 27, 20, 18, 15, 19, 11, 17, 33, 12, 18, 15, 19, 18,
    16, 26, 17, 18, 9, 10, 25, 22, 22, 17, 20, 16, 6, 16, 15, 20, 14, 18, 24, 335,
];
const END: usize = 256;

#[test]
fn every_packet_of_the_recording_is_explained_and_comes_back() {
    let wire = wire(NAME);
    for (payload, decoded) in Story::new(&wire, &small(RECORDING)) {
        let place = format!("frame {}", payload.index + 1);
        check_explained(&wire, &payload.payload, &decoded, &place);
    }
}

#[test]
fn every_packet_of_the_recording_reads_as_by_hand() {
    let codes = codes_by_hand();
    let mut messages = 0;
    for (payload, decoded) in Story::new(&wire(NAME), &small(RECORDING)) {
        let by_hand = packet_by_hand(&payload.payload, &codes);
        assert_eq!(
            packet_of_wire(&decoded),
            by_hand,
            "frame {}",
            payload.index + 1
        );
        messages += by_hand.chunks.len();
    }
    assert_eq!(messages, 399, "chunks in the recording");
}

#[test]
fn the_code_is_made_from_the_documented_frequencies() {
    let wire = wire(NAME);
    let table = wire.text().split_once("codes = [").expect("the table").1;
    let table = table.split_once(']').expect("its end").0;
    let in_wire: Vec<&str> = table
        .split(',')
        .map(|code| code.trim().trim_matches('"'))
        .collect();
    assert_eq!(in_wire, codes_by_hand());
}

#[test]
fn snapshots_and_inputs_have_ticks() {
    let story = small(RECORDING);
    let wire = wire(NAME);
    let kinds: BTreeMap<String, usize> =
        Story::new(&wire, &story).fold(BTreeMap::new(), |mut counts, (_, decoded)| {
            for message in &decoded.facts.messages {
                let kind = message
                    .kind
                    .and_then(|kind| wire.kinds().get(usize::from(kind.0)));
                let name = kind.map_or("none", |kind| &kind.name);
                *counts.entry(name.to_owned()).or_default() += 1;
            }
            counts
        });
    let expected = [
        ("sys_snap_single", 149),
        ("sys_snap_empty", 36),
        ("sys_input", 77),
    ];
    for (kind, count) in expected {
        assert_eq!(kinds.get(kind), Some(&count), "{kind} in {kinds:?}");
    }
    assert_eq!(kinds.get("none"), None);
}

#[test]
fn vital_chunks_count_in_ten_bits() {
    // Two bits of the number stand in the second byte, the others in the third: chunk 1023.
    let decoded = wire(NAME).decode(b"\x00\x05\x01abcd\x40\xc1\xff\x27");
    assert_eq!(decoded.diagnostics, []);
    let message = &decoded.facts.messages[0];
    let sequence = message.reliable_sequence.expect("a number");
    assert_eq!((sequence.value, sequence.bits), (1023, 10));
    assert!(message.reliable);
}

#[test]
fn snapshots_of_several_parts_are_joined() {
    // Three removed objects, nothing else, cut after the third byte: tick 7, 2 parts.
    let part = |part: u8, data: &[u8]| {
        let mut message = vec![13, 7, 1, 2, part, 0, data.len() as u8];
        message.extend(data);
        let mut packet = b"\0\0\x01abcd".to_vec();
        packet.extend([0, message.len() as u8]);
        packet.extend(message);
        packet
    };
    let wire = wire(NAME);
    let mut state = wire.new_state();
    let context = Context::default();
    let first = wire.decode_in(&context, &mut state, &part(0, &[3, 0, 0]));
    assert_eq!(first.diagnostics, []);
    let second = wire.decode_in(&context, &mut state, &part(1, &[4, 5, 6]));
    assert_eq!(second.diagnostics, []);
    let removed = |decoded: &Decoded| {
        let nodes = decoded.tree.iter().filter(|node| {
            node.parent()
                .and_then(|parent| decoded.tree.get(parent))
                .is_some_and(|parent| parent.name() != Name::Field("whole"))
                && decoded.tree.path(node.id()).ends_with("].object")
        });
        nodes.map(|node| node.value()).collect::<Vec<_>>()
    };
    assert_eq!(removed(&first), []);
    assert_eq!(removed(&second), [4, 5, 6].map(Value::Signed));
}

/// Each snapshot comes with a sum of all numbers of all its objects, those included that did not
/// change and are not in the packet: the server worked it out from the world itself.
#[test]
fn numbers_of_snapshots_are_whole_and_add_up_to_the_servers_sum() {
    let wire = wire(NAME);
    // By direction, then by tick: the numbers of each object.
    type World = BTreeMap<i64, Vec<i64>>;
    let mut worlds = BTreeMap::new();
    let (mut summed, mut changed) = (0, 0);
    for (payload, decoded) in Story::new(&wire, &small(RECORDING)) {
        let client = payload.destination;
        let mut ticks = (0, 0);
        let mut expected = None;
        let mut world = World::new();
        let mut key = 0;
        let tree = &decoded.tree;
        for node in tree.iter() {
            let path = tree.path(node.id());
            let number = match node.value() {
                Value::Signed(number) => number,
                Value::Unsigned(number) => number as i64,
                Value::Delta { value, .. } => value.expect("a whole number") as i64,
                _ => 0,
            };
            let is_node = |end: &str| path.ends_with(end);
            match () {
                () if is_node("message.tick") => ticks.0 = number,
                () if is_node("message.delta_tick") => ticks.1 = ticks.0 - number,
                () if is_node("message.crc") => expected = Some(number),
                () if is_node("same.complete") => {
                    let base: Option<&World> = worlds.get(&(client, ticks.1));
                    assert!(
                        ticks.1 < 0 || base.is_some(),
                        "the base {} is there",
                        ticks.1
                    );
                    world = base.cloned().unwrap_or_default();
                    worlds.insert((client, ticks.0), world.clone());
                }
                () if is_node("].object") && path.contains("removed[") => {
                    world.remove(&number);
                }
                () if is_node("].type") => key = number << 16,
                () if is_node("].id") && path.contains("items[") => {
                    key |= number;
                    world.insert(key, Vec::new());
                    changed += 1;
                }
                () if is_node("].value") => world.entry(key).or_default().push(number),
                () => {}
            }
        }
        if let Some(expected) = expected {
            let sum: i64 = world.values().flatten().sum();
            assert_eq!(sum as i32, expected as i32, "frame {}", payload.index + 1);
            worlds.insert((client, ticks.0), world);
            summed += 1;
        }
    }
    assert_eq!((summed, changed), (149, 264));
}

/// What both readers have to agree on.
#[derive(Debug, Default, PartialEq)]
struct Packet {
    flags: u64,
    ack: Option<u64>,
    tokens: Vec<u64>,
    control: Option<u64>,
    /// Resent, number where vital, id, bytes.
    chunks: Vec<(bool, Option<u64>, i64, usize)>,
}

fn packet_of_wire(decoded: &Decoded) -> Packet {
    let mut packet = Packet::default();
    let mut resent = false;
    for node in decoded.tree.iter() {
        let path = decoded.tree.path(node.id());
        let step = path.rsplit('.').next().unwrap_or_default();
        let number = match node.value() {
            Value::Unsigned(number) | Value::Enum { raw: number, .. } => number,
            Value::Bool(yes) => u64::from(yes),
            Value::Flags { raw, .. } => raw,
            Value::Signed(number) => number as u64,
            _ => 0,
        };
        match step {
            "flags" if path == "flags" => packet.flags = number,
            "ack" => packet.ack = Some(number),
            "token" | "response_token" => packet.tokens.push(number),
            "id" if path == "control.id" => packet.control = Some(number),
            "resend" => resent = number != 0,
            "message" => {
                let size = (node.bits().end - node.bits().start) / 8;
                packet.chunks.push((resent, None, 0, size as usize));
            }
            "id" if path.ends_with("message.id") => {
                if let Some(chunk) = packet.chunks.last_mut() {
                    chunk.2 = number as i64;
                }
            }
            _ => {}
        }
    }
    let numbers = decoded
        .facts
        .messages
        .iter()
        .map(|message| message.reliable_sequence);
    for (chunk, number) in packet.chunks.iter_mut().zip(numbers) {
        chunk.1 = number.map(|number| number.value);
    }
    packet
}

fn packet_by_hand(bytes: &[u8], codes: &[String]) -> Packet {
    let big32 = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let mut packet = Packet {
        flags: u64::from(bytes[0] >> 2),
        ..Packet::default()
    };
    if packet.flags & 8 != 0 {
        packet.tokens = vec![big32(1).into(), big32(5).into()];
        return packet;
    }
    packet.ack = Some(u64::from(bytes[0] & 3) << 8 | u64::from(bytes[1]));
    packet.tokens = vec![big32(3).into()];
    if packet.flags & 1 != 0 {
        packet.control = Some(bytes[7].into());
        if bytes[7] == 1 || bytes[7] == 5 {
            packet.tokens.push(big32(8).into());
        }
        return packet;
    }
    let unpacked;
    let mut rest = &bytes[7..];
    if packet.flags & 4 != 0 {
        unpacked = unpack_by_hand(rest, codes);
        rest = &unpacked;
    }
    for _ in 0..bytes[2] {
        let size = usize::from(rest[0] & 63) << 6 | usize::from(rest[1] & 63);
        let vital = rest[0] & 0x40 != 0;
        let number = vital.then(|| u64::from(rest[1] >> 6) << 8 | u64::from(rest[2]));
        let data = &rest[if vital { 3 } else { 2 }..];
        // All ids fit in the six bits of a packed integer's first byte, and one in the seven after.
        let id = i64::from(data[0] & 63)
            | if data[0] & 0x80 != 0 {
                i64::from(data[1]) << 6
            } else {
                0
            };
        packet.chunks.push((rest[0] & 0x80 != 0, number, id, size));
        rest = &data[size..];
    }
    assert!(rest.is_empty(), "the chunks fill the packet");
    packet
}

/// The codes of all bytes and the end, each bit a `0` or `1`: of the two rarest nodes the rarer
/// gets `0`; where two are as rare, the one that is older in the list comes later.
fn codes_by_hand() -> Vec<String> {
    let mut nodes: Vec<(u32, Vec<usize>)> = FREQUENCIES
        .iter()
        .copied()
        .chain([1])
        .zip(0..)
        .map(|(frequency, symbol)| (frequency, vec![symbol]))
        .collect();
    let mut codes = vec![String::new(); END + 1];
    while nodes.len() > 1 {
        nodes.sort_by_key(|node| std::cmp::Reverse(node.0));
        let zero = nodes.pop().expect("two nodes");
        let one = nodes.pop().expect("two nodes");
        for (side, bit) in [(&zero, '0'), (&one, '1')] {
            for &symbol in &side.1 {
                codes[symbol].insert(0, bit);
            }
        }
        nodes.push((zero.0.saturating_add(one.0), [zero.1, one.1].concat()));
    }
    codes
}

fn unpack_by_hand(packed: &[u8], codes: &[String]) -> Vec<u8> {
    let symbols: BTreeMap<&str, usize> = codes.iter().map(String::as_str).zip(0..).collect();
    let bits: String = packed
        .iter()
        .flat_map(|byte| (0..8).map(move |bit| if byte >> bit & 1 == 1 { '1' } else { '0' }))
        .collect();
    let mut unpacked = Vec::new();
    let mut start = 0;
    for end in 1..=bits.len() {
        match symbols.get(&bits[start..end]) {
            Some(&END) => return unpacked,
            Some(&symbol) => {
                unpacked.push(symbol as u8);
                start = end;
            }
            None => {}
        }
    }
    panic!("no end in {packed:02x?}");
}
