//! `c_struct`: structs as a C header has them, with the gaps that a compiler leaves.

mod reading;

use netreel_wire::Wire;
use reading::{check, decode, lines, wire};

#[track_caller]
fn refused(body: &str, expected: &[&str]) {
    let text = format!("wire t {{ byte_order = little; bit_order = lsb; root = P; }}\n{body}");
    let error = Wire::compile("t.wire", &text).expect_err("it is refused");
    let shown = error.to_string();
    for part in expected {
        assert!(shown.contains(part), "{part:?} is missing in\n{shown}");
    }
}

/// Where each field of the packet begins, in bytes.
fn offsets(body: &str, bytes: usize) -> Vec<(String, u32)> {
    let decoded = decode(&wire(body), &vec![0; bytes]);
    assert_eq!(decoded.diagnostics, []);
    let nodes = decoded.tree.iter().skip(1);
    let paths = nodes.map(|node| (decoded.tree.path(node.id()), node.bits().start / 8));
    paths.collect()
}

#[test]
fn members_stand_where_the_compiler_puts_them() {
    let packet = [
        &[1, 0xaa, 0xbb, 0xcc][..],
        &1f32.to_le_bytes(),
        &0f32.to_le_bytes(),
        &(-2f32).to_le_bytes(),
        b"ab\0zz",
        &[0xee, 7, 0],
    ]
    .concat();
    let body = "c_struct(natural) P {
            uint8_t kind;      // a comment
            float x[3];        /* another */
            char name[5];
            unsigned short id;
        }";
    let decoded = decode(&wire(body), &packet);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(
        lines(&decoded),
        [
            "kind = 1",
            "padding = aa bb cc (3 bytes)",
            "x[0] = 1",
            "x[1] = 0",
            "x[2] = -2",
            "name = \"ab\"",
            "padding_2 = ee (1 byte)",
            "id = 7"
        ]
    );
    let types: Vec<&str> = decoded.tree.iter().map(|node| node.type_name()).collect();
    assert!(types.contains(&"c_struct(natural)"), "{types:?}");
    assert!(types.contains(&"unsigned short"), "{types:?}");
}

#[test]
fn a_packed_struct_has_no_gaps_and_a_pack_has_small_ones() {
    let members = "{ uint8_t a; double b; uint16_t c; }";
    let at = |layout: &str, bytes| {
        let found = offsets(&format!("c_struct({layout}) P {members}"), bytes);
        let shown = found.iter().map(|(path, at)| format!("{path} {at}"));
        shown.collect::<Vec<String>>().join(", ")
    };
    assert_eq!(at("packed", 11), "a 0, b 1, c 9");
    assert_eq!(at("pack(2)", 12), "a 0, padding 1, b 2, c 10");
    assert_eq!(at("pack(4)", 16), "a 0, padding 1, b 4, c 12, padding_2 14");
    assert_eq!(at("natural", 24), "a 0, padding 1, b 8, c 16, padding_2 18");
}

#[test]
fn declarations_of_a_header_stand_as_they_are() {
    let body = "const MAX_WEAPONS = 2;
        c_struct(natural) {
            typedef uint32_t EntityId;
            typedef float vec3_t[3];
            struct Item;
            struct Item { int16_t count; uint8_t tag; };
            typedef enum { WEAPON_NONE, WEAPON_KNIFE = 4, WEAPON_BOW } Weapon;
            typedef struct player_s {
                EntityId id;
                vec3_t at, rows[2];
                struct Item items[MAX_WEAPONS];
                Weapon weapon;
                struct { int8_t x; long long y; } inner;
                const unsigned char key[3], bits[2][2];
                bool alive;
            } Player, *PlayerRef;
        };
        struct P { before: u8; player: Player; who: EntityId; }";
    let found = offsets(body, 1 + 80 + 4);
    let start = |path: &str| {
        let found = found.iter().find(|(known, _)| known == path);
        found.map_or_else(|| panic!("{path}: {found:?}"), |(_, at)| *at)
    };
    // As gcc and clang place them on a 64-bit machine, one byte further.
    for (path, at) in [
        ("player.id", 0),
        ("player.at", 4),
        ("player.rows", 16),
        ("player.items[0].count", 40),
        ("player.items[0].tag", 42),
        ("player.items[0].padding", 43),
        ("player.items[1].count", 44),
        ("player.weapon", 48),
        ("player.padding", 52),
        ("player.inner.x", 56),
        ("player.inner.padding", 57),
        ("player.inner.y", 64),
        ("player.key", 72),
        ("player.bits[1]", 77),
        ("player.alive", 79),
        ("who", 80),
    ] {
        assert_eq!(start(path), at + 1, "{path}");
    }
}

