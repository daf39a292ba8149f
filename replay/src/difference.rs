//! A divergence, decoded to the first field that differs.

use std::fmt;
use std::ops::Range;

use netreel_reel::{Endpoint, Reel};
use netreel_transport::{Divergence, Step};
use netreel_wire::{Decoded, PacketFacts, StreamId, Tree, TreeId, Value, Wire};

use crate::agreed::{Agreed, agreed};
use crate::said_before::Before;

/// A divergence in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What the recording has, in a few words.
    pub expected: String,
    /// What the layer did, in a few words.
    pub came: String,
    /// The first thing that differs, where both are packets, or steps on two sockets.
    pub field: Option<FieldDifference>,
    /// The last events before it, which were as recorded; none without a reel.
    pub agreed: Vec<Agreed>,
}

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
        let bits = match self.bits.is_empty() {
            true => String::new(),
            false => format!(" (bits {}..{})", self.bits.start, self.bits.end),
        };
        let (path, expected, came) = (&self.path, &self.expected, &self.came);
        let own = format!("{path}{bits}: expected {expected}, came {came}");
        match &self.inside {
            None => own,
            Some(inside) => format!("{own}; inside, {}", inside.words()),
        }
    }
}

/// Says what `divergence` is about; with a wire, to the field. `name` gives the name of an
/// endpoint's node, where there is one. With the reel, packets are read as what came before them
/// says: what the connection keeps, and the parts of split messages.
pub fn explain(
    divergence: &Divergence,
    (wire, reel): (Option<&Wire>, Option<&Reel>),
    name: &dyn Fn(Endpoint) -> Option<String>,
) -> Explanation {
    let socket = divergence.sockets.map(|(expected, came)| {
        let (expected, came) = (expected.0.to_string(), came.0.to_string());
        FieldDifference::new("socket".to_owned(), 0..0, expected, came)
    });
    let packets = || match (&divergence.expected, &divergence.came) {
        (
            Step::Send {
                to: expected_to,
                packet: expected,
            },
            Step::Send { to, packet: came },
        ) => {
            if expected_to == to {
                let both = (expected.as_slice(), came.as_slice());
                let told = wire.and_then(|wire| {
                    let before = reel.map(|reel| Before::of(reel, divergence.number, *to, wire));
                    let before = before.unwrap_or_else(|| Before::nothing(wire));
                    before.difference(both)
                });
                told.or_else(|| byte_difference(expected, came))
            } else {
                let (expected, came) = (named(*expected_to, name), named(*to, name));
                let path = "destination".to_owned();
                Some(FieldDifference::new(path, 0..0, expected, came))
            }
        }
        (Step::State(expected), Step::State(came)) => byte_difference(expected, came),
        _ => None,
    };
    let field = socket.or_else(packets);
    Explanation {
        expected: words(&divergence.expected, wire, name),
        came: words(&divergence.came, wire, name),
        field,
        agreed: reel.map_or_else(Vec::new, |reel| agreed(reel, divergence.number, wire, name)),
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

/// What a packet carries, in a few words: `: create, update`.
pub fn carries(packet: &[u8], wire: Option<&Wire>) -> String {
    kinds(packet, wire)
}

fn words(step: &Step, wire: Option<&Wire>, name: &dyn Fn(Endpoint) -> Option<String>) -> String {
    match step {
        Step::Tick(tick) => format!("the next tick, {tick}"),
        Step::Input(call) => format!("a call of the game, {} bytes", call.len()),
        Step::Clock => "a clock read".to_owned(),
        Step::Random => "a random draw".to_owned(),
        Step::Receive => "a receive".to_owned(),
        Step::Send { to, packet } => {
            let to = named(*to, name);
            format!(
                "a packet of {} bytes to {to}{}",
                packet.len(),
                kinds(packet, wire)
            )
        }
        Step::State(state) => format!("a state of {} bytes", state.len()),
        Step::Nothing => "nothing".to_owned(),
    }
}

pub(crate) fn named(endpoint: Endpoint, name: &dyn Fn(Endpoint) -> Option<String>) -> String {
    name(endpoint).unwrap_or_else(|| endpoint.to_string())
}

/// What a packet carries: `: create, update`.
fn kinds(packet: &[u8], wire: Option<&Wire>) -> String {
    let Some(wire) = wire else {
        return String::new();
    };
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    let kinds = facts.messages.iter().map(|message| {
        let kind = message
            .kind
            .and_then(|kind| wire.kinds().get(usize::from(kind.0)));
        kind.map_or("?", |kind| kind.name.as_str())
    });
    let kinds = kinds.collect::<Vec<_>>();
    if kinds.is_empty() {
        ", no messages".to_owned()
    } else {
        format!(": {}", kinds.join(", "))
    }
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
    let inside = match is_inside {
        true => None,
        false => inner_difference(left, right).map(Box::new),
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

fn byte_difference(expected: &[u8], came: &[u8]) -> Option<FieldDifference> {
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

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, came {}", self.expected, self.came)?;
        if let Some(field) = &self.field {
            write!(f, "; {}", field.words())?;
        }
        Ok(())
    }
}
