//! A divergence, decoded to the first field that differs.

use std::fmt;
use std::ops::Range;

use netreel_reel::Endpoint;
use netreel_transport::{Divergence, Step};
use netreel_wire::{Decoded, PacketFacts, TreeId, Value, Wire};

/// A divergence in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What the recording has, in a few words.
    pub expected: String,
    /// What the layer did, in a few words.
    pub came: String,
    /// The first thing that differs, where both are packets, or steps on two sockets.
    pub field: Option<FieldDifference>,
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
}

/// Says what `divergence` is about; with a wire, to the field. `name` gives the name of an
/// endpoint's node, where there is one.
pub fn explain(
    divergence: &Divergence,
    wire: Option<&Wire>,
    name: &dyn Fn(Endpoint) -> Option<String>,
) -> Explanation {
    let socket = divergence.sockets.map(|(expected, came)| FieldDifference {
        path: "socket".to_owned(),
        bits: 0..0,
        expected: expected.0.to_string(),
        came: came.0.to_string(),
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
                wire.and_then(|wire| field_difference(&wire.decode(expected), &wire.decode(came)))
                    .or_else(|| byte_difference(expected, came))
            } else {
                Some(FieldDifference {
                    path: "destination".to_owned(),
                    bits: 0..0,
                    expected: named(*expected_to, name),
                    came: named(*to, name),
                })
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

fn named(endpoint: Endpoint, name: &dyn Fn(Endpoint) -> Option<String>) -> String {
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

/// Walks both trees in wire order: the first node that one of them lacks, or whose value differs.
fn field_difference(expected: &Decoded, came: &Decoded) -> Option<FieldDifference> {
    let (left, right) = (&expected.tree, &came.tree);
    for index in 0..left.len().max(right.len()) {
        let id = TreeId(index as u32);
        match (left.get(id), right.get(id)) {
            (Some(a), Some(b)) if a.name() == b.name() && same(&a.value(), &b.value()) => {}
            (Some(a), Some(b)) if a.name() == b.name() => {
                return Some(FieldDifference {
                    path: left.path(id),
                    bits: a.bits(),
                    expected: a.value().to_string(),
                    came: b.value().to_string(),
                });
            }
            (Some(a), _) => {
                return Some(FieldDifference {
                    path: left.path(id),
                    bits: a.bits(),
                    expected: a.value().to_string(),
                    came: "no such field".to_owned(),
                });
            }
            (None, Some(b)) => {
                return Some(FieldDifference {
                    path: right.path(id),
                    bits: b.bits(),
                    expected: "no such field".to_owned(),
                    came: b.value().to_string(),
                });
            }
            (None, None) => return None,
        }
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
    Some(FieldDifference {
        path: format!("byte {equal}"),
        bits: start..start + 8,
        expected: byte(expected),
        came: byte(came),
    })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, came {}", self.expected, self.came)?;
        if let Some(field) = &self.field {
            write!(
                f,
                "; {}: expected {}, came {}",
                field.path, field.expected, field.came
            )?;
        }
        Ok(())
    }
}
