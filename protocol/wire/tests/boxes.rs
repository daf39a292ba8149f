//! The boxes wire on packets that were packed by hand.

mod packing;

use netreel_wire::{
    CreateRule, KindId, MessageFacts, PacketFacts, Place, Role, RpcName, RulesId, Sequence, Tree,
    TreeId, Value, Wire,
};
use packing::Bits;

const BOXES: &str = include_str!("../../../samples/wires/boxes.wire");

fn boxes() -> Wire {
    Wire::compile("boxes.wire", BOXES).unwrap_or_else(|error| panic!("{error}"))
}

/// Up to and including `count`: mode owner, acked, from peer 2.
fn header(messages: u64) -> Bits {
    Bits::new()
        .put(0xb0, 8)
        .put(1, 1)
        .put(1, 1)
        .put(0, 2)
        .put(2, 4)
        .put(4711, 16)
        .put(4700, 16)
        .put(0xffff_0001, 32)
        .put(messages, 8)
}

fn message(bits: Bits, kind: u64, origin: u64, sequence: Option<u64>) -> Bits {
    let bits = bits
        .put(kind, 4)
        .put(sequence.is_some().into(), 1)
        .put(origin, 4);
    match sequence {
        Some(sequence) => bits.put(sequence, 16),
        None => bits,
    }
}

fn create(bits: Bits) -> Bits {
    message(bits, 2, 3, Some(9))
        .leb128(300)
        .put(1, 1)
        .leb128(7)
        .put(3, 4)
        .put(0, 4)
        .put(0, 20)
        .put(0xf_ffff, 20)
        .put(0x8000, 16)
        .put(0xfff, 12)
        .put(0xab, 8)
        .put(1, 1)
        .put(f32::to_bits(1.5).into(), 32)
}

fn kind(wire: &Wire, role: Role) -> Option<KindId> {
    let place = wire.kinds().iter().position(|kind| kind.role == role)?;
    Some(KindId(place as u16))
}

/// The node with this path.
fn find(tree: &Tree, path: &str) -> Option<TreeId> {
    (0..tree.len() as u32)
        .map(TreeId)
        .find(|&id| tree.path(id) == path)
}

fn value(tree: &Tree, path: &str) -> Option<Value> {
    Some(tree.get(find(tree, path)?)?.value())
}

/// Both plans, which have to agree.
fn facts(wire: &Wire, packet: &[u8]) -> PacketFacts {
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    assert_eq!(
        wire.decode(packet).facts,
        facts,
        "both plans give the same facts"
    );
    facts
}

#[test]
fn the_wire_declares_its_kinds_and_rules() {
    let wire = boxes();
    assert_eq!(wire.name(), "boxes");
    let kinds: Vec<(&str, Role)> = wire
        .kinds()
        .iter()
        .map(|kind| (kind.name.as_str(), kind.role))
        .collect();
    assert_eq!(kinds[2], ("create", Role::Create));
    assert_eq!(kinds[6], ("order", Role::MigrateOrder));
    assert_eq!(kinds[7], ("request", Role::Other));
    assert_eq!(kinds.len(), 12);
    assert_eq!(wire.kinds()[2].color, Some([0x2a, 0x9d, 0x8f]));
    assert_eq!(wire.rules()[0].name, "historic");
    assert_eq!(wire.rules()[1].create, CreateRule::Newer);
}

#[test]
fn a_packet_of_three_messages_gives_their_facts() {
    let wire = boxes();
    let bits = create(header(3));
    let second = bits.len();
    let bits = message(bits, 5, 0, None).leb128(300).put(4, 4).put(0, 1);
    let third = bits.len();
    let bits = message(bits, 8, 1, Some(10))
        .text("jump")
        .put(1, 4)
        .put(1, 3)
        .put(0, 32);
    let end = bits.len();
    let facts = facts(&wire, &bits.packet());
    assert_eq!(
        facts.sequence,
        Some(Sequence {
            value: 4711,
            bits: 16
        })
    );
    assert_eq!(
        facts.ack,
        Some(Sequence {
            value: 4700,
            bits: 16
        })
    );
    assert_eq!(facts.ack_bits, Some((0xffff_0001, 32)));
    assert_eq!(facts.sender, Some(2));
    assert_eq!(facts.rules, Some(RulesId(1)));
    assert_eq!(facts.diagnostics, 0);
    let expected = [
        MessageFacts {
            kind: kind(&wire, Role::Create),
            bits: 88..second,
            reliable: true,
            reliable_sequence: Some(Sequence { value: 9, bits: 16 }),
            origin: Some(3),
            object: Some(300),
            object_type: Some(0),
            owner: Some(3),
            migration_counter: Some(7),
            ..MessageFacts::default()
        },
        MessageFacts {
            kind: kind(&wire, Role::Migrate),
            bits: second..third,
            origin: Some(0),
            object: Some(300),
            new_owner: Some(4),
            ..MessageFacts::default()
        },
        MessageFacts {
            kind: kind(&wire, Role::Rpc),
            bits: third..end,
            reliable: true,
            reliable_sequence: Some(Sequence {
                value: 10,
                bits: 16,
            }),
            origin: Some(1),
            rpc_name: Some(RpcName {
                place: Place {
                    bits: third + 33..third + 65,
                    ..Place::default()
                },
                text: "jump".into(),
            }),
            ..MessageFacts::default()
        },
    ];
    assert_eq!(facts.messages, expected);
    let name = facts.messages[2].rpc_name.clone().unwrap_or_default();
    assert_eq!(wire.bytes_at(&facts, &bits.packet(), &name.place), b"jump");
}

