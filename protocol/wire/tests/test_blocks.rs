//! `test` blocks: what passes, what fails, and what is said of it.

use netreel_wire::Wire;

const WIRE: &str = r#"
wire moves { byte_order = little; bit_order = lsb; root = Packet; magic = x"47"; }
wire pings { byte_order = big; bit_order = msb; root = Ping; ports = 9; }
enum Kind : u8 { move = 0, gone = 1 }
struct Packet { magic: u8 = 0x47; sequence: u16; count: u8 derived count(messages); messages: Message[count]; }
struct Message { kind: Kind; object: u16; if (kind == Kind.move) { x: f32; share: quantized(0.0, 1.0, 8); name: string(u8, utf8); } }
struct Ping { time: u16; }
"#;

/// The failures of one test, a line each.
fn failures(settings: &str) -> Vec<String> {
    let text = format!("{WIRE}test \"it\" {{ {settings} }}");
    let wire = match Wire::compile("moves.wire", &text) {
        Ok(wire) => wire,
        Err(error) => panic!("{error}"),
    };
    let results = wire.run_tests();
    assert_eq!(results.len(), 1);
    let failures = results[0].failures.iter();
    failures
        .map(|each| format!("{}: {}", each.path, each.message))
        .collect()
}

#[track_caller]
fn check(settings: &str, expected: &[&str]) {
    assert_eq!(failures(settings), expected);
}

const GONE: &str = r#"bytes = x"47 01 00 01 01 2a 00";"#;
const MOVE: &str = r#"bytes = x"47 01 00 01 00 2a 00 0000803f 80 02 6869";"#;

#[test]
fn a_value_is_checked_both_ways() {
    let value = "value = { sequence: 1, messages: [{ kind: gone, object: 42 }] };";
    check(&format!("{GONE}{value}"), &[]);
    let value = r#"value = { magic: 0x47, sequence: 1, count: 1,
        messages: [{ kind: Kind.move, object: 42, x: 1, share: 0.5, name: "hi" }] };"#;
    check(&format!("{MOVE}{value}"), &[]);
}

#[test]
fn a_value_that_lacks_a_field_cannot_be_encoded() {
    check(
        &format!("{GONE} value = {{ sequence: 1, messages: [{{ kind: gone }}] }};"),
        &["messages[0].object: the value cannot be encoded: the field is missing"],
    );
}

#[test]
fn a_part_says_what_it_wants_to_say() {
    check(
        &format!("{MOVE} part = {{ messages: [{{ object: 42 }}] }};"),
        &[],
    );
    check(&format!("{MOVE} part = {{ messages: [] }};"), &[]);
}

#[test]
fn every_field_that_differs_is_named() {
    check(
        &format!(
            "{MOVE} part = {{ sequence: 2, messages: [{{ kind: gone, object: 43, x: -1.5, \
             share: 0.25, name: x\"68\" }}] }};"
        ),
        &[
            "sequence: expected 2, found 1",
            "messages[0].kind: expected \"gone\", found move (0)",
            "messages[0].object: expected 43, found 42",
            "messages[0].x: expected -1.5, found 1",
            "messages[0].share: expected 0.25, found 0.5020 (raw 128)",
            "messages[0].name: expected bytes 68, found \"hi\"",
        ],
    );
}

#[test]
fn a_typing_mistake_finds_the_word() {
    check(
        &format!("{MOVE} part = {{ mesages: [], messages: [{{ kind: gon, objekt: 1 }}] }};"),
        &[
            ": there is no field `mesages`; did you mean `messages`?",
            "messages[0].kind: the enum has no member `gon`; did you mean `gone`?; found move (0)",
            "messages[0]: there is no field `objekt`; did you mean `object`?",
        ],
    );
}

#[test]
fn elements_are_counted() {
    check(
        &format!("{GONE} part = {{ messages: [{{}}, {{}}] }};"),
        &["messages: expected 2 elements or more, found 1"],
    );
    check(
        &format!("{GONE} value = {{ sequence: 1, messages: [] }};"),
        &["messages: expected 0 elements, found 1"],
    );
}

#[test]
fn a_struct_is_not_a_number() {
    check(
        &format!("{GONE} part = {{ messages: 1, sequence: {{ a: 1 }} }};"),
        &[
            "messages: expected 1, found a struct or a repeat",
            "sequence: a field has `raw`, `value`, `bits`, `prefix_bits`, `change` and `override`, not `a`",
        ],
    );
}

