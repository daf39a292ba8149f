//! Moments in order, in few bytes.

use std::ops::Range;

use netreel_table::Column;

/// Moments in order: each may stand there several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    column: Column,
}

impl Times {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.column.len()
    }

    /// The one at a place.
    pub fn get(&self, place: usize) -> Option<i64> {
        (place < self.len()).then(|| (self.column.get(place) as i64).wrapping_add(i64::MIN))
    }

    /// The place of the first that is not before `time`.
    pub fn place(&self, time: i64) -> usize {
        self.column.lower_bound(key(time))
    }

    /// How many lie in `range`.
    pub fn count_in(&self, range: &Range<i64>) -> usize {
        self.place(range.end)
            .saturating_sub(self.place(range.start))
    }

    /// How many bytes of memory they take.
    pub fn memory(&self) -> usize {
        self.column.memory()
    }

    /// All of them.
    fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.column
            .iter()
            .map(|key| (key as i64).wrapping_add(i64::MIN))
    }
}

impl FromIterator<i64> for Times {
    /// Of moments that are in order.
    fn from_iter<I: IntoIterator<Item = i64>>(times: I) -> Times {
        let mut column: Column = times.into_iter().map(key).collect();
        column.shrink();
        Times { column }
    }
}

/// A number that grows with time.
fn key(time: i64) -> u64 {
    time.wrapping_sub(i64::MIN) as u64
}

/// So many moments wait for others that may belong before them.
const OPEN: usize = 2048;

/// Moments that come nearly in order, on their way to [`Times`].
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    sorted: Times,
    /// The last of those.
    last: Option<i64>,
    /// Those that others may still belong before: up to twice [`OPEN`].
    open: Vec<i64>,
    /// Those that came when it was too late.
    late: Vec<i64>,
}

impl Gathering {
    /// Takes one more.
    pub fn push(&mut self, time: i64) {
        self.open.push(time);
        if self.open.len() == 2 * OPEN {
            self.settle(OPEN);
        }
    }

    /// What has found its place so far: all but a few thousand.
    pub fn so_far(&self) -> &Times {
        &self.sorted
    }

    /// Puts the first of those that wait in their places.
    fn settle(&mut self, count: usize) {
        self.open.sort_unstable();
        for time in self.open.drain(..count) {
            match self.last.is_some_and(|last| time < last) {
                true => self.late.push(time),
                false => {
                    self.last = Some(time);
                    self.sorted.column.push(key(time));
                }
            }
        }
    }

    /// All of them, in order.
    pub fn finish(mut self) -> Times {
        self.settle(self.open.len());
        if self.late.is_empty() {
            self.sorted.column.shrink();
            return self.sorted;
        }
        self.late.sort_unstable();
        let mut late = self.late.iter().copied().peekable();
        let mut sorted = self.sorted.iter().peekable();
        let merged = std::iter::from_fn(|| match (sorted.peek(), late.peek()) {
            (Some(one), Some(other)) if one <= other => sorted.next(),
            (_, Some(_)) => late.next(),
            (_, None) => sorted.next(),
        });
        merged.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(times: impl Iterator<Item = i64> + Clone) {
        let mut gathering = Gathering::default();
        times.clone().for_each(|time| gathering.push(time));
        let mut expected: Vec<i64> = times.collect();
        expected.sort_unstable();
        let times = gathering.finish();
        assert!(times.iter().eq(expected.iter().copied()));
        for range in [0..100, -5_000..5_000, i64::MIN..i64::MAX] {
            let count = expected.iter().filter(|time| range.contains(time)).count();
            assert_eq!(times.count_in(&range), count);
        }
    }

    #[test]
    fn moments_are_in_order_however_they_came() {
        check(std::iter::empty());
        check(0..20_000);
        check((0..20_000).rev());
        check((0..20_000).map(|time| time ^ 0x3f));
        check((0..20_000).map(|time| time * 7_919 % 10_007 - 5_000));
        check(
            [i64::MIN, 5, 5, i64::MAX - 1, -1]
                .into_iter()
                .cycle()
                .take(9_999),
        );
    }
}
