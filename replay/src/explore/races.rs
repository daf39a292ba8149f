//! Which deliveries of a run could have come in another order, and which orders are the same.
//!
//! Two deliveries at a node depend on each other where both are about one object and came from
//! different senders: no order holds between those. All others commute. A run's *order* is which of these
//! came the other way round than in the recording; two runs of the same order are one. UPDATEs of one sender
//! that came next to each other in the recording count as one.

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
    /// The only object whose messages are moved.
    pub object: Option<u64>,
}

/// What is the same in every run: a message by its own number, an UPDATE by its place among those of the
/// recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Said {
    Message(u64),
    Updates(u32),
    /// An UPDATE that the recording has not.
    Unknown,
}

/// A delivery, as one object at one node sees it.
#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Moment,
    natural: Moment,
    from: usize,
    sent: Option<PacketId>,
    said: Said,
}

impl Heard {
    fn is_update(&self) -> bool {
        !matches!(self.said, Said::Message(_))
    }
}

/// A node, and an object there.
type Place = (usize, u64);

/// The order of the recording: when each thing that is said of an object was first heard.
#[derive(Debug, Default)]
pub(super) struct BaseOrder {
    heard: BTreeMap<Place, BTreeMap<(usize, Said), u32>>,
    /// Which UPDATEs of an object a packet has.
    updates: BTreeMap<(Place, PacketId), u32>,
}

impl BaseOrder {
    pub fn of(trace: &[Delivery], marks: &mut Marks<'_>) -> BaseOrder {
        let mut base = BaseOrder::default();
        let mut lasts: BTreeMap<Place, (u32, Option<usize>, u32)> = BTreeMap::new();
        for delivery in trace {
            for mark in marks.of(&delivery.payload).iter() {
                let place = (delivery.node, mark.object);
                let (next, updates_of, run) = lasts.entry(place).or_default();
                let said = match mark.id {
                    Some(id) => Said::Message(id),
                    None => {
                        if *updates_of != Some(delivery.from) {
                            *run += 1;
                        }
                        if let Some(packet) = delivery.sent {
                            base.updates.insert((place, packet), *run);
                        }
                        Said::Updates(*run)
                    }
                };
                let heard = base.heard.entry(place).or_default();
                let key = (delivery.from, said);
                let is_copy = mark.id.is_some() && heard.contains_key(&key);
                if !is_copy {
                    *updates_of = mark.id.is_none().then_some(delivery.from);
                }
                heard.entry(key).or_insert(*next);
                *next += 1;
            }
        }
        base
    }

    /// When this was first heard in the recording.
    fn position(&self, place: Place, heard: &Heard) -> Option<u32> {
        self.heard
            .get(&place)?
            .get(&(heard.from, heard.said))
            .copied()
    }
}

/// The order of a run's deliveries, from somewhere on.
pub(super) struct Orders<'b> {
    base: &'b BaseOrder,
    /// Those whose order matters.
    heard: BTreeMap<Place, Vec<Heard>>,
    /// A number for the order of all.
    pub order: u64,
}

