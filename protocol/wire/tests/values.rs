//! Random values encode, and decode to themselves.

use netreel_wire::Wire;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// A wire with one field of a type, at an odd bit.
fn wire(spelled: &str) -> Wire {
    let text = format!(
        "wire t {{ byte_order = little; bit_order = msb; root = P; }}
        enum Kind : leb128 {{ a, b, c = 300 }}
        flags Bits : u5 {{ one = 1, four = 4, sixteen = 16 }}
        struct Pair {{ left: zigzag; right: string(leb128, utf8); }}
        struct P {{ before: u3; a: {spelled}; after: u16; }}"
    );
    Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{spelled}: {error}"))
}

/// Encodes a value and decodes it again; what came back.
#[track_caller]
fn back(spelled: &str, value: &Json) -> Json {
    let wire = wire(spelled);
    let packet = json!({"packet": {"before": 5, "a": value, "after": 0xbeef}});
    let encoded = wire.encode(&packet);
    let encoded = encoded.unwrap_or_else(|error| panic!("{spelled}, {value}: {error}"));
    let decoded = wire.decode(&encoded.bytes);
    let json = decoded.to_json();
    assert_eq!(json["packet"]["before"], 5, "{spelled}, {value}: {json}");
    assert_eq!(
        json["packet"]["after"], 0xbeef,
        "{spelled}, {value}: {json}"
    );
    let again = wire
        .encode(&json)
        .unwrap_or_else(|error| panic!("{spelled}: {error}"));
    assert_eq!(again.bytes, encoded.bytes, "{spelled}, {value}: {json}");
    json["packet"]["a"].clone()
}

/// The value alone, of a field that says what is on the wire as well.
fn value_of(json: &Json) -> &Json {
    json.get("value").unwrap_or(json)
}

#[track_caller]
fn check(spelled: &str, value: Json) {
    assert_eq!(*value_of(&back(spelled, &value)), value, "{spelled}");
}

/// A number as JSON says it so that nobody loses a bit.
fn exact(value: i128) -> Json {
    match value.unsigned_abs() <= 1 << 53 {
        true => Json::from(value as i64),
        false => Json::from(value.to_string()),
    }
}

/// As many low bits of a random number, so that small and large ones are as likely.
fn sized(seed: u64) -> u64 {
    seed.rotate_left(6) & (u64::MAX >> (seed % 64))
}

#[test]
fn every_width_keeps_random_integers() {
    proptest!(|(bits in 1u32..=64, seed: u64)| {
        let value = i128::from(seed >> (64 - bits));
        check(&format!("u{bits}"), exact(value));
        check(&format!("i{bits}"), exact(value - (1i128 << (bits - 1))));
    });
}

#[test]
fn every_varint_keeps_random_integers() {
    proptest!(|(seed: u64)| {
        let value = sized(seed);
        for spelled in ["leb128", "vlq", "prefix_varint", "compressed(u64)", "Kind"] {
            check(spelled, match spelled {
                "Kind" if value < 2 || value == 300 => continue,
                _ => exact(value.into()),
            });
        }
        check("quic_varint", exact((value >> 2).into()));
        check("ubitvar", exact((value >> 32).into()));
        let signed = i128::from(value.cast_signed());
        for spelled in ["sleb128", "zigzag", "compressed(i64)"] {
            check(spelled, exact(signed));
        }
        check("packed_int", exact((signed as i32).into()));
    });
}

#[test]
fn ranges_and_byte_orders_keep_random_integers() {
    proptest!(|(low in -1000i64..1000, size in 1i64..100_000, seed: u64)| {
        let high = low + size;
        let value = low + (seed % (size as u64 + 1)) as i64;
        check(&format!("range({low}, {high})"), json!(value));
        check(&format!("{low}..={high}"), json!(value));
        for (spelled, bits) in [("u16be", 16), ("u24le", 24), ("u32be", 32), ("u64le", 64)] {
            check(spelled, exact((seed >> (64 - bits)).into()));
        }
    });
}

#[test]
fn floats_keep_random_bits() {
    proptest!(|(value: f64, single: f32)| {
        check("f64", json!(value));
        check("f32", json!(f64::from(single)));
        check("f64be", json!(value));
    });
}

#[test]
fn quantised_floats_are_off_by_half_a_step_at_most() {
    proptest!(|(bits in 1u32..=32, place in 0.0..=1.0f64)| {
        let value = -3.0 + 10.0 * place;
        let found = back(&format!("quantized(-3.0, 7.0, {bits})"), &json!(value));
        let found = value_of(&found).as_f64().expect("a number");
        let half = 5.0 / ((1u64 << bits) - 1) as f64;
        prop_assert!((found - value).abs() <= half * (1.0 + 1e-9), "{value} came back as {found}");
    });
}

#[test]
fn texts_keep_random_characters() {
    proptest!(|(text in "\\PC{0,40}")| {
        check("string(u16, utf8)", json!(text));
        check("string(leb128, utf16le)", json!(text));
        check("string(zero, utf8)", json!(text));
        let ascii: String = text.chars().filter(char::is_ascii).collect();
        check("string(u8, ascii)", json!(ascii));
    });
}

#[test]
fn bytes_flags_names_and_structs_keep_random_values() {
    proptest!(|(bytes: [u8; 16], seed: u64, text in "[a-z]{0,9}")| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        check("bytes(16)", json!(hex));
        check("hash(16)", json!(hex));
        for name in ["a", "b", "c"] {
            check("Kind", json!(name));
        }
        let pair = json!({"left": exact(seed.cast_signed().into()), "right": text});
        check("Pair", pair);
        let raw = seed % 32;
        prop_assert_eq!(&back("Bits", &json!({"raw": raw}))["raw"], &json!(raw));
    });
}
