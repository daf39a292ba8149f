//! Changes of what a node holds of properties, in lanes.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

use netreel_table::Column;

use crate::session::{MessageId, SessionTime};

pub(super) const UNKNOWN: u32 = 0;
pub(super) const NOTHING: u32 = 1;
/// And the number of a value.
pub(super) const VALUE: u32 = 2;

/// A change of a lane: when, to what, and the message that told it.
pub(super) type Change = (SessionTime, u32, Option<MessageId>);

/// A property of an object.
pub(super) type Key = (u64, u16);

/// Lanes of a node. Most messages change several: each change has the place of its moment among those that
/// there were.
#[derive(Default)]
pub(super) struct Changes {
    moments: Moments,
    lanes: BTreeMap<Key, Lane>,
}

/// When something changed, and the messages that told it.
#[derive(Default)]
struct Moments {
    times: Column,
    because: Column,
    last: Option<(SessionTime, Option<MessageId>)>,
}

/// The places of moments, and what was held from each on.
type Lane = Vec<(u32, u32)>;

/// Whether a lane has a value, whose number is behind [`VALUE`].
pub(super) fn is_value(code: u32) -> bool {
    code >= VALUE
}

impl Changes {
    /// Adds a change to a lane, where it is one. Of several at one moment the last counts.
    pub fn put(&mut self, key: Key, change: Change) {
        let change = self.moments.place(change);
        self.moments.put(self.lanes.entry(key).or_default(), change);
    }

    /// The same to the lanes that there are of these.
    pub fn put_all(&mut self, keys: impl RangeBounds<Key>, change: Change) {
        let change = self.moments.place(change);
        for (_, lane) in self.lanes.range_mut(keys) {
            self.moments.put(lane, change);
        }
    }

    /// Takes a lane out.
    pub fn remove(&mut self, key: Key) -> Vec<Change> {
        let lane = self.lanes.remove(&key).unwrap_or_default();
        lane.into_iter().map(|it| self.moments.change(it)).collect()
    }

    /// How many changes a lane has.
    pub fn len(&self, key: Key) -> usize {
        self.lanes.get(&key).map_or(0, Vec::len)
    }

    /// Hands over all lanes, in order.
    pub fn for_each(self, mut take: impl FnMut(Key, &mut dyn Iterator<Item = Change>)) {
        for (key, lane) in self.lanes {
            take(key, &mut lane.into_iter().map(|it| self.moments.change(it)));
        }
    }
}

impl Moments {
    fn place(&mut self, (time, value, because): Change) -> (u32, u32) {
        if self.last != Some((time, because)) {
            self.last = Some((time, because));
            self.times.push(time.0.wrapping_sub(i64::MIN) as u64);
            let because = because.map(|message| u64::from(message.0));
            self.because.push_some(because);
        }
        (self.times.len() as u32 - 1, value)
    }

    fn change(&self, (place, value): (u32, u32)) -> Change {
        let because = self.because.get_some(place as usize);
        let because = because.map(|message| MessageId(message as u32));
        (self.time(place), value, because)
    }

    fn time(&self, place: u32) -> SessionTime {
        SessionTime((self.times.get(place as usize) as i64).wrapping_add(i64::MIN))
    }

    fn put(&self, lane: &mut Lane, (place, value): (u32, u32)) {
        let last = lane.last();
        if last.is_some_and(|&(last, _)| self.time(last) == self.time(place)) {
            lane.pop();
        }
        if lane.last().is_none_or(|&(_, last)| last != value) {
            lane.push((place, value));
        }
    }
}
