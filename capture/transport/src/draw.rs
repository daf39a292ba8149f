//! Randomness that is a function of what it is asked for.

/// Mixes words into one: the same words, the same result, on every machine.
///
/// SplitMix64's finaliser (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014), folded over the words.
pub fn mix(words: &[u64]) -> u64 {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    for &word in words {
        state = finalise(state ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
    }
    finalise(state)
}

/// A sequence of draws from one seed.
#[derive(Clone, Debug)]
pub struct Draw {
    state: u64,
}

impl Draw {
    /// Draws that follow from `seed`.
    pub fn new(seed: u64) -> Draw {
        Draw { state: seed }
    }

    /// Draws that follow from `seed` and a name: each node gets its own.
    pub fn named(seed: u64, name: &str) -> Draw {
        let words: Vec<u64> = std::iter::once(seed)
            .chain(name.bytes().map(u64::from))
            .collect();
        Draw { state: mix(&words) }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        finalise(self.state)
    }

    /// A number from 0 to 1, 1 excluded.
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// A number below `limit`; 0 where `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// `true` with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// Makes a number from 0 to 1, 1 excluded, of 64 random bits.
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

fn finalise(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_follows_from_seed_and_name() {
        let first = |seed, name| Draw::named(seed, name).bits();
        assert_eq!(first(7, "A"), first(7, "A"));
        assert_ne!(first(7, "A"), first(7, "B"));
        assert_ne!(first(7, "A"), first(8, "A"));
    }

    #[test]
    fn mixing_minds_the_order_and_the_number_of_words() {
        assert_ne!(mix(&[1, 2]), mix(&[2, 1]));
        assert_ne!(mix(&[0]), mix(&[0, 0]));
    }

    #[test]
    fn draws_keep_to_their_limits_and_reach_all_of_them() {
        let mut draw = Draw::new(1);
        let mut seen = [0; 6];
        for _ in 0..6000 {
            seen[draw.below(6) as usize] += 1;
            assert!((0.0..1.0).contains(&draw.unit()));
        }
        assert!(
            seen.iter().all(|count| (800..1200).contains(count)),
            "{seen:?}"
        );
        assert_eq!(draw.below(0), 0);
        assert!(!draw.chance(0.0) && draw.chance(1.0));
    }
}
