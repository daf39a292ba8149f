//! Where two packets differ first.

use std::ops::Range;

use netreel_wire::{Decoded, StreamId, Tree, TreeId, Value};

/// The first place where two packets differ.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldDifference {
    /// The field's path; `byte 17` where no field of the wire explains the difference;
    /// `destination` where the packets go to different endpoints, `socket` where the steps are on
    /// different sockets.
    pub path: String,
    /// The field's bits in the recorded packet.
    pub bits: Range<u32>,
    /// What the recorded packet says there.
    pub expected: String,
    /// What the packet of the replay says there.
    pub came: String,
    /// The first field that differs in what was unpacked from the packets, or put together of them
    /// and those before; its bits count from that stream's first.
    pub inside: Option<Box<FieldDifference>>,
}

impl FieldDifference {
    /// Of these texts, in the packet itself.
    pub fn new(path: String, bits: Range<u32>, expected: String, came: String) -> FieldDifference {
        FieldDifference {
            path,
            bits,
            expected,
            came,
            inside: None,
        }
    }

    /// The same in words: `length (bits 8..16): expected 3, came 4`, and what differs inside.
    pub fn words(&self) -> String {
        let bits = if self.bits.is_empty() {
            String::new()
        } else {
            format!(" (bits {}..{})", self.bits.start, self.bits.end)
        };
        let (path, expected, came) = (&self.path, &self.expected, &self.came);
        let own = format!("{path}{bits}: expected {expected}, came {came}");
        match &self.inside {
            None => own,
            Some(inside) => format!("{own}; inside, {}", inside.words()),
        }
    }
}

/// The first place where two packets differ: a field where both were read, or else a byte.
pub(crate) fn packet_difference(
    trees: Option<(&Decoded, &Decoded)>,
    (expected, came): (&[u8], &[u8]),
) -> Option<FieldDifference> {
    let bytes = byte_difference(expected, came)?;
    let field = trees.and_then(|(expected, came)| field_difference(expected, came));
    Some(field.unwrap_or(bytes))
}

/// The first node in wire order that one of the trees lacks, or whose value differs; with it, the
/// first one inside a stream that was unpacked or joined.
pub(crate) fn field_difference(expected: &Decoded, came: &Decoded) -> Option<FieldDifference> {
    let (left, right) = (&expected.tree, &came.tree);
    let ends = [left, right].map(|tree| tree.len() as u32);
    let (place, difference) = first_in((left, 0..ends[0]), (right, 0..ends[1]))?;
    let is_inside = left
        .get(TreeId(place))
        .is_some_and(|node| node.stream() != PACKET);
    let inside = if is_inside {
        None
    } else {
        inner_difference(left, right).map(Box::new)
    };
    Some(FieldDifference {
        inside,
        ..difference
    })
}

/// The packet's own stream.
const PACKET: StreamId = StreamId(0);

/// The nodes that begin a stream of their own, by their paths.
fn inner(tree: &Tree) -> Vec<(String, Range<u32>)> {
    let all = (0..tree.len() as u32).filter_map(|place| tree.get(TreeId(place)));
    let begins = all.filter(|node| {
        let around = node.parent().and_then(|parent| tree.get(parent));
        around.is_some_and(|around| around.stream() != node.stream())
    });
    let each = begins.map(|node| {
        let first = node.id().0;
        (tree.path(node.id()), first..first + node.descendants() + 1)
    });
    each.collect()
}

/// The first difference in a stream that both have.
fn inner_difference(left: &Tree, right: &Tree) -> Option<FieldDifference> {
    let others = inner(right);
    inner(left).into_iter().find_map(|(path, range)| {
        let (_, other) = others.iter().find(|(other, _)| *other == path)?;
        let (_, difference) = first_in((left, range), (right, other.clone()))?;
        Some(difference)
    })
}

/// Walks parts of both trees in wire order: where the first difference is in the first one.
fn first_in(
    (left, lefts): (&Tree, Range<u32>),
    (right, rights): (&Tree, Range<u32>),
) -> Option<(u32, FieldDifference)> {
    const NONE: &str = "no such field";
    let within = |tree: &'_ Tree, range: &Range<u32>, offset: u32| {
        let place = range.start + offset;
        range
            .contains(&place)
            .then_some(TreeId(place))
            .filter(|id| tree.get(*id).is_some())
    };
    for offset in 0..lefts.len().max(rights.len()) as u32 {
        let ids = (within(left, &lefts, offset), within(right, &rights, offset));
        let both = (
            ids.0.and_then(|id| left.get(id)),
            ids.1.and_then(|id| right.get(id)),
        );
        let (tree, node, expected, came) = match both {
            (Some(a), Some(b)) if a.name() == b.name() && same(&a.value(), &b.value()) => continue,
            (Some(a), Some(b)) if a.name() == b.name() => {
                (left, a, a.value().to_string(), b.value().to_string())
            }
            (Some(a), _) => (left, a, a.value().to_string(), NONE.to_owned()),
            (None, Some(b)) => (right, b, NONE.to_owned(), b.value().to_string()),
            (None, None) => return None,
        };
        let path = tree.path(node.id());
        let difference = FieldDifference::new(path, node.bits(), expected, came);
        return Some((lefts.start + offset, difference));
    }
    None
}

/// Equal on the wire: a NaN equals the same NaN.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => left.to_bits() == right.to_bits(),
        _ => left == right,
    }
}

pub(crate) fn byte_difference(expected: &[u8], came: &[u8]) -> Option<FieldDifference> {
    let equal = expected
        .iter()
        .zip(came)
        .take_while(|(left, right)| left == right)
        .count();
    if equal == expected.len() && equal == came.len() {
        return None;
    }
    let byte = |bytes: &[u8]| {
        bytes
            .get(equal)
            .map_or("the end".to_owned(), |b| format!("{b:#04x}"))
    };
    let start = equal as u32 * 8;
    let (path, bits) = (format!("byte {equal}"), start..start + 8);
    Some(FieldDifference::new(path, bits, byte(expected), byte(came)))
}
