//! Packets in which fields are blanked: read with the wire, and written anew.
//!
//! Both nodes of a packet must see the same bytes, and each connection must be followed twice: as it
//! was, to read the packets, and as it is in the copies, to write them. So the reels are gone through
//! side by side, each in its own order, and no receipt before its send.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netreel_reel::{EventNumber, Reel};
use netreel_wire::{ConnectionState, Context, Decoded, PacketFacts, TreeNode, Value, Wire};

use super::follow::{Crossing, Follow};
use super::walk::Events;
use super::{Bytes, Field};
use crate::session::{NodeId, Session};

/// What blanking makes of the packets of one reel.
#[derive(Clone, Debug, Default)]
pub struct Blanked {
    /// Packets that are other bytes now.
    pub(super) packets: BTreeMap<EventNumber, Packet>,
    /// How many fields were blanked, by what asked for them.
    pub fields: BTreeMap<String, u64>,
}

/// A packet as it is in the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub bytes: Vec<u8>,
    /// Why its fields could not be blanked one by one.
    pub held_back: Option<String>,
    /// The paths of fields that were worked out anew.
    pub worked_out: BTreeSet<String>,
}

/// All packets of a session, blanked.
pub(super) struct Blanking<'a> {
    wire: &'a Wire,
    session: &'a Session,
    fields: &'a [Field],
    doubtful: Bytes,
    ways: Vec<Way<'a>>,
    /// What fields said that say nothing now.
    pub values: BTreeSet<Vec<u8>>,
}

/// One reel, as far as it was gone through.
struct Way<'a> {
    events: std::iter::Peekable<Events<'a>>,
    node: Option<NodeId>,
    follow: Follow,
    /// All events below it were gone through.
    reached: u64,
    blanked: Blanked,
    /// What joined messages with such fields were put together from.
    joined: Vec<Vec<u8>>,
}

