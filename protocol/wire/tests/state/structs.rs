//! Whole structs that a connection keeps, tables in tables, and deltas that are laid over them.

use netreel_wire::{Decoded, PacketFacts, Value, Wire};

use super::{BACK, FIRST, check, run, shown, wire, words};

const PLAYER: &str = "struct Player { health: u8; at: Place; name: string(u8, utf8); alive: bool; \
     pad: u7; many: u8[2]; } struct Place { x: f32; y: i16; }";

/// Health 100 at (1.5, -2), called "ab", alive.
const FULL: [u8; 14] = [1, 9, 100, 0, 0, 0xc0, 0x3f, 0xfe, 0xff, 2, b'a', b'b', 1, 7];

fn full() -> Vec<u8> {
    [&FULL[..], &[8]].concat()
}

/// A player under a number, and what is read of the one under another number.
fn players(read: &str) -> Wire {
    let body = "kind: u8; number: u8; if (kind == 1) { player: Player; \
         set state.players[number] = player; } else { ";
    wire("players: Player[4];", &format!("{body}{read} }}"), PLAYER)
}

#[test]
fn every_value_of_a_struct_is_kept() {
    let wire = players(
        "let health: u8 = state.players[number].health; let x: f32 = state.players[number].at.x; \
         let y: i16 = state.players[number].at.y; let alive: bool = state.players[number].alive; \
         if (known(state.players[number])) { let is_there = true; }",
    );
    check(
        &wire,
        &[(FIRST, &full()), (BACK, &[2, 9])],
        &[
            "kind = 2",
            "number = 9",
            "health = 100",
            "x = 1.5",
            "y = -2",
            "alive = true",
            "is_there = true",
        ],
        &[],
    );
}

#[test]
fn what_no_packet_has_set_is_unresolved() {
    let wire = players(
        "let x: f32 = state.players[number].at.x; if (known(state.players[number])) { no: u8; }",
    );
    let last = run(&wire, &[(FIRST, &full()), (BACK, &[2, 8])]);
    assert_eq!(shown(&last)[..2], ["kind = 2", "number = 8"]);
    assert_eq!(words(&last), [""; 0]);
    assert!(is_unresolved(&last, "x"));
}

/// What changes is there, and the rest comes from the packet that the other side has acked.
#[test]
fn a_delta_over_an_acked_base_gives_whole_values() {
    let wire = wire(
        "players: Player[4];",
        "number: u8; base: u8; player: Delta(base); set state.players[number] = player;",
        "struct Player { health: u8; x: f32; }
         struct Delta(base: int) {
             changes: u8;
             if (changes & 1 != 0) { health: u8; }
             else if (base == 0) { let health: u8 = 50; }
             else { let health: u8 = state.players[base].health; }
             if (changes & 2 != 0) { x: f32; }
             else if (base == 0) { let x: f32 = -0.5; }
             else { let x: f32 = state.players[base].x; }
         }",
    );
    let packets: [&[u8]; 4] = [
        &[1, 0, 1, 70],
        &[2, 1, 2, 0, 0, 0xc0, 0x3f],
        &[3, 1, 1, 71],
        &[4, 2, 0],
    ];
    let expected = [("70", "-0.5"), ("70", "1.5"), ("71", "-0.5"), ("70", "1.5")];
    for (count, (health, x)) in expected.iter().enumerate() {
        let story: Vec<_> = packets[..=count].iter().map(|it| (FIRST, *it)).collect();
        let last = run(&wire, &story);
        let fields = shown(&last);
        assert!(
            fields.contains(&format!("player.health = {health}")),
            "{fields:?}"
        );
        assert!(fields.contains(&format!("player.x = {x}")), "{fields:?}");
        assert_eq!(words(&last), [""; 0]);
    }
}

/// Objects by snapshot and by number: a snapshot begins as its base.
#[test]
fn a_snapshot_begins_as_its_base_and_leaves_that_as_it_was() {
    let wire = wire(
        "worlds: Object[8][16];",
        "snapshot: u8; base: u8; set state.worlds[snapshot] = state.worlds[base]; \
         count: u8; changes: Change(snapshot)[count]; asked: u8; \
         let mine: u8 = state.worlds[snapshot][asked].value; \
         let old: u8 = state.worlds[base][asked].value;",
        "struct Object { value: u8; }
         struct Change(snapshot: int) {
             number: u8; gone: bool; pad: u7;
             if (gone) { unset state.worlds[snapshot][number]; }
             else { object: Object; set state.worlds[snapshot][number] = object; }
         }",
    );
    let first: &[u8] = &[1, 0, 2, 5, 0, 50, 6, 0, 60, 5];
    let second: &[u8] = &[2, 1, 2, 6, 0, 61, 5, 1, 6];
    let last = run(&wire, &[(FIRST, first), (FIRST, second)]);
    let fields = shown(&last);
    assert!(fields.contains(&"mine = 61".to_owned()), "{fields:?}");
    assert!(fields.contains(&"old = 60".to_owned()), "{fields:?}");
    let third: &[u8] = &[3, 2, 0, 5];
    let last = run(&wire, &[(FIRST, first), (FIRST, second), (FIRST, third)]);
    assert!(is_unresolved(&last, "mine"), "removed in its base");
    let fourth: &[u8] = &[3, 1, 0, 5];
    let last = run(&wire, &[(FIRST, first), (FIRST, second), (FIRST, fourth)]);
    assert_eq!(
        value(&last, "mine"),
        Value::Unsigned(50),
        "not removed there"
    );
}

