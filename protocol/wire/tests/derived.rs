//! Derived fields: checked when a packet is read, worked out anew when one is written.

use netreel_wire::{Change, Context, Wire};
use serde_json::{Value as Json, json};

fn wire(structs: &str) -> Wire {
    let text = format!(
        "wire t {{ byte_order = big; bit_order = msb; root = P; }}
        {structs}"
    );
    Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

const LIST: &str = "struct P {
        length: u16 derived size(body) + 2;
        body: Body;
        check: u32 derived crc32(length, body, le32(7));
    }
    struct Body { count: u8 derived count(items); items: Item[count]; }
    struct Item { has_name: u1 derived present(name); kind: u7;
        if (has_name == 1) { name: string(u8, utf8); } }";

/// The bytes of a `P` with one item, made by hand.
fn one_item() -> Vec<u8> {
    let mut packet = vec![0, 6, 1, 0x85, 2, b'h', b'i'];
    packet[1] = packet.len() as u8;
    let crc = crc(&[&packet[..], &[7, 0, 0, 0]].concat());
    packet.extend(crc.to_be_bytes());
    packet
}

/// CRC-32/ISO-HDLC, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn a_packet_with_the_right_values_has_no_diagnostics() {
    assert_eq!(wire(LIST).decode(&one_item()).diagnostics, []);
}

#[test]
fn a_wrong_value_is_told_with_the_right_one() {
    let mut packet = one_item();
    packet[6] = b'o';
    let told = wire(LIST).decode(&packet).diagnostics;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].path.as_str(), told[0].bit), ("check", 56));
    let (right, wrong) = (
        crc(&[&packet[..7], &[7, 0, 0, 0]].concat()),
        crc(&[&one_item()[..7], &[7, 0, 0, 0]].concat()),
    );
    assert_eq!(
        told[0].message,
        format!("the value is {wrong} ({wrong:#x}), worked out it is {right} ({right:#x})")
    );
}

#[test]
fn derived_fields_may_be_left_out() {
    let json = json!({"packet": {"body": {"items": [{"kind": 5, "name": "hi"}]}}});
    let encoded = wire(LIST)
        .encode(&json)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(encoded.bytes, one_item());
    assert_eq!(encoded.changes, []);
}

#[test]
fn an_edit_changes_what_depends_on_it_and_says_so() {
    let wire = wire(LIST);
    let mut json = wire.decode(&one_item()).to_json();
    let items = json["packet"]["body"]["items"]
        .as_array_mut()
        .expect("a list");
    items.push(json!({"kind": 1}));
    let encoded = wire.encode(&json).unwrap_or_else(|error| panic!("{error}"));
    let again = wire.decode(&encoded.bytes);
    assert_eq!(again.diagnostics, []);
    assert_eq!(again.to_json()["packet"]["body"]["count"], json!(2));
    let changed: Vec<&str> = encoded
        .changes
        .iter()
        .map(|change| change.path.as_str())
        .collect();
    assert_eq!(changed, ["length", "body.count", "check"]);
    let expected = Change {
        path: "length".to_owned(),
        from: 7,
        to: 8,
    };
    assert_eq!(encoded.changes[0], expected);
}

#[test]
fn a_field_that_is_taken_away_is_not_present() {
    let wire = wire(LIST);
    let mut json = wire.decode(&one_item()).to_json();
    let item = json["packet"]["body"]["items"][0]
        .as_object_mut()
        .expect("an item");
    item.remove("name");
    let encoded = wire.encode(&json).unwrap_or_else(|error| panic!("{error}"));
    let again = wire.decode(&encoded.bytes);
    assert_eq!(
        again.to_json()["packet"]["body"]["items"],
        json!([{"has_name": 0, "kind": 5}])
    );
    assert_eq!(again.diagnostics, []);
}

#[test]
fn an_override_crafts_a_bad_packet() {
    let wire = wire(LIST);
    let mut json = wire.decode(&one_item()).to_json();
    json["packet"]["check"] = json!({"value": 1, "override": true});
    let encoded = wire.encode(&json).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(encoded.bytes[7..], [0, 0, 0, 1]);
    let told = wire.decode(&encoded.bytes);
    assert_eq!(told.diagnostics.len(), 1);
    assert_eq!(told.to_json(), json, "and it stays as it is");
    assert_eq!(
        wire.encode(&told.to_json()).expect("a packet").bytes,
        encoded.bytes
    );
}

#[test]
fn a_length_that_does_not_fit_is_refused() {
    let wire = wire("struct P { length: u8 derived size(data); data: bytes(length); }");
    let json = json!({"packet": {"data": "00".repeat(256)}});
    let error = wire.encode(&json).expect_err("too long");
    assert_eq!(error.to_string(), "length: 256 does not fit 8 bits");
}

#[test]
fn a_derived_field_in_a_branch_is_judged_only_where_it_is() {
    let text =
        "struct P { has: u8; if (has == 1) { sum: u8 derived sum8(data); } data: bytes(2); }";
    let check = |packet: &[u8], problems: usize| {
        assert_eq!(
            wire(text).decode(packet).diagnostics.len(),
            problems,
            "{packet:?}"
        );
    };
    check(&[0, 3, 4], 0);
    check(&[1, 7, 3, 4], 0);
    check(&[1, 8, 3, 4], 1);
}

