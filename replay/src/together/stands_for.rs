//! For which recorded packet one stands that is sent off the recording.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::plan::Plan;

/// The same bytes on a link are taken for the recorded packet if they are sent within this of it.
const EQUAL_WITHIN_NS: u64 = 1_000_000_000;

/// What has become of a recorded send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Taken {
    #[default]
    Not,
    /// A receiver has it, but it is not sent yet.
    Ahead,
    Sent,
}

/// What has become of the recorded sends so far.
#[derive(Debug)]
pub(super) struct Sends {
    taken: Vec<Taken>,
    /// Of [`Plan::equals`], those that nobody has taken; made when it is first asked for.
    free: Option<BTreeSet<(usize, u64, i64, usize)>>,
}

impl Sends {
    pub fn of(plan: &Plan) -> Sends {
        Sends {
            taken: vec![Taken::Not; plan.sends.len()],
            free: None,
        }
    }

    pub fn get(&self, send: usize) -> Taken {
        self.taken.get(send).copied().unwrap_or_default()
    }

    /// From now on this has become of it.
    pub fn take(&mut self, send: usize, by: Taken, plan: &Plan) {
        if let (Some(free), Some(of)) = (&mut self.free, plan.sends.get(send)) {
            free.remove(&(of.link, of.hash, of.at_ns, send));
        }
        if let Some(taken) = self.taken.get_mut(send) {
            *taken = by;
        }
    }

    /// For each packet that a node sent off its recording in one turn, by its link and the hash of
    /// its bytes, the recorded one of that turn and link that it stands for: the first with the same
    /// bytes; else the first that is left.
    pub fn in_turn(
        &self,
        plan: &Plan,
        (node, turn): (usize, usize),
        sent: &[(Option<usize>, u64)],
    ) -> Vec<Option<usize>> {
        let mut alike: BTreeMap<(usize, u64), VecDeque<usize>> = BTreeMap::new();
        let mut left: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
        for &(_, send) in plan.nodes[node].sends_in(turn) {
            if self.get(send) != Taken::Sent {
                let of = &plan.sends[send];
                let alike = alike.entry((of.link, of.hash)).or_default();
                alike.push_back(send);
                left.entry(of.link).or_default().push_back(send);
            }
        }
        let with_bytes = sent.iter().map(|&(link, hash)| {
            let alike = alike.get_mut(&(link?, hash))?;
            alike.pop_front()
        });
        let mut found: Vec<Option<usize>> = with_bytes.collect();
        let stood_for: BTreeSet<usize> = found.iter().flatten().copied().collect();
        for (found, &(link, _)) in found.iter_mut().zip(sent) {
            let left = link.and_then(|link| left.get_mut(&link));
            if let (None, Some(left)) = (&found, left) {
                while let Some(next) = left.pop_front() {
                    if !stood_for.contains(&next) {
                        *found = Some(next);
                        break;
                    }
                }
            }
        }
        found
    }

    /// The recorded packet of a link with the same bytes that nobody has sent yet, of which it is
    /// known what became of it, and that was sent nearest to this time.
    pub fn equal(&mut self, plan: &Plan, link: usize, hash: u64, at_ns: i64) -> Option<usize> {
        let taken = &self.taken;
        let free = self.free.get_or_insert_with(|| {
            let free = plan.equals.iter().copied();
            let is_free = |it: &(_, _, _, usize)| taken.get(it.3) == Some(&Taken::Not);
            free.filter(is_free).collect()
        });
        let behind = free
            .range((link, hash, at_ns, 0)..=(link, hash, i64::MAX, usize::MAX))
            .map(|it| (it.2, it.3))
            .next();
        let before = free.range((link, hash, i64::MIN, 0)..(link, hash, at_ns, 0));
        // Of several that were sent at the same time, the first.
        let before = before.map(|it| it.2).next_back().and_then(|before_ns| {
            let mut same = free.range((link, hash, before_ns, 0)..);
            same.next().map(|it| (it.2, it.3))
        });
        let near = [before, behind]
            .into_iter()
            .flatten()
            .map(|(sent_ns, send)| (sent_ns.abs_diff(at_ns), send));
        let nearest = near.min().filter(|(away, _)| *away <= EQUAL_WITHIN_NS);
        nearest.map(|(_, send)| send)
    }
}
