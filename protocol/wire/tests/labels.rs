//! Labels, and fields that stand elsewhere in the packet.

use netreel_wire::{PacketFacts, Wire};
use serde_json::{Value as Json, json};

fn wire(structs: &str) -> Wire {
    let text = format!(
        "wire t {{ byte_order = little; bit_order = lsb; root = P; }}
        {structs}"
    );
    Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Names in a heap at the end of the packet, found by their offsets from its start.
const HEAP: &str = "struct P {
        count: u8;
        entries: Entry[count];
        label heap;
        names: bytes(rest);
    }
    struct Entry { offset: u8; at (8 * offset) { name: string(u8, ascii); } }";

const PACKET: [u8; 9] = [2, 6, 3, 2, b'h', b'i', 2, b'y', b'o'];

#[track_caller]
fn check_round_trip(wire: &Wire, packet: &[u8]) {
    let decoded = wire.decode(packet);
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    assert_eq!(facts, decoded.facts);
    let json = decoded.to_json();
    let encoded = wire
        .encode(&json)
        .unwrap_or_else(|error| panic!("{error}\n{json}"));
    assert_eq!(encoded.bytes, packet, "{json}");
}

#[test]
fn what_stands_elsewhere_is_read_there_and_reading_goes_on_where_it_was() {
    let decoded = wire(HEAP).decode(&PACKET);
    assert_eq!(decoded.diagnostics, []);
    let entries = json!([{"offset": 6, "name": "yo"}, {"offset": 3, "name": "hi"}]);
    let json = decoded.to_json();
    assert_eq!(json["packet"]["entries"], entries);
    assert_eq!(json["packet"]["names"], json!("02686902796f"));
    let name = decoded
        .tree
        .iter()
        .find(|node| decoded.tree.path(node.id()) == "entries[0].name");
    assert_eq!(name.map(|node| node.bits()), Some(48..72));
}

#[test]
fn a_label_is_where_it_stands() {
    let wire = wire("struct P { a: u8; b: u4; label here; c: u4; at (here) { again: u4; } }");
    let json = wire.decode(&[0, 0x5a]).to_json();
    assert_eq!(
        json["packet"],
        json!({"a": 0, "b": 10, "here": 12, "c": 5, "again": 5})
    );
}

#[test]
fn every_packet_comes_back_to_the_byte() {
    let wire = wire(HEAP);
    check_round_trip(&wire, &PACKET);
    for length in 0..PACKET.len() {
        check_round_trip(&wire, &PACKET[..length]);
    }
    for place in 0..PACKET.len() {
        for value in 0..=255 {
            let mut packet = PACKET;
            packet[place] = value;
            check_round_trip(&wire, &packet);
        }
    }
}

#[test]
fn an_edit_elsewhere_changes_what_stands_there() {
    let wire = wire(HEAP);
    let mut json: Json = wire.decode(&PACKET).to_json();
    json["packet"]["entries"][0]["name"] = json!("no");
    let encoded = wire.encode(&json).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(encoded.bytes, [2, 6, 3, 2, b'h', b'i', 2, b'n', b'o']);
}

#[test]
fn a_place_outside_the_packet_is_told() {
    let told = wire(HEAP).decode(&[1, 9, 0]).diagnostics;
    assert_eq!(told.len(), 1, "{told:?}");
    let expected = "`at (8 * offset)` is at bit 72, which is not in the 24 bits that there are";
    assert_eq!(told[0].message, expected);
}

#[test]
fn what_is_cut_elsewhere_does_not_end_the_packet() {
    let decoded = wire(HEAP).decode(&[1, 2, 9, 7]);
    assert_eq!(decoded.diagnostics.len(), 1, "{:?}", decoded.diagnostics);
    assert_eq!(decoded.diagnostics[0].path, "entries[0].name");
    assert_eq!(decoded.to_json()["packet"]["names"], json!("0907"));
}

#[test]
fn what_stands_in_itself_has_a_limit() {
    let text =
        "struct P { next: Node; } struct Node { to: u8; if (to != 255) { at (0) { n: Node; } } }";
    let decoded = wire(text).decode(&[0]);
    let deep = "structs stand deeper in each other than the limit of 32";
    assert!(
        decoded.diagnostics.iter().any(|told| told.message == deep),
        "{:?}",
        decoded.diagnostics
    );
}

