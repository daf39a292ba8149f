//! What messages tell of properties of objects: worked out when it is asked for, from what the wire said of
//! their packets.

use std::collections::BTreeMap;

use netreel_wire::{MessageFacts, Role};

use crate::history::History;
use crate::history::roles::is_about_object;
use crate::session::facts::values::{Values, write};
use crate::session::{MessageId, ObjectFact, PacketId, Session, name_type};

/// What messages tell.
#[derive(Default)]
pub(super) struct MessageProperties {
    /// The property, and the number of the value.
    rows: ByMessage<(u16, u32)>,
    /// The same of messages that travelled in fragments, by their places in [`History::joined`].
    joined: BTreeMap<u32, Vec<(u16, u32)>>,
    /// The messages that begin snapshots: their numbers and bases.
    snapshots: ByMessage<(u64, Option<u64>)>,
    pub values: Values,
    /// What the wire calls the types of objects, as far as packets say it.
    pub types: BTreeMap<u64, String>,
}

impl MessageProperties {
    /// What the messages about some objects tell.
    pub fn new(
        session: &Session,
        history: &History,
        wanted: &(dyn Fn(u64) -> bool + Sync),
    ) -> MessageProperties {
        let mut told = MessageProperties::default();
        let (mut rows, mut begun) = (Vec::new(), Vec::new());
        let is_wanted = |facts: &MessageFacts| {
            let role = session.role(facts);
            let tells = is_about_object(role) || role == Role::Baseline;
            tells && facts.object.is_some_and(wanted)
        };
        // Which messages of the packet that was asked about last are wanted.
        let mut known: (Option<PacketId>, Vec<(MessageId, bool)>) = (None, Vec::new());
        told.types = session.told().types();
        session.properties(&mut told.values, |packet, message, tells| match tells {
            ObjectFact::Snapshot(number, base) => begun.push((message, (number, base))),
            ObjectFact::Property(property, value) => {
                if known.0 != Some(packet) {
                    let messages = session.messages_of(packet);
                    known.1.clear();
                    known
                        .1
                        .extend(messages.map(|(id, facts)| (id, is_wanted(&facts))));
                    known.0 = Some(packet);
                }
                let first = known.1.first().map_or(message, |(first, _)| first.0);
                let own = known.1.get(message.wrapping_sub(first) as usize);
                if own.is_some_and(|&(_, is_wanted)| is_wanted) {
                    rows.push((message, (property.0, value)));
                }
            }
        });
        rows.sort_by_key(|&(message, (property, _))| (message, property));
        told.rows = ByMessage::new(rows);
        begun.sort_by_key(|&(message, _)| message);
        told.snapshots = ByMessage::new(begun);
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
            name_type(&joined.facts, &decoded, &mut self.types, |name| name);
            self.joined.insert(place, told);
        }
    }

    /// The values of a property, each as often as it was told.
    pub fn values_of(&self, property: u16) -> impl Iterator<Item = u32> + '_ {
        let joined = self.joined.values().flatten().copied();
        let plain = self.rows.rows.iter().map(|&(_, told)| told);
        let all = plain.chain(joined);
        all.filter(move |(each, _)| *each == property)
            .map(|(_, value)| value)
    }

    /// Whether objects come in snapshots.
    pub fn has_snapshots(&self) -> bool {
        !self.snapshots.rows.is_empty()
    }

    /// The number and the base of the snapshot that a message begins.
    pub fn snapshot(&self, message: MessageId) -> Option<(u64, Option<u64>)> {
        self.snapshots.of(message).last()
    }

    /// What a message tells, or the whole that it is a part of: properties and values.
    pub fn of<'a>(
        &'a self,
        history: &History,
        message: MessageId,
    ) -> impl Iterator<Item = (u16, u32)> + 'a {
        let whole = history.joined_of.get(&message);
        let joined = whole.and_then(|whole| self.joined.get(whole));
        let plain = whole
            .is_none()
            .then(|| self.rows.of(message))
            .into_iter()
            .flatten();
        joined.into_iter().flatten().copied().chain(plain)
    }
}

/// What stands for messages, ordered by message, so that whoever asks for one after the other finds each
/// near the last.
#[derive(Default)]
struct ByMessage<T> {
    rows: Vec<(u32, T)>,
    /// For each [`STEP`] messages the row that is their first.
    starts: Vec<u32>,
}

const STEP: u32 = 64;

impl<T: Copy> ByMessage<T> {
    /// Of rows in order.
    fn new(rows: Vec<(u32, T)>) -> ByMessage<T> {
        let mut starts = Vec::new();
        for (row, (message, _)) in (0u32..).zip(&rows) {
            while starts.len() <= (message / STEP) as usize {
                starts.push(row);
            }
        }
        ByMessage { rows, starts }
    }

    fn of(&self, message: MessageId) -> impl Iterator<Item = T> + '_ {
        let step = (message.0 / STEP) as usize;
        let start = self.starts.get(step).copied();
        let end = self.starts.get(step + 1).copied();
        let end = end.map_or(self.rows.len(), |end| end as usize);
        let near = start
            .and_then(|start| self.rows.get(start as usize..end))
            .unwrap_or_default();
        let first = near.partition_point(|(each, _)| *each < message.0);
        let own = near
            .iter()
            .skip(first)
            .take_while(move |(each, _)| *each == message.0);
        own.map(|&(_, told)| told)
    }
}
