//! Steps, as they are gathered: each fact once.

use std::collections::BTreeSet;

use super::fact::Fact;
use super::step::{Certainty, Step, StepId, Why};
use crate::history::{Delivery, History};
use crate::session::{MessageId, PacketId, Session};

/// A story of more steps than this explains nothing.
const STEPS_MAX: usize = 96;

/// What is gathered about one question.
pub(super) struct Telling<'a> {
    pub session: &'a Session,
    pub history: &'a History,
    steps: Vec<Step>,
    cut: bool,
}

impl<'a> Telling<'a> {
    pub fn new(session: &'a Session, history: &'a History) -> Telling<'a> {
        Telling {
            session,
            history,
            steps: Vec::new(),
            cut: false,
        }
    }

    pub fn finish(self, roots: Vec<StepId>) -> Why {
        Why {
            roots,
            steps: self.steps,
            cut: self.cut,
        }
    }

    /// The step that states a fact. What led to it is asked for once.
    pub fn step(
        &mut self,
        fact: Fact,
        certainty: Certainty,
        because: impl FnOnce(&mut Self) -> Vec<StepId>,
    ) -> StepId {
        if let Some(known) = self.steps.iter().position(|step| step.fact == fact) {
            return StepId(known as u32);
        }
        let place = self.steps.len();
        self.steps.push(Step {
            fact,
            certainty,
            because: Vec::new(),
        });
        if self.steps.len() >= STEPS_MAX {
            self.cut = true;
        } else {
            let mut because = once_each(because(self));
            // What leads to itself explains nothing.
            because.retain(|&id| id.0 as usize != place);
            if let Some(step) = self.steps.get_mut(place) {
                step.because = because;
            }
        }
        StepId(place as u32)
    }

    /// A step that nothing that is known led to.
    pub fn end(&mut self, fact: Fact, certainty: Certainty) -> StepId {
        self.step(fact, certainty, |_| Vec::new())
    }

    /// The same of what is certain.
    pub fn certain(&mut self, fact: Fact) -> StepId {
        self.end(fact, Certainty::Certain)
    }

    pub fn delivery(&self, place: u32) -> Option<Delivery> {
        self.history.deliveries.get(place as usize)
    }

    /// Whether it is a guess what became of a packet, or which one it was.
    pub fn is_doubtful(&self, packet: PacketId) -> bool {
        let packet = self.session.packet(packet);
        packet.is_some_and(|packet| packet.doubtful)
    }

    /// The copies of a message in the order in which they were sent; the first is the message that
    /// the others repeat.
    pub fn all_copies(&self, message: MessageId) -> Vec<MessageId> {
        let first = self.history.resend_of(message).unwrap_or(message);
        let copies = self.history.copies_of(first);
        [first].into_iter().chain(copies).collect()
    }
}

/// All of them in order, each where it comes first.
pub(super) fn once_each<T: Copy + Ord>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    all.into_iter().filter(|it| seen.insert(*it)).collect()
}