#[test]
fn both_plans_count_the_same_problems() {
    let wire = wire(LIST);
    let mut packet = one_item();
    packet[1] = 0;
    let decoded = wire.decode(&packet);
    let mut facts = netreel_wire::PacketFacts::default();
    wire.facts(&packet, &mut facts);
    assert_eq!(facts.diagnostics, 2);
    assert_eq!(facts, decoded.facts);
}

#[test]
fn every_round_trip_is_to_the_byte() {
    let wire = wire(LIST);
    for cut in 0..=one_item().len() {
        for change in 0..cut {
            let mut packet = one_item();
            packet.truncate(cut);
            packet[change] ^= 0x41;
            let json: Json = wire.decode(&packet).to_json();
            let encoded = wire
                .encode(&json)
                .unwrap_or_else(|error| panic!("{error}\n{json}"));
            assert_eq!(encoded.bytes, packet, "{json}");
        }
    }
}

#[test]
fn what_depends_on_an_unset_state_is_not_judged() {
    let text = "wire t { byte_order = big; bit_order = msb; root = P; state = S; }
        state S { key: u8; }
        struct P {
            let key = state.key;
            sum: u8 derived sum8(u8(key), body);
            next: u8 derived key + 1;
            body: u8;
            set state.key = body;
        }";
    let wire = Wire::compile("t.wire", text).unwrap_or_else(|error| panic!("{error}"));
    let mut state = wire.new_state();
    let context = Context::default();
    let mut told = |packet: &[u8]| {
        wire.decode_in(&context, &mut state, packet)
            .diagnostics
            .len()
    };
    assert_eq!(told(&[9, 9, 5]), 0, "nobody knows the key");
    assert_eq!(told(&[9, 6, 4]), 0, "5 + 4, 5 + 1");
    assert_eq!(told(&[9, 6, 4]), 2, "now the key is 4");
}

const LAYERED: &str = r#"struct P {
        sum: u8 derived sum8(unpacked(body));
        is_packed: u1; unused: u7 = 0;
        if (is_packed == 1) { body: Body through Key(); } else { body: Body; }
    }
    struct Body { a: u8; b: u8; }
    layer Key() { transform = xor(x"ff"); }"#;

#[test]
fn a_checksum_may_be_of_what_comes_out_of_a_layer() {
    let wire = wire(LAYERED);
    let told = |packet: &[u8]| wire.decode(packet).diagnostics.len();
    assert_eq!(told(&[0x30, 0x80, 0xef, 0xdf]), 0, "0x10 and 0x20, packed");
    assert_eq!(
        told(&[0x30, 0x00, 0x10, 0x20]),
        0,
        "the same without the layer"
    );
    assert_eq!(told(&[0x31, 0x80, 0xef, 0xdf]), 1);
    assert_eq!(
        told(&[0xce, 0x80, 0xef, 0xdf]),
        1,
        "that of the packed bytes"
    );
}

#[test]
fn a_checksum_of_what_is_inside_a_layer_is_worked_out_anew() {
    let json = json!({"packet": {"is_packed": 1, "body": {"a": 1, "b": 2}}});
    let encoded = wire(LAYERED).encode(&json);
    let encoded = encoded.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(encoded.bytes, [3, 0x80, 0xfe, 0xfd]);
}

#[test]
fn what_cannot_be_unpacked_is_told_once() {
    let structs = "struct P { sum: u8 derived sum8(unpacked(body)); body: Body through Packed(); }
        struct Body { a: u8; }
        layer Packed() { transform = zlib; }";
    let told = wire(structs).decode(&[7, 1, 2, 3]).diagnostics;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].path, "body");
}

#[test]
fn the_size_of_a_text_is_all_that_it_takes() {
    let wire = wire(
        "struct P {
            a: u8 derived size(prefixed);
            b: u8 derived size(ended);
            c: u8 derived size(padded);
            d: u8 derived size(all);
            n: u8 derived count(all);
            prefixed: string(u8, utf8);
            ended: string(zero, utf8);
            padded: string(4, utf8, padded);
            all: u16[n];
            let again = size(prefixed) * 100 + size(ended) * 10 + size(padded);
        }",
    );
    let fields = serde_json::json!({
        "packet": { "prefixed": "hi", "ended": "é", "padded": "x", "all": [1, 2, 3] }
    });
    let encoded = wire
        .encode(&fields)
        .unwrap_or_else(|error| panic!("{error}"));
    let expected = [
        &[3, 3, 4, 6, 3, 2][..],
        b"hi\xc3\xa9\0x\0\0\0",
        &[0, 1, 0, 2, 0, 3],
    ];
    assert_eq!(encoded.bytes, expected.concat());
    let decoded = wire.decode(&encoded.bytes);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(decoded.to_json()["packet"]["again"], 334);
}
