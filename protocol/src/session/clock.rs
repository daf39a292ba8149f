//! One clock for all nodes.
//!
//! Nodes with the same boot id read the same monotonic clock. Between others the offset is
//! estimated from the packets themselves, as NTP does (RFC 5905, section 8): the shortest one-way
//! differences of both directions bound the offset, their mean is the estimate, and half the
//! shortest round is how far it may be off. Clocks are taken to run at the same rate.

use std::collections::BTreeMap;

use netreel_reel::{ClockAnchor, Time};

/// A packet that was sent once and received once: a measure of two clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub from: usize,
    pub to: usize,
    pub sent: Time,
    pub received: Time,
}

impl Sample {
    /// How long it took, each end on its own clock.
    pub fn took(&self) -> i128 {
        i128::from(self.received.0) - i128::from(self.sent.0)
    }
}

/// How to read one reel's clock on the session's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    /// Added to the reel's time.
    pub offset_ns: i128,
    /// How far that may be off; `u64::MAX` where only the calendars tie the clocks.
    pub error_ns: u64,
    /// Whether packets, or one clock, tie it to the first reel.
    pub tied: bool,
}

/// Places every reel's clock on the clock of the first.
pub(super) fn align(anchors: &[&ClockAnchor], samples: &[Sample]) -> Vec<Alignment> {
    let groups = shared_clocks(anchors);
    let count = groups.iter().max().map_or(0, |last| last + 1);
    let shortest = shortest_differences(&groups, samples);
    let mut placed: Vec<Option<Alignment>> = vec![None; count];
    while let Some(next) = placed.iter().position(Option::is_none) {
        // The first group is the clock; a group that no packet ties falls back to the calendar.
        placed[next] = Some(if next == 0 {
            Alignment {
                offset_ns: 0,
                error_ns: 0,
                tied: true,
            }
        } else {
            by_calendar(anchors, &groups, next, &shortest, &placed)
        });
        spread(&shortest, &mut placed);
    }
    groups
        .iter()
        .map(|&group| placed.get(group).copied().flatten())
        .map(|known| {
            known.unwrap_or(Alignment {
                offset_ns: 0,
                error_ns: u64::MAX,
                tied: false,
            })
        })
        .collect()
}

/// Whether all reels have one clock, so that no packet tells anything of it.
pub(super) fn is_one_clock(anchors: &[&ClockAnchor]) -> bool {
    shared_clocks(anchors).iter().all(|&clock| clock == 0)
}

/// For each reel the number of its clock; reels with the same boot id share one.
fn shared_clocks(anchors: &[&ClockAnchor]) -> Vec<usize> {
    let mut boots: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next = 0;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    anchors
        .iter()
        .map(|anchor| match anchor.boot_id.as_str() {
            "" => fresh(),
            boot => *boots.entry(boot).or_insert_with(&mut fresh),
        })
        .collect()
}

/// The shortest receive-minus-send between each ordered pair of clocks, each on its own clock.
fn shortest_differences(groups: &[usize], samples: &[Sample]) -> BTreeMap<(usize, usize), i128> {
    let mut shortest = BTreeMap::new();
    for sample in samples {
        let (Some(&from), Some(&to)) = (groups.get(sample.from), groups.get(sample.to)) else {
            continue;
        };
        if from == to {
            continue;
        }
        let difference = sample.took();
        let best = shortest.entry((from, to)).or_insert(difference);
        *best = difference.min(*best);
    }
    shortest
}

/// Carries known offsets over packets both ways, the smallest error first.
fn spread(shortest: &BTreeMap<(usize, usize), i128>, placed: &mut [Option<Alignment>]) {
    loop {
        let mut best: Option<(u64, usize, Alignment)> = None;
        for (&(known, new), &there) in shortest {
            let (Some(Some(base)), Some(None)) = (placed.get(known), placed.get(new)) else {
                continue;
            };
            let Some(&back) = shortest.get(&(new, known)) else {
                continue;
            };
            let half_round = u64::try_from((there + back).max(0) / 2).unwrap_or(u64::MAX);
            let error_ns = base.error_ns.saturating_add(half_round);
            let offset_ns = base.offset_ns - (there - back) / 2;
            if best.as_ref().is_none_or(|(least, ..)| error_ns < *least) {
                best = Some((
                    error_ns,
                    new,
                    Alignment {
                        offset_ns,
                        error_ns,
                        tied: base.tied,
                    },
                ));
            }
        }
        let Some((_, new, alignment)) = best else {
            return;
        };
        placed[new] = Some(alignment);
    }
}

