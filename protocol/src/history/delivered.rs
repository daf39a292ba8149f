//! Deliveries, in columns.

use netreel_reel::EventNumber;
use netreel_table::{Column, below};

use super::{Delivery, Effect};
use crate::session::{MessageId, NodeId, SessionTime, Stamp, indexed};

/// What engines were handed, and what nodes did themselves.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    times: Column,
    numbers: Column,
    messages: Column,
    /// The node, the effect, and in the lowest bit whether the node did it itself.
    what: Column,
}

indexed!(Deliveries: times, numbers, messages, what);

/// Each column.
const COLUMNS: [fn(&mut Deliveries) -> &mut Column; 4] = [
    |all| &mut all.times,
    |all| &mut all.numbers,
    |all| &mut all.messages,
    |all| &mut all.what,
];

/// How many bits an effect takes.
const EFFECT_BITS: u32 = 4;

impl Deliveries {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.what.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.what.is_empty()
    }

    /// Appends one.
    pub(super) fn push(&mut self, delivery: &Delivery) {
        self.times
            .push(delivery.at.time.0.wrapping_sub(i64::MIN) as u64);
        self.numbers.push(delivery.at.number.0);
        self.messages.push(u64::from(delivery.message.0));
        let effect = (delivery.effect as u64) << 1 | u64::from(delivery.local);
        self.what
            .push(u64::from(delivery.node.0) << (EFFECT_BITS + 1) | effect);
    }

    /// Those of several in one order, in which `order` has for each the place of those that it comes from.
    /// One column is moved after the other, so that no more than one stands twice.
    pub(super) fn merged(order: &Column, mut from: Vec<Deliveries>) -> Deliveries {
        let mut merged = Deliveries::default();
        for column in COLUMNS {
            let parts = from.iter_mut().map(|part| std::mem::take(column(part)));
            let parts: Vec<Column> = parts.collect();
            let mut rows: Vec<_> = parts.iter().map(Column::iter).collect();
            let next = order
                .iter()
                .filter_map(|part| rows.get_mut(part as usize)?.next());
            let all = column(&mut merged);
            all.extend(next);
            all.shrink();
        }
        merged
    }

    /// How many there are before the first that does not fit, of which are told where it was made, by
    /// which event, and its message.
    pub(super) fn first_that(&self, fit: impl Fn(NodeId, EventNumber, MessageId) -> bool) -> usize {
        let mut rows = self
            .what
            .iter()
            .zip(self.numbers.iter())
            .zip(self.messages());
        let fits = |((what, number), message)| fit(made_of(what).0, EventNumber(number), message);
        rows.position(|row| !fits(row)).unwrap_or(self.len())
    }

    /// Keeps the first ones.
    pub(super) fn truncate(&mut self, count: usize) {
        let all = COLUMNS.into_iter();
        all.for_each(|column| *column(self) = column(self).iter().take(count).collect());
    }

    /// The one at a place.
    pub fn get(&self, place: usize) -> Option<Delivery> {
        if place >= self.len() {
            return None;
        }
        let what = self.what.get(place);
        let (node, effect) = made_of(what);
        Some(Delivery {
            node,
            at: Stamp {
                number: EventNumber(self.numbers.get(place)),
                time: self.time(place),
            },
            message: self.message(place),
            local: what & 1 == 1,
            effect,
        })
    }

    /// Where the one at a place was made, and what of it, for who asks no more of very many.
    pub(super) fn effect(&self, place: u32) -> (NodeId, Effect) {
        made_of(self.what.get(place as usize))
    }

    /// Whether the one at a place is more than an UPDATE which was taken.
    pub(super) fn is_telling(&self, place: u32) -> bool {
        self.effect(place).1 != Effect::Updated
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Delivery> + '_ {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    /// Those from one moment to another, both included.
    pub(super) fn between(
        &self,
        from: SessionTime,
        until: SessionTime,
    ) -> impl Iterator<Item = Delivery> + '_ {
        let first = below(0..self.len(), |place| self.time(place) < from);
        let places = (first..self.len()).take_while(move |&place| self.time(place) <= until);
        places.filter_map(|place| self.get(place))
    }

    pub(super) fn time(&self, place: usize) -> SessionTime {
        SessionTime((self.times.get(place) as i64).wrapping_add(i64::MIN))
    }

    pub(super) fn message(&self, place: usize) -> MessageId {
        MessageId(self.messages.get(place) as u32)
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.messages
            .iter()
            .map(|message| MessageId(message as u32))
    }

    pub(super) fn memory(&self) -> usize {
        let columns = [&self.times, &self.numbers, &self.messages, &self.what];
        columns.into_iter().map(Column::memory).sum()
    }
}

