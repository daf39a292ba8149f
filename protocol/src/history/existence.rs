//! Whether an object exists at a node: a value like others, which CREATE and DESTROY tell.
//!
//! The owner's word counts: at whoever takes part while the object lives at its owner, it is to live as
//! well. Where nobody owns it, whoever saw it end is right against those at whom it lives on.

use std::ops::Range;

use super::lanes::departures_of_nodes;
use super::settled::{LATE_NS, Settled, Settlement, present};
use super::{Belief, History, Object};
use crate::session::{NodeId, Session, SessionTime};

/// A node at which an object exists, or does not, against the word of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExistenceDifference {
    /// The object.
    pub object: u64,
    /// Who differs.
    pub node: NodeId,
    /// From whom: the owner, or who saw the object end.
    pub other: NodeId,
    /// How.
    pub how: Exists,
}

/// How a node's word about an object's existence differs from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exists {
    /// It lives at its owner, and nobody ever told the node of it.
    Untold,
    /// It lives at its owner, and the node took it for destroyed.
    Destroyed,
    /// It lives on at the node, and the other saw it end.
    LivesOn,
}

impl ExistenceDifference {
    /// `object 5 lives at A, and B was never told of it`.
    pub fn words(&self, session: &Session) -> String {
        let object = self.object;
        let (node, other) = (session.name(self.node), session.name(self.other));
        match self.how {
            Exists::Untold => {
                format!("object {object} lives at {other}, and {node} was never told of it")
            }
            Exists::Destroyed => {
                format!("object {object} lives at {other}, and {node} took it for destroyed")
            }
            Exists::LivesOn => {
                format!("object {object} lives on at {node}, and {other} saw it end")
            }
        }
    }
}

/// Who took part in a session, and when: of whom an object may be missed.
#[derive(Clone, Debug, Default)]
pub struct Existence {
    parts: Vec<(NodeId, Range<SessionTime>)>,
    /// Those of them who left, or fell silent.
    left: Vec<NodeId>,
}

impl Existence {
    /// Who took part in a session, and from when until when.
    pub fn new(session: &Session, history: &History) -> Existence {
        let left = departures_of_nodes(session, history);
        let nodes = (0u16..).map(NodeId).zip(&session.nodes);
        let known = nodes.filter(|(_, node)| node.recorded && node.peer.is_some());
        let parts = known.map(|(id, node)| {
            let end = left.get(&id).map_or(node.span.end, |&left| left);
            (id, node.span.start..end)
        });
        Existence {
            parts: parts.collect(),
            left: left.into_keys().collect(),
        }
    }

    /// The nodes that take part at a moment. Who did not leave is there for a little longer than its reel:
    /// no two reels end at once.
    pub fn there(&self, at: SessionTime) -> Vec<NodeId> {
        let there = self.parts.iter().filter(|(id, part)| {
            let late_ns = if self.left.contains(id) { 0 } else { LATE_NS };
            part.start <= at && at.0 <= part.end.0.saturating_add(late_ns)
        });
        there.map(|&(id, _)| id).collect()
    }

    /// Whether a node left, or fell silent.
    pub(super) fn has_left(&self, node: NodeId) -> bool {
        self.left.contains(&node)
    }

    /// From when until when a node takes part.
    pub(super) fn part(&self, node: NodeId) -> Range<SessionTime> {
        let part = self.parts.iter().find(|(id, _)| *id == node);
        part.map_or(SessionTime(0)..SessionTime(0), |(_, part)| part.clone())
    }

    /// At which of the nodes that take part at a moment an object exists against the word of others.
    pub fn differing(
        &self,
        session: &Session,
        history: &History,
        object: u64,
        at: SessionTime,
    ) -> Vec<ExistenceDifference> {
        let beliefs = self.there(at).into_iter().map(|node| {
            let span = history.belief_at(object, node, at);
            (node, span.map(|span| span.belief))
        });
        differing(session, object, &beliefs.collect::<Vec<_>>())
    }
}

