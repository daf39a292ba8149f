//! What a connection keeps from one packet to the next.

mod joining;
mod structs;

use netreel_wire::{ConnectionState, Context, Decoded, PacketFacts, StreamId, Value, Wire};
use proptest::prelude::*;

const FIRST: Context = Context {
    source_port: 1,
    destination_port: 2,
    from_first: true,
};

const BACK: Context = Context {
    source_port: 2,
    destination_port: 1,
    from_first: false,
};

/// A wire with this state and this body of its root struct; other items may follow.
fn wire(state: &str, body: &str, items: &str) -> Wire {
    let text = format!(
        "wire w {{ version = 1; byte_order = little; bit_order = lsb; root = P; state = S; }}\n\
         state S {{ {state} }}\nstruct P {{ {body} }}\n{items}"
    );
    Wire::compile("state.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs packets of one connection; what the last one decodes to. Facts of both plans and the states
/// that they leave are held against each other.
#[track_caller]
fn run(wire: &Wire, packets: &[(Context, &[u8])]) -> Decoded {
    let mut of_facts = wire.new_state();
    let mut of_full = wire.new_state();
    let mut last = Decoded::default();
    let mut facts = PacketFacts::default();
    for (context, packet) in packets {
        wire.facts_in(context, &mut of_facts, packet, &mut facts);
        last = wire.decode_in(context, &mut of_full, packet);
        assert_eq!(facts, last.facts, "both plans");
        assert_eq!(of_facts, of_full, "both plans leave one state");
    }
    last
}

/// `path = value` of every field that holds a value.
fn shown(decoded: &Decoded) -> Vec<String> {
    decoded
        .tree
        .iter()
        .filter(|node| node.value() != Value::None)
        .map(|node| format!("{} = {}", decoded.tree.path(node.id()), node.value()))
        .collect()
}

fn words(decoded: &Decoded) -> Vec<String> {
    let words = decoded.diagnostics.iter();
    words
        .map(|each| format!("{} @{}: {}", each.path, each.bit, each.message))
        .collect()
}

#[track_caller]
fn check(wire: &Wire, packets: &[(Context, &[u8])], fields: &[&str], diagnostics: &[&str]) {
    let last = run(wire, packets);
    assert_eq!(shown(&last), fields);
    assert_eq!(words(&last), diagnostics);
}

#[test]
fn a_packet_reads_what_one_before_it_has_set() {
    let wire = wire(
        "mode: u8;",
        "kind: u8; if (kind == 0) { mode: u8; set state.mode = mode; } \
         else if (state.mode == 7) { a: u16; } else { b: u8; }",
        "",
    );
    check(
        &wire,
        &[(FIRST, &[0, 7]), (BACK, &[1, 5, 0])],
        &["kind = 1", "a = 5"],
        &[],
    );
    check(
        &wire,
        &[(FIRST, &[0, 7]), (BACK, &[0, 8]), (FIRST, &[1, 5])],
        &["kind = 1", "b = 5"],
        &[],
    );
}

#[test]
fn a_condition_on_what_is_not_set_leaves_an_unresolved_node() {
    let wire = wire(
        "mode: u8;",
        "kind: u8; inner: Inner; last: u8;",
        "struct Inner { a: u8; if (state.mode == 7) { b: u8; } }",
    );
    check(
        &wire,
        &[(FIRST, &[1, 2, 3, 4])],
        &["kind = 1", "inner.a = 2", "unresolved = 03 04 (2 bytes)"],
        &["inner @16: `state.mode` has no value: no packet so far has set it"],
    );
}

#[test]
fn lengths_counts_and_switches_need_their_value() {
    let says = "`state.n` has no value: no packet so far has set it";
    for (body, path) in [
        ("a: u8; b: bytes(state.n + 1);", "b"),
        ("a: u8; b: u8[state.n];", "b"),
        ("a: u8; switch (state.n * 2) { 0 => {} default => {} }", "P"),
        ("a: u8; b: string(a * state.n, utf8);", "b"),
        ("a: u8; size (state.n) { b: u8; }", "P"),
    ] {
        let wire = wire("n: u8;", body, "");
        check(
            &wire,
            &[(FIRST, &[1, 2])],
            &["a = 1", "unresolved = 02 (1 byte)"],
            &[&format!("{path} @8: {says}")],
        );
    }
}

#[test]
fn a_window_holds_what_is_unresolved_in_it() {
    let wire = wire(
        "mode: u8;",
        "size (2) { a: u8; if (state.mode == 7) { b: u8; } } last: u8;",
        "",
    );
    check(
        &wire,
        &[(FIRST, &[1, 2, 3])],
        &["a = 1", "unresolved = 02 (1 byte)", "last = 3"],
        &["P @8: `state.mode` has no value: no packet so far has set it"],
    );
}

#[test]
fn known_asks_without_needing_the_value() {
    let wire = wire(
        "n: u8; names: string[4];",
        "a: u8; if (known(state.n) && state.n == 3) { b: u8; } \
         if (!known(state.names[a])) { c: u8; } set state.n = a;",
        "",
    );
    check(&wire, &[(FIRST, &[3, 9])], &["a = 3", "c = 9"], &[]);
    check(
        &wire,
        &[(FIRST, &[3, 9]), (FIRST, &[3, 8, 9])],
        &["a = 3", "b = 8", "c = 9"],
        &[],
    );
}

#[test]
fn a_field_has_its_initial_value_until_a_packet_sets_it() {
    let wire = wire(
        "started: bool = false; level: i8 = -2; kind: K = K.b;",
        "if (state.started) { a: u8; } else if (state.level == -2 && state.kind == K.b) { b: u8; } \
         set state.started = true;",
        "enum K : u8 { a, b }",
    );
    check(&wire, &[(FIRST, &[7])], &["b = 7"], &[]);
    check(&wire, &[(FIRST, &[7]), (FIRST, &[7])], &["a = 7"], &[]);
}

#[test]
fn each_direction_has_its_own_and_sees_the_other() {
    let wire = wire(
        "each last: u8 = 0;",
        "n: u8; own: u8[state.last]; theirs: u8[state.other.last]; set state.last = n;",
        "",
    );
    check(
        &wire,
        &[(FIRST, &[1]), (BACK, &[2, 9]), (FIRST, &[3, 1, 2, 2])],
        &["n = 3", "own[0] = 1", "theirs[0] = 2", "theirs[1] = 2"],
        &[],
    );
}

#[test]
fn a_packet_sets_what_the_other_direction_reads() {
    let wire = wire(
        "each window: u8 = 0;",
        "grant: u8; own: u8[state.window]; set state.other.window = grant;",
        "",
    );
    check(
        &wire,
        &[(FIRST, &[2]), (BACK, &[0, 5, 6])],
        &["grant = 0", "own[0] = 5", "own[1] = 6"],
        &[],
    );
}

#[test]
fn a_table_keeps_its_newest_entries_by_key() {
    let wire = wire("sizes: u8[2];", "key: u8; data: u8[state.sizes[key]]; ", "");
    let empty = run(&wire, &[(FIRST, &[9, 1])]);
    assert_eq!(
        words(&empty),
        ["data @8: `state.sizes` has no such entry: no packet so far has set it"]
    );
    let wire = self::wire(
        "sizes: u8[2];",
        "sequence: u8; base: u8; \
         if (known(state.sizes[base])) { known: u8; } \
         set state.sizes[sequence] = base;",
        "",
    );
    let before: [(Context, &[u8]); 3] = [(FIRST, &[1, 0]), (BACK, &[2, 0]), (FIRST, &[3, 0])];
    let mut packets = before.to_vec();
    packets.push((FIRST, &[4, 2, 7]));
    check(
        &wire,
        &packets,
        &["sequence = 4", "base = 2", "known = 7"],
        &[],
    );
    packets.pop();
    packets.push((FIRST, &[4, 1]));
    check(&wire, &packets, &["sequence = 4", "base = 1"], &[]);
}

#[test]
fn what_a_packet_sets_it_can_read() {
    let wire = wire(
        "n: u8;",
        "a: u8; set state.n = a + 1; b: u8[state.n]; set state.n = state.n * 2; c: u8[state.n];",
        "",
    );
    check(
        &wire,
        &[(FIRST, &[0, 1, 2, 3])],
        &["a = 0", "b[0] = 1", "c[0] = 2", "c[1] = 3"],
        &[],
    );
}

#[test]
fn what_stands_before_a_failure_stays_set() {
    let wire = wire(
        "n: u8;",
        "a: u8; set state.n = a; b: u8; set state.n = b; c: u8; set state.n = 99;",
        "",
    );
    let mut state = wire.new_state();
    wire.decode_in(&FIRST, &mut state, &[1, 2]);
    let mut expected = wire.new_state();
    wire.decode_in(&FIRST, &mut expected, &[1, 2, 3]);
    assert_ne!(state, expected, "the last set did not run");
    let mut only_b = wire.new_state();
    wire.decode_in(&FIRST, &mut only_b, &[7, 2]);
    assert_eq!(state, only_b, "the second set did");
}

#[test]
fn a_value_that_does_not_fit_is_told_and_not_kept() {
    let wire = wire(
        "n: u4 = 3;",
        "a: u8; set state.n = a * 2; if (known(state.n)) { b: u8; }",
        "",
    );
    check(&wire, &[(FIRST, &[7, 1])], &["a = 7", "b = 1"], &[]);
    check(
        &wire,
        &[(FIRST, &[8])],
        &["a = 8"],
        &["P @8: `a * 2` is 16 (0x10), which does not fit `u4`"],
    );
}

#[test]
fn a_text_that_is_too_long_is_told_and_not_kept() {
    let wire = wire(
        "names: string[4];",
        "name: string(u16, utf8); set state.names[1] = name; \
         if (known(state.names[1])) { b: u8; }",
        "",
    );
    check(
        &wire,
        &[(FIRST, b"\x02\0hi\x05")],
        &["name = \"hi\"", "b = 5"],
        &[],
    );
    let mut long = vec![0x01, 0x10];
    long.resize(2 + 4097, b'x');
    let decoded = run(&wire, &[(FIRST, &long)]);
    assert_eq!(
        words(&decoded),
        ["P @32792: `name` has 4097 bytes, and a connection keeps at most 4096"]
    );
}

#[test]
fn a_delta_is_added_to_what_is_kept() {
    let wire = wire(
        "each x: i32;",
        "full: u8; if (full == 1) { x: i32; set state.x = x; } \
         else { dx: delta(zigzag, state.x); again: delta(u8, dx); set state.x = dx; last: u8; }",
        "",
    );
    check(
        &wire,
        &[(FIRST, &[1, 100, 0, 0, 0]), (FIRST, &[0, 5, 9, 8])],
        &["full = 0", "dx = 97 (-3)", "again = 106 (+9)", "last = 8"],
        &[],
    );
    check(
        &wire,
        &[
            (FIRST, &[1, 100, 0, 0, 0]),
            (FIRST, &[0, 5, 9, 8]),
            (FIRST, &[0, 2, 0, 8]),
        ],
        &["full = 0", "dx = 98 (+1)", "again = 98 (+0)", "last = 8"],
        &[],
    );
    check(
        &wire,
        &[(FIRST, &[1, 100, 0, 0, 0]), (BACK, &[0, 5, 9, 8])],
        &[
            "full = 0",
            "dx = unknown -3",
            "again = unknown +9",
            "last = 8",
        ],
        &[],
    );
}

#[test]
fn a_delta_can_mean_something_where_it_is_known() {
    let wire = wire(
        "each last: u32;",
        "full: bool; if (full) { n: u31 @sequence; set state.last = n; } \
         else { d: delta(u7, state.last) @sequence; set state.last = d; }",
        "",
    );
    let sequence = |packets: &[(Context, &[u8])]| {
        let facts = run(&wire, packets).facts;
        facts.sequence.map(|sequence| sequence.value)
    };
    assert_eq!(sequence(&[(FIRST, &[4])]), None);
    let full = (FIRST, &[9, 0, 0, 0][..]);
    assert_eq!(sequence(&[full, (FIRST, &[4])]), Some(6));
}

#[test]
fn an_unresolved_key_means_no_entry() {
    let wire = wire(
        "n: u8; t: u8[4];",
        "set state.t[state.n] = 1; if (!known(state.t[state.n])) { a: u8; }",
        "",
    );
    check(&wire, &[(FIRST, &[7])], &["a = 7"], &[]);
}

#[test]
fn texts_and_bytes_are_copied_from_fields_constants_and_the_state() {
    let wire = wire(
        "key: bytes; copy: string; t: bytes[2];",
        "n: u8; if (n == 0) { set state.key = x\"0a 0b\"; set state.copy = state.key; } \
         else { d: bytes(n); set state.copy = d; set state.t[n] = state.copy; }",
        "",
    );
    let left = |packet: &[u8]| {
        let mut state = wire.new_state();
        wire.decode_in(&FIRST, &mut state, packet);
        state
    };
    assert_ne!(left(&[0]), left(&[2, 0x0a, 0x0b]));
    assert_eq!(left(&[2, 0x0a, 0x0b]), left(&[2, 0x0a, 0x0b]));
    assert_ne!(left(&[2, 0x0a, 0x0b]), left(&[2, 0x0a, 0x0c]));
}

#[test]
fn a_protocol_can_be_chosen_by_the_state() {
    let text = "wire early { byte_order = big; bit_order = msb; root = E; state = S;\n\
                             when = !known(state.agreed); }\n\
                wire late { byte_order = big; bit_order = msb; root = L; state = S; }\n\
                state S { agreed: bool; }\n\
                struct E { hello: u8; set state.agreed = true; }\n\
                struct L { data: u16; }";
    let wire = Wire::compile("w.wire", text).unwrap_or_else(|error| panic!("{error}"));
    let packets: [(Context, &[u8]); 2] = [(FIRST, &[1]), (BACK, &[1, 2])];
    check(&wire, &packets, &["data = 258"], &[]);
}

#[test]
fn a_field_called_state_hides_the_connections() {
    let text = "wire w { byte_order = big; bit_order = msb; root = P; }\n\
                struct P { state: I; a: u8[state.n]; }\nstruct I { n: u8; }";
    let wire = Wire::compile("w.wire", text).unwrap_or_else(|error| panic!("{error}"));
    assert!(!wire.has_state());
    assert_eq!(shown(&wire.decode(&[1, 2])), ["state.n = 1", "a[0] = 2"]);
}

#[test]
fn a_state_of_another_wire_holds_nothing_and_breaks_nothing() {
    let wire = wire(
        "names: string[4];",
        "a: u8; if (known(state.names[a])) { b: u8; }",
        "",
    );
    let mut other = ConnectionState::default();
    let decoded = wire.decode_in(&FIRST, &mut other, &[1]);
    assert_eq!(shown(&decoded), ["a = 1"]);
}

/// Everything that this page has, in one wire that any bytes fit somehow.
const ALL: &str = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
state S {
    each last: u16 = 3; mode: u2; lengths: u8[3]; names: bytes[2]; key: string;
    splits: parts[3]; each tail: stream;
}
struct P { items: Item[until end]; }
enum K : u2 { a, b }
struct Item @message {
    kind: u3;
    message_kind: K @message_kind;
    skew: u3;
    switch (kind) {
        0 => { step: delta(i4, state.last) @object; set state.last = step; }
        1 => { key: u2; size: u4; set state.lengths[key] = size; }
        2 => { at: u2; body: bytes(state.lengths[at]); set state.names[at] = body;
               set state.key = state.names[skew]; }
        3 => { id: u1; index: u2; count: u2; n: u3; data: bytes(n);
               join whole: Inner from state.splits[id] (index, count, data); }
        4 => { position: u4; m: u4; piece: bytes(m);
               follow records: Record[until end] from state.tail (position, piece); }
        5 => { if (state.mode == 1) { yes: u8; } else { no: u4; } }
        6 => { mode: u3; set state.mode = mode; set state.other.last = mode * 30000; }
        default => { if (known(state.names[skew]) && !known(state.key)) { odd: u5; } }
    }
}
struct Inner {
    more: u1;
    if (more == 1) {
        id: u1; index: u1; count: u2; data: bytes(1);
        join whole: Inner from state.splits[id] (index, count, data);
    } else { step: delta(u7, state.last); set state.last = step; }
}
struct Record { n: u4; flag: bool; body: u3[n]; set state.mode = n; if (flag) { w: W size(n); } }
struct W { a: u8[until end]; }";

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn both_plans_leave_the_same_state_after_any_packets(
        packets in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..24)),
            1..30,
        ),
    ) {
        let wire = Wire::compile("all.wire", ALL).unwrap_or_else(|error| panic!("{error}"));
        let (mut of_facts, mut of_full) = (wire.new_state(), wire.new_state());
        let mut facts = PacketFacts::default();
        for (from_first, packet) in packets {
            let context = Context { from_first, ..FIRST };
            let before = of_full.clone();
            wire.facts_in(&context, &mut of_facts, &packet, &mut facts);
            let decoded = wire.decode_in(&context, &mut of_full, &packet);
            prop_assert_eq!(&facts, &decoded.facts, "both plans");
            prop_assert_eq!(&of_facts, &of_full, "both plans leave one state");
            prop_assert_eq!(facts.diagnostics as usize, decoded.diagnostics.len());
            let mut again = before.clone();
            prop_assert_eq!(&wire.decode_in(&context, &mut again, &packet), &decoded);
            prop_assert_eq!(&again, &of_full, "a clone is a checkpoint");
            check_streams(&decoded, &packet)?;
        }
    }
}

/// In every stream each bit belongs to one field or `rest`.
fn check_streams(decoded: &Decoded, packet: &[u8]) -> Result<(), TestCaseError> {
    let tree = &decoded.tree;
    prop_assert_eq!(tree.stream(StreamId(0)), Some(packet));
    let mut at: Vec<u32> = vec![0; tree.streams()];
    for node in tree.iter().filter(|node| node.descendants() == 0) {
        let reached = &mut at[usize::from(node.stream().0)];
        prop_assert_eq!(
            node.bits().start,
            *reached,
            "{} leaves a hole",
            tree.path(node.id())
        );
        *reached = node.bits().end;
    }
    for (stream, reached) in at.into_iter().enumerate() {
        let bytes = tree.stream(StreamId(stream as u16)).expect("a stream");
        prop_assert_eq!(reached, bytes.len() as u32 * 8, "consumed + rest = input");
    }
    for message in &decoded.facts.messages {
        let bytes = tree.stream(message.stream).expect("its stream");
        prop_assert!(message.bits.end <= bytes.len() as u32 * 8);
    }
    Ok(())
}
