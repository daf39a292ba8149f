//! What is worked out on the way: `let`, parameters, functions, repeats until a condition.

mod reading;

use netreel_wire::{Context, PacketFacts, Wire};
use reading::{between, check, check_told, decode, encode, lines, wire, wire_in};
use serde_json::json;

#[test]
fn a_let_takes_no_bits_and_can_be_read_and_mean_something() {
    let body = "enum Kind : u8 { small, large }
        struct P {
            high: u8;
            low: u8;
            let sequence: u16 = high << 8 | low @sequence;
            let big = sequence > 255;
            let kind: Kind = low & 1;
            if (big) { x: u8; }
            let back = low - high;
            let same = kind;
        }";
    let wire = wire(body);
    let decoded = decode(&wire, &[1, 2, 9]);
    assert_eq!(decoded.diagnostics, []);
    let types: Vec<&str> = decoded
        .tree
        .iter()
        .map(|node| node.type_name())
        .filter(|name| !matches!(*name, "P" | "u8"))
        .collect();
    assert_eq!(types, ["u16", "bool", "Kind", "int", "Kind"]);
    assert_eq!(
        lines(&decoded),
        [
            "high = 1",
            "low = 2",
            "sequence = 258",
            "big = true",
            "kind = small (0)",
            "x = 9",
            "back = 1",
            "same = small (0)"
        ]
    );
    assert_eq!(
        decoded.facts.sequence.map(|s| (s.value, s.bits)),
        Some((258, 16))
    );
    // An encoder works it out itself.
    let json = json!({ "packet": { "high": 0, "low": 7, "sequence": 99, "back": 7 } });
    assert_eq!(encode(&wire, json), [0, 7]);
}

#[test]
fn a_let_that_does_not_fit_its_type_is_told() {
    check_told(
        "struct P { a: u8; let b: u4 = a; }",
        &[0x20],
        ("b", 8, "the value is 32, its range 0 to 15"),
    );
}

#[test]
fn a_let_without_a_value_stops_in_both_plans() {
    check_told(
        "struct P { a: u8; let b = 1 / a; c: u8; }",
        &[0, 1],
        ("P", 8, "`1 / a` has no value: division by zero"),
    );
}

#[test]
fn a_message_says_its_kind_with_a_let() {
    let wire = wire(
        "enum Kind : u8 { move @update, gone = 7 @destroy }
         struct P { m: M[until end]; }
         struct M @message { b: u8; let kind: Kind = b >> 4 @message_kind; let o = b & 15 @object; }",
    );
    let decoded = decode(&wire, &[0x05, 0x7f]);
    let said: Vec<_> = decoded
        .facts
        .messages
        .iter()
        .map(|m| (m.kind.map(|k| k.0), m.object))
        .collect();
    assert_eq!(said, [(Some(0), Some(5)), (Some(1), Some(15))]);
}

const PARTS: &str = "enum Kind : u8 { few, many }
    struct P { n: u8; kind: Kind; a: Part(n, kind, n > 1); b: Part(1, Kind.few, false)[2]; }
    struct Part(count: int, kind: Kind, fast: bool) {
        x: u8[count];
        if (kind == Kind.many && fast) { y: u8; }
    }";

#[test]
fn a_struct_gets_what_its_user_gives_it() {
    check(
        PARTS,
        &[2, 1, 3, 4, 5, 6, 7],
        &[
            "n = 2",
            "kind = many (1)",
            "a.x[0] = 3",
            "a.x[1] = 4",
            "a.y = 5",
            "b[0].x[0] = 6",
            "b[1].x[0] = 7",
        ],
    );
}

