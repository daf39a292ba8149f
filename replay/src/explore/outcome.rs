//! What a wrong run came to.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::run::Ran;
use super::tables::Parting;

/// What a wrong run came to, apart from when: two runs of the same are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Outcome {
    /// The objects of which nodes part, in what, and the nodes.
    pub partings: Vec<(u64, Parting, Vec<usize>)>,
    /// What layers said, and who.
    pub broken: Vec<(usize, String)>,
    /// Who panicked, and the words.
    pub panicked: Option<(usize, String)>,
}

impl Outcome {
    /// What a run came to.
    pub fn of(ran: &Ran) -> Outcome {
        let partings = ran
            .differences
            .iter()
            .map(|it| (it.object, it.parting, it.nodes.clone()));
        let broken: BTreeSet<_> = ran
            .broken
            .iter()
            .map(|it| (it.node, it.words.clone()))
            .collect();
        Outcome {
            partings: partings.collect(),
            broken: broken.into_iter().collect(),
            panicked: ran.panicked.clone(),
        }
    }

    /// Whether all that is wrong here is wrong there too.
    pub fn is_in(&self, other: &Outcome) -> bool {
        self.partings.iter().all(|it| other.partings.contains(it))
            && self.broken.iter().all(|it| other.broken.contains(it))
            && (self.panicked.is_none() || self.panicked == other.panicked)
    }
}
