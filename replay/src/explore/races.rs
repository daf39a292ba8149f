//! Which deliveries of a run could have come in another order, and which orders are the same.
//!
//! Two deliveries at a node depend on each other where both are about one object and came from
//! different senders: no order holds between those. All others commute. A run's *order* is, for each node
//! and object, the order of what depends on each other there; two runs of the same order are one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netreel_wire::{PacketFacts, Role, Wire};

use super::change::{Change, Moment};
use super::cut::PacketId;
use super::ground::{Ground, number_of};
use super::net::Delivery;
use super::tables::number;

/// What a packet says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    object: u64,
    /// The message's own number, the same in its copies; `None`: an UPDATE.
    id: Option<u64>,
}

/// From here on numbers are of channels, not of objects.
const CHANNELS: u64 = u64::MAX - (1 << 16);

/// Reads what packets say of objects, each packet once.
pub(super) struct Marks<'w> {
    wire: Option<&'w Wire>,
    known: BTreeMap<u64, Arc<[Mark]>>,
    facts: PacketFacts,
}

impl<'w> Marks<'w> {
    /// Without a wire every packet depends on every other one.
    pub fn new(wire: Option<&'w Wire>) -> Marks<'w> {
        Marks {
            wire,
            known: BTreeMap::new(),
            facts: PacketFacts::default(),
        }
    }

    fn of(&mut self, payload: &[u8]) -> Arc<[Mark]> {
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
        self.known.insert(key, Arc::clone(&marks));
        marks
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

/// A delivery, as one object at one node sees it.
#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Moment,
    natural: Moment,
    from: usize,
    sent: Option<PacketId>,
    id: Option<u64>,
}

/// A change to try, and the order that it should lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub change: Change,
    /// The lower, the sooner it is tried.
    pub class: u8,
    pub order: u64,
}

/// What is tried besides holding links.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    /// A link is held for no longer than this. ns.
    pub hold_max_ns: i64,
    /// Whether packets are lost.
    pub losses: bool,
    /// Whether packets come twice.
    pub repeats: bool,
    /// Whether nodes die.
    pub deaths: bool,
    /// The only node whose deliveries are moved.
    pub only: Option<usize>,
}

/// The order of a run's deliveries.
pub(super) struct Orders {
    heard: BTreeMap<(usize, u64), Vec<Heard>>,
    /// A number for the order of all.
    pub order: u64,
}

impl Orders {
    pub fn of(trace: &[Delivery], marks: &mut Marks<'_>) -> Orders {
        let mut heard: BTreeMap<(usize, u64), Vec<Heard>> = BTreeMap::new();
        for delivery in trace {
            for mark in marks.of(&delivery.payload).iter() {
                let list = heard.entry((delivery.node, mark.object)).or_default();
                list.push(Heard {
                    at: delivery.at,
                    natural: delivery.natural,
                    from: delivery.from,
                    sent: delivery.sent,
                    id: mark.id,
                });
            }
        }
        heard.retain(|_, list| list.iter().any(|it| it.from != list[0].from));
        let mut order = 0u64;
        for (key, list) in &heard {
            order = order.wrapping_add(ordered(*key, list.iter()));
        }
        Orders { heard, order }
    }

    /// What could have come in another order, from this time on, and was not moved yet.
    pub fn candidates(&self, ground: &Ground, tries: &Tries, since_ns: i64) -> Vec<Candidate> {
        let mut found: BTreeMap<Change, u8> = BTreeMap::new();
        let mut try_it = |change, class: u8| {
            let known = found.entry(change).or_insert(class);
            *known = class.min(*known);
        };
        for (&(node, object), list) in &self.heard {
            if tries.only.is_some_and(|only| only != node) {
                continue;
            }
            let far = if object >= CHANNELS { 3 } else { 0 };
            let telling = telling(list);
            for (place, &first) in telling.iter().enumerate() {
                let (held, natural) = (list[first], list[first].at == list[first].natural);
                if held.at.ns < since_ns || !natural {
                    continue;
                }
                for &second in &telling[place + 1..] {
                    let passed = list[second];
                    if passed.at.ns.saturating_sub(held.at.ns) > tries.hold_max_ns {
                        break;
                    }
                    if passed.from == held.from {
                        continue;
                    }
                    let class = far + u8::from(held.id.is_none()) + u8::from(passed.id.is_none());
                    let (from, to) = (held.from, node);
                    let until = passed.at.next();
                    let since = held.at;
                    try_it(
                        Change::Hold {
                            from,
                            to,
                            since,
                            until,
                        },
                        class,
                    );
                    if tries.repeats {
                        let (at, again) = (held.at, until);
                        try_it(
                            Change::Repeat {
                                from,
                                to,
                                at,
                                again,
                            },
                            class + 6,
                        );
                    }
                }
                let (from, to, at) = (held.from, node, held.at);
                if tries.losses {
                    try_it(Change::Lose { from, to, at }, far + 4);
                }
                if tries.deaths
                    && held.id.is_some()
                    && let Some(turn) = held.sent.map(|packet| packet.turn + 1)
                    && let Some(of) = ground.nodes.get(from)
                    && let Some(it) = of.turns.get(turn as usize)
                    && it.at_ns >= since_ns
                {
                    let ns = it.at_ns;
                    let node = from;
                    try_it(Change::Stop { node, turn, ns }, far + 5);
                }
            }
        }
        let orders = found.into_iter().map(|(change, class)| Candidate {
            change,
            class,
            order: self.order_with(&change),
        });
        orders.collect()
    }

