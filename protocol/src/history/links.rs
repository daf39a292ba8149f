//! What each directed link did, in numbers.

use std::collections::BTreeMap;

use super::Link;
use crate::session::{Fate, NodeId, Session, Stamp, Way};

/// A link with its latencies and its round trips.
type Measures = (Link, Vec<i64>, Vec<i64>);

/// See [`super::History::links`].
pub(super) fn links(
    session: &Session,
    acked: &[Option<Stamp>],
    is_resend: impl Fn(u32) -> bool,
) -> BTreeMap<(NodeId, NodeId), Link> {
    let mut links: BTreeMap<(NodeId, NodeId), Measures> = BTreeMap::new();
    for (packet, acked) in session.packets.iter().zip(acked) {
        let (link, latencies, rounds) = links.entry((packet.from, packet.to)).or_default();
        link.packets += 1;
        link.bytes += u64::from(packet.length);
        link.lost += u64::from(packet.fate == Fate::Lost);
        link.duplicated += packet.duplicates.len() as u64;
        link.resent += packet
            .messages
            .clone()
            .filter(|&message| is_resend(message))
            .count() as u64;
        let Some(departed) = packet.departed() else {
            continue;
        };
        let since_ns = |at: Stamp| at.time.0.saturating_sub(departed.time.0);
        if packet.sent.is_some() && packet.fate == Fate::Received {
            latencies.extend(packet.received.map(since_ns));
        }
        rounds.extend(acked.map(since_ns));
    }
    for (to, count) in reordered(session) {
        if let Some((link, ..)) = links.get_mut(&to) {
            link.reordered = count;
        }
    }
    links
        .into_iter()
        .map(|(nodes, (mut link, mut latencies, mut rounds))| {
            link.latency_ns = spread(&mut latencies);
            link.rtt_ns = spread(&mut rounds);
            (nodes, link)
        })
        .collect()
}

/// How many packets of each link arrived first after one that was sent later.
fn reordered(session: &Session) -> BTreeMap<(NodeId, NodeId), u64> {
    let mut counts = BTreeMap::new();
    for node in (0..session.nodes.len()).map(|place| NodeId(place as u16)) {
        let mut newest = BTreeMap::new();
        for (crossing, _) in session.crossings(node) {
            let Some(packet) = session.packet(crossing.packet) else {
                continue;
            };
            let (Way::In, Some(sent)) = (crossing.way, packet.sent) else {
                continue;
            };
            let newest = newest.entry(packet.from).or_insert(sent.number);
            if sent.number < *newest {
                *counts.entry((packet.from, node)).or_insert(0) += 1;
            }
            *newest = sent.number.max(*newest);
        }
    }
    counts
}

/// Shortest, middle, longest.
fn spread(values: &mut [i64]) -> Option<(i64, i64, i64)> {
    values.sort_unstable();
    Some((
        *values.first()?,
        *values.get(values.len() / 2)?,
        *values.last()?,
    ))
}
