//! Ways by chance: what is left where orders cannot be gone through, and what orders are compared with.

use std::collections::BTreeSet;

use netreel_transport::Draw;

use super::change::{Change, ChangeKind, Moment};
use super::ground::{Ground, GroundNode};
use super::marks::Marks;
use super::net::Delivery;
use super::races::Tries;
use super::waiting::Way;

/// How ways are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByChance {
    /// Each link is held once, at some time, for some time.
    Delays {
        /// All ways follow from it.
        seed: u64,
    },
    /// Of each node a stretch of time, in which its links have priorities: what comes over a link of a lower
    /// one comes behind all that comes over those of higher ones, and at `depth` - 1 packets a link gets the
    /// lowest. After Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with
    /// probabilistic guarantees of finding bugs" (ASPLOS 2010): a link is a thread, a packet that says
    /// something of an object a step. Of n links and k such packets of a stretch each order that takes
    /// `depth` constraints comes with a probability of at least 1 / (n k^(depth - 1)).
    Priorities {
        /// All ways follow from it.
        seed: u64,
        /// How many constraints an order takes that is looked for. At least 1.
        depth: usize,
    },
}

/// A stretch is as long as a hold may be, or up to so many times half as long.
const HALVES_MAX: u64 = 4;

/// Draws ways.
pub(super) struct Chance {
    by: ByChance,
    draw: Draw,
    /// Links, sender and receiver, with the times of the receiver's turns.
    links: Vec<(usize, usize)>,
    turns: Vec<Vec<i64>>,
    hold_max_ns: i64,
    /// Of each node what comes that says something of an object: the sender, and when.
    steps: Vec<Vec<Step>>,
    last_turns: Vec<u32>,
}

/// The sender of a packet, and when it comes.
type Step = (usize, Moment);

impl Chance {
    pub fn new(
        (by, ground): (ByChance, &Ground),
        tries: &Tries,
        base: &[Delivery],
        marks: &mut Marks<'_>,
    ) -> Chance {
        let nodes = ground.nodes.len();
        let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let only = |to: usize| tries.only.is_none_or(|only| only == to);
        let times = |node: &GroundNode| node.turns.iter().map(|it| it.at_ns).collect();
        let mut steps = vec![Vec::new(); nodes];
        for delivery in base.iter().filter(|it| only(it.node)) {
            let marks = marks.of(&delivery.payload);
            if marks.iter().any(|it| it.id.is_some()) && delivery.from < nodes {
                steps[delivery.node].push((delivery.from, delivery.natural));
            }
        }
        let (ByChance::Delays { seed } | ByChance::Priorities { seed, .. }) = by;
        Chance {
            by,
            draw: Draw::new(seed),
            links: all.filter(|&(from, to)| from != to && only(to)).collect(),
            turns: ground.nodes.iter().map(times).collect(),
            hold_max_ns: tries.hold_max_ns,
            steps,
            last_turns: (0..nodes).map(|it| ground.last_turn_to_move(it)).collect(),
        }
    }

    /// The next way.
    pub fn way(&mut self) -> Way {
        let changes: Vec<Change> = match self.by {
            ByChance::Delays { .. } => self.delays(),
            ByChance::Priorities { depth, .. } => {
                let nodes = 0..self.steps.len();
                let stretches = nodes.filter_map(|node| self.stretch(node, depth));
                stretches.flatten().collect()
            }
        };
        Way::with(&changes)
    }

    /// As many changes as there are links: each is held once, for some time.
    fn delays(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for place in 0..self.links.len() {
            let (from, to) = self.links[place];
            let turns = &self.turns[to];
            let turn = self.draw.below(turns.len() as u64) as usize;
            let length = self.draw.below(self.hold_max_ns.max(1) as u64) as i64;
            let (Some(&since_ns), Some(end)) = (turns.get(turn), turns.last()) else {
                continue;
            };
            let until_ns = since_ns.saturating_add(length).min(*end);
            let until = turns.partition_point(|at| *at < until_ns);
            let moment = |turn: usize, ns| Moment {
                turn: u32::try_from(turn).unwrap_or(u32::MAX),
                ns,
            };
            // The time of a hold is that of its turn; what comes in the turn is held from the first on.
            changes.push(Change {
                kind: ChangeKind::Hold,
                from,
                to,
                since: moment(turn, since_ns),
                until: moment(until, until_ns),
            });
        }
        changes
    }

