//! Reasons about the wire: that there is none, that packets do not fit it, that it has no rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netreel_reel::Reel;
use netreel_wire::Wire;

use super::reason::{
    MISFIT, NO_PACKETS, NO_RULES, NO_WIRE, Reason, UNJUDGED_LINK, WIRE_ERROR, list, names,
};
use crate::figures::and_more;
use crate::session::{NodeId, PacketId, Session, parallel};

/// One in so many packets of a node that took part may be unexplained; more are many.
const FEW_OF_NODE: u64 = 100;

/// One in this many of all packets may be unexplained: the game may speak to servers of other
/// protocols.
const FEW_OF_ALL: u64 = 10;

/// What keeps packets from being understood. `missing` are the nodes that took part and have no
/// reel.
pub(super) fn packets_and_wire(session: &Session, missing: &BTreeSet<NodeId>) -> Vec<Reason> {
    if session.packet(PacketId(0)).is_none() {
        return vec![Reason::new(NO_PACKETS, "the reels hold no packets")];
    }
    let Some(wire) = &session.wire else {
        return vec![without_wire(session)];
    };
    let mut reasons: Vec<Reason> = Vec::new();
    reasons.extend(other_wire(session, wire));
    // Of several protocols in one wire none stands for the others.
    let wire_name = match wire.protocols().len() {
        1 => format!("the wire {}", wire.name()),
        _ => "the wire".to_owned(),
    };
    let counts = counts(session);
    reasons.extend(misfit(session, &counts, &wire_name, missing));
    reasons.extend(unjudged_links(session, &counts, &wire_name));
    let why = if wire.rules().is_empty() {
        format!("{wire_name} declares no rules")
    } else if session.nodes.iter().all(|node| node.rules.is_none()) {
        "no packet says by which rules of the wire a node goes".to_owned()
    } else {
        return reasons;
    };
    let sentence = format!("{why}: what nodes made of their messages is not judged");
    reasons.push(Reason::new(NO_RULES, sentence));
    reasons
}

fn reels(session: &Session) -> impl Iterator<Item = &Arc<Reel>> {
    let nodes = session.reels.iter().flatten();
    let observers = session.observers.iter().map(|observer| &observer.reel);
    nodes.chain(observers)
}

/// A wire inside some reel that does not compile, where another reel's reads the packets. A wire that
/// was given stands for all.
fn other_wire(session: &Session, wire: &Wire) -> Option<Reason> {
    let texts = || reels(session).filter_map(|reel| reel.header().wires.first());
    if texts().all(|inside| inside.text != wire.text()) {
        return None;
    }
    let mut known: Vec<&str> = vec![wire.text()];
    for inside in texts() {
        if known.contains(&inside.text.as_str()) {
            continue;
        }
        known.push(&inside.text);
        if Wire::compile(&inside.name, &inside.text).is_err() {
            let sentence = format!(
                "the wire {} inside a reel does not compile: its packets are read by the wire of \
                 another reel",
                inside.name
            );
            return Some(Reason::new(WIRE_ERROR, sentence));
        }
    }
    None
}

fn without_wire(session: &Session) -> Reason {
    if reels(session).any(|reel| !reel.header().wires.is_empty()) {
        return Reason::new(
            WIRE_ERROR,
            "the wire inside the reels does not compile: packets are only bytes",
        );
    }
    Reason::new(
        NO_WIRE,
        "no reel holds a wire and none was given (--wire FILE): packets are only bytes",
    )
}

/// How many packets there are, and how many of them do not fit the wire.
#[derive(Clone, Copy, Default)]
struct Count {
    all: u64,
    unfit: u64,
}

impl Count {
    fn is_many(self, few: u64) -> bool {
        self.unfit.saturating_mul(few) > self.all
    }

    fn add(&mut self, other: Count) {
        self.all += other.all;
        self.unfit += other.unfit;
    }
}

/// How many packets are counted by one processor at a time.
const COUNTED: usize = 1 << 18;

/// The packets of each link.
type Counts = BTreeMap<(NodeId, NodeId), Count>;

