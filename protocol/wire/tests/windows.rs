//! Windows: bytes whose number is known before they are read.

use netreel_wire::{Decoded, Value, Wire};

/// A wire with this body of the root struct, and more items.
fn wire(body: &str, items: &str) -> Wire {
    let text = format!(
        "wire w {{ version = 1; byte_order = little; bit_order = lsb; root = P; }}\n\
         struct P {{ {body} }}\n{items}"
    );
    Wire::compile("windows.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Every field with its path, first bit and value, then every diagnostic; and the packet comes back
/// from its JSON.
#[track_caller]
fn check(wire: &Wire, packet: &[u8], expected: &str) -> Decoded {
    let decoded = wire.decode(packet);
    let mut lines = Vec::new();
    for node in decoded.tree.iter().filter(|node| node.descendants() == 0) {
        let value = match node.value() {
            Value::Unsigned(value) => value.to_string(),
            Value::Bytes(bytes) => format!("{bytes:02x?}"),
            Value::None => "-".to_owned(),
            other => format!("{other:?}"),
        };
        let (path, bit) = (decoded.tree.path(node.id()), node.bits().start);
        lines.push(format!("{path} @{bit} = {value}"));
    }
    for diagnostic in &decoded.diagnostics {
        lines.push(format!("{}: {}", diagnostic.path, diagnostic.message));
    }
    assert_eq!(lines.join("\n"), expected);
    let json = decoded.to_json();
    let encoded = wire.encode(&json);
    let encoded = encoded.unwrap_or_else(|error| panic!("{error}\n{json:#}"));
    assert_eq!(encoded.bytes, packet, "{json:#}");
    decoded
}

#[test]
fn nothing_inside_reads_past_it() {
    let wire = wire(
        "n: u8; body: B size(n); after: u8;",
        "struct B { a: u8; b: u16; }",
    );
    check(
        &wire,
        &[3, 1, 2, 0, 9],
        "n @0 = 3\nbody.a @8 = 1\nbody.b @16 = 2\nafter @32 = 9",
    );
    check(
        &wire,
        &[2, 1, 2, 9],
        "n @0 = 2\nbody.a @8 = 1\nbody.rest @16 = [02]\nafter @24 = 9\n\
         body.b: `u16` needs 16 bits, 8 are left in the 2 bytes of `size(n)`",
    );
}

#[test]
fn what_is_left_inside_is_rest() {
    let wire = wire("n: u8; body: B size(n); after: u8;", "struct B { a: u4; }");
    check(
        &wire,
        &[2, 0x31, 0x52, 9],
        "n @0 = 2\nbody.a @8 = 1\nbody.rest @12 = [23, 05]\nafter @24 = 9\n\
         body: 12 bits are left after the last field in `size(n)`",
    );
}

#[test]
fn until_end_is_the_end_of_the_window() {
    let wire = wire("n: u8; items: u8[until end] size(n - 1); after: u8;", "");
    check(
        &wire,
        &[3, 7, 8, 9],
        "n @0 = 3\nitems[0] @8 = 7\nitems[1] @16 = 8\nafter @24 = 9",
    );
}

#[test]
fn a_block_is_a_window() {
    let wire = wire(
        "n: u8; size (n) { kind: u8; if (kind == 1) { a: u16; } } size (1) { b: u8; } after: u8;",
        "",
    );
    check(
        &wire,
        &[3, 1, 2, 0, 5, 9],
        "n @0 = 3\nkind @8 = 1\na @16 = 2\nb @32 = 5\nafter @40 = 9",
    );
    check(
        &wire,
        &[2, 1, 2, 5, 9],
        "n @0 = 2\nkind @8 = 1\nrest @16 = [02]\nb @24 = 5\nafter @32 = 9\n\
         a: `u16` needs 16 bits, 8 are left in the 2 bytes of `size (n)`",
    );
}

#[test]
fn a_window_that_is_cut_keeps_what_is_there() {
    let wire = wire(
        "n: u8; body: B size(n); after: u8;",
        "struct B { a: u8; b: u8; c: u8[until end]; }",
    );
    check(
        &wire,
        &[200, 1, 2, 3],
        "n @0 = 200\nbody.a @8 = 1\nbody.b @16 = 2\nbody.c[0] @24 = 3\n\
         body: `size(n)` asks for 200 bytes, 24 bits are left before the packet's end",
    );
}

#[test]
fn a_window_in_a_window_names_its_own_limit() {
    let wire = wire(
        "outer: A size(4); after: u8;",
        "struct A { n: u8; inner: B size(n); c: u8; } struct B { x: u8; y: u32; }",
    );
    check(
        &wire,
        &[2, 1, 2, 7, 9],
        "outer.n @0 = 2\nouter.inner.x @8 = 1\nouter.inner.rest @16 = [02]\nouter.c @24 = 7\n\
         after @32 = 9\nouter.inner.y: `u32` needs 32 bits, 8 are left in the 2 bytes of `size(n)`",
    );
    check(
        &wire,
        &[9, 1, 2, 7, 9],
        "outer.n @0 = 9\nouter.inner.x @8 = 1\nouter.inner.rest @16 = [02, 07]\n\
         outer.rest @32 = []\nafter @32 = 9\n\
         outer.inner: `size(n)` asks for 9 bytes, 24 bits are left in the 4 bytes of `size(4)`\n\
         outer.inner.y: `u32` needs 32 bits, 16 are left in the 3 bytes of `size(n)`",
    );
}

#[test]
fn a_window_that_is_read_later_does_not_hide_what_is_missing() {
    let wire = wire(
        "body: B size(1); if (body.b == 1) { c: u8; } after: u8;",
        "struct B { a: u8; b: u8; }",
    );
    check(
        &wire,
        &[1, 2, 3],
        "body.a @0 = 1\nrest @8 = [02, 03]\n\
         body.b: `u8` needs 8 bits, none is left in the 1 byte of `size(1)`",
    );
}

#[test]
fn a_negative_size_ends_what_is_around_it() {
    let wire = wire(
        "n: u8; body: B size(n - 3); after: u8;",
        "struct B { a: u8; }",
    );
    check(
        &wire,
        &[1, 2, 3],
        "n @0 = 1\nbody @8 = -\nrest @8 = [02, 03]\nbody: `size(n - 3)` is -2",
    );
}

#[test]
fn every_message_is_decoded_where_one_is_broken() {
    let wire = wire(
        "messages: M[until end];",
        "enum K : u8 { a, b } \
         struct M @message { n: u8; body: B size(n); } \
         struct B { kind: K @message_kind; object: u16 @object; }",
    );
    let decoded = check(
        &wire,
        &[3, 0, 5, 0, 2, 1, 6, 3, 1, 7, 0],
        "messages[0].n @0 = 3\nmessages[0].body.kind @8 = Enum { raw: 0, name: Some(\"a\") }\n\
         messages[0].body.object @16 = 5\nmessages[1].n @32 = 2\n\
         messages[1].body.kind @40 = Enum { raw: 1, name: Some(\"b\") }\n\
         messages[1].body.rest @48 = [06]\nmessages[2].n @56 = 3\n\
         messages[2].body.kind @64 = Enum { raw: 1, name: Some(\"b\") }\n\
         messages[2].body.object @72 = 7\n\
         messages[1].body.object: `u16` needs 16 bits, 8 are left in the 2 bytes of `size(n)`",
    );
    let objects: Vec<Option<u64>> = decoded.facts.messages.iter().map(|m| m.object).collect();
    assert_eq!(objects, [Some(5), None, Some(7)]);
}

#[test]
fn a_size_in_json_that_is_not_the_size_is_refused() {
    let wire = wire("n: u8; body: B size(n);", "struct B { a: u8; }");
    let json = serde_json::json!({ "packet": { "n": 2, "body": { "a": 1 } } });
    let error = wire.encode(&json).expect_err("the sizes differ");
    assert_eq!(
        error.to_string(),
        "body: its window is 2 bytes long, what is in it takes 8 bits"
    );
}

#[test]
fn a_derived_length_that_sizes_a_window_is_worked_out() {
    let wire = wire(
        "n: u8 derived size(body) + 1; body: B size(n - 1); after: u8;",
        "struct B { a: u8; b: u8[until end]; }",
    );
    check(
        &wire,
        &[4, 1, 2, 3, 9],
        "n @0 = 4\nbody.a @8 = 1\nbody.b[0] @16 = 2\nbody.b[1] @24 = 3\nafter @32 = 9",
    );
    let json = serde_json::json!({ "packet": { "body": { "a": 1, "b": [2] }, "after": 9 } });
    let encoded = wire.encode(&json).expect("all is there");
    assert_eq!(encoded.bytes, [3, 1, 2, 9]);
}

#[test]
fn what_takes_all_that_is_left_leaves_what_its_window_does_not_hold() {
    let inner = "struct Inner { data: bytes(rest); }";
    check(
        &wire("n: u8; inner: Inner size(n); tail: u8;", inner),
        &[2, 7, 8, 9],
        "n @0 = 2\ninner.data @8 = [07, 08]\ntail @24 = 9",
    );
    check(
        &wire("n: u8; all: Inner[bytes n]; tail: u8;", inner),
        &[2, 7, 8, 9],
        "n @0 = 2\nall[0].data @8 = [07, 08]\ntail @24 = 9",
    );
    check(
        &wire("at (8) { inner: Inner; } first: u8;", inner),
        &[7, 8],
        "inner.data @8 = [08]\nfirst @0 = 7",
    );
}

#[test]
fn a_branch_that_takes_all_that_is_left_leaves_the_branches_that_exclude_it() {
    let either = wire(
        "n: u8; if (n == 1) { data: bytes(rest); } if (n == 2) { tail: u8; }",
        "",
    );
    check(&either, &[1, 7], "n @0 = 1\ndata @8 = [07]");
    check(&either, &[2, 7], "n @0 = 2\ntail @8 = 7");
    let told = wire(
        "inner: Inner(false); tail: u8;",
        "struct Inner(has: bool) { n: u8; if (has) { data: bytes(rest); } }",
    );
    check(&told, &[1, 7], "inner.n @0 = 1\ntail @8 = 7");
}

#[test]
fn what_can_hold_itself_takes_all_that_is_left_where_one_of_its_ends_does() {
    let text = "wire w { version = 1; byte_order = little; bit_order = lsb; root = P; }\n\
                struct P { n: u8; inner: A; tail: u16; }\n\
                struct A { n: u8; if (n == 1) { inner: B; } }\n\
                struct B { n: u8; switch (n) { 1 => inner: A; default => data: bytes(rest); } }\n";
    let error = Wire::compile("windows.wire", text).expect_err("nothing is left");
    let told = "nothing is left for `tail` where `inner` ends with `data`";
    assert!(error.to_string().contains(told), "{error}");
}

#[test]
fn what_takes_no_bit_may_stand_after_what_takes_all_that_is_left() {
    let empty = "struct Empty { let a = 3; } struct Inner { data: bytes(rest); }";
    let accepted = wire(
        "inner: Inner; empty: Empty; none: bytes(0); no: u8[0];",
        empty,
    );
    check(
        &accepted,
        &[7],
        "inner.data @0 = [07]\nempty.a @8 = Signed(3)\nnone @8 = []\nno @8 = -",
    );
    let flags = "struct Flags { a: bool; b: u3; } struct Inner { n: u4; data: bytes(rest); }";
    check(
        &wire("inner: Inner; flags: Flags;", flags),
        &[0x21, 0x43],
        "inner.n @0 = 1\ninner.data @4 = [32]\nflags.a @12 = Bool(false)\nflags.b @13 = 2",
    );
}

#[test]
fn the_other_branch_of_the_same_condition_is_left_what_it_takes() {
    let wire = wire(
        "n: u8; if (n == 1) { data: bytes(rest); } else { m: u8; } if (n == 1) { let a = 1; } else { tail: u8; }",
        "",
    );
    check(&wire, &[2, 3, 4], "n @0 = 2\nm @8 = 3\ntail @16 = 4");
}
