//! `origin-wrong`: a node said something of an object in the name of another one that had said nothing of
//! it, as far as the node knew.
//!
//! `@origin` is who said a message first; who passes it on keeps it. A node that had been told nothing of
//! the object by that origin, nor in its name, and that did not believe either that the origin owns it,
//! has made the name up: an error. A node whose reel lacks something may have been told, and is not meant.

use std::collections::BTreeMap;

use super::words::{Told, and_more, sent, told, word};
use super::{Case, Found};
use crate::history::claims::is_whole;
use crate::history::{Belief, Finding, Level};
use crate::session::{NodeId, Stamp};

pub(super) const RULE: &str = "origin-wrong";

/// What one node told another in the name of a third.
struct Misnamed {
    count: u64,
    origin: u64,
    message: Told,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session,
        history,
        streams,
        ..
    } = *case;
    let mut links: BTreeMap<((NodeId, NodeId), u64), Misnamed> = BTreeMap::new();
    for &object in history.objects.keys() {
        for &place in history.telling(object) {
            let it = told(session, history, place).filter(|it| !it.delivery.local);
            let Some((it, link)) = it.and_then(|it| Some((it, session.link(it.packet)?))) else {
                continue;
            };
            let facts = history.facts(session, it.delivery.message);
            let Some(origin) = facts.and_then(|facts| facts.origin) else {
                continue;
            };
            let own = session.node(link.0).and_then(|node| node.peer);
            if own.is_none_or(|own| own == origin) || !is_whole(session, link.0) {
                continue;
            }
            let first = session.carrier(streams.first_copy(it.delivery.message));
            let Some((true, left)) = first.and_then(|packet| session.departed(packet)) else {
                continue;
            };
            if knew(case, object, (link.0, origin), left) {
                continue;
            }
            let known = links.entry((link, object)).or_insert(Misnamed {
                count: 0,
                origin,
                message: it,
            });
            known.count += 1;
        }
    }
    let found = links.into_iter().filter_map(|(((from, to), object), it)| {
        let name = session.name(from);
        let finding = Finding {
            rule: RULE,
            level: Level::Error,
            node: from,
            objects: vec![object],
            each: Vec::new(),
            time: it.message.delivery.at.time,
            sentence: format!(
                "{name} sent {} {} of object {} in the name of {} ({}), of which {name} had heard \
                 nothing of that object{}",
                session.name(to),
                word(it.message.role),
                object,
                session.peer_name(it.origin),
                it.message.packet_words(),
                and_more(it.count),
            ),
            evidence: vec![
                sent(
                    session,
                    it.message.packet,
                    "a message in another's name sent",
                )?,
                it.message.evidence("received"),
            ],
        };
        let because = format!(
            "were told to {} by {name} in the name of {}, of which {name} had heard nothing of them",
            session.name(to),
            session.peer_name(it.origin),
        );
        // More may come, and they are counted.
        Some(Found::from(finding).because(because))
    });
    found.collect()
}

/// Whether a node had been told anything of an object by a peer or in its name, or had believed that the
/// peer owns it, before it sent something.
fn knew(case: &Case<'_>, object: u64, (node, origin): (NodeId, u64), left: Stamp) -> bool {
    let Case {
        session, history, ..
    } = *case;
    let Some(known) = history.objects.get(&object) else {
        return true;
    };
    let lane = known.lanes.get(&node).into_iter().flatten();
    let mut before = lane.filter(|span| span.time.start <= left.time);
    if before.any(|span| {
        matches!(span.belief, Belief::Owned(owner) | Belief::Orphaned(owner) if owner == origin)
            || span.belief == Belief::Unknown
    }) {
        return true;
    }
    known.deliveries.iter().any(|&place| {
        if history.deliveries.effect(place).0 != node {
            return false;
        }
        let it = told(session, history, place);
        it.is_some_and(|it| {
            let sender = session.link(it.packet).map(|(sender, _)| sender);
            let by = sender.and_then(|it| session.node(it)?.peer);
            let is_before = it.delivery.at.number <= left.number;
            is_before
                && (it.speaker == Some(origin) || by == Some(origin) || it.owner == Some(origin))
        })
    })
}
