//! What RPCs are called, where the wire names them (`@rpc_name`).

use netreel_wire::{Decoded, MessageFacts, Place, Value};

use crate::history::History;
use crate::session::{MessageId, PacketId, Session};

impl Session {
    /// The name of each RPC of a packet that the wire names, in wire order. The packet is decoded
    /// where one of its messages has a name, else not.
    pub fn rpc_names(&self, packet: PacketId) -> Vec<(MessageId, String)> {
        let named = self.messages_of(packet);
        let named = named.filter_map(|(id, facts)| Some((id, facts.rpc_name?)));
        let named: Vec<(MessageId, Place)> = named.collect();
        if named.is_empty() {
            return Vec::new();
        }
        let Some(decoded) = self.decode(packet) else {
            return Vec::new();
        };
        let names = named.into_iter();
        let names = names.filter_map(|(id, place)| Some((id, name_at(&decoded, &place)?)));
        names.collect()
    }
}

impl History {
    /// The name of the RPC that a message in fragments is, where the wire names it; `None` also of
    /// a message that is no fragment.
    pub fn rpc_of_whole(&self, session: &Session, message: MessageId) -> Option<String> {
        let whole = self.joined_of.get(&message)?;
        let joined = self.joined.get(*whole as usize)?;
        let MessageFacts { rpc_name, .. } = &joined.facts;
        let place = rpc_name.as_ref()?;
        let wire = session.wire.as_ref()?;
        let payload = self.payload(session, joined);
        name_at(&wire.decode_message(joined.protocol, &payload), place)
    }
}

/// The text of the field that is an RPC's name at a place.
fn name_at(decoded: &Decoded, place: &Place) -> Option<String> {
    let mut nodes = decoded.tree.iter();
    let node = nodes.find(|node| {
        let is_there = node.stream() == place.stream && node.bits().start >= place.bits.start;
        is_there && node.bits().end <= place.bits.end && node.annotation() == Some("rpc_name")
    })?;
    Some(match node.value() {
        Value::Text(text) => text,
        Value::Enum {
            name: Some(name), ..
        } => name.to_string(),
        other => other.to_string(),
    })
}