#[test]
fn it_works_at_any_bit_in_every_order() {
    for (bytes, bits) in [
        ("little", "lsb"),
        ("big", "msb"),
        ("little", "msb"),
        ("big", "lsb"),
    ] {
        let text = format!(
            "wire t {{ byte_order = {bytes}; bit_order = {bits}; root = P; }}
            struct P {{ skip: u3; at (11) {{ a: u10; b: u3; }} rest: u29; }}"
        );
        let wire = Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{error}"));
        let packet = [0x35, 0xc7, 0x1e, 0x9a];
        check_round_trip(&wire, &packet);
        let mut json = wire.decode(&packet).to_json();
        json["packet"]["a"] = json!(0x155);
        let encoded = wire.encode(&json).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            wire.decode(&encoded.bytes).to_json()["packet"]["a"],
            json!(0x155)
        );
    }
}

#[test]
fn what_is_asked_of_bytes_that_stand_elsewhere_follows_an_edit_there() {
    let wire = wire(
        "struct P {
            if (peek(u8, 16) == 1) { kind: u8 = 3; } else { kind: u8 = 9; }
            a: u8; b: u8; at (16) { v: u8; }
        }",
    );
    let packet = [3, 6, 1];
    check_round_trip(&wire, &packet);
    let mut json = wire.decode(&packet).to_json();
    json["packet"]["v"] = json!(2);
    let fields = json["packet"].as_object_mut().expect("an object");
    fields.remove("kind");
    let encoded = wire.encode(&json).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(encoded.bytes, [9, 6, 2], "the other way is taken");
}

#[test]
fn a_block_elsewhere_that_asks_goes_the_way_of_what_stands_there() {
    let wire = wire(
        "struct P {
            at (16) { if (peek(u8) == 7) { seven: u8; } else { other: u16; } let after = left(); }
            a: u16; b: u8; c: u8;
        }",
    );
    check_round_trip(&wire, &[1, 2, 7, 4]);
    check_round_trip(&wire, &[1, 2, 8, 4]);
    // The block says 7, and a field over it 8: what stands last is what is asked.
    let mut json = wire.decode(&[1, 2, 7, 4]).to_json();
    json["packet"]["b"] = json!(8);
    let encoded = wire.encode(&json).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(encoded.bytes, [1, 2, 7, 4]);
}

#[test]
fn what_blocks_elsewhere_have_read_is_not_left() {
    let heap = "struct P { count: u8; entries: Entry[count]; }
        struct Entry { offset: u8; at (8 * offset) { name: string(u8, ascii); } }";
    let wire = wire(heap);
    let decoded = wire.decode(&PACKET);
    assert_eq!(decoded.diagnostics, []);
    let names: Vec<String> = decoded
        .tree
        .roots()
        .map(|id| decoded.tree.path(id))
        .collect();
    assert_eq!(names, ["P"], "and no `rest`");
    check_round_trip(&wire, &PACKET);
    // Longer names take their bytes with them.
    let mut json = decoded.to_json();
    json["packet"]["entries"][0]["name"] = json!("yours");
    let encoded = wire.encode(&json).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        encoded.bytes,
        [&[2, 6, 3, 2, b'h', b'i', 5][..], b"yours"].concat()
    );
    // One byte that nobody has read is left, with all that follows.
    let mut longer = PACKET.to_vec();
    longer.push(0);
    let decoded = wire.decode(&longer);
    assert_eq!(
        decoded.diagnostics[0].message,
        "56 bits are left after the last field"
    );
    check_round_trip(&wire, &longer);
}

#[test]
fn a_stream_inside_knows_what_was_read_of_itself() {
    let wire = wire(
        "layer Plain { transform = xor(1); }
        struct P { body: Body size(3) through Plain; tail: u8; at (16) { again: u8; } }
        struct Body { a: u8; at (8) { b: u16; } }",
    );
    let packet = [3, 4, 5, 6];
    assert_eq!(wire.decode(&packet).diagnostics, []);
    check_round_trip(&wire, &packet);
    let told = wire.decode(&[3, 4, 5, 6, 7]).diagnostics;
    assert_eq!(told[0].message, "8 bits are left after the last field");
}