#[test]
fn a_create_decodes_to_its_last_field() {
    let wire = boxes();
    let bits = create(header(1));
    let decoded = wire.decode(&bits.packet());
    assert_eq!(decoded.diagnostics, []);
    let tree = &decoded.tree;
    let quantized = |raw, value| Some(Value::Quantized { raw, value });
    assert_eq!(value(tree, "magic"), Some(Value::Unsigned(0xb0)));
    assert_eq!(
        value(tree, "mode"),
        Some(Value::Enum {
            raw: 1,
            name: Some("owner".into())
        })
    );
    assert_eq!(
        value(tree, "messages[0].create.object"),
        Some(Value::Unsigned(300))
    );
    assert_eq!(
        value(tree, "messages[0].create.box.position.x"),
        quantized(0, -512.0)
    );
    assert_eq!(
        value(tree, "messages[0].create.box.position.y"),
        quantized(0xf_ffff, 512.0)
    );
    assert_eq!(
        value(tree, "messages[0].create.box.yaw"),
        quantized(0xfff, 180.0)
    );
    assert_eq!(
        value(tree, "messages[0].create.box.weight"),
        Some(Value::Float(1.5))
    );
    let object = find(tree, "messages[0].create.object").and_then(|id| tree.get(id));
    assert_eq!(object.and_then(|node| node.annotation()), Some("object"));
    assert_eq!(object.map(|node| node.type_name()), Some("leb128"));
    let messages = find(tree, "messages").and_then(|id| tree.get(id));
    assert_eq!(
        messages.map(|node| node.type_name()),
        Some("Message[count]")
    );
}

#[test]
fn a_bit_leads_to_the_smallest_field_around_it() {
    let wire = boxes();
    let tree = wire.decode(&create(header(1)).packet()).tree;
    let at = |bit| tree.at_bit(bit).map(|id| tree.path(id));
    assert_eq!(at(0).as_deref(), Some("magic"));
    assert_eq!(at(17).as_deref(), Some("sequence"));
    assert_eq!(at(88).as_deref(), Some("messages[0].kind"));
    assert_eq!(at(100_000), None);
}

#[test]
fn a_truncated_packet_keeps_its_prefix_and_names_the_field() {
    let wire = boxes();
    let whole = create(header(4)).packet();
    let decoded = wire.decode(&whole[..13]);
    let [diagnostic] = decoded.diagnostics.as_slice() else {
        panic!("{:?}", decoded.diagnostics)
    };
    assert_eq!(diagnostic.path, "messages[0].reliable_sequence");
    assert_eq!(diagnostic.bit, 97);
    assert_eq!(
        diagnostic.message,
        "`u16` needs 16 bits, 7 are left before the packet's end; `Message[count]` asks for 4 \
         elements"
    );
    assert_eq!(
        value(&decoded.tree, "messages[0].origin"),
        Some(Value::Unsigned(3))
    );
    assert_eq!(value(&decoded.tree, "rest"), Some(Value::Bytes(vec![9])));
    assert_eq!(decoded.facts.messages.len(), 1);
    assert_eq!(decoded.facts.messages[0].bits, 88..97);
}

#[test]
fn a_wrong_constant_and_wrong_padding_are_told_and_do_not_stop() {
    let wire = boxes();
    let mut packet = message(header(1), 7, 1, None).leb128(5).packet();
    packet[0] = 0xb1;
    if let Some(last) = packet.last_mut() {
        *last |= 0x80;
    }
    let decoded = wire.decode(&packet);
    let told: Vec<(&str, u32, &str)> = decoded
        .diagnostics
        .iter()
        .map(|d| (d.path.as_str(), d.bit, d.message.as_str()))
        .collect();
    let expected = [
        (
            "magic",
            0,
            "the value is 177 (0xb1), it should be 176 (0xb0)",
        ),
        ("padding", 105, "the padding holds 64 (0x40)"),
    ];
    assert_eq!(told, expected);
    assert_eq!(decoded.facts.diagnostics, 2);
    assert_eq!(decoded.facts.messages[0].object, Some(5));
}

#[test]
fn a_kind_that_the_wire_does_not_know_stops_there() {
    let wire = boxes();
    let decoded = wire.decode(&message(header(1), 13, 1, None).put(0, 30).packet());
    assert_eq!(decoded.diagnostics[0].path, "messages[0]");
    assert_eq!(
        decoded.diagnostics[0].message,
        "`switch (kind)` has no arm for 13 (0xd)"
    );
    assert_eq!(decoded.facts.messages[0].kind, None);
    assert_eq!(decoded.facts.messages[0].origin, Some(1));
}

