//! When a node sent and received.

use netreel_reel::{EventNumber, Time};

use crate::session::clock::map::ClockMap;
use crate::session::read::ends::{Ends, Side};
use crate::session::{NodeId, Session, SessionTime, Stamp, Way};

/// When a recorded node sent, or received, in the order of its events.
#[derive(Clone, Copy)]
pub struct Moments<'a> {
    ends: &'a Ends,
    clock: &'a ClockMap,
}

impl Session {
    /// The session's time of an event of a node's reel; `None` where it was not recorded.
    pub fn time_of(&self, node: NodeId, time: Time, number: EventNumber) -> Option<SessionTime> {
        Some(self.clock(node)?.time(time, || number))
    }

    /// Whether something may have reached a node after `since` and until `at` that nobody recorded
    /// there: it has no reel, or one that was cut before, or one with a hole there.
    pub(crate) fn lacks(&self, node: NodeId, since: Option<SessionTime>, at: SessionTime) -> bool {
        let Some(node) = self.node(node) else {
            return true;
        };
        let is_after = |time: SessionTime| since.is_none_or(|since| time > since);
        let mut holes = node.holes.iter();
        let holed = holes.any(|hole| hole.time.start <= at && is_after(hole.time.end));
        !node.recorded || holed || !node.complete && at > node.span.end
    }

    /// The ticks of a node's layer, in the order of its events; none where its reel has none.
    pub(crate) fn ticks(&self, node: NodeId) -> impl Iterator<Item = Stamp> + '_ {
        self.track_of(node).into_iter().flat_map(|track| {
            let ticks = track.ticks.iter();
            ticks.map(|(number, time)| Stamp {
                number,
                time: track.time_of(number, time),
            })
        })
    }

    /// The last packet that a node sent, or received, before an event.
    pub(crate) fn before(&self, node: NodeId, way: Way, number: EventNumber) -> Option<Stamp> {
        let moments = self.moments(node, way)?;
        moments.stamp(moments.ends.lower_bound(number).checked_sub(1)?)
    }

    /// The first packet that a node sent, or received, at an event or after it.
    pub(crate) fn after(&self, node: NodeId, way: Way, number: EventNumber) -> Option<Stamp> {
        let moments = self.moments(node, way)?;
        moments.stamp(moments.ends.lower_bound(number))
    }

    /// When a node sent, or else received; each event once, however many packets it is of. `None`
    /// where the node has no reel.
    pub fn moments(&self, node: NodeId, way: Way) -> Option<Moments<'_>> {
        let track = self.track_of(node)?;
        let side = match way {
            Way::Out => Side::Send,
            Way::In | Way::Again | Way::Passing => Side::Receive,
        };
        Some(Moments {
            ends: track.side(side),
            clock: &track.clock,
        })
    }
}

impl<'a> Moments<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The one at a place.
    pub fn get(&self, place: usize) -> Option<SessionTime> {
        let time = (place < self.len()).then(|| self.ends.time(place))?;
        Some(self.clock.time(time, || self.ends.number(place)))
    }

    /// The same with its event.
    pub(crate) fn stamp(&self, place: usize) -> Option<Stamp> {
        let time = self.get(place)?;
        let number = self.ends.number(place);
        Some(Stamp { number, time })
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = SessionTime> + 'a {
        self.clock.times(self.ends)
    }

    /// The place of the first that is not before `time`, where they are in the order of time.
    pub fn place(&self, time: SessionTime) -> usize {
        self.clock.place_of(self.ends, time)
    }
}

#[cfg(test)]
mod tests {
    use netreel_reel::{EventNumber, Time};

    use super::*;
    use crate::session::read::ends::RawEnd;

    #[test]
    fn moments_are_found_on_the_clock_of_the_session() {
        let mut ends = Ends::default();
        let times = [0, 5, 5, 9, 1_000, u64::MAX];
        for (number, time) in (0..).zip(times) {
            ends.push(&RawEnd {
                number: EventNumber(number),
                time: Time(time),
                connection: 0,
                hash: 0,
                length: 0,
                whole: 0,
                failed: false,
                forward: false,
            });
        }
        let ends = &ends;
        for shift_ns in [
            0,
            7,
            -7,
            i128::from(i64::MAX),
            -i128::from(u64::MAX),
            1 << 80,
        ] {
            let clock = &ClockMap::Shift(shift_ns);
            let moments = Moments { ends, clock };
            let all: Vec<SessionTime> = moments.iter().collect();
            let got: Vec<SessionTime> = (0..9).map_while(|place| moments.get(place)).collect();
            assert_eq!(all, got);
            let max = SessionTime::MAX.0;
            let near = [
                -max - 1,
                -max,
                1 - max,
                max - 1,
                max,
                max + 1,
                i64::MIN,
                i64::MAX,
            ];
            for time in (-20..20).chain(980..1_020).chain(near).map(SessionTime) {
                let expected = all.partition_point(|&each| each < time);
                assert_eq!(moments.place(time), expected, "{time:?} {shift_ns}");
            }
        }
    }
}
