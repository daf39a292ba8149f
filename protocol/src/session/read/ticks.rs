//! The ticks of a node's network layer, in columns.

use std::io;

use netreel_reel::{EventNumber, Time};
use netreel_table::{Column, Misfit, Putting, Taking};

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

impl Ticks {
    pub fn push(&mut self, (begins, at): (EventNumber, Time), asked: Option<(EventNumber, Time)>) {
        self.begins.push(begins.0);
        self.times.push(at.0);
        self.asked.push_some(asked.map(|(number, _)| number.0));
        let before = self.asked_at.len().checked_sub(1);
        let before = before.map_or(0, |before| self.asked_at.get(before));
        self.asked_at.push(asked.map_or(before, |(_, time)| time.0));
    }

    /// Puts them into an index.
    pub fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        let Ticks {
            begins,
            times,
            asked,
            asked_at,
        } = self;
        to.column(begins)?;
        to.column(times)?;
        to.column(asked)?;
        to.column(asked_at)
    }

    /// Takes what was put.
    pub fn take(from: &mut Taking) -> Result<Ticks, Misfit> {
        Ok(Ticks {
            begins: from.column()?,
            times: from.column()?,
            asked: from.column()?,
            asked_at: from.column()?,
        })
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
