//! Values by keys, of which a few are asked for again and again.

use std::collections::BTreeMap;

use crate::session::NodeId;

/// How many keys are found without a search.
const RECENT: usize = 32;

/// A key of [`Keyed`].
pub(super) trait Key: Copy + Ord {
    /// A number that keys which are asked for in turn seldom share in its lowest bits.
    fn mixed(&self) -> usize;
}

/// Another node, and how often the two had connected anew.
impl Key for (NodeId, u16) {
    fn mixed(&self) -> usize {
        usize::from(self.0.0) ^ usize::from(self.1) << 3
    }
}

/// See the module. Each key has a number, from 0 on in the order in which keys came.
#[derive(Debug)]
pub(super) struct Keyed<K, V> {
    numbers: BTreeMap<K, u32>,
    all: Vec<(K, V)>,
    recent: [u32; RECENT],
}

impl<K, V> Default for Keyed<K, V> {
    fn default() -> Keyed<K, V> {
        Keyed {
            numbers: BTreeMap::new(),
            all: Vec::new(),
            recent: [u32::MAX; RECENT],
        }
    }
}

impl<K: Key, V> Keyed<K, V> {
    /// The number of a key; `None` where it has no value.
    #[inline]
    pub fn number(&self, key: K) -> Option<u32> {
        let recent = self.recent[key.mixed() % RECENT];
        match self.all.get(recent as usize) {
            Some((known, _)) if *known == key => Some(recent),
            _ => self.numbers.get(&key).copied(),
        }
    }

    /// The same; where it has none it gets one.
    #[inline]
    fn number_or(&mut self, key: K, value: impl FnOnce() -> V) -> u32 {
        let slot = key.mixed() % RECENT;
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
        let keys = [7, 7 + RECENT as u32, 7, 1, 7 + 2 * RECENT as u32, 7];
        for key in keys {
            *keyed.entry(key, || key * 10) += 1;
        }
        assert_eq!(keyed.get(7), Some(&73));
        assert_eq!(keyed.get(7 + RECENT as u32), Some(&391));
        assert_eq!(keyed.get(2), None);
        let all: Vec<u32> = keyed.iter().map(|(key, _)| key).collect();
        assert_eq!(all, [1, 7, 39, 71]);
        assert_eq!(keyed.key(1), Some(39));
    }
}
