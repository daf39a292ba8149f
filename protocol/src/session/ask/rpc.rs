//! What RPCs are called, where the wire names them (`@rpc_name`).

use netreel_wire::{Decoded, MessageFacts, Place, TreeNode, Value};

use crate::history::History;
use crate::session::{MessageId, PacketId, Session};

/// An RPC: its name, and what its message says behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rpc {
    /// Its name.
    pub name: String,
    /// The fields that stand behind the name in its struct, and in those: each with its path from there.
    pub arguments: Vec<(String, Value)>,
}

impl Session {
    /// For each of a packet's messages, which are those of [`Session::look`] or
    /// [`Session::messages_of`], the name of the RPC that it is, where the wire names it. Empty where
    /// no message has one. The packet is decoded where one has, else not.
    pub fn rpc_names<'a>(
        &self,
        packet: PacketId,
        messages: impl Iterator<Item = &'a MessageFacts>,
    ) -> Vec<Option<String>> {
        self.named(packet, messages, name_at)
    }

    /// The same with their arguments.
    pub fn rpcs<'a>(
        &self,
        packet: PacketId,
        messages: impl Iterator<Item = &'a MessageFacts>,
    ) -> Vec<Option<Rpc>> {
        self.named(packet, messages, |decoded, place| {
            let name = name_at(decoded, place)?;
            let arguments = arguments_at(decoded, place).unwrap_or_default();
            Some(Rpc { name, arguments })
        })
    }

    fn named<'a, R>(
        &self,
        packet: PacketId,
        messages: impl Iterator<Item = &'a MessageFacts>,
        read: impl Fn(&Decoded, &Place) -> Option<R>,
    ) -> Vec<Option<R>> {
        let places: Vec<Option<&Place>> = messages.map(|facts| facts.rpc_name.as_ref()).collect();
        if places.iter().all(Option::is_none) {
            return Vec::new();
        }
        let Some(decoded) = self.decode(packet) else {
            return Vec::new();
        };
        let places = places.into_iter();
        places.map(|place| read(&decoded, place?)).collect()
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

/// The text of the field that is an RPC's name.
fn name_at(decoded: &Decoded, place: &Place) -> Option<String> {
    Some(match field_at(decoded, place)?.value() {
        Value::Text(text) => text,
        other => other.to_string(),
    })
}

/// The field that is an RPC's name. The place is that of the text, without the length before it.
fn field_at<'a>(decoded: &'a Decoded, place: &Place) -> Option<TreeNode<'a>> {
    decoded.tree.iter().find(|node| {
        let bits = node.bits();
        let is_around = bits.start <= place.bits.start && place.bits.end <= bits.end;
        node.stream() == place.stream && is_around && node.annotation() == Some("rpc_name")
    })
}

/// What stands behind an RPC's name in its struct.
fn arguments_at(decoded: &Decoded, place: &Place) -> Option<Vec<(String, Value)>> {
    let tree = &decoded.tree;
    let name = field_at(decoded, place)?.id();
    let around = tree.ancestors(name).next()?;
    let before = tree.path(around).len() + 1;
    let behind = tree.iter().filter(|node| node.id() > name);
    let within = behind.filter(|node| tree.ancestors(node.id()).any(|it| it == around));
    let values = within.filter(|node| node.value() != Value::None);
    let arguments = values.map(|node| {
        let path = tree.path(node.id());
        (path.get(before..).unwrap_or(&path).to_owned(), node.value())
    });
    Some(arguments.collect())
}

#[cfg(test)]
mod tests {
    use netreel_wire::{Context, PacketFacts, Wire};

    use super::*;

    const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
        enum Kind : u8 { rpc = 0 @rpc, }
        struct P { messages: M[1]; }
        struct M @message { kind: Kind @message_kind; call: Call; behind: u8; }
        struct Call { before: u8; name: string(u8, utf8) @rpc_name; count: u8; arguments: A[count]; }
        struct A { x: u8; }";

    #[test]
    fn arguments_are_what_stands_behind_the_name_in_its_struct() {
        let wire = Wire::compile("w.wire", WIRE).unwrap_or_else(|error| panic!("{error}"));
        let payload = [0, 9, 2, b'h', b'i', 2, 7, 8, 5];
        let mut facts = PacketFacts::default();
        let context = Context::default();
        wire.facts_in(&context, &mut wire.new_state(), &payload, &mut facts);
        let place = facts.messages[0].rpc_name.clone().expect("a name");
        let decoded = wire.decode_in(&context, &mut wire.new_state(), &payload);
        assert_eq!(name_at(&decoded, &place).as_deref(), Some("hi"));
        let found = arguments_at(&decoded, &place).expect("its struct");
        let found: Vec<(&str, String)> = found
            .iter()
            .map(|(path, value)| (path.as_str(), value.to_string()))
            .collect();
        let expected = [
            ("count", "2"),
            ("arguments[0].x", "7"),
            ("arguments[1].x", "8"),
        ];
        assert_eq!(
            found,
            expected.map(|(path, value)| (path, value.to_owned()))
        );
    }
}
