//! `told-twice`: a node was told twice by the same one what happens once.
//!
//! A second CREATE by the same node of an object that lives, a second MIGRATE to the same owner at the
//! same counter, or a second DESTROY of an object that ended, in another place of the reliable stream:
//! whoever sent it did it twice, or was handed once more what it passes on or answers. An error, because
//! the second one takes back what came between them; of DESTROY a warning, because there is nothing to
//! take back. A DESTROY that answers what its sender was told of the object meanwhile is not meant, nor
//! one that is told on for somebody who left. What a layer hands over twice to a game that says nothing
//! of it no reel shows. RPCs are told twice where nearly all of them come in pairs (`told_twice_rpc.rs`).

use super::prelude::*;

/// What a node was told this long before it sent something may be what it answers.
const ANSWERS_NS: i64 = 100_000_000;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let history = case.history;
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
            let Some(second) = case.told(place) else {
                continue;
            };
            let link = case.session.link(second.packet);
            let Some((from, _)) = link.filter(|_| !second.delivery.local) else {
                newest.remove(&node);
                continue;
            };
            let Some((before, first)) = newest.insert(node, (from, second)) else {
                continue;
            };
            let says = |told: &Told| (told.role, told.owner, told.speaker, told.counter);
            let happens_once = second.role == Role::Create || second.counter.is_some();
            if before == from && says(&first) == says(&second) && happens_once {
                let told = Twice(case.session, from, id, [first, second]);
                findings.push(told.found(Level::Error, ("", "")));
            }
        }
    }
    findings.extend(super::told_twice_rpc::find(case));
    findings
}

/// What a node told of an object twice.
struct Twice<'a>(&'a Session, NodeId, u64, [Told; 2]);

impl Twice<'_> {
    /// `what` it told of one object, and of several.
    fn found(&self, level: Level, (of_one, of_all): (&str, &str)) -> Found {
        let Twice(session, from, id, [first, second]) = self;
        let (name, other) = (session.name(*from), session.name(second.delivery.node));
        let (said, time) = (second.words(session), second.delivery.at.time);
        let pieces = [first.evidence("delivered"), second.evidence("delivered")];
        let sentence = format!(
            "{name} told {other} of {of_one}object {id} twice: {said} (packet {} and packet {})",
            first.packet, second.packet
        );
        let because = format!("were told to {other} by {name} {of_all}twice: {said}");
        let found = Found::new(level, *from, time, pieces, sentence).about([*id]);
        found.fixed(Some(time)).because(because)
    }
}

/// The DESTROYs of an object that a node was told again by the same one.
fn destroyed_twice(case: &Case<'_>, id: u64, findings: &mut Vec<Found>) {
    let &Case {
        session, history, ..
    } = case;
    let mut ended: BTreeMap<NodeId, (NodeId, Told)> = BTreeMap::new();
    for &place in history.telling(id) {
        let (node, effect) = history.deliveries.effect(place);
        use Effect::{Created, CreatedByMigrate, CreatedByUpdate, Migrated};
        if let Created | CreatedByMigrate | CreatedByUpdate | Migrated | Effect::Unknown = effect {
            ended.remove(&node);
            continue;
        }
        let destroy = case.handed(place);
        let Some(second) = destroy.filter(|it| it.role == Role::Destroy) else {
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
        if is_same && !is_answer() && !has_left(case, from, second) {
            let told = Twice(session, from, id, [first, second]);
            findings.push(told.found(Level::Warning, ("the end of ", "to be over ")));
        }
    }
}

/// Whether a node was told anything that names an object, be it a question, between what it sent first
/// and what it sent second, or shortly before it sent the first.
fn was_told(case: &Case<'_>, id: u64, node: NodeId, (first, second): (Told, Told)) -> bool {
    let session = case.session;
    let sent = |told: Told| session.left(session.carrier(told.delivery.message)?);
    let Some((from, until)) = sent(first).zip(sent(second)) else {
        return true;
    };
    let since = SessionTime(from.time.0.saturating_sub(ANSWERS_NS));
    let mut deliveries = case.history.deliveries.between(since, until.time);
    deliveries.any(|it| it.node == node && !it.local && case.object_of(it.message) == Some(id))
}

/// Whether a message was said first by another one than its sender, who has left: then its sender makes
/// sure that all have heard what that one told some.
fn has_left(case: &Case<'_>, sender: NodeId, told: Told) -> bool {
    let session = case.session;
    if told.speaker.is_none() || told.speaker == case.peer(sender) {
        return false;
    }
    let mut partings = case.history.parting_messages.iter();
    partings.any(|&message| {
        let who = session.message(message).and_then(|it| {
            let (from, _) = session.link(it.packet)?;
            it.facts.origin.or_else(|| case.peer(from))
        });
        who == told.speaker
    })
}
