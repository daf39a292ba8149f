//! Which deliveries of a run could have come in another order, and which orders are the same.
//!
//! Two deliveries at a node depend on each other where both are about one object and came from
//! different senders: no order holds between those. All others commute. A run's *order* is which of these
//! came the other way round than in the recording; two runs of the same order are one. UPDATEs of one sender
//! that came next to each other in the recording count as one.

use std::collections::{BTreeMap, BTreeSet};

use super::base_order::{Deed, Place, Said};
use super::change::{Change, ChangeKind, Moment};
use super::cut::PacketId;
use super::ground::Ground;
use super::marks::{CHANNELS, Marks};
use super::net::Delivery;
use super::tables::number;

pub(super) use super::base_order::BaseOrder;

/// A change to try, and the order that it should lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub change: Change,
    /// The lower, the sooner it is tried.
    pub class: u8,
    pub order: u64,
    /// Whether the order is told by what came: of what is lost, or comes twice, it is not.
    pub is_told: bool,
}

/// A delivery, as one object at one node sees it.
#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Moment,
    natural: Moment,
    from: usize,
    sent: Option<PacketId>,
    said: Said,
    /// When this was first heard in the recording.
    position: Option<u32>,
}

impl Heard {
    fn is_update(&self) -> bool {
        matches!(self.said, Said::Updates(_) | Said::Unknown)
    }

    fn is_deed(&self) -> bool {
        matches!(self.said, Said::Deed(_))
    }
}

/// So far behind another packet the first change puts one; each further change half as far, so that it comes
/// between. Less than lies between two packets of a turn. ns.
const BEHIND_NS: i64 = 256;

/// The order of a run's deliveries, from somewhere on.
pub(super) struct Orders {
    /// Those whose order matters.
    heard: BTreeMap<Place, Vec<Heard>>,
    /// A number for the order of all.
    pub order: u64,
}

impl Orders {
    /// Of what a run with these changes delivered from its first change on.
    pub fn of(
        trace: &[Delivery],
        changes: &[Change],
        base: &BaseOrder,
        marks: &mut Marks<'_>,
    ) -> Orders {
        let mut heard: BTreeMap<Place, Vec<Heard>> = BTreeMap::new();
        // Until then all came as it was recorded, and what comes again is a copy, though the trace begins
        // later.
        let since_ns = changes.iter().map(|it| it.since.ns).min();
        for delivery in trace {
            for mark in marks.of(&delivery.payload).iter() {
                let place = (delivery.node, mark.object);
                let updates = || base.updates(delivery.key, mark.object);
                let said = match mark.id {
                    Some(id) => Said::Message(id),
                    None => updates().map_or(Said::Unknown, Said::Updates),
                };
                let of = (delivery.from, said);
                if since_ns.is_some_and(|since| base.is_copy(place, of, delivery.natural, since)) {
                    continue;
                }
                heard.entry(place).or_default().push(Heard {
                    at: delivery.at,
                    natural: delivery.natural,
                    from: delivery.from,
                    sent: delivery.sent,
                    said,
                    position: base.position(place, delivery.from, said),
                });
            }
        }
        if let Some(known) = &base.deeds {
            let deeds = known.of_run(trace, changes, marks);
            for deed in deeds.in_order() {
                put_deed(&deed, base, &mut heard);
            }
        }
        heard.retain(|_, list| base.singles || list.iter().any(|it| it.from != list[0].from));
        heard.values_mut().for_each(telling);
        let mut order = 0u64;
        for change in changes {
            if !matches!(change.kind, ChangeKind::Hold | ChangeKind::Pause) {
                order = order.wrapping_add(number(change));
            }
        }
        for (place, list) in &heard {
            // What came as it was recorded has nothing that came the other way round.
            let positions = list.iter().filter_map(|it| it.position);
            if positions.is_sorted() {
                continue;
            }
            for (at, first) in list.iter().enumerate() {
                for second in &list[at + 1..] {
                    order = order.wrapping_add(reversed(*place, first, second));
                }
            }
        }
        Orders { heard, order }
    }

