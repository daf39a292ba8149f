//! What packets say of objects, as the wire reads it, and what came before what, in words.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use netreel_wire::{PacketFacts, Role, Wire};

use super::ground::number_of;
use super::net::Delivery;
use super::tables::number;
use crate::agreed::kind_of;

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
        let kind = kind_of(wire, message)?;
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

/// A message that came before another one that it came behind in the recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Swap {
    /// The receiver.
    pub node: usize,
    /// The protocol's number of the object that both are about.
    pub object: u64,
    /// What came late: its kind, as the wire spells it, and its sender.
    pub late: (String, usize),
    /// What came before it.
    pub early: (String, usize),
}

/// A message that was delivered: with what, its kind, and whether it is an UPDATE.
type Message<'a> = (&'a Delivery, String, bool);

/// What these changes put into another order at one node, those that are no UPDATEs first. Each pair of
/// kinds once for an object.
pub(super) fn swaps(trace: &[Delivery], wire: &Wire) -> Vec<Swap> {
    let mut facts = PacketFacts::default();
    let mut said: BTreeMap<(usize, u64), Vec<Message<'_>>> = BTreeMap::new();
    for delivery in trace {
        wire.facts(&delivery.payload, &mut facts);
        for message in &facts.messages {
            if let (Some(object), Some(kind)) = (message.object, kind_of(wire, message)) {
                let is_update = kind.role == Role::Update;
                let list = said.entry((delivery.node, object)).or_default();
                list.push((delivery, kind.name.clone(), is_update));
            }
        }
    }
    let mut found: BTreeSet<(bool, Swap)> = BTreeSet::new();
    for ((node, object), list) in said {
        for (place, (early, early_kind, early_updates)) in list.iter().enumerate() {
            for (late, late_kind, late_updates) in &list[place + 1..] {
                if late.from == early.from || late.natural >= early.natural {
                    continue;
                }
                let swap = Swap {
                    node,
                    object,
                    late: (late_kind.clone(), late.from),
                    early: (early_kind.clone(), early.from),
                };
                found.insert((*early_updates || *late_updates, swap));
            }
        }
    }
    found.into_iter().map(|it| it.1).collect()
}
