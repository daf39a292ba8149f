//! `counter-falls`: a node said a lower migration counter of an object than it had said before.
//!
//! Where the rules go by the counter, whoever has heard the higher one takes what is said now for
//! old, and ignores it: an error. What is said again is no new word.

use std::collections::BTreeMap;

use netreel_wire::{Role, StaleRule};

use super::words::{Told, and_more, told};
use super::{Case, Found};
use crate::history::nodes::rules_of;
use crate::history::{Effect, Finding, Level};
use crate::session::NodeId;

pub(super) const RULE: &str = "counter-falls";

/// Where a node's counter of an object fell.
struct Fall {
    count: u64,
    before: Told,
    after: Told,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let found = falls(case).into_iter();
    found.map(|(key, it)| finding(case, key, &it)).collect()
}

/// Where what a node said of an object has a lower counter than what it had said before.
fn falls(case: &Case<'_>) -> BTreeMap<(NodeId, u64), Fall> {
    let Case {
        session, history, ..
    } = *case;
    let counts = |node: NodeId| {
        let node = session.node(node);
        let rules = node.and_then(|node| rules_of(session, node));
        rules.is_some_and(|rules| rules.stale == StaleRule::Counter)
    };
    let counting: Vec<bool> = (0..session.nodes.len())
        .map(|node| counts(NodeId(node as u16)))
        .collect();
    let mut falls = BTreeMap::new();
    for (&object, known) in &history.objects {
        let mut highest: BTreeMap<NodeId, Told> = BTreeMap::new();
        for &place in &known.deliveries {
            let (node, effect) = history.deliveries.effect(place);
            // Most deliveries are updates that were taken, and nobody says those of itself.
            if effect == Effect::Updated || counting.get(usize::from(node.0)) != Some(&true) {
                continue;
            }
            let Some(after) = told(session, history, place).filter(|it| it.delivery.local) else {
                continue;
            };
            let Some(counter) = after.counter else {
                continue;
            };
            // When it was said is known to the sender's reel alone.
            let packet = session.carrier(after.delivery.message);
            let said = packet.and_then(|packet| session.departed(packet));
            if said.is_none_or(|(is_sent, _)| !is_sent) {
                continue;
            }
            // With a CREATE the object, or another one under its number, begins anew.
            if after.role == Role::Create {
                highest.insert(node, after);
                continue;
            }
            let before = *highest.entry(node).or_insert(after);
            if before.counter.is_some_and(|before| counter < before) {
                // An order goes to one node alone, and may leave behind a later word to all.
                if after.role == Role::MigrateOrder {
                    continue;
                }
                let fall = falls.entry((node, object)).or_insert(Fall {
                    count: 0,
                    before,
                    after,
                });
                fall.count += 1;
            } else {
                highest.insert(node, after);
            }
        }
    }
    falls
}

/// What is found of one of them.
fn finding(case: &Case<'_>, (node, object): (NodeId, u64), it: &Fall) -> Found {
    let session = case.session;
    let finding = Finding {
        rule: RULE,
        level: Level::Error,
        node,
        objects: vec![object],
        each: Vec::new(),
        time: it.after.delivery.at.time,
        sentence: format!(
            "{} said {} of object {} ({}) after {} ({}): whoever heard the higher counter takes \
             it for old{}",
            session.name(node),
            it.after.words(session),
            object,
            it.after.packet_words(),
            it.before.words(session),
            it.before.packet_words(),
            and_more(it.count),
        ),
        evidence: vec![it.before.evidence("sent"), it.after.evidence("sent")],
    };
    let because = format!(
        "have counters that fell in what {} said of them: whoever heard the higher one takes it for old",
        session.name(node),
    );
    // More may come, and they are counted.
    Found::from(finding).because(because)
}
