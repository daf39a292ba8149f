//! Whether what the reels show of an object at their end is an outcome.

use std::collections::BTreeSet;

use super::lanes::{awaited, departures_of_nodes, unaware};
use super::unrecorded::unrecorded;
use super::{Belief, History, Object};
use crate::session::{NodeId, Session};

/// A node that was told something passes it on, or answers, in less time than this and a few ways.
const ANSWER_NS: i64 = 1_000_000_000;

/// See [`Settlement::of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The reels of all nodes are there and reached their end, and every reliable message about the
    /// object was delivered.
    Yes,
    /// Why nobody can say.
    Unknown(String),
}

/// What is needed to say whether beliefs are final.
pub(super) struct Settlement<'a> {
    session: &'a Session,
    /// Why nothing of this session is final.
    why_not: Option<String>,
    awaited: BTreeSet<(NodeId, u64)>,
    unaware: BTreeSet<(NodeId, u64)>,
}

impl<'a> Settlement<'a> {
    pub fn new(session: &'a Session, history: &History) -> Settlement<'a> {
        let why_not = session
            .nodes
            .iter()
            .filter(|node| node.recorded)
            .find_map(|node| {
                if let Some(hole) = node.holes.first() {
                    return Some(format!(
                        "the reel of {} has a hole ({})",
                        node.name, hole.why
                    ));
                }
                let name = &node.name;
                if node.goes_on {
                    Some(format!("{name} is still being recorded"))
                } else {
                    (!node.complete).then(|| format!("the reel of {name} was cut"))
                }
            })
            .or_else(|| unrecorded(session));
        Settlement {
            session,
            why_not,
            awaited: awaited(session, history),
            unaware: unaware(session, history),
        }
    }

    /// Whether the beliefs of these nodes about an object are final: every node was recorded, every reel is
    /// whole and reached its end, and no reliable message about the object is on its way to one of the nodes.
    pub fn of(&self, object: u64, nodes: &[NodeId]) -> Settled {
        if let Some(why) = &self.why_not {
            return Settled::Unknown(why.clone());
        }
        match nodes
            .iter()
            .find(|&&node| self.awaited.contains(&(node, object)))
        {
            Some(&node) => Settled::Unknown(format!(
                "a message about it to {} was not delivered before the reels end",
                self.session.name(node)
            )),
            None => Settled::Yes,
        }
    }

    /// The same of all nodes, and whether the story of the object is over: nobody is still to be told, of it
    /// or that its owner leaves, who would tell the others then, and nothing happened to it before the end
    /// for so long that whoever was told has told the others.
    pub fn at_rest(&self, id: u64, object: &Object, nodes: &[NodeId]) -> Settled {
        let delivered = self.delivered(id, object, nodes);
        if delivered != Settled::Yes {
            return delivered;
        }
        let ends = nodes.iter().filter_map(|node| {
            let node = self.session.node(*node);
            node.map(|node| node.span.end)
        });
        let last = object
            .lanes
            .values()
            .filter_map(|lane| lane.last())
            .map(|span| span.time.start)
            .max();
        let answer_ns = self.answer_ns();
        match ends.min().zip(last) {
            Some((end, last)) if end.0.saturating_sub(last.0) < answer_ns => {
                Settled::Unknown("the reels end too soon after the last word about it".to_owned())
            }
            _ => Settled::Yes,
        }
    }

    /// The same without the time that whoever was told needs to tell others: all that was said of the object
    /// reliably was delivered, and that its owner leaves.
    pub fn delivered(&self, id: u64, object: &Object, nodes: &[NodeId]) -> Settled {
        let settled = self.of(id, nodes);
        if settled != Settled::Yes {
            return settled;
        }
        if let Some((node, _)) = self.awaited.iter().find(|&&(_, about)| about == id) {
            return Settled::Unknown(format!(
                "a message about it to {} was not delivered before the reels end",
                self.session.name(*node)
            ));
        }
        // Who learns that the owner left gives the object to another.
        let mut last_of = object
            .lanes
            .iter()
            .filter_map(|(&node, lane)| Some((node, lane.last()?.belief)));
        let believes = |it: (NodeId, Belief)| match it {
            (node, Belief::Owned(peer)) => Some((node, peer)),
            _ => None,
        };
        let waits = last_of.find_map(|it| believes(it).filter(|it| self.unaware.contains(it)));
        if let Some((node, peer)) = waits {
            return Settled::Unknown(format!(
                "the word that {} leaves was not delivered to {} before the reels end",
                self.session.peer_name(peer),
                self.session.name(node)
            ));
        }
        Settled::Yes
    }

    /// See [`answer_ns`].
    pub fn answer_ns(&self) -> i64 {
        answer_ns(self.session)
    }
}

/// How long it takes at most, in ns, until whoever was told something has answered, or passed it
/// on, and what was lost of that was sent again.
pub(super) fn answer_ns(session: &Session) -> i64 {
    let longest = session.ways().values().map(|&(_, longest)| longest).max();
    let answer_ns = longest.unwrap_or(0).max(0).saturating_mul(4);
    answer_ns.saturating_add(ANSWER_NS)
}

/// A node takes what it was handed, and passes it on, in less time than this and a few short ways.
const TAKE_NS: i64 = 100_000_000;

/// How long it takes, in ns, until whoever was told something has it and has passed it on, where nothing is
/// lost.
pub(super) fn take_ns(session: &Session) -> i64 {
    let shortest = session.ways().values().map(|&(shortest, _)| shortest);
    let take_ns = shortest.max().unwrap_or(0).max(0).saturating_mul(4);
    take_ns.saturating_add(TAKE_NS)
}

/// A node whose reel ends earlier than the last by more is not there at the end.
pub(super) const LATE_NS: i64 = 500_000_000;

/// The nodes that are there when the session ends, and whose numbers in the protocol are known.
pub(super) fn present(session: &Session, history: &History) -> Vec<NodeId> {
    let has_number = |id: &NodeId| {
        let node = session.node(*id);
        node.is_some_and(|node| node.peer.is_some())
    };
    let mut there = there(session, history);
    there.retain(has_number);
    there
}

/// The nodes with a reel that are there when the session ends.
pub(super) fn there(session: &Session, history: &History) -> Vec<NodeId> {
    let departed = departures_of_nodes(session, history);
    let nodes = (0u16..).map(NodeId).zip(&session.nodes);
    let recorded: Vec<_> = nodes.filter(|(_, node)| node.recorded).collect();
    let there = recorded
        .into_iter()
        .filter(|(id, _)| !ends_early(session, *id) && !departed.contains_key(id));
    there.map(|(id, _)| id).collect()
}

/// Whether a node's reel ends before the last one, so that it is not there at the end.
pub(super) fn ends_early(session: &Session, node: NodeId) -> bool {
    let recorded = session.nodes.iter().filter(|node| node.recorded);
    let last = recorded.map(|node| node.span.end).max();
    let own = session.node(node);
    let both = last.zip(own.map(|node| node.span.end));
    both.is_none_or(|(last, end)| last.0.saturating_sub(end.0) > LATE_NS)
}
