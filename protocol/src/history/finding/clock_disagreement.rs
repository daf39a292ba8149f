//! `clock-disagreement`: packets seem to arrive before they were sent.

use super::prelude::*;
use crate::session::Packet;

/// More packets of the same link are counted, not listed.
const EVIDENCE_MAX: usize = 4;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    if !session.has_early_packets() {
        return Vec::new();
    }
    let mut links: BTreeMap<Link, (u64, i64, Vec<Evidence>)> = BTreeMap::new();
    for (id, packet) in (0..).map(PacketId).zip(session.packets()) {
        let Packet { sent, received, .. } = packet;
        let Some((left, arrived)) = sent
            .zip(received)
            .filter(|(one, other)| other.time < one.time)
        else {
            continue;
        };
        let (count, worst_ns, evidence) = links.entry((packet.from, packet.to)).or_default();
        *count += 1;
        *worst_ns = left.time.since(arrived.time).max(*worst_ns);
        if evidence.len() < EVIDENCE_MAX {
            let ends = [
                (packet.to, arrived, "received"),
                (packet.from, left, "sent"),
            ];
            evidence.extend(ends.map(|(node, at, what)| crossing(session, id, (node, at), what)));
        }
    }
    let found = links.into_iter().filter_map(|((from, to), (count, worst_ns, evidence))| {
        let time = evidence.iter().map(|each| each.time).max()?;
        let sentence = format!(
            "{} from {} to {} seem to arrive up to {} before they were sent: their clocks disagree",
            packets(count),
            session.name(from),
            session.name(to),
            duration(worst_ns),
        );
        Some(Found::new(Level::Warning, to, time, evidence, sentence))
    });
    found.collect()
}
