//! One of a node's ends, with what all walks along its events ask of it.

use super::streams::Streams;
use crate::session::{Crossing, EndId, NodeId, Session, Stamp};

/// See the module.
#[derive(Clone, Copy)]
pub(super) struct NodeEnd {
    pub end: EndId,
    pub crossing: Crossing,
    pub stamp: Stamp,
    /// Who sent its packet, and to whom.
    pub link: (NodeId, NodeId),
    /// How often these two had connected anew.
    pub meeting: u16,
}

impl NodeEnd {
    /// What the walks take of an end; `None` where its packet is of no link.
    pub fn new(
        (session, streams): (&Session, &Streams),
        (end, crossing, stamp): (EndId, Crossing, Stamp),
    ) -> Option<NodeEnd> {
        Some(NodeEnd {
            end,
            crossing,
            stamp,
            link: session.link(crossing.packet)?,
            meeting: streams.meeting_of(crossing.packet),
        })
    }
}