    /// The order that this change should lead to, as far as it can be told beforehand.
    fn order_with(&self, change: &Change) -> u64 {
        let Change::Hold {
            from,
            to,
            since,
            until,
        } = *change
        else {
            return number(&(self.order, change));
        };
        let mut order = self.order;
        for (key, list) in self.heard.range((to, 0)..=(to, u64::MAX)) {
            let moves = |it: &Heard| it.from == from && (since..until).contains(&it.natural);
            if !list.iter().any(moves) {
                continue;
            }
            let mut moved: Vec<Heard> = list.clone();
            for it in moved.iter_mut().filter(|it| moves(it)) {
                it.at = it.at.max(until);
            }
            moved.sort_by_key(|it| it.at);
            order = order
                .wrapping_sub(ordered(*key, list.iter()))
                .wrapping_add(ordered(*key, moved.iter()));
        }
        order
    }
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

/// What these changes put into another order at one node, those that are no UPDATEs first. Each pair of
/// kinds once for an object.
pub(super) fn swaps(trace: &[Delivery], wire: &Wire) -> Vec<Swap> {
    let mut facts = PacketFacts::default();
    let mut said: BTreeMap<(usize, u64), Vec<(&Delivery, String, bool)>> = BTreeMap::new();
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

/// A number for the order in which a node heard of an object: copies of a message after the first are
/// passed over, and UPDATEs of one sender next to each other count as one.
fn ordered<'a>(key: (usize, u64), list: impl Iterator<Item = &'a Heard>) -> u64 {
    let mut known: BTreeSet<(usize, u64)> = BTreeSet::new();
    let mut last = None;
    let mut order = number(&key);
    for heard in list {
        match heard.id {
            Some(id) if !known.insert((heard.from, id)) => {}
            None if last == Some((heard.from, None)) => {}
            id => {
                last = Some((heard.from, id));
                order = number(&(order, heard.from, id));
            }
        }
    }
    order
}

/// The places whose order matters: each message's first copy, and of UPDATEs of one sender next to each
/// other the first and the last.
fn telling(list: &[Heard]) -> Vec<usize> {
    let mut known: BTreeSet<(usize, u64)> = BTreeSet::new();
    let mut places = Vec::new();
    let is_update_of = |at: Option<usize>, from: usize| {
        let it = at.and_then(|at| list.get(at));
        it.is_some_and(|it| it.id.is_none() && it.from == from)
    };
    for (at, heard) in list.iter().enumerate() {
        let tells = match heard.id {
            Some(id) => known.insert((heard.from, id)),
            None => {
                !is_update_of(at.checked_sub(1), heard.from)
                    || !is_update_of(Some(at + 1), heard.from)
            }
        };
        if tells {
            places.push(at);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(turn: u32, from: usize, id: Option<u64>) -> Heard {
        let at = Moment {
            turn,
            ns: i64::from(turn) * 1_000_000,
        };
        Heard {
            at,
            natural: at,
            from,
            sent: None,
            id,
        }
    }

    fn orders(list: Vec<Heard>) -> Orders {
        let key = (0, 42);
        let order = ordered(key, list.iter());
        Orders {
            heard: [(key, list)].into(),
            order,
        }
    }

    #[test]
    fn copies_and_updates_in_a_row_make_no_other_order() {
        let once = [
            heard(1, 1, Some(7)),
            heard(2, 1, None),
            heard(3, 2, Some(8)),
        ];
        let more = [
            heard(1, 1, Some(7)),
            heard(2, 1, None),
            heard(3, 1, None),
            heard(4, 2, Some(8)),
            heard(5, 1, Some(7)),
        ];
        assert_eq!(ordered((0, 42), once.iter()), ordered((0, 42), more.iter()));
    }

    #[test]
    fn the_order_beforehand_is_the_one_that_comes() {
        let before = orders(vec![heard(1, 1, Some(7)), heard(2, 2, Some(8))]);
        let change = Change::Hold {
            from: 1,
            to: 0,
            since: heard(1, 0, None).at,
            until: heard(2, 0, None).at.next(),
        };
        let after = orders(vec![heard(2, 2, Some(8)), heard(3, 1, Some(7))]);
        assert_eq!(before.order_with(&change), after.order);
        assert_ne!(before.order, after.order);
    }
}
