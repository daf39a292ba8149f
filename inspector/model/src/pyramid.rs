//! Something over time, ready to be drawn at any zoom: pieces, and above them pieces of eight, of
//! sixty-four, and so on. What is drawn depends on the pixels, not on how long it lasted.

use std::ops::Range;

/// How many pieces of a level are one of the next.
const FOLD: usize = 8;

/// A stretch of time, and what was in it.
pub trait Piece: Clone {
    /// When it begins and ends, in ns.
    fn time(&self) -> Range<i64>;
    /// Takes in the piece behind it.
    fn merge(&mut self, next: &Self);
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Pyramid<P> {
    levels: Vec<Vec<P>>,
}

impl<P: Piece> Pyramid<P> {
    /// Of pieces in the order of time.
    pub fn new(pieces: Vec<P>) -> Pyramid<P> {
        let mut levels = vec![pieces];
        while let Some(last) = levels.last().filter(|level| level.len() > FOLD) {
            let next = last
                .chunks(FOLD)
                .filter_map(|pieces| {
                    let (first, rest) = pieces.split_first()?;
                    let mut merged = first.clone();
                    rest.iter().for_each(|piece| merged.merge(piece));
                    Some(merged)
                })
                .collect();
            levels.push(next);
        }
        Pyramid { levels }
    }

    /// The pieces that touch a stretch of time, and one on either side: those of the lowest level that
    /// has about `most` of them at most. The level comes with them: 0 is the lowest.
    pub fn within(&self, time: &Range<i64>, most: usize) -> (usize, &[P]) {
        let mut found: (usize, &[P]) = (0, &[]);
        for (number, level) in self.levels.iter().enumerate() {
            let places = places(level, time);
            found = (number, level.get(places.clone()).unwrap_or_default());
            if places.len() <= most.max(FOLD) {
                break;
            }
        }
        found
    }

    /// Where the pieces of the lowest level are that touch a stretch of time.
    pub fn places(&self, time: &Range<i64>) -> Range<usize> {
        self.levels
            .first()
            .map_or(0..0, |level| places(level, time))
    }

    /// How many pieces the lowest level has.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.levels.first().map_or(0, Vec::len)
    }
}

fn places<P: Piece>(level: &[P], time: &Range<i64>) -> Range<usize> {
    let first = level.partition_point(|piece| piece.time().end < time.start);
    let last = level.partition_point(|piece| piece.time().start <= time.end);
    let first = first.saturating_sub(1);
    first..(last + 1).min(level.len()).max(first)
}

/// The least and the most of some numbers, and their sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// How many they are.
    pub count: u64,
}

impl Span {
    /// Of one number.
    pub fn one(number: f64) -> Span {
        Span {
            min: number,
            max: number,
            mean: number,
            count: 1,
        }
    }

    /// Of both together.
    pub fn and(self, other: Span) -> Span {
        let count = self.count + other.count;
        let part = other.count as f64 / count.max(1) as f64;
        Span {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            mean: self.mean + (other.mean - self.mean) * part,
            count,
        }
    }

    /// The same where one of them may not be there.
    pub fn join(one: Option<Span>, other: Option<Span>) -> Option<Span> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Sum(Range<i64>, i64);

    impl Piece for Sum {
        fn time(&self) -> Range<i64> {
            self.0.clone()
        }

        fn merge(&mut self, next: &Sum) {
            self.0.end = next.0.end;
            self.1 += next.1;
        }
    }

    #[test]
    fn every_zoom_has_all_that_is_in_view_and_not_many_pieces() {
        let pieces = (0..10_000).map(|at| Sum(at * 10..at * 10 + 10, 1));
        let pyramid = Pyramid::new(pieces.collect());
        assert_eq!(pyramid.len(), 10_000);
        let (level, all) = pyramid.within(&(0..100_000), 200);
        assert!(level > 0 && all.len() <= 200, "{level} {}", all.len());
        assert_eq!(all.iter().map(|piece| piece.1).sum::<i64>(), 10_000);
        let (level, few) = pyramid.within(&(500..600), 200);
        assert_eq!(level, 0);
        assert!(few.iter().any(|piece| piece.0 == (540..550)));
        assert!(few.len() <= 14, "{}", few.len());
        assert!(pyramid.within(&(200_000..200_001), 9).1.len() <= 1);
    }

    #[test]
    fn spans_know_the_least_the_most_and_the_mean() {
        let span = [3.0, 1.0, 8.0].map(Span::one).into_iter().reduce(Span::and);
        let span = span.expect("numbers");
        assert_eq!((span.min, span.max, span.mean), (1.0, 8.0, 4.0));
    }
}
