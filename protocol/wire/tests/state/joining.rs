//! Messages in several packets, and streams that run over packets.

use super::*;

/// Split messages: an id, an index, a count, this many bytes.
const SPLIT: &str = "id: u8; index: u8; count: u8; length: u8; data: bytes(length); \
                     join whole: Q from state.splits[id] (index, count, data); last: u8;";

fn part(id: u8, index: u8, count: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![id, index, count, data.len() as u8];
    packet.extend_from_slice(data);
    packet.push(0xee);
    packet
}

/// `path = value` of the fields in another stream than the packet.
fn inside(decoded: &Decoded) -> Vec<String> {
    decoded
        .tree
        .iter()
        .filter(|node| node.stream().0 != 0 && node.value() != Value::None)
        .map(|node| format!("{} = {}", decoded.tree.path(node.id()), node.value()))
        .collect()
}

#[track_caller]
fn check_inside(wire: &Wire, packets: &[Vec<u8>], fields: &[&str], diagnostics: &[&str]) {
    let packets: Vec<(Context, &[u8])> = packets.iter().map(|each| (FIRST, &each[..])).collect();
    let last = run(wire, &packets);
    assert_eq!(inside(&last), fields);
    assert_eq!(words(&last), diagnostics);
    assert!(
        last.tree
            .iter()
            .any(|node| last.tree.path(node.id()) == "last"),
        "decoding goes on"
    );
}

#[test]
fn the_last_part_joins_the_message() {
    let wire = wire(
        "splits: parts[4];",
        SPLIT,
        "struct Q { a: u16; b: string(u8, utf8); }",
    );
    let parts = [
        part(7, 1, 3, &[0, 2]),
        part(9, 0, 2, &[1]),
        part(7, 2, 3, b"hi"),
        part(7, 0, 3, &[5]),
    ];
    check_inside(&wire, &parts, &["whole.a = 5", "whole.b = \"hi\""], &[]);
    check_inside(&wire, &parts[..3], &[], &[]);
}

#[test]
fn what_is_joined_has_bits_and_bytes_of_its_own() {
    let wire = wire("splits: parts[4];", SPLIT, "struct Q { a: u16; b: u8; }");
    let parts = [part(7, 0, 2, &[1, 2]), part(7, 1, 2, &[3])];
    let packets: Vec<(Context, &[u8])> = parts.iter().map(|each| (FIRST, &each[..])).collect();
    let last = run(&wire, &packets);
    let whole = last
        .tree
        .iter()
        .find(|node| last.tree.path(node.id()) == "whole")
        .expect("the joined message");
    assert_eq!(whole.bits(), 0..24);
    assert_eq!(last.tree.stream(whole.stream()), Some(&[1, 2, 3][..]));
    assert_eq!(last.tree.streams(), 2);
}

#[test]
fn a_joined_message_that_does_not_fit_leaves_the_packet_whole() {
    let wire = wire("splits: parts[4];", SPLIT, "struct Q { a: u16; b: u8; }");
    check_inside(
        &wire,
        &[part(7, 0, 1, &[1, 0])],
        &["whole.a = 1"],
        &["whole.b @16: `u8` needs 8 bits, none is left before the stream's end"],
    );
    check_inside(
        &wire,
        &[part(7, 0, 1, &[1, 0, 2, 3])],
        &["whole.a = 1", "whole.b = 2", "whole.rest = 03 (1 byte)"],
        &["whole @24: 8 bits are left after the last field"],
    );
}

#[test]
fn parts_that_cannot_be_are_told() {
    let wire = wire("splits: parts[4];", SPLIT, "struct Q { a: u8; }");
    check_inside(
        &wire,
        &[part(7, 2, 2, &[1])],
        &[],
        &["whole @40: there is no part 2 of 2"],
    );
}

#[test]
fn messages_in_what_was_joined_are_facts_of_their_stream() {
    let wire = wire(
        "splits: parts[4];",
        SPLIT,
        "enum K : u8 { a, b } \
         struct Q @message { kind: K @message_kind; n: u8 @object; name: string(u8, utf8) @rpc_name; }",
    );
    let parts = [part(7, 0, 2, &[1, 9, 2]), part(7, 1, 2, b"hi")];
    let packets: Vec<(Context, &[u8])> = parts.iter().map(|each| (FIRST, &each[..])).collect();
    let facts = run(&wire, &packets).facts;
    let [message] = &facts.messages[..] else {
        panic!("{facts:?}")
    };
    assert_eq!((message.stream.0, message.bits.clone()), (1, 0..40));
    assert_eq!(message.object, Some(9));
    let name = message.rpc_name.clone().expect("a name");
    assert_eq!(&*name.text, "hi");
    assert_eq!(wire.bytes_at(&facts, &parts[1], &name.place), b"hi");
}

