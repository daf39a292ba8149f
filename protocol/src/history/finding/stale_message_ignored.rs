//! `stale-message-ignored`: a node knew that a message was old, and did nothing.

use std::collections::BTreeMap;

use netreel_wire::Role;

use super::Found;
use super::words::{Told, told};
use crate::history::{Effect, Finding, History, Level};
use crate::session::{NodeId, Session};

pub(super) const RULE: &str = "stale-message-ignored";

/// An UPDATE that repeats the same story is counted, not told again.
const EVIDENCE_MAX: usize = 8;

/// The node that ignored it, who said it, at which counter.
type UpdateKey = (NodeId, Option<u64>, Option<u64>);

pub(super) fn find(session: &Session, history: &History) -> Vec<Found> {
    let mut findings = Vec::new();
    for &id in history.objects.keys() {
        let mut newest: BTreeMap<NodeId, Told> = BTreeMap::new();
        let mut updates: BTreeMap<UpdateKey, (Vec<Told>, Told)> = BTreeMap::new();
        let telling = history.telling(id).iter();
        for told in telling
            .filter(|&&place| counts(history.deliveries.effect(place).1))
            .filter_map(|&place| told(session, history, place))
        {
            let node = told.delivery.node;
            match told.delivery.effect {
                // What the node did itself and is old by now came before what made it old.
                Effect::IgnoredStale if !told.delivery.local => {
                    let Some(&newer) = newest.get(&node) else {
                        continue;
                    };
                    if told.role == Role::Update {
                        let key = (node, told.speaker, told.counter);
                        updates
                            .entry(key)
                            .or_insert((Vec::new(), newer))
                            .0
                            .push(told);
                    } else {
                        let found = found(session, id, &[told], newer);
                        findings.push(found.fixed(Some(told.delivery.at.time)));
                    }
                }
                Effect::Created
                | Effect::CreatedByMigrate
                | Effect::Migrated
                | Effect::Destroyed
                | Effect::Tombstoned => drop(newest.insert(node, told)),
                _ => {}
            }
        }
        for (stale, newer) in updates.values() {
            // More like it may come.
            findings.push(found(session, id, stale, *newer));
        }
    }
    findings
}

/// Whether a delivery may have been old, or made others old.
fn counts(effect: Effect) -> bool {
    use Effect::{Created, CreatedByMigrate, Destroyed, IgnoredStale, Migrated, Tombstoned};
    matches!(
        effect,
        IgnoredStale | Created | CreatedByMigrate | Migrated | Destroyed | Tombstoned
    )
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
    let sentence = format!(
        "{name} ignored {} of object {object} ({}){times} as old: it {had_done} {} ({})",
        first.words(session),
        first.packet_words(),
        newer.words(session),
        newer.packet_words(),
    );
    let mut evidence = vec![newer.evidence(if newer.delivery.local {
        "sent"
    } else {
        "delivered"
    })];
    evidence.extend(
        stale
            .iter()
            .take(EVIDENCE_MAX)
            .map(|told| told.evidence("ignored as old")),
    );
    let time = stale.last().unwrap_or(&newer).delivery.at.time;
    let finding = Finding {
        rule: RULE,
        level: Level::Info,
        node,
        objects: vec![object],
        each: Vec::new(),
        time,
        sentence,
        evidence,
    };
    let because = format!(
        "were told of too late: {name} ignored {} as old, because it {had_done} {}",
        first.words(session),
        newer.words(session),
    );
    Found::from(finding).because(because)
}