    /// What could have come in another order.
    ///
    /// `before`: what is changed already.
    pub fn candidates(&self, ground: &Ground, tries: &Tries, before: &[Change]) -> Vec<Candidate> {
        let depth = before.len();
        let lost = before.iter().filter(|it| it.kind == ChangeKind::Lose);
        let mut tries = *tries;
        tries.losses = tries.losses.saturating_sub(lost.count());
        let behind_ns = BEHIND_NS
            .checked_shr(u32::try_from(depth).unwrap_or(u32::MAX))
            .unwrap_or(0)
            .max(1);
        let mut found: BTreeMap<Change, u8> = BTreeMap::new();
        for (&(node, object), list) in &self.heard {
            let is_other = tries.only.is_some_and(|only| only != node);
            if is_other || tries.object.is_some_and(|only| only != object) {
                continue;
            }
            let far = if object >= CHANNELS { 3 } else { 0 };
            for (place, held) in list.iter().enumerate() {
                for (change, class) in changes(
                    held,
                    &list[place + 1..],
                    (node, behind_ns),
                    (ground, &tries),
                ) {
                    let known = found.entry(change).or_insert(far + class);
                    *known = (*known).min(far + class);
                }
            }
        }
        let links = self.links();
        let orders = found.into_iter().map(|(change, class)| Candidate {
            change,
            class,
            order: self.order_with(&change, &links),
            is_told: change.kind == ChangeKind::Hold,
        });
        orders.collect()
    }

    /// What came over each link, by when it would have come without changes.
    fn links(&self) -> Links<'_> {
        let mut links = Links::new();
        for (&place, list) in &self.heard {
            for (at, heard) in list.iter().enumerate() {
                let of = links.entry((heard.from, place.0)).or_default();
                of.push((heard.natural, place, &list[at..]));
            }
        }
        let sort = |of: &mut Vec<(Moment, Place, &[Heard])>| of.sort_by_key(|it| (it.0, it.1));
        links.values_mut().for_each(sort);
        links
    }

    /// The order that this change should lead to, as far as it can be told beforehand.
    fn order_with(&self, change: &Change, links: &Links<'_>) -> u64 {
        if change.kind != ChangeKind::Hold {
            return self.order.wrapping_add(number(change));
        }
        let (from, until) = (change.from, change.until);
        let of = links.get(&(from, change.to));
        let of = of.map_or(&[][..], Vec::as_slice);
        let first = of.partition_point(|it| it.0 < change.since);
        let behind = of[first..].partition_point(|it| it.0 < until);
        let mut order = self.order;
        for (_, place, list) in &of[first..first + behind] {
            let Some((held, passed)) = list.split_first().filter(|it| it.0.at < until) else {
                continue;
            };
            let passed = passed.iter().take_while(|it| it.at < until);
            for passed in passed.filter(|it| it.from != from) {
                order = order
                    .wrapping_sub(reversed(*place, held, passed))
                    .wrapping_add(reversed(*place, passed, held));
            }
        }
        order
    }
}

/// By link: when something would have come, of what, and that with all that came behind it.
type Links<'o> = BTreeMap<(usize, usize), Vec<(Moment, Place, &'o [Heard])>>;

/// A number for this pair if it came the other way round in the recording; else 0.
fn reversed(place: Place, first: &Heard, second: &Heard) -> u64 {
    match (first.position, second.position) {
        (Some(at), Some(before)) if at > before && first.from != second.from => {
            number(&(place, at, before))
        }
        _ => 0,
    }
}

/// Puts what a node did itself among what it heard of the object.
fn put_deed(deed: &Deed, base: &BaseOrder, heard: &mut BTreeMap<Place, Vec<Heard>>) {
    let place = (deed.node, deed.object);
    let Some(list) = heard.get_mut(&place) else {
        return;
    };
    let said = Said::Deed(deed.id);
    let behind = list.partition_point(|it| it.at <= deed.at);
    let deed = Heard {
        at: deed.at,
        natural: deed.at,
        from: deed.node,
        sent: None,
        said,
        position: base.position(place, deed.node, said),
    };
    list.insert(behind, deed);
}