#[test]
fn a_struct_that_holds_itself_gets_parameters_on_every_level() {
    check(
        "struct P { t: Tree(3, true); }
         struct Tree(depth: int, first: bool) {
             x: u8;
             let d = depth;
             if (first) { y: u8; }
             if (depth > 1) { inner: Tree(depth - 1, false); }
             z: u8;
             let e = depth;
         }",
        &[1, 2, 3, 4, 5, 6, 7],
        &[
            "t.x = 1",
            "t.d = 3",
            "t.y = 2",
            "t.inner.x = 3",
            "t.inner.d = 2",
            "t.inner.inner.x = 4",
            "t.inner.inner.d = 1",
            "t.inner.inner.z = 5",
            "t.inner.inner.e = 1",
            "t.inner.z = 6",
            "t.inner.e = 2",
            "t.z = 7",
            "t.e = 3",
        ],
    );
}

#[test]
fn elements_fill_so_many_bytes() {
    let body = "struct P { n: u8; a: Pair[bytes n]; z: u8; } struct Pair { x: u8; y: u8; }";
    check(
        body,
        &[4, 1, 2, 3, 4, 5],
        &[
            "n = 4",
            "a[0].x = 1",
            "a[0].y = 2",
            "a[1].x = 3",
            "a[1].y = 4",
            "z = 5",
        ],
    );
    let decoded = decode(&wire(body), &[3, 1, 2, 3, 4]);
    assert_eq!(decoded.diagnostics.len(), 1, "{:?}", decoded.diagnostics);
    assert_eq!(decoded.diagnostics[0].path, "a[1].y");
    assert!(
        decoded.diagnostics[0].message.contains("[bytes n]"),
        "{}",
        decoded.diagnostics[0].message
    );
    assert_eq!(lines(&decoded).last().map(String::as_str), Some("z = 4"));
}

#[test]
fn elements_come_until_one_of_them_ends_it() {
    check(
        "struct P { a: u8[until item == 0]; z: u8; }",
        &[3, 4, 0, 5],
        &["a[0] = 3", "a[1] = 4", "a[2] = 0", "z = 5"],
    );
    let body = "struct P { a: Entry[until item.last || left() < 8]; }
                struct Entry { last: bool; x: u7; }";
    check(
        body,
        &[2, 4, 7],
        &[
            "a[0].last = false",
            "a[0].x = 1",
            "a[1].last = false",
            "a[1].x = 2",
            "a[2].last = true",
            "a[2].x = 3",
        ],
    );
    check(
        "struct P { a: u8[until peek(u8) == 0xff]; end: u8; }",
        &[1, 2, 0xff],
        &["a[0] = 1", "a[1] = 2", "end = 255"],
    );
    let wire = wire("struct P { a: u8[until item == 0]; }");
    let why = wire
        .encode(&json!({ "packet": { "a": [1, 2] } }))
        .expect_err("no zero")
        .to_string();
    assert_eq!(why, "a: its `until` does not hold after its last element");
    assert_eq!(encode(&wire, json!({ "packet": { "a": [9, 0] } })), [9, 0]);
}

#[test]
fn an_element_that_takes_no_bits_ends_a_repeat_until_a_condition() {
    check_told(
        "struct P { a: E[until false]; b: u8; } struct E { let x = 1; }",
        &[1],
        (
            "a",
            0,
            "an element takes no bits, so that the repeat has no end",
        ),
    );
}

#[test]
fn a_packet_is_asked_what_comes_and_how_much() {
    let body = "struct P {
        if (peek(u8) == 5) { five: u8; }
        if (peek(u16be, 8) == 0x0102) { skipped: u8; two: u16be; }
        let at = position();
        if (left() >= 16) { both: u8[left() / 8]; }
    }";
    let wire = wire_in("big", "msb", body);
    let decoded = decode(&wire, &[5, 9, 1, 2, 7, 8, 9]);
    assert_eq!(
        lines(&decoded),
        [
            "peek(u8) = 5",
            "five = 5",
            "peek(u16be, 8) = 258",
            "skipped = 9",
            "two = 258",
            "at = 32",
            "left() = 24",
            "left() #2 = 24",
            "both[0] = 7",
            "both[1] = 8",
            "both[2] = 9",
        ]
    );
    // Edited: an encoder works out anew what comes and how much is left.
    let json = json!({ "packet": { "five": 5, "peek(u8)": 5, "peek(u16be, 8)": 0x102, "skipped": 1,
        "two": 258, "left()": 24, "left() #2": 24, "both": [1, 2] } });
    assert_eq!(encode(&wire, json), [5, 1, 1, 2, 1, 2]);
    check_told(
        "struct P { a: u8; if (peek(u16) == 1) { b: u8; } }",
        &[1, 2],
        ("P", 8, "`peek(u16)` has no value: it looks past the end"),
    );
}

