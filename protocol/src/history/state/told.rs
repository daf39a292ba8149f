//! What messages tell of properties of objects: worked out when it is asked for, from the reels.

use std::collections::BTreeMap;

use netreel_wire::{Decoded, MessageFacts, Role, Value};

use super::value::{Values, write};
use crate::history::History;
use crate::history::nodes::is_about_object;
use crate::session::{MessageId, PacketId, Session};

/// What messages tell.
#[derive(Default)]
pub(super) struct Told {
    /// The message, the property, and the number of the value, in order.
    rows: Vec<(u32, u16, u32)>,
    /// The same of messages that travelled in fragments, by their places in [`History::joined`].
    joined: BTreeMap<u32, Vec<(u16, u32)>>,
    /// The messages that begin snapshots: their numbers and bases.
    snapshots: BTreeMap<u32, (u64, Option<u64>)>,
    pub values: Values,
    /// What the wire calls the types of objects, as far as packets say it.
    pub types: BTreeMap<u64, String>,
}

/// A piece of a reel.
#[derive(Default)]
struct Gathered {
    /// The message, the property, and where the value ends in the bytes.
    rows: Vec<(u32, u16, usize)>,
    bytes: Vec<u8>,
    snapshots: Vec<(u32, (u64, Option<u64>))>,
    types: BTreeMap<u64, String>,
}

impl Told {
    /// What the messages about some objects tell.
    pub fn new(
        session: &Session,
        history: &History,
        wanted: &(dyn Fn(u64) -> bool + Sync),
    ) -> Told {
        let mut told = Told::default();
        let is_wanted = |facts: &MessageFacts| {
            let role = session.role(facts);
            let tells = is_about_object(role) || role == Role::Baseline;
            tells && facts.object.is_some_and(wanted)
        };
        let wire = session.wire.as_ref();
        let snapshots = wire.is_some_and(|wire| wire.has_field(None, Some("snapshot")));
        let pieces: Vec<Gathered> = session.decode_all(
            |packet| {
                let mut messages = session.messages_of(packet);
                messages.any(|(_, facts)| snapshots || is_wanted(&facts))
            },
            |packet, decoded, gathered: &mut Gathered| {
                gathered.take(session, packet, decoded, &is_wanted);
            },
        );
        for piece in pieces {
            let mut start = 0;
            for (message, property, end) in piece.rows {
                let bytes = piece.bytes.get(start..end).unwrap_or_default();
                told.rows
                    .push((message, property, told.values.number(bytes)));
                start = end;
            }
            told.snapshots.extend(piece.snapshots);
            for (number, name) in piece.types {
                told.types.entry(number).or_insert(name);
            }
        }
        told.rows
            .sort_by_key(|&(message, property, _)| (message, property));
        told.join(session, history, &is_wanted);
        told.values.shrink();
        told
    }

    fn join(
        &mut self,
        session: &Session,
        history: &History,
        is_wanted: &dyn Fn(&MessageFacts) -> bool,
    ) {
        let Some(wire) = &session.wire else { return };
        for (place, joined) in (0u32..).zip(&history.joined) {
            if !is_wanted(&joined.facts) {
                continue;
            }
            let payload = history.payload(session, joined);
            let decoded = wire.decode_message(joined.protocol, &payload);
            let mut told: Vec<(u16, u32)> = Vec::new();
            for each in decoded.properties() {
                let mut bytes = Vec::new();
                write(&each.values, &mut bytes);
                told.push((each.property.0, self.values.number(&bytes)));
            }
            told.sort_by_key(|&(property, _)| property);
            name_type(&joined.facts, &decoded, &mut self.types);
            self.joined.insert(place, told);
        }
    }

    /// The values of a property, each as often as it was told.
    pub fn values_of(&self, property: u16) -> impl Iterator<Item = u32> + '_ {
        let joined = self.joined.values().flatten().copied();
        let plain = self
            .rows
            .iter()
            .map(|&(_, property, value)| (property, value));
        let all = plain.chain(joined);
        all.filter(move |(each, _)| *each == property)
            .map(|(_, value)| value)
    }

    /// Whether objects come in snapshots.
    pub fn has_snapshots(&self) -> bool {
        !self.snapshots.is_empty()
    }

    /// The number and the base of the snapshot that a message begins.
    pub fn snapshot(&self, message: MessageId) -> Option<(u64, Option<u64>)> {
        self.snapshots.get(&message.0).copied()
    }

    /// What a message tells, or the whole that it is a part of: properties and values.
    pub fn of<'a>(
        &'a self,
        history: &History,
        message: MessageId,
    ) -> impl Iterator<Item = (u16, u32)> + 'a {
        let whole = history.joined_of.get(&message);
        let joined = whole.and_then(|whole| self.joined.get(whole));
        let start = match whole {
            Some(_) => self.rows.len(),
            None => self.rows.partition_point(|&(each, ..)| each < message.0),
        };
        let plain = self.rows.get(start..).unwrap_or_default().iter();
        let plain = plain
            .take_while(move |&&(each, ..)| each == message.0)
            .map(|&(_, property, value)| (property, value));
        joined.into_iter().flatten().copied().chain(plain)
    }
}

impl Gathered {
    fn take(
        &mut self,
        session: &Session,
        packet: PacketId,
        decoded: &Decoded,
        is_wanted: &dyn Fn(&MessageFacts) -> bool,
    ) {
        let messages: Vec<(MessageId, MessageFacts)> = session.messages_of(packet).collect();
        for told in decoded.properties() {
            let Some((id, facts)) = messages.get(told.message as usize) else {
                continue;
            };
            if is_wanted(facts) {
                write(&told.values, &mut self.bytes);
                self.rows.push((id.0, told.property.0, self.bytes.len()));
            }
        }
        for told in decoded.snapshots() {
            if let Some((id, _)) = messages.get(told.message as usize) {
                self.snapshots.push((id.0, (told.number, told.base)));
            }
        }
        for (_, facts) in &messages {
            name_type(facts, decoded, &mut self.types);
        }
    }
}

/// Notes what the wire calls the type of a message's object.
fn name_type(facts: &MessageFacts, decoded: &Decoded, types: &mut BTreeMap<u64, String>) {
    let Some(number) = facts.object_type.filter(|it| !types.contains_key(it)) else {
        return;
    };
    let mut nodes = decoded.tree.iter();
    let name = nodes.find_map(|node| match node.value() {
        Value::Enum {
            raw,
            name: Some(name),
        } if node.annotation() == Some("object_type") && raw == number => Some(name.to_string()),
        _ => None,
    });
    types.insert(number, name.unwrap_or_else(|| number.to_string()));
}