/// The offset that the calendars give, moved as little as it takes for no packet to arrive before
/// it was sent.
fn by_calendar(
    anchors: &[&ClockAnchor],
    groups: &[usize],
    group: usize,
    shortest: &BTreeMap<(usize, usize), i128>,
    placed: &[Option<Alignment>],
) -> Alignment {
    let utc_of_zero = |wanted: usize| {
        let place = groups.iter().position(|&each| each == wanted)?;
        let anchor = anchors.get(place)?;
        Some(i128::from(anchor.utc_ns) - i128::from(anchor.monotonic.0))
    };
    let mut offset_ns = match (utc_of_zero(group), utc_of_zero(0)) {
        (Some(own), Some(first)) => own - first,
        _ => 0,
    };
    let mut tied = false;
    for (&(from, to), &difference) in shortest {
        let known = |place: usize| placed.get(place).copied().flatten();
        if let (true, Some(base)) = (to == group, known(from)) {
            offset_ns = offset_ns.max(base.offset_ns - difference);
            tied |= base.tied;
        } else if let (true, Some(base)) = (from == group, known(to)) {
            offset_ns = offset_ns.min(base.offset_ns + difference);
            tied |= base.tied;
        }
    }
    Alignment {
        offset_ns,
        error_ns: u64::MAX,
        tied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(boot: &str, monotonic: u64, utc_ns: i64) -> ClockAnchor {
        ClockAnchor {
            monotonic: Time(monotonic),
            utc_ns,
            boot_id: boot.to_owned(),
        }
    }

    fn sample(from: usize, to: usize, sent: u64, received: u64) -> Sample {
        Sample {
            from,
            to,
            sent: Time(sent),
            received: Time(received),
        }
    }

    fn check(anchors: &[ClockAnchor], samples: &[Sample], expected: &[(i128, u64, bool)]) {
        let anchors: Vec<&ClockAnchor> = anchors.iter().collect();
        let found: Vec<(i128, u64, bool)> = align(&anchors, samples)
            .iter()
            .map(|each| (each.offset_ns, each.error_ns, each.tied))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn one_boot_is_one_clock_whatever_the_packets_say() {
        check(
            &[anchor("boot", 0, 0), anchor("boot", 50, 0)],
            &[sample(0, 1, 100, 90), sample(1, 0, 100, 300)],
            &[(0, 0, true), (0, 0, true)],
        );
    }

    #[test]
    fn packets_both_ways_give_the_offset_and_half_the_shortest_round() {
        // The second clock is 1000 ahead; the shortest way there takes 10, the way back 30.
        check(
            &[anchor("a", 0, 0), anchor("b", 0, 0)],
            &[
                sample(0, 1, 100, 1110),
                sample(0, 1, 200, 1300),
                sample(1, 0, 1200, 230),
            ],
            &[(0, 0, true), (-990, 20, true)],
        );
    }

    #[test]
    fn a_third_clock_is_reached_through_the_second_and_the_errors_add() {
        check(
            &[anchor("", 0, 0), anchor("", 0, 0), anchor("", 0, 0)],
            &[
                sample(0, 1, 0, 110),
                sample(1, 0, 100, 10),
                sample(1, 2, 200, 205),
                sample(2, 1, 200, 205),
            ],
            &[(0, 0, true), (-100, 10, true), (-100, 15, true)],
        );
    }

    #[test]
    fn packets_one_way_only_move_the_calendar_until_none_arrives_too_early() {
        // By the calendar both clocks agree, yet a packet would arrive 40 before it was sent.
        check(
            &[anchor("a", 0, 0), anchor("b", 0, 0)],
            &[sample(0, 1, 100, 60)],
            &[(0, 0, true), (40, u64::MAX, true)],
        );
    }

    #[test]
    fn without_packets_the_calendar_is_all_there_is() {
        check(
            &[anchor("a", 100, 5100), anchor("b", 7, 6007)],
            &[],
            &[(0, 0, true), (1000, u64::MAX, false)],
        );
    }
}
