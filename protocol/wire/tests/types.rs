//! Every type, from bits to values: one table a type.

mod packing;

use netreel_wire::{Tree, TreeId, Value, Wire};
use packing::Bits;

/// A wire with one struct, little and lsb.
fn wire(body: &str) -> Wire {
    let text = format!(
        "wire t {{ version = 1; byte_order = little; bit_order = lsb; root = P; }}\n{body}"
    );
    Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// `path = value` of every field that says something, in wire order.
fn lines(tree: &Tree) -> Vec<String> {
    let ids = (0..tree.len() as u32).map(TreeId);
    let said = ids.filter_map(|id| {
        let value = tree.get(id)?.value();
        (value != Value::None).then(|| format!("{} = {value:?}", tree.path(id)))
    });
    said.collect()
}

/// Decodes a packet without a diagnostic.
fn decode(wire: &Wire, packet: &[u8]) -> Vec<String> {
    let decoded = wire.decode(packet);
    assert_eq!(decoded.diagnostics, []);
    lines(&decoded.tree)
}

/// One field of a type, its bits on the wire, and what it says.
fn check(spelled: &str, bits: Bits, expected: Value) {
    // Three bits before it: no type cares where it stands.
    let wire = wire(&format!(
        "struct P {{ before: u3; a: {spelled}; align(8) = 0; }}"
    ));
    let mut whole = Bits::new().put(5, 3);
    for bit in 0..bits.len() {
        whole = whole.put(
            u64::from(bits.packet()[bit as usize / 8] >> (bit % 8) & 1),
            1,
        );
    }
    let decoded = wire.decode(&whole.packet());
    assert_eq!(decoded.diagnostics, [], "{spelled}");
    let field = decoded.tree.get(TreeId(2)).expect("the field");
    assert_eq!(field.value(), expected, "{spelled}");
    assert_eq!(field.bits(), 3..3 + bits.len(), "{spelled}");
    assert_eq!(field.type_name(), spelled);
}

/// A packet, the path and the text of its only diagnostic.
fn told(body: &str, packet: &[u8]) -> (String, u32, String) {
    let decoded = wire(body).decode(packet);
    assert_eq!(decoded.diagnostics.len(), 1, "{:?}", decoded.diagnostics);
    let diagnostic = decoded.diagnostics.into_iter().next().expect("one");
    (diagnostic.path, diagnostic.bit, diagnostic.message)
}

fn check_told(body: &str, packet: &[u8], path: &str, bit: u32, message: &str) {
    assert_eq!(
        told(body, packet),
        (path.to_owned(), bit, message.to_owned())
    );
}

fn bits(value: u64, width: u32) -> Bits {
    Bits::new().put(value, width)
}

#[test]
fn unsigned_integers() {
    check("u1", bits(1, 1), Value::Unsigned(1));
    check("u7", bits(0x55, 7), Value::Unsigned(0x55));
    check("u16", bits(0xbeef, 16), Value::Unsigned(0xbeef));
    check(
        "u33",
        bits(0x1_2345_6789, 33),
        Value::Unsigned(0x1_2345_6789),
    );
    check("u64", bits(u64::MAX - 1, 64), Value::Unsigned(u64::MAX - 1));
}

#[test]
fn signed_integers() {
    check("i1", bits(1, 1), Value::Signed(-1));
    check("i5", bits(0b10000, 5), Value::Signed(-16));
    check("i5", bits(0b01111, 5), Value::Signed(15));
    check("i64", bits(1 << 63, 64), Value::Signed(i64::MIN));
}

#[test]
fn truth_values() {
    check("bool", bits(1, 1), Value::Bool(true));
    check("bool", bits(0, 1), Value::Bool(false));
}

#[test]
fn ranges_take_the_bits_that_they_need() {
    check("range(0, 100)", bits(100, 7), Value::Unsigned(100));
    check("range(0, 127)", bits(127, 7), Value::Unsigned(127));
    check("range(10, 11)", bits(1, 1), Value::Unsigned(11));
    check("range(-5, 5)", bits(0, 4), Value::Signed(-5));
    check("range(-5, 5)", bits(10, 4), Value::Signed(5));
    check(
        "range(0, 0xffffffffffffffff)",
        bits(u64::MAX, 64),
        Value::Unsigned(u64::MAX),
    );
    let low = i64::MIN;
    let whole = format!("range({low}, {})", i64::MAX);
    check(&whole, bits(0, 64), Value::Signed(low));
}

#[test]
fn leb128_takes_seven_bits_a_byte() {
    check("leb128", bits(0, 8), Value::Unsigned(0));
    check("leb128", bits(0x7f, 8), Value::Unsigned(127));
    check(
        "leb128",
        Bits::new().bytes(&[0xac, 0x02]),
        Value::Unsigned(300),
    );
    check(
        "leb128",
        Bits::new().bytes(&[0x80, 0x00]),
        Value::Unsigned(0),
    );
    check(
        "leb128",
        Bits::new().leb128(u64::MAX),
        Value::Unsigned(u64::MAX),
    );
}

#[test]
fn zigzag_alternates() {
    for (raw, expected) in [(0, 0), (1, -1), (2, 1), (3, -2), (300, 150)] {
        check("zigzag", Bits::new().leb128(raw), Value::Signed(expected));
    }
    check(
        "zigzag",
        Bits::new().leb128(u64::MAX),
        Value::Signed(i64::MIN),
    );
    check(
        "zigzag",
        Bits::new().leb128(u64::MAX - 1),
        Value::Signed(i64::MAX),
    );
}

#[test]
fn floats() {
    check("f16", bits(0x3c00, 16), Value::Float(1.0));
    check("f16", bits(0xc000, 16), Value::Float(-2.0));
    check("f16", bits(0x0001, 16), Value::Float(2f64.powi(-24)));
    check("f16", bits(0x7bff, 16), Value::Float(65504.0));
    check("f16", bits(0x7c00, 16), Value::Float(f64::INFINITY));
    check(
        "f32",
        bits(f32::to_bits(-0.1).into(), 32),
        Value::Float((-0.1f32).into()),
    );
    check("f64", bits(f64::to_bits(1e300), 64), Value::Float(1e300));
}

#[test]
fn quantised_floats_reach_both_ends() {
    let quantized = |raw, value| Value::Quantized { raw, value };
    check(
        "quantized(-512.0, 512.0, 20)",
        bits(0, 20),
        quantized(0, -512.0),
    );
    check(
        "quantized(-512.0, 512.0, 20)",
        bits(0xf_ffff, 20),
        quantized(0xf_ffff, 512.0),
    );
    check("quantized(0, 3, 2)", bits(2, 2), quantized(2, 2.0));
}

#[test]
fn texts_carry_their_length() {
    let text = |text: &str| Value::Text(text.to_owned());
    check("string(u8, utf8)", Bits::new().text("größe"), text("größe"));
    check("string(u3, ascii)", bits(2, 3).bytes(b"ab"), text("ab"));
    check(
        "string(leb128, latin1)",
        Bits::new().bytes(&[1, 0xe4]),
        text("ä"),
    );
    check("string(2, utf8)", Bits::new().bytes(b"hi"), text("hi"));
    check(
        "bytes(3)",
        Bits::new().bytes(&[1, 2, 255]),
        Value::Bytes(vec![1, 2, 255]),
    );
}

#[test]
fn enums_name_their_members() {
    let wire = wire("enum K : u4 { a, b = 7, c } struct P { x: K; y: K; }");
    assert_eq!(
        decode(&wire, &[0x78]),
        [
            "x = Enum { raw: 8, name: Some(\"c\") }",
            "y = Enum { raw: 7, name: Some(\"b\") }",
        ]
    );
    assert_eq!(decode(&wire, &[0x09])[0], "x = Enum { raw: 9, name: None }");
}

#[test]
fn byte_and_bit_orders() {
    let cases = [
        (
            "little",
            "lsb",
            "a = Unsigned(2) b = Unsigned(833) c = Unsigned(17459)",
        ),
        (
            "big",
            "msb",
            "a = Unsigned(1) b = Unsigned(564) c = Unsigned(13124)",
        ),
        (
            "big",
            "lsb",
            "a = Unsigned(2) b = Unsigned(308) c = Unsigned(13124)",
        ),
        (
            "little",
            "msb",
            "a = Unsigned(1) b = Unsigned(1059) c = Unsigned(17459)",
        ),
    ];
    for (bytes, order, expected) in cases {
        let text = format!(
            "wire t {{ version = 1; byte_order = {bytes}; bit_order = {order}; root = P; }}
             struct P {{ a: u4; b: u12; c: u16; }}"
        );
        let wire = Wire::compile("t.wire", &text).expect("a wire");
        let found = decode(&wire, &[0x12, 0x34, 0x33, 0x44]).join(" ");
        assert_eq!(found, expected, "{bytes} {order}");
    }
}

#[test]
fn repeats_count_or_run_to_the_end() {
    let wire = wire("struct P { n: u8; a: u4[n * 2]; b: S[until end]; } struct S { x: u8; }");
    assert_eq!(
        decode(&wire, &[1, 0x21, 7, 8]),
        [
            "n = Unsigned(1)",
            "a[0] = Unsigned(1)",
            "a[1] = Unsigned(2)",
            "b[0].x = Unsigned(7)",
            "b[1].x = Unsigned(8)",
        ]
    );
    assert_eq!(decode(&wire, &[0]), ["n = Unsigned(0)"]);
}

#[test]
fn conditions_and_switches_choose_fields() {
    let wire = wire(
        "const LIMIT = 3;
         struct P {
             n: u8;
             f: bool;
             if (n > LIMIT && !f || n == 1) { a: u7; } else if (f) { b: u7; } else { c: u7; }
             switch (n - 1) { 0, 1 => d: u8; 2 => {} default => { e: u4; g: u4; } }
         }",
    );
    assert_eq!(decode(&wire, &[4, 0, 0x21])[2], "a = Unsigned(0)");
    assert_eq!(
        decode(&wire, &[4, 1, 0x21])[2..],
        ["b = Unsigned(0)", "e = Unsigned(1)", "g = Unsigned(2)"]
    );
    assert_eq!(
        decode(&wire, &[1, 1, 9])[2..],
        ["a = Unsigned(0)", "d = Unsigned(9)"]
    );
    assert_eq!(decode(&wire, &[3, 0])[2..], ["c = Unsigned(0)"]);
    assert_eq!(decode(&wire, &[0, 0, 0x21])[3], "e = Unsigned(1)");
}

#[test]
fn expressions_read_fields_of_structs_before_them() {
    let wire = wire(
        "struct H { low: u4; high: u4; } struct I { h: H; }
         struct P { i: I; data: bytes((i.h.high << 1 | i.h.low) - 1); }",
    );
    assert_eq!(decode(&wire, &[0x11, 5, 6])[2], "data = Bytes([5, 6])");
}

#[test]
fn recursive_structs_keep_their_own_values() {
    let wire = wire(
        "struct P { tree: T; end: u8; }
         struct T { value: u8; count: u8; children: T[count]; tail: bytes(value); }",
    );
    let packet = [1, 2, 0, 0, 2, 0, 8, 9, 7, 0xee];
    assert_eq!(
        decode(&wire, &packet),
        [
            "tree.value = Unsigned(1)",
            "tree.count = Unsigned(2)",
            "tree.children[0].value = Unsigned(0)",
            "tree.children[0].count = Unsigned(0)",
            "tree.children[0].tail = Bytes([])",
            "tree.children[1].value = Unsigned(2)",
            "tree.children[1].count = Unsigned(0)",
            "tree.children[1].tail = Bytes([8, 9])",
            "tree.tail = Bytes([7])",
            "end = Unsigned(238)",
        ]
    );
}

#[test]
fn padding_is_a_field_and_is_checked() {
    let body = "struct P { a: u3; align(8) = 1; b: u8; align(16); }";
    assert_eq!(
        decode(&wire(body), &[0xfd, 2]),
        [
            "a = Unsigned(5)",
            "padding = Unsigned(31)",
            "b = Unsigned(2)"
        ]
    );
    check_told(body, &[0x05, 2], "padding", 3, "the padding holds 0");
    assert_eq!(
        decode(&wire("struct P { a: u3; align(8); }"), &[0xad])[1],
        "padding = Unsigned(21)"
    );
}

#[test]
fn what_is_out_of_place_is_told() {
    check_told(
        "struct P { a: range(0, 100); b: u1; }",
        &[101],
        "a",
        0,
        "the value is 101, its range 0 to 100",
    );
    check_told(
        "struct P { a: u4[2] = 3; }",
        &[0x43],
        "a[1]",
        4,
        "the value is 4, it should be 3",
    );
    check_told(
        "struct P { a: i8 = -1; }",
        &[1],
        "a",
        0,
        "the value is 1, it should be -1",
    );
    check_told(
        "struct P { a: string(u8, utf8); }",
        &[1, 0xff],
        "a",
        0,
        "the text is not UTF-8",
    );
    check_told(
        "struct P { a: string(u8, ascii); }",
        &[1, 0xff],
        "a",
        0,
        "the text is not ASCII",
    );
}

#[test]
fn what_cannot_go_on_is_told() {
    let long = [0xff; 11];
    check_told(
        "struct P { a: leb128; }",
        &long,
        "a",
        0,
        "the integer needs more than 64 bits",
    );
    check_told(
        "struct P { a: u8; b: leb128; }",
        &[0, 0x80],
        "b",
        8,
        "`leb128` needs 16 bits, 8 are left before the packet's end",
    );
    check_told(
        "struct P { a: u7; b: string(u8, utf8); }",
        &[0, 1, 3],
        "b",
        7,
        "`string(u8, utf8)` needs 24 bits, 17 are left before the packet's end",
    );
    check_told(
        "struct P { a: u8; b: bytes(1 - a); }",
        &[2],
        "b",
        8,
        "the length is -1",
    );
    check_told(
        "struct P { a: u8; b: u8[1 - a]; }",
        &[2],
        "b",
        8,
        "the number of elements is -1",
    );
    check_told(
        "struct P { a: u8; b: u8[8 / a]; }",
        &[0],
        "P",
        8,
        "`8 / a` has no value: division by zero",
    );
    check_told(
        "struct P { a: u64; b: bytes(a * a); }",
        &[0xff; 8],
        "P",
        64,
        "`a * a` has no value: the result is too large",
    );
    check_told(
        "struct P { a: u64; b: bytes(a * 2); }",
        &[0xff; 8],
        "b",
        64,
        "`bytes(a * 2)` needs too many bits, none is left before the packet's end",
    );
    check_told(
        "struct P { a: u8; switch (a) { 1 => {} } }",
        &[0],
        "P",
        8,
        "`switch (a)` has no arm for 0",
    );
    check_told(
        "struct P { a: u8; }",
        &[0, 1],
        "P",
        8,
        "8 bits are left after the last field",
    );
}

#[test]
fn an_element_that_takes_no_bits_does_not_run_for_ever() {
    check_told(
        "struct P { a: S[until end]; } struct S { }",
        &[0],
        "a",
        0,
        "an element takes no bits, so that the repeat has no end",
    );
}
