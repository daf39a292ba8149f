//! A set of numbers from 0 on, a bit each.

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number; whether it is new.
    pub fn insert(&mut self, number: u32) -> bool {
        let word = number as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let bit = 1 << (number % 64);
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    /// Adds the numbers of another set.
    pub fn take(&mut self, other: &Bits) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// The set of these bits, 64 of them a word.
    pub fn of(words: impl Iterator<Item = u64>) -> Bits {
        Bits(words.collect())
    }

    /// How many numbers are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no number is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// The numbers before one that are not in the set, in order.
    pub fn others(&self, end: u32) -> impl Iterator<Item = u32> + '_ {
        let words = (0..end.div_ceil(64)).map(|at| (at, self.0.get(at as usize)));
        let free = words
            .filter(|(_, word)| word.is_none_or(|&word| word != u64::MAX))
            .flat_map(|(at, _)| at * 64..(at + 1) * 64);
        free.filter(move |&number| number < end && !self.contains(number))
    }

    /// Whether the number is in the set.
    pub fn contains(&self, number: u32) -> bool {
        let word = self.0.get(number as usize / 64).copied().unwrap_or(0);
        word >> (number % 64) & 1 == 1
    }
}
