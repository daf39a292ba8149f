//! Whether what the reels show of an object at their end is an outcome.

use std::collections::BTreeSet;

use super::History;
use super::lanes::awaited;
use crate::session::{NodeId, Session};

/// See [`Settlement::of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// All reels reached their end, and every reliable message about the object was delivered.
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
                (!node.complete).then(|| format!("the reel of {} was cut", node.name))
            });
        Settlement {
            session,
            why_not,
            awaited: awaited(session, history),
        }
    }

    /// Whether the beliefs of these nodes about an object are final: every reel is whole and
    /// reached its end, and no reliable message about the object is on its way to one of the nodes.
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
}
