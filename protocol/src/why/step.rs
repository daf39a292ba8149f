//! Steps, each a fact with what led to it.

use super::fact::Fact;

/// What led to something.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The steps that answer the question.
    pub roots: Vec<StepId>,
    /// All steps, in the order in which they were found.
    pub steps: Vec<Step>,
    /// Whether there were more steps than are told.
    pub cut: bool,
}

/// A step, by its place in [`Why::steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepId(pub u32);

/// Something that was so, and what led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What was so.
    pub fact: Fact,
    /// How sure that is.
    pub certainty: Certainty,
    /// What led to it, the most telling first.
    pub because: Vec<StepId>,
}

named! {
    /// How sure a step is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Certainty {
        /// It follows from what the reels hold.
        "certain" Certain,
        /// The reels fit it, and something else as well.
        "doubtful" Doubtful,
        /// It did not happen. The rules that the wire declares say what would have followed.
        "would-have" WouldHave,
        /// The reels do not tell.
        "unknown" Unknown,
    }
}

impl Certainty {
    /// How sure what is certain is, but for a doubt.
    pub(super) fn but_for(doubt: bool) -> Certainty {
        if doubt {
            Certainty::Doubtful
        } else {
            Certainty::Certain
        }
    }
}

impl Why {
    /// The steps as they are told: what led to one comes behind it. With each, how many steps lie
    /// between it and its root, and whether it was told before; what led to it is not told again.
    pub fn in_order(&self) -> Vec<(StepId, usize, bool)> {
        let mut order = Vec::new();
        let mut told = vec![false; self.steps.len()];
        let mut open: Vec<(StepId, usize)> = self.roots.iter().rev().map(|&id| (id, 0)).collect();
        while let Some((id, depth)) = open.pop() {
            let (Some(step), Some(told)) = (self.step(id), told.get_mut(id.0 as usize)) else {
                continue;
            };
            let again = std::mem::replace(told, true);
            order.push((id, depth, again));
            if !again {
                let because = step.because.iter().rev();
                open.extend(because.map(|&cause| (cause, depth + 1)));
            }
        }
        order
    }

    /// A step.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(id.0 as usize)
    }
}
