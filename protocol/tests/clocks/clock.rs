//! A clock of a simulated machine.

/// A clock: what it shows at a true time.
#[derive(Clone, Debug)]
pub struct Clock {
    pub at_zero: i128,
    /// Parts of a thousand million.
    pub drift: i128,
    /// From a true time on it is this much further.
    pub steps: Vec<(u64, i128)>,
}

impl Clock {
    /// Without its steps.
    pub fn even(&self, at: u64) -> i128 {
        let at = i128::from(at);
        self.at_zero + at + at * self.drift / 1_000_000_000
    }

    pub fn shows(&self, at: u64) -> u64 {
        let steps = self.steps.iter().filter(|step| step.0 <= at);
        let shown = self.even(at) + steps.map(|step| step.1).sum::<i128>();
        u64::try_from(shown).expect("a clock that begins late enough")
    }
}
