//! What a session is asked by those who show it.

use netreel_reel::{Event, EventNumber, OwnedRecord};
use netreel_wire::{Decoded, Kind, MessageFacts, Role};

use super::{Crossing, MessageId, NodeId, Packet, PacketId, Session, Stamp, Turn, Way};

impl Session {
    /// The bytes of a packet, read again from a reel that holds it.
    pub fn payload(&self, packet: PacketId) -> Option<Vec<u8>> {
        let packet = self.packet(packet)?;
        let (node, stamp) = match (packet.sent, packet.received) {
            (Some(sent), _) => (packet.from, sent),
            (None, Some(received)) => (packet.to, received),
            (None, None) => return None,
        };
        match self.record(node, stamp.number)?.as_record().event {
            Event::Sent { payload, .. } | Event::Received { payload, .. } => Some(payload.to_vec()),
            _ => None,
        }
    }

    /// Every field of a packet; `None` where there is no wire or the reel can no longer be read.
    pub fn decode(&self, packet: PacketId) -> Option<Decoded> {
        let wire = self.wire.as_ref()?;
        Some(wire.decode(&self.payload(packet)?))
    }

    /// One event of a node's reel.
    pub fn record(&self, node: NodeId, number: EventNumber) -> Option<OwnedRecord> {
        self.reels
            .get(usize::from(node.0))?
            .as_ref()?
            .record(number)
    }

    /// The packet with this number.
    pub fn packet(&self, packet: PacketId) -> Option<&Packet> {
        self.packets.get(packet.0 as usize)
    }

    /// The message with this number.
    pub fn message(&self, message: MessageId) -> Option<&super::Message> {
        self.messages.get(message.0 as usize)
    }

    /// A node's name; its number where there is no such node.
    pub fn name(&self, node: NodeId) -> String {
        match self.nodes.get(usize::from(node.0)) {
            Some(node) => node.name.clone(),
            None => format!("node {}", node.0),
        }
    }

    /// What people call the peer with this protocol number.
    pub fn peer_name(&self, peer: u64) -> String {
        match self.node_of_peer(peer) {
            Some(node) => self.name(node),
            None => format!("peer {peer}"),
        }
    }

    /// The first node that says it has this protocol number.
    pub fn node_of_peer(&self, peer: u64) -> Option<NodeId> {
        let place = self.nodes.iter().position(|node| node.peer == Some(peer))?;
        u16::try_from(place).ok().map(NodeId)
    }

    /// The packet that an event of a node's reel sent or received.
    pub fn packet_at(&self, node: NodeId, number: EventNumber) -> Option<Crossing> {
        let crossings = self.crossings.get(usize::from(node.0))?;
        let place = crossings
            .binary_search_by_key(&number, |each| each.number)
            .ok()?;
        crossings.get(place).copied()
    }

    /// The tick of a node in which an event lies.
    pub fn turn_at(&self, node: NodeId, number: EventNumber) -> Option<Turn> {
        let turns = self.turns.get(usize::from(node.0))?;
        let after = turns.partition_point(|turn| turn.begins <= number);
        turns.get(after.checked_sub(1)?).copied()
    }

    /// The kind of a message.
    pub fn kind(&self, message: MessageId) -> Option<&Kind> {
        let kind = self.message(message)?.kind()?;
        self.wire.as_ref()?.kinds().get(usize::from(kind.0))
    }

    /// What a message does.
    pub fn role(&self, facts: &MessageFacts) -> Role {
        let kinds = self.wire.as_ref().map_or(&[][..], |wire| wire.kinds());
        let kind = facts.kind.and_then(|kind| kinds.get(usize::from(kind.0)));
        kind.map_or(Role::Other, |kind| kind.role)
    }

    /// The packets of a node in the order of its own events, with the moment of each.
    pub fn crossings(&self, node: NodeId) -> impl Iterator<Item = (Crossing, Stamp)> + '_ {
        let crossings = self
            .crossings
            .get(usize::from(node.0))
            .map_or(&[][..], Vec::as_slice);
        crossings.iter().filter_map(|&crossing| {
            let packet = self.packet(crossing.packet)?;
            let stamp = match crossing.way {
                Way::Out => packet.sent?,
                Way::In => packet.received?,
                Way::Again => {
                    let again = &packet.duplicates;
                    let place = again.binary_search_by_key(&crossing.number, |each| each.number);
                    *again.get(place.ok()?)?
                }
            };
            Some((crossing, stamp))
        })
    }
}
