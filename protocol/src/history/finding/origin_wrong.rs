//! `origin-wrong`: a node said something of an object in the name of another one that had said nothing of
//! it, as far as the node knew.
//!
//! `@origin` is who said a message first; who passes it on keeps it. A node that had been told nothing of
//! the object by that origin, nor in its name, and that did not believe either that the origin owns it,
//! has made the name up: an error. A node whose reel lacks something may have been told, and is not meant.

use super::prelude::*;

/// What one node told another in the name of a third.
struct Misnamed {
    origin: u64,
    message: Told,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let mut links: Firsts<(Link, u64), Misnamed> = Firsts::new();
    for (object, place, ..) in case.telling() {
        let told = case.handed(place);
        let Some((message, link)) = told.and_then(|it| Some((it, session.link(it.packet)?))) else {
            continue;
        };
        let facts = history.facts(session, message.delivery.message);
        let Some(origin) = facts.and_then(|facts| facts.origin) else {
            continue;
        };
        let is_other = case.peer(link.0).is_some_and(|own| own != origin);
        if is_other
            && is_whole(session, link.0)
            && let Some(left) = case.first_sent(message.delivery.message)
            && !knew(case, object, (link.0, origin), left)
        {
            note(&mut links, (link, object), Misnamed { origin, message });
        }
    }
    of_each(links, |((from, to), object), it| {
        let (name, other) = (session.name(from), session.name(to));
        let origin = session.peer_name(it.origin);
        let pieces = [
            sent(
                session,
                it.message.packet,
                "a message in another's name sent",
            )?,
            it.message.evidence("received"),
        ];
        let sentence = format!(
            "{name} sent {other} {} of object {object} in the name of {origin} (packet {}), of \
             which {name} had heard nothing of that object",
            word(it.message.role),
            it.message.packet
        );
        let because = format!(
            "were told to {other} by {name} in the name of {origin}, of which {name} had heard nothing of them"
        );
        let time = it.message.delivery.at.time;
        // More may come, and they are counted.
        let found = Found::new(Level::Error, from, time, pieces, sentence);
        Some(found.about([object]).because(because))
    })
}

/// Whether a node had been told anything of an object by a peer or in its name, or had believed that the
/// peer owns it, before it sent something.
fn knew(case: &Case<'_>, object: u64, (node, origin): (NodeId, u64), left: Stamp) -> bool {
    let &Case {
        session, history, ..
    } = case;
    let Some(known) = history.objects.get(&object) else {
        return true;
    };
    let lane = known.lanes.get(&node).into_iter().flatten();
    let mut before = lane.filter(|span| span.time.start <= left.time);
    if before.any(|span| owner(span.belief) == Some(origin) || span.belief == Belief::Unknown) {
        return true;
    }
    let mut own = known
        .deliveries
        .iter()
        .filter(|&&it| history.deliveries.effect(it).0 == node);
    own.any(|&place| {
        case.told(place).is_some_and(|it| {
            let by = session.link(it.packet);
            let by = by.and_then(|(sender, _)| case.peer(sender));
            let is_before = it.delivery.at.number <= left.number;
            is_before && [it.speaker, by, it.owner].contains(&Some(origin))
        })
    })
}
