//! `byte_order = ...;` in a struct: the packet says in which order its bytes come.

mod reading;

use netreel_wire::{Context, Wire};
use reading::{check, check_told, decode, lines, wire, wire_in};

/// Submessages as RTPS has them: a flag of their head says the order of the rest.
const RTPS: &str = "
    struct P { protocol: bytes(2); messages: Submessage[until end]; }
    struct Submessage {
        id: u8;
        flags: u8;
        byte_order = if (flags & 1 != 0) little else big;
        length: u16;
        body: Body size(length);
    }
    struct Body { counter: u32; places: i16[until end]; }";

#[test]
fn a_flag_of_each_submessage_says_the_order_of_its_rest() {
    for bit_order in ["lsb", "msb"] {
        let wire = wire_in("big", bit_order, RTPS);
        let packet = [
            0, 9, // protocol
            1, 1, 6, 0, 1, 2, 0, 0, 0xff, 0xff, // little
            2, 0, 0, 8, 0, 0, 2, 1, 0, 5, 0xff, 0xfe, // big
            3, 1, 4, 0, 7, 0, 0, 0,
        ];
        let decoded = decode(&wire, &packet);
        assert_eq!(decoded.diagnostics, []);
        let values: Vec<String> = lines(&decoded).into_iter().skip(1).collect();
        assert_eq!(
            values,
            [
                "messages[0].id = 1",
                "messages[0].flags = 1",
                "messages[0].length = 6",
                "messages[0].body.counter = 513",
                "messages[0].body.places[0] = -1",
                "messages[1].id = 2",
                "messages[1].flags = 0",
                "messages[1].length = 8",
                "messages[1].body.counter = 513",
                "messages[1].body.places[0] = 5",
                "messages[1].body.places[1] = -2",
                "messages[2].id = 3",
                "messages[2].flags = 1",
                "messages[2].length = 4",
                "messages[2].body.counter = 7",
            ]
        );
    }
}

#[test]
fn an_order_ends_with_its_block() {
    check(
        "struct P {
            a: u16;
            if (a == 1) { byte_order = big; b: u16; byte_order = little; c: u16; byte_order = big; }
            d: u16;
            inner: Inner;
            e: u16;
        }
        struct Inner { byte_order = big; f: f32; size (2) { g: u16; } h: u24le; i: u24be; }",
        &[
            1, 0, 0, 2, 3, 0, 4, 0, 0x3f, 0x80, 0, 0, 0, 5, 6, 0, 0, 0, 0, 7, 8, 0,
        ],
        &[
            "a = 1",
            "b = 2",
            "c = 3",
            "d = 4",
            "inner.f = 1",
            "inner.g = 5",
            "inner.h = 6",
            "inner.i = 7",
            "e = 8",
        ],
    );
}

#[test]
fn a_window_that_is_given_up_ends_the_order_inside_it() {
    let wire = wire(
        "struct P { first: Inner size(3); a: u16; } struct Inner { byte_order = big; b: u16; c: u16; }",
    );
    let decoded = decode(&wire, &[0, 1, 9, 2, 0]);
    assert_eq!(decoded.diagnostics.len(), 1);
    assert_eq!(lines(&decoded)[0], "first.b = 1");
    assert!(
        lines(&decoded).contains(&"a = 2".to_owned()),
        "{:?}",
        lines(&decoded)
    );
}

#[test]
fn a_layer_has_an_order_of_its_own() {
    check(
        "layer Plain { transform = xor(0); byte_order = little; }
        struct P { byte_order = big; a: u16; body: Body size(5) through Plain; c: u16; }
        struct Body { n: u8; byte_order = if (n == 1) big else little; b: u16; rest: bytes(rest); }",
        &[0, 1, 1, 0, 2, 0, 0, 0, 3],
        &["a = 1", "body.n = 1", "body.b = 2", "body.rest = 00 00 (2 bytes)", "c = 3"],
    );
    let wire = wire(
        "layer Plain { transform = xor(0); byte_order = little; }
        struct P { byte_order = big; body: Body size(2) through Plain; c: u16; }
        struct Body { byte_order = little; b: u32; }",
    );
    let decoded = decode(&wire, &[1, 2, 0, 3]);
    assert_eq!(decoded.diagnostics.len(), 1);
    assert!(
        lines(&decoded).contains(&"c = 3".to_owned()),
        "{:?}",
        lines(&decoded)
    );
}

#[test]
fn what_comes_is_looked_at_in_the_order_that_holds() {
    check(
        "struct P { a: u8; byte_order = if (a == 1) big else little; if (peek(u16) == 2) { b: u16; } c: u16; }",
        &[1, 0, 2, 0, 3],
        &["a = 1", "peek(u16) = 2", "b = 2", "c = 3"],
    );
}

#[test]
fn an_integer_that_is_longer_than_it_needs_comes_back_in_either_order() {
    let wire = wire(
        "struct P { a: u8; byte_order = if (a == 1) big else little; n: compressed(u16); align(8); }",
    );
    for order in [0, 1] {
        for first in 0..=255 {
            for second in [0, 1, 0x80, 0xff] {
                let _ = decode(&wire, &[order, first, second, 0]);
            }
        }
    }
}

#[test]
fn an_order_that_no_packet_says_is_not_known() {
    let text = "wire t { byte_order = little; bit_order = lsb; root = P; state = S; }
        state S { big: bool; }
        struct P { a: u8; byte_order = if (state.big) big else little; b: u16; }";
    let wire = Wire::compile("t.wire", text).unwrap_or_else(|error| panic!("{error}"));
    let decoded = wire.decode_in(&Context::default(), &mut wire.new_state(), &[1, 2, 3]);
    assert_eq!(
        decoded.diagnostics[0].message,
        "`state.big` has no value: no packet so far has set it"
    );
}

#[test]
fn a_field_may_be_called_so_and_orders_are_two() {
    check("struct P { byte_order: u8; }", &[1], &["byte_order = 1"]);
    check_told(
        "struct P { byte_order = big; a: u16; }",
        &[1],
        (
            "a",
            0,
            "`u16` needs 16 bits, 8 are left before the packet's end",
        ),
    );
    let refused = |fields: &str, part: &str| {
        let text = format!(
            "wire t {{ byte_order = little; bit_order = lsb; root = P; }} struct P {{ {fields} }}"
        );
        let error = Wire::compile("t.wire", &text).expect_err("it is refused");
        assert!(error.to_string().contains(part), "{error}");
    };
    refused("byte_order = bigg; a: u8;", "did you mean `big`?");
    refused(
        "a: u8; byte_order = if (a) little else big;",
        "a condition is true or false",
    );
    refused(
        "a: u8; byte_order = if (a == 1) little;",
        "expected `else` and the other order",
    );
}
