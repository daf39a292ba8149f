//! What packets say of objects, as the wire reads it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use netreel_wire::{PacketFacts, Role, Wire};

use super::ground::number_of;
use super::tables::number;

/// What a packet says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub object: u64,
    /// The message's own number, the same in its copies; `None`: an UPDATE.
    pub id: Option<u64>,
}

/// From here on numbers are of channels, not of objects.
pub(super) const CHANNELS: u64 = u64::MAX - (1 << 16);

/// How many packets are known at most; a packet beyond is read anew.
const KNOWN_MAX: usize = 1 << 16;

/// Reads what packets say of objects, each packet once as long as it is known.
pub(super) struct Marks<'w> {
    wire: Option<&'w Wire>,
    known: HashMap<u64, Arc<[Mark]>, BuildHasherDefault<AsItIs>>,
    facts: PacketFacts,
}

impl<'w> Marks<'w> {
    /// Without a wire every packet depends on every other one.
    pub fn new(wire: Option<&'w Wire>) -> Marks<'w> {
        Marks {
            wire,
            known: HashMap::default(),
            facts: PacketFacts::default(),
        }
    }

    /// What a packet says.
    pub fn of(&mut self, payload: &[u8]) -> Arc<[Mark]> {
        let key = number_of(payload);
        if let Some(known) = self.known.get(&key) {
            return Arc::clone(known);
        }
        let marks: Arc<[Mark]> = match self.wire {
            None => [Mark {
                object: CHANNELS,
                id: Some(key),
            }]
            .into(),
            Some(wire) => read(wire, payload, &mut self.facts).into(),
        };
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(key, Arc::clone(&marks));
        marks
    }
}

/// A number that is a hash already.
#[derive(Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

fn read(wire: &Wire, payload: &[u8], facts: &mut PacketFacts) -> Vec<Mark> {
    wire.facts(payload, facts);
    let marks = facts.messages.iter().filter_map(|message| {
        let kind = wire.kinds().get(usize::from(message.kind?.0))?;
        let place = message.reliable_sequence.map(|it| it.value);
        let id = (
            kind.role,
            message.migration_counter,
            message.owner,
            message.new_owner,
            place,
        );
        let id = (kind.role != Role::Update).then(|| number(&id));
        let channel = CHANNELS + message.channel.unwrap_or(0).min(u64::MAX - CHANNELS);
        match message.object {
            Some(object) => Some(Mark { object, id }),
            None if message.reliable => Some(Mark {
                object: channel,
                id,
            }),
            None => None,
        }
    });
    marks.collect()
}
