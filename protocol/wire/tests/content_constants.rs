//! Texts and bytes that have to be the same in every packet.

use netreel_wire::{PacketFacts, Wire};
use serde_json::json;

fn wire(structs: &str) -> Wire {
    let text = format!(
        "wire w {{ byte_order = little; bit_order = lsb; root = Packet; }}
        const MAGIC = x\"00 ff fe\";
        {structs}"
    );
    Wire::compile("w.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// What is said of a packet.
#[track_caller]
fn check(structs: &str, packet: &[u8], expected: &[&str]) {
    let wire = wire(structs);
    let decoded = wire.decode(packet);
    let told = decoded.diagnostics.iter();
    let told: Vec<String> = told
        .map(|each| format!("{} (bit {}): {}", each.path, each.bit, each.message))
        .collect();
    assert_eq!(told, expected);
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    assert_eq!(facts, decoded.facts);
    let json = decoded.to_json();
    assert_eq!(wire.encode(&json).expect("it encodes").bytes, packet);
}

const BYTES: &str = "struct Packet { odd: u4; magic: bytes(3) = MAGIC; pad: u4; }";

#[test]
fn the_right_bytes_are_no_diagnostic() {
    check(
        "struct Packet { magic: bytes(3) = MAGIC; }",
        &[0, 0xff, 0xfe],
        &[],
    );
    check(BYTES, &[0x0a, 0xf0, 0xef, 0x0f], &[]);
}

#[test]
fn other_bytes_are_told_and_decoding_goes_on() {
    check(
        "struct Packet { magic: bytes(3) = MAGIC; after: u8; }",
        &[0, 0xff, 0xff, 1],
        &["magic (bit 0): the bytes should be 00 ff fe (3 bytes)"],
    );
    check(
        BYTES,
        &[0x0a, 0xf0, 0xef, 0x0e],
        &["magic (bit 4): the bytes should be 00 ff fe (3 bytes)"],
    );
}

#[test]
fn a_text_can_be_constant_in_every_form() {
    check(
        "struct Packet { a: string(4, ascii) = \"FLAG\"; b: string(u8, utf16le) = \"ö\"; }",
        b"FLAG\x02\xf6\x00",
        &[],
    );
    check(
        "struct Packet { a: string(zero, utf8) = \"hi\"; }",
        b"ho\0",
        &["a (bit 0): the bytes should be 68 69 (2 bytes)"],
    );
}

#[test]
fn a_constant_may_be_left_out_when_encoding() {
    let wire =
        wire("struct Packet { magic: bytes(3) = MAGIC; name: string(u8, ascii) = \"x\"; a: u8; }");
    let encoded = wire
        .encode(&json!({"packet": {"a": 7}}))
        .expect("it encodes");
    assert_eq!(encoded.bytes, [0, 0xff, 0xfe, 1, b'x', 7]);
}

#[test]
fn each_element_of_a_repeat_has_to_be_the_constant() {
    check(
        "struct Packet { magic: bytes(1)[2] = x\"07\"; }",
        &[7, 8],
        &["magic[1] (bit 8): the bytes should be 07 (1 byte)"],
    );
}