#[test]
fn what_is_left_is_left_in_the_window() {
    check(
        "struct P { n: u8; w: W size(n); z: u8; }
         struct W { let bits = left(); a: u8; if (left() > 0) { b: u8; } }",
        &[2, 7, 8, 9],
        &[
            "n = 2",
            "w.left() = 16",
            "w.bits = 16",
            "w.a = 7",
            "w.left() #2 = 8",
            "w.b = 8",
            "z = 9",
        ],
    );
}

#[test]
fn fields_before_are_measured() {
    check(
        "struct P {
            n: u8;
            items: u16[n];
            name: string(u8, utf8);
            odd: u4;
            let c = count(items);
            let s = size(items) + size(name);
            let b = bits(odd);
            inner: Inner;
            let deep = count(inner.list);
            align(8) = 0;
        }
        struct Inner { list: u2[until item == 3]; }",
        &[2, 1, 0, 2, 0, 2, b'h', b'i', 0b1101_0101],
        &[
            "n = 2",
            "items[0] = 1",
            "items[1] = 2",
            "name = \"hi\"",
            "odd = 5",
            "c = 2",
            "s = 7",
            "b = 4",
            "inner.list[0] = 1",
            "inner.list[1] = 3",
            "deep = 2",
        ],
    );
}

#[test]
fn integers_are_compared_and_counted() {
    check(
        "struct P { a: u8; b: u8; let least = min(a, b); let most = max(a, 7); let ones = popcount(a | b << 8); }",
        &[5, 3],
        &["a = 5", "b = 3", "least = 3", "most = 7", "ones = 4"],
    );
}

#[test]
fn texts_are_numbers_and_have_hashes() {
    check(
        "struct P { text: string(4, ascii); let number = number(text); let hash = quake_hash(text); }",
        b"-16 ",
        &["text = \"-16 \"", "number = -16", "hash = 21692"],
    );
}

#[test]
fn a_wire_asks_for_ports_and_direction() {
    let wire = wire(
        "struct P {
            if (source_port() == 27960) { from_server: u8; } else if (destination_port() == 27960) { to_server: u8; }
            let first = from_first();
        }",
    );
    for (context, expected) in [
        (between(27960, 1), ["from_server = 1", "first = false"]),
        (between(1, 27960), ["to_server = 1", "first = false"]),
    ] {
        let mut state = wire.new_state();
        let decoded = wire.decode_in(&context, &mut state, &[1]);
        assert_eq!(lines(&decoded), expected);
        let mut facts = PacketFacts::default();
        wire.facts_in(&context, &mut state, &[1], &mut facts);
        assert_eq!(facts, decoded.facts);
    }
}

#[test]
fn a_protocol_is_chosen_by_what_a_packet_begins_with() {
    let text = "wire short { byte_order = big; bit_order = msb; root = S; when = left() < 16; }
        wire seven { byte_order = little; bit_order = lsb; root = A; when = peek(u16be, 8) == 7; }
        wire ports { byte_order = little; bit_order = lsb; root = B; when = min(source_port(), destination_port()) > 9; }
        struct S { s: u8; } struct A { a: bytes(rest); } struct B { b: bytes(rest); }";
    let wire = Wire::compile("t.wire", text).unwrap_or_else(|error| panic!("{error}"));
    for (packet, context, expected) in [
        (&[1][..], between(0, 0), "s = 1"),
        (&[1, 0, 7], between(0, 0), "a = 01 00 07 (3 bytes)"),
        (&[1, 0, 8], between(10, 11), "b = 01 00 08 (3 bytes)"),
        (&[1, 0, 8], between(1, 11), "rest = 01 00 08 (3 bytes)"),
    ] {
        let decoded = wire.decode_in(&context, &mut wire.new_state(), packet);
        assert_eq!(lines(&decoded), [expected]);
    }
}

