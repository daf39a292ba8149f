//! `head-of-line-wait`: a message of an ordered stream had arrived, and waited for one before it for longer
//! than a bound.
//!
//! Nothing is wrong with that by itself, so that there is no bound unless one is set: a warning then.

use super::prelude::*;
use crate::history::Delivery;

/// The longest wait on a link.
struct Waited {
    messages: u64,
    packet: PacketId,
    delivery: Delivery,
    wait_ns: i64,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let Some(longest) = session.bounds.head_of_line_wait.longest else {
        return Vec::new();
    };
    let mut waited: BTreeMap<Link, Waited> = BTreeMap::new();
    for delivery in history.deliveries.iter().filter(|it| !it.local) {
        let arrived = || {
            let packet = session.carrier(delivery.message)?;
            let link = session
                .link(packet)
                .filter(|link| link.1 == delivery.node)?;
            Some((packet, link, session.packet(packet)?.received?))
        };
        let Some((packet, link, arrived)) = arrived() else {
            continue;
        };
        let wait_ns = delivery.at.time.since(arrived.time);
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
        let pieces = [
            came(session, it.packet, "a message came"),
            came(session, last, "what it had waited for came"),
        ];
        let facts = history.facts(session, it.delivery.message)?;
        let sentence = format!(
            "a message from {} (packet {}) waited for {} at {} for one before it in its stream{}",
            session.name(from),
            it.packet,
            duration(it.wait_ns),
            session.name(to),
            and_more(it.messages)
        );
        // A longer one may come.
        let found = Found::new(Level::Warning, to, it.delivery.at.time, pieces, sentence);
        Some(found.about(facts.object))
    });
    found.collect()
}
