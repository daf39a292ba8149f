//! `told-twice`: a node was told twice by the same one what happens once.
//!
//! A second CREATE by the same node of an object that lives, a second MIGRATE to the same owner at the
//! same counter, or a second DESTROY of an object that ended, in another place of the reliable stream:
//! whoever sent it did it twice, or was handed once more what it passes on or answers. An error, because
//! the second one takes back what came between them; of DESTROY a warning, because there is nothing to
//! take back. A DESTROY that answers what its sender was told of the object meanwhile is not meant, nor
//! one that is told on for somebody who left. What a layer hands over twice to a game that says nothing
//! of it no reel shows. RPCs are told twice where nearly all of them come in pairs (`told_twice_rpc.rs`).

use std::collections::BTreeMap;

use netreel_wire::Role;

pub(super) use super::told_twice_rpc::RULE;
use super::words::{Told, told};
use super::{Case, Found};
use crate::history::{Effect, Finding, Level};
use crate::session::{NodeId, SessionTime};

/// What a node was told this long before it sent something may be what it answers.
const ANSWERS_NS: i64 = 100_000_000;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let mut findings = Vec::new();
    for &id in history.objects.keys() {
        destroyed_twice(case, id, &mut findings);
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
                objects: vec![id],
                each: Vec::new(),
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
            let because = format!(
                "were told to {} by {} twice: {}",
                session.name(node),
                session.name(from),
                second.words(session)
            );
            let found = Found::from(finding).fixed(Some(delivery.at.time));
            findings.push(found.because(because));
        }
    }
    findings.extend(super::told_twice_rpc::find(case));
    findings
}

/// The DESTROYs of an object that a node was told again by the same one.
fn destroyed_twice(case: &Case<'_>, id: u64, findings: &mut Vec<Found>) {
    let Case {
        session, history, ..
    } = *case;
    let mut ended: BTreeMap<NodeId, (NodeId, Told)> = BTreeMap::new();
    for &place in history.telling(id) {
        let (node, effect) = history.deliveries.effect(place);
        use Effect::{Created, CreatedByMigrate, CreatedByUpdate, Migrated};
        if let Created | CreatedByMigrate | CreatedByUpdate | Migrated | Effect::Unknown = effect {
            ended.remove(&node);
            continue;
        }
        let destroy = told(session, history, place).filter(|it| it.role == Role::Destroy);
        let Some(second) = destroy.filter(|it| !it.delivery.local) else {
            continue;
        };
        let message = session.message(second.delivery.message);
        let is_reliable = message.is_some_and(|it| it.facts.reliable_sequence.is_some());
        let link = session.link(second.packet).filter(|_| is_reliable);
        let Some((from, _)) = link else { continue };
        let Some((before, first)) = ended.insert(node, (from, second)) else {
            continue;
        };
        let says = |told: &Told| (told.speaker, told.counter);
        let is_same = before == from && says(&first) == says(&second);
        let is_answer = || was_told(case, id, from, (first, second));
        if !is_same || is_answer() || has_left(case, from, second) {
            continue;
        }
        let time = second.delivery.at.time;
        let finding = Finding {
            rule: RULE,
            level: Level::Warning,
            node: from,
            objects: vec![id],
            each: Vec::new(),
            time,
            sentence: format!(
                "{} told {} of the end of object {id} twice: {} ({} and {})",
                session.name(from),
                session.name(node),
                second.words(session),
                first.packet_words(),
                second.packet_words(),
            ),
            evidence: vec![first.evidence("delivered"), second.evidence("delivered")],
        };
        let because = format!(
            "were told to {} by {} to be over twice: {}",
            session.name(node),
            session.name(from),
            second.words(session)
        );
        findings.push(Found::from(finding).fixed(Some(time)).because(because));
    }
}

/// Whether a node was told anything that names an object, be it a question, between what it sent first
/// and what it sent second, or shortly before it sent the first.
fn was_told(case: &Case<'_>, id: u64, node: NodeId, (first, second): (Told, Told)) -> bool {
    let Case {
        session, history, ..
    } = *case;
    let sent = |told: Told| session.departed(session.carrier(told.delivery.message)?);
    let Some(((_, from), (_, until))) = sent(first).zip(sent(second)) else {
        return true;
    };
    let since = SessionTime(from.time.0.saturating_sub(ANSWERS_NS));
    let mut deliveries = history.deliveries.between(since, until.time);
    deliveries.any(|it| {
        let names = |message| {
            history
                .facts(session, message)
                .is_some_and(|it| it.object == Some(id))
        };
        it.node == node && !it.local && names(it.message)
    })
}

/// Whether a message was said first by another one than its sender, who has left: then its sender makes
/// sure that all have heard what that one told some.
fn has_left(case: &Case<'_>, sender: NodeId, told: Told) -> bool {
    let Case {
        session, history, ..
    } = *case;
    let peer = |node: NodeId| session.node(node)?.peer;
    if told.speaker.is_none() || told.speaker == peer(sender) {
        return false;
    }
    let mut partings = history.parting_messages.iter();
    partings.any(|&message| {
        let parting = session.message(message);
        let who = parting.and_then(|it| {
            let (from, _) = session.link(it.packet)?;
            it.facts.origin.or_else(|| peer(from))
        });
        who == told.speaker
    })
}
