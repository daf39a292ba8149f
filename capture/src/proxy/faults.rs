//! What becomes of each packet on one direction of a link.

use std::time::Duration;

use netreel_reel::{FaultVerdict, Time};
use netreel_transport::LinkEnd;

use super::spec::{HEADERS, WayFaults};

/// One direction of a link, and what is wrong with it.
#[derive(Clone, Debug)]
pub(super) struct FaultedLink {
    faults: WayFaults,
    seed: u64,
    ends: (LinkEnd, LinkEnd),
    /// How many packets it has seen.
    count: u64,
    /// When the last packet that kept its place goes on.
    last: Time,
    /// When the link has carried all that it was given.
    free: Time,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Treatment {
    /// What is said of it, in the order in which it happens.
    pub verdicts: [Option<FaultVerdict>; 4],
    /// When it goes on; `None` where it is dropped.
    pub due: Option<Time>,
    /// When a second copy goes on.
    pub copy: Option<Time>,
    /// This bit of it is turned.
    pub corrupted: Option<usize>,
}

impl FaultedLink {
    /// The direction `ends.0` to `ends.1`.
    pub fn new(faults: WayFaults, seed: u64, ends: (LinkEnd, LinkEnd)) -> FaultedLink {
        FaultedLink {
            faults,
            seed,
            ends,
            count: 0,
            last: Time::ZERO,
            free: Time::ZERO,
        }
    }

    /// From the next packet on these faults hold.
    pub fn set(&mut self, faults: WayFaults) {
        self.faults = faults;
    }

    /// Decides on the next packet, which came at `now` and has `length` bytes of payload.
    pub fn take(&mut self, now: Time, length: usize) -> Treatment {
        let n = self.count;
        self.count += 1;
        if self.faults.is_clean() {
            // What was held back by faults that hold no longer is not overtaken.
            return Treatment {
                due: Some(now.max(self.last)),
                ..Treatment::default()
            };
        }
        let verdict = self.faults.link.verdict(self.seed, self.ends, (n, length));
        if verdict.lost {
            return Treatment::dropped(FaultVerdict::Lost);
        }
        let (through, queued) = match self.carry(now, length) {
            Ok(carried) => carried,
            Err(full) => return Treatment::dropped(full),
        };
        let (due, copy) = verdict.arrivals(through, &mut self.last);
        let nanos = nanos(verdict.delay);
        let held = match (verdict.overtaken, nanos) {
            (true, nanos) => Some(FaultVerdict::Reordered { nanos }),
            (false, 0) => None,
            (false, nanos) => Some(FaultVerdict::Delayed { nanos }),
        };
        let twice = verdict.copy.map(|delay| FaultVerdict::Duplicated {
            nanos: self::nanos(delay),
        });
        let turned = verdict.corrupted;
        let turned_bit = turned.map(|bit| FaultVerdict::Corrupted { bit: bit as u64 });
        Treatment {
            verdicts: [turned_bit, queued, held, twice],
            due: Some(due),
            copy,
            corrupted: turned,
        }
    }

