//! `objects-differ-at-rest`: all is delivered, and nodes that are there disagree about an object.
//!
//! The owner's word counts: the node that believes that it owns the object itself. Another that
//! believes in another owner, or in the object's end, was not told or did not listen: an error. Where
//! nobody believes that the object is its own, whoever believes that it lives is wrong about its
//! owner: an error, too. A node that never heard of an object is a warning, and only where nearly all
//! objects live at nearly all nodes: a game may tell each player of what is near alone.
//!
//! Nothing is said of a session that was cut in the middle of things: every reel is there and whole,
//! no message about the object is under way to anybody, and nothing happened to it for a while.

use std::collections::BTreeSet;

use super::words::told;
use super::{Case, Found};
use crate::history::settled::{Settled, Settlement, present};
use crate::history::{Belief, Finding, History, Level, Object};
use crate::session::{NodeId, Session};

pub(super) const RULE: &str = "objects-differ-at-rest";

/// What a node believes against whom, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Against {
    node: NodeId,
    other: NodeId,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    /// The other one owns it, and the node believes in a third one.
    OtherOwner(u64),
    /// The other one owns it, and the node took it for destroyed.
    Destroyed,
    /// The other one owns it, and the node never heard of it.
    Missing,
    /// The node believes that the other one owns it, who destroyed it.
    OwnerDestroyed,
    /// The same, and the other one believes in a third one, or never heard of it.
    OwnerDenies,
}

/// Also of which objects at which nodes it tells. `explained`: nodes' troubles with objects that other rules
/// tell of.
pub(super) fn find(
    case: &Case<'_>,
    explained: &BTreeSet<u64>,
) -> (Vec<Found>, BTreeSet<(u64, NodeId)>) {
    let Case {
        session, history, ..
    } = *case;
    let settlement = Settlement::new(session, history);
    let present = present(session, history);
    let (mut living, mut lived) = (0, 0);
    let mut found: Vec<(u64, Against)> = Vec::new();
    for (&id, object) in &history.objects {
        let beliefs = beliefs(object, &present);
        let against = against(session, &beliefs);
        if beliefs
            .iter()
            .any(|(_, it)| matches!(it, Some(Belief::Owned(_))))
        {
            living += beliefs.len() as u64;
            lived += beliefs.iter().filter(|(_, it)| it.is_some()).count() as u64;
        }
        if against.is_empty() || explained.contains(&id) {
            continue;
        }
        if settlement.at_rest(id, object, &present) == Settled::Yes {
            for each in against {
                found.push((id, each));
            }
        }
    }
    // Objects that are never told of where nearly all are known are missing.
    let known_percent = session.bounds.objects_differ_at_rest.known_percent;
    let is_told = lived * 100 >= living.saturating_mul(known_percent);
    found.retain(|(_, it)| it.how != How::Missing || is_told);
    let told = found
        .iter()
        .map(|(object, it)| (*object, it.node))
        .collect();
    let found = found
        .into_iter()
        .filter_map(|(object, it)| found_of(session, history, it, object));
    (found.collect(), told)
}

fn beliefs(object: &Object, present: &[NodeId]) -> Vec<(NodeId, Option<Belief>)> {
    let last = |node| Some(object.lanes.get(node)?.last()?.belief);
    present.iter().map(|node| (*node, last(node))).collect()
}

fn against(session: &Session, beliefs: &[(NodeId, Option<Belief>)]) -> Vec<Against> {
    let peer = |node: NodeId| {
        let node = session.node(node);
        node.and_then(|node| node.peer)
    };
    let is_own = |&(node, belief): &(NodeId, Option<Belief>)| {
        peer(node).is_some_and(|peer| belief == Some(Belief::Owned(peer)))
    };
    let mut owners = beliefs.iter().filter(|it| is_own(it));
    let owner = owners.next().map(|&(node, _)| node);
    if owners.next().is_some() {
        return Vec::new(); // two-owners tells
    }
    let all = beliefs.iter().filter_map(|&(node, belief)| {
        let (other, how) = match (owner, belief) {
            (Some(owner), _) if owner == node => return None,
            (Some(owner), None) => (owner, How::Missing),
            (Some(owner), Some(Belief::Destroyed)) => (owner, How::Destroyed),
            (Some(owner), Some(Belief::Owned(by) | Belief::Orphaned(by))) => {
                if peer(owner) == Some(by) {
                    return None;
                }
                (owner, How::OtherOwner(by))
            }
            (None, Some(Belief::Owned(by) | Belief::Orphaned(by))) => {
                let by = session.node_of_peer(by)?;
                let &(_, of_owner) = beliefs.iter().find(|(node, _)| *node == by)?;
                match of_owner {
                    Some(Belief::Unknown) => return None,
                    Some(Belief::Destroyed) => (by, How::OwnerDestroyed),
                    _ => (by, How::OwnerDenies),
                }
            }
            (_, Some(Belief::Unknown)) | (None, None | Some(Belief::Destroyed)) => return None,
        };
        Some(Against { node, other, how })
    });
    all.collect()
}

fn found_of(session: &Session, history: &History, against: Against, id: u64) -> Option<Found> {
    let Against { node, other, how } = against;
    let object = history.objects.get(&id)?;
    let (name, owner) = (session.name(node), session.name(other));
    let all = match how {
        How::OtherOwner(by) => format!(
            "are owned by {owner}, and {name} believes that they are {}'s",
            session.peer_name(by)
        ),
        How::Destroyed => format!("are owned by {owner}, and {name} took them for destroyed"),
        How::Missing => format!("are owned by {owner}, and {name} never heard of them"),
        How::OwnerDestroyed => format!("were destroyed by {owner}, and still live at {name}"),
        How::OwnerDenies => {
            format!("are {owner}'s as {name} believes, and {owner} does not")
        }
    };
    let what = match how {
        How::OtherOwner(by) => format!(
            "{owner} owns object {id}, and {name} believes that it is {}'s",
            session.peer_name(by)
        ),
        How::Destroyed => format!("{owner} owns object {id}, and {name} took it for destroyed"),
        How::Missing => format!("{owner} owns object {id}, and {name} never heard of it"),
        How::OwnerDestroyed => {
            format!("{owner} destroyed object {id}, and it still lives at {name}")
        }
        How::OwnerDenies => {
            format!("{name} believes that {owner} owns object {id}, and {owner} does not")
        }
    };
    let last = |node: NodeId| {
        let because = object.lanes.get(&node)?.last()?.because;
        let told = told(session, history, because)?;
        Some(told.evidence(if told.delivery.local {
            "sent"
        } else {
            "delivered"
        }))
    };
    let mut evidence: Vec<_> = [last(other), last(node)].into_iter().flatten().collect();
    evidence.dedup_by(|one, other| (one.node, one.number) == (other.node, other.number));
    let finding = Finding {
        rule: RULE,
        level: match how {
            How::Missing => Level::Warning,
            _ => Level::Error,
        },
        node,
        objects: vec![id],
        each: Vec::new(),
        time: evidence.iter().map(|piece| piece.time).max()?,
        sentence: format!("{what}, when all is delivered"),
        evidence,
    };
    let because = format!("{all}, when all is delivered");
    Some(Found::from(finding).because(because))
}
