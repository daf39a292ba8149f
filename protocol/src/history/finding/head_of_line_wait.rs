//! `head-of-line-wait`: a message of an ordered stream had arrived, and waited for one before it for longer
//! than a bound.
//!
//! Nothing is wrong with that by itself, so that there is no bound unless one is set: a warning then.

use std::collections::BTreeMap;

use super::words::{and_more, came};
use super::{Case, Found};
use crate::figures::duration;
use crate::history::{Delivery, Finding, Level};
use crate::session::{NodeId, PacketId};

pub(super) const RULE: &str = "head-of-line-wait";

/// The longest wait on a link.
struct Waited {
    messages: u64,
    packet: PacketId,
    delivery: Delivery,
    wait_ns: i64,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let Some(longest) = session.bounds.head_of_line_wait.longest else {
        return Vec::new();
    };
    let mut waited: BTreeMap<(NodeId, NodeId), Waited> = BTreeMap::new();
    for delivery in history.deliveries.iter().filter(|it| !it.local) {
        let Some(packet) = session.carrier(delivery.message) else {
            continue;
        };
        let (Some(link), Some(known)) = (session.link(packet), session.packet(packet)) else {
            continue;
        };
        let Some(arrived) = known.received.filter(|_| link.1 == delivery.node) else {
            continue;
        };
        let wait_ns = delivery.at.time.0.saturating_sub(arrived.time.0);
        if wait_ns <= longest.0 {
            continue;
        }
        let worst = waited.entry(link).or_insert(Waited {
            messages: 0,
            packet,
            delivery,
            wait_ns,
        });
        worst.messages += 1;
        if wait_ns > worst.wait_ns {
            (worst.packet, worst.delivery, worst.wait_ns) = (packet, delivery, wait_ns);
        }
    }
    let found = waited.into_iter().filter_map(|((from, to), it)| {
        // The packet whose receipt let it through.
        let last = session.packet_at(to, it.delivery.at.number)?.packet;
        let evidence: Vec<_> = [
            (it.packet, "a message came"),
            (last, "what it had waited for came"),
        ]
        .into_iter()
        .filter_map(|(packet, what)| came(session, packet, what))
        .collect();
        let finding = Finding {
            rule: RULE,
            level: Level::Warning,
            node: to,
            objects: history.facts(session, it.delivery.message)?.object.into_iter().collect(),
            each: Vec::new(),
            time: it.delivery.at.time,
            sentence: format!(
                "a message from {} (packet {}) waited for {} at {} for one before it in its stream{}",
                session.name(from),
                it.packet.0,
                duration(it.wait_ns),
                session.name(to),
                and_more(it.messages),
            ),
            evidence,
        };
        // A longer one may come.
        Some(finding.into())
    });
    found.collect()
}