#[track_caller]
fn value(decoded: &Decoded, path: &str) -> Value {
    let mut nodes = decoded.tree.iter();
    let found = nodes.find(|node| decoded.tree.path(node.id()) == path);
    found.expect("the field").value()
}

#[track_caller]
fn is_unresolved(decoded: &Decoded, path: &str) -> bool {
    matches!(value(decoded, path), Value::Delta { value: None, .. })
}

#[test]
fn tables_in_tables_keep_plain_values_and_texts() {
    let wire = wire(
        "sums: i16[4][4]; names: string[4][4];",
        "a: u8; b: u8; name: string(u8, utf8); \
         let before = if (known(state.sums[a][b])) state.sums[a][b] else 0 - 1; \
         set state.sums[a][b] = before + 1; \
         if (known(state.names[a][b])) { more: bytes(2); } set state.names[a][b] = name;",
        "",
    );
    let packet: &[u8] = &[3, 4, 1, b'x'];
    check(
        &wire,
        &[(FIRST, packet), (BACK, &[3, 4, 1, b'y', 7, 8])],
        &[
            "a = 3",
            "b = 4",
            "name = \"y\"",
            "before = 0",
            "more = 07 08 (2 bytes)",
        ],
        &[],
    );
}

#[test]
fn a_struct_can_be_one_and_for_each_direction() {
    let wire = wire(
        "each last: Place;",
        "place: Place; let mine: i16 = state.last.y; let theirs: i16 = state.other.last.y; \
         set state.last = place;",
        "struct Place { x: f32; y: i16; }",
    );
    let at = |y: u8| vec![0, 0, 0, 0, y, 0];
    let last = run(&wire, &[(FIRST, &at(1)), (BACK, &at(2)), (FIRST, &at(3))]);
    assert_eq!(value(&last, "mine"), Value::Signed(1));
    assert_eq!(value(&last, "theirs"), Value::Signed(2));
}

#[test]
fn structs_inside_and_single_values_can_be_set() {
    let wire = wire(
        "now: Player;",
        "player: Player; set state.now = player; set state.now.health = 7; place: Place; \
         set state.now.at = place; let h: u8 = state.now.health; let y: i16 = state.now.at.y; \
         if (known(state.now.health)) { unset state.now.health; } \
         if (!known(state.now.health)) { let none = true; }",
        PLAYER,
    );
    let packet = [&FULL[2..], &[8, 0, 0, 0, 0, 44, 1]].concat();
    let last = run(&wire, &[(FIRST, &packet)]);
    assert_eq!(value(&last, "h"), Value::Unsigned(7));
    assert_eq!(value(&last, "y"), Value::Signed(300));
    assert_eq!(value(&last, "none"), Value::Bool(true));
}

/// The key is the one from before the first value is set.
#[test]
fn keys_are_read_before_anything_is_set() {
    let wire = wire(
        "rows: Row[4];",
        "row: Row; set state.rows[0] = row; set state.rows[state.rows[0].a] = row; \
         set state.rows[state.rows[0].a].a = 9; let b: u8 = state.rows[2].b; \
         let a: u8 = state.rows[2].a;",
        "struct Row { a: u8; b: u8; }",
    );
    let last = run(&wire, &[(FIRST, &[2, 5])]);
    assert_eq!(value(&last, "b"), Value::Unsigned(5));
    assert_eq!(value(&last, "a"), Value::Unsigned(9));
}