/// The node and the effect in a row of [`Deliveries::what`].
fn made_of(what: u64) -> (NodeId, Effect) {
    let effect = what >> 1 & ((1 << EFFECT_BITS) - 1);
    let effect = Effect::ALL.get(effect as usize).copied();
    let node = NodeId((what >> (EFFECT_BITS + 1)) as u16);
    (node, effect.unwrap_or(Effect::Unknown))
}

/// The deliveries of each message.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivered {
    /// For each message where its deliveries begin in [`Delivered::places`].
    starts: Column,
    places: Column,
}

indexed!(Delivered: starts, places);

impl Delivered {
    pub(super) fn new(deliveries: &Deliveries) -> Delivered {
        let last = deliveries.messages().max();
        let mut starts = vec![0u32; last.map_or(0, |last| last.0 as usize + 1) + 1];
        for message in deliveries.messages() {
            starts[message.0 as usize + 1] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut places = vec![0u32; deliveries.len()];
        let mut next = starts.clone();
        for (place, message) in deliveries.messages().enumerate() {
            let at = &mut next[message.0 as usize];
            places[*at as usize] = place as u32;
            *at += 1;
        }
        Delivered {
            starts: starts.into_iter().map(u64::from).collect(),
            places: places.into_iter().map(u64::from).collect(),
        }
    }

    pub(super) fn of(&self, message: MessageId) -> impl Iterator<Item = u32> + '_ {
        let row = message.0 as usize;
        let range = if row + 1 < self.starts.len() {
            self.starts.get(row) as usize..self.starts.get(row + 1) as usize
        } else {
            0..0
        };
        range.map(|at| self.places.get(at) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(place: usize, effect: Effect) -> Delivery {
        Delivery {
            node: NodeId(place as u16 % 60 * 999),
            at: Stamp {
                number: EventNumber(place as u64 * 7),
                time: SessionTime(place as i64 - 5),
            },
            message: MessageId(place as u32 * 3),
            local: place.is_multiple_of(2),
            effect,
        }
    }

    #[test]
    fn deliveries_of_several_come_into_one_order() {
        let all: Vec<Delivery> = (0..2000).map(|at| delivery(at, Effect::Plain)).collect();
        let mut parts = [Deliveries::default(), Deliveries::default()];
        // Two of three are the first one's.
        let part = |at: usize| usize::from(at % 3 == 2);
        for (at, each) in all.iter().enumerate() {
            parts[part(at)].push(each);
        }
        let order = (0..all.len()).map(|at| part(at) as u64).collect();
        let merged = Deliveries::merged(&order, parts.into());
        assert_eq!(merged.iter().collect::<Vec<_>>(), all);
    }

    #[test]
    fn a_delivery_comes_back() {
        let mut deliveries = Deliveries::default();
        let mut all = Vec::new();
        for (place, effect) in Effect::ALL.into_iter().enumerate() {
            let delivery = delivery(place, effect);
            assert_eq!(effect as usize, place);
            deliveries.push(&delivery);
            all.push(delivery);
        }
        assert_eq!(deliveries.iter().collect::<Vec<_>>(), all);
    }
}
