//! Moments in order, in few bytes.

use netreel_protocol::session::{Moments, PacketId, Session, SessionTime};
use netreel_table::Column;

/// Moments in order: each may stand there several times.
#[derive(Clone, Debug, Default)]
pub struct Times {
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

/// When a packet was sent, or where nobody saw that, seen first.
pub fn first_time(session: &Session, id: PacketId) -> Option<SessionTime> {
    Some(session.packet(id)?.first()?.time)
}

/// How many moments wait for others that may belong before them.
const OPEN: usize = 2048;

/// Moments that come nearly in order, on their way to [`Times`].
///
/// Where the session may have the same ones, they are compared with those (`like`) and not kept,
/// until one differs.
#[derive(Clone, Debug, Default)]
pub struct Gathering {
    /// How many were the same, as long as all are.
    same: Option<usize>,
    sorted: Times,
    /// The last that found its place.
    last: Option<i64>,
    /// Those that others may still belong before: up to twice [`OPEN`].
    open: Vec<i64>,
    /// Those that came when it was too late.
    late: Vec<i64>,
}

impl Gathering {
    /// Of moments that the session may have.
    pub fn comparing() -> Gathering {
        Gathering {
            same: Some(0),
            ..Gathering::default()
        }
    }

    /// Takes one more.
    pub fn push<'a>(&mut self, time: i64, like: impl FnOnce() -> Option<Moments<'a>>) {
        self.open.push(time);
        if self.open.len() == 2 * OPEN {
            self.settle(OPEN, like());
        }
    }

    /// Of moments that are kept, those that have found their places so far: all but a few thousand.
    pub fn so_far(&self) -> &Times {
        &self.sorted
    }

    /// Puts the first of those that wait in their places.
    fn settle(&mut self, count: usize, like: Option<Moments<'_>>) {
        let mut open = std::mem::take(&mut self.open);
        open.sort_unstable();
        for time in open.drain(..count) {
            if self.last.is_some_and(|last| time < last) {
                self.late.push(time);
                continue;
            }
            self.last = Some(time);
            if let Some(same) = self.same {
                if like.and_then(|like| like.get(same)) == Some(SessionTime(time)) {
                    self.same = Some(same + 1);
                    continue;
                }
                self.keep(like);
            }
            self.sorted.column.push(key(time));
        }
        self.open = open;
    }

    /// Keeps what was compared until now.
    fn keep(&mut self, like: Option<Moments<'_>>) {
        if let (Some(same), Some(like)) = (self.same.take(), like) {
            self.sorted.column = like.iter().take(same).map(|time| key(time.0)).collect();
        }
    }

    /// All of them, in order. `None` where they are those that they were compared with.
    pub fn finish(mut self, like: Option<Moments<'_>>) -> Option<Times> {
        self.settle(self.open.len(), like);
        let is_same = self.same.is_some() && self.same == like.map(|like| like.len());
        if is_same && self.late.is_empty() {
            return None;
        }
        self.keep(like);
        if self.late.is_empty() {
            self.sorted.column.shrink();
            return Some(self.sorted);
        }
        self.late.sort_unstable();
        let mut late = self.late.iter().copied().peekable();
        let mut sorted = self.sorted.iter().peekable();
        Some(
            std::iter::from_fn(|| match (sorted.peek(), late.peek()) {
                (Some(one), Some(other)) if one <= other => sorted.next(),
                (_, Some(_)) => late.next(),
                (_, None) => sorted.next(),
            })
            .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(times: impl Iterator<Item = i64> + Clone) {
        let mut gathering = Gathering::default();
        times.clone().for_each(|time| gathering.push(time, || None));
        let mut expected: Vec<i64> = times.collect();
        expected.sort_unstable();
        let times = gathering.finish(None).expect("moments of their own");
        assert!(times.iter().eq(expected.iter().copied()));
        for range in [0..100, -5_000..5_000, i64::MIN..i64::MAX] {
            let count = expected.iter().filter(|time| range.contains(time)).count();
            assert_eq!(times.place(range.end) - times.place(range.start), count);
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
