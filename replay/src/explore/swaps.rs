//! What came before what, in words.

use std::collections::{BTreeMap, BTreeSet};

use netreel_wire::{PacketFacts, Role, Wire};

use super::net::Delivery;

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
            let kind = message
                .kind
                .and_then(|kind| wire.kinds().get(usize::from(kind.0)));
            if let (Some(object), Some(kind)) = (message.object, kind) {
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
