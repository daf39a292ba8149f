//! What messages tell of properties of objects, and which snapshots they begin: noted when the wire is asked
//! about their packets.

use std::collections::BTreeMap;

use netreel_reel::EventNumber;
use netreel_table::Blobs;
use netreel_wire::{Decoded, MessageFacts, PacketFacts, PropertyId, Value};

use super::bytes::{Bytes, put};
use super::values::{Values, write};
use crate::session::index::plain::indexed;
use crate::session::read::ends::Side;

/// What a message tells of objects beside its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectFact {
    /// A property, and the number of its value.
    Property(PropertyId, u32),
    /// A snapshot begins: its number, and that of its base.
    Snapshot(u64, Option<u64>),
}

/// What the ends of a piece of a reel tell of properties; empty where the wire declares none.
#[derive(Clone, Default)]
pub(crate) struct Properties {
    /// Of each side, for each end what the messages of its packet tell, written by [`write_entry`].
    ends: [Blobs; 3],
    values: Values,
    /// What the wire calls the types of objects, as far as packets say it, and which event said it first.
    types: BTreeMap<u64, (EventNumber, String)>,
    /// Of one value, before it has a number.
    bytes: Vec<u8>,
}

/// A message, by its place in its packet, and what it tells.
pub(crate) type Entry = (u32, ObjectFact);

impl Properties {
    /// Notes what a packet tells, behind the ends of a side before it.
    pub fn take(
        &mut self,
        (side, place, number): (Side, usize, EventNumber),
        facts: &PacketFacts,
        decoded: &Decoded,
    ) {
        for message in &facts.messages {
            name_type(message, decoded, &mut self.types, |name| (number, name));
        }
        let Properties {
            ends,
            values,
            bytes,
            ..
        } = self;
        let is_there = |message: u32| (message as usize) < facts.messages.len();
        let ends = &mut ends[side as usize];
        while ends.len() < place {
            ends.push(&[]);
        }
        ends.push_with(|to| {
            let snapshots = decoded.snapshots().into_iter();
            for told in snapshots.filter(|told| is_there(told.message)) {
                write_entry(
                    (told.message, ObjectFact::Snapshot(told.number, told.base)),
                    to,
                );
            }
            let properties = decoded.properties().into_iter();
            for told in properties.filter(|told| is_there(told.message)) {
                bytes.clear();
                write(&told.values, bytes);
                let value = values.number(bytes);
                write_entry(
                    (told.message, ObjectFact::Property(told.property, value)),
                    to,
                );
            }
        });
    }

    /// What the messages of an end's packet tell, in wire order, snapshots first.
    pub fn of(&self, side: Side, place: usize) -> impl Iterator<Item = Entry> + '_ {
        let mut left = Bytes(self.ends[side as usize].get(place));
        std::iter::from_fn(move || read_entry(&mut left))
    }

    pub fn values(&self) -> &Values {
        &self.values
    }

    pub fn types(&self) -> &BTreeMap<u64, (EventNumber, String)> {
        &self.types
    }

    /// No more come.
    pub fn shrink(&mut self) {
        self.ends.iter_mut().for_each(Blobs::shrink);
        self.values.shrink();
        self.bytes = Vec::new();
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let ends = self.ends.iter().map(Blobs::memory);
        ends.sum::<usize>() + self.values.memory()
    }
}

indexed!(Properties: (types) ends, values but bytes);

/// Notes what the wire calls the type of a message's object.
pub(crate) fn name_type<T>(
    facts: &MessageFacts,
    decoded: &Decoded,
    types: &mut BTreeMap<u64, T>,
    note: impl FnOnce(String) -> T,
) {
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
    types.insert(number, note(name.unwrap_or_else(|| number.to_string())));
}

fn write_entry((message, tells): Entry, to: &mut Vec<u8>) {
    match tells {
        ObjectFact::Property(property, value) => {
            put(u64::from(message) << 1, to);
            put(property.0.into(), to);
            put(value.into(), to);
        }
        ObjectFact::Snapshot(number, base) => {
            put(u64::from(message) << 1 | 1, to);
            put(number, to);
            put(base.is_some().into(), to);
            base.into_iter().for_each(|base| put(base, to));
        }
    }
}

fn read_entry(from: &mut Bytes<'_>) -> Option<Entry> {
    let head = from.next()?;
    let message = u32::try_from(head >> 1).ok()?;
    let tells = match head & 1 {
        0 => {
            let property = PropertyId(u16::try_from(from.next()?).ok()?);
            ObjectFact::Property(property, u32::try_from(from.next()?).ok()?)
        }
        _ => {
            let number = from.next()?;
            let base = match from.next()? {
                0 => None,
                _ => Some(from.next()?),
            };
            ObjectFact::Snapshot(number, base)
        }
    };
    Some((message, tells))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry() -> impl Strategy<Value = Entry> {
        let property = (any::<u16>(), any::<u32>());
        let property = property.prop_map(|(id, value)| ObjectFact::Property(PropertyId(id), value));
        let snapshot = (any::<u64>(), any::<Option<u64>>());
        let snapshot = snapshot.prop_map(|(number, base)| ObjectFact::Snapshot(number, base));
        (any::<u32>(), prop_oneof![property, snapshot])
    }

    proptest! {
        #[test]
        fn what_messages_tell_comes_back(entries in proptest::collection::vec(entry(), 0..6)) {
            let mut bytes = Vec::new();
            entries.iter().for_each(|&it| write_entry(it, &mut bytes));
            let mut left = Bytes(&bytes);
            let read: Vec<Entry> = std::iter::from_fn(|| read_entry(&mut left)).collect();
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn bytes_of_any_sort_are_read_to_an_end(bytes in any::<Vec<u8>>()) {
            let mut left = Bytes(&bytes);
            prop_assert!(std::iter::from_fn(|| read_entry(&mut left)).count() <= bytes.len());
        }
    }
}
