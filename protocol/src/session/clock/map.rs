//! How a reel's clock is read on the session's.

use netreel_reel::{EventNumber, Time};
use netreel_table::below;
use serde::{Deserialize, Serialize};

use crate::session::SessionTime;
use crate::session::read::ends::Ends;

/// What makes session times of a reel's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ClockMap {
    /// How much is added, always.
    Shift(i128),
    /// The clock drifts, or was set: stretches, in the order of the reel.
    Stretches(Vec<Stretch>),
}

/// A part of a reel's time over which its clock drifts evenly from the session's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stretch {
    /// It holds from this event on: the clock was set back before it. The same for the stretches
    /// up to the next time that this happened.
    pub number: EventNumber,
    /// Among these, it holds from this time on.
    pub from: Time,
    /// Its line begins at this time.
    pub anchor: Time,
    /// How much is added there,
    pub shift_ns: i128,
    /// with this many parts of 2^64 of a nanosecond, and half a nanosecond, which rounds.
    pub part: u64,
    /// How many parts of 2^64 more for each nanosecond after it.
    pub drift: i64,
    /// How far this may be off at its begin,
    pub error_ns: u64,
    /// and how far at this time.
    pub until: Time,
    pub until_error_ns: u64,
}

impl Default for ClockMap {
    fn default() -> ClockMap {
        ClockMap::Shift(0)
    }
}

impl Stretch {
    fn shift_ns(&self, time: Time) -> i128 {
        let after = i128::from(time.0) - i128::from(self.anchor.0);
        let more = (after * i128::from(self.drift)).saturating_add(i128::from(self.part));
        self.shift_ns + (more >> 64)
    }

    fn error_ns(&self, time: Time) -> u64 {
        let (from, until) = (self.from.0, self.until.0.max(self.from.0));
        let at = u128::from(time.0.clamp(from, until) - from);
        let whole = u128::from(until - from).max(1);
        let (one, other) = (self.error_ns, self.until_error_ns);
        let step = u128::from(one.abs_diff(other));
        if one <= other {
            one.saturating_add((step * at).div_ceil(whole) as u64)
        } else {
            one.saturating_sub((step * at / whole) as u64)
        }
    }

    /// The same line in parts that begin and end at these times of it, each with how far it may be off there.
    fn with_errors(
        &self,
        times: impl Iterator<Item = u64>,
        error_ns: impl Fn(Time) -> u64,
    ) -> Vec<Stretch> {
        let end = self.until.max(self.from);
        let mut times: Vec<u64> = times
            .filter(|&at| self.from.0 < at && at < end.0)
            .chain([self.from.0, end.0])
            .collect();
        times.sort_unstable();
        times.dedup();
        let last = times.len().max(2) - 1;
        let parts = (0..last).filter_map(|place| {
            let from = *times.get(place)?;
            let until = times.get(place + 1).copied().unwrap_or(from);
            Some(Stretch {
                from: Time(from),
                error_ns: error_ns(Time(from)),
                until: Time(until),
                until_error_ns: error_ns(Time(until)),
                ..self.clone()
            })
        });
        parts.collect()
    }
}

impl ClockMap {
    /// The session's time of an event; its number is asked for only where it counts.
    #[inline]
    pub fn time(&self, time: Time, number: impl FnOnce() -> EventNumber) -> SessionTime {
        match self {
            ClockMap::Shift(shift_ns) => SessionTime::of(time, *shift_ns),
            ClockMap::Stretches(all) => {
                let shift_ns = find(all, number(), time).map_or(0, |it| it.shift_ns(time));
                SessionTime::of(time, shift_ns)
            }
        }
    }

    /// The session's times of ends, in the order of their reel.
    pub fn times<'a>(&'a self, ends: &'a Ends) -> impl Iterator<Item = SessionTime> + 'a {
        let times = ends.times().enumerate();
        times.map(move |(place, time)| self.time(time, || ends.number(place)))
    }

    /// The place of the first end that is not before `time`, where they are in the order of time.
    pub fn place_of(&self, ends: &Ends, time: SessionTime) -> usize {
        let shift_ns = match self {
            ClockMap::Shift(shift_ns) => *shift_ns,
            ClockMap::Stretches(_) => {
                let at = |place: usize| self.time(ends.time(place), || ends.number(place));
                return below(0..ends.len(), |place| at(place) < time);
            }
        };
        if time > SessionTime::MAX {
            return ends.len();
        }
        if time.0 <= -SessionTime::MAX.0 {
            return 0;
        }
        match u64::try_from(i128::from(time.0) - shift_ns) {
            Ok(nanos) => ends.place_of(Time(nanos)),
            // Before the zero of the reel's clock, or after all that it can tell.
            Err(_) if i128::from(time.0) < shift_ns => 0,
            Err(_) => ends.len(),
        }
    }

    /// The session's time of what is known by its time alone. Where the clock was set back, it is
    /// taken to be of the first part of the reel that knows the time.
    pub fn time_alone(&self, time: Time) -> SessionTime {
        self.time(time, || self.number_of(time))
    }

    /// From when to when a reel reaches that has these times.
    pub fn span_ns(&self, first: Time, last: Time) -> (i128, i128) {
        let all = match self {
            ClockMap::Shift(shift_ns) => {
                let at = |time: Time| i128::from(time.0) + shift_ns;
                return (at(first), at(last));
            }
            ClockMap::Stretches(all) => all,
        };
        let within = |time: Time| time.max(first).min(last);
        // Between two stretches of one part a clock that was set forward passes over times, which no event
        // has.
        let parts = all.chunk_by(|one, other| one.number == other.number);
        let ends = parts.flat_map(|part| {
            let ends = [
                part.first().map(|it| (it, it.from)),
                part.last().map(|it| (it, it.until)),
            ]
            .into_iter()
            .flatten();
            ends.map(|(it, time)| {
                let time = within(time);
                i128::from(time.0) + it.shift_ns(time)
            })
        });
        let begin = ends.clone().min().unwrap_or_default();
        (begin, ends.max().unwrap_or_default())
    }

