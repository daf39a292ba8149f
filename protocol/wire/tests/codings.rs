//! Values that are more than a row of bits: byte orders, varints, vectors, rotations, UUIDs.

mod reading;

use netreel_wire::{TreeId, Value};
use reading::{check, check_told, decode, encode, lines, wire, wire_in};
use serde_json::json;

#[test]
fn an_explicit_byte_order_holds_in_every_stream() {
    let body = "struct P { a: u16be; b: u16le; c: i24be; d: f32be = x; e: u16; }";
    let body = body.replace(" = x", "");
    let packet = [1, 2, 1, 2, 0xff, 0xff, 0xfe, 0x3f, 0x80, 0, 0, 1, 2];
    for (byte_order, bit_order, last) in [
        ("little", "lsb", 0x0201),
        ("big", "msb", 0x0102),
        ("little", "msb", 0x0201),
        ("big", "lsb", 0x0102),
    ] {
        let wire = wire_in(byte_order, bit_order, &body);
        let decoded = decode(&wire, &packet);
        let expected = [
            "a = 258".to_owned(),
            "b = 513".to_owned(),
            "c = -2".to_owned(),
            "d = 1".to_owned(),
            format!("e = {last}"),
        ];
        assert_eq!(lines(&decoded), expected, "{byte_order} {bit_order}");
    }
}

#[test]
fn an_explicit_byte_order_inside_a_byte_runs_as_the_stream_says() {
    let body = "struct P { before: u4; a: u16be; after: u4; }";
    let decoded = decode(&wire_in("little", "msb", body), &[0xa1, 0x23, 0x4b]);
    assert_eq!(lines(&decoded), ["before = 10", "a = 4660", "after = 11"]);
    let decoded = decode(&wire_in("little", "lsb", body), &[0x2a, 0x41, 0xb3]);
    assert_eq!(lines(&decoded), ["before = 10", "a = 4660", "after = 11"]);
}

#[test]
fn enums_constants_and_annotations_take_explicit_orders_and_varints() {
    let wire = wire(
        "enum K : u16be { a = 1, b = 0x102 }
         struct P { sequence: u24be @sequence; k: K; m: u16be = 0xbeef; q: quic_varint @ack; }",
    );
    let decoded = decode(&wire, &[0, 1, 2, 1, 2, 0xbe, 0xef, 0x40, 0x25]);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(
        decoded.facts.sequence.map(|s| (s.value, s.bits)),
        Some((258, 24))
    );
    assert_eq!(decoded.facts.ack.map(|s| (s.value, s.bits)), Some((37, 62)));
    assert_eq!(lines(&decoded)[1], "k = b (258)");
    let decoded = decode(&wire, &[0, 1, 2, 1, 2, 0xbe, 0xee, 0x25]);
    assert_eq!(decoded.diagnostics[0].path, "m");
}

#[test]
fn a_range_is_spelled_with_its_ends() {
    check(
        "const HIGH = 1023; struct P { a: 0..=HIGH; b: -3..=4; c: 1..=8; }",
        &[0xff, 0b0001_1011],
        &["a = 1023", "b = 3", "c = 1"],
    );
}

#[test]
fn every_varint_says_its_value() {
    check(
        "struct P { a: sleb128; b: vlq; c: prefix_varint; d: quic_varint; e: packed_int; f: zigzag; }",
        &[0x80, 0x7f, 0x81, 0x00, 0x80, 0x80, 0x7b, 0xbd, 0x41, 0x03],
        &[
            "a = -128",
            "b = 128",
            "c = 128",
            "d = 15293",
            "e = -2",
            "f = -2",
        ],
    );
    check(
        "struct P { a: ubitvar; b: quake_float; c: quake_float; align(8) = 0; }",
        // 16 + 5, 3; 0 and 4096 + 10; 1 and 1.5f32.
        &pack(&[
            (0x15, 6),
            (3, 4),
            (0, 1),
            (4106, 13),
            (1, 1),
            (0x3fc0_0000, 32),
        ]),
        &["a = 53", "b = 10", "c = 1.5", "padding = 0"],
    );
    check(
        "struct P { a: compressed(u32le); b: compressed(i16le); align(8) = 0; }",
        &pack(&[(0b1111, 4), (5, 4), (0b11, 2), (0xd, 4)]),
        &["a = 5", "b = -3", "padding = 0"],
    );
}

