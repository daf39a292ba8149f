//! What messages tell of properties of objects: worked out when it is asked for, from what the wire said of
//! their packets.

use std::collections::BTreeMap;

use netreel_table::Column;
use netreel_wire::{MessageFacts, Role};

use crate::history::History;
use crate::history::roles::is_about_object;
use crate::session::facts::values::{Values, write};
use crate::session::{MessageId, ObjectFact, PacketId, Session, name_type};

/// What messages tell.
#[derive(Default)]
pub(super) struct MessageProperties {
    /// The property, and the number of the value.
    plain: ByMessage,
    /// The same of messages that travelled in fragments, by their places in [`History::joined`].
    joined: BTreeMap<u32, Vec<(u16, u32)>>,
    /// Of messages that begin snapshots: the number, and one more than the number of the base, or 0.
    snapshots: ByMessage,
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
        let is_wanted = |facts: &MessageFacts| {
            let role = session.role(facts);
            let tells = is_about_object(role) || role == Role::Baseline;
            tells && facts.object.is_some_and(wanted)
        };
        // Of the packet that was asked about last: wanted messages, what they tell, snapshots that begin.
        let mut known: (Option<PacketId>, Vec<u32>) = (None, Vec::new());
        let (mut rows, mut begun): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
        told.types = session.told().types();
        let MessageProperties {
            plain,
            snapshots,
            values,
            ..
        } = &mut told;
        session.properties(values, |packet, message, tells| {
            if known.0 != Some(packet) {
                plain.take(&mut rows);
                snapshots.take(&mut begun);
                known.1.clear();
                let messages = session.messages_of(packet);
                let wanted = messages.filter(|(_, facts)| is_wanted(facts));
                known.1.extend(wanted.map(|(id, _)| id.0));
                known.0 = Some(packet);
            }
            match tells {
                // The highest number is a base that nobody has.
                ObjectFact::Snapshot(number, base) => {
                    let base = base.map_or(0, |base| base.saturating_add(1));
                    begun.retain(|&(before, _)| before != message);
                    begun.push((message, [number, base]));
                }
                ObjectFact::Property(property, value) => {
                    if known.1.binary_search(&message).is_ok() {
                        rows.push((message, [u64::from(property.0), u64::from(value)]));
                    }
                }
            }
        });
        plain.take(&mut rows);
        snapshots.take(&mut begun);
        plain.end();
        snapshots.end();
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
        let [properties, values] = &self.plain.rows;
        let plain = properties.iter().zip(values.iter());
        let all = plain
            .map(|(property, value)| (property as u16, value as u32))
            .chain(joined);
        all.filter(move |(each, _)| *each == property)
            .map(|(_, value)| value)
    }

    /// Whether objects come in snapshots.
    pub fn has_snapshots(&self) -> bool {
        !self.snapshots.rows[0].is_empty()
    }

    /// The number and the base of the snapshot that a message begins.
    pub fn snapshot(&self, message: MessageId) -> Option<(u64, Option<u64>)> {
        let [number, base] = self.snapshots.of(message).last()?;
        Some((number, base.checked_sub(1)))
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
            .then(|| self.plain.of(message))
            .into_iter()
            .flatten()
            .map(|[property, value]| (property as u16, value as u32));
        joined.into_iter().flatten().copied().chain(plain)
    }
}

/// A message and what it tells.
type Row = (u32, [u64; 2]);

/// What stands for messages, ordered by message.
#[derive(Default)]
struct ByMessage {
    /// For each message where its rows begin, and where those of the last one end.
    starts: Column,
    rows: [Column; 2],
}

impl ByMessage {
    /// Takes the rows of a packet, which come behind all others, and puts each message's in order.
    fn take(&mut self, rows: &mut Vec<Row>) {
        rows.sort_by_key(|&(message, [first, _])| (message, first));
        for (message, row) in rows.drain(..) {
            while self.starts.len() <= message as usize {
                self.starts.push(self.rows[0].len() as u64);
            }
            let columns = self.rows.iter_mut().zip(row);
            columns.for_each(|(column, value)| column.push(value));
        }
    }

    /// No more come.
    fn end(&mut self) {
        self.starts.push(self.rows[0].len() as u64);
        self.starts.shrink();
        self.rows.iter_mut().for_each(Column::shrink);
    }

    fn of(&self, message: MessageId) -> impl Iterator<Item = [u64; 2]> + '_ {
        let [first, second] = &self.rows;
        let [begin, end] = [0, 1].map(|more| self.starts.get(message.0 as usize + more) as usize);
        (begin..end).map(|row| [first.get(row), second.get(row)])
    }
}
