//! `zombie-object`: a node was told that an object ended, created it later, and keeps it.
//!
//! The CREATE is older than the DESTROY: what was created after the end is another object, to which
//! the game gave the same id.

use super::prelude::*;
use crate::history::lanes::{departures_of_nodes, partings_of_nodes};
use crate::history::settled::ends_early;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let settlement = Settlement::new(session, history);
    let parted = partings_of_nodes(session, history);
    let departed = departures_of_nodes(session, history);
    let mut findings = Vec::new();
    for (&id, object) in &history.objects {
        for (&node, lane) in &object.lanes {
            if lane.last().and_then(|span| owner(span.belief)).is_some() {
                let left = departed.get(&node).copied();
                let found = at_node(case, (&settlement, left), id, object, node);
                // What comes to a node that said that it leaves makes nothing there.
                let parted = parted.get(&node);
                findings
                    .extend(found.filter(|it| parted.is_none_or(|left| it.finding.time < *left)));
            }
        }
    }
    findings
}

fn at_node(
    case: &Case<'_>,
    (settlement, left): (&Settlement<'_>, Option<SessionTime>),
    id: u64,
    object: &Object,
    node: NodeId,
) -> Option<Found> {
    let &Case {
        session, history, ..
    } = case;
    let (destroy, create) = destroy_and_create(told_of(session, history, id, node))?;
    let said = |told: &Told| said(case, object, told);
    let times = said(&create).zip(said(&destroy));
    if create.delivery.local || times.is_some_and(|(created, ended)| created >= ended) {
        return None;
    }
    let name = session.name(node);
    let (what, after) = match destroy.delivery.effect {
        Effect::IgnoredUnknown => (
            "dropped",
            ", which it had dropped because it did not know the object",
        ),
        _ => ("delivered", ""),
    };
    let until = match left.filter(|left| create.delivery.at.time < *left) {
        Some(_) => Some(format!("until {name} left or fell silent")),
        None => ends_early(session, node)
            .then(|| format!("when the reel of {name} ended, before those of others")),
    };
    let (outcome, all) = outcome(&name, until);
    let (level, outcome, all) = match settlement.of(id, &[node]) {
        Settled::Yes => (Level::Error, outcome, all),
        Settled::Unknown(why) => (
            Level::Warning,
            format!("whether it lives on at {name} is unknown: {why}"),
            format!(
                "whether they live on at {name} is unknown: {}",
                why.replace("about it", "about them")
            ),
        ),
    };
    let from = |told: &Told| Some(session.name(session.link(told.packet)?.0));
    let ended = if destroy.delivery.local {
        "had ended them itself".to_owned()
    } else {
        format!("got it from {}", from(&destroy)?)
    };
    let because = format!(
        "outlive their DESTROY: {name} {ended} before their CREATE from {} came{}; {all}",
        from(&create)?,
        after.replace("the object", "them"),
    );
    let sentence = format!(
        "{name} created object {id} ({}, packet {}) after {} (packet {}){after}; {outcome}",
        create.words(session),
        create.packet,
        destroy.words(session),
        destroy.packet
    );
    let evidence = [destroy.evidence(what), create.evidence("delivered")];
    let found = Found::proven(level, node, evidence, sentence)?.about([id]);
    Some(found.because(because))
}

/// How long the object lived on: of one, and of several.
fn outcome(name: &str, until: Option<String>) -> (String, String) {
    match until {
        Some(until) => (
            format!("it lived there {until}"),
            format!("they lived there {until}"),
        ),
        None => (
            format!("it still lives at {name} when all is delivered"),
            format!("they still live at {name} when all is delivered"),
        ),
    }
}

/// The last DESTROY of an object that a node was told of, and the first CREATE after it.
fn destroy_and_create(told: impl IntoIterator<Item = Told>) -> Option<(Told, Told)> {
    let (mut destroy, mut create) = (None, None);
    for told in told {
        match (told.role, told.delivery.effect) {
            (_, Effect::Unknown) => (destroy, create) = (None, None),
            (Role::Destroy, Effect::IgnoredStale) => {}
            (Role::Destroy, _) => (destroy, create) = (Some(told), None),
            (Role::Create, Effect::Created) if destroy.is_some() && create.is_none() => {
                create = Some(told);
            }
            _ => {}
        }
    }
    destroy.zip(create)
}

/// When a message was first said: what its first speaker did, or else when it was sent.
fn said(case: &Case<'_>, object: &Object, told: &Told) -> Option<SessionTime> {
    let &Case {
        session, history, ..
    } = case;
    if told.delivery.local {
        return Some(told.delivery.at.time);
    }
    let first = case.streams.first_copy(told.delivery.message);
    let sent = session.left(session.carrier(first)?)?;
    let speaker = session.node_of_peer(told.speaker?);
    let deliveries = object.deliveries.iter();
    let acts = deliveries.filter_map(|&place| {
        let act = history.deliveries.get(place as usize)?;
        let is_his = act.local && Some(act.node) == speaker && act.at.time <= sent.time;
        let facts = is_his.then(|| history.facts(session, act.message))??;
        (session.role(&facts) == told.role).then_some(act.at.time)
    });
    Some(acts.max().unwrap_or(sent.time))
}
