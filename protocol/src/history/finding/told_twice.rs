//! `told-twice`: a node was told twice by the same one what happens once.
//!
//! A second CREATE by the same node of an object that lives, or a second MIGRATE to the same owner at
//! the same counter, in another place of the reliable stream: whoever sent it did it twice, or was
//! handed once more what it passes on or answers. An error, because the second one takes back what
//! came between them. What a layer hands over twice to a game that says nothing of it no reel shows.

use std::collections::BTreeMap;

use netreel_wire::Role;

use super::words::{Told, told};
use super::{Case, Found};
use crate::history::{Effect, Finding, Level};
use crate::session::NodeId;

pub(super) const RULE: &str = "told-twice";

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let mut findings = Vec::new();
    for &id in history.objects.keys() {
        let mut newest: BTreeMap<NodeId, (NodeId, Told)> = BTreeMap::new();
        for &place in history.telling(id) {
            let (node, effect) = history.deliveries.effect(place);
            use Effect::{Created, CreatedByMigrate, CreatedByUpdate};
            use Effect::{Destroyed, Migrated, Tombstoned, Unknown};
            match effect {
                Created | Migrated | CreatedByMigrate => {}
                Destroyed | Tombstoned | CreatedByUpdate | Unknown => {
                    newest.remove(&node);
                    continue;
                }
                _ => continue,
            }
            let Some(second) = told(session, history, place) else {
                continue;
            };
            let delivery = second.delivery;
            let link = session.link(second.packet);
            let Some((from, _)) = link.filter(|_| !delivery.local) else {
                newest.remove(&node);
                continue;
            };
            let Some((before, first)) = newest.insert(node, (from, second)) else {
                continue;
            };
            let says = |told: &Told| (told.role, told.owner, told.speaker, told.counter);
            let happens_once = second.role == Role::Create || second.counter.is_some();
            if before != from || says(&first) != says(&second) || !happens_once {
                continue;
            }
            let finding = Finding {
                rule: RULE,
                level: Level::Error,
                node: from,
                object: Some(id),
                time: delivery.at.time,
                sentence: format!(
                    "{} told {} of object {id} twice: {} ({} and {})",
                    session.name(from),
                    session.name(node),
                    second.words(session),
                    first.packet_words(),
                    second.packet_words(),
                ),
                evidence: vec![first.evidence("delivered"), second.evidence("delivered")],
            };
            let fixed = Some(delivery.at.time);
            findings.push(Found { finding, fixed });
        }
    }
    findings
}
