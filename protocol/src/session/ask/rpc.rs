//! What RPCs are called, where the wire names them (`@rpc_name`).

use netreel_wire::{Decoded, MessageFacts, Place, Value};

use crate::history::History;
use crate::session::{MessageId, PacketId, Session};

impl Session {
    /// For each of a packet's messages, which are those of [`Session::look`] or
    /// [`Session::messages_of`], the name of the RPC that it is, where the wire names it. Empty where
    /// no message has one. The packet is decoded where one has, else not.
    pub fn rpc_names<'a>(
        &self,
        packet: PacketId,
        messages: impl Iterator<Item = &'a MessageFacts>,
    ) -> Vec<Option<String>> {
        let places: Vec<Option<&Place>> = messages.map(|facts| facts.rpc_name.as_ref()).collect();
        if places.iter().all(Option::is_none) {
            return Vec::new();
        }
        let Some(decoded) = self.decode(packet) else {
            return Vec::new();
        };
        let names = places.into_iter();
        names.map(|place| name_at(&decoded, place?)).collect()
    }
}

impl History {
    /// The name of the RPC that a message in fragments is, where the wire names it; `None` also of
    /// a message that is no fragment.
    pub fn rpc_of_whole(&self, session: &Session, message: MessageId) -> Option<String> {
        let whole = self.joined_of.get(&message)?;
        let joined = self.joined.get(*whole as usize)?;
        let place = joined.facts.rpc_name.as_ref()?;
        let wire = session.wire.as_ref()?;
        let payload = self.payload(session, joined);
        name_at(&wire.decode_message(joined.protocol, &payload), place)
    }
}

/// The text of the field that is an RPC's name. The place is that of the text, without the length
/// before it.
fn name_at(decoded: &Decoded, place: &Place) -> Option<String> {
    let node = decoded.tree.iter().find(|node| {
        let bits = node.bits();
        let is_around = bits.start <= place.bits.start && place.bits.end <= bits.end;
        node.stream() == place.stream && is_around && node.annotation() == Some("rpc_name")
    })?;
    Some(match node.value() {
        Value::Text(text) => text,
        other => other.to_string(),
    })
}