/// Values and their widths, the lowest bits first.
fn pack(values: &[(u64, u32)]) -> Vec<u8> {
    let bits = values
        .iter()
        .flat_map(|&(value, width)| (0..width).map(move |bit| value >> bit & 1));
    let bits: Vec<u64> = bits.collect();
    let byte = |bits: &[u64]| {
        let places = bits.iter().enumerate();
        places.fold(0, |byte, (place, bit)| byte | (*bit as u8) << place)
    };
    bits.chunks(8).map(byte).collect()
}

#[test]
fn a_varint_that_is_too_long_or_cut_stops_there() {
    check_told(
        "struct P { a: u8; v: packed_int; }",
        &[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ("v", 8, "the integer needs more than 32 bits"),
    );
    check_told(
        "struct P { v: quic_varint; }",
        &[0xc0, 1],
        (
            "v",
            0,
            "`quic_varint` needs 24 bits, 16 are left before the packet's end",
        ),
    );
}

#[test]
fn the_length_of_a_text_is_any_unsigned_integer() {
    check(
        "struct P { a: string(u16be, utf8); b: string(quic_varint, ascii); }",
        &[0, 2, b'h', b'i', 0x40, 0x01, b'x'],
        &["a = \"hi\"", "b = \"x\""],
    );
}

#[test]
fn a_vector_is_a_node_with_its_components() {
    check(
        "struct P { a: vec3(i8)[2]; b: vec2(quantized(0.0, 255.0, 8)); c: vec4(u16be); }",
        &[1, 2, 0xff, 4, 5, 6, 7, 8, 0, 1, 0, 2, 0, 3, 0, 4],
        &[
            "a[0].x = 1",
            "a[0].y = 2",
            "a[0].z = -1",
            "a[1].x = 4",
            "a[1].y = 5",
            "a[1].z = 6",
            "b.x = 7.0000 (raw 7)",
            "b.y = 8.0000 (raw 8)",
            "c.x = 1",
            "c.y = 2",
            "c.z = 3",
            "c.w = 4",
        ],
    );
    let wire = wire("struct P { at: vec2(u8); if (at.x > 1) { far: u8; } }");
    assert_eq!(lines(&decode(&wire, &[2, 0, 9]))[2], "far = 9");
    let node = decode(&wire, &[1, 0])
        .tree
        .get(TreeId(1))
        .map(|n| n.type_name().to_owned());
    assert_eq!(node.as_deref(), Some("vec2(u8)"));
}

#[test]
fn a_rotation_says_its_quaternion_and_its_angles() {
    // The largest is w, the others are 0 as far as nine bits can say it.
    let wire = wire("struct P { r: smallest_three(9, zyx); align(8) = 0; }");
    let packet = pack(&[(3, 2), (255, 9), (255, 9), (256, 9), (0, 3)]);
    let decoded = decode(&wire, &packet);
    let value = decoded.tree.get(TreeId(1)).map(|node| node.value());
    let Some(Value::Rotation {
        quaternion,
        euler_degrees,
        axes,
        ..
    }) = value
    else {
        panic!("{value:?}");
    };
    assert!(quaternion[3] > 0.999, "{quaternion:?}");
    assert!(
        euler_degrees.iter().all(|angle| angle.abs() < 0.2),
        "{euler_degrees:?}"
    );
    assert_eq!(axes.name(), "zyx");
    let turned = encode(
        &wire,
        json!({ "packet": { "r": { "value": { "x": 0.0, "y": 0.0, "z": 1.0, "w": 0.0 } } } }),
    );
    assert_eq!(turned[0] & 3, 2);
}

#[test]
fn uuids_and_hashes_are_shown_whole() {
    let mut packet: Vec<u8> = (0..16).collect();
    packet.extend([0xab; 20]);
    check(
        "struct P { id: uuid; sum: hash(20); }",
        &packet,
        &[
            "id = 00010203-0405-0607-0809-0a0b0c0d0e0f",
            &format!("sum = {}", "ab".repeat(20)),
        ],
    );
    let wire = wire("struct P { id: uuid; }");
    let id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    assert_eq!(
        encode(&wire, json!({ "packet": { "id": id } }))[..2],
        [0xf8, 0x1d]
    );
}

#[test]
fn integers_of_128_bits_keep_every_bit_in_every_order() {
    let packet: Vec<u8> = (0..16).collect();
    let (low, high) = (
        "0x0f0e0d0c0b0a09080706050403020100",
        "0x000102030405060708090a0b0c0d0e0f",
    );
    for (spelled, expected) in [("u128", low), ("u128le", low), ("u128be", high)] {
        let body = format!("struct P {{ id: {spelled}; }}");
        check(&body, &packet, &[&format!("id = {expected}")]);
        let bytes = encode(&wire(&body), json!({ "packet": { "id": expected } }));
        assert_eq!(bytes, packet, "{spelled}");
    }
}

#[test]
fn integers_of_128_bits_begin_at_any_bit() {
    let body = "struct P { a: u3; id: u128; b: u5; }";
    let json = json!({ "packet": { "a": 5, "id": u128::MAX.to_string(), "b": 0 } });
    let bytes = encode(&wire(body), json);
    assert_eq!(bytes.len(), 17);
    check(
        body,
        &bytes,
        &["a = 5", "id = 0xffffffffffffffffffffffffffffffff", "b = 0"],
    );
}

#[test]
fn a_packet_says_the_order_of_an_integer_of_128_bits() {
    let body =
        "struct P { big: bool; align(8) = 0; byte_order = if (big) big else little; id: u128; }";
    for big in [0, 1] {
        let mut packet = vec![big];
        packet.extend([0; 16]);
        packet[if big == 1 { 16 } else { 1 }] = 9;
        check(
            body,
            &packet,
            &[&format!("big = {}", big == 1), "padding = 0", "id = 9"],
        );
    }
}

#[test]
fn an_integer_past_128_bits_is_refused() {
    let wire = wire("struct P { id: u128; }");
    for text in [
        "340282366920938463463374607431768211456",
        "-1",
        "0x1g",
        "1.5",
    ] {
        let refused = wire.encode(&json!({ "packet": { "id": text } }));
        let why = refused.expect_err("it does not fit").to_string();
        assert!(why.contains("is not 0 to 2^128 - 1"), "{why}");
    }
}

#[test]
fn a_writer_rounds_a_quantized_float_as_the_wire_says() {
    for (rounding, raw) in [
        ("", 130),
        (", down", 129),
        (", up", 130),
        (", toward_zero", 129),
    ] {
        let wire = wire(&format!(
            "struct P {{ a: quantized(0.0, 255.0, 8{rounding}); }}"
        ));
        let bytes = encode(&wire, json!({ "packet": { "a": 129.6 } }));
        assert_eq!(bytes, [raw], "{rounding}");
    }
}

#[test]
fn flags_say_the_names_of_their_bits() {
    let body = "flags F : u8 { reliable = 0x01, ordered, last = 0x80 }
                struct P { f: F; if (f.last && !f.reliable) { x: u8; } if (f & F.ordered != 0) { y: u8; } }";
    check(
        body,
        &[0x82, 5, 6],
        &["f = ordered | last (0x82)", "x = 5", "y = 6"],
    );
    check(body, &[0x45], &["f = reliable | 0x44 (0x45)"]);
    check(body, &[0], &["f = none (0x0)"]);
    let wire = wire(body);
    let json = json!({ "packet": { "f": { "value": ["last", "0x40"] }, "x": 7 } });
    assert_eq!(encode(&wire, json), [0xc0, 7]);
    let wrong = wire.encode(&json!({ "packet": { "f": { "value": ["lost"] } } }));
    let why = wrong.expect_err("no such bit").to_string();
    assert!(
        why.contains("there is no bit \"lost\"; did you mean `last`?"),
        "{why}"
    );
}
