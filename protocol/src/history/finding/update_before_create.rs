//! `update-before-create`: a node sent UPDATE of an object before its own CREATE of it had arrived.
//!
//! The receiver dropped it, because it did not know the object. A warning: what it said comes again
//! only if its sender notices. Who did not create the object at the receiver, such as a new owner,
//! cannot know what the receiver knows, and is not meant.

use std::collections::BTreeMap;

use netreel_wire::Role;

use super::words::{Told, and_more, told};
use super::{Case, Found};
use crate::history::{Effect, Finding, Level};
use crate::session::NodeId;

pub(super) const RULE: &str = "update-before-create";

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let mut links: BTreeMap<(NodeId, NodeId), (u64, u64, Told, Told)> = BTreeMap::new();
    for &id in history.objects.keys() {
        let mut dropped: BTreeMap<NodeId, Vec<(NodeId, Told)>> = BTreeMap::new();
        let mut known: std::collections::BTreeSet<NodeId> = std::collections::BTreeSet::new();
        for &place in history.telling(id) {
            let (node, effect) = history.deliveries.effect(place);
            if known.contains(&node) {
                continue;
            }
            let Some(told) = told(session, history, place) else {
                continue;
            };
            let Some((from, _)) = session.link(told.packet) else {
                continue;
            };
            match (told.role, effect) {
                (Role::Update, Effect::IgnoredUnknown) => {
                    dropped.entry(node).or_default().push((from, told));
                }
                (Role::Create, Effect::Created) if !told.delivery.local => {
                    known.insert(node);
                    let early = dropped.remove(&node).unwrap_or_default();
                    for (_, update) in early.into_iter().filter(|&(by, _)| by == from) {
                        let link = links.entry((from, node));
                        link.or_insert((0, id, update, told)).0 += 1;
                    }
                }
                _ => drop(known.insert(node)),
            }
        }
    }
    let found = links.into_iter().map(|((from, to), (count, id, update, create))| {
        let finding = Finding {
            rule: RULE,
            level: Level::Warning,
            node: from,
            object: Some(id),
            time: create.delivery.at.time,
            sentence: format!(
                "{} sent {} UPDATE of object {id} ({}) before its CREATE ({}) had arrived, and {} \
                 dropped it{}",
                session.name(from),
                session.name(to),
                update.packet_words(),
                create.packet_words(),
                session.name(to),
                and_more(count),
            ),
            evidence: vec![update.evidence("dropped"), create.evidence("delivered")],
        };
        // More may come, and they are counted.
        finding.into()
    });
    found.collect()
}
