//! Whether what the reels show of an object at their end is an outcome.

use super::History;
use super::lanes::awaited;
use crate::session::{NodeId, Session};

/// See [`settled`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// All reels reached their end, and every reliable message about the object was delivered.
    Yes,
    /// Why nobody can say.
    Unknown(String),
}

/// Whether the beliefs of these nodes about an object are final: every reel is whole and reached
/// its end, and no reliable message about the object is on its way to one of the nodes.
pub(super) fn settled(
    session: &Session,
    history: &History,
    object: u64,
    nodes: &[NodeId],
) -> Settled {
    for node in session.nodes.iter().filter(|node| node.recorded) {
        if !node.complete {
            return Settled::Unknown(format!("the reel of {} was cut", node.name));
        }
        if let Some(hole) = node.holes.first() {
            return Settled::Unknown(format!(
                "the reel of {} has a hole ({})",
                node.name, hole.why
            ));
        }
    }
    let awaited = awaited(session, history);
    match nodes
        .iter()
        .find(|&&node| awaited.contains(&(node, object)))
    {
        Some(&node) => Settled::Unknown(format!(
            "a message about it to {} was not delivered before the reels end",
            session.name(node)
        )),
        None => Settled::Yes,
    }
}
