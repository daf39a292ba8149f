//! `type NAME = TYPE;`: a name for a type with its options.

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

#[test]
fn a_name_stands_for_a_type_with_its_options() {
    check(
        "const TURN = 360;
        type Angle = quantized(0, TURN, 8);
        type Short = string(u8, latin1);
        type Place = vec2(i16);
        struct P { yaw: Angle; turns: Angle[2]; name: Short; at: Place; }",
        &[0xff, 0, 0xff, 2, b'h', 0xe9, 1, 0, 0xff, 0xff],
        &[
            "yaw = 360.0000 (raw 255)",
            "turns[0] = 0.0000 (raw 0)",
            "turns[1] = 360.0000 (raw 255)",
            "name = \"hé\"",
            "at.x = 1",
            "at.y = -1",
        ],
    );
}

#[test]
fn a_name_stands_wherever_a_type_does() {
    let body = "type Id = u16be;
        type EntityId = Id;
        type State = Kind;
        type Steps = zigzag;
        enum Kind : Small { off, on }
        type Small = u8;
        struct P {
            id: EntityId;
            kind: State;
            text: string(Id, utf8);
            step: delta(Steps, id);
            b: B(kind);
            v: vec2(Id);
        }
        struct B(kind: State) { if (kind == Kind.on) { more: Small; } }";
    let wire = wire(body);
    let decoded = decode(&wire, &[1, 0, 1, 0, 1, b'x', 3, 9, 0, 1, 0, 2]);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(
        lines(&decoded),
        [
            "id = 256",
            "kind = on (1)",
            "text = \"x\"",
            "step = 254 (-2)",
            "b.more = 9",
            "v.x = 1",
            "v.y = 2"
        ]
    );
    let types: Vec<&str> = decoded.tree.iter().map(|node| node.type_name()).collect();
    assert!(
        types.contains(&"EntityId"),
        "the tree says the name: {types:?}"
    );
}

#[test]
fn a_table_of_the_state_can_have_such_a_type() {
    let text = "wire t { byte_order = little; bit_order = lsb; root = P; state = S; }
        type Challenge = u32;
        state S { challenge: Challenge; }
        struct P { challenge: Challenge; set state.challenge = challenge; }";
    Wire::compile("t.wire", text).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_file_that_imports_a_name_reads_its_constants_where_they_were_declared() {
    let common = "const WIDTH = 4; type Wide = bytes(WIDTH); type Vector = vec2(u8);";
    let main = "import \"common.wire\";
        wire t { byte_order = little; bit_order = lsb; root = P; }
        const WIDTH_HERE = 1;
        struct P { a: Wide; v: Vector; b: bytes(WIDTH_HERE); }";
    let mut load = |_: &str| Ok(common.to_owned());
    let wire = Wire::compile_with("main.wire", main, &mut load);
    let wire = wire.unwrap_or_else(|error| panic!("{error}"));
    let decoded = decode(&wire, &[1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(decoded.diagnostics, []);
}

#[test]
fn what_is_no_type_is_refused_where_it_is_declared() {
    refused(
        "type A = u65; struct P { a: A; b: A; }",
        &["an integer cannot have 65 bits", "t.wire:2:10"],
    );
    refused(
        "type A = B; type B = A; struct P { a: A; }",
        &["`A` leads to no type", "a name stands for a type"],
    );
    refused(
        "type A = bytes(length); struct P { length: u8; a: A; }",
        &[
            "there is no `length`",
            "the arguments of a type with a name are constants",
        ],
    );
    refused(
        "type A = bytes(left() / 8); struct P { a: A; }",
        &[
            "`A` depends on the packet",
            "give such a type where the field is declared",
        ],
    );
    refused(
        "type A = delta(u8, state.x); struct P { a: A; }",
        &["`A` depends on the packet"],
    );
    refused(
        "type A = u8[4]; struct P { a: A; }",
        &["a field says how often"],
    );
    refused(
        "type A = u8; struct P { a: A(3); }",
        &["`A` takes no arguments"],
    );
    refused(
        "type u8 = u16; struct P { a: u8; }",
        &["`u8` is a built-in type"],
    );
    refused(
        "type A = u8; struct A { x: u8; } struct P { a: A; }",
        &["`A` is declared twice"],
    );
    refused(
        "type Angle = u8; struct P { a: Angel; }",
        &["there is no type `Angel`", "did you mean `Angle`?"],
    );
}
