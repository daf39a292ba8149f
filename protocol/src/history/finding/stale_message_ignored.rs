//! `stale-message-ignored`: a node knew that a message was old, and did nothing.

use super::prelude::*;

/// An UPDATE that repeats the same story is counted, not told again.
const EVIDENCE_MAX: usize = 8;

/// The node that ignored it, who said it, at which counter.
type UpdateKey = (NodeId, Option<u64>, Option<u64>);

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let mut findings = Vec::new();
    for &id in history.objects.keys() {
        let mut newest: BTreeMap<NodeId, Told> = BTreeMap::new();
        let mut updates: BTreeMap<UpdateKey, (Vec<Told>, Told)> = BTreeMap::new();
        for &place in history.telling(id) {
            let (node, effect) = history.deliveries.effect(place);
            use Effect::{
                Created, CreatedByMigrate, Destroyed, IgnoredStale, Migrated, Tombstoned,
            };
            match effect {
                IgnoredStale => {}
                Created | CreatedByMigrate | Migrated | Destroyed | Tombstoned => {
                    newest.extend(case.told(place).map(|told| (node, told)));
                    continue;
                }
                _ => continue,
            }
            // What the node did itself and is old by now came before what made it old.
            let stale = case.handed(place);
            let Some((told, &newer)) = stale.zip(newest.get(&node)) else {
                continue;
            };
            if told.role == Role::Update {
                let key = (node, told.speaker, told.counter);
                let (known, _) = updates.entry(key).or_insert((Vec::new(), newer));
                known.push(told);
            } else {
                let found = found(session, id, &[told], newer);
                findings.push(found.fixed(Some(told.delivery.at.time)));
            }
        }
        // More like it may come.
        let updates = updates.values();
        findings.extend(updates.map(|(stale, newer)| found(session, id, stale, *newer)));
    }
    findings
}

fn found(session: &Session, object: u64, stale: &[Told], newer: Told) -> Found {
    let node = newer.delivery.node;
    let name = session.name(node);
    let first = stale.first().unwrap_or(&newer);
    let times = match stale.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more like it", count - 1),
    };
    let had_done = if newer.delivery.local {
        "had done"
    } else {
        "had got"
    };
    let (said, newer_words) = (first.words(session), newer.words(session));
    let ignored = stale.iter().take(EVIDENCE_MAX);
    let ignored = ignored.map(|told| told.evidence("ignored as old"));
    let pieces = std::iter::once(newer.done()).chain(ignored);
    let time = stale.last().unwrap_or(&newer).delivery.at.time;
    let sentence = format!(
        "{name} ignored {said} of object {object} (packet {}){times} as old: it {had_done} \
         {newer_words} (packet {})",
        first.packet, newer.packet
    );
    let because = format!(
        "were told of too late: {name} ignored {said} as old, because it {had_done} {newer_words}"
    );
    Found::new(Level::Info, node, time, pieces, sentence)
        .about([object])
        .because(because)
}