    /// When a link of limited bandwidth has carried the packet, and what is said of its wait; an
    /// error where it would wait too long.
    fn carry(
        &mut self,
        now: Time,
        length: usize,
    ) -> Result<(Time, Option<FaultVerdict>), FaultVerdict> {
        let Some(rate) = self.faults.rate else {
            return Ok((now, None));
        };
        let start = self.free.max(now);
        let wait = start.0 - now.0;
        if wait > nanos(self.faults.queue) {
            return Err(FaultVerdict::QueueFull { nanos: wait });
        }
        let bits = (length + HEADERS) as u64 * 8;
        let time = (u128::from(bits) * 1_000_000_000 / u128::from(rate.max(1))) as u64;
        self.free = Time(start.0.saturating_add(time));
        let nanos = wait.saturating_add(time);
        Ok((self.free, Some(FaultVerdict::Queued { nanos })))
    }
}

impl Treatment {
    /// It goes no further.
    pub fn dropped(verdict: FaultVerdict) -> Treatment {
        Treatment {
            verdicts: [Some(verdict), None, None, None],
            ..Treatment::default()
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::spec::FaultSpec;
    use super::*;

    fn lane(words: &str, seed: u64, link: u16) -> FaultedLink {
        let spec: FaultSpec = words.parse().unwrap();
        FaultedLink::new(spec.up, seed, (LinkEnd(link), LinkEnd(0)))
    }

    fn fates(words: &str, seed: u64, link: u16) -> Vec<Treatment> {
        let mut lane = lane(words, seed, link);
        (0..500)
            .map(|n| lane.take(Time(n * 1_000_000), 100))
            .collect()
    }

    const ALL: &str = "delay=50ms,jitter=10ms,loss=5%,dup=5%,reorder=5%";

    #[test]
    fn the_nth_packet_of_a_link_has_one_fate_for_a_seed() {
        assert_eq!(fates(ALL, 7, 1), fates(ALL, 7, 1));
        assert_ne!(fates(ALL, 7, 1), fates(ALL, 8, 1));
        assert_ne!(fates(ALL, 7, 1), fates(ALL, 7, 2));
    }

    #[test]
    fn jitter_keeps_the_order_and_reordering_does_not() {
        let dues = |words| -> Vec<Time> {
            let fates = fates(words, 7, 1);
            fates.iter().filter_map(|fate| fate.due).collect()
        };
        assert!(dues("delay=5ms,jitter=30ms").is_sorted());
        assert!(!dues("delay=5ms,reorder=10%").is_sorted());
    }

    #[test]
    fn a_link_carries_so_many_bits_a_second_and_drops_what_would_wait_too_long() {
        // 100 bytes and the headers take 1.024 ms at 1 Mbit/s.
        let mut lane = lane("rate=1mbit,queue=2ms", 1, 1);
        let mut take = |at| lane.take(Time(at), 100);
        assert_eq!(take(0).due, Some(Time(1_024_000)));
        assert_eq!(take(0).due, Some(Time(2_048_000)));
        let wait = FaultVerdict::QueueFull { nanos: 2_048_000 };
        assert_eq!(take(0), Treatment::dropped(wait));
        assert_eq!(take(1_000_000).due, Some(Time(3_072_000)));
    }

    #[test]
    fn bursts_lose_packets_one_after_the_other_and_as_many_as_they_are_told_to() {
        let lost = |words| -> Vec<bool> {
            let mut lane = lane(words, 7, 1);
            let fates = (0..20_000).map(|n| lane.take(Time(n * 1_000_000), 100));
            fates.map(|fate| fate.due.is_none()).collect()
        };
        let all = lost("burst=1%,burst-length=10");
        assert_eq!(all, lost("burst=1%,burst-length=10"));
        let count = all.iter().filter(|it| **it).count();
        let bursts = all.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        // In the long run 1 % : 10 % of the packets are in bursts, some nine of them in each.
        assert!((1_200..2_600).contains(&count), "{count} lost");
        assert!(
            (7 * bursts..13 * bursts).contains(&count),
            "{count} in {bursts} bursts"
        );
        let half = lost("burst=1%,burst-length=10,burst-loss=50%");
        let count_half = half.iter().filter(|it| **it).count();
        assert!(
            (2 * count / 5..3 * count / 5).contains(&count_half),
            "{count_half} of {count}"
        );
    }

    #[test]
    fn a_corrupted_packet_says_which_bit() {
        let all = fates("corrupt=20%", 7, 1);
        let bits: Vec<usize> = all.iter().filter_map(|fate| fate.corrupted).collect();
        assert!((60..140).contains(&bits.len()), "{}", bits.len());
        assert!(bits.iter().all(|&bit| bit < 800));
        for fate in all {
            let bit = fate
                .corrupted
                .map(|bit| FaultVerdict::Corrupted { bit: bit as u64 });
            assert_eq!(fate.verdicts[0], bit);
        }
    }

    #[test]
    fn what_a_link_held_back_is_not_overtaken_when_its_faults_end() {
        let mut lane = lane("delay=50ms", 1, 1);
        assert_eq!(lane.take(Time(0), 9).due, Some(Time(50_000_000)));
        lane.set(WayFaults::default());
        assert_eq!(lane.take(Time(10), 9).due, Some(Time(50_000_000)));
        assert_eq!(lane.take(Time(60_000_000), 9).due, Some(Time(60_000_000)));
    }

    #[test]
    fn a_clean_lane_says_nothing() {
        let fate = lane("up:delay=0ms", 1, 1).take(Time(5), 9);
        assert_eq!((fate.verdicts, fate.due), ([None; 4], Some(Time(5))));
    }
}
