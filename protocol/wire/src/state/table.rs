//! A bounded table keyed by an integer: it keeps the entries that were set last.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The newest entries, at most as many as its capacity. Setting a key again makes its entry the
/// newest. Takes memory for the entries that are there, not for its capacity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Table<V> {
    capacity: usize,
    /// Sorted by key.
    entries: VecDeque<Entry<V>>,
    /// How many times something was set.
    age: u64,
    /// Whether the keys were set in their order: the first entry is the oldest.
    is_in_order: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry<V> {
    key: i128,
    /// When it was set, counted in sets.
    age: u64,
    value: V,
}

impl<V> Table<V> {
    pub(crate) fn new(capacity: usize) -> Table<V> {
        Table {
            capacity: capacity.max(1),
            entries: VecDeque::new(),
            age: 0,
            is_in_order: true,
        }
    }

    pub(crate) fn get(&self, key: i128) -> Option<&V> {
        self.entries
            .get(self.place(key).ok()?)
            .map(|entry| &entry.value)
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All entries, sorted by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i128, &V)> {
        self.entries.iter().map(|entry| (entry.key, &entry.value))
    }

    pub(crate) fn remove(&mut self, key: i128) -> Option<V> {
        let place = self.place(key).ok()?;
        self.entries.remove(place).map(|entry| entry.value)
    }

    /// Forgets the entry that was set longest ago.
    pub(crate) fn remove_oldest(&mut self) -> Option<V> {
        if self.is_in_order {
            return self.entries.pop_front().map(|entry| entry.value);
        }
        let ages = self.entries.iter().enumerate();
        let (oldest, _) = ages.min_by_key(|(_, entry)| entry.age)?;
        let oldest = self.entries.remove(oldest);
        self.is_in_order = self.entries.iter().is_sorted_by_key(|entry| entry.age);
        oldest.map(|entry| entry.value)
    }

    /// Sets an entry. `make` gets the value that the entry replaces: the one under the same key, or
    /// where the table is full, the oldest.
    pub(crate) fn set(&mut self, key: i128, make: impl FnOnce(Option<V>) -> V) {
        self.age += 1;
        let old = match self.remove(key) {
            Some(old) => Some(old),
            None if self.entries.len() >= self.capacity => self.remove_oldest(),
            None => None,
        };
        let entry = Entry {
            key,
            age: self.age,
            value: make(old),
        };
        let place = self.place(key).unwrap_or_else(|place| place);
        self.is_in_order &= place == self.entries.len();
        // Twice the room each time, and no more than that for a table of one entry.
        let room = self.entries.len().max(1);
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact(room);
        }
        self.entries.insert(place, entry);
    }

    fn place(&self, key: i128) -> Result<usize, usize> {
        // Sequences grow: the newest key is mostly the last.
        match self.entries.back() {
            Some(last) if last.key < key => Err(self.entries.len()),
            _ => self.entries.binary_search_by_key(&key, |entry| entry.key),
        }
    }
}

/// Two tables are equal where they hold the same entries in the same order of age.
impl<V: PartialEq> PartialEq for Table<V> {
    fn eq(&self, other: &Table<V>) -> bool {
        let by_age = |table: &Table<V>| {
            let mut places: Vec<usize> = (0..table.entries.len()).collect();
            places.sort_by_key(|&place| table.entries.get(place).map(|entry| entry.age));
            places
        };
        self.capacity == other.capacity
            && self.iter().eq(other.iter())
            && by_age(self) == by_age(other)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(table: &Table<u8>) -> Vec<i128> {
        table.iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn a_full_table_forgets_what_was_set_longest_ago() {
        let mut table = Table::new(2);
        for key in [7, 3, 7, 5] {
            table.set(key, |_| 0);
        }
        assert_eq!(keys(&table), [5, 7]);
    }

    #[test]
    fn an_entry_gets_the_value_that_it_replaces() {
        let mut table = Table::new(1);
        let mut replaced = Vec::new();
        for (key, value) in [(1, 10), (1, 11), (2, 12)] {
            table.set(key, |old| {
                replaced.push(old);
                value
            });
        }
        assert_eq!(replaced, [None, Some(10), Some(11)]);
        assert_eq!(table.get(2), Some(&12));
    }

    proptest! {
        #[test]
        fn a_table_holds_the_last_sets_of_its_newest_keys(
            capacity in 1usize..6,
            sets in prop::collection::vec((-4i128..5, any::<u8>()), 0..60),
        ) {
            let mut table = Table::new(capacity);
            for &(key, value) in &sets {
                table.set(key, |_| value);
            }
            let mut newest: Vec<(i128, u8)> = Vec::new();
            for &(key, value) in sets.iter().rev() {
                if newest.len() < capacity && newest.iter().all(|&(known, _)| known != key) {
                    newest.push((key, value));
                }
            }
            newest.sort_unstable();
            let held: Vec<(i128, u8)> = table.iter().map(|(key, &value)| (key, value)).collect();
            prop_assert_eq!(held, newest);
        }
    }
}
