//! Any packet on the boxes wire: every bit explained once, and both plans agree.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use netreel_wire::{PacketFacts, Wire};

static BOXES: LazyLock<Wire> = LazyLock::new(|| {
    let text = include_str!("../../samples/wires/boxes.wire");
    Wire::compile("boxes.wire", text).expect("the boxes wire")
});

fuzz_target!(|packet: &[u8]| {
    let decoded = BOXES.decode(packet);
    let mut at = 0;
    for node in decoded.tree.iter() {
        assert_eq!(node.bits().start, at);
        if node.descendants() == 0 {
            at = node.bits().end;
        }
    }
    assert_eq!(at, packet.len() as u32 * 8);
    let mut facts = PacketFacts::default();
    BOXES.facts(packet, &mut facts);
    assert_eq!(facts, decoded.facts);
    let joined = BOXES.decode_message(None, packet);
    BOXES.message_facts(None, packet, &mut facts);
    assert_eq!(facts, joined.facts);
});
