//! `nobody-owns`: all is delivered, an object lives, and its owner is not there any more.
//!
//! The nodes that are there agree on an owner who left, fell silent, or never was there: nobody says
//! anything of the object any more, and nobody will end it. An info: a game may leave what it does
//! not need, and where no counter tells old from new, an order that crosses a parting leaves it so.
//! Where somebody who is there is taken for the owner and does not know,
//! `objects-differ-at-rest` tells.

use super::prelude::*;
use crate::history::settled::present;

/// `explained`: objects of which other rules tell why nodes disagree about them.
pub(super) fn find(case: &Case<'_>, explained: &BTreeSet<u64>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let settlement = Settlement::new(session, history);
    let present = present(session, history);
    let mut objects: Vec<_> = Vec::new();
    for (&id, object) in &history.objects {
        let owner = gone(session, object, &present).filter(|_| !explained.contains(&id));
        if let Some(owner) = owner
            && settlement.at_rest(id, object, &present) == Settled::Yes
        {
            objects.push((owner, id, object));
        }
    }
    let found = objects.into_iter().filter_map(|(owner, id, object)| {
        let living = |node: &&NodeId| believed(object, **node).is_some();
        let nodes: Vec<NodeId> = present.iter().filter(living).copied().collect();
        let pieces = nodes.iter().filter_map(|node| {
            let because = object.lanes.get(node)?.last()?.because;
            Some(case.told(because)?.done())
        });
        let evidence: Vec<Evidence> = pieces.collect();
        let time = evidence.iter().map(|piece| piece.time).max()?;
        let (believers, owner) = (names(session, &nodes), session.peer_name(owner));
        let believe = match nodes.len() {
            1 => "believes",
            _ => "believe",
        };
        let sentence = format!(
            "nobody owns object {id}: {believers} {believe} that {owner} does, who is not there when all is \
             delivered",
        );
        let because = format!(
            "have no owner: {believers} {believe} that {owner} owns them, who is not there when all is \
             delivered",
        );
        let found = Found::new(Level::Info, *nodes.first()?, time, evidence, sentence);
        Some(found.about([id]).because(because))
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
    owner(object.lanes.get(&node)?.last()?.belief)
}
