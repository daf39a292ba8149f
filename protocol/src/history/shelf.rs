//! A map by numbers whose copies share what they have in common.

use std::collections::BTreeMap;
use std::sync::Arc;

/// How many numbers that follow each other are kept together.
const SHELF: u64 = 64;

/// See the module. A copy that changes something copies what is kept together with it.
#[derive(Clone, Debug)]
pub(super) struct Shelf<V>(BTreeMap<u64, Arc<BTreeMap<u64, V>>>);

impl<V> Default for Shelf<V> {
    fn default() -> Shelf<V> {
        Shelf(BTreeMap::new())
    }
}

impl<V: Clone> Shelf<V> {
    /// What is kept for a number.
    pub fn get(&self, number: u64) -> Option<&V> {
        self.0.get(&(number / SHELF))?.get(&number)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut V> {
        let together = self.0.get_mut(&(number / SHELF))?;
        // Who looks for what is not there copies nothing.
        together.contains_key(&number).then_some(())?;
        Arc::make_mut(together).get_mut(&number)
    }

    /// The same, made first where there is none.
    pub fn get_or(&mut self, number: u64, new: impl FnOnce() -> V) -> &mut V {
        let together = self.0.entry(number / SHELF).or_default();
        Arc::make_mut(together).entry(number).or_insert_with(new)
    }

    /// All numbers, in order, each with what is kept for it.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        let all = self.0.values().flat_map(|together| together.iter());
        all.map(|(&number, kept)| (number, kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_change_apart() {
        let mut shelf: Shelf<u64> = Shelf::default();
        for number in (0..1000).step_by(3).chain([u64::MAX]) {
            *shelf.get_or(number, || 0) = number;
        }
        let mut copy = shelf.clone();
        *copy.get_mut(300).unwrap() = 7;
        assert_eq!(copy.get_mut(301), None);
        *copy.get_or(1, || 5) += 1;
        assert_eq!((shelf.get(300), shelf.get(1)), (Some(&300), None));
        assert_eq!((copy.get(300), copy.get(1)), (Some(&7), Some(&6)));
        assert_eq!(shelf.iter().count() + 1, copy.iter().count());
        assert!(copy.iter().map(|(number, _)| number).is_sorted());
    }
}
