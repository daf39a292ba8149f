//! What the reels of a session tell together: who sent what somebody received, and what came in
//! fragments. All that a redaction asks of the session and its history is here.

use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::session::{NodeId, ReelInput, Session, Way};
use netreel_reel::{EventNumber, Reel};
use netreel_wire::{Keys, ProtocolId, Wire};

use crate::rules::RedactError;

/// What the reels of a session tell together.
pub struct Story {
    session: Session,
    wire: Arc<Wire>,
    /// Each reel's node, if it is one's.
    nodes: Vec<Option<NodeId>>,
}

/// A message that travelled in fragments.
pub(crate) struct Whole {
    pub protocol: Option<ProtocolId>,
    pub bytes: Vec<u8>,
    /// Its bytes as the fragments carried them.
    pub fragments: Vec<Vec<u8>>,
}

impl Story {
    /// Reads all reels, with the given wire or the one inside them.
    ///
    /// # Errors
    /// The reels are not of one session, or there is no wire.
    pub fn read(
        inputs: Vec<ReelInput>,
        wire: Option<Arc<Wire>>,
        keys: Keys,
    ) -> Result<Story, RedactError> {
        let reels: Vec<Arc<Reel>> = inputs.iter().map(|input| input.reel.clone()).collect();
        let session = Session::builder().wire(wire).keys(keys).build(inputs)?;
        let node = |reel: &Arc<Reel>| {
            let is_its = |other: &Option<Arc<Reel>>| {
                other.as_ref().is_some_and(|other| Arc::ptr_eq(other, reel))
            };
            let place = session.reels.iter().position(is_its)?;
            u16::try_from(place).ok().map(NodeId)
        };
        let nodes = reels.iter().map(node).collect();
        let wire = session.wire.clone().ok_or(RedactError::NoWire)?;
        Ok(Story {
            session,
            wire,
            nodes,
        })
    }

    /// The wire that the packets are read with.
    pub fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    /// Which reel has the packet that an event of another received, and as which event it was sent.
    pub(crate) fn sent(&self, place: usize, number: EventNumber) -> Option<(usize, EventNumber)> {
        let node = (*self.nodes.get(place)?)?;
        let crossing = self.session.packet_at(node, number)?;
        let is_receipt = matches!(crossing.way, Way::In | Way::Again);
        let packet = self
            .session
            .packet(crossing.packet)
            .filter(|_| is_receipt)?;
        let sent = packet.sent?;
        let sender = self
            .nodes
            .iter()
            .position(|node| *node == Some(packet.from))?;
        Some((sender, sent.number))
    }

    /// The messages that came in fragments, of which none is missing.
    pub(crate) fn wholes(&self) -> Vec<Whole> {
        if self.session.fragments().next().is_none() {
            return Vec::new();
        }
        let history = History::build(&self.session);
        let whole = history.joined.iter().map(|joined| {
            let of_it = joined.fragments.iter();
            let fragments = of_it.filter_map(|&it| self.session.fragment(it));
            Whole {
                protocol: joined.protocol,
                bytes: history.payload(&self.session, joined),
                fragments: fragments.collect(),
            }
        });
        whole.collect()
    }
}
