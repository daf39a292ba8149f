//! `counter-falls`: a node said a lower migration counter of an object than it had said before.
//!
//! Where the rules go by the counter, whoever has heard the higher one takes what is said now for
//! old, and ignores it: an error. What is said again is no new word.

use netreel_wire::StaleRule;

use super::prelude::*;
use crate::history::nodes::rules_of;

/// Where a node's counter of an object fell.
struct Fall {
    before: Told,
    after: Told,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    of_each(falls(case), |key, it| Some(finding(case, key, it)))
}

/// Where what a node said of an object has a lower counter than what it had said before.
fn falls(case: &Case<'_>) -> Firsts<(NodeId, u64), Fall> {
    let &Case {
        session, history, ..
    } = case;
    let counting = session.nodes.iter().map(|node| {
        let rules = rules_of(session, node);
        rules.is_some_and(|rules| rules.stale == StaleRule::Counter)
    });
    let counting: Vec<bool> = counting.collect();
    let mut falls = Firsts::new();
    for (&object, known) in &history.objects {
        let mut highest: BTreeMap<NodeId, Told> = BTreeMap::new();
        for &place in &known.deliveries {
            let (node, effect) = history.deliveries.effect(place);
            // Most deliveries are updates that were taken, and nobody says those of itself.
            if effect == Effect::Updated || counting.get(usize::from(node.0)) != Some(&true) {
                continue;
            }
            let told = case.told(place).filter(|it| it.delivery.local);
            let Some((after, counter)) = told.and_then(|it| Some((it, it.counter?))) else {
                continue;
            };
            // When it was said is known to the sender's reel alone.
            let packet = session.carrier(after.delivery.message);
            if packet.and_then(|packet| session.send_of(packet)).is_none() {
                continue;
            }
            // With a CREATE the object, or another one under its number, begins anew.
            if after.role == Role::Create {
                highest.insert(node, after);
                continue;
            }
            let before = *highest.entry(node).or_insert(after);
            if before.counter.is_none_or(|before| counter >= before) {
                highest.insert(node, after);
            } else if after.role != Role::MigrateOrder {
                // An order goes to one node alone, and may leave behind a later word to all.
                note(&mut falls, (node, object), Fall { before, after });
            }
        }
    }
    falls
}

/// What is found of one of them.
fn finding(case: &Case<'_>, (node, object): (NodeId, u64), it: Fall) -> Found {
    let session = case.session;
    let name = session.name(node);
    let sentence = format!(
        "{name} said {} of object {object} (packet {}) after {} (packet {}): whoever heard the \
         higher counter takes it for old",
        it.after.words(session),
        it.after.packet,
        it.before.words(session),
        it.before.packet
    );
    let because = format!(
        "have counters that fell in what {name} said of them: whoever heard the higher one takes it for old"
    );
    let pieces = [it.before.evidence("sent"), it.after.evidence("sent")];
    // More may come, and they are counted.
    let found = Found::new(
        Level::Error,
        node,
        it.after.delivery.at.time,
        pieces,
        sentence,
    );
    found.about([object]).because(because)
}
