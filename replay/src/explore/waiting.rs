//! Ways that wait to be tried, the orders that they should lead to, and how far an exploration has come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::races::Candidate;

/// So many ways wait to be tried at most; what would take longest is given up beyond.
const WAITING_MAX: usize = 400_000;

/// So many ways to one order are kept besides the one that is tried first.
const OTHERS_MAX: usize = 4;

/// By how much a way is put back: the number of its changes, its class, how long it takes, when it came.
type Cost = (usize, u8, i64, u64);

/// The order that a way should lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meant {
    order: u64,
    /// Whether a run says itself that it came there.
    is_told: bool,
}

/// A way that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Way {
    pub before: Arc<[Change]>,
    /// `None`: it was tried, and what may be changed besides is still to be looked for; or it is a way by
    /// chance.
    pub change: Option<Change>,
    pub meant: Option<Meant>,
}

impl Way {
    /// One by chance, or one that was tried.
    pub fn with(changes: &[Change]) -> Way {
        Way {
            before: changes.into(),
            change: None,
            meant: None,
        }
    }

    pub fn changes(&self) -> Vec<Change> {
        self.before.iter().copied().chain(self.change).collect()
    }
}

/// Ways that wait, the cheapest first; of those to one order only one is tried, unless it does not lead
/// there.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Waiting {
    ways: BTreeMap<Cost, Way>,
    reached: BTreeSet<u64>,
    /// Of each order to which a way leads that waits, or is played: other ways there, the cheapest first.
    others: BTreeMap<u64, Vec<(Cost, Way)>>,
    added: u64,
    saved: u64,
    unreached: u64,
    given_up: u64,
}

impl Waiting {
    pub fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// Says how many there are.
    pub fn count(&self, counts: &mut Counts) {
        counts.waiting = self.ways.len() as u64;
        (counts.saved, counts.unreached) = (self.saved, self.unreached);
        counts.given_up = self.given_up;
    }

    /// The cheapest way.
    pub fn next(&mut self) -> Option<Way> {
        loop {
            let (_, way) = self.ways.pop_first()?;
            match way.meant {
                Some(meant) if self.reached.contains(&meant.order) => {
                    self.others.remove(&meant.order);
                    self.saved += 1;
                }
                _ => return Some(way),
            }
        }
    }

    /// Puts candidates behind these changes among those that wait.
    pub fn add(&mut self, before: &[Change], candidates: Vec<Candidate>) {
        let before: Arc<[Change]> = before.into();
        let length = length_ns(&before);
        let mut candidates = candidates;
        candidates.sort_by_key(|it| (it.class, it.change.length_ns(), it.change));
        for candidate in candidates {
            let Candidate { order, change, .. } = candidate;
            if self.reached.contains(&order) {
                self.saved += 1;
                continue;
            }
            self.added += 1;
            let length = length.saturating_add(change.length_ns());
            let cost = (before.len() + 1, candidate.class, length, self.added);
            let way = Way {
                before: Arc::clone(&before),
                change: Some(change),
                meant: Some(Meant {
                    order,
                    is_told: candidate.is_told,
                }),
            };
            match self.others.get_mut(&order) {
                Some(others) => {
                    self.saved += 1;
                    if others.len() < OTHERS_MAX {
                        others.push((cost, way));
                    }
                }
                None => {
                    self.others.insert(order, Vec::new());
                    self.ways.insert(cost, way);
                }
            }
        }
        while self.ways.len() > WAITING_MAX {
            let last = self.ways.pop_last();
            if let Some(meant) = last.and_then(|it| it.1.meant) {
                self.others.remove(&meant.order);
            }
            self.given_up += 1;
        }
    }

    /// Keeps a way that came to nothing wrong, to look for what may be changed besides once all ways with as
    /// many changes were tried.
    pub fn go_on(&mut self, changes: &[Change]) {
        self.added += 1;
        let length = length_ns(changes);
        let cost = (changes.len() + 1, 0, length, self.added);
        self.ways.insert(cost, Way::with(changes));
    }