impl<'b> Orders<'b> {
    /// Of what a run with these changes delivered from its first change on.
    pub fn of(
        trace: &[Delivery],
        changes: &[Change],
        base: &'b BaseOrder,
        marks: &mut Marks<'_>,
    ) -> Orders<'b> {
        let mut heard: BTreeMap<Place, Vec<Heard>> = BTreeMap::new();
        for delivery in trace {
            for mark in marks.of(&delivery.payload).iter() {
                let place = (delivery.node, mark.object);
                let updates = || {
                    let run = base.updates.get(&(place, delivery.sent?));
                    run.map(|run| Said::Updates(*run))
                };
                let said = match mark.id {
                    Some(id) => Said::Message(id),
                    None => updates().unwrap_or(Said::Unknown),
                };
                heard.entry(place).or_default().push(Heard {
                    at: delivery.at,
                    natural: delivery.natural,
                    from: delivery.from,
                    sent: delivery.sent,
                    said,
                });
            }
        }
        heard.retain(|_, list| list.iter().any(|it| it.from != list[0].from));
        heard.values_mut().for_each(telling);
        let mut order = 0u64;
        for change in changes {
            if !matches!(change, Change::Hold { .. }) {
                order = order.wrapping_add(number(change));
            }
        }
        for (place, list) in &heard {
            for (at, first) in list.iter().enumerate() {
                for second in &list[at + 1..] {
                    order = order.wrapping_add(base.reversed(*place, first, second));
                }
            }
        }
        Orders { base, heard, order }
    }

    /// What could have come in another order, from this time on, and was not moved yet.
    pub fn candidates(&self, ground: &Ground, tries: &Tries, since_ns: i64) -> Vec<Candidate> {
        let mut found: BTreeMap<Change, u8> = BTreeMap::new();
        for (&(node, object), list) in &self.heard {
            let is_other = tries.only.is_some_and(|only| only != node);
            if is_other || tries.object.is_some_and(|only| only != object) {
                continue;
            }
            let far = if object >= CHANNELS { 3 } else { 0 };
            for (place, held) in list.iter().enumerate() {
                if held.at.ns < since_ns || held.at != held.natural {
                    continue;
                }
                for (change, class) in changes(held, &list[place + 1..], node, (ground, tries)) {
                    let known = found.entry(change).or_insert(far + class);
                    *known = (*known).min(far + class);
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
            return self.order.wrapping_add(number(change));
        };
        let mut order = self.order;
        for (place, list) in self.heard.range((to, 0)..=(to, u64::MAX)) {
            let held = list.iter().enumerate();
            let held =
                held.filter(|(_, it)| it.from == from && (since..until).contains(&it.natural));
            for (at, held) in held {
                for passed in &list[at + 1..] {
                    if passed.at >= until {
                        break;
                    }
                    if passed.from != from {
                        order = order
                            .wrapping_sub(self.base.reversed(*place, held, passed))
                            .wrapping_add(self.base.reversed(*place, passed, held));
                    }
                }
            }
        }
        order
    }
}

impl BaseOrder {
    /// A number for this pair if it came the other way round in the recording; else 0.
    fn reversed(&self, place: Place, first: &Heard, second: &Heard) -> u64 {
        let positions = (self.position(place, first), self.position(place, second));
        match positions {
            (Some(at), Some(before)) if at > before && first.from != second.from => {
                number(&(place, at, before))
            }
            _ => 0,
        }
    }
}

/// What makes what comes behind it come before it, and what loses or repeats it; each with its class.
fn changes(
    held: &Heard,
    behind: &[Heard],
    node: usize,
    (ground, tries): (&Ground, &Tries),
) -> Vec<(Change, u8)> {
    let mut found = Vec::new();
    let (from, to, since) = (held.from, node, held.at);
    for passed in behind {
        if passed.at.ns.saturating_sub(held.at.ns) > tries.hold_max_ns {
            break;
        }
        if passed.from == held.from {
            continue;
        }
        let class = u8::from(held.is_update()) + u8::from(passed.is_update());
        let until = passed.at.next();
        let hold = Change::Hold {
            from,
            to,
            since,
            until,
        };
        found.push((hold, class));
        if tries.repeats {
            let (at, again) = (held.at, until);
            let repeat = Change::Repeat {
                from,
                to,
                at,
                again,
            };
            found.push((repeat, class + 6));
        }
    }
    if tries.losses {
        found.push((
            Change::Lose {
                from,
                to,
                at: since,
            },
            4,
        ));
    }
    let next = held.sent.filter(|_| tries.deaths && !held.is_update());
    if let Some(turn) = next.map(|packet| packet.turn + 1)
        && let Some(of) = ground.nodes.get(from)
        && let Some(it) = of.turns.get(turn as usize)
    {
        let stop = Change::Stop {
            node: from,
            turn,
            ns: it.at_ns,
        };
        found.push((stop, 5));
    }
    found
}

/// Keeps what matters of what a node heard of an object: each message's first copy, and of UPDATEs of one
/// sender next to each other the first and the last.
fn telling(list: &mut Vec<Heard>) {
    let mut known: BTreeSet<(usize, u64)> = BTreeSet::new();
    list.retain(|heard| match heard.said {
        Said::Message(id) => known.insert((heard.from, id)),
        _ => true,
    });
    let all = std::mem::take(list);
    let is_update_of = |at: Option<usize>, from: usize| {
        let it = at.and_then(|at| all.get(at));
        it.is_some_and(|it: &Heard| it.is_update() && it.from == from)
    };
    for (at, heard) in all.iter().enumerate() {
        let is_within =
            is_update_of(at.checked_sub(1), heard.from) && is_update_of(Some(at + 1), heard.from);
        if !heard.is_update() || !is_within {
            list.push(*heard);
        }
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

/// A message that was delivered: with what, its kind, and whether it is an UPDATE.
type Message<'a> = (&'a Delivery, String, bool);

/// What these changes put into another order at one node, those that are no UPDATEs first. Each pair of
/// kinds once for an object.
pub(super) fn swaps(trace: &[Delivery], wire: &Wire) -> Vec<Swap> {
    let mut facts = PacketFacts::default();
    let mut said: BTreeMap<Place, Vec<Message<'_>>> = BTreeMap::new();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(turn: u32, from: usize, said: Said) -> Heard {
        let at = Moment {
            turn,
            ns: i64::from(turn) * 1_000_000,
        };
        Heard {
            at,
            natural: at,
            from,
            sent: None,
            said,
        }
    }

    const PLACE: Place = (0, 42);

    fn base(list: &[Heard]) -> BaseOrder {
        let positions = list
            .iter()
            .zip(0..)
            .map(|(it, at)| ((it.from, it.said), at));
        BaseOrder {
            heard: [(PLACE, positions.collect())].into(),
            updates: BTreeMap::new(),
        }
    }

    fn orders<'b>(list: &[Heard], base: &'b BaseOrder) -> Orders<'b> {
        let mut order = 0u64;
        for (at, first) in list.iter().enumerate() {
            for second in &list[at + 1..] {
                order = order.wrapping_add(base.reversed(PLACE, first, second));
            }
        }
        Orders {
            base,
            heard: [(PLACE, list.to_vec())].into(),
            order,
        }
    }

    #[test]
    fn copies_and_updates_amid_others_do_not_matter() {
        let (create, migrate) = (Said::Message(7), Said::Message(8));
        let mut list = vec![
            heard(1, 1, create),
            heard(2, 1, Said::Updates(1)),
            heard(3, 1, Said::Updates(1)),
            heard(4, 1, Said::Updates(1)),
            heard(5, 2, migrate),
            heard(6, 1, create),
        ];
        telling(&mut list);
        let turns: Vec<u32> = list.iter().map(|it| it.at.turn).collect();
        assert_eq!(turns, [1, 2, 4, 5]);
    }

    #[test]
    fn the_order_beforehand_is_the_one_that_comes() {
        let (create, migrate, destroy) = (Said::Message(7), Said::Message(8), Said::Message(9));
        let recorded = [
            heard(1, 1, create),
            heard(2, 2, migrate),
            heard(3, 3, destroy),
        ];
        let base = base(&recorded);
        let hold = |from, since: u32, until: u32| Change::Hold {
            from,
            to: 0,
            since: heard(since, 0, create).at,
            until: heard(until, 0, create).at.next(),
        };
        let before = orders(&recorded, &base);
        assert_eq!(before.order, 0);
        let after = [
            heard(2, 2, migrate),
            heard(3, 1, create),
            heard(4, 3, destroy),
        ];
        let after = orders(&after, &base);
        assert_eq!(before.order_with(&hold(1, 1, 2)), after.order);
        let last = [
            heard(2, 2, migrate),
            heard(3, 3, destroy),
            heard(4, 1, create),
        ];
        assert_eq!(
            before.order_with(&hold(1, 1, 3)),
            orders(&last, &base).order
        );
        // And back again.
        let mut moved = heard(3, 1, create);
        moved.natural = heard(1, 1, create).at;
        let moved = orders(&[heard(2, 2, migrate), moved], &base);
        assert_eq!(moved.order_with(&hold(2, 2, 3)), 0);
    }
}
