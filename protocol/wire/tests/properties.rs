//! What holds for every packet: no panic, nothing past the end, every bit explained once, and both
//! plans agree. On the boxes wire and on random small wires.

mod random_wires;

use std::sync::LazyLock;

use netreel_wire::{Decoded, Name, PacketFacts, StreamId, Tree, Wire};
use proptest::prelude::*;

use random_wires::{Part, part, wire_text};

const BOXES: &str = include_str!("../../../samples/wires/boxes.wire");

static WIRE: LazyLock<Wire> =
    LazyLock::new(|| Wire::compile("boxes.wire", BOXES).unwrap_or_else(|error| panic!("{error}")));

/// All that holds for a wire and a packet.
fn check(wire: &Wire, packet: &[u8]) -> Result<(), TestCaseError> {
    let decoded = wire.decode(packet);
    let jumps = wire.text().contains("at (");
    check_tree(&decoded.tree, packet.len() as u32 * 8, jumps)?;
    check_diagnostics(&decoded, packet.len() as u32 * 8)?;
    // What is in `out` before does not matter.
    let mut facts = wire.decode(&[0xa5; 70]).facts;
    wire.facts(packet, &mut facts);
    prop_assert_eq!(&facts, &decoded.facts, "both plans");
    check_round_trip(wire, &decoded, packet)?;
    let joined = wire.decode_message(None, packet);
    check_tree(&joined.tree, packet.len() as u32 * 8, jumps)?;
    wire.message_facts(None, packet, &mut facts);
    prop_assert_eq!(&facts, &joined.facts, "both plans of a joined message");
    for message in &decoded.facts.messages {
        let stream = decoded.tree.stream(message.stream).unwrap_or_default();
        prop_assert!(message.bits.end <= stream.len() as u32 * 8);
        let name = message.rpc_name.as_ref().map(|name| &name.place);
        for place in name.into_iter().chain(&message.fragment_data) {
            let bytes = wire.bytes_at(&decoded.facts, packet, place);
            let bits = place.bits.end - place.bits.start;
            prop_assert_eq!(bytes.len() as u32, bits / 8);
        }
    }
    Ok(())
}

/// The packet comes back to the byte, through the text of its JSON.
fn check_round_trip(wire: &Wire, decoded: &Decoded, packet: &[u8]) -> Result<(), TestCaseError> {
    let text = decoded.to_json().to_string();
    let json =
        serde_json::from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let encoded = wire.encode(&json);
    let jumps = wire.text().contains("at (");
    if let Err(error) = &encoded
        && jumps
        && error.to_string().contains("do not come to rest")
    {
        // Two readers of the same bits: what one has written changes what the other one asks.
        return Ok(());
    }
    let encoded = encoded.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    prop_assert_eq!(&encoded.bytes, packet, "{}", text);
    prop_assert_eq!(encoded.changes, []);
    Ok(())
}

/// In every stream, leaves and `rest` follow each other from the first bit to the last; parents
/// cover their children; the links between nodes are right. `jumps`: but for what stands elsewhere.
fn check_tree(tree: &Tree, bits: u32, jumps: bool) -> Result<(), TestCaseError> {
    let mut at = vec![0; tree.streams()];
    for node in tree.iter() {
        let (id, bits_of) = (node.id(), node.bits());
        let stream = usize::from(node.stream().0);
        let length = tree.stream(node.stream()).map_or(0, <[u8]>::len) as u32 * 8;
        prop_assert!(bits_of.start <= bits_of.end);
        prop_assert!(bits_of.end <= length, "{} ends past the end", tree.path(id));
        // A layer that gives nothing has no node inside that would tell that it took whole bytes.
        let after_nothing = tree.path(id).ends_with(".rest")
            && bits_of.start > at[stream]
            && (bits_of.start - at[stream]).is_multiple_of(8)
            && (0..tree.streams()).any(|it| tree.stream(StreamId(it as u16)) == Some(&[]));
        let follows = jumps || after_nothing || bits_of.start == at[stream];
        prop_assert!(follows, "{} leaves a hole", tree.path(id));
        let children: Vec<_> = tree.children(id).filter_map(|id| tree.get(id)).collect();
        if children.iter().any(|child| child.stream() != node.stream()) {
            // It went through a layer with all whole bytes.
            at[stream] += (bits_of.end - bits_of.start) / 8 * 8;
        } else if children.is_empty() {
            at[stream] = bits_of.end;
        }
        for child in children {
            prop_assert_eq!(child.parent(), Some(id));
            let is_covered = child.bits().end <= bits_of.end || child.stream() != node.stream();
            prop_assert!(is_covered || jumps);
        }
        if let (Name::Index(_), Some(parent)) = (node.name(), node.parent()) {
            let place = tree.children(parent).position(|child| child == id);
            prop_assert_eq!(node.name(), Name::Index(place.unwrap_or(usize::MAX) as u32));
        }
    }
    prop_assert!(at[0] == bits || jumps, "consumed + rest = input");
    Ok(())
}