    /// A run had this order, and should have had another; whether nobody had it before. Where it did not come
    /// to the one that was meant, the next way there waits.
    pub fn reached(&mut self, order: u64, meant: Option<Meant>) -> bool {
        let is_new = self.reached.insert(order);
        let Some(meant) = meant else { return is_new };
        let others = self.others.remove(&meant.order).unwrap_or_default();
        if !meant.is_told {
            self.reached.insert(meant.order);
        }
        if self.reached.contains(&meant.order) {
            return is_new;
        }
        let mut others = others.into_iter();
        match others.next() {
            Some((cost, way)) => {
                self.saved = self.saved.saturating_sub(1);
                self.ways.insert(cost, way);
                self.others.insert(meant.order, others.collect());
            }
            None => self.unreached += 1,
        }
        is_new
    }
}

/// How long the network is other than it was, in nanoseconds, of all changes together.
fn length_ns(changes: &[Change]) -> i64 {
    let lengths = changes.iter().map(Change::length_ns);
    lengths.fold(0, i64::saturating_add)
}

/// How far an exploration has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Runs.
    pub runs: u64,
    /// Turns of nodes that were played in them.
    pub turns: u64,
    /// Orders that were seen.
    pub orders: u64,
    /// Ways that would have led to an order that was seen, or to which another way led, and were not tried.
    pub saved: u64,
    /// Orders to which no way that should have led there did: layers do not let them happen, or nobody knows
    /// how.
    pub unreached: u64,
    /// Runs that came to something wrong.
    pub wrong: u64,
    /// Ways that wait.
    pub waiting: u64,
    /// Ways that were given up because too many waited.
    pub given_up: u64,
}

#[cfg(test)]
mod tests {
    use super::super::change::{ChangeKind, Moment};
    use super::*;

    fn candidate(order: u64, length: u32) -> Candidate {
        let at = |turn: u32| Moment {
            turn,
            ns: turn.into(),
        };
        Candidate {
            change: Change {
                kind: ChangeKind::Hold,
                from: 0,
                to: 1,
                since: at(1),
                until: at(1 + length),
            },
            class: 0,
            order,
            is_told: true,
        }
    }

    fn length(way: &Way) -> i64 {
        way.changes().iter().map(Change::length_ns).sum()
    }

    #[test]
    fn a_second_way_to_an_order_is_tried_where_the_first_does_not_lead_there() {
        let mut waiting = Waiting::default();
        waiting.add(&[], vec![candidate(7, 5), candidate(7, 3), candidate(8, 4)]);
        let first = waiting.next().expect("a way");
        assert_eq!(length(&first), 3);
        assert!(waiting.reached(1, first.meant));
        let rest: Vec<i64> = std::iter::from_fn(|| waiting.next())
            .map(|it| length(&it))
            .collect();
        assert_eq!(rest, [4, 5]);
        let mut counts = Counts::default();
        waiting.count(&mut counts);
        assert_eq!((counts.saved, counts.unreached), (0, 0));
    }

    #[test]
    fn no_second_way_is_tried_to_an_order_that_was_reached() {
        let mut waiting = Waiting::default();
        waiting.add(&[], vec![candidate(7, 5), candidate(7, 3), candidate(8, 4)]);
        let first = waiting.next().expect("a way");
        assert!(waiting.reached(7, first.meant));
        // The way to 8 came there too.
        assert!(waiting.reached(8, None));
        assert!(waiting.next().is_none());
        let mut counts = Counts::default();
        waiting.count(&mut counts);
        assert_eq!(counts.saved, 2);
    }

    #[test]
    fn an_order_to_which_no_way_leads_is_counted() {
        let mut waiting = Waiting::default();
        waiting.add(&[], vec![candidate(7, 5)]);
        let way = waiting.next().expect("a way");
        waiting.reached(1, way.meant);
        let mut counts = Counts::default();
        waiting.count(&mut counts);
        assert_eq!((counts.saved, counts.unreached), (0, 1));
    }
}
