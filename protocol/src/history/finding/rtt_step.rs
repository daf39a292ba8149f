//! `rtt-step`: the round trips of a link became longer, all at once, by more than a bound.
//!
//! The middle of sixteen round trips is held against that of the sixteen before, so that single late
//! packets say nothing. There is no bound unless one is set: a warning then.

use std::collections::{BTreeMap, VecDeque};

use super::words::{and_more, sent};
use super::{Case, Found};
use crate::figures::duration;
use crate::history::{Finding, Level};
use crate::session::{NodeId, PacketId};

pub(super) const RULE: &str = "rtt-step";

/// How many round trips on either side.
const TRIPS: usize = 16;

/// The latest round trips of a link, and its highest step so far.
#[derive(Default)]
struct Trips {
    latest: VecDeque<(PacketId, i64)>,
    steps: u64,
    highest: Option<Step>,
}

struct Step {
    before: (PacketId, i64),
    after: (PacketId, i64),
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let Some(bound) = session.bounds.rtt_step.highest else {
        return Vec::new();
    };
    let mut links: BTreeMap<(NodeId, NodeId), Trips> = BTreeMap::new();
    for packet in (0u32..).map(PacketId).take(session.packet_count()) {
        let (Some(link), Some(learnt)) = (session.link(packet), history.acked(session, packet))
        else {
            continue;
        };
        let Some((true, left)) = session.departed(packet) else {
            continue;
        };
        if history.is_ambiguous(packet) {
            continue;
        }
        let rtt_ns = learnt.time.0.saturating_sub(left.time.0);
        let trips = links.entry(link).or_default();
        trips.add(packet, rtt_ns, bound.0);
    }
    let found = links.into_iter().filter_map(|((from, to), trips)| {
        let Step { before, after } = trips.highest?;
        let evidence: Vec<_> = [before, after]
            .into_iter()
            .filter_map(|(packet, rtt)| {
                let what = format!("sent, acked {} later", duration(rtt));
                sent(session, packet, &what)
            })
            .collect();
        let finding = Finding {
            rule: RULE,
            level: Level::Warning,
            node: from,
            objects: Vec::new(),
            each: Vec::new(),
            time: evidence.last()?.time,
            sentence: format!(
                "the round trips from {} to {} rose from {} to {}{}",
                session.name(from),
                session.name(to),
                duration(before.1),
                duration(after.1),
                and_more(trips.steps),
            ),
            evidence,
        };
        // A higher step may come.
        Some(finding.into())
    });
    found.collect()
}

impl Trips {
    /// Takes the next round trip of the link.
    fn add(&mut self, packet: PacketId, rtt_ns: i64, bound_ns: i64) {
        self.latest.push_back((packet, rtt_ns));
        if self.latest.len() < 2 * TRIPS {
            return;
        }
        let (Some(before), Some(after)) = (self.middle(0), self.middle(TRIPS)) else {
            return;
        };
        let rise = after.1.saturating_sub(before.1);
        if rise <= bound_ns {
            self.latest.pop_front();
            return;
        }
        self.steps += 1;
        let highest = self.highest.as_ref();
        if highest.is_none_or(|it| rise > it.after.1.saturating_sub(it.before.1)) {
            self.highest = Some(Step { before, after });
        }
        // What is high now is what the next ones are held against.
        self.latest.drain(..TRIPS);
    }

    /// The middle one of those from a place on.
    fn middle(&self, from: usize) -> Option<(PacketId, i64)> {
        let mut part: Vec<(PacketId, i64)> =
            self.latest.iter().skip(from).take(TRIPS).copied().collect();
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
        for (packet, rtt) in (0..).map(PacketId).zip(trips) {
            all.add(packet, rtt, 50);
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
