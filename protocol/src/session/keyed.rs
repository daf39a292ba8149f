//! Values by keys, which are asked for again and again.

use std::collections::BTreeMap;

use super::{Link, NodeId};

/// How many numbers the table of recent keys has room for: at least four times as many as there are keys,
/// within these bounds.
const RECENT: std::ops::RangeInclusive<usize> = 32..=1 << 16;

/// A key of [`Keyed`].
pub(crate) trait Key: Copy + Ord {
    /// A number that keys which are asked for in turn seldom share in its lowest bits.
    fn mixed(&self) -> usize;
}

/// Another node, and how often the two had connected anew.
impl Key for (NodeId, u16) {
    fn mixed(&self) -> usize {
        usize::from(self.0.0) ^ usize::from(self.1) << 3
    }
}

/// From whom to whom.
impl Key for Link {
    fn mixed(&self) -> usize {
        let [from, to] = [self.0, self.1].map(|node| usize::from(node.0));
        from.wrapping_mul(257).wrapping_add(to)
    }
}

/// See the module. Each key has a number, from 0 on in the order in which keys came.
#[derive(Clone, Debug)]
pub(crate) struct Keyed<K, V> {
    numbers: BTreeMap<K, u32>,
    all: Vec<(K, V)>,
    /// The numbers of keys, each in the slot of its key. There is a power of two of slots.
    recent: Vec<u32>,
}

impl<K, V> Default for Keyed<K, V> {
    fn default() -> Keyed<K, V> {
        Keyed {
            numbers: BTreeMap::new(),
            all: Vec::new(),
            recent: vec![u32::MAX; *RECENT.start()],
        }
    }
}

impl<K: Key, V> Keyed<K, V> {
    /// The number of a key; `None` where it has no value.
    #[inline]
    pub fn number(&self, key: K) -> Option<u32> {
        let recent = self.recent[self.slot(key)];
        match self.all.get(recent as usize) {
            Some((known, _)) if *known == key => Some(recent),
            _ => self.numbers.get(&key).copied(),
        }
    }

    /// Where a key is found without a search.
    #[inline]
    fn slot(&self, key: K) -> usize {
        key.mixed() & (self.recent.len() - 1)
    }

    /// The number of a key, which gets one where it has none.
    #[inline]
    fn number_or(&mut self, key: K, value: impl FnOnce() -> V) -> u32 {
        let slot = self.slot(key);
        let recent = self.recent[slot];
        if let Some((known, _)) = self.all.get(recent as usize)
            && *known == key
        {
            return recent;
        }
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.all.push((key, value()));
            self.all.len() as u32 - 1
        });
        self.recent[slot] = number;
        if self.all.len() * 4 > self.recent.len() && self.recent.len() < *RECENT.end() {
            self.recent = vec![u32::MAX; self.recent.len() * 2];
            for (number, &(key, _)) in (0..).zip(&self.all) {
                let slot = self.slot(key);
                self.recent[slot] = number;
            }
        }
        number
    }

    pub fn get(&self, key: K) -> Option<&V> {
        self.at(self.number(key)?)
    }

    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let number = self.number(key)?;
        self.all.get_mut(number as usize).map(|(_, value)| value)
    }

    /// The value of a key, which gets one where it has none, and its number.
    pub fn numbered(&mut self, key: K, value: impl FnOnce() -> V) -> (u32, &mut V) {
        let number = self.number_or(key, value);
        (number, &mut self.all[number as usize].1)
    }

    /// The value of a key, which gets one where it has none.
    pub fn entry(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        self.numbered(key, value).1
    }

    /// The value of a number.
    pub fn at(&self, number: u32) -> Option<&V> {
        self.all.get(number as usize).map(|(_, value)| value)
    }

    /// The key of a number.
    pub fn key(&self, number: u32) -> Option<K> {
        self.all.get(number as usize).map(|(key, _)| *key)
    }

    /// No more keys come, or few: gives back memory that was taken for more; what each value takes for
    /// more it gives back itself.
    pub fn shrink(&mut self, shrink: impl Fn(&mut V)) {
        self.all.iter_mut().for_each(|(_, value)| shrink(value));
        self.all.shrink_to_fit();
    }

    /// All keys and their values, in the order in which these came.
    pub fn into_iter(self) -> impl Iterator<Item = (K, V)> {
        self.all.into_iter()
    }

    /// All keys, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> + '_ {
        let numbers = self.numbers.iter();
        numbers.filter_map(|(&key, &number)| Some((key, self.at(number)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Key for u32 {
        fn mixed(&self) -> usize {
            *self as usize
        }
    }

    #[test]
    fn keys_that_share_a_place_among_the_recent_ones_keep_their_values() {
        let mut keyed: Keyed<u32, u32> = Keyed::default();
        for key in [7, 39, 7, 1, 71, 7] {
            *keyed.entry(key, || key * 10) += 1;
        }
        assert_eq!(keyed.get(7), Some(&73));
        assert_eq!(keyed.get(39), Some(&391));
        assert_eq!(keyed.get(2), None);
        let all: Vec<u32> = keyed.iter().map(|(key, _)| key).collect();
        assert_eq!(all, [1, 7, 39, 71]);
        assert_eq!(keyed.key(1), Some(39));
    }

    #[test]
    fn of_many_keys_each_keeps_its_value() {
        let mut keyed: Keyed<u32, u32> = Keyed::default();
        for key in (0..5000).chain((0..5000).rev()) {
            *keyed.entry(key * 3, || 0) += key;
        }
        assert!(keyed.recent.len() > 10_000, "{}", keyed.recent.len());
        assert!((0..5000).all(|key| keyed.get(key * 3) == Some(&(key * 2))));
        assert_eq!(keyed.iter().count(), 5000);
    }
}