#[test]
fn diagnostics_are_expected_or_told() {
    let wrong = r#"bytes = x"47 01 00 01 05 2a";"#;
    check(
        &format!("{wrong} diagnostics = 1; part = {{ count: 1 }};"),
        &[],
    );
    check(
        &format!("{wrong} part = {{ count: 1 }};"),
        &[
            ": expected no diagnostics, found 1",
            "messages[0].object: `u16` needs 16 bits, 8 are left before the packet's end; \
             `Message[count]` asks for 1 element",
        ],
    );
    check(
        &format!("{GONE} diagnostics = 2;"),
        &[": expected 2 diagnostics, found 0"],
    );
}

#[test]
fn what_is_left_over_comes_back_as_well() {
    check(
        r#"bytes = x"47 01 00 00 ff ff"; diagnostics = 1; value = { sequence: 1, messages: [] };"#,
        &[],
    );
}

#[test]
fn ports_and_names_choose_the_protocol() {
    check(
        r#"bytes = x"01 02"; ports = 5, 9; value = { time: 0x102 };"#,
        &[],
    );
    check(
        r#"bytes = x"01 02"; wire = pings; value = { time: 0x102 };"#,
        &[],
    );
    check(
        r#"bytes = x"01 02"; part = { time: 0x102 };"#,
        &[": no protocol of this file claims the packet"],
    );
}

#[test]
fn a_struct_can_be_tested_alone() {
    check(
        r#"bytes = x"01 2a 00"; root = Message; value = { kind: gone, object: 42 };"#,
        &[],
    );
    check(
        r#"bytes = x"01 2a 00"; wire = pings; root = Message; value = { kind: gone, object: 0x2a00 };"#,
        &[],
    );
}

#[test]
fn an_over_long_number_does_not_encode_to_the_same_bytes() {
    let text = "wire w { byte_order = little; bit_order = lsb; root = P; } struct P { a: leb128; }
        test \"long\" { bytes = x\"80 00\"; value = { a: 0 }; }
        test \"said\" { bytes = x\"80 00\"; value = { a: { value: 0, bits: 16 } }; }";
    let results = Wire::compile("w.wire", text)
        .expect("it compiles")
        .run_tests();
    let message = "the value encodes to other bytes, from byte 0 on: 00";
    assert_eq!(results[0].failures[0].message, message);
    assert!(results[1].passed(), "{:?}", results[1]);
}

#[test]
fn a_result_says_where_the_test_is() {
    let text = format!("{WIRE}\ntest \"one\" {{ bytes = x\"47\"; diagnostics = 1; }}");
    let results = Wire::compile("moves.wire", &text)
        .expect("it compiles")
        .run_tests();
    let found = (&*results[0].name, &*results[0].file, results[0].line);
    assert_eq!(found, ("one", "moves.wire", 9));
}

const KEEPS: &str = r#"
wire keeps { byte_order = little; bit_order = lsb; root = P; state = Kept; }
state Kept { key: u8; each last: u8; names: string[4]; numbers: u8[4]; }
struct P { a: u8; if (state.key == 7 && state.numbers[3] == 9 && state.last == 2) { b: u8; } }
"#;

#[track_caller]
fn check_kept(settings: &str, expected: &[&str]) {
    let text = format!("{KEEPS} test \"it\" {{ {settings} }}");
    let wire = match Wire::compile("keeps.wire", &text) {
        Ok(wire) => wire,
        Err(error) => panic!("{error}"),
    };
    let failures = &wire.run_tests()[0].failures;
    let failures: Vec<String> = failures
        .iter()
        .map(|each| format!("{}: {}", each.path, each.message))
        .collect();
    assert_eq!(failures, expected);
}

#[test]
fn a_test_says_what_the_connection_keeps() {
    check_kept(
        r#"bytes = x"01 02"; value = { a: 1, b: 2 };
        state = { key: 7, last: 2, names: [{ key: 1, value: "x" }], numbers: [{ key: 3, value: 9 }] };"#,
        &[],
    );
    check_kept(
        r#"bytes = x"01"; value = { a: 1 }; state = { key: 6 };"#,
        &[],
    );
}

#[test]
fn state_that_cannot_be_is_told() {
    check_kept(
        r#"bytes = x"01"; value = { a: 1 }; state = { kye: 7 };"#,
        &["state.kye: there is no such field; did you mean `key`?"],
    );
    check_kept(
        r#"bytes = x"01"; value = { a: 1 }; state = { key: "x" };"#,
        &["state.key: \"x\" is not an integer"],
    );
    check_kept(
        r#"bytes = x"01"; value = { a: 1 }; state = { numbers: 1 };"#,
        &["state.numbers: expected [{ key: ..., value: ... }], found 1"],
    );
}
