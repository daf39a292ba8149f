//! A run of scripted matches: what of it was kept, as plain data.

use std::path::PathBuf;

use netreel_protocol::history::Level;

/// The matches that a run has kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptRun {
    /// What it is called: its folder.
    pub title: String,
    /// What came of it, in a line.
    pub sums: String,
    /// Those that were kept, in the order of their numbers.
    pub matches: Vec<KeptMatch>,
}

/// A match that was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptMatch {
    /// Which of the run, from 1.
    pub number: u64,
    /// What all that was drawn in it came from.
    pub seed: u64,
    /// Where its session lies.
    pub folder: PathBuf,
    /// Its gravest finding, or why it could not be played, or what was not as expected; empty where all
    /// was well.
    pub why: String,
    /// The rule of that finding and its node.
    pub rule: String,
    /// How grave that is; `None` where all was well.
    pub level: Option<Level>,
    /// From its first event to its last, in ns.
    pub lasted_ns: u64,
    /// How many packets were recorded.
    pub packets: u64,
}

/// By what the list is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The number of the match.
    #[default]
    Number,
    /// The seed.
    Seed,
    /// How long it lasted, the longest first.
    Length,
    /// How many packets there are, the most first.
    Packets,
    /// The gravest first, those of one rule together.
    Finding,
}

impl KeptRun {
    /// The places of the matches in this order.
    pub fn sorted(&self, by: By) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.matches.len()).collect();
        places.sort_by(|one, other| {
            let (Some(one), Some(other)) = (self.matches.get(*one), self.matches.get(*other))
            else {
                return std::cmp::Ordering::Equal;
            };
            let order = match by {
                By::Number => std::cmp::Ordering::Equal,
                By::Seed => one.seed.cmp(&other.seed),
                By::Length => other.lasted_ns.cmp(&one.lasted_ns),
                By::Packets => other.packets.cmp(&one.packets),
                By::Finding => other
                    .level
                    .cmp(&one.level)
                    .then_with(|| one.rule.cmp(&other.rule)),
            };
            order.then(one.number.cmp(&other.number))
        });
        places
    }
}