    /// How far it may be off at an event; 0 where nothing is off.
    pub fn error_ns(&self, number: EventNumber, time: Time) -> u64 {
        match self {
            ClockMap::Shift(_) => 0,
            ClockMap::Stretches(all) => {
                find(all, number, time).map_or(u64::MAX, |it| it.error_ns(time))
            }
        }
    }

    /// The same with another zero.
    pub fn moved(mut self, by_ns: i128) -> ClockMap {
        match &mut self {
            ClockMap::Shift(shift_ns) => *shift_ns += by_ns,
            ClockMap::Stretches(all) => all.iter_mut().for_each(|it| it.shift_ns += by_ns),
        }
        self
    }

    /// The same times, of which each may be as far off as another map has it, whose stretches begin with
    /// the same events.
    pub fn within(self, other: &ClockMap) -> ClockMap {
        let (ClockMap::Stretches(own), ClockMap::Stretches(others)) = (&self, other) else {
            return self;
        };
        let mut all = Vec::new();
        for own in own {
            let inner = others
                .iter()
                .filter(|it| it.number == own.number)
                .flat_map(|it| [it.from.0, it.from.0.saturating_sub(1), it.until.0]);
            all.extend(own.with_errors(inner, |at| {
                let other = find(others, own.number, at).map_or(u64::MAX, |other| {
                    let apart = (other.shift_ns(at) - own.shift_ns(at)).unsigned_abs();
                    let apart = u64::try_from(apart).unwrap_or(u64::MAX);
                    other.error_ns(at).saturating_add(apart)
                });
                other.max(own.error_ns(at))
            }));
        }
        ClockMap::Stretches(all)
    }

    /// The same times, of which those between two may be further off by so much, in the part of the reel that
    /// begins with an event.
    pub fn looser(self, number: EventNumber, (from, until): (u64, u64), by_ns: u64) -> ClockMap {
        let ClockMap::Stretches(own) = &self else {
            return self;
        };
        let mut all = Vec::new();
        for own in own {
            if own.number != number || own.until.0 < from || until < own.from.0 {
                all.push(own.clone());
                continue;
            }
            let inner = [from.saturating_sub(1), from, until, until.saturating_add(1)];
            all.extend(own.with_errors(inner.into_iter(), |at| {
                let is_there = from <= at.0 && at.0 <= until;
                own.error_ns(at)
                    .saturating_add(if is_there { by_ns } else { 0 })
            }));
        }
        ClockMap::Stretches(all)
    }

    fn number_of(&self, time: Time) -> EventNumber {
        let ClockMap::Stretches(all) = self else {
            return EventNumber(0);
        };
        let knows = |it: &&Stretch| it.from <= time && time <= it.until;
        let stretch = all.iter().find(knows).or(all.last());
        stretch.map_or(EventNumber(0), |it| it.number)
    }
}

/// The stretch of an event.
fn find(all: &[Stretch], number: EventNumber, time: Time) -> Option<&Stretch> {
    let until = all.partition_point(|it| it.number <= number);
    let before = all.get(..until.max(1))?;
    let own = before.last()?.number;
    let start = before.partition_point(|it| it.number < own);
    let those = before.get(start..)?;
    let place = those.partition_point(|it| it.from <= time);
    those.get(place.saturating_sub(1))
}

/// One end of a stretch: when, what is added, and how far that may be off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knot {
    pub at: u64,
    pub shift_ns: f64,
    pub error_ns: f64,
}

/// The height of a line of straight pieces.
pub(super) fn on(line: &[(u64, f64)], at: u64) -> f64 {
    let after = line.partition_point(|&(corner, _)| corner <= at);
    let place = after.clamp(1, line.len().max(2) - 1);
    match (line.get(place - 1), line.get(place)) {
        (Some(&(from, one)), Some(&(to, other))) if to > from => {
            let ahead = i128::from(at) - i128::from(from);
            one + (other - one) * (ahead as f64 / (to - from) as f64)
        }
        (Some(&(_, one)), _) => one,
        _ => 0.0,
    }
}

/// The stretches between knots; all begin with the event of this number.
pub(super) fn stretches(number: EventNumber, base_ns: i128, knots: &[Knot]) -> Vec<Stretch> {
    let last = knots.len().max(2) - 1;
    let pairs = (0..last).filter_map(|place| {
        let from = knots.get(place)?;
        let to = knots.get(place + 1).unwrap_or(from);
        let run = to.at.saturating_sub(from.at);
        let slope = match run {
            0 => 0.0,
            run => (to.shift_ns - from.shift_ns) / run as f64,
        };
        let rounded = from.shift_ns + 0.5;
        let whole = rounded.floor();
        Some(Stretch {
            number,
            from: Time(from.at),
            anchor: Time(from.at),
            shift_ns: base_ns + whole as i128,
            part: ((rounded - whole) * 2f64.powi(64)) as u64,
            drift: (slope * 2f64.powi(64)) as i64,
            error_ns: whole_ns(from.error_ns),
            until: Time(to.at),
            until_error_ns: whole_ns(to.error_ns),
        })
    });
    pairs.collect()
}

/// Of a clock of another machine something is always unknown; infinite is [`u64::MAX`].
pub(super) fn whole_ns(error_ns: f64) -> u64 {
    (error_ns.round() as u64).max(1)
}
