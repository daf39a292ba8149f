//! JSON to packets: what people write and change by hand, and what is refused.

use netreel_wire::Wire;
use serde_json::{Value as Json, json};

const BOXES: &str = include_str!("../../../samples/wires/boxes.wire");

fn wire(structs: &str) -> Wire {
    let text = format!(
        "wire t {{ byte_order = little; bit_order = lsb; root = P; }}
        enum Kind : u8 {{ move = 3, gone = 7 }}
        {structs}"
    );
    Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// The packet that is made of the root's fields.
#[track_caller]
fn check(structs: &str, fields: Json, bytes: &[u8]) {
    let encoded = wire(structs).encode(&json!({ "packet": fields }));
    let encoded = encoded.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(encoded.bytes, bytes);
}

#[track_caller]
fn refused(structs: &str, fields: Json, why: &str) {
    let encoded = wire(structs).encode(&json!({ "packet": fields }));
    let error = encoded.expect_err("it should be refused");
    assert_eq!(error.to_string(), why);
}

const MOVES: &str = "struct P { magic: u8 = 0x47; count: u8; moves: Move[count]; align(16) = 0; }
    struct Move { kind: Kind; object: leb128; x: quantized(0.0, 1.0, 8); name: string(u8, utf8); }";

#[test]
fn constants_and_padding_may_be_left_out() {
    let fields =
        json!({"count": 1, "moves": [{"kind": "gone", "object": 300, "x": 1.0, "name": "a"}]});
    check(MOVES, fields, &[0x47, 1, 7, 0xac, 2, 255, 1, b'a']);
}

#[test]
fn a_name_a_number_and_both_mean_the_same_member() {
    for kind in [
        json!("move"),
        json!(3),
        json!({"raw": 3, "value": "move"}),
        json!({"raw": 3}),
    ] {
        check("struct P { kind: Kind; }", json!({ "kind": kind }), &[3]);
    }
}

#[test]
fn integers_of_64_bits_may_be_texts() {
    let fields = json!({"a": "18446744073709551615", "b": "-9223372036854775808"});
    let bytes = [[0xff; 8], [0, 0, 0, 0, 0, 0, 0, 0x80]].concat();
    check("struct P { a: u64; b: i64; }", fields, &bytes);
}

#[test]
fn a_changed_value_is_written_in_its_place() {
    let text = "struct P { a: u3; b: i5; c: f32; }";
    let packet = [0b1111_1010, 0, 0, 0xc0, 0x3f];
    let mut json = wire(text).decode(&packet).to_json();
    assert_eq!(json, json!({"packet": {"a": 2, "b": -1, "c": 1.5}}));
    json["packet"]["b"] = json!(-16);
    let encoded = wire(text).encode(&json).expect("a packet");
    assert_eq!(encoded.bytes, [0b1000_0010, 0, 0, 0xc0, 0x3f]);
}

#[test]
fn an_overlong_varint_keeps_its_width() {
    let text = "struct P { a: leb128; b: string(leb128, utf8); }";
    let packet = [0x85, 0x80, 0x00, 0x81, 0x00, b'x'];
    let json = wire(text).decode(&packet).to_json();
    let expected = json!({"a": {"value": 5, "bits": 24}, "b": {"value": "x", "prefix_bits": 16}});
    assert_eq!(json["packet"], expected);
    assert_eq!(wire(text).encode(&json).expect("a packet").bytes, packet);
}

#[test]
fn what_a_number_of_bits_cannot_hold_is_refused() {
    refused(
        "struct P { a: u4; }",
        json!({"a": 16}),
        "a: 16 does not fit 4 bits",
    );
    refused(
        "struct P { a: i4; }",
        json!({"a": 8}),
        "a: 8 does not fit 4 bits",
    );
    refused(
        "struct P { a: u4; }",
        json!({"a": -1}),
        "a: -1 is not 0 to 2^64 - 1",
    );
    let quantized = "struct P { a: quantized(-1.0, 1.0, 8); }";
    refused(
        quantized,
        json!({"a": 1.5}),
        "a: 1.5 is not between -1 and 1",
    );
}

#[test]
fn a_count_that_disagrees_is_refused_with_both_numbers() {
    let fields = json!({"count": 2, "moves": []});
    refused(
        MOVES,
        fields,
        "moves: it has 0 elements, and its count is 2",
    );
}

#[test]
fn unknown_fields_and_members_are_refused_with_what_is_near() {
    refused(
        "struct P { sequence: u8; }",
        json!({"sequence": 1, "sequnce": 2}),
        "sequnce: there is no such field here; did you mean `sequence`?",
    );
    refused(
        "struct P { kind: Kind; }",
        json!({"kind": "mvoe"}),
        "kind: the enum has no member `mvoe`; did you mean `move`?",
    );
}

#[test]
fn all_missing_fields_are_named_with_their_paths() {
    let fields = json!({"count": 1, "moves": [{"kind": "gone"}]});
    let missing = "moves[0].object: the field is missing
moves[0].x: the field is missing
moves[0].name: the field is missing";
    refused(MOVES, fields, missing);
}

#[test]
fn a_cut_packet_comes_back_as_it_was_cut() {
    let wire = Wire::compile("boxes.wire", BOXES).unwrap_or_else(|error| panic!("{error}"));
    let packet = [0xb0, 0x21, 1, 0, 2, 0x04, 0x03, 0x81];
    for length in 0..=packet.len() {
        let packet = &packet[..length];
        let json = wire.decode(packet).to_json();
        assert_eq!(
            wire.encode(&json).expect("a packet").bytes,
            packet,
            "{json}"
        );
    }
}
