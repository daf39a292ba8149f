//! What a session is asked by those who show it.

use netreel_reel::{EventNumber, OwnedRecord, Reel};
use netreel_wire::{ConnectionState, Context, Decoded, Kind, MessageFacts, Role};

use super::connections::{Connection, payload};
use super::{
    Crossing, Interface, Measured, MessageId, NodeId, ObserverId, Packet, PacketId, Session, Stamp,
    Turn, Way,
};

impl Session {
    /// What the times of packets between two nodes are the times of.
    pub fn measured(&self, from: NodeId, to: NodeId) -> Measured {
        let at_proxy = |node: NodeId| {
            let node = self.nodes.get(usize::from(node.0));
            node.is_some_and(|node| node.proxied)
        };
        match (at_proxy(from), at_proxy(to)) {
            (false, false) => Measured::Whole,
            (false, true) => Measured::ToProxy,
            (true, false) => Measured::FromProxy,
            (true, true) => Measured::InProxy,
        }
    }

    /// Where a node was captured; nothing where it was not.
    pub(crate) fn captured_at(&self, node: NodeId) -> &[Interface] {
        let node = self.nodes.get(usize::from(node.0));
        node.map_or(&[], |node| &node.interfaces)
    }

    /// The bytes of a packet, read again from a reel that holds it.
    pub fn payload(&self, packet: PacketId) -> Option<Vec<u8>> {
        let (reel, _, number) = self.source(packet)?;
        let record = reel.record(number)?;
        payload(&record.as_record().event).map(<[u8]>::to_vec)
    }

    /// The reel whose view of a packet counts, its connections, and the event there: the sender's
    /// where it was recorded, or else an observer's, or else the receiver's.
    fn source(&self, packet: PacketId) -> Option<(&Reel, &[Connection], EventNumber)> {
        let packet = self.packet(packet)?;
        let node = |node: NodeId, number| {
            let place = usize::from(node.0);
            let reel = self.reels.get(place)?.as_deref()?;
            let connections = self.connections.get(place)?;
            Some((reel, connections.as_slice(), number))
        };
        if let Some(sent) = packet.sent {
            return node(packet.from, sent.number);
        }
        if let Some(seen) = packet.seen.first() {
            let observer = self.observers.get(usize::from(seen.observer.0))?;
            let connections = observer.connections.as_slice();
            return Some((&observer.reel, connections, seen.stamp.number));
        }
        node(packet.to, packet.received?.number)
    }

    /// What is known of a packet besides its bytes: how it travelled, and what its connection kept
    /// before it. `None` where there is no wire or the reel can no longer be read.
    pub fn surroundings(&self, packet: PacketId) -> Option<(Context, ConnectionState)> {
        let wire = self.wire.as_ref()?;
        let (reel, connections, number) = self.source(packet)?;
        let record = reel.record(number)?;
        let record = record.as_record();
        let mut fitting = connections
            .iter()
            .filter_map(|each| Some((each, each.is_out(&record)?)));
        let (connection, out) = if wire.has_state() {
            fitting.find(|(each, _)| each.holds(number))?
        } else {
            fitting.next()?
        };
        let state = if wire.has_state() {
            connection.state_before(number, wire, reel)?
        } else {
            wire.new_state()
        };
        Some((connection.context(out), state))
    }

    /// Every field of a packet, after all packets of its connection before it; `None` where there is
    /// no wire or the reel can no longer be read.
    pub fn decode(&self, packet: PacketId) -> Option<Decoded> {
        let wire = self.wire.as_ref()?;
        let (context, mut state) = self.surroundings(packet)?;
        Some(wire.decode_in(&context, &mut state, &self.payload(packet)?))
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

    /// What people call an observer.
    pub fn observer_name(&self, observer: ObserverId) -> String {
        match self.observers.get(usize::from(observer.0)) {
            Some(observer) => observer.name.clone(),
            None => format!("observer {}", observer.0),
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
                Way::Out => packet.departed()?,
                Way::In => packet.received?,
                Way::Passing => packet.seen.last()?.stamp,
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
