//! `update-after-destroy`: a node sent UPDATE of an object after its own DESTROY of it.
//!
//! Who has heard the DESTROY drops it: a warning. Where the rules let UPDATE create an object, it
//! comes back, and nobody will end it: an error. Who was told by another one that the object ended
//! may have sent its UPDATE before it came to read that, and is not meant; nor is an UPDATE that is
//! said again, or that a relay passes on.

use std::collections::BTreeMap;

use netreel_wire::Role;

use super::words::{Told, and_more, sent, told};
use super::{Case, Found};
use crate::history::{Belief, Effect, Finding, Level};
use crate::session::NodeId;

pub(super) const RULE: &str = "update-after-destroy";

/// What one node told another of an object that it had destroyed.
struct Late {
    count: u64,
    destroy: Told,
    update: Told,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let mut links: BTreeMap<(NodeId, NodeId, u64), Late> = BTreeMap::new();
    for (&object, known) in &history.objects {
        for &place in &known.deliveries {
            let (node, effect) = history.deliveries.effect(place);
            use Effect::{CreatedByUpdate, IgnoredNotOwner, IgnoredStale, IgnoredUnknown};
            if !matches!(
                effect,
                CreatedByUpdate | IgnoredNotOwner | IgnoredStale | IgnoredUnknown
            ) {
                continue; // most are updates that were taken, and no object was destroyed then
            }
            let update = told(session, history, place).filter(|it| it.role == Role::Update);
            let Some(update) = update.filter(|it| !it.delivery.local) else {
                continue;
            };
            let Some((from, destroy)) = destroyed(case, object, &update) else {
                continue;
            };
            let late = links.entry((from, node, object)).or_insert(Late {
                count: 0,
                destroy,
                update,
            });
            late.count += 1;
            if effect == CreatedByUpdate && late.update.delivery.effect != effect {
                (late.destroy, late.update) = (destroy, update);
            }
        }
    }
    let found = links.into_iter().map(|((from, to, object), it)| {
        let came_back = it.update.delivery.effect == Effect::CreatedByUpdate;
        let (level, outcome) = if came_back {
            (Level::Error, "created it by that")
        } else {
            (Level::Warning, "dropped it")
        };
        let (name, other) = (session.name(from), session.name(to));
        let evidence = [
            Some(it.destroy.evidence("sent")),
            sent(session, it.update.packet, "UPDATE sent"),
            Some(
                it.update
                    .evidence(if came_back { "delivered" } else { "dropped" }),
            ),
        ];
        let finding = Finding {
            rule: RULE,
            level,
            node: from,
            objects: vec![object],
            each: Vec::new(),
            time: it.update.delivery.at.time,
            sentence: format!(
                "{name} sent {other} UPDATE of object {} ({}) after its own {} ({}), and {other} \
                 {outcome}{}",
                object,
                it.update.packet_words(),
                it.destroy.words(session),
                it.destroy.packet_words(),
                and_more(it.count),
            ),
            evidence: evidence.into_iter().flatten().collect(),
        };
        let because = format!(
            "were updated by {name} after its own DESTROY of them, and {other} {}",
            if came_back {
                "created them by that"
            } else {
                "dropped that"
            }
        );
        // More may come, and they are counted.
        Found::from(finding).because(because)
    });
    found.collect()
}

/// Who said an UPDATE itself, and its own DESTROY of the object before that.
fn destroyed(case: &Case<'_>, object: u64, update: &Told) -> Option<(NodeId, Told)> {
    let Case {
        session,
        history,
        streams,
        ..
    } = *case;
    let (from, _) = session.link(update.packet)?;
    if update.speaker != session.node(from)?.peer {
        return None;
    }
    let first = streams.first_copy(update.delivery.message);
    let (true, left) = session.departed(session.carrier(first)?)? else {
        return None;
    };
    let span = history.belief_at(object, from, left.time)?;
    if span.belief != Belief::Destroyed {
        return None;
    }
    let destroy = told(session, history, span.because)?;
    let is_own = destroy.delivery.local && destroy.delivery.node == from;
    let is_before = destroy.delivery.at.number < left.number;
    (is_own && is_before && destroy.role == Role::Destroy).then_some((from, destroy))
}
