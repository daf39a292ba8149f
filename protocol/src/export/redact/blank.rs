//! Packets in which fields are blanked: read with the wire, and written anew.
//!
//! Both nodes of a packet must see the same bytes, and each connection must be followed twice: as it
//! was, to read the packets, and as it is in the copies, to write them. So the reels are gone through
//! side by side, each in its own order, and no receipt before its send.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netreel_reel::{EventNumber, Reel};
use netreel_wire::{
    ConnectionState, Context, Decoded, Instead, PacketFacts, TreeId, TreeNode, Value, Wire,
};

use super::follow::{Crossing, Follow};
use super::fragments::{Becomes, Fragments, is_data};
use super::pieces::{Fate, Pieces, node_at};
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
    fragments: Fragments,
    /// What fields said that say nothing now.
    pub values: BTreeSet<Vec<u8>>,
}

/// What blanking came to.
pub(super) struct Finished {
    /// In the order of the reels.
    pub blanked: Vec<Blanked>,
    /// How many fields of messages in fragments were blanked, by what asked for them.
    pub joined: BTreeMap<String, u64>,
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
    /// What becomes of the pieces of messages and streams in its packets.
    pieces: Pieces,
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
            fragments: Fragments::new(session, wire, fields),
            values: BTreeSet::new(),
        };
        blanking.ways = reels
            .iter()
            .map(|reel| Way {
                node: node_of(reel),
                pieces: Pieces::new(reel, wire, fields),
                ..Way::new(reel)
            })
            .collect();
        blanking.go();
        blanking
    }

    /// What became of each reel's packets, in the order of the reels.
    pub fn finish(self) -> Finished {
        let blanked = self.ways.into_iter().map(|way| way.blanked);
        let mut values = self.values;
        values.extend(self.fragments.values);
        Finished {
            blanked: blanked.collect(),
            joined: self.fragments.fields,
            values,
        }
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
            None => self.make((place, crossing), &decoded, (&context, &after)),
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
            self.values.extend(said(node));
        }
    }

    /// The packet without what its fields said; `None`: it stays as it is.
    fn make(
        &self,
        (place, crossing): (usize, &Crossing<'_>),
        decoded: &Decoded,
        (context, after): (&Context, &ConnectionState),
    ) -> Option<Packet> {
        let payload = crossing.payload;
        // Bytes of what runs over packets: blank, or as they are in the whole.
        let mut pieces: BTreeMap<TreeId, Option<Instead>> = BTreeMap::new();
        let mut doubtful = None;
        let of_reel = self
            .ways
            .get(place)
            .map(|way| way.pieces.of(crossing.number));
        for (place, fate) in of_reel.unwrap_or_default() {
            match (node_at(decoded, place), fate) {
                (Some(node), _) if self.asked(decoded, node).is_some() => {}
                (_, Fate::HeldBack(why)) => doubtful = Some((*why).to_owned()),
                (Some(node), Fate::Blank) => drop(pieces.insert(node.id(), Some(Instead::Nothing))),
                (Some(node), Fate::Stays) => drop(pieces.entry(node.id()).or_insert(None)),
                (None, Fate::Blank) => doubtful = Some(NO_FIELD.to_owned()),
                (None, Fate::Stays) => {}
            }
        }
        for node in decoded.tree.iter().filter(|node| is_data(*node)) {
            if let Value::Bytes(data) = node.value()
                && !(data.is_empty() || node.is_joined() || pieces.contains_key(&node.id()))
                && self.asked(decoded, node).is_none()
            {
                match self.fragments.becomes(self.wire, decoded, &data) {
                    Becomes::Same => {}
                    Becomes::Other(piece) => {
                        pieces.insert(node.id(), Some(Instead::Bytes(piece)));
                    }
                    Becomes::HeldBack(why) => doubtful = Some(why),
                }
            }
        }
        let instead = |node: TreeNode<'_>| match self.asked(decoded, node) {
            Some(_) => Some(Instead::Nothing),
            None => pieces.get(&node.id()).cloned().flatten(),
        };
        let changes = |node: TreeNode<'_>| instead(node).is_some();
        let is_asked =
            |node: &TreeNode<'_>| node.can_be_blank() && !node.is_joined() && changes(*node);
        let hold_back = |why: String| {
            let bytes = self.doubtful.of(payload);
            Some(Packet {
                bytes: bytes.unwrap_or_else(|| payload.to_vec()),
                held_back: Some(why),
                worked_out: BTreeSet::new(),
            })
        };
        if let Some(why) = unexplained(decoded, &|_| true).or(doubtful) {
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
        let json = decoded.to_other_json(&instead);
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
        let differs = differs(decoded, &again, &changes, &worked_out);
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

/// What a field says that can be searched for.
pub(super) fn said(node: TreeNode<'_>) -> Option<Vec<u8>> {
    let said = match node.value() {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) | Value::Hash(bytes) => bytes,
        _ => return None,
    };
    let says_nothing = said.iter().all(|byte| matches!(byte, 0 | b'x'));
    (said.len() >= VALUE_MIN && !says_nothing).then_some(said)
}

impl<'a> Way<'a> {
    fn new(reel: &'a Reel) -> Way<'a> {
        Way {
            events: Events::new(reel).peekable(),
            node: None,
            follow: Follow::new(reel),
            reached: 0,
            blanked: Blanked::default(),
            pieces: Pieces::default(),
        }
    }
}

/// Why nobody can say that a packet says nothing of what is to be blanked.
pub(super) fn unexplained(
    decoded: &Decoded,
    counts: &dyn Fn(&TreeNode<'_>) -> bool,
) -> Option<String> {
    let rest = decoded.tree.iter().filter(counts).find(|node| {
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

const NO_FIELD: &str = "a part of a message in it cannot be told from the rest of it";

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