#[test]
fn tests_of_a_wire_begin_with_structs() {
    let text = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
        state S { worlds: Object[8][16]; now: Object; }
        struct Object { at: At; name: string(u8, utf8); }
        struct At { x: u8; }
        struct P { snapshot: u8; number: u8; let x: u8 = state.worlds[snapshot][number].at.x;
                   let now: u8 = state.now.at.x; }
        test \"reads it\" {
            bytes = x\"02 03\";
            state = { worlds: [{ key: 2, value: [{ key: 3, value: { at: { x: 44 }, name: \"me\" } }] }],
                      now: { at: { x: 5 } } };
            value = { snapshot: 2, number: 3, x: 44, now: 5 };
        }";
    let wire = Wire::compile("tests.wire", text).unwrap_or_else(|error| panic!("{error}"));
    for result in wire.run_tests() {
        assert!(result.failures.is_empty(), "{result:?}");
    }
}

/// A wire that copies a table in each of 65 000 elements does no more work than its nodes allow.
#[test]
fn copies_count_as_nodes() {
    let wire = wire(
        "t: u8[16][4096];",
        "fill: u16; filled: Fill(index)[fill]; copies: Copy(index)[until end];",
        "struct Fill(place: int) { value: u8; set state.t[0][place] = value; }
         struct Copy(place: int) { value: u8; set state.t[1] = state.t[0];
                                   set state.t[1][place] = value; }",
    );
    let mut packet = vec![0, 16];
    packet.extend(vec![1; 4096 + 60_000]);
    let mut state = wire.new_state();
    let mut facts = PacketFacts::default();
    wire.facts_in(&FIRST, &mut state, &packet, &mut facts);
    assert_eq!(facts.diagnostics, 1, "the limit of nodes");
    let decoded = run(&wire, &[(FIRST, &packet)]);
    assert!(
        words(&decoded)[0].contains("limit of 131072"),
        "{:?}",
        words(&decoded)
    );
}

#[track_caller]
fn refused(state: &str, body: &str, items: &str, expected: &[&str]) {
    let text = format!(
        "wire w {{ byte_order = little; bit_order = lsb; root = P; state = S; }}\n\
         state S {{ {state} }}\nstruct P {{ {body} }}\n{items}"
    );
    let error = Wire::compile("w.wire", &text).expect_err("it is wrong");
    let error = error.to_string();
    for words in expected {
        assert!(error.contains(words), "`{words}` is not in:\n{error}");
    }
}

#[test]
fn mistakes_say_what_is_kept() {
    let player = "struct Player { health: u8; if (health > 3) { armor: u8; } many: u8[2]; }";
    let declared = "players: Player[4];";
    for (body, expected) in [
        (
            "a: u8; let x = state.players[a].armor;",
            &[
                "nothing called `armor` is kept of `players`",
                "always there",
            ][..],
        ),
        (
            "a: u8; let x = state.players[a].helth;",
            &["did you mean `health`?"],
        ),
        (
            "a: u8; let x = state.players[a];",
            &["is a struct, not a value"],
        ),
        (
            "a: u8; let x = state.players.health;",
            &["`players` is a table", "state.players[KEY]"],
        ),
        ("a: u8; set state.players[a] = a;", &["`a` is not a struct"]),
        (
            "a: u8; let x = state.players[a][a];",
            &["`players` has no table in this one"],
        ),
        (
            "a: u8; set state.players[a] = 5;",
            &["`players` is a struct"],
        ),
        (
            "a: u8; other: Other; set state.players[a] = other;",
            &["`other` has no field `health`"],
        ),
    ] {
        let items = format!("{player} struct Other {{ x: u8; }}");
        refused(declared, body, &items, expected);
    }
    refused(
        "t: Empty[4];",
        "a: u8;",
        "struct Empty { many: u8[2]; }",
        &["nothing of `Empty` can be kept", "this is repeated"],
    );
    refused(
        "t: u8[4][4][4][4];",
        "a: u8;",
        "",
        &["tables stand too deep in each other", "at most 3 keys"],
    );
    refused(
        "x: f32; y: f64;",
        "set state.x = state.y; let z = state.x + 1;",
        "",
        &[
            "`x` is a `f32`, the value a `f64`",
            "arithmetic takes integers, not a `f32`",
        ],
    );
}

/// A constant is a float where one is wanted: in `set`, at the beginning, as a parameter, in a choice.
#[test]
fn a_constant_is_a_float_where_one_is_wanted() {
    let wire = wire(
        "x: f32; q: quantized(-1.0, 1.0, 8); d: f64 = -2.5; h: f16 = 1; p: Point[4];",
        "n: u8; set state.x = 0.0; set state.q = -1.0; set state.p[n].x = -1.5; \
         let x: f32 = state.x; let q: quantized(-1.0, 1.0, 8) = state.q; let d: f64 = state.d; \
         let h: f16 = state.h; let px: f32 = state.p[n].x; \
         let c: f32 = if (n == 1) 3.0 else state.x; inner: Inner(0.25);",
        "struct Point { x: f32; } struct Inner(given: f32) { let g: f32 = given; }",
    );
    check(
        &wire,
        &[(FIRST, &[1])],
        &[
            "n = 1",
            "x = 0",
            "q = -1.0000 (raw 0)",
            "d = -2.5",
            "h = 1",
            "px = -1.5",
            "c = 3",
            "inner.g = 0.25",
        ],
        &[],
    );
    refused(
        "q: quantized(-1.0, 1.0, 8) = 7.0; r: quantized(-1.0, 1.0, 8);",
        "set state.r = 1.5;",
        "",
        &[
            "`quantized(-1.0, 1.0, 8)` has no 7",
            "`quantized(-1.0, 1.0, 8)` has no 1.5",
        ],
    );
}
