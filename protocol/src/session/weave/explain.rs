//! Which of several equal payloads arrived when.
//!
//! Sends and receipts of one payload on one link, in the order of time: each receipt is of a send
//! before it, and they keep their order. Several ways to put them together are tried, and the one
//! is taken that asks least of the network: that packets took about as long as the certain ones
//! next to them, or else as the one before them, and that few were lost, came twice, or overtook
//! others. A fault counts as much as a packet that took one period longer or shorter than its
//! neighbours, because that is what shifts all pairs by one; and as much at least as one that took
//! twice as long, because packets of one burst may arrive far from each other. Where two ways ask
//! as much, packets took the shorter time: whoever tries again until somebody answers was answered
//! at the last try.

use super::neighbours::Neighbours;

/// Sends and receipts of one payload, each in the order of time, in ns.
pub(crate) struct Payload<'a> {
    pub sends: &'a [i64],
    pub receipts: &'a [i64],
    /// Of each receipt.
    pub neighbours: &'a [Neighbours],
    /// How far clocks may be off each other.
    pub tolerance_ns: i64,
    /// Whether what was received before every send is of one that no reel holds.
    pub lacks_sends: bool,
    /// Whether there are more of both.
    pub goes_on: bool,
}

/// For each receipt its send; several receipts of one send are one packet that came again.
pub(crate) type Pairs = Vec<Option<usize>>;

/// What was found.
pub(crate) struct Explained {
    pub pairs: Pairs,
    /// Sends of which another way that asks hardly more says something else.
    pub doubtful: Vec<usize>,
}

/// How many ways to begin are tried.
const BEGINNINGS: usize = 24;
/// Ways to begin are compared by this many receipts.
const LOOKED_AT: usize = 512;
/// A packet that overtook others counts as this many faults.
const OVERTAKING: i64 = 4;
/// A way that asks for this many faults more, or for a quarter more, may be the true one.
const NEARLY: i64 = 4;

/// How to go on from one receipt to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    /// How long the first packet took.
    took_ns: i64,
    /// A packet that took longer than is usual makes such a part of it usual.
    follows: i64,
}

/// The paces at which what is usual follows what was.
const STEADY: i64 = 64;
const QUICK: i64 = 4;

/// A way, and what it asks for.
struct Tried {
    cost: i64,
    pairs: Pairs,
}

