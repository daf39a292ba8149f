//! Any packets of a connection on any sample wire: every bit explained, both plans agree, and leave
//! the same state.
#![no_main]

mod story;

use libfuzzer_sys::fuzz_target;
use netreel_wire::{Decoded, PacketFacts, StreamId};

use story::Story;

fuzz_target!(|bytes: &[u8]| {
    let Some(story) = Story::new(bytes) else {
        return;
    };
    let wire = story.wire;
    let (mut of_full, mut of_facts) = (wire.new_state(), wire.new_state());
    let mut facts = PacketFacts::default();
    for (context, packet) in story {
        let decoded = wire.decode_in(&context, &mut of_full, packet);
        assert_every_bit(&decoded, packet.len());
        wire.facts_in(&context, &mut of_facts, packet, &mut facts);
        assert_eq!(facts, decoded.facts);
        assert_eq!(of_facts, of_full);
        let protocol = facts.protocol;
        let joined = wire.decode_message(protocol, packet);
        wire.message_facts(protocol, packet, &mut facts);
        assert_eq!(facts, joined.facts);
    }
});

/// Each bit of the packet is in a field or in what is left over, and no field leaves its stream.
fn assert_every_bit(decoded: &Decoded, length: usize) {
    let mut leaves = Vec::new();
    for node in decoded.tree.iter() {
        let bits = node.bits();
        let stream = decoded.tree.stream(node.stream()).expect("a node's stream");
        assert!(bits.start <= bits.end && bits.end <= stream.len() as u32 * 8);
        // What went through a layer is explained in a stream of its own.
        let mut children = decoded.tree.children(node.id());
        let goes_on = children.any(|child| {
            let child = decoded.tree.get(child).expect("a child is a node");
            child.stream() == node.stream()
        });
        if node.stream() == StreamId(0) && !goes_on {
            leaves.push(bits);
        }
    }
    leaves.sort_unstable_by_key(|bits| (bits.start, bits.end));
    let mut explained = 0;
    for bits in leaves {
        assert!(bits.start <= explained, "a hole at {explained}");
        explained = explained.max(bits.end);
    }
    assert_eq!(explained, length as u32 * 8);
}
