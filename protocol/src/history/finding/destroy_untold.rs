//! `destroy-untold`: a node was told of the end of an object of which nobody ever told it.
//!
//! Whoever sent the DESTROY takes the node for one that knows the object: its CREATE was never sent
//! there, or to another one, or under another number. A warning: the node has nothing to end. A node that
//! began to listen late, or that lacks something of its reel, may have been told before, and is not
//! meant; nor is one to which a CREATE or a MIGRATE was sent and did not come.

use super::prelude::*;
use crate::session::{OBJECT, Shape};

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    if !session.nodes.iter().all(|node| node.recorded) {
        return Vec::new();
    }
    let unknown = case.telling().filter(|&(.., node, effect)| {
        matches!(effect, Effect::IgnoredUnknown | Effect::Tombstoned) && is_whole(session, node)
    });
    let ends = unknown.filter_map(|(object, place, ..)| {
        let told = case.handed(place)?;
        (told.role == Role::Destroy).then_some((object, told))
    });
    let ends: Vec<(u64, Told)> = ends.collect();
    let asked = ends.iter().map(|(object, it)| (*object, it.delivery.node));
    let never = never_told(case, asked.collect());
    // What one node told another of the end of an object that it never heard of.
    let mut links: Firsts<(Link, u64), Told> = Firsts::new();
    for (object, destroy) in ends {
        if let Some(link) = session.link(destroy.packet)
            && never.contains(&(object, destroy.delivery.node))
        {
            note(&mut links, (link, object), destroy);
        }
    }
    of_each(links, |((from, to), object), destroy| {
        let (name, other) = (session.name(from), session.name(to));
        let pieces = [
            sent(session, destroy.packet, "DESTROY sent")?,
            destroy.evidence("delivered"),
        ];
        let sentence = format!(
            "{name} told {other} of the end of object {object}: {} (packet {}), and nobody \
                 ever told {other} of that object",
            destroy.words(session),
            destroy.packet
        );
        let because = format!(
            "were told by {name} to {other} to be over, and nobody ever told {other} of them"
        );
        let time = destroy.delivery.at.time;
        // It may still be told.
        let found = Found::new(Level::Warning, from, time, pieces, sentence);
        Some(found.about([object]).because(because))
    })
}

/// Those of objects and nodes of which nobody ever sent the node a word of the object but its end,
/// whatever became of that word.
fn never_told(case: &Case<'_>, mut asked: BTreeSet<(u64, NodeId)>) -> BTreeSet<(u64, NodeId)> {
    let &Case {
        session, history, ..
    } = case;
    let is_other = |role: Role| role != Role::Destroy;
    for (packet, (from, to)) in case.packets() {
        if asked.is_empty() {
            break;
        }
        for (_, facts) in session.messages_that(packet, |shape: &Shape| shape.has(OBJECT)) {
            if let Some(object) = facts.object.filter(|_| is_other(session.role(&facts))) {
                asked.remove(&(object, to));
                asked.remove(&(object, from)); // who speaks of it knows it
            }
        }
    }
    for joined in &history.joined {
        let first = joined.fragments.first().copied();
        let link = first.and_then(|first| session.link(session.carrier(first)?));
        if let (Some(object), Some((from, to))) = (joined.facts.object, link)
            && is_other(session.role(&joined.facts))
        {
            asked.remove(&(object, to));
            asked.remove(&(object, from));
        }
    }
    asked
}
