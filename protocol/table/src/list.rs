//! A list whose copies share what they have in common.

use std::sync::Arc;

/// How many rows are kept together.
const ROWS: usize = 4096;

/// Rows that are appended and stay. A copy costs what is behind the last [`ROWS`] rows.
#[derive(Clone, Debug)]
pub struct List<T> {
    full: Vec<Arc<[T]>>,
    open: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List {
            full: Vec::new(),
            open: Vec::new(),
        }
    }
}

impl<T: Clone> List<T> {
    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.full.len() * ROWS + self.open.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: T) {
        self.open.push(row);
        if self.open.len() == ROWS {
            self.full.push(std::mem::take(&mut self.open).into());
        }
    }

    /// A row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&T> {
        match self.full.get(row / ROWS) {
            Some(full) => full.get(row % ROWS),
            None => self.open.get(row - self.full.len() * ROWS),
        }
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.iter_from(0)
    }

    /// The rows from one on, in order.
    pub fn iter_from(&self, row: usize) -> impl DoubleEndedIterator<Item = &T> {
        let first = (row / ROWS).min(self.full.len());
        let skipped = row - first * ROWS;
        let full = self.full.get(first..).unwrap_or(&[]);
        let (begun, rest) = match full.split_first() {
            Some((begun, rest)) => (begun.get(skipped..), rest),
            None => (self.open.get(skipped..), full),
        };
        let open = if full.is_empty() {
            &[][..]
        } else {
            &self.open[..]
        };
        let begun = begun.unwrap_or(&[]).iter();
        begun
            .chain(rest.iter().flat_map(|rows| rows.iter()))
            .chain(open)
    }

    /// The first row for which this does not hold, where it holds for all before it and none after.
    pub fn partition_point(&self, holds: impl Fn(&T) -> bool) -> usize {
        let is_before = |rows: &Arc<[T]>| rows.last().is_some_and(&holds);
        let first = self.full.partition_point(is_before);
        let rows = match self.full.get(first) {
            Some(full) => full,
            None => &self.open[..],
        };
        first * ROWS + rows.partition_point(holds)
    }

    /// How many bytes of memory it holds on to, where no copy does.
    pub fn memory(&self) -> usize {
        (self.full.len() * ROWS + self.open.capacity()) * size_of::<T>()
    }
}

impl<T: Clone> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> List<T> {
        let mut list = List::default();
        rows.into_iter().for_each(|row| list.push(row));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_grow_apart_and_rows_are_found() {
        for length in [0, 1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS, 3 * ROWS + 7] {
            let list: List<usize> = (0..length).collect();
            let mut copy = list.clone();
            copy.push(length);
            assert_eq!((list.len(), copy.len()), (length, length + 1));
            assert!(list.iter().copied().eq(0..length));
            for from in [0, 1, ROWS - 1, ROWS, 2 * ROWS + 5, length, length + 9] {
                let rows = copy.iter_from(from).copied();
                assert!(rows.eq(from..length + 1), "{from} of {length}");
                assert_eq!(copy.get(from).copied(), (from <= length).then_some(from));
                let place = list.partition_point(|&row| row < from);
                assert_eq!(place, from.min(length));
            }
        }
    }
}