fn check_diagnostics(decoded: &Decoded, bits: u32) -> Result<(), TestCaseError> {
    prop_assert_eq!(
        decoded.facts.diagnostics as usize,
        decoded.diagnostics.len()
    );
    for diagnostic in &decoded.diagnostics {
        let stream = decoded.tree.stream(diagnostic.stream);
        let bits = stream.map_or(bits, |stream| stream.len() as u32 * 8);
        prop_assert!(diagnostic.bit <= bits);
        prop_assert!(!diagnostic.path.is_empty(), "{}", diagnostic.message);
        prop_assert!(!diagnostic.message.ends_with('.'));
    }
    let has_rest = decoded
        .tree
        .roots()
        .any(|root| decoded.tree.path(root) == "rest");
    prop_assert!(
        !has_rest || !decoded.diagnostics.is_empty(),
        "rest without a word"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1024,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_boxes_wire_takes_any_bytes(packet in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&WIRE, &packet)?;
    }

    #[test]
    fn the_boxes_wire_takes_any_bytes_after_a_header(
        messages in 0u8..20,
        tail in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut packet = vec![0xb0, 0x20, 1, 0, messages];
        packet.extend(tail);
        check(&WIRE, &packet)?;
    }

    #[test]
    fn random_wires_take_any_bytes(
        parts in prop::collection::vec(part(), 1..6),
        order in 0u8..4,
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 4),
    ) {
        let text = wire_text(&parts, order);
        match Wire::compile("random.wire", &text) {
            Ok(wire) => {
                for packet in packets {
                    check(&wire, &packet)?;
                }
            }
            Err(error) => {
                // A message that can hold itself by way of a struct above it is refused, and so is
                // reading what is in an element that can.
                let error = error.to_string();
                let known = error.contains("a message cannot hold itself")
                    || error.contains("`item` can hold itself");
                prop_assert!(known, "{error}\n{text}");
            }
        }
    }

    #[test]
    fn any_text_is_a_wire_or_is_refused(text in "\\PC{0,200}") {
        if let Err(error) = Wire::compile("any.wire", &text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn a_wire_with_a_piece_missing_is_a_wire_or_is_refused(
        from in 0..BOXES.len(),
        length in 1usize..30,
    ) {
        let to = (from + length).min(BOXES.len());
        if let (Some(before), Some(after)) = (BOXES.get(..from), BOXES.get(to..)) {
            let text = format!("{before}{after}");
            if let Err(error) = Wire::compile("cut.wire", &text) {
                prop_assert!(error.to_string().contains("cut.wire:"));
            }
        }
    }
}

#[test]
fn what_is_given_up_elsewhere_ends_no_earlier_than_it_begins() {
    let deep = Part::At(vec![Part::Itself, Part::Itself]);
    let text = wire_text(&[Part::Counted(vec![deep, Part::Align(18, "")])], 0);
    let wire = Wire::compile("deep.wire", &text).unwrap();
    check(&wire, &[1, 119, 1, 64, 163, 87, 192, 36, 11]).unwrap();
}

#[test]
fn the_facts_of_a_packet_do_not_depend_on_the_packet_before() {
    let mut facts = PacketFacts::default();
    WIRE.facts(&[0xb0, 0x20, 1, 0, 1, 0x07, 0], &mut facts);
    let first = facts.clone();
    WIRE.facts(&[], &mut facts);
    WIRE.facts(&[0xb0, 0x20, 1, 0, 1, 0x07, 0], &mut facts);
    assert_eq!(facts, first);
}

/// Wires and packets that a random seed once found.
#[track_caller]
fn check_found(parts: &[Part], order: u8, packet: &[u8]) {
    let text = wire_text(parts, order);
    let wire = Wire::compile("found.wire", &text).unwrap_or_else(|error| panic!("{error}"));
    check(&wire, packet).unwrap_or_else(|error| panic!("{error}\n{text}"));
}

#[test]
fn a_block_elsewhere_may_ask_what_comes() {
    let asks = Part::Asks("peek(u8) > 100", vec![Part::Plain("i1")]);
    let parts = [Part::At(vec![Part::Block(vec![asks])])];
    check_found(&parts, 2, &[0xa0, 0, 0, 0, 0, 0xcd, 0, 0, 0, 0, 0x40, 0]);
}

#[test]
fn a_layer_that_gives_nothing_leaves_no_hole() {
    let layer = Part::Layer("Lh", Some(5), vec![]);
    let mut packet = [0; 39];
    (packet[0], packet[36]) = (3, 0xb0);
    for length in [37, 38, 39] {
        let parts = [Part::Counted(vec![layer.clone(), Part::Plain("bool")])];
        check_found(&parts, 0, &packet[..length]);
    }
}

#[test]
fn two_readers_of_the_same_bits_may_not_come_to_rest() {
    let parts = [
        Part::Message(vec![Part::Plain("quake_float")]),
        Part::At(vec![Part::Window(vec![
            Part::UntilItem("packed_int", "item < 0 || left() < 20"),
            Part::Asks("peek(u8) > 100", vec![Part::Bytes]),
            Part::Plain("bool"),
        ])]),
    ];
    check_found(
        &parts,
        0,
        &[0xa6, 0, 0x20, 0x90, 0xc0, 0x6a, 0x19, 0, 0, 0x4c],
    );
}