#[test]
fn a_joined_message_can_set_the_state_and_hold_more_parts() {
    let wire = wire(
        "splits: parts[4]; sum: u8 = 0;",
        "q: Q; last: u8;",
        "struct Q { kind: u8; if (kind == 1) { id: u8; index: u8; count: u8; n: u8; data: bytes(n); \
         join whole: Q from state.splits[id] (index, count, data); } \
         else { add: delta(u8, state.sum); set state.sum = add; } }",
    );
    let packet = |inner: &[u8]| {
        let mut packet = vec![1, 7, 0, 1, inner.len() as u8];
        packet.extend_from_slice(inner);
        packet.push(0xee);
        packet
    };
    let nested = [1, 8, 0, 1, 2, 0, 5];
    let last = [
        "q.whole.kind = 1",
        "q.whole.id = 8",
        "q.whole.index = 0",
        "q.whole.count = 1",
        "q.whole.n = 2",
        "q.whole.data = 00 05 (2 bytes)",
        "q.whole.whole.kind = 0",
        "q.whole.whole.add = 11 (+5)",
    ];
    check_inside(&wire, &[packet(&[0, 6]), packet(&nested)], &last, &[]);
    // Streams stand in each other only so deep.
    let mut deep = vec![0, 1];
    for _ in 0..20 {
        let mut around = vec![1, 7, 0, 1, deep.len() as u8];
        around.extend_from_slice(&deep);
        deep = around;
    }
    let decoded = wire.decode_in(&FIRST, &mut wire.new_state(), &deep);
    let too_deep = "structs stand deeper in each other than the limit of 32";
    assert_eq!(decoded.diagnostics[0].message, too_deep);
}

/// A byte stream: a position, this many bytes.
const STREAM: &str = "position: u16; length: u8; data: bytes(length); \
                      follow records: R[until end] from state.tail (position, data); last: u8;";

fn piece(position: u16, data: &[u8]) -> Vec<u8> {
    let mut packet = position.to_le_bytes().to_vec();
    packet.push(data.len() as u8);
    packet.extend_from_slice(data);
    packet.push(0xee);
    packet
}

#[test]
fn records_are_read_when_they_are_complete() {
    let wire = wire(
        "each tail: stream;",
        STREAM,
        "struct R { n: u8; text: string(u8, utf8); }",
    );
    let pieces = [
        piece(0xfffe, &[1, 2, b'h']),
        piece(1, &[b'i', 2, 0, 3]),
        piece(5, &[1, b'x', 4]),
    ];
    check_inside(&wire, &pieces[..1], &[], &[]);
    check_inside(
        &wire,
        &pieces[..2],
        &[
            "records[0].n = 1",
            "records[0].text = \"hi\"",
            "records[1].n = 2",
            "records[1].text = \"\"",
        ],
        &[],
    );
    check_inside(
        &wire,
        &pieces,
        &["records[0].n = 3", "records[0].text = \"x\""],
        &[],
    );
    // Out of order: nothing, then all that waited.
    let [first, second, third] = pieces;
    let late = [first.clone(), third, first, second];
    check_inside(
        &wire,
        &late,
        &[
            "records[0].n = 1",
            "records[0].text = \"hi\"",
            "records[1].n = 2",
            "records[1].text = \"\"",
            "records[2].n = 3",
            "records[2].text = \"x\"",
        ],
        &[],
    );
}

#[test]
fn a_record_in_a_window_waits_for_all_of_it() {
    let wire = wire(
        "tail: stream;",
        STREAM,
        "struct R { n: u8; body: B size(n); } struct B { a: u8; b: bytes(n()); }"
            .replace("bytes(n())", "u8[until end]")
            .as_str(),
    );
    let pieces = [piece(0, &[3, 1, 2]), piece(3, &[3])];
    check_inside(&wire, &pieces[..1], &[], &[]);
    check_inside(
        &wire,
        &pieces,
        &[
            "records[0].n = 3",
            "records[0].body.a = 1",
            "records[0].body.b[0] = 2",
            "records[0].body.b[1] = 3",
        ],
        &[],
    );
}

#[test]
fn what_an_incomplete_record_set_is_not_set() {
    let wire = wire(
        "tail: stream; sum: u8 = 0;",
        STREAM,
        "struct R { add: delta(u8, state.sum); set state.sum = add; end: u8; }",
    );
    let pieces = [piece(0, &[5, 0, 6]), piece(3, &[0, 1, 0])];
    check_inside(
        &wire,
        &pieces,
        &[
            "records[0].add = 11 (+6)",
            "records[0].end = 0",
            "records[1].add = 12 (+1)",
            "records[1].end = 0",
        ],
        &[],
    );
}

#[test]
fn a_record_that_cannot_be_read_ends_the_look_at_what_is_there() {
    let wire = wire(
        "tail: stream;",
        STREAM,
        "struct R { n: u8; switch (n) { 1 => {} 2 => m: M; } } \
         enum K : u8 { a } struct M @message { kind: K @message_kind; }",
    );
    let pieces = [piece(0, &[1, 9, 1]), piece(3, &[1])];
    check_inside(
        &wire,
        &pieces[..1],
        &[
            "records[0].n = 1",
            "records[1].n = 9",
            "records.rest = 01 (1 byte)",
        ],
        &["records[1] @16: `switch (n)` has no arm for 9"],
    );
    check_inside(&wire, &pieces, &["records[0].n = 1"], &[]);
}

#[test]
fn packets_that_join_come_back_from_json() {
    for (state, body, items, packets) in [
        (
            "splits: parts[4];",
            SPLIT,
            "struct Q { a: u16; b: u8; }",
            vec![part(7, 0, 2, &[1, 0]), part(7, 1, 2, &[2])],
        ),
        (
            "tail: stream;",
            STREAM,
            "struct R { n: u8; text: string(u8, utf8); }",
            vec![piece(0, &[1, 2, b'h']), piece(3, &[b'i', 2, 0, 3])],
        ),
    ] {
        let wire = wire(state, body, items);
        let (mut read, mut written) = (wire.new_state(), wire.new_state());
        for packet in packets {
            let decoded = wire.decode_in(&FIRST, &mut read, &packet);
            let encoded = wire.encode_in(&FIRST, &mut written, &decoded.to_json());
            let encoded = encoded.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(encoded.bytes, packet);
            assert_eq!(written, read, "writing leaves what reading leaves");
        }
    }
}
