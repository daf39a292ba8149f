//! Numbers that look drawn at random.

/// Steele et al., SplitMix64.
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to before `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// From `from` to before `until`.
    pub fn within(&mut self, from: u64, until: u64) -> u64 {
        from + self.below(until.saturating_sub(from))
    }

    /// True this many times of a thousand.
    pub fn per_mille(&mut self, count: u64) -> bool {
        self.below(1000) < count
    }

    /// One of these.
    pub fn of<T: Copy>(&mut self, those: &[T]) -> T {
        those[self.below(those.len() as u64) as usize]
    }
}
