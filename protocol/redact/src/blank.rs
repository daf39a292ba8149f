//! Packets in which fields are blanked: read with the wire, and written anew.
//!
//! Both nodes of a packet must see the same bytes, and each connection must be followed twice: as it
//! was, to read the packets, and as it is in the copies, to write them. So the reels are gone through
//! side by side, each in its own order, and no receipt before its send.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_reel::{EventNumber, OwnedRecord, Reel};
use netreel_wire::{
    ConnectionState, Context, Decoded, Instead, PacketFacts, Place, TreeId, TreeNode, Wire,
};

use crate::events::Events;
use crate::fields::{Field, asked};
use crate::follow::{Follow, Packet};
use crate::fragments::{Fragments, data};
use crate::pieces::Pieces;
use crate::rewrite::{PieceFate, Tally, Written, node_at, rewritten, unexplained};
use crate::rules::Bytes;
use crate::story::Story;

/// The packets of one reel that do not stay what they are.
pub(crate) type MadePackets = BTreeMap<EventNumber, Made>;

/// What blanking makes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Written(Written),
    /// Its fields cannot be blanked one by one, for this reason.
    HeldBack(String),
}

/// Goes through all packets of a session's reels: what becomes of each reel's, in the order of the
/// reels, and which fields were blanked.
pub(crate) fn blank(
    story: &Story,
    reels: &[Arc<Reel>],
    fields: &[Field],
    doubtful: Bytes,
) -> (Vec<MadePackets>, Tally) {
    let mut tally = Tally::default();
    let mut blanking = Blanking {
        story,
        wire: story.wire(),
        fields,
        doubtful,
        fragments: Fragments::new(story, fields, &mut tally),
        tally,
    };
    let mut ways: Vec<BlankedReel<'_>> = reels
        .iter()
        .map(|reel| BlankedReel::new(reel, story.wire(), fields))
        .collect();
    loop {
        let mut moved = false;
        for place in 0..ways.len() {
            while blanking.step(&mut ways, place, false) {
                moved = true;
            }
        }
        if !moved {
            // Reels that contradict each other: one of them goes first.
            let Some(place) = ways.iter().position(|way| way.next.is_some()) else {
                break;
            };
            blanking.step(&mut ways, place, true);
        }
    }
    let made = ways.into_iter().map(|way| way.made).collect();
    (made, blanking.tally)
}

struct Blanking<'a> {
    story: &'a Story,
    wire: &'a Wire,
    fields: &'a [Field],
    doubtful: Bytes,
    fragments: Fragments,
    tally: Tally,
}

/// One reel, as far as it was gone through.
struct BlankedReel<'a> {
    events: Events<'a>,
    next: Option<OwnedRecord>,
    follow: Follow,
    pieces: Pieces,
    made: MadePackets,
}

