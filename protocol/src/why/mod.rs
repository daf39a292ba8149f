//! Back along what led to something: to a packet's fate, a finding, what a node believes.
//!
//! A [`Why`] is a list of [`Step`]s. Each states a [`Fact`] and names the steps that led to it, so
//! that it is told once however much followed from it. The edges are those of happens-before that
//! packets show: a delivery follows from the packet that closed the last gap before it, a copy from
//! what its sender had heard by then, what a node did with a message from what it had been told, and
//! what it was told from what the teller had been told. Why a program did what it did of its own no
//! packet shows: there a step says so, or says nothing.

mod arrival;
mod delivery;
mod fact;
mod finding;
mod late;
mod object;
mod packet;
mod resend;
mod telling;
mod transit;
mod words;
mod would;

pub use fact::{Fact, Link, NotKnown, RuleWord, Unseen};
pub use resend::{Cause, Resend, Resends};

use crate::history::History;
use crate::session::{NodeId, PacketId, Session, SessionTime};
use telling::Telling;

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

/// How sure a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It follows from what the reels hold.
    Certain,
    /// The reels fit it, and something else as well.
    Doubtful,
    /// It did not happen. The rules that the wire declares say what would have followed.
    WouldHave,
    /// The reels do not tell.
    Unknown,
}

impl Certainty {
    /// The word for it: `would-have`.
    pub fn name(self) -> &'static str {
        match self {
            Certainty::Certain => "certain",
            Certainty::Doubtful => "doubtful",
            Certainty::WouldHave => "would-have",
            Certainty::Unknown => "unknown",
        }
    }
}

impl Why {
    /// Why a packet was sent as far as that shows, what became of it, and what its messages did.
    /// `None` where there is no such packet.
    pub fn of_packet(session: &Session, history: &History, packet: PacketId) -> Option<Why> {
        session.packet(packet)?;
        let mut telling = Telling::new(session, history);
        let roots = telling.packet(packet);
        Some(telling.finish(roots))
    }

    /// What led to a finding, by its place in [`History::findings`]. `None` where there is none.
    pub fn of_finding(session: &Session, history: &History, finding: usize) -> Option<Why> {
        history.findings.get(finding)?;
        let mut telling = Telling::new(session, history);
        let roots = telling.finding(finding);
        Some(telling.finish(roots))
    }

    /// Why a node believed of an object what it believed at a moment.
    pub fn of_object(
        session: &Session,
        history: &History,
        object: u64,
        node: NodeId,
        at: SessionTime,
    ) -> Why {
        let mut telling = Telling::new(session, history);
        let roots = telling.object(object, node, at);
        telling.finish(roots)
    }

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
