//! Packets that were sent to a node and came to another one, which had taken its endpoint since.
//!
//! A send is matched with a receipt at the node that it was meant for: what was under way when that ended
//! is lost to it, and whoever binds its port next receives something of which it has no send.

use std::collections::{BTreeMap, BTreeSet};

use crate::session::{NodeId, Packet, PacketId, Session};

/// Each packet that is such a receipt, with the one that is its send.
pub(super) type Elsewhere = BTreeMap<PacketId, PacketId>;

/// All of them. Only nodes with reels can have one endpoint one after the other.
pub(super) fn elsewhere(session: &Session) -> Elsewhere {
    let nodes = || (0u16..).map(NodeId).zip(&session.nodes);
    let recorded = || nodes().filter(|(_, node)| node.recorded);
    let mut before: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for (new, node) in recorded() {
        let earlier = recorded().filter(|(_, other)| other.span.end <= node.span.start);
        let holders: Vec<NodeId> = earlier
            .filter(|(old, other)| {
                let mut endpoints = other.endpoints.iter();
                *old != new && endpoints.any(|it| node.endpoints.contains(it))
            })
            .map(|(old, _)| old)
            .collect();
        if !holders.is_empty() {
            before.insert(new, holders);
        }
    }
    if before.is_empty() {
        return Elsewhere::new();
    }
    let all = || (0..session.packet_count() as u32).map(PacketId);
    // By who sent it to whom: what did not come, by its bytes; the first of equal ones.
    let mut missing: BTreeMap<(NodeId, NodeId), BTreeMap<Vec<u8>, PacketId>> = BTreeMap::new();
    let holders: BTreeSet<NodeId> = before.values().flatten().copied().collect();
    for id in all() {
        let link = session.link(id).filter(|link| holders.contains(&link.1));
        let is_missing = |it: &Packet| it.sent.is_some() && it.received.is_none();
        if let (Some(link), true) = (link, session.packet(id).is_some_and(|it| is_missing(&it)))
            && let Some(payload) = session.payload(id)
        {
            let known = missing.entry(link).or_default();
            known.entry(payload).or_insert(id);
        }
    }
    let mut found = Elsewhere::new();
    for id in all() {
        let Some((from, to)) = session.link(id) else {
            continue;
        };
        let Some(holders) = before.get(&to) else {
            continue;
        };
        let is_without = session
            .packet(id)
            .is_some_and(|it| it.sent.is_none() && it.received.is_some());
        let is_told = session.node(from).is_some_and(|it| it.recorded);
        let Some(payload) = session.payload(id).filter(|_| is_without && is_told) else {
            continue;
        };
        // Of an endpoint that several had before it is the last of them.
        let mut sends = holders.iter().rev();
        let send = sends.find_map(|&old| missing.get_mut(&(from, old))?.remove(&payload[..]));
        if let Some(send) = send {
            found.insert(id, send);
        }
    }
    found
}
