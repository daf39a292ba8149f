//! `clock-disagreement`: packets seem to arrive before they were sent.

use std::collections::BTreeMap;

use super::Found;
use crate::figures::duration;
use crate::history::{Evidence, Finding, History, Level};
use crate::session::{MessageId, NodeId, Packet, PacketId, Session, packets};

pub(super) const RULE: &str = "clock-disagreement";

/// More packets of the same link are counted, not listed.
const EVIDENCE_MAX: usize = 4;

pub(super) fn find(session: &Session, _: &History) -> Vec<Found> {
    let mut links: BTreeMap<(NodeId, NodeId), (u64, i64, Vec<Evidence>)> = BTreeMap::new();
    if !session.has_early_packets() {
        return Vec::new();
    }
    for (id, packet) in (0..).map(PacketId).zip(session.packets()) {
        let (Some(sent), Some(received)) = (packet.sent, packet.received) else {
            continue;
        };
        if received.time >= sent.time {
            continue;
        }
        let (count, worst_ns, evidence) = links.entry((packet.from, packet.to)).or_default();
        *count += 1;
        *worst_ns = (sent.time.0.saturating_sub(received.time.0)).max(*worst_ns);
        if evidence.len() < EVIDENCE_MAX {
            let said = session.said(id).unwrap_or_default();
            let message = MessageId(said.messages.start);
            evidence.extend(both_ends(id, message, &packet));
        }
    }
    links
        .into_iter()
        .filter_map(|((from, to), (count, worst_ns, evidence))| {
            let time = evidence.iter().map(|each| each.time).max()?;
            let finding = Finding {
                rule: RULE,
                level: Level::Warning,
                node: to,
                objects: Vec::new(),
                each: Vec::new(),
                time,
                sentence: format!(
                    "{} from {} to {} seem to arrive up to {} before they were sent: \
                     their clocks disagree",
                    packets(count),
                    session.name(from),
                    session.name(to),
                    duration(worst_ns),
                ),
                evidence,
            };
            Some(finding.into())
        })
        .collect()
}

fn both_ends(id: PacketId, message: MessageId, packet: &Packet) -> Vec<Evidence> {
    let ends = [
        (packet.received, packet.to, "received"),
        (packet.sent, packet.from, "sent"),
    ];
    ends.into_iter()
        .filter_map(|(stamp, node, what)| {
            let stamp = stamp?;
            Some(Evidence {
                what: what.to_owned(),
                message,
                packet: id,
                node,
                number: stamp.number,
                time: stamp.time,
            })
        })
        .collect()
}
