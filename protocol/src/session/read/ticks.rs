//! The ticks of a node's network layer, in columns.

use netreel_reel::{EventNumber, Time};
use netreel_table::Column;

use crate::session::index::plain::indexed;

/// The ticks of a node's network layer.
#[derive(Clone, Default)]
pub(crate) struct Ticks {
    begins: Column,
    /// When they began, on the reel's clock.
    times: Column,
    /// The last call of the game before, where it made one since the tick before.
    asked: Column,
    asked_at: Column,
}

indexed!(Ticks: begins, times, asked, asked_at);

impl Ticks {
    pub fn push(&mut self, (begins, at): (EventNumber, Time), asked: Option<(EventNumber, Time)>) {
        self.begins.push(begins.0);
        self.times.push(at.0);
        self.asked.push_some(asked.map(|(number, _)| number.0));
        let before = self.asked_at.len().checked_sub(1);
        let before = before.map_or(0, |before| self.asked_at.get(before));
        self.asked_at.push(asked.map_or(before, |(_, time)| time.0));
    }

    /// The events that began them, and when that was on the reel's clock.
    pub fn iter(&self) -> impl Iterator<Item = (EventNumber, Time)> + '_ {
        let rows = self.begins.iter().zip(self.times.iter());
        rows.map(|(begins, at)| (EventNumber(begins), Time(at)))
    }

    /// The tick in which an event lies: the event that began it, and the call.
    pub fn at(&self, number: EventNumber) -> Option<(EventNumber, Option<(EventNumber, Time)>)> {
        let after = self.begins.lower_bound(number.0.saturating_add(1));
        let place = after.checked_sub(1)?;
        let asked = self.asked.get_some(place);
        let asked = asked.map(|asked| (EventNumber(asked), Time(self.asked_at.get(place))));
        Some((EventNumber(self.begins.get(place)), asked))
    }
}
