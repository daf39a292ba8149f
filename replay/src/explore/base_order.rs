//! The order in which a recording says what it says of objects: what other orders are told by.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use super::change::Moment;
use super::deeds::{Deed, Deeds};
use super::marks::{AsItIs, Mark, Marks};
use super::net::Delivery;

/// What is the same in every run: a message by its own number, an UPDATE by its place among those of the
/// recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Said {
    Message(u64),
    /// A message that the node sends itself, as far as it is concerned.
    Deed(u64),
    Updates(u32),
    /// An UPDATE that the recording has not.
    Unknown,
}

/// A node, and an object there.
pub(super) type Place = (usize, u64);

/// Of who said what: its number among all at a place, and when it was first heard.
type First = BTreeMap<(usize, Said), (u32, Moment)>;

/// The order of the recording: when each thing that is said of an object was first heard.
#[derive(Debug, Default)]
pub(super) struct BaseOrder {
    heard: BTreeMap<Place, First>,
    /// Of each packet, by its key: which UPDATEs of an object it has.
    updates: HashMap<u64, Vec<(u64, u32)>, BuildHasherDefault<AsItIs>>,
    /// What nodes did themselves; `None`: nobody asks.
    pub deeds: Option<Deeds>,
    /// Whether something is tried with what one sender alone says of an object at a node.
    pub singles: bool,
}

/// How far the order of the recording is known at a place.
#[derive(Default)]
struct Last {
    next: u32,
    /// Whose UPDATEs came last.
    updates_of: Option<usize>,
    /// The number of those.
    run: u32,
}

impl BaseOrder {
    /// Of what a recording delivered.
    pub fn of(trace: &[Delivery], marks: &mut Marks<'_>) -> BaseOrder {
        BaseOrder::beside(None, trace, marks)
    }

    /// The same beside what nodes did themselves, where that is asked for.
    pub fn beside(deeds: Option<Deeds>, trace: &[Delivery], marks: &mut Marks<'_>) -> BaseOrder {
        let mut base = BaseOrder::default();
        let mut lasts: BTreeMap<Place, Last> = BTreeMap::new();
        let mut own: BTreeMap<usize, VecDeque<Deed>> = BTreeMap::new();
        for deed in deeds.iter().flat_map(Deeds::in_order) {
            own.entry(deed.node).or_default().push_back(deed);
        }
        for delivery in trace {
            if let Some(own) = own.get_mut(&delivery.node) {
                let before = own.partition_point(|it| it.at <= delivery.at);
                own.drain(..before)
                    .for_each(|it| base.does(&it, &mut lasts));
            }
            for mark in marks.of(&delivery.payload).iter() {
                let place = (delivery.node, mark.object);
                base.hears(place, mark, delivery, lasts.entry(place).or_default());
            }
        }
        for deed in own.into_values().flatten() {
            base.does(&deed, &mut lasts);
        }
        base.deeds = deeds;
        base
    }

    fn hears(&mut self, place: Place, mark: &Mark, delivery: &Delivery, last: &mut Last) {
        let said = match mark.id {
            Some(id) => Said::Message(id),
            None => {
                if last.updates_of != Some(delivery.from) {
                    last.run += 1;
                }
                let of = self.updates.entry(delivery.key).or_default();
                of.push((mark.object, last.run));
                Said::Updates(last.run)
            }
        };
        let heard = self.heard.entry(place).or_default();
        let key = (delivery.from, said);
        let is_copy = mark.id.is_some() && heard.contains_key(&key);
        if !is_copy {
            last.updates_of = mark.id.is_none().then_some(delivery.from);
        }
        heard.entry(key).or_insert((last.next, delivery.natural));
        last.next += 1;
    }

    fn does(&mut self, deed: &Deed, lasts: &mut BTreeMap<Place, Last>) {
        let place = (deed.node, deed.object);
        let last = lasts.entry(place).or_default();
        let heard = self.heard.entry(place).or_default();
        heard.insert((deed.node, Said::Deed(deed.id)), (last.next, deed.at));
        last.updates_of = None;
        last.next += 1;
    }

    /// When something was first heard in the recording.
    pub fn position(&self, place: Place, from: usize, said: Said) -> Option<u32> {
        Some(self.heard.get(&place)?.get(&(from, said))?.0)
    }

    /// Whether a message in a packet, by when it comes without changes, is a copy of what was heard before
    /// this time.
    pub fn is_copy(
        &self,
        place: Place,
        (from, said): (usize, Said),
        natural: Moment,
        since_ns: i64,
    ) -> bool {
        let heard = self.heard.get(&place).and_then(|it| it.get(&(from, said)));
        matches!(said, Said::Message(_))
            && heard.is_some_and(|(_, first)| first.ns < since_ns && *first != natural)
    }

    /// Which UPDATEs of an object a packet has, by its key.
    pub fn updates(&self, key: u64, object: u64) -> Option<u32> {
        let of = self.updates.get(&key)?.iter().find(|it| it.0 == object);
        of.map(|it| it.1)
    }
}
