//! Ways by chance, for comparison.

use netreel_transport::Draw;

use super::change::{Change, Moment};
use super::ground::{Ground, GroundNode};
use super::races::Tries;
use super::waiting::Way;

/// Holds of any link, at any time, of any length: what a loop over random delays would try.
pub(super) struct Chance {
    draw: Draw,
    /// Links, sender and receiver, with the times of the receiver's turns.
    links: Vec<(usize, usize)>,
    turns: Vec<Vec<i64>>,
    hold_max_ns: i64,
}

impl Chance {
    pub fn new(ground: &Ground, tries: &Tries, seed: u64) -> Chance {
        let nodes = ground.nodes.len();
        let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let only = |to: usize| tries.only.is_none_or(|only| only == to);
        let times = |node: &GroundNode| node.turns.iter().map(|it| it.at_ns).collect();
        Chance {
            draw: Draw::new(seed),
            links: all.filter(|&(from, to)| from != to && only(to)).collect(),
            turns: ground.nodes.iter().map(times).collect(),
            hold_max_ns: tries.hold_max_ns,
        }
    }

    /// As many changes as there are links: each is held once, for some time.
    pub fn way(&mut self) -> Way {
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
            let (since, until) = (moment(turn, i64::MIN), moment(until, until_ns));
            // The time of a hold is that of its turn; what comes in the turn is held from the first on.
            let since = Moment {
                ns: since_ns,
                ..since
            };
            changes.push(Change::Hold {
                from,
                to,
                since,
                until,
            });
        }
        Way {
            before: changes.into(),
            change: None,
            meant: None,
        }
    }
}
