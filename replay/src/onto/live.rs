//! What is live in a packet: values that the other side gave to be said back, and acks.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use netreel_wire::{Connections, Decoded, Instead, TreeNode, Value, Wire};

/// Both ends, as the wire sees them: which they are only decides the direction.
const NODE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

/// A value that was given to be said back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Given {
    Number(u64),
    Bytes(Vec<u8>),
}

/// A value, with the name under which the wire has it given and taken.
pub(super) type Named = (Arc<str>, Given);

/// A field that is said otherwise than it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Which: `header.peer`.
    pub path: String,
    /// What was recorded.
    pub from: String,
    /// What is said.
    pub to: String,
}

/// A packet that could not be written with its live values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was sent as it was recorded, because with live values it does not fit the wire: {0}")]
pub struct LiveError(pub(super) String);

/// What is known of the live endpoint.
pub(super) struct Live<'w> {
    talk: Talk<'w>,
    /// What it gave, by what the recorded one had given in its place.
    instead: BTreeMap<Named, Given>,
    /// What it gave last, by name.
    latest: BTreeMap<Arc<str>, Given>,
    /// The numbers of its packets, and the bits of such a number.
    received: BTreeSet<u64>,
    newest: Option<(u64, u32)>,
}

impl<'w> Live<'w> {
    /// Before the first packet. `peer` is where the recorded peer was.
    pub fn new(wire: &'w Wire, peer: SocketAddr) -> Live<'w> {
        Live {
            talk: Talk::new(wire, peer),
            instead: BTreeMap::new(),
            latest: BTreeMap::new(),
            received: BTreeSet::new(),
            newest: None,
        }
    }

    /// Reads a packet that came.
    pub fn hear(&mut self, packet: &[u8]) -> Decoded {
        let decoded = self.talk.read(false, packet);
        for (name, value) in given(&decoded) {
            self.latest.insert(name, value);
        }
        if let Some(sequence) = decoded.facts.sequence {
            self.received.insert(sequence.value);
            let is_newer = |(newest, bits): (u64, u32)| {
                let ahead = sequence.value.wrapping_sub(newest) & mask(bits);
                ahead != 0 && ahead <= mask(bits) / 2
            };
            if self.newest.is_none_or(is_newer) {
                self.newest = Some((sequence.value, u32::from(sequence.bits)));
            }
        }
        decoded
    }

    /// Takes note that a live value stands for a recorded one.
    pub fn learn(&mut self, recorded: Named, live: Given) {
        self.instead.insert(recorded, live);
    }

    /// Whether the live value for a recorded one is known.
    pub fn knows(&self, recorded: &Named) -> bool {
        self.instead.contains_key(recorded)
    }

    /// A recorded packet with what is live in it. `decoded` is how the recording reads it.
    pub fn say(
        &mut self,
        decoded: &Decoded,
        packet: &[u8],
    ) -> (Vec<u8>, Result<Vec<Changed>, LiveError>) {
        let mut changed = Vec::new();
        for node in decoded.tree.iter() {
            let (Some(now), Some(was)) = (self.instead_of(node), value(node)) else {
                continue;
            };
            if now != was {
                changed.push(Changed {
                    path: decoded.tree.path(node.id()),
                    from: shown(&was),
                    to: shown(&now),
                });
            }
        }
        if changed.is_empty() {
            self.talk.read(true, packet);
            return (packet.to_vec(), Ok(changed));
        }
        let instead = |node: TreeNode<'_>| {
            let now = self.instead_of(node)?;
            Some(match now {
                Given::Number(number) => Instead::Number(number),
                Given::Bytes(bytes) => Instead::Bytes(bytes),
            })
        };
        let mut line = decoded.to_other_json(&instead);
        if let Some(parts) = line.as_object_mut() {
            parts.insert("from".to_owned(), NODE.to_string().into());
            parts.insert("to".to_owned(), self.talk.peer.to_string().into());
        }
        match self.talk.connections.encode(&line) {
            Ok(encoded) => (encoded.bytes, Ok(changed)),
            Err(error) => {
                self.talk.read(true, packet);
                (packet.to_vec(), Err(LiveError(error.to_string())))
            }
        }
    }

    /// What a field says live; none where it says what was recorded.
    fn instead_of(&self, node: TreeNode<'_>) -> Option<Given> {
        if let Some(name) = node.takes() {
            let was: Named = (name.into(), value(node)?);
            if let Some(known) = self.instead.get(&was) {
                return Some(known.clone());
            }
        }
        let (newest, bits) = self.newest?;
        match node.annotation()? {
            "ack" => Some(Given::Number(newest)),
            "ack_bits" => {
                let width = node.bits();
                let received = (0..u64::from(width.end - width.start)).filter(|bit| {
                    let number = newest.wrapping_sub(1).wrapping_sub(*bit) & mask(bits);
                    self.received.contains(&number)
                });
                Some(Given::Number(received.fold(0, |all, bit| all | 1 << bit)))
            }
            _ => None,
        }
    }

    /// What the live endpoint gave last under a name.
    pub fn latest(&self, name: &str) -> Option<&Given> {
        self.latest.get(name)
    }
}

/// Reads packets of the node and its peer in their order.
pub(super) struct Talk<'w> {
    connections: Connections<'w>,
    peer: SocketAddr,
}

impl<'w> Talk<'w> {
    pub fn new(wire: &'w Wire, peer: SocketAddr) -> Talk<'w> {
        Talk {
            connections: Connections::new(wire),
            peer: other_than_node(peer),
        }
    }

    pub fn read(&mut self, is_sent: bool, packet: &[u8]) -> Decoded {
        if is_sent {
            self.connections.decode(NODE, self.peer, packet)
        } else {
            self.connections.decode(self.peer, NODE, packet)
        }
    }
}

/// The values that a packet gives to be said back, in its order.
pub(super) fn given(decoded: &Decoded) -> Vec<Named> {
    all_named(decoded, TreeNode::gives)
}

/// The values that a packet says back, in its order.
pub(super) fn taken(decoded: &Decoded) -> Vec<Named> {
    all_named(decoded, TreeNode::takes)
}

fn all_named<'d>(
    decoded: &'d Decoded,
    name: impl Fn(TreeNode<'d>) -> Option<&'d str>,
) -> Vec<Named> {
    let nodes = decoded.tree.iter();
    let named = nodes.filter_map(|node| Some((name(node)?.into(), value(node)?)));
    named.collect()
}

fn value(node: TreeNode<'_>) -> Option<Given> {
    match node.value() {
        Value::Unsigned(number) => Some(Given::Number(number)),
        Value::Bytes(bytes) => Some(Given::Bytes(bytes.to_vec())),
        _ => None,
    }
}

fn shown(value: &Given) -> String {
    match value {
        Given::Number(number) => number.to_string(),
        Given::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn mask(bits: u32) -> u64 {
    match bits {
        64.. => u64::MAX,
        bits => (1 << bits) - 1,
    }
}

/// The peer's port may choose the protocol; it must not be the node itself.
fn other_than_node(peer: SocketAddr) -> SocketAddr {
    if peer == NODE {
        SocketAddr::new(peer.ip(), 2)
    } else {
        peer
    }
}
