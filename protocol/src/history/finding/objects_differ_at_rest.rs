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

use super::prelude::*;
use crate::history::settled::present;

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
    let &Case {
        session, history, ..
    } = case;
    let settlement = Settlement::new(session, history);
    let present = present(session, history);
    let (mut living, mut lived) = (0, 0);
    let mut found: Vec<(u64, &Object, Against)> = Vec::new();
    for (&id, object) in &history.objects {
        let beliefs = beliefs(object, &present);
        let against = against(case, &beliefs);
        let is_owned = |it: &(NodeId, Option<Belief>)| matches!(it.1, Some(Belief::Owned(_)));
        if beliefs.iter().any(is_owned) {
            living += beliefs.len() as u64;
            lived += beliefs.iter().filter(|(_, it)| it.is_some()).count() as u64;
        }
        if against.is_empty() || explained.contains(&id) {
            continue;
        }
        if settlement.at_rest(id, object, &present) == Settled::Yes {
            found.extend(against.into_iter().map(|each| (id, object, each)));
        }
    }
    // Objects that are never told of where nearly all are known are missing.
    let known_percent = session.bounds.objects_differ_at_rest.known_percent;
    let is_told = lived * 100 >= living.saturating_mul(known_percent);
    found.retain(|(.., it)| it.how != How::Missing || is_told);
    let told = found.iter().map(|(id, _, it)| (*id, it.node)).collect();
    let found = found.into_iter();
    let found = found.filter_map(|(id, object, it)| found_of(case, it, (id, object)));
    (found.collect(), told)
}

fn beliefs(object: &Object, present: &[NodeId]) -> Vec<(NodeId, Option<Belief>)> {
    let last = |node| Some(object.lanes.get(node)?.last()?.belief);
    present.iter().map(|node| (*node, last(node))).collect()
}

fn against(case: &Case<'_>, beliefs: &[(NodeId, Option<Belief>)]) -> Vec<Against> {
    let is_own = |&(node, belief): &(NodeId, Option<Belief>)| {
        belief.is_some() && belief == case.peer(node).map(Belief::Owned)
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
                if case.peer(owner) == Some(by) {
                    return None;
                }
                (owner, How::OtherOwner(by))
            }
            (None, Some(Belief::Owned(by) | Belief::Orphaned(by))) => {
                let by = case.session.node_of_peer(by)?;
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

fn found_of(case: &Case<'_>, against: Against, (id, object): (u64, &Object)) -> Option<Found> {
    let session = case.session;
    let Against { node, other, how } = against;
    let (name, owner) = (session.name(node), session.name(other));
    // Of one object, and of several.
    let (what, all) = match how {
        How::OtherOwner(by) => {
            let third = session.peer_name(by);
            (
                format!("{owner} owns object {id}, and {name} believes that it is {third}'s"),
                format!("are owned by {owner}, and {name} believes that they are {third}'s"),
            )
        }
        How::Destroyed => (
            format!("{owner} owns object {id}, and {name} took it for destroyed"),
            format!("are owned by {owner}, and {name} took them for destroyed"),
        ),
        How::Missing => (
            format!("{owner} owns object {id}, and {name} never heard of it"),
            format!("are owned by {owner}, and {name} never heard of them"),
        ),
        How::OwnerDestroyed => (
            format!("{owner} destroyed object {id}, and it still lives at {name}"),
            format!("were destroyed by {owner}, and still live at {name}"),
        ),
        How::OwnerDenies => (
            format!("{name} believes that {owner} owns object {id}, and {owner} does not"),
            format!("are {owner}'s as {name} believes, and {owner} does not"),
        ),
    };
    let level = match how {
        How::Missing => Level::Warning,
        _ => Level::Error,
    };
    let last = |node: NodeId| {
        let because = object.lanes.get(&node)?.last()?.because;
        Some(case.told(because)?.done())
    };
    let mut evidence: Vec<_> = [last(other), last(node)].into_iter().flatten().collect();
    evidence.dedup_by_key(|it| (it.node, it.number));
    let time = evidence.iter().map(|piece| piece.time).max()?;
    let at_rest = |words: String| words + ", when all is delivered";
    let found = Found::new(level, node, time, evidence, at_rest(what));
    Some(found.about([id]).because(at_rest(all)))
}
