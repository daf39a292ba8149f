//! `zombie-object`: a node was told that an object ended, created it later, and keeps it.

use netreel_wire::Role;

use super::Found;
use super::words::{Told, told_of};
use crate::history::settled::{Settled, Settlement};
use crate::history::{Belief, Effect, Finding, History, Level, Object};
use crate::session::{NodeId, Session};

pub(super) const RULE: &str = "zombie-object";

pub(super) fn find(session: &Session, history: &History) -> Vec<Found> {
    let settlement = Settlement::new(session, history);
    let mut findings = Vec::new();
    for (&id, object) in &history.objects {
        for (&node, lane) in &object.lanes {
            let alive = lane
                .last()
                .is_some_and(|span| matches!(span.belief, Belief::Owned(_) | Belief::Orphaned(_)));
            if alive {
                let found = at_node(session, history, &settlement, id, object, node);
                findings.extend(found.map(Found::from));
            }
        }
    }
    findings
}

fn at_node(
    session: &Session,
    history: &History,
    settlement: &Settlement<'_>,
    id: u64,
    object: &Object,
    node: NodeId,
) -> Option<Finding> {
    let mut destroy: Option<Told> = None;
    let mut create: Option<Told> = None;
    for told in told_of(session, history, object, node) {
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
    let (destroy, create) = (destroy?, create?);
    let name = session.name(node);
    let after = match destroy.delivery.effect {
        Effect::IgnoredUnknown => ", which it had dropped because it did not know the object",
        _ => "",
    };
    let (level, outcome) = match settlement.of(id, &[node]) {
        Settled::Yes => (
            Level::Error,
            format!("it still lives at {name} when all is delivered"),
        ),
        Settled::Unknown(why) => (
            Level::Warning,
            format!("whether it lives on at {name} is unknown: {why}"),
        ),
    };
    let sentence = format!(
        "{name} created object {id} ({}, {}) after {} ({}){after}; {outcome}",
        create.words(session),
        create.packet_words(),
        destroy.words(session),
        destroy.packet_words(),
    );
    let what = match destroy.delivery.effect {
        Effect::IgnoredUnknown => "dropped",
        _ => "delivered",
    };
    let evidence = vec![destroy.evidence(what), create.evidence("delivered")];
    let time = create.delivery.at.time;
    Some(Finding {
        rule: RULE,
        level,
        node,
        object: Some(id),
        time,
        sentence,
        evidence,
    })
}
