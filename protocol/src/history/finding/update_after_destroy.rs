//! `update-after-destroy`: a node sent UPDATE of an object after its own DESTROY of it.
//!
//! Who has heard the DESTROY drops it: a warning. Where the rules let UPDATE create an object, it
//! comes back, and nobody will end it: an error. Who was told by another one that the object ended
//! may have sent its UPDATE before it came to read that, and is not meant; nor is an UPDATE that is
//! said again, or that a relay passes on.

use super::prelude::*;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    // What one node told another of an object that it had destroyed: its DESTROY, and its UPDATE.
    let mut links: Firsts<(Link, u64), (Told, Told)> = Firsts::new();
    for (&object, known) in &history.objects {
        for &place in &known.deliveries {
            let (node, effect) = history.deliveries.effect(place);
            use Effect::{CreatedByUpdate, IgnoredNotOwner, IgnoredStale, IgnoredUnknown};
            let (CreatedByUpdate | IgnoredNotOwner | IgnoredStale | IgnoredUnknown) = effect else {
                continue; // most are updates that were taken, and no object was destroyed then
            };
            let Some((from, destroy, update)) = destroyed(case, object, place) else {
                continue;
            };
            let first = note(&mut links, ((from, node), object), (destroy, update));
            if effect == CreatedByUpdate && first.1.delivery.effect != effect {
                *first = (destroy, update);
            }
        }
    }
    of_each(links, |((from, to), object), (destroy, update)| {
        let (level, what, outcome, of_all) = match update.delivery.effect {
            Effect::CreatedByUpdate => (
                Level::Error,
                "delivered",
                "created it by that",
                "created them by that",
            ),
            _ => (Level::Warning, "dropped", "dropped it", "dropped that"),
        };
        let (name, other) = (session.name(from), session.name(to));
        let evidence = [
            Some(destroy.evidence("sent")),
            sent(session, update.packet, "UPDATE sent"),
            Some(update.evidence(what)),
        ];
        let sentence = format!(
            "{name} sent {other} UPDATE of object {object} (packet {}) after its own {} \
             (packet {}), and {other} {outcome}",
            update.packet,
            destroy.words(session),
            destroy.packet
        );
        let because =
            format!("were updated by {name} after its own DESTROY of them, and {other} {of_all}");
        // More may come, and they are counted.
        let found = Found::new(level, from, update.delivery.at.time, evidence, sentence);
        Some(found.about([object]).because(because))
    })
}

/// An UPDATE that a node was handed: who said it itself, its own DESTROY of the object before that, and it.
fn destroyed(case: &Case<'_>, object: u64, place: u32) -> Option<(NodeId, Told, Told)> {
    let update = case.handed(place).filter(|it| it.role == Role::Update)?;
    let (from, _) = case.session.link(update.packet)?;
    if update.speaker != case.peer(from) {
        return None;
    }
    let left = case.first_sent(update.delivery.message)?;
    let span = case.history.belief_at(object, from, left.time)?;
    if span.belief != Belief::Destroyed {
        return None;
    }
    let destroy = case.told(span.because)?;
    let is_own = destroy.delivery.local && destroy.delivery.node == from;
    let is_before = destroy.delivery.at.number < left.number;
    (is_own && is_before && destroy.role == Role::Destroy).then_some((from, destroy, update))
}