    /// A stretch of a node's time by priorities; `None` where nothing comes to it.
    fn stretch(&mut self, node: usize, depth: usize) -> Option<Vec<Change>> {
        let steps = &self.steps[node];
        let begin = self.draw.below(steps.len() as u64) as usize;
        let (_, since) = *steps.get(begin)?;
        let turns = &self.turns[node];
        let last = *turns.get(self.last_turns[node] as usize).or(turns.last())?;
        let session_ns = last.saturating_sub(*turns.first()?);
        let length_ns = self.hold_max_ns.min(session_ns) >> self.draw.below(HALVES_MAX);
        let end_ns = since.ns.saturating_add(length_ns).min(last);
        let turn = turns.partition_point(|at| *at < end_ns);
        let end = Moment {
            turn: u32::try_from(turn).ok()?,
            ns: end_ns,
        };
        let behind = steps[begin..].partition_point(|it| it.1 < end);
        let steps = &steps[begin..begin + behind];
        Some(by_priorities(&mut self.draw, (node, end), steps, depth))
    }
}

/// What lets all that comes to a node until `end`, from the first of these steps on, come link by link.
fn by_priorities(
    draw: &mut Draw,
    (node, end): (usize, Moment),
    steps: &[Step],
    depth: usize,
) -> Vec<Change> {
    let Some(&(_, since)) = steps.first() else {
        return Vec::new();
    };
    let senders: BTreeSet<usize> = steps.iter().map(|it| it.0).collect();
    let mut senders = Vec::from_iter(senders);
    for place in (1..senders.len()).rev() {
        senders.swap(place, draw.below(place as u64 + 1) as usize);
    }
    let hold = |from: usize, since: Moment, rank: usize| Change {
        kind: ChangeKind::Hold,
        from,
        to: node,
        since,
        until: end.behind(i64::try_from(rank).unwrap_or(i64::MAX)),
    };
    // Nobody waits for the lowest ones: what comes over the highest one comes as it does.
    let ranked = senders.iter().enumerate().skip(1);
    let mut changes: Vec<Change> = ranked
        .map(|(rank, &from)| hold(from, since, rank))
        .collect();
    for lowest in 1..depth {
        let (from, at) = steps[draw.below(steps.len() as u64) as usize];
        changes.push(hold(from, at, senders.len() + lowest));
    }
    changes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::by_hand::legal_orders;
    use super::super::change::at;
    use super::super::change::fate;
    use super::*;

    /// How often each order comes of so many draws.
    fn drawn(steps: &[Step], depth: usize, draws: u64) -> BTreeMap<Vec<usize>, u64> {
        let mut drawn = BTreeMap::new();
        for seed in 0..draws {
            let mut draw = Draw::new(seed);
            let changes = by_priorities(&mut draw, (0, at(20)), steps, depth);
            let mut order: Vec<usize> = (0..steps.len()).collect();
            order.sort_by_key(|&it| fate(&changes, (steps[it].0, 0), steps[it].1).comes);
            *drawn.entry(order).or_default() += 1;
        }
        drawn
    }

    #[test]
    fn each_pair_comes_either_way_as_often_as_the_paper_says() {
        let steps: Vec<Step> = [1, 2, 3, 1, 2, 3].into_iter().zip((1..).map(at)).collect();
        let draws = 6000;
        let drawn = drawn(&steps, 2, draws);
        for first in 0..steps.len() {
            for second in (0..steps.len()).filter(|&it| steps[it].0 != steps[first].0) {
                let place = |order: &[usize], of| order.iter().position(|it| *it == of);
                let so = drawn
                    .iter()
                    .filter(|it| place(it.0, first) < place(it.0, second));
                let count: u64 = so.map(|it| it.1).sum();
                let least = draws / (3 * steps.len() as u64);
                assert!(
                    count >= least,
                    "{first} before {second}: {count} of {draws}"
                );
            }
        }
    }

    #[test]
    fn links_keep_their_order_and_depth_brings_more_orders() {
        let steps: Vec<Step> = [1, 2, 1, 2].into_iter().zip((1..).map(at)).collect();
        let legal = legal_orders(&steps);
        let orders = [1, 2, 3].map(|depth| {
            let drawn = drawn(&steps, depth, 2000);
            assert!(drawn.keys().all(|it| legal.contains(it)), "{drawn:?}");
            drawn.len()
        });
        // One link behind the other; then either in two parts; then all six.
        assert_eq!(orders, [2, 4, legal.len()]);
    }
}
