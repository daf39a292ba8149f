//! What each directed link did, in numbers.

use std::collections::BTreeMap;

use super::{History, Link};
use crate::session::{Fate, NodeId, PacketId, Session};

/// See [`super::History::links`].
pub(super) fn links(session: &Session, history: &History) -> BTreeMap<(NodeId, NodeId), Link> {
    let mut links: BTreeMap<(NodeId, NodeId), Link> = session
        .traffic()
        .iter()
        .map(|(&nodes, traffic)| {
            let link = Link {
                packets: traffic.packets,
                bytes: traffic.bytes,
                lost: traffic.fate(Fate::Lost),
                duplicated: traffic.duplicated,
                reordered: traffic.reordered,
                latency_ns: traffic.latency_ns,
                ..Link::default()
            };
            (nodes, link)
        })
        .collect();
    let mut rounds: BTreeMap<(NodeId, NodeId), Vec<i64>> = BTreeMap::new();
    for id in (0..session.packet_count()).map(|place| PacketId(place as u32)) {
        if let Some(acked) = history.acked(session, id)
            && history.ambiguous.binary_search(&id).is_err()
            && let (Some(link), Some((_, departed))) = (session.link(id), session.departed(id))
        {
            let round = acked.time.0.saturating_sub(departed.time.0);
            rounds.entry(link).or_default().push(round);
        }
    }
    for (nodes, mut rounds) in rounds {
        if let Some(link) = links.get_mut(&nodes) {
            link.rtt_ns = spread(&mut rounds);
        }
    }
    for (copy, _) in history.resends() {
        let packet = session.carrier(copy);
        let link = packet.and_then(|packet| session.link(packet));
        if let Some(link) = link.and_then(|link| links.get_mut(&link)) {
            link.resent += 1;
        }
    }
    links
}

/// Shortest, middle, longest.
fn spread(values: &mut [i64]) -> Option<(i64, i64, i64)> {
    let (min, max) = (*values.iter().min()?, *values.iter().max()?);
    let middle = values.len() / 2;
    let (_, middle, _) = values.select_nth_unstable(middle);
    Some((min, *middle, max))
}
