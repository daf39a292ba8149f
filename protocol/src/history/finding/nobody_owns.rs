//! `nobody-owns`: all is delivered, an object lives, and its owner is not there any more.
//!
//! The nodes that are there agree on an owner who left, fell silent, or never was there: nobody says
//! anything of the object any more, and nobody will end it. An info: a game may leave what it does
//! not need, and where no counter tells old from new, an order that crosses a parting leaves it so.
//! Where somebody who is there is taken for the owner and does not know,
//! `objects-differ-at-rest` tells.

use std::collections::BTreeSet;

use super::words::told;
use super::{Case, Found};
use crate::history::settled::{Settled, Settlement, present};
use crate::history::{Belief, Evidence, Finding, Level, Object};
use crate::session::{NodeId, Session};

pub(super) const RULE: &str = "nobody-owns";

/// `explained`: objects of which other rules tell why nodes disagree about them.
pub(super) fn find(case: &Case<'_>, explained: &BTreeSet<u64>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let settlement = Settlement::new(session, history);
    let present = present(session, history);
    let mut owners: Vec<(u64, u64)> = Vec::new();
    for (&id, object) in &history.objects {
        let owner = gone(session, object, &present).filter(|_| !explained.contains(&id));
        if let Some(owner) = owner
            && settlement.at_rest(id, object, &present) == Settled::Yes
        {
            owners.push((owner, id));
        }
    }
    let found = owners.into_iter().filter_map(|(owner, id)| {
        let object = history.objects.get(&id)?;
        let living = |node: &&NodeId| believed(object, **node).is_some();
        let nodes: Vec<NodeId> = present.iter().filter(living).copied().collect();
        let evidence: Vec<Evidence> = nodes
            .iter()
            .filter_map(|node| {
                let because = object.lanes.get(node)?.last()?.because;
                let told = told(session, history, because)?;
                Some(told.evidence(if told.delivery.local {
                    "sent"
                } else {
                    "delivered"
                }))
            })
            .collect();
        let names: Vec<String> = nodes.iter().map(|&node| session.name(node)).collect();
        let believe = match names.len() {
            1 => "believes",
            _ => "believe",
        };
        let finding = Finding {
            rule: RULE,
            level: Level::Info,
            node: *nodes.first()?,
            objects: vec![id],
            each: Vec::new(),
            time: evidence.iter().map(|piece| piece.time).max()?,
            sentence: format!(
                "nobody owns object {id}: {} {believe} that {} does, who is not there when all is \
                 delivered",
                listed(&names),
                session.peer_name(owner),
            ),
            evidence,
        };
        let because = format!(
            "have no owner: {} {believe} that {} owns them, who is not there when all is delivered",
            listed(&names),
            session.peer_name(owner),
        );
        Some(Found::from(finding).because(because))
    });
    found.collect()
}

/// The owner on which all agree that know the object and are there, where that one is not there.
fn gone(session: &Session, object: &Object, present: &[NodeId]) -> Option<u64> {
    let mut owners = present.iter().filter_map(|&node| believed(object, node));
    let owner = owners.next()?;
    let is_there = session
        .node_of_peer(owner)
        .is_some_and(|node| present.contains(&node));
    (!is_there && owners.all(|other| other == owner)).then_some(owner)
}

/// The owner in whom a node believes at the end of an object that lives.
fn believed(object: &Object, node: NodeId) -> Option<u64> {
    match object.lanes.get(&node)?.last()?.belief {
        Belief::Owned(owner) | Belief::Orphaned(owner) => Some(owner),
        Belief::Destroyed | Belief::Unknown => None,
    }
}

/// `A, B and C`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}
