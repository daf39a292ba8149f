//! Which of many stretches of time touch a visible range, at a cost that does not depend on how
//! many there are.

use std::ops::Range;

/// Closed stretches `[start, end]`, sorted by start, with a tree of the latest end below each node.
///
/// The tree is an implicit complete binary tree in a flat array (a priority search over sorted
/// starts; de Berg et al., Computational Geometry, 10.2). Enumerating k stretches looks at
/// O(k log n) nodes.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    starts: Vec<i64>,
    ends: Vec<i64>,
    ids: Vec<u32>,
    latest: Vec<i64>,
    leaves: usize,
}

/// What [`Intervals::touching`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touching {
    /// The ids that were given to [`Intervals::new`], by start.
    pub ids: Vec<u32>,
    /// Whether these are all. Otherwise there were more than the limit.
    pub complete: bool,
    /// How many nodes of the tree were looked at.
    pub steps: usize,
}

impl Intervals {
    /// Builds the index of `(start, end, id)`; an end before its start counts as the start.
    pub fn new(mut stretches: Vec<(i64, i64, u32)>) -> Intervals {
        stretches.sort_unstable();
        let leaves = stretches.len().next_power_of_two();
        let mut latest = vec![i64::MIN; 2 * leaves];
        for (place, &(start, end, _)) in stretches.iter().enumerate() {
            if let Some(slot) = latest.get_mut(leaves + place) {
                *slot = end.max(start);
            }
        }
        for node in (1..leaves).rev() {
            latest[node] = latest[2 * node].max(latest[2 * node + 1]);
        }
        Intervals {
            starts: stretches.iter().map(|stretch| stretch.0).collect(),
            ends: stretches.iter().map(|s| s.1.max(s.0)).collect(),
            ids: stretches.iter().map(|stretch| stretch.2).collect(),
            latest,
            leaves,
        }
    }

    /// The stretches that share a moment with `range`, by start; stops after `limit`.
    pub fn touching(&self, range: &Range<i64>, limit: usize) -> Touching {
        let mut found = Touching {
            complete: true,
            ..Touching::default()
        };
        // Only the stretches before this place start early enough.
        let stop = self.starts.partition_point(|&start| start < range.end);
        let mut stack = vec![(1_usize, 0_usize, self.leaves)];
        while let Some((node, first, count)) = stack.pop() {
            found.steps += 1;
            let too_early = self.latest.get(node).is_none_or(|&end| end < range.start);
            if first >= stop || too_early {
                continue;
            }
            if count == 1 {
                if found.ids.len() >= limit {
                    found.complete = false;
                    break;
                }
                if self.ends.get(first).is_some() {
                    found.ids.extend(self.ids.get(first));
                }
                continue;
            }
            let half = count / 2;
            stack.push((2 * node + 1, first + half, half));
            stack.push((2 * node, first, half));
        }
        found
    }
}

/// How many of the sorted `times` lie in `range`, by binary search.
pub fn count_in(times: &[i64], range: &Range<i64>) -> usize {
    let first = times.partition_point(|&time| time < range.start);
    let last = times.partition_point(|&time| time < range.end);
    last.saturating_sub(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stretches: &[(i64, i64)], range: Range<i64>, expected: &[u32]) {
        let index = Intervals::new(
            stretches
                .iter()
                .enumerate()
                .map(|(id, &(start, end))| (start, end, id as u32))
                .collect(),
        );
        assert_eq!(index.touching(&range, 1000).ids, expected);
    }

    #[test]
    fn a_stretch_is_found_wherever_it_touches_the_range() {
        let stretches = [(0, 5), (3, 3), (4, 100), (50, 60), (200, 210)];
        check(&stretches, 0..300, &[0, 1, 2, 3, 4]);
        check(&stretches, 5..50, &[0, 2]);
        check(&stretches, 6..50, &[2]);
        check(&stretches, 55..56, &[2, 3]);
        check(&stretches, 101..200, &[]);
        check(&[], 0..10, &[]);
    }

    #[test]
    fn one_endless_stretch_does_not_make_the_rest_dear() {
        let mut stretches: Vec<(i64, i64, u32)> = (0..100_000)
            .map(|i| (i * 10, i * 10 + 5, i as u32))
            .collect();
        stretches.push((0, 2_000_000, 100_000));
        let index = Intervals::new(stretches);
        let found = index.touching(&(500_000..500_100), 1000);
        assert_eq!(found.ids.len(), 11);
        assert!(found.steps < 400, "looked at {} nodes", found.steps);
    }

    #[test]
    fn the_limit_ends_the_search() {
        let index = Intervals::new((0..100_000).map(|i| (i, i, i as u32)).collect());
        let found = index.touching(&(0..100_000), 3000);
        assert_eq!(found.ids.len(), 3000);
        assert!(!found.complete);
        assert!(found.steps < 12_000, "looked at {} nodes", found.steps);
    }
}