/// The same of what nodes believe.
fn differing(
    session: &Session,
    object: u64,
    beliefs: &[(NodeId, Option<Belief>)],
) -> Vec<ExistenceDifference> {
    let of = |node, other, how| ExistenceDifference {
        object,
        node,
        other,
        how,
    };
    let is_own = |&&(node, belief): &&(NodeId, Option<Belief>)| {
        let node = session.node(node);
        let peer = node.and_then(|node| node.peer);
        peer.is_some_and(|peer| belief == Some(Belief::Owned(peer)))
    };
    let mut owners = beliefs.iter().filter(is_own);
    if let Some(&(owner, _)) = owners.next() {
        if owners.next().is_some() {
            return Vec::new(); // `two-owners` tells
        }
        let lacking = beliefs.iter().filter_map(|&(node, belief)| match belief {
            None => Some(of(node, owner, Exists::Untold)),
            Some(Belief::Destroyed) => Some(of(node, owner, Exists::Destroyed)),
            _ => None,
        });
        return lacking.collect();
    }
    let destroyed = |node: NodeId| {
        let belief = beliefs.iter().find(|(id, _)| *id == node);
        belief.is_some_and(|(_, belief)| *belief == Some(Belief::Destroyed))
    };
    let mut ends = beliefs.iter().map(|(node, _)| *node);
    let end = ends.find(|&node| destroyed(node));
    let living = beliefs.iter().filter_map(|&(node, belief)| {
        let (Some(Belief::Owned(by) | Belief::Orphaned(by)), Some(end)) = (belief, end) else {
            return None;
        };
        let by = session.node_of_peer(by).filter(|&by| destroyed(by));
        Some(of(node, by.unwrap_or(end), Exists::LivesOn))
    });
    living.collect()
}

/// What nodes that are there when the session ends believe of the existence of objects that are at rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExistenceAtRest {
    /// How many nodes' words about objects are those of others.
    pub agreed: u64,
    /// Those that are not, ordered by object and node.
    pub differ: Vec<ExistenceDifference>,
    /// The objects about whose existence nodes differ, and of which nobody can say whether all is delivered:
    /// since when each differs, and why that is.
    pub open: Vec<(u64, SessionTime, String)>,
}

/// See [`ExistenceAtRest`].
pub(super) fn at_rest(
    session: &Session,
    history: &History,
    settlement: &Settlement<'_>,
) -> ExistenceAtRest {
    let present = present(session, history);
    let mut found = ExistenceAtRest::default();
    for (&id, object) in &history.objects {
        let beliefs = last_beliefs(object, &present);
        let living = beliefs
            .iter()
            .filter(|(_, it)| matches!(it, Some(Belief::Owned(_) | Belief::Orphaned(_))))
            .count() as u64;
        if living == 0 {
            continue;
        }
        let differ = differing(session, id, &beliefs);
        if differ.is_empty() {
            found.agreed += living - 1;
            continue;
        }
        match settlement.at_rest(id, object, &present) {
            Settled::Yes => found.differ.extend(differ),
            Settled::Unknown(why) => {
                let last = |node| Some(object.lanes.get(&node)?.last()?.time.start);
                let since = |it: &ExistenceDifference| last(it.node).max(last(it.other));
                let since = differ.iter().filter_map(since).min().unwrap_or_default();
                found.open.push((id, since, why));
            }
        }
    }
    found
}

impl History {
    /// What nodes that are there when the session ends believe of the existence of objects.
    pub fn existence_at_rest(&self, session: &Session) -> ExistenceAtRest {
        at_rest(session, self, &Settlement::new(session, self))
    }
}

fn last_beliefs(object: &Object, present: &[NodeId]) -> Vec<(NodeId, Option<Belief>)> {
    let last = |node| Some(object.lanes.get(node)?.last()?.belief);
    present.iter().map(|node| (*node, last(node))).collect()
}
