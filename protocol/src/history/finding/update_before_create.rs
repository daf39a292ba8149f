//! `update-before-create`: a node sent UPDATE of an object before its own CREATE of it had arrived.
//!
//! The receiver dropped it, because it did not know the object. Where the wire says that UPDATE is unreliable
//! and CREATE is not, and the CREATE came, that is an info: newer values come anyway. Else it is a warning,
//! since what it said comes again only if its sender notices; as it is where the CREATE never came though
//! nothing is on its way any more. Who did not create the object at the receiver, such as a new owner,
//! cannot know what the receiver knows, and is not meant.

use super::prelude::*;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let settlement = Settlement::new(session, history);
    let mut found = Vec::new();
    for &id in history.objects.keys() {
        let mut dropped: BTreeMap<NodeId, Vec<(NodeId, Told)>> = BTreeMap::new();
        let mut known: BTreeSet<NodeId> = BTreeSet::new();
        for &place in history.telling(id) {
            let (node, effect) = history.deliveries.effect(place);
            if known.contains(&node) {
                continue;
            }
            let told = case.told(place);
            let link = told.and_then(|told| session.link(told.packet));
            let Some((told, (from, _))) = told.zip(link) else {
                continue;
            };
            match (told.role, effect) {
                (Role::Update, Effect::IgnoredUnknown) => {
                    dropped.entry(node).or_default().push((from, told));
                }
                (Role::Create, Effect::Created) if !told.delivery.local => {
                    known.insert(node);
                    let early = dropped.remove(&node).unwrap_or_default();
                    found.extend(early_at(case, id, (from, node), &early, told));
                }
                _ => drop(known.insert(node)),
            }
        }
        dropped.retain(|node, _| !known.contains(node));
        for (node, updates) in dropped {
            found.extend(never_created(case, &settlement, id, node, &updates));
        }
    }
    found
}

/// What a node dropped of an object that was never created there, by whoever created it.
fn never_created(
    case: &Case<'_>,
    settlement: &Settlement<'_>,
    id: u64,
    node: NodeId,
    updates: &[(NodeId, Told)],
) -> Option<Found> {
    let &Case {
        session, history, ..
    } = case;
    let creates = |by: NodeId| {
        let mut telling = history.telling(id).iter();
        telling.any(|&place| history.deliveries.effect(place) == (by, Effect::Created))
            && matches!(history.last_belief(id, by), Some(Belief::Owned(_)))
    };
    let mut own = updates.iter().filter(|&&(by, _)| creates(by));
    let &(from, update) = own.next()?;
    let count = 1 + own.filter(|&&(by, _)| by == from).count() as u64;
    if settlement.of(id, &[node]) != Settled::Yes {
        return None;
    }
    let (name, other) = (session.name(from), session.name(node));
    let sentence = format!(
        "{name} sent {other} UPDATE of object {id} (packet {}), and no CREATE of it ever came: \
         {other} dropped it{}",
        update.packet,
        and_more(count)
    );
    let because =
        format!("were updated by {name} and never created at {other}, which dropped that");
    let found = Found::proven(Level::Warning, from, [update.evidence("dropped")], sentence)?;
    Some(found.about([id]).because(because))
}

/// What a node dropped of an object before another's CREATE of it came.
fn early_at(
    case: &Case<'_>,
    id: u64,
    (from, to): Link,
    early: &[(NodeId, Told)],
    create: Told,
) -> Option<Found> {
    let session = case.session;
    let is_reliable = |told: &Told| {
        let message = session.message(told.delivery.message);
        message.is_some_and(|it| it.facts.reliable)
    };
    let own = || early.iter().filter(|(by, _)| *by == from);
    // What is not sent again matters most.
    let reliable = own().find(|(_, it)| is_reliable(it));
    let (_, update) = reliable.or_else(|| own().next())?;
    let (level, how) = match (is_reliable(update), is_reliable(&create)) {
        (true, _) => (Level::Warning, " reliably"),
        (false, true) => (Level::Info, " unreliably"),
        // The wire does not tell what is sent again.
        (false, false) => (Level::Warning, ""),
    };
    let (name, other) = (session.name(from), session.name(to));
    let sentence = format!(
        "{name} sent {other} UPDATE of object {id}{how} (packet {}) before its CREATE (packet \
         {}) had arrived, and {other} dropped it{}",
        update.packet,
        create.packet,
        and_more(own().count() as u64)
    );
    let because = format!(
        "were updated by {name}{how} before their CREATE had arrived at {other}, which dropped that"
    );
    // More may come of other objects.
    let pieces = [update.evidence("dropped"), create.evidence("delivered")];
    let found = Found::proven(level, from, pieces, sentence)?;
    Some(found.about([id]).because(because))
}
