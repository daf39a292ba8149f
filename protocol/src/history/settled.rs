//! Whether what the reels show of an object at their end is an outcome.

use std::collections::BTreeSet;

use super::History;
use super::lanes::awaited;
use crate::session::{MessageId, NodeId, Session};

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
            })
            .or_else(|| unrecorded(session));
        Settlement {
            session,
            why_not,
            awaited: awaited(session, history),
        }
    }

    /// Whether the beliefs of these nodes about an object are final: every node was recorded, every
    /// reel is whole and reached its end, and no reliable message about the object is on its way to one of the nodes.
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

/// Says which nodes took part without being recorded; `None` if all were. What such a node sent and
/// nobody received cannot be seen. Who was only spoken to, or spoke another protocol, took no part.
pub(super) fn unrecorded(session: &Session) -> Option<String> {
    let mut missing = BTreeSet::new();
    for packet in &session.packets {
        let place = usize::from(packet.from.0);
        if session.nodes.get(place).is_none_or(|node| node.recorded) {
            continue;
        }
        let messages = packet.messages.clone().map(MessageId);
        if messages
            .filter_map(|id| session.message(id))
            .any(|message| message.kind().is_some())
        {
            missing.insert(packet.from);
        }
    }
    let mut names: Vec<String> = missing.iter().map(|&node| session.name(node)).collect();
    let last = names.pop()?;
    Some(match names.len() {
        0 => format!("the reel of {last} is missing"),
        _ => format!("the reels of {} and {last} are missing", names.join(", ")),
    })
}