#[test]
fn fragments_say_where_they_belong_and_join_to_a_whole_message() {
    let wire = boxes();
    let joined = create(Bits::new()).packet();
    let (left, right) = joined.split_at(10);
    let mut joined_again = Vec::new();
    for (index, part) in [left, right].into_iter().enumerate() {
        let bits = message(header(1), 9, 3, Some(8 + index as u64))
            .put(index as u64, 8)
            .put(2, 8)
            .put(part.len() as u64, 16)
            .bytes(part);
        let facts = facts(&wire, &bits.packet());
        assert_eq!(facts.messages[0].kind, kind(&wire, Role::Fragment));
        assert_eq!(facts.messages[0].fragment, Some((index as u64, 2)));
        let data = facts.messages[0].fragment_data.clone().unwrap_or_default();
        joined_again.extend(wire.bytes_at(&facts, &bits.packet(), &data));
    }
    assert_eq!(joined_again, joined);
    let decoded = wire.decode_message(None, &joined_again);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(decoded.facts.messages[0].object, Some(300));
    assert_eq!(decoded.facts.messages[0].bits, 0..create(Bits::new()).len());
    let mut facts = PacketFacts::default();
    wire.message_facts(None, &joined_again, &mut facts);
    assert_eq!(facts, decoded.facts);
}

#[test]
fn a_length_that_reaches_past_the_end_is_named() {
    let wire = boxes();
    let bits = message(header(1), 9, 3, Some(8))
        .put(0, 8)
        .put(2, 8)
        .put(1000, 16)
        .put(0, 16);
    let decoded = wire.decode(&bits.packet());
    assert_eq!(decoded.diagnostics[0].path, "messages[0].fragment.data");
    assert_eq!(
        decoded.diagnostics[0].message,
        "`bytes(length)` needs 8000 bits, 23 are left before the packet's end; `Message[count]` \
         asks for 1 element"
    );
    assert_eq!(
        value(&decoded.tree, "messages[0].fragment.length"),
        Some(Value::Unsigned(1000))
    );
}

#[test]
fn bits_after_the_last_field_are_rest() {
    let wire = boxes();
    let mut packet = header(0).packet();
    packet.extend([1, 2, 3]);
    let decoded = wire.decode(&packet);
    assert_eq!(
        decoded.diagnostics[0].message,
        "24 bits are left after the last field"
    );
    assert_eq!(
        value(&decoded.tree, "rest"),
        Some(Value::Bytes(vec![1, 2, 3]))
    );
    assert_eq!(decoded.tree.roots().count(), 2);
}

#[test]
fn an_empty_packet_says_what_it_lacks() {
    let decoded = boxes().decode(&[]);
    assert_eq!(decoded.diagnostics[0].path, "magic");
    assert_eq!(
        decoded.diagnostics[0].message,
        "`u8` needs 8 bits, none is left before the packet's end"
    );
}

#[test]
fn a_fragment_that_is_cut_takes_nothing_from_the_one_before() {
    let wire = boxes();
    let bits = message(header(2), 9, 3, Some(8))
        .put(0, 8)
        .put(2, 8)
        .put(0, 16);
    let bits = message(bits, 9, 3, Some(9)).put(1, 8);
    let facts = facts(&wire, &bits.packet());
    assert_eq!(facts.messages[0].fragment, Some((0, 2)));
    assert_eq!(facts.messages[1].fragment, None);
}

#[test]
fn facts_keep_the_memory_that_they_have() {
    let wire = boxes();
    let mut facts = PacketFacts::default();
    wire.facts(&create(create(header(2))).packet(), &mut facts);
    let before = (facts.messages.as_ptr(), facts.messages.capacity());
    wire.facts(&[], &mut facts);
    wire.facts(&create(create(header(2))).packet(), &mut facts);
    assert_eq!((facts.messages.as_ptr(), facts.messages.capacity()), before);
    assert_eq!(facts.messages.len(), 2);
}

#[test]
fn a_message_that_was_joined_from_fragments_is_written_again_as_it_was() {
    let wire = boxes();
    // Its last byte is filled up with zeros.
    let json = serde_json::json!({ "packet": {
        "kind": "rpc", "reliable": 1, "origin": 3, "reliable_sequence": 77,
        "rpc": { "name": "say", "count": 2, "arguments": [
            { "type": "string", "string": "for you alone" }, { "type": "bool", "bool": 1 },
        ] },
    } });
    let bytes = wire.encode_message(&json).unwrap().bytes;
    let decoded = wire.decode_message(None, &bytes);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(
        wire.encode_message(&decoded.to_json()).unwrap().bytes,
        bytes
    );
    let blank = |node: netreel_wire::TreeNode<'_>| {
        let is_text = decoded.tree.path(node.id()).ends_with("string");
        is_text.then_some(netreel_wire::Instead::Nothing)
    };
    let blank = wire.encode_message(&decoded.to_other_json(&blank)).unwrap();
    assert_eq!(blank.bytes.len(), bytes.len());
    let blank = wire.decode_message(None, &blank.bytes);
    assert_eq!(
        value(&blank.tree, "rpc.arguments[0].string"),
        Some(Value::Text("x".repeat(13)))
    );
}