impl<'a> Blanking<'a> {
    /// Goes through all packets of a session's reels.
    pub fn new(
        (session, wire): (&'a Session, &'a Wire),
        reels: &'a [Arc<Reel>],
        fields: &'a [Field],
        doubtful: Bytes,
    ) -> Blanking<'a> {
        let node_of = |reel: &Arc<Reel>| {
            let place = session.reels.iter().position(|of_node| {
                let of_node = of_node.as_ref();
                of_node.is_some_and(|of_node| Arc::ptr_eq(of_node, reel))
            })?;
            u16::try_from(place).ok().map(NodeId)
        };
        let mut blanking = Blanking {
            wire,
            session,
            fields,
            doubtful,
            ways: Vec::new(),
            values: BTreeSet::new(),
        };
        let joined: Vec<_> = reels.iter().map(|reel| blanking.joined(reel)).collect();
        blanking.ways = reels
            .iter()
            .zip(joined)
            .map(|(reel, joined)| Way {
                node: node_of(reel),
                joined,
                ..Way::new(reel)
            })
            .collect();
        blanking.go();
        blanking
    }

    /// What became of each reel's packets, in the order of the reels.
    pub fn finish(self) -> (Vec<Blanked>, BTreeSet<Vec<u8>>) {
        let blanked = self.ways.into_iter().map(|way| way.blanked);
        (blanked.collect(), self.values)
    }

    /// The messages of a reel that came in parts and have such a field.
    fn joined(&self, reel: &Reel) -> Vec<Vec<u8>> {
        let mut joined = Vec::new();
        if !self.wire.has_state() {
            return joined;
        }
        let mut way = Way::new(reel);
        for record in way.events.by_ref() {
            let record = record.as_record();
            let Some(crossing) = way.follow.crossing(record.number, &record.event) else {
                continue;
            };
            let (context, connection) = way.follow.connection(self.wire, &crossing);
            let decoded = self
                .wire
                .decode_in(&context, &mut connection.before, crossing.payload);
            for node in decoded.tree.iter().filter(|node| node.is_joined()) {
                if node.can_be_blank()
                    && self.asked(&decoded, node).is_some()
                    && let Some(bytes) = outermost(&decoded, node)
                    && joined.last().map(Vec::as_slice) != Some(bytes)
                {
                    joined.push(bytes.to_vec());
                }
            }
        }
        joined
    }

    fn asked(&self, decoded: &Decoded, node: TreeNode<'_>) -> Option<&'a Field> {
        let mut fields = self.fields.iter();
        fields.find(|field| field.takes(&decoded.tree, node))
    }

    /// Each reel in its order, and no receipt before its send, as far as that is possible.
    fn go(&mut self) {
        loop {
            let mut moved = false;
            for place in 0..self.ways.len() {
                while self.step(place, false) {
                    moved = true;
                }
            }
            if moved {
                continue;
            }
            // Reels that contradict each other: one of them goes first.
            let waits = |way: &mut Way<'_>| way.events.peek().is_some();
            let Some(place) = self.ways.iter_mut().position(waits) else {
                return;
            };
            self.step(place, true);
        }
    }

    /// The next event of a reel; `false`: there is none, or it has to wait for another reel.
    fn step(&mut self, place: usize, at_once: bool) -> bool {
        let Some(way) = self.ways.get_mut(place) else {
            return false;
        };
        let Some(owned) = way.events.peek().cloned() else {
            return false;
        };
        let record = owned.as_record();
        let mut as_sent = None;
        if let Some(crossing) = way.follow.crossing(record.number, &record.event) {
            if let Some((sender, number)) = self.sent(place, &crossing) {
                match self.ways.get(sender) {
                    Some(sender) if sender.reached > number.0 => {
                        let packet = sender.blanked.packets.get(&number).cloned();
                        as_sent = Some(packet);
                    }
                    _ if !at_once => return false,
                    _ => {}
                }
            }
            self.packet(place, &crossing, as_sent);
        }
        if let Some(way) = self.ways.get_mut(place) {
            way.reached = record.number.0 + 1;
            way.events.next();
        }
        true
    }

    /// Who sent a packet that was received, and as which event.
    fn sent(&self, place: usize, crossing: &Crossing<'_>) -> Option<(usize, EventNumber)> {
        let node = self.ways.get(place)?.node.filter(|_| crossing.received)?;
        let known = self.session.packet_at(node, crossing.number)?;
        let packet = self.session.packet(known.packet)?;
        let sent = packet.sent?;
        let sender = self
            .ways
            .iter()
            .position(|way| way.node == Some(packet.from))?;
        Some((sender, sent.number))
    }

    /// One packet; `as_sent`: what its sender made of it (`None`: nothing).
    fn packet(&mut self, place: usize, crossing: &Crossing<'_>, as_sent: Option<Option<Packet>>) {
        let wire = self.wire;
        let Some(way) = self.ways.get_mut(place) else {
            return;
        };
        let (context, connection) = way.follow.connection(wire, crossing);
        let after = connection.after.clone();
        let decoded = wire.decode_in(&context, &mut connection.before, crossing.payload);
        let made = match as_sent {
            Some(made) => made,
            None => self.make(place, &decoded, (&context, &after), crossing.payload),
        };
        self.remember(place, &decoded);
        let Some(way) = self.ways.get_mut(place) else {
            return;
        };
        let bytes = made.as_ref().map_or(crossing.payload, |made| &made.bytes);
        if wire.has_state() {
            let (context, connection) = way.follow.connection(wire, crossing);
            let facts = &mut PacketFacts::default();
            wire.facts_in(&context, &mut connection.after, bytes, facts);
        }
        if let Some(made) = made {
            way.blanked.packets.insert(crossing.number, made);
        }
    }

    /// Counts the fields that are blanked, and what they said.
    fn remember(&mut self, place: usize, decoded: &Decoded) {
        for node in decoded.tree.iter().filter(|node| node.can_be_blank()) {
            let Some(field) = self.asked(decoded, node) else {
                continue;
            };
            if let Some(way) = self.ways.get_mut(place) {
                let count = way.blanked.fields.entry(field.text().to_owned());
                *count.or_default() += 1;
            }
            let said = match node.value() {
                Value::Text(text) => text.into_bytes(),
                Value::Bytes(bytes) | Value::Hash(bytes) => bytes,
                _ => continue,
            };
            let says_nothing = said.iter().all(|byte| matches!(byte, 0 | b'x'));
            if said.len() >= VALUE_MIN && !says_nothing {
                self.values.insert(said);
            }
        }
    }

    /// The packet without what its fields said; `None`: it stays as it is.
    fn make(
        &self,
        place: usize,
        decoded: &Decoded,
        (context, after): (&Context, &ConnectionState),
        payload: &[u8],
    ) -> Option<Packet> {
        let joined = self.ways.get(place).map_or(&[][..], |way| &way.joined);
        let is_part = |node: TreeNode<'_>| match node.value() {
            Value::Bytes(bytes) if !bytes.is_empty() && !joined.is_empty() => {
                let holds = |whole: &Vec<u8>| whole.windows(bytes.len()).any(|part| part == bytes);
                joined.iter().any(holds)
            }
            _ => false,
        };
        let blank = |node: TreeNode<'_>| self.asked(decoded, node).is_some() || is_part(node);
        let is_asked =
            |node: &TreeNode<'_>| node.can_be_blank() && !node.is_joined() && blank(*node);
        let hold_back = |why: String| {
            let bytes = self.doubtful.of(payload);
            Some(Packet {
                bytes: bytes.unwrap_or_else(|| payload.to_vec()),
                held_back: Some(why),
                worked_out: BTreeSet::new(),
            })
        };
        if let Some(why) = unexplained(decoded) {
            return hold_back(why);
        }
        let wire = self.wire;
        if !decoded.tree.iter().any(|node| is_asked(&node)) {
            // It stays as it is, unless it says something else after the packets before it.
            let reads = || wire.decode_in(context, &mut after.clone(), payload);
            if !wire.has_state() || reads().tree == decoded.tree {
                return None;
            }
        }
        let json = decoded.to_blank_json(&blank);
        let mut state = after.clone();
        let encoded = match wire.encode_in(context, &mut state, &json) {
            Ok(encoded) if encoded.bytes == payload => return None,
            Ok(encoded) => encoded,
            Err(error) => {
                let (path, why) = error.problems.first().cloned().unwrap_or_default();
                return hold_back(format!("it cannot be written without them: {path}: {why}"));
            }
        };
        let again = wire.decode_in(context, &mut after.clone(), &encoded.bytes);
        let worked_out = encoded.changes.into_iter().map(|change| change.path);
        let worked_out: BTreeSet<String> = worked_out.collect();
        let asked = |node: TreeNode<'_>| self.asked(&again, node).is_some();
        let differs = differs(decoded, &again, &blank, &worked_out);
        match differs.or_else(|| left(&again, &asked)) {
            None => Some(Packet {
                bytes: encoded.bytes,
                held_back: None,
                worked_out,
            }),
            Some(path) => hold_back(format!("`{path}` would not stay what it is")),
        }
    }
}