#[test]
fn a_choice_works_out_one_of_its_values() {
    let wire = wire(
        "enum Kind : u8 { a = 1, b = 5 }
        struct P {
            n: u8;
            kind: Kind;
            let m = if (n > 3) 100 / (n - 4) else if (n == 0) 7 else n;
            let other: Kind = if (n == 1) Kind.b else kind;
            let either = if (kind == Kind.a) n > 1 else false;
            let number = int(kind) * 2 + int(either);
            items: u8[if (n == 9) 1 else 0];
        }",
    );
    let values = |packet: &[u8]| {
        let decoded = decode(&wire, packet);
        assert_eq!(decoded.diagnostics, []);
        lines(&decoded)[2..6].join(", ")
    };
    assert_eq!(
        values(&[0, 1]),
        "m = 7, other = a (1), either = false, number = 2"
    );
    assert_eq!(
        values(&[1, 1]),
        "m = 1, other = b (5), either = false, number = 2"
    );
    assert_eq!(
        values(&[3, 1]),
        "m = 3, other = a (1), either = true, number = 3"
    );
    assert_eq!(
        values(&[9, 5, 0]),
        "m = 20, other = b (5), either = false, number = 10"
    );
    // What is not chosen need not have a value.
    let decoded = decode(&wire, &[4, 1]);
    assert_eq!(decoded.diagnostics.len(), 1, "a division by zero");
}

#[test]
fn what_every_arm_declares_can_be_read_after_the_branch() {
    let wire = wire(
        "enum Kind : u8 { a = 1, b = 5 }
        struct P {
            short: u8;
            if (short == 1) { pad: u8; count: u8; }
            else if (short == 2) { count: u16be; }
            else { let count = 2; }
            kind: Kind;
            switch (kind) {
                Kind.a => { x: u8; id: u8; }
                Kind.b => id: u16be;
                default => { y: u16; let id = y - 1; }
            }
            items: u8[count];
            let twice = id * 2;
        }",
    );
    let end = |packet: &[u8]| {
        let decoded = decode(&wire, packet);
        assert_eq!(decoded.diagnostics, []);
        assert_eq!(encode(&wire, decoded.to_json()), packet);
        let lines = lines(&decoded);
        (lines.len(), lines.last().cloned().unwrap_or_default())
    };
    assert_eq!(end(&[1, 9, 1, 1, 9, 7, 3]).1, "twice = 14");
    assert_eq!(end(&[2, 0, 3, 5, 1, 0, 1, 2, 3]).1, "twice = 512");
    assert_eq!(end(&[3, 9, 7, 0, 1, 2]).1, "twice = 12");
}

#[test]
fn what_one_arm_lacks_cannot_be_read_after_the_branch() {
    for arms in [
        "if (n == 1) { a: u8; }",
        "if (n == 1) { a: u8; } else { b: u8; }",
        "if (n == 1) { a: u8; } else { a: bool; }",
        "if (n == 1) { a: u8; } else { a: u8[2]; }",
        "switch (n) { 1 => a: u8; default => {} }",
    ] {
        let text = format!(
            "wire w {{ byte_order = little; bit_order = lsb; root = P; }}
             struct P {{ n: u8; {arms} let x = a; }}"
        );
        let error = Wire::compile("w.wire", &text).expect_err(arms).to_string();
        assert!(error.contains("`a` is not always there"), "{error}");
    }
}

