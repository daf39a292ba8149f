//! `update-twice`: a node sent another one the same UPDATE of an object twice in one tick.
//!
//! The second says nothing new and costs what the first did: a warning. What counts is the node's own
//! ticks, as its reel has them, and what both messages say: UPDATEs that differ may tell different
//! values. Reliable ones that were sent again are `resend-storm`'s.

use netreel_reel::EventNumber;

use super::content::have_same_bits;
use super::prelude::*;
use crate::session::{OBJECT, Shape};

/// How many pairs of a link are a finding.
const PAIRS_MIN: u64 = 8;

/// How many pairs of a link are looked at: their bits are read from the reel again.
const PAIRS_MAX: u64 = 256;

/// How many packets are looked at.
const PACKETS_MAX: u32 = 1 << 20;

/// What of a link was said twice.
#[derive(Default)]
struct Twice {
    looked: u64,
    count: u64,
    first: Option<(u64, [PacketId; 2])>,
    last: Option<[PacketId; 2]>,
    /// The tick that is under way, and what was said of each object in it.
    tick: Option<EventNumber>,
    said: BTreeMap<u64, Vec<MessageId>>,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let ticks = |node: NodeId| session.ticks(node).next().is_some() && is_whole(session, node);
    let nodes = session.numbered_nodes().map(|(node, _)| node);
    let has_ticks: Vec<bool> = nodes.map(ticks).collect();
    if !session.has_role(Role::Update) || !has_ticks.contains(&true) {
        return Vec::new();
    }
    let mut links: BTreeMap<Link, Twice> = BTreeMap::new();
    let count = (session.packet_count() as u32).min(PACKETS_MAX);
    for packet in (0..count).map(PacketId) {
        let Some(link) = session.link(packet) else {
            continue;
        };
        let is_known = has_ticks.get(usize::from(link.0.0)).copied();
        let Some(left) = session.send_of(packet).filter(|_| is_known == Some(true)) else {
            continue;
        };
        let tick = session.turn_at(link.0, left.number).map(|turn| turn.begins);
        if tick.is_none() {
            continue;
        }
        let twice = links.entry(link).or_default();
        if twice.tick != tick {
            twice.tick = tick;
            twice.said.clear();
        }
        for (message, facts) in session.messages_that(packet, |shape: &Shape| shape.has(OBJECT)) {
            let is_update =
                session.role(&facts) == Role::Update && facts.reliable_sequence.is_none();
            if let Some(object) = facts.object.filter(|_| is_update) {
                twice.take(session, object, (packet, message));
            }
        }
    }
    let found = links.into_iter().filter_map(|((from, to), twice)| {
        if twice.count < PAIRS_MIN {
            return None;
        }
        let (object, [one, other]) = twice.first?;
        let [.., last] = twice.last?;
        let pieces = [
            sent(session, one, "an UPDATE sent"),
            sent(session, other, "the same sent in one tick").filter(|_| other != one),
            sent(session, last, "the last one that was sent twice"),
        ];
        let which = if one == other {
            format!("both in packet {one}")
        } else {
            format!("packets {one} and {other}")
        };
        let more = match twice.looked {
            PAIRS_MAX => ", and more were not looked at",
            _ => "",
        };
        let sentence = format!(
            "{} sent {} the same UPDATE of object {object} twice in one tick ({which}){}{more}",
            session.name(from),
            session.name(to),
            and_more(twice.count),
        );
        // More may come, and they are counted.
        Some(Found::proven(Level::Warning, from, pieces, sentence)?.about([object]))
    });
    found.collect()
}

impl Twice {
    /// An UPDATE of an object in the tick that is under way.
    fn take(&mut self, session: &Session, object: u64, (packet, message): (PacketId, MessageId)) {
        let before = self.said.entry(object).or_default();
        let first = before.first().copied();
        before.push(message);
        let Some(first) = first.filter(|_| self.looked < PAIRS_MAX) else {
            return;
        };
        self.looked += 1;
        let is_same = have_same_bits(session, first, message);
        let carrier = session.carrier(first);
        if let Some(carrier) = carrier.filter(|_| is_same) {
            let pair = [carrier, packet];
            self.count += 1;
            self.first.get_or_insert((object, pair));
            self.last = Some(pair);
        }
    }
}
