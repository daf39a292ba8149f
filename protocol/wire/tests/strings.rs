//! Texts and bytes by how they end, in every encoding.

mod reading;

use netreel_wire::Wire;
use reading::{check, check_told, decode, encode, lines, wire};
use serde_json::json;

#[test]
fn a_text_ends_at_its_zero_which_belongs_to_it() {
    let body = "struct P { a: string(zero, utf8); b: string(zero, ascii); c: u8; }";
    let wire = wire(body);
    let decoded = decode(&wire, b"hi\0\0\x05");
    assert_eq!(lines(&decoded), ["a = \"hi\"", "b = \"\"", "c = 5"]);
    let bits: Vec<_> = decoded
        .tree
        .iter()
        .skip(1)
        .map(|node| node.bits())
        .collect();
    assert_eq!(bits, [0..24, 24..32, 32..40]);
    let longer = json!({ "packet": { "a": "longer", "b": "x", "c": 1 } });
    assert_eq!(encode(&wire, longer), b"longer\0x\0\x01");
    let why = wire.encode(&json!({ "packet": { "a": "a\0b", "b": "", "c": 1 } }));
    let why = why.expect_err("a zero inside").to_string();
    assert_eq!(why, "a: a text that ends with a zero holds none");
}

#[test]
fn a_text_without_its_zero_does_not_fit() {
    check_told(
        "struct P { n: u8; a: string(zero, utf8); }",
        b"\x01hi",
        (
            "a",
            8,
            "`string(zero, utf8)` needs 24 bits, 16 are left before the packet's end",
        ),
    );
}

#[test]
fn texts_end_at_odd_bits_too() {
    let body = "struct P { before: u3; a: string(zero, utf8); after: u5; }";
    let text = [b'h', b'i', 0];
    let mut packet = vec![0u8; 4];
    for (place, byte) in text.into_iter().enumerate() {
        packet[place] |= byte << 3;
        packet[place + 1] |= byte >> 5;
    }
    check(body, &packet, &["before = 0", "a = \"hi\"", "after = 0"]);
}

#[test]
fn a_padded_text_ends_at_its_first_zero() {
    let body = "struct P { a: string(4, utf8, padded); b: string(4, utf8, padded); }";
    check(body, b"abc\0full", &["a = \"abc\"", "b = \"full\""]);
    // What stands after the zero comes back.
    check(body, b"a\0xxfull", &["a = \"a\"", "b = \"full\""]);
    let wire = wire(body);
    let json = json!({ "packet": { "a": "z", "b": "" } });
    assert_eq!(encode(&wire, json), b"z\0\0\0\0\0\0\0");
    let json = json!({ "packet": { "a": "too long", "b": "" } });
    let why = wire.encode(&json).expect_err("nine bytes").to_string();
    assert_eq!(why, "a: it has 8 bytes, its length is 4");
}

#[test]
fn what_is_left_is_a_text_or_bytes() {
    check(
        "struct P { n: u8; a: string(rest, utf8); }",
        b"\x01hello",
        &["n = 1", "a = \"hello\""],
    );
    check(
        "struct P { n: u8; a: bytes(rest); }",
        &[1, 2, 3],
        &["n = 1", "a = 02 03 (2 bytes)"],
    );
    check("struct P { a: bytes(rest); }", &[], &["a = (0 bytes)"]);
    check(
        "struct P { n: u8; w: W size(n); z: u8; } struct W { a: bytes(rest); }",
        &[2, 3, 4, 5],
        &["n = 2", "w.a = 03 04 (2 bytes)", "z = 5"],
    );
}

#[test]
fn utf16_counts_bytes_and_ends_with_two_zeros() {
    check(
        "struct P { a: string(u8, utf16be); b: string(zero, utf16le); c: string(rest, utf16le); }",
        &[4, 0, b'h', 0x20, 0xac, b'x', 1, 0, 0, b'y', 0],
        &["a = \"h€\"", "b = \"\u{178}\"", "c = \"y\""],
    );
    check_told(
        "struct P { a: string(rest, utf16le); }",
        &[0x34, 0xd8, 0x41, 0],
        ("a", 0, "the text is not UTF-16"),
    );
    check_told(
        "struct P { a: string(rest, utf16le); }",
        &[0x41, 0, 0x41],
        ("a", 0, "the text is not UTF-16"),
    );
}

#[track_caller]
fn refused(body: &str, expected: &str) {
    let text = format!("wire t {{ byte_order = little; bit_order = lsb; root = P; }}\n{body}");
    let error = Wire::compile("t.wire", &text).expect_err("it is refused");
    assert_eq!(error.to_string().trim(), expected.trim());
}

#[test]
fn escapes_stand_for_characters() {
    let text = r#"wire t { byte_order = little; bit_order = lsb; root = P; magic = "\x01\n"; }
        const LINE = "a\"\\\tz";
        struct P {
            magic: bytes(2) = x"01 0a";
            line: string(5, ascii) = LINE;
            accent: string(2, utf8) = "\u{e9}";
            wide: string(1, latin1) = "\u{E9}";
            end: string(2, ascii) = "\r\0";
        }
        test "all of it" {
            bytes = x"01 0a 61 22 5c 09 7a c3 a9 e9 0d 00";
            value = { line: "a\"\\\tz", accent: "é", wide: "\u{e9}", end: "\r\x00" };
        }"#;
    let wire = Wire::compile("t.wire", text).unwrap_or_else(|error| panic!("{error}"));
    for result in wire.run_tests() {
        assert_eq!(result.failures, [], "{}", result.name);
    }
    assert_eq!(wire.tests(), 1);
}

#[test]
fn what_is_no_escape_is_refused_where_it_stands() {
    refused(
        r#"struct P { a: string(2, ascii) = "é\q"; }"#,
        r#"
error: this escape means nothing
 --> t.wire:2:36
  |
2 | struct P { a: string(2, ascii) = "é\q"; }
  |                                    ^^ expected `\n`, `\r`, `\t`, `\0`, `\"`, `\\`, `\x41` or `\u{e9}`
  |
  = help: a backslash is written `\\`"#,
    );
    refused(
        r#"struct P { a: string(1, latin1) = "\xff"; }"#,
        r#"
error: this byte is no character
 --> t.wire:2:36
  |
2 | struct P { a: string(1, latin1) = "\xff"; }
  |                                    ^^ expected `\x00` to `\x7f`
  |
  = help: bytes are written `x"ff 0a"`, and the character U+00FF is `\u{ff}`"#,
    );
    for wrong in [
        r"\u{}",
        r"\u{110000}",
        r"\u{d800}",
        r"\u41",
        r"\x4",
        r"\x+1",
    ] {
        let text = format!(
            "wire t {{ byte_order = little; bit_order = lsb; root = P; }} const A = \"{wrong}\"; struct P {{}}"
        );
        let error = Wire::compile("t.wire", &text).expect_err(wrong);
        assert!(
            error.to_string().contains("this is no character"),
            "{wrong}: {error}"
        );
    }
    let text =
        r#"wire t { byte_order = little; bit_order = lsb; root = P; } const A = "a\"; struct P {}"#;
    let error = Wire::compile("t.wire", text).expect_err("the text goes on");
    assert!(
        error.to_string().contains("this text has no end"),
        "{error}"
    );
}
