//! What every packet of a recording has to show, whatever the protocol.

use std::path::Path;

use netreel_wire::{Decoded, StreamId, Value, Wire};

use crate::recordings::Recording;

/// A wire of `samples/wires`.
pub fn wire(name: &str) -> Wire {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/wires");
    let text = std::fs::read_to_string(folder.join(name)).expect("a wire of the folder");
    let load = &mut |path: &str| std::fs::read_to_string(folder.join(path));
    Wire::compile_with(name, &text, load).unwrap_or_else(|error| panic!("{error}"))
}

/// A recording of the repository, in `tests/recordings`.
pub fn small(name: &str) -> Recording {
    Recording::open(&Path::new("tests/recordings").join(name))
}

/// No diagnostic, every bit of the packet and of the streams inside it in exactly one field, and the
/// same bytes back from JSON.
#[track_caller]
pub fn check_explained(wire: &Wire, packet: &[u8], decoded: &Decoded, place: &str) {
    assert_eq!(decoded.diagnostics, [], "{place}");
    let tree = &decoded.tree;
    let streams = (0..=u16::MAX).map(StreamId);
    let streams = streams.map_while(|stream| Some((stream, tree.stream(stream)?)));
    for (stream, bytes) in streams {
        let is_here = |id| tree.get(id).is_some_and(|node| node.stream() == stream);
        let mut leaves: Vec<(u32, u32)> = tree
            .iter()
            .filter(|node| node.stream() == stream && !tree.children(node.id()).any(is_here))
            .map(|node| {
                assert!(
                    !node.is_rest(),
                    "{place}: a rest at bit {}",
                    node.bits().start
                );
                (node.bits().start, node.bits().end)
            })
            .filter(|(start, end)| start < end)
            .collect();
        leaves.sort_unstable();
        let mut explained = 0;
        for (start, end) in leaves {
            assert_eq!(
                start, explained,
                "{place}: a gap or an overlap in {stream:?}"
            );
            explained = end;
        }
        assert_eq!(
            explained as usize,
            bytes.len() * 8,
            "{place}: {stream:?} not to its end"
        );
    }

    let json = decoded.to_json();
    let encoded = wire
        .encode(&json)
        .unwrap_or_else(|error| panic!("{place}: {error}\n{json:#}"));
    assert_eq!(
        encoded.bytes, packet,
        "{place}: another packet from its JSON"
    );
}

/// The value of the first field with this path.
pub fn number(decoded: &Decoded, path: &str) -> Option<u64> {
    let node = decoded
        .tree
        .iter()
        .find(|node| decoded.tree.path(node.id()) == path)?;
    match node.value() {
        Value::Unsigned(number) | Value::Enum { raw: number, .. } => Some(number),
        Value::Bool(yes) => Some(u64::from(yes)),
        _ => None,
    }
}