impl Payload<'_> {
    /// The way that asks least of the network.
    pub fn explain(&self) -> Explained {
        let took_ns = self.beginnings();
        let least_ns = took_ns.iter().copied().min().unwrap_or(0);
        let fault_ns = self.period_ns().max(least_ns);
        let mut tried: Vec<Tried> = Vec::new();
        let short = self.start();
        let ways = took_ns
            .into_iter()
            .flat_map(|took_ns| [STEADY, QUICK].map(|follows| Pace { took_ns, follows }));
        let mut costs: Vec<(i64, Pace)> = ways
            .map(|way| (short.cost(&short.along(way, fault_ns), fault_ns), way))
            .collect();
        costs.sort_by_key(|&(cost, _)| cost);
        let is_nearly = |cost: i64, least: i64| {
            let most = least.saturating_add(least / 4);
            cost <= most.saturating_add(fault_ns.saturating_mul(NEARLY))
        };
        if let Some(&(least, best)) = costs.first() {
            // The best; the same at the other pace; and of those that come near it the one that
            // says most of all something else.
            let near = costs
                .iter()
                .filter(|(cost, _)| is_nearly(*cost, least))
                .map(|&(_, way)| way);
            let last = near
                .clone()
                .max_by_key(|way| way.took_ns.abs_diff(best.took_ns));
            let pace = near.clone().find(|way| way.follows != best.follows);
            let mut ways = vec![best];
            ways.extend(pace.into_iter().chain(last).filter(|way| *way != best));
            for way in ways {
                let pairs = self.along(way, fault_ns);
                let cost = self.cost(&pairs, fault_ns);
                tried.push(Tried { cost, pairs });
            }
        }
        let pairs = self.oldest_first();
        let cost = self.cost(&pairs, fault_ns);
        tried.push(Tried { cost, pairs });
        let least = (0..tried.len()).min_by_key(|&way| tried[way].cost);
        let Tried { cost, pairs } = tried.swap_remove(least.unwrap_or(0));
        let others = tried.iter().filter(|other| is_nearly(other.cost, cost));
        let differ = others.flat_map(|other| {
            let both = pairs.iter().zip(&other.pairs);
            both.filter(|(one, other)| one != other)
                .flat_map(|(one, other)| [*one, *other])
        });
        Explained {
            doubtful: differ.flatten().collect(),
            pairs,
        }
    }

    /// The first receipts, with the sends that they may be of.
    fn start(&self) -> Payload<'_> {
        let count = self.receipts.len().min(LOOKED_AT);
        let receipts = &self.receipts[..count];
        let last = receipts.last().copied().unwrap_or(0);
        let sends = if count < self.receipts.len() {
            self.possible(last)
        } else {
            self.sends.len()
        };
        Payload {
            sends: &self.sends[..sends],
            receipts,
            neighbours: &self.neighbours[..count],
            goes_on: count < self.receipts.len(),
            ..*self
        }
    }

    /// How long the first packet may have taken; the shortest time first.
    fn beginnings(&self) -> Vec<i64> {
        let Some(&first) = self.receipts.first() else {
            return Vec::new();
        };
        if let Some((least, _)) = self.neighbours.first().and_then(Neighbours::took_ns) {
            return vec![least];
        }
        let possible = self.possible(first);
        let latest = possible.saturating_sub(BEGINNINGS)..possible;
        let sends = latest.rev().filter_map(|place| self.sends.get(place));
        sends.map(|&sent| first.saturating_sub(sent)).collect()
    }

    /// How many sends there are before a receipt.
    fn possible(&self, receipt: i64) -> usize {
        let latest_ns = receipt.saturating_add(self.tolerance_ns);
        self.sends.partition_point(|&sent| sent <= latest_ns)
    }

    /// From one send to the next, in the middle.
    fn period_ns(&self) -> i64 {
        let mut gaps: Vec<i64> = self
            .sends
            .windows(2)
            .map(|two| two[1].saturating_sub(two[0]))
            .collect();
        let middle = gaps.len() / 2;
        if middle >= gaps.len() {
            return 1;
        }
        (*gaps.select_nth_unstable(middle).1).max(1)
    }

    /// The oldest send that has no receipt gets the next one; a receipt with no send left is a
    /// further receipt of the last one.
    fn oldest_first(&self) -> Pairs {
        let mut taken = 0usize;
        let pairs = self.receipts.iter().map(|&receipt| {
            let least = usize::from(taken == 0 && !self.lacks_sends);
            if taken < self.possible(receipt).max(least).min(self.sends.len()) {
                taken += 1;
            }
            taken.checked_sub(1)
        });
        pairs.collect()
    }

    /// Each packet took about as long as its neighbours, or else as those before it.
    fn along(&self, way: Pace, fault_ns: i64) -> Pairs {
        let mut usual_ns = way.took_ns;
        let period_ns = self.period_ns();
        let mut last: Option<usize> = None;
        let mut pairs = Vec::with_capacity(self.receipts.len());
        for (&receipt, neighbours) in self.receipts.iter().zip(self.neighbours) {
            let least = usize::from(!self.lacks_sends && last.is_none());
            let possible = self.possible(receipt).max(least).min(self.sends.len());
            let from = last.unwrap_or(0);
            let expected = neighbours.took_ns().unwrap_or((usual_ns, usual_ns));
            if last.is_none() && self.is_before(receipt, neighbours, period_ns / 2) {
                pairs.push(None);
                continue;
            }
            let near = |sent_ns: i64| {
                let after = self.sends.partition_point(|&sent| sent < sent_ns);
                [after.saturating_sub(1), after]
            };
            let [a, b] = [expected.1, expected.0].map(|took| near(receipt.saturating_sub(took)));
            let edges = [neighbours.before, neighbours.after];
            let [c, d] = edges.map(|edge| edge.map_or(a, |certain| near(certain.sent_ns)));
            let candidates = [a, b, c, d]
                .into_iter()
                .flatten()
                .chain([from, from + 1])
                .filter(|&at| from <= at && at < possible);
            let rank = |&at: &usize| {
                let sent_ns = self.sends[at];
                let again = i64::from(last == Some(at));
                let asked = self.strange(receipt, sent_ns, expected, neighbours, fault_ns);
                (asked.saturating_add(again.saturating_mul(fault_ns / 2)), at)
            };
            let chosen = candidates.min_by_key(rank).or(last);
            if let Some(&sent) = chosen.and_then(|at| self.sends.get(at)) {
                if chosen != last {
                    let took_ns = receipt.saturating_sub(sent);
                    usual_ns =
                        usual_ns.saturating_add(took_ns.saturating_sub(usual_ns) / way.follows);
                }
                last = chosen;
            }
            pairs.push(chosen);
        }
        pairs
    }

    /// Whether a receipt is of one that no reel holds, as its neighbours tell: it was sent well before
    /// the first.
    fn is_before(&self, receipt: i64, neighbours: &Neighbours, slack_ns: i64) -> bool {
        let has_choice = self.lacks_sends && self.sends.len() > 1;
        let took = neighbours.took_ns().filter(|_| has_choice);
        let sent = took.map(|(least, most)| {
            let slack_ns = slack_ns.max(least / 4).saturating_add(neighbours.sooner_ns);
            let slack_ns = slack_ns.saturating_add(neighbours.overtaken_ns);
            let slack_ns = slack_ns.saturating_add(most.saturating_sub(least));
            let sent = receipt.saturating_sub(least).saturating_add(slack_ns);
            sent.saturating_add(self.tolerance_ns)
        });
        sent.zip(self.sends.first())
            .is_some_and(|(sent, first)| sent < *first)
    }

    /// How much longer or shorter a packet took than is usual, and what it costs if it overtook.
    fn strange(
        &self,
        receipt: i64,
        sent: i64,
        (least, most): (i64, i64),
        neighbours: &Neighbours,
        fault_ns: i64,
    ) -> i64 {
        let took = receipt.saturating_sub(sent);
        let off = least.saturating_sub(took).max(took.saturating_sub(most));
        let overtakes = i64::from(neighbours.overtakes(sent, self.tolerance_ns));
        let fault = (overtakes * OVERTAKING).saturating_mul(fault_ns);
        off.max(0).saturating_add(fault)
    }

    /// What pairs ask of the network: faults, and times that are not the usual ones.
    fn cost(&self, pairs: &Pairs, fault_ns: i64) -> i64 {
        let mut usual_ns: Option<i64> = None;
        let (mut cost, mut faults) = (0i64, 0i64);
        let mut last: Option<usize> = None;
        let mut used = 0usize;
        for ((&receipt, neighbours), &pair) in self.receipts.iter().zip(self.neighbours).zip(pairs)
        {
            let Some(&sent) = pair.and_then(|at| self.sends.get(at)) else {
                continue;
            };
            if last == pair {
                faults += 1;
                continue;
            }
            last = pair;
            used += 1;
            let took = receipt.saturating_sub(sent);
            let usual = usual_ns.unwrap_or(took);
            let expected = neighbours.took_ns().unwrap_or((usual, usual));
            let asked = self.strange(receipt, sent, expected, neighbours, fault_ns);
            cost = cost.saturating_add(asked);
            usual_ns = Some(took);
        }
        // What went on its way last is not lost where there is more to come.
        let sends = if self.goes_on {
            last.map_or(0, |last| last + 1)
        } else {
            self.sends.len()
        };
        faults += sends.saturating_sub(used) as i64;
        cost.saturating_add(faults.saturating_mul(fault_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::neighbours::Certain;
    use super::*;

    #[track_caller]
    fn check(sends: &[i64], receipts: &[i64], neighbours: &[Neighbours], expected: &[usize]) {
        let payload = Payload {
            sends,
            receipts,
            neighbours,
            tolerance_ns: 0,
            lacks_sends: false,
            goes_on: false,
        };
        let found: Vec<usize> = payload.explain().pairs.into_iter().flatten().collect();
        assert_eq!(found, expected);
    }

    fn alone(count: usize) -> Vec<Neighbours> {
        vec![Neighbours::default(); count]
    }

    /// Between a packet that was sent then and took this long, and another.
    fn between(before: (i64, i64), after: (i64, i64)) -> Neighbours {
        let certain = |(sent_ns, took_ns)| Some(Certain { sent_ns, took_ns });
        Neighbours {
            before: certain(before),
            after: certain(after),
            ..Neighbours::default()
        }
    }

    #[test]
    fn a_loss_in_a_row_of_keepalives_is_not_made_up_for_by_all_that_follow() {
        // The third of them is lost.
        let sends: Vec<i64> = (0..10).map(|n| n * 10_000).collect();
        let arrived = [0, 1, 3, 4, 5, 6, 7, 8, 9];
        let receipts: Vec<i64> = arrived.iter().map(|&n| sends[n] + 500).collect();
        check(&sends, &receipts, &alone(9), &arrived);
    }

    #[test]
    fn a_loss_and_a_copy_do_not_cancel_out() {
        let sends: Vec<i64> = (0..10).map(|n| n * 10_000).collect();
        let arrived = [0, 1, 3, 4, 5, 6, 7, 7, 8, 9];
        let receipts: Vec<i64> = arrived.iter().map(|&n| sends[n] + 500).collect();
        check(&sends, &receipts, &alone(10), &arrived);
    }

    #[test]
    fn several_on_their_way_at_a_time_keep_their_distance() {
        let sends: Vec<i64> = (0..100).map(|n| n * 1000).collect();
        let arrived: Vec<usize> = (0..100).filter(|n| n % 10 != 5).collect();
        let receipts: Vec<i64> = arrived.iter().map(|&n| sends[n] + 5000).collect();
        check(&sends, &receipts, &alone(arrived.len()), &arrived);
    }

    #[test]
    fn what_was_sent_before_the_reel_began_is_of_none_of_its_sends() {
        // Packets take 150; the reel begins at 1000, and lacks two sends that came after that.
        let sends: Vec<i64> = (0..6).map(|n| 1000 + n * 60).collect();
        let receipts: Vec<i64> = (0..8).map(|n| 1030 + n * 60).collect();
        let neighbours: Vec<Neighbours> = receipts
            .iter()
            .map(|&at| between((at - 151, 150), (at - 149, 150)))
            .collect();
        let payload = Payload {
            sends: &sends,
            receipts: &receipts,
            neighbours: &neighbours,
            tolerance_ns: 0,
            lacks_sends: true,
            goes_on: false,
        };
        let pairs = payload.explain().pairs;
        assert_eq!(pairs[..4], [None, None, Some(0), Some(1)]);
    }

    #[test]
    fn a_resend_arrives_where_its_neighbours_say_that_the_first_was_lost() {
        let neighbours = [between((499_000, 5000), (501_000, 5000))];
        check(&[0, 500_000], &[505_000], &neighbours, &[1]);
    }

    #[test]
    fn the_first_arrives_where_its_neighbours_say_that_the_link_held_it() {
        // All that was sent from 0 on arrived at 505.
        let neighbours = [between((-1000, 505_000), (1000, 504_000))];
        check(&[0, 500_000], &[505_000], &neighbours, &[0]);
    }
}
