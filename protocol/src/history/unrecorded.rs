//! Who took part without being recorded.

use std::collections::BTreeSet;

use crate::session::{NodeId, PacketId, Session};

/// Says which nodes took part without being recorded; `None` if all were. What such a node sent and
/// nobody received cannot be seen.
pub(super) fn unrecorded(session: &Session) -> Option<String> {
    let missing = took_part_unrecorded(session);
    let mut names: Vec<String> = missing.iter().map(|&node| session.name(node)).collect();
    let last = names.pop()?;
    Some(match names.len() {
        0 => format!("the reel of {last} is missing"),
        _ => format!("the reels of {} and {last} are missing", names.join(", ")),
    })
}

/// The nodes without a reel that took part: a node sent a packet that fits the wire, and a message
/// of a kind that the wire knows went from it or to it. So a peer that answers with nothing but acks
/// took part. Who was only spoken to did not, nor did a group address, nor a server of another
/// protocol, whose packets do not fit the wire.
pub(crate) fn took_part_unrecorded(session: &Session) -> &BTreeSet<NodeId> {
    session.took_part.get_or_init(|| took_part(session))
}

fn took_part(session: &Session) -> BTreeSet<NodeId> {
    let unrecorded = |node: NodeId| {
        let node = session.nodes.get(usize::from(node.0));
        node.is_some_and(|node| !node.recorded)
    };
    // A wire may know no kinds of messages; then a packet is all that can be understood.
    let has_kinds = session
        .wire
        .as_ref()
        .is_some_and(|wire| !wire.kinds().is_empty());
    let mut links = session.links().iter();
    if !links.any(|&(from, to)| unrecorded(from) || unrecorded(to)) {
        return BTreeSet::new();
    }
    let mut reader = session.reader();
    let mut spoke = vec![false; session.nodes.len()];
    let mut understood = spoke.clone();
    for packet in (0..session.packet_count()).map(|place| PacketId(place as u32)) {
        let Some((from, to)) = reader.link(packet) else {
            continue;
        };
        let [one, other] = [from, to].map(|node| usize::from(node.0));
        if one.max(other) >= spoke.len() {
            continue;
        }
        let both = understood[one] && understood[other];
        if !unrecorded(from) && (!unrecorded(to) || both) || both && spoke[one] {
            continue;
        }
        if !reader.fits(packet) {
            continue;
        }
        spoke[one] |= unrecorded(from);
        if both {
            continue;
        }
        let mut messages = session.messages_of(packet);
        if !has_kinds || messages.any(|(_, facts)| facts.kind.is_some()) {
            (understood[one], understood[other]) = (true, true);
        }
    }
    let both = spoke
        .into_iter()
        .zip(understood)
        .map(|(one, other)| one && other);
    let took_part = (0u16..).map(NodeId).zip(both);
    took_part
        .filter_map(|(node, it)| it.then_some(node))
        .collect()
}