#[test]
fn an_element_is_told_its_index() {
    check(
        "struct P { count: u8; slots: Slot(index)[count]; tail: u8; }
        struct Slot(number: int) {
            let slot = number * 10;
            if (number % 2 == 1) { more: u8; }
            pairs: Pair(index + number)[2];
        }
        struct Pair(sum: int) { a: u8; let b = a + sum; }",
        &[2, 5, 6, 7, 8, 9, 77],
        &[
            "count = 2",
            "slots[0].slot = 0",
            "slots[0].pairs[0].a = 5",
            "slots[0].pairs[0].b = 5",
            "slots[0].pairs[1].a = 6",
            "slots[0].pairs[1].b = 7",
            "slots[1].slot = 10",
            "slots[1].more = 7",
            "slots[1].pairs[0].a = 8",
            "slots[1].pairs[0].b = 9",
            "slots[1].pairs[1].a = 9",
            "slots[1].pairs[1].b = 11",
            "tail = 77",
        ],
    );
}

#[test]
fn an_index_says_how_long_an_element_is_and_which_is_the_last() {
    check(
        "struct P { rows: bytes(index + 1)[3]; n: u8[until index == 1 || item == 9]; last: u8; }",
        &[1, 2, 2, 3, 3, 3, 4, 5, 6],
        &[
            "rows[0] = 01 (1 byte)",
            "rows[1] = 02 02 (2 bytes)",
            "rows[2] = 03 03 03 (3 bytes)",
            "n[0] = 4",
            "n[1] = 5",
            "last = 6",
        ],
    );
}

#[test]
fn an_index_reaches_a_struct_that_holds_itself_and_a_table_of_the_state() {
    check(
        "struct P { nodes: Node(index)[2]; }
        struct Node(place: int) { let at = place; more: u8; if (more != 0) { inner: Node(place + 5)[more]; } }",
        &[1, 0, 0],
        &[
            "nodes[0].at = 0",
            "nodes[0].more = 1",
            "nodes[0].inner[0].at = 5",
            "nodes[0].inner[0].more = 0",
            "nodes[1].at = 1",
            "nodes[1].more = 0",
        ],
    );
    // The newest value of each slot.
    let text = "wire t { byte_order = little; bit_order = lsb; root = P; state = S; }
        state S { slots: u8[4]; }
        struct P { slots: Slot(index)[2]; }
        struct Slot(number: int) {
            if (known(state.slots[number])) {
                value: delta(i8, state.slots[number]);
                set state.slots[number] = value;
            } else {
                value: u8;
                set state.slots[number] = value;
            }
        }";
    let wire = Wire::compile("t.wire", text).unwrap_or_else(|error| panic!("{error}"));
    let (mut state, context) = (wire.new_state(), Context::default());
    let _ = wire.decode_in(&context, &mut state, &[10, 20]);
    let decoded = wire.decode_in(&context, &mut state, &[1, 0xff]);
    assert_eq!(
        lines(&decoded),
        ["slots[0].value = 11 (+1)", "slots[1].value = 19 (-1)"]
    );
}

#[test]
fn a_field_called_index_hides_it_and_outside_repeats_there_is_none() {
    check(
        "struct P { index: u8; rows: bytes(index)[2]; }",
        &[1, 7, 8],
        &[
            "index = 1",
            "rows[0] = 07 (1 byte)",
            "rows[1] = 08 (1 byte)",
        ],
    );
    let refused = |fields: &str| {
        let text = format!(
            "wire t {{ byte_order = little; bit_order = lsb; root = P; }} struct P {{ {fields} }}"
        );
        let error = Wire::compile("t.wire", &text).expect_err("it is refused");
        let shown = error.to_string();
        assert!(shown.contains("no element has this `index`"), "{shown}");
        assert!(shown.contains("`moves: Move(index)[count];`"), "{shown}");
    };
    refused("a: bytes(index);");
    refused("a: u8[index];");
    refused("a: u8[2] size(index);");
    refused("let a = index;");
}