/// What lets a node do behind these what it did before them: it stands still until they have come.
fn pauses(
    deed: &Heard,
    behind: &[Heard],
    node: usize,
    (ground, tries): (&Ground, &Tries),
) -> Vec<(Change, u8)> {
    let first = deed.at.turn.saturating_sub(1);
    let moment = |turn| {
        let ns = ground.turn_ns(node, turn)?;
        Some(Moment { turn, ns })
    };
    let Some(since) = moment(first) else {
        return Vec::new();
    };
    let last_turn = ground.last_turn_to_move(node);
    let others = behind.iter().filter(|it| it.from != node);
    let pauses = others.map_while(|passed| {
        let until = moment(passed.at.turn).filter(|it| it.turn <= last_turn)?;
        let is_short = until.ns.saturating_sub(since.ns) <= tries.hold_max_ns;
        let mut pause = Change::at(ChangeKind::Pause, (node, node), since);
        pause.until = until;
        is_short.then_some((pause, u8::from(passed.is_update())))
    });
    pauses.collect()
}

/// What makes what comes behind it come before it, and what loses or repeats it; each with its class.
fn changes(
    held: &Heard,
    behind: &[Heard],
    (node, behind_ns): (usize, i64),
    (ground, tries): (&Ground, &Tries),
) -> Vec<(Change, u8)> {
    if held.is_deed() {
        return pauses(held, behind, node, (ground, tries));
    }
    let mut found = Vec::new();
    let (from, since) = (held.from, held.natural);
    let change = |kind, passed: &Heard| Change {
        kind,
        from,
        to: node,
        since,
        until: passed.at.behind(behind_ns),
    };
    let last_turn = ground.last_turn_to_move(node);
    if held.at.turn > last_turn {
        return found;
    }
    for passed in behind {
        let held_ns = passed.at.ns.saturating_sub(since.ns);
        if passed.at.turn > last_turn || held_ns > tries.hold_max_ns {
            break;
        }
        if passed.from == held.from {
            if tries.overtakes {
                found.push((change(ChangeKind::Delay, passed), 4));
            }
            continue;
        }
        let class = u8::from(held.is_update()) + u8::from(passed.is_update());
        found.push((change(ChangeKind::Hold, passed), class));
        if tries.repeats {
            found.push((change(ChangeKind::Repeat, passed), class + 6));
        }
    }
    if tries.losses > 0 {
        found.push((Change::at(ChangeKind::Lose, (from, node), since), 4));
    }
    let next = held.sent.filter(|_| tries.deaths && !held.is_update());
    if let Some(turn) = next.map(|packet| packet.turn + 1)
        && let Some(ns) = ground.turn_ns(from, turn)
    {
        let stop = Change::at(ChangeKind::Stop, (from, from), Moment { turn, ns });
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

/// What is tried besides holding links.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    /// A link is held for no longer than this. ns.
    pub hold_max_ns: i64,
    /// How many packets are lost in a run at most.
    pub losses: usize,
    /// Whether packets come twice.
    pub repeats: bool,
    /// Whether packets of one link overtake each other.
    pub overtakes: bool,
    /// Whether nodes die.
    pub deaths: bool,
    /// Whether what a node does itself comes before or behind what it receives, also by standing still.
    pub ticks: bool,
    /// The only node whose deliveries are moved.
    pub only: Option<usize>,
    /// The only object whose messages are moved.
    pub object: Option<u64>,
}

impl Default for Tries {
    /// Nothing besides, and links are held for as long as there is something to wait for.
    fn default() -> Tries {
        Tries {
            hold_max_ns: i64::MAX,
            losses: 0,
            repeats: false,
            overtakes: false,
            deaths: false,
            ticks: false,
            only: None,
            object: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use super::super::by_hand::{Arrival, legal_orders};
    use super::super::change::fate;
    use super::super::ground::GroundOptions;
    use super::*;
    use crate::together::Plan;

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
            position: None,
        }
    }

    const PLACE: Place = (0, 42);

    /// The orders of what came so, where it was recorded in the order of `recorded`.
    fn orders(list: &[Heard], recorded: &[Heard]) -> Orders {
        let position = |it: &Heard| {
            let mut recorded = recorded.iter();
            let place = recorded.position(|of| (of.from, of.said) == (it.from, it.said));
            place.and_then(|place| u32::try_from(place).ok())
        };
        let list: Vec<Heard> = list
            .iter()
            .map(|it| Heard {
                position: position(it),
                ..*it
            })
            .collect();
        let mut order = 0u64;
        for (at, first) in list.iter().enumerate() {
            for second in &list[at + 1..] {
                order = order.wrapping_add(reversed(PLACE, first, second));
            }
        }
        Orders {
            heard: [(PLACE, list)].into(),
            order,
        }
    }

    fn with(orders: &Orders, change: &Change) -> u64 {
        orders.order_with(change, &orders.links())
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
        let hold = |from, since: u32, until: u32| Change {
            kind: ChangeKind::Hold,
            from,
            to: 0,
            since: heard(since, 0, create).at,
            until: heard(until, 0, create).at.behind(1),
        };
        let before = orders(&recorded, &recorded);
        assert_eq!(before.order, 0);
        let after = [
            heard(2, 2, migrate),
            heard(3, 1, create),
            heard(4, 3, destroy),
        ];
        let after = orders(&after, &recorded);
        assert_eq!(with(&before, &hold(1, 1, 2)), after.order);
        let last = [
            heard(2, 2, migrate),
            heard(3, 3, destroy),
            heard(4, 1, create),
        ];
        assert_eq!(
            with(&before, &hold(1, 1, 3)),
            orders(&last, &recorded).order
        );
        // And back again.
        let mut moved = heard(3, 1, create);
        moved.natural = heard(1, 1, create).at;
        let moved = orders(&[heard(2, 2, migrate), moved], &recorded);
        let back = Change {
            kind: ChangeKind::Hold,
            from: 2,
            to: 0,
            since: heard(2, 0, create).at,
            until: heard(3, 0, create).at.behind(1),
        };
        assert_eq!(with(&moved, &back), 0);
    }

    /// What comes to a node in this order by these changes.
    fn came(arrivals: &[Arrival], changes: &[Change]) -> Vec<Heard> {
        let mut came: Vec<Heard> = Vec::new();
        for (&(from, natural), place) in arrivals.iter().zip(0u32..) {
            let at = fate(changes, (from, 0), natural).comes;
            came.push(Heard {
                at: at.expect("nothing is lost"),
                natural,
                from,
                sent: None,
                said: Said::Message(place.into()),
                position: Some(place),
            });
        }
        came.sort_by_key(|it| (it.at, it.position));
        came
    }

    /// All orders that are reached by adding one change after another.
    fn reached(arrivals: &[Arrival], changes_max: usize) -> BTreeSet<Vec<Option<u32>>> {
        let options = GroundOptions {
            rest: netreel_reel::Duration::ZERO,
            alone: None,
        };
        let ground = Ground::new(Arc::new(Plan::default()), options);
        let tries = Tries::default();
        let mut reached = BTreeSet::new();
        let mut waiting = VecDeque::from([Vec::new()]);
        while let Some(changes) = waiting.pop_front() {
            let list = came(arrivals, &changes);
            let is_new = reached.insert(list.iter().map(|it| it.position).collect());
            if !is_new || changes.len() >= changes_max {
                continue;
            }
            let heard = [(PLACE, list)].into();
            let orders = Orders { heard, order: 0 };
            let found = orders.candidates(&ground, &tries, &changes);
            waiting.extend(found.iter().map(|it| [&changes[..], &[it.change]].concat()));
        }
        reached
    }

    #[test]
    fn every_order_that_links_allow_is_reached() {
        let worlds: [&[usize]; 5] = [
            &[1, 2],
            &[1, 2, 3],
            &[1, 1, 2, 2],
            &[1, 2, 1, 2, 3],
            &[1, 1, 2, 2, 3, 1],
        ];
        for senders in worlds {
            let arrivals = senders.iter().zip(1..);
            let arrivals: Vec<Arrival> = arrivals
                .map(|(&from, turn)| (from, heard(turn, from, Said::Unknown).at))
                .collect();
            let all = legal_orders(&arrivals).len();
            assert_eq!(reached(&arrivals, 4).len(), all, "{senders:?}");
        }
    }
}