#[test]
fn a_member_may_be_of_the_wires_enums_and_mean_something() {
    let wire = wire(
        "enum Kind : u8 { move = 1 @update, gone = 2 @destroy }
        type Id = u16;
        struct P { sequence: u16 @sequence; m: Move[until end]; }
        c_struct(natural) Move @message {
            Kind kind @message_kind;
            Id object @object;
        }",
    );
    let decoded = decode(&wire, &[5, 0, 2, 0x99, 3, 0, 1, 0x77, 4, 0]);
    assert_eq!(decoded.diagnostics, []);
    let objects: Vec<Option<u64>> = decoded.facts.messages.iter().map(|m| m.object).collect();
    assert_eq!(objects, [Some(3), Some(4)]);
    // Somebody who writes the packet by hand leaves the gaps out.
    let json = serde_json::json!({"packet": {"sequence": 1, "m": [{"kind": "gone", "object": 9}]}});
    assert_eq!(reading::encode(&wire, json), [1, 0, 2, 0, 9, 0]);
}

#[test]
fn a_big_stream_swaps_the_members_of_a_struct() {
    let wire = reading::wire_in(
        "big",
        "msb",
        "c_struct(natural) P { int8_t a; uint16_t b; }",
    );
    let decoded = decode(&wire, &[0xff, 9, 1, 2]);
    assert_eq!(
        lines(&decoded),
        ["a = -1", "padding = 09 (1 byte)", "b = 258"]
    );
}

#[test]
fn a_member_may_have_a_gaps_name() {
    check(
        "c_struct(natural) P { uint8_t padding[3]; uint32_t a; }",
        &[1, 2, 3, 4, 5, 0, 0, 0],
        &[
            "padding = 01 02 03 (3 bytes)",
            "padding_2 = 04 (1 byte)",
            "a = 5",
        ],
    );
}

#[test]
fn what_has_no_one_layout_is_refused_with_what_to_do() {
    refused("c_struct P { uint8_t a; }", &["say `c_struct(natural)`"]);
    refused(
        "c_struct(naturel) P { uint8_t a; }",
        &["did you mean `natural`?"],
    );
    refused(
        "c_struct(pack(3)) P { uint8_t a; }",
        &["expected 1, 2, 4 or 8 bytes"],
    );
    refused(
        "c_struct(natural) P { long a; }",
        &["how many bytes a `long` has", "`int32_t` or `int64_t`"],
    );
    refused(
        "c_struct(natural) P { unsigned long b; size_t a; }",
        &["`unsigned long`", "`size_t`"],
    );
    refused(
        "c_struct(natural) P { char *name; }",
        &["a pointer means nothing"],
    );
    refused(
        "c_struct(natural) P { uint8_t a : 3; uint8_t b; }",
        &["fields such as `u3`"],
    );
    refused(
        "c_struct(natural) P { uint8_t a; union { float f; } b; }",
        &["with a `switch`"],
    );
    refused(
        "c_struct(natural) P { uint8_t a; uint8_t data[]; }",
        &["`head: Head; data: bytes(rest);`"],
    );
    refused(
        "c_struct(natural) P { uint8_t a[0]; }",
        &["an array cannot have 0 elements"],
    );
    refused(
        "c_struct(natural) P { uint8_t a[1 << 20][1 << 20]; }",
        &["more than 16777216 bytes"],
    );
    refused("c_struct(natural) P { }", &["one member at least"]);
    refused(
        "c_struct(natural) P { u8_t a; }",
        &["no type `u8_t` is declared before this"],
    );
    refused(
        "struct Q { a: u3; } c_struct(natural) P { Q a; }",
        &["may take any number of bits"],
    );
    refused(
        "c_struct(natural) { struct P { struct P p; }; }",
        &["no type `P` is declared before this"],
    );
    refused(
        "#pragma pack(push, 1)\nc_struct(natural) P { uint8_t a; }",
        &["`c_struct(packed)`"],
    );
    refused(
        "#define A 3\nc_struct(natural) P { uint8_t a[A]; }",
        &["`const NAME = VALUE;`"],
    );
    refused(
        "c_struct(natural) { typedef struct { uint8_t a; } __attribute__((packed)) P; }",
        &["a packed struct stands in `c_struct(packed)`"],
    );
    refused(
        "enum E : u4 { a } c_struct(natural) P { E e; }",
        &["an enum held by"],
    );
    refused(
        "c_struct(natural) P { uint8_t a; ",
        &["expected a member, or `}`"],
    );
}
