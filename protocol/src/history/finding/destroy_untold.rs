//! `destroy-untold`: a node was told of the end of an object of which nobody ever told it.
//!
//! Whoever sent the DESTROY takes the node for one that knows the object: its CREATE was never sent
//! there, or to another one, or under another number. A warning: the node has nothing to end. A node that
//! began to listen late, or that lacks something of its reel, may have been told before, and is not
//! meant; nor is one to which a CREATE or a MIGRATE was sent and did not come.

use std::collections::{BTreeMap, BTreeSet};

use netreel_wire::Role;

use super::words::{Told, and_more, sent, told};
use super::{Case, Found};
use crate::history::claims::is_whole;
use crate::history::{Effect, Finding, Level};
use crate::session::{NodeId, OBJECT, PacketId, Shape};

pub(super) const RULE: &str = "destroy-untold";

/// What one node told another of the end of an object that it never heard of.
struct Untold {
    count: u64,
    destroy: Told,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let is_all_known = session.nodes.iter().all(|node| node.recorded);
    if !is_all_known {
        return Vec::new();
    }
    let mut ends: Vec<(u64, Told)> = Vec::new();
    for &object in history.objects.keys() {
        for &place in history.telling(object) {
            let (node, effect) = history.deliveries.effect(place);
            let is_unknown = matches!(effect, Effect::IgnoredUnknown | Effect::Tombstoned);
            if !is_unknown || !is_whole(session, node) {
                continue;
            }
            let destroy = told(session, history, place).filter(|it| it.role == Role::Destroy);
            ends.extend(
                destroy
                    .filter(|it| !it.delivery.local)
                    .map(|it| (object, it)),
            );
        }
    }
    let asked = ends.iter().map(|(object, it)| (*object, it.delivery.node));
    let never = never_told(case, asked.collect());
    let mut links: BTreeMap<((NodeId, NodeId), u64), Untold> = BTreeMap::new();
    for (object, destroy) in ends {
        let link = session.link(destroy.packet);
        let Some(link) = link.filter(|_| never.contains(&(object, destroy.delivery.node))) else {
            continue;
        };
        let known = links
            .entry((link, object))
            .or_insert(Untold { count: 0, destroy });
        known.count += 1;
    }
    let found = links.into_iter().filter_map(|(((from, to), object), it)| {
        let finding = Finding {
            rule: RULE,
            level: Level::Warning,
            node: from,
            objects: vec![object],
            each: Vec::new(),
            time: it.destroy.delivery.at.time,
            sentence: format!(
                "{} told {} of the end of object {}: {} ({}), and nobody ever told {} of that object{}",
                session.name(from),
                session.name(to),
                object,
                it.destroy.words(session),
                it.destroy.packet_words(),
                session.name(to),
                and_more(it.count),
            ),
            evidence: vec![
                sent(session, it.destroy.packet, "DESTROY sent")?,
                it.destroy.evidence("delivered"),
            ],
        };
        let because = format!(
            "were told by {} to {} to be over, and nobody ever told {} of them",
            session.name(from),
            session.name(to),
            session.name(to),
        );
        // It may still be told.
        Some(Found::from(finding).because(because))
    });
    found.collect()
}

/// Those of objects and nodes of which nobody ever sent the node a word of the object but its end,
/// whatever became of that word.
fn never_told(case: &Case<'_>, mut asked: BTreeSet<(u64, NodeId)>) -> BTreeSet<(u64, NodeId)> {
    let Case {
        session, history, ..
    } = *case;
    let is_other = |role: Role| role != Role::Destroy;
    for packet in (0..session.packet_count() as u32).map(PacketId) {
        if asked.is_empty() {
            break;
        }
        let Some((from, to)) = session.link(packet) else {
            continue;
        };
        for (_, facts) in session.messages_that(packet, |shape: &Shape| shape.has(OBJECT)) {
            if let Some(object) = facts.object.filter(|_| is_other(session.role(&facts))) {
                asked.remove(&(object, to));
                asked.remove(&(object, from)); // who speaks of it knows it
            }
        }
    }
    for joined in &history.joined {
        let link = joined
            .fragments
            .first()
            .and_then(|&first| session.link(session.carrier(first)?));
        if let (Some(object), Some((from, to))) = (joined.facts.object, link)
            && is_other(session.role(&joined.facts))
        {
            asked.remove(&(object, to));
            asked.remove(&(object, from));
        }
    }
    asked
}
