//! Which of many stretches of time touch a visible range, at a cost that does not depend on how
//! many there are.

use std::ops::Range;

/// How many stretches, or hulls, are below one hull.
const FAN: usize = 32;

/// From the first moment of some stretches to the last of any of them.
type Hull = (i64, i64);

/// Hulls over rows of closed stretches `[start, end]`, and hulls over those: half a byte a row.
///
/// The stretches themselves are not kept: whoever asks says what they are. Where the rows are
/// ordered by start, or nearly so, a hull that touches the range has a row below it that does, so
/// that enumerating k rows looks at no more than some [`FAN`] k others.
#[derive(Clone, Debug, Default)]
pub struct Hulls {
    /// The lowest first: hulls of [`FAN`] rows each, then of [`FAN`] of those.
    levels: Vec<Vec<Hull>>,
    rows: usize,
}

/// What [`Hulls::touching`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touching {
    /// The rows, by start, then by end.
    pub rows: Vec<usize>,
    /// Whether these are all. Otherwise there are more than the limit, and these are some of them.
    pub complete: bool,
    /// How many hulls and rows were looked at.
    pub steps: usize,
}

impl Hulls {
    /// Appends a row; an end before its start counts as the start.
    pub fn push(&mut self, start: i64, end: i64) {
        let row = self.rows;
        self.rows += 1;
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        self.widen(row, start, end);
        if let Some(top) = self.levels.last().filter(|top| top.len() > FAN) {
            let above = top
                .chunks(FAN)
                .filter_map(|hulls| hulls.iter().copied().reduce(around))
                .collect();
            self.levels.push(above);
        }
    }

    /// Says that a row has a longer stretch than it was given.
    pub fn widen(&mut self, row: usize, start: i64, end: i64) {
        let new = (start, end.max(start));
        let mut at = row;
        for level in &mut self.levels {
            at /= FAN;
            match level.get_mut(at) {
                Some(hull) => *hull = around(*hull, new),
                None => level.push(new),
            }
        }
    }

    /// The rows that share a moment with `range`; stops where there are more than `limit`. `of`
    /// gives the stretch of a row.
    pub fn touching(
        &self,
        range: &Range<i64>,
        limit: usize,
        of: impl Fn(usize) -> Option<(i64, i64)>,
    ) -> Touching {
        let touches = |(start, end): Hull| start < range.end && end.max(start) >= range.start;
        let mut found: Vec<(i64, i64, usize)> = Vec::new();
        let mut steps = 0;
        let top = self.levels.len();
        let all = self.levels.last().map_or(0, Vec::len);
        let mut stack: Vec<(usize, usize)> = (0..all).rev().map(|place| (top, place)).collect();
        let mut complete = true;
        // Level 0 is that of the rows, level 1 that of the lowest hulls.
        while let Some((level, place)) = stack.pop() {
            steps += 1;
            if level == 0 {
                found.extend(
                    of(place)
                        .filter(|stretch| touches(*stretch))
                        .map(|(start, end)| (start, end.max(start), place)),
                );
                if found.len() > limit {
                    complete = false;
                    break;
                }
                continue;
            }
            let hull = self
                .levels
                .get(level - 1)
                .and_then(|hulls| hulls.get(place));
            let Some(&(start, end)) = hull.filter(|hull| touches(**hull)) else {
                continue;
            };
            let below = match level {
                1 => self.rows,
                _ => self.levels.get(level - 2).map_or(0, Vec::len),
            };
            let inside = start >= range.start && end < range.end;
            if inside && found.len() + self.rows_below(level, place) > limit {
                complete = false;
                break;
            }
            let children = place * FAN..(place * FAN + FAN).min(below);
            stack.extend(children.rev().map(|child| (level - 1, child)));
        }
        found.sort_unstable();
        found.truncate(limit);
        Touching {
            rows: found.into_iter().map(|(.., row)| row).collect(),
            complete,
            steps,
        }
    }

    /// How many rows a hull is around.
    fn rows_below(&self, level: usize, place: usize) -> usize {
        let each = FAN.saturating_pow(level as u32);
        let first = place.saturating_mul(each).min(self.rows);
        first.saturating_add(each).min(self.rows) - first
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        self.levels.iter().map(Vec::capacity).sum::<usize>() * size_of::<Hull>()
    }

    /// Gives back memory that was taken for more rows.
    pub fn shrink(&mut self) {
        self.levels.iter_mut().for_each(Vec::shrink_to_fit);
    }
}

fn around(one: Hull, other: Hull) -> Hull {
    (one.0.min(other.0), one.1.max(other.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hulls(stretches: &[(i64, i64)]) -> Hulls {
        let mut hulls = Hulls::default();
        stretches
            .iter()
            .for_each(|&(start, end)| hulls.push(start, end));
        hulls
    }

    fn touching(stretches: &[(i64, i64)], range: Range<i64>, limit: usize) -> Touching {
        let of = |row: usize| stretches.get(row).copied();
        hulls(stretches).touching(&range, limit, of)
    }

    #[track_caller]
    fn check(stretches: &[(i64, i64)], range: Range<i64>, expected: &[usize]) {
        let found = touching(stretches, range, 1000);
        assert_eq!(found.rows, expected);
        assert!(found.complete);
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
    fn those_found_are_in_the_order_of_their_starts() {
        check(&[(9, 10), (3, 20), (3, 10), (30, 4)], 0..100, &[2, 1, 0, 3]);
    }

    #[test]
    fn what_a_walk_over_all_finds_is_found() {
        let stretches: Vec<(i64, i64)> = (0..5_000)
            .map(|row| (row * 10 - row * 37 % 400, row * 10 + row * 7_919 % 3_000))
            .collect();
        for range in [0..1, 9_000..9_010, 20_000..21_000, 49_000..90_000] {
            let touches =
                |&(start, end): &(i64, i64)| start < range.end && end.max(start) >= range.start;
            let rows = stretches
                .iter()
                .enumerate()
                .filter(|(_, stretch)| touches(stretch));
            let mut expected: Vec<_> = rows.map(|(row, &(start, end))| (start, end, row)).collect();
            expected.sort_unstable();
            let expected: Vec<usize> = expected.into_iter().map(|(.., row)| row).collect();
            check(&stretches, range, &expected);
        }
    }

    #[test]
    fn one_endless_stretch_does_not_make_the_rest_dear() {
        let mut stretches: Vec<(i64, i64)> = (0..100_000).map(|i| (i * 10, i * 10 + 5)).collect();
        stretches.insert(0, (0, 2_000_000));
        let found = touching(&stretches, 500_000..500_100, 1000);
        assert_eq!(found.rows.len(), 11);
        assert!(found.steps < 400, "looked at {}", found.steps);
    }

    #[test]
    fn the_limit_ends_the_search() {
        let stretches: Vec<(i64, i64)> = (0..100_000).map(|i| (i, i)).collect();
        for (range, steps) in [(0..100_000, 10), (-1..100_000, 10), (0..3_001, 4_000)] {
            let found = touching(&stretches, range, 3000);
            assert!(!found.complete);
            assert!(found.steps < steps, "looked at {}", found.steps);
        }
        assert!(touching(&stretches, 0..3_000, 3000).complete);
    }

    #[test]
    fn a_row_that_was_widened_is_found() {
        let stretches = vec![(100, 100); 2_000];
        let mut hulls = hulls(&stretches);
        hulls.widen(1_234, 100, 900);
        let of = |row| Some((100, if row == 1_234 { 900 } else { 100 }));
        assert_eq!(hulls.touching(&(500..600), 9, of).rows, [1_234]);
    }
}