fn counts(session: &Session) -> Counts {
    let some = parallel::stretches(session.packet_count(), COUNTED).collect();
    let counted = parallel::map(some, session.workers(), |packets| {
        let mut counts = Counts::new();
        let mut reader = session.reader();
        for packet in packets.map(|packet| PacketId(packet as u32)) {
            if let Some(link) = reader.link(packet) {
                let count = counts.entry(link).or_default();
                count.all += 1;
                count.unfit += u64::from(!reader.fits(packet));
            }
        }
        counts
    });
    let mut counts = Counts::new();
    for (link, count) in counted.into_iter().flatten() {
        counts.entry(link).or_default().add(count);
    }
    counts
}

/// Links between recorded nodes of whose packets none fits the wire, however few they are among the others.
fn unjudged_links(session: &Session, counts: &Counts, wire: &str) -> Option<Reason> {
    let is_recorded = |id: NodeId| {
        let node = session.node(id);
        node.is_some_and(|node| node.recorded && node.peer.is_some())
    };
    let links = session.links().iter();
    let links = links.filter(|(from, to)| is_recorded(*from) && is_recorded(*to));
    let links = links.map(|link| (*link, counts.get(link).copied().unwrap_or_default()));
    let mut open: BTreeMap<_, Count> = links.collect();
    let all = open.len();
    open.retain(|_, count| count.unfit == count.all);
    // Where that is all there is, the wire is another protocol's.
    let (&(from, to), &count) = open.first_key_value().filter(|_| open.len() < all)?;
    let (from_name, to_name) = (session.name(from), session.name(to));
    let more = and_more(open.len() as u64, " links");
    let packets = crate::session::packets(count.all);
    let sentence = format!(
        "of {packets} from {from_name} to {to_name} none fits {wire}: what they say is not judged{more}"
    );
    let nodes = names(session, open.keys().flat_map(|&(from, to)| [from, to]));
    Some(Reason::about(UNJUDGED_LINK, nodes, sentence))
}

/// Of the nodes that took part little may be unexplained; of all packets somewhat more.
fn misfit(
    session: &Session,
    counts: &Counts,
    wire: &str,
    missing: &BTreeSet<NodeId>,
) -> Option<Reason> {
    let takes_part = |id: NodeId| {
        let node = session.node(id);
        node.is_some_and(|node| node.recorded || node.group) || missing.contains(&id)
    };
    let mut senders: BTreeMap<NodeId, Count> = BTreeMap::new();
    let mut all = Count::default();
    for (&(from, to), &count) in counts {
        all.add(count);
        // What does not fit may be meant for a server of another protocol.
        let mut own = count;
        if !takes_part(to) {
            own.all -= std::mem::take(&mut own.unfit);
        }
        if takes_part(from) && own.all > 0 {
            senders.entry(from).or_default().add(own);
        }
    }
    if all.unfit == all.all {
        let sentence = match all.all {
            1 => format!("the one packet does not fit {wire}"),
            count => format!("none of {count} packets fits {wire}"),
        };
        return Some(Reason::new(MISFIT, sentence));
    }
    if senders.is_empty() {
        let sentence = format!(
            "nobody is known to have taken part: {} of {} packets do not fit {wire}, and the rest \
             carry no message that it knows",
            all.unfit, all.all
        );
        return Some(Reason::new(MISFIT, sentence));
    }
    let many = senders
        .iter()
        .filter(|(_, count)| count.is_many(FEW_OF_NODE));
    let nodes = names(session, many.clone().map(|(id, _)| *id));
    let (count, from) = if all.is_many(FEW_OF_ALL) {
        (all, String::new())
    } else if nodes.is_empty() {
        return None;
    } else {
        let mut sum = Count::default();
        many.for_each(|(_, &count)| sum.add(count));
        (sum, format!(" from {}", list(&nodes)))
    };
    let sentence = format!(
        "{} of {} packets{from} do not fit {wire}: what they say is not judged",
        count.unfit, count.all
    );
    Some(Reason::about(MISFIT, nodes, sentence))
}