impl<'a> BlankedReel<'a> {
    fn new(reel: &'a Reel, wire: &Wire, fields: &[Field]) -> BlankedReel<'a> {
        let mut events = Events::all(reel);
        BlankedReel {
            next: events.next(),
            events,
            follow: Follow::new(reel),
            pieces: Pieces::new(reel, wire, fields),
            made: BTreeMap::new(),
        }
    }

    fn is_past(&self, number: EventNumber) -> bool {
        let next = self.next.as_ref();
        next.is_none_or(|next| next.as_record().number > number)
    }
}

impl Blanking<'_> {
    /// The next event of a reel; `false`: there is none, or it has to wait for another reel.
    fn step(&mut self, ways: &mut [BlankedReel<'_>], place: usize, at_once: bool) -> bool {
        let next = ways.get(place).and_then(|way| way.next.as_ref());
        let Some(number) = next.map(|next| next.as_record().number) else {
            return false;
        };
        let sent = self.story.sent(place, number);
        let sent = sent.and_then(|(sender, sent)| Some((ways.get(sender)?, sent)));
        let as_sent = match sent {
            Some((sender, sent)) if sender.is_past(sent) => Some(sender.made.get(&sent).cloned()),
            Some(_) if !at_once => return false,
            _ => None,
        };
        if let Some(way) = ways.get_mut(place) {
            self.event(way, as_sent);
        }
        true
    }

    /// One event; `as_sent`: what its sender made of it (`None`: nothing), where it is a receipt.
    fn event(&mut self, way: &mut BlankedReel<'_>, as_sent: Option<Option<Made>>) {
        let next = std::mem::replace(&mut way.next, way.events.next());
        let Some(record) = next.as_ref().map(OwnedRecord::as_record) else {
            return;
        };
        let Some(packet) = way.follow.packet(self.wire, &record.event) else {
            return;
        };
        let Packet {
            context,
            connection,
            payload,
            ..
        } = packet;
        let decoded = self
            .wire
            .decode_in(&context, &mut connection.before, payload);
        self.tally.add(&decoded, self.fields);
        let pieces = way.pieces.of(record.number);
        let make = || self.make(payload, &decoded, (&context, &connection.after), pieces);
        let made = as_sent.unwrap_or_else(make);
        if self.wire.has_state() {
            let held_back = self.doubtful.of(payload);
            let bytes = match &made {
                None => payload,
                Some(Made::Written(new)) => &new.bytes,
                Some(Made::HeldBack(_)) => held_back.as_deref().unwrap_or(payload),
            };
            let facts = &mut PacketFacts::default();
            self.wire
                .facts_in(&context, &mut connection.after, bytes, facts);
        }
        if let Some(made) = made {
            way.made.insert(record.number, made);
        }
    }

    /// The packet without what its fields said; `None`: it stays as it is.
    fn make(
        &self,
        payload: &[u8],
        decoded: &Decoded,
        (context, after): (&Context, &ConnectionState),
        pieces: &[(Place, PieceFate)],
    ) -> Option<Made> {
        let pieces = match self.pieces(decoded, pieces) {
            Ok(pieces) => pieces,
            Err(why) => return Some(Made::HeldBack(why)),
        };
        let instead = |node: TreeNode<'_>| match asked(self.fields, node) {
            Some(_) => Some(Instead::Nothing),
            None => pieces.get(&node.id()).cloned(),
        };
        let wire = self.wire;
        let mut own = decoded
            .tree
            .iter()
            .filter(|node| node.can_be_blank() && !node.is_joined());
        if !own.any(|node| instead(node).is_some()) {
            // It stays as it is, unless it says something else after the packets before it.
            let reads = || wire.decode_in(context, &mut after.clone(), payload);
            if !wire.has_state() || reads().tree == decoded.tree {
                return None;
            }
        }
        let encode = |json: &_| wire.encode_in(context, &mut after.clone(), json);
        let decode = |bytes: &[u8]| wire.decode_in(context, &mut after.clone(), bytes);
        match rewritten(decoded, self.fields, &instead, encode, decode) {
            Ok(new) => new.map(Made::Written),
            Err(why) => Some(Made::HeldBack(why)),
        }
    }

    /// What becomes of pieces of messages and streams in a packet, fields that are asked for aside; or
    /// why nobody can say that it is safe.
    fn pieces(
        &self,
        decoded: &Decoded,
        over_packets: &[(Place, PieceFate)],
    ) -> Result<BTreeMap<TreeId, Instead>, String> {
        if let Some(why) = unexplained(decoded, |_| true) {
            return Err(why);
        }
        let is_asked = |node| asked(self.fields, node).is_some();
        let mut known = BTreeMap::new();
        for (place, fate) in over_packets {
            let node = node_at(decoded, place);
            match (node, fate) {
                (Some(node), _) if is_asked(node) => {}
                (_, PieceFate::HeldBack(why)) => return Err(why.clone()),
                (Some(node), PieceFate::Becomes(_)) => drop(known.insert(node.id(), fate.clone())),
                (Some(node), PieceFate::Stays) => {
                    known.entry(node.id()).or_insert(PieceFate::Stays);
                }
                (None, PieceFate::Becomes(_)) => return Err(NO_FIELD.to_owned()),
                (None, PieceFate::Stays) => {}
            }
        }
        for node in decoded.tree.iter() {
            if let Some(data) = data(node)
                && !known.contains_key(&node.id())
                && !is_asked(node)
            {
                match self.fragments.fate(self.wire, decoded, &data) {
                    PieceFate::HeldBack(why) => return Err(why),
                    fate => drop(known.insert(node.id(), fate)),
                }
            }
        }
        let becomes = known.into_iter().filter_map(|(id, fate)| match fate {
            PieceFate::Becomes(instead) => Some((id, instead)),
            PieceFate::Stays | PieceFate::HeldBack(_) => None,
        });
        Ok(becomes.collect())
    }
}

const NO_FIELD: &str = "a part of a message in it cannot be told from the rest of it";
