//! `rtt-step`: the round trips of a link became longer, all at once, by more than a bound.
//!
//! The middle of sixteen round trips is held against that of the sixteen before, so that single late
//! packets say nothing. There is no bound unless one is set: a warning then.

use std::collections::VecDeque;

use super::prelude::*;

/// How many round trips on either side.
const TRIPS: usize = 16;

/// A packet, and how long its round trip took, in ns.
type Trip = (PacketId, i64);

/// The latest round trips of a link, and its highest step so far.
#[derive(Default)]
struct Trips {
    latest: VecDeque<Trip>,
    steps: u64,
    highest: Option<[Trip; 2]>,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let Some(bound) = session.bounds.rtt_step.highest else {
        return Vec::new();
    };
    let mut links: BTreeMap<Link, Trips> = BTreeMap::new();
    for (packet, link) in case.packets() {
        if let Some(learnt) = history.acked(session, packet)
            && let Some(left) = session.send_of(packet)
            && !history.is_ambiguous(packet)
        {
            let rtt_ns = learnt.time.since(left.time);
            let trips = links.entry(link).or_default();
            trips.add((packet, rtt_ns), bound.0);
        }
    }
    let found = links.into_iter().filter_map(|((from, to), trips)| {
        let ends = trips.highest?;
        let pieces = ends.map(|(packet, rtt)| {
            sent(
                session,
                packet,
                &format!("sent, acked {} later", duration(rtt)),
            )
        });
        let [before, after] = ends.map(|(_, rtt)| duration(rtt));
        let sentence = format!(
            "the round trips from {} to {} rose from {before} to {after}{}",
            session.name(from),
            session.name(to),
            and_more(trips.steps),
        );
        // A higher step may come.
        Found::proven(Level::Warning, from, pieces, sentence)
    });
    found.collect()
}

impl Trips {
    /// Takes the next round trip of the link.
    fn add(&mut self, trip: Trip, bound_ns: i64) {
        self.latest.push_back(trip);
        if self.latest.len() < 2 * TRIPS {
            return;
        }
        let (Some(before), Some(after)) = (self.middle(0), self.middle(TRIPS)) else {
            return;
        };
        let rise_of = |[before, after]: [Trip; 2]| after.1.saturating_sub(before.1);
        let rise = rise_of([before, after]);
        if rise <= bound_ns {
            self.latest.pop_front();
            return;
        }
        self.steps += 1;
        if self.highest.is_none_or(|it| rise > rise_of(it)) {
            self.highest = Some([before, after]);
        }
        // What is high now is what the next ones are held against.
        self.latest.drain(..TRIPS);
    }

    /// The middle one of those from a place on.
    fn middle(&self, from: usize) -> Option<Trip> {
        let mut part: Vec<Trip> = self.latest.iter().skip(from).take(TRIPS).copied().collect();
        part.sort_unstable_by_key(|&(packet, rtt)| (rtt, packet));
        part.get(TRIPS / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many steps of more than 50 there are in round trips.
    fn steps(trips: impl IntoIterator<Item = i64>) -> u64 {
        let mut all = Trips::default();
        for trip in (0..).map(PacketId).zip(trips) {
            all.add(trip, 50);
        }
        all.steps
    }

    fn level(rtt: i64) -> impl Iterator<Item = i64> {
        std::iter::repeat_n(rtt, 40)
    }

    #[test]
    fn a_rise_that_stays_is_one_step() {
        assert_eq!(steps(level(10).chain(level(61))), 1);
        assert_eq!(steps(level(10).chain(level(100)).chain(level(200))), 2);
    }

    #[test]
    fn a_rise_by_the_bound_is_none() {
        assert_eq!(steps(level(10).chain(level(60))), 0);
    }

    #[test]
    fn late_packets_and_a_fall_are_none() {
        let spikes = (0..200).map(|place| if place % 3 == 0 { 900 } else { 10 });
        assert_eq!(steps(spikes), 0);
        assert_eq!(steps(level(900).chain(level(10))), 0);
    }

    #[test]
    fn what_rises_slowly_is_none() {
        assert_eq!(steps((0..400).map(|place| place * 3)), 0);
    }

    #[test]
    fn fewer_than_sixteen_on_either_side_are_none() {
        let few = std::iter::repeat_n(10, 15).chain(std::iter::repeat_n(900, 16));
        assert_eq!(steps(few), 0);
    }
}