/// Shorter values stand elsewhere by chance.
const VALUE_MIN: usize = 4;

impl<'a> Way<'a> {
    fn new(reel: &'a Reel) -> Way<'a> {
        Way {
            events: Events::new(reel).peekable(),
            node: None,
            follow: Follow::new(reel),
            reached: 0,
            blanked: Blanked::default(),
            joined: Vec::new(),
        }
    }
}

/// The bytes of the joined message around a node that no other holds.
fn outermost<'d>(decoded: &'d Decoded, node: TreeNode<'_>) -> Option<&'d [u8]> {
    let mut stream = node.stream();
    for above in decoded.tree.ancestors(node.id()) {
        let above = decoded.tree.get(above)?;
        if !above.is_joined() {
            break;
        }
        stream = above.stream();
    }
    decoded.tree.stream(stream)
}

/// Why nobody can say that a packet says nothing of what is to be blanked.
fn unexplained(decoded: &Decoded) -> Option<String> {
    let rest = decoded.tree.iter().find(|node| {
        let bits = node.bits();
        let is_empty = || match node.value() {
            Value::Bytes(bytes) => bytes.iter().all(|&byte| byte == 0),
            _ => false,
        };
        node.is_rest() && bits.start < bits.end && !is_empty()
    })?;
    let path = decoded.tree.path(rest.id());
    Some(format!("the wire does not explain all of it (`{path}`)"))
}

/// The first field that says something else, and is none that may.
pub(super) fn differs(
    old: &Decoded,
    new: &Decoded,
    blank: &dyn Fn(TreeNode<'_>) -> bool,
    worked_out: &BTreeSet<String>,
) -> Option<String> {
    let own = |decoded: &Decoded| {
        // What takes no bits was worked out, and padding follows from where it stands.
        let counts = |node: &TreeNode<'_>| {
            let is_worked_out = node.bits().is_empty() && node.descendants() == 0;
            !node.is_joined() && !node.is_padding() && !is_worked_out
        };
        let nodes = decoded.tree.iter().filter(counts);
        nodes.map(|node| node.id()).collect::<Vec<_>>()
    };
    let (olds, news) = (own(old), own(new));
    for (a, b) in olds.iter().zip(&news) {
        let (Some(a), Some(b)) = (old.tree.get(*a), new.tree.get(*b)) else {
            continue;
        };
        let may = || {
            let path = old.tree.path(a.id());
            worked_out.contains(&path) || blank(a)
        };
        if a.name() != b.name() || a.value() != b.value() && !may() {
            return Some(old.tree.path(a.id()));
        }
    }
    (olds.len() != news.len()).then(|| "the packet's fields".to_owned())
}

/// A field that is asked for and says something.
pub(super) fn left(decoded: &Decoded, asked: &dyn Fn(TreeNode<'_>) -> bool) -> Option<String> {
    let left = decoded.tree.iter().find(|&node| {
        let is_own = node.can_be_blank() && !node.is_joined();
        is_own && asked(node) && !says_nothing(&node.value())
    })?;
    Some(decoded.tree.path(left.id()))
}

/// Whether a value is one that stands where another was taken away. Numbers may be what they were.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.bytes().all(|byte| byte == b'x'),
        Value::Bytes(bytes) | Value::Hash(bytes) => bytes.iter().all(|&byte| byte == 0),
        Value::Uuid(text) => text.bytes().all(|byte| matches!(byte, b'0' | b'-')),
        _ => true,
    }
}
